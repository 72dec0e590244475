"""What is deployed after equally many steps in the warehouse and the workshop of examples/.

    python -m bench.deployed warehouse             every row of docs/evidence/simulators.md, ten seeds each
    python -m bench.deployed workshop --only PSRL  rows whose names have this word

Every method learns 28,000 days (1,000 months of the warehouse, 560 runs of the workshop), once per seed. What it would
deploy then works 200 episodes that nobody has learnt from, the same for all: the same customers, the same luck.
Settings of baselines are the best of four, by one other seed over 200 other episodes; rules of thumb have the best of
all their settings, by their exact values. Stable-Baselines3's agents take part where it is installed.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import klearning as kl
from examples import warehouse, workshop
from klearning.arrays.types import Floats
from klearning.statistics import mean_interval

STEPS, EPISODES, SEEDS = 28_000, 200, 10
DEPLOYED, SEARCHED = 900_000, 800_000  # seeds of the episodes: of the tables, and of the search for settings
SEARCH_SEED = 1000

Policy = Callable[[dict[str, int], int, Any], int]  # observation, step, action mask
Setting = dict[str, Any]


class Model(NamedTuple):
    """A simulator as it is, which no method sees: all observations, what is paid on average, what follows."""

    observations: list[dict[str, int]]
    reward: Floats  # (S, A)
    transitions: Floats  # (S, A, S)
    world: kl.MDP


@dataclass(frozen=True)
class Simulator:
    """One of the two, and what a method may know of it."""

    make: Callable[[], gymnasium.Env[Any, Any]]
    days: int
    prior: kl.Prior
    scale: float  # of rewards, for networks
    rule: Callable[..., Any]
    rules: list[tuple[int, ...]]  # all settings of the rule of thumb
    model: Callable[[], Model]


def warehouse_model() -> Model:
    w = warehouse
    mornings = [w.Morning(*x) for x in product(range(w.SHELF + 1), range(w.CRATES + 1), range(w.CRATES + 1), (0, 1))]
    number = {morning: s for s, morning in enumerate(mornings)}
    reward, P = np.zeros((len(mornings), w.CRATES + 1)), np.zeros((len(mornings), w.CRATES + 1, len(mornings)))
    for (s, morning), order, n in product(enumerate(mornings), range(w.CRATES + 1), range(w.MOST_CUSTOMERS + 1)):
        stock, profit = w.day(morning, order, n)
        p = w.DEMAND[morning.busy, n]
        reward[s, order] += p * profit
        for turns, chance in enumerate((1.0 - w.TURN, w.TURN)):
            P[s, order, number[w.Morning(stock, morning.tomorrow, order, morning.busy ^ turns)]] += p * chance
    return _model(warehouse.Warehouse(), [m._asdict() for m in mornings], reward, P, w.DAYS)


def workshop_model() -> Model:
    """What is not allowed is as doing nothing."""
    w = workshop
    mornings = [w.Morning(*x) for x in product(range(w.BROKEN + 1), range(w.BROKEN + 1), range(w.STORE + 1), range(3))]
    number = {morning: s for s, morning in enumerate(mornings)}
    reward, P = np.zeros((len(mornings), len(w.ACTIONS))), np.zeros((len(mornings), len(w.ACTIONS), len(mornings)))
    for (s, morning), a in product(enumerate(mornings), range(len(w.ACTIONS))):
        if morning.due and morning.spares == w.STORE:
            P[s, a, s] = 1.0  # cannot be: nothing is ordered for a full store
            continue
        wear, runs, spares, due, paid = w.work(morning, a)
        one, two = (_evenings(wear[press], runs[press]) for press in (0, 1))
        arrivals = [(w.LATE, spares, 1), (1.0 - w.LATE, spares + 1, 0)] if morning.due == 1 else [(1.0, spares, due)]
        reward[s, a] = paid
        for (p, first, cost), (q, second, other), (r, stored, left) in product(one, two, arrivals):
            reward[s, a] -= p * q * r * (cost + other)
            P[s, a, number[w.Morning(first, second, stored, left)]] += p * q * r
    return _model(workshop.Workshop(), [m._asdict() for m in mornings], reward, P, w.DAYS)


def _evenings(wear: int, runs: bool) -> list[tuple[float, int, float]]:
    """What a press may be in the evening: chance, wear, what it costs."""
    if not runs:
        return [(1.0, wear, 0.0)]
    breaks, wears = workshop.BREAKS[wear], workshop.WEARS[wear]
    evenings = [
        (breaks, workshop.BROKEN, workshop.BREAKDOWN),
        (wears, wear + 1, 0.0),
        (1.0 - breaks - wears, wear, 0.0),
    ]
    return [evening for evening in evenings if evening[0] > 0.0]


def _model(
    env: gymnasium.Env[Any, Any], observations: list[dict[str, int]], reward: Floats, P: Floats, days: int
) -> Model:
    start = np.zeros(len(observations))
    start[observations.index(env.reset()[0])] = 1.0
    return Model(observations, reward, P, kl.MDP.from_stationary(reward, P, start, days))


SIMULATORS = {
    "warehouse": Simulator(
        make=warehouse.Warehouse,
        days=warehouse.DAYS,
        # a day pays −60 (a large order, nothing to sell) to 80; customers vary by two, at 15 each; no two days are the
        # same
        prior=kl.Prior(kl.Gaussian(mean=10.0, sd=70.0, noise=30.0), kl.Dirichlet(mass=1.0), stationary=True),
        scale=50.0,
        rule=warehouse.base_stock,
        rules=[(low, q, b) for low, q, b in product(*[range(6, 25, 2)] * 3) if low < q <= b],
        model=cache(warehouse_model),
    ),
    "workshop": Simulator(
        make=workshop.Workshop,
        days=workshop.DAYS,
        # a day pays 0 (nothing runs) to 300; output varies by 20 and a breakdown costs 150 now and then; a press may
        # wear in a day or not
        prior=kl.Prior(kl.Gaussian(mean=150.0, sd=150.0, noise=40.0), kl.Dirichlet(mass=1.0), stationary=True),
        scale=100.0,
        rule=workshop.thresholds,
        rules=list(product(range(1, 6), range(1, 6), (0, 1, 2))),
        model=cache(workshop_model),
    ),
}


def returns(simulator: Simulator, policy: Policy, first: int) -> Floats:
    """What a policy earns in each of the episodes that nobody has learnt from."""
    env, earned = simulator.make(), np.zeros(EPISODES)
    for i in range(EPISODES):
        observation, info = env.reset(seed=first + i)
        for step in range(simulator.days):
            observation, reward, _, _, info = env.step(policy(observation, step, info.get("action_mask")))
            earned[i] += float(reward)
    return earned


def by_rule(simulator: Simulator, setting: Setting, seed: int) -> Policy:
    """The rule of thumb at its best."""
    values = {levels: value_of_rule(simulator, simulator.rule(*levels)) for levels in simulator.rules}
    return simulator.rule(*max(values, key=lambda levels: values[levels]))


def by_agent(simulator: Simulator, setting: Setting, seed: int) -> Policy:
    """Ours: what `predict` does after learning, which looks at masks where there are some."""
    env = gymnasium.wrappers.TimeLimit(simulator.make(), simulator.days)
    prior, steps = simulator.prior, STEPS
    if setting.get("suggested"):  # what random play takes is taken off
        prior, steps = kl.suggest_prior(env, episodes=20, seed=seed), STEPS - 20 * simulator.days
    learner = kl.learn(setting["agent"], env, episodes=steps // simulator.days, prior=prior, seed=seed)
    return lambda observation, step, mask: learner.predict(observation, step, action_mask=mask)


def by_chance(simulator: Simulator, setting: Setting, seed: int) -> Policy:
    rng, count = np.random.default_rng(seed), int(simulator.make().action_space.n)  # type: ignore[attr-defined]
    return lambda observation, step, mask: int(rng.choice(np.arange(count) if mask is None else np.flatnonzero(mask)))


class Encoded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """For networks: a 0 or 1 for every value of every part, then the share of days gone; rewards of the order of 1.

    Because the day is seen, the last one ends the task.
    """

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(simulator.make())
        self.simulator, self.day = simulator, 0
        self.sizes = {name: int(part.n) for name, part in self.env.observation_space.spaces.items()}  # type: ignore[attr-defined]
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (sum(self.sizes.values()) + 1,), np.float32)

    def encode(self, observation: dict[str, int], day: int) -> Floats:
        parts = [np.arange(size) == observation[name] for name, size in self.sizes.items()]
        return np.concatenate([*parts, [day / self.simulator.days]]).astype(np.float32)

    def reset(self, **given: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**given)
        self.day = 0
        return self.encode(observation, 0), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, _, over, info = self.env.step(int(action))
        self.day += 1
        return self.encode(observation, self.day), float(reward) / self.simulator.scale, over, False, info

    def action_masks(self) -> Any:
        env: Any = self.env.unwrapped
        return np.array(workshop.allowed(env.morning), np.bool_)


def by_network(simulator: Simulator, setting: Setting, seed: int) -> Policy:
    """Stable-Baselines3, on one core."""
    import stable_baselines3 as sb3
    import torch

    torch.set_num_threads(1)
    settings = dict(setting)
    name, masks = settings.pop("algorithm"), False
    if name == "MaskablePPO":
        from sb3_contrib import MaskablePPO as algorithm

        masks = True
    else:
        algorithm = getattr(sb3, name)
    env = Encoded(simulator)
    model = algorithm("MlpPolicy", env, seed=seed, device="cpu", **settings).learn(STEPS)

    def policy(observation: dict[str, int], step: int, mask: Any) -> int:
        given = {"action_masks": mask} if masks else {}
        return int(model.predict(env.encode(observation, step), deterministic=True, **given)[0])

    return policy


@dataclass(frozen=True)
class Method:
    learn: Callable[[Simulator, Setting, int], Policy]
    settings: list[Setting]
    seeds: int = SEEDS


Q_SETTINGS: list[Setting] = [
    {"agent": kl.QLearning(epsilon, 0.1, discount)} for epsilon, discount in product((0.1, 0.3), (0.9, 0.97))
]
PPO_SETTINGS: list[Setting] = [
    {"learning_rate": rate, "gamma": gamma, "n_steps": 448} for rate, gamma in product((3e-4, 1e-3), (0.95, 0.99))
]
DQN_SETTINGS: list[Setting] = [
    {"learning_rate": rate, "gamma": gamma, "exploration_fraction": 0.2, "learning_starts": 500,
     "target_update_interval": 500, "buffer_size": STEPS}
    for rate, gamma in product((5e-4, 2e-3), (0.95, 0.99))
]  # fmt: skip


def methods(name: str) -> dict[str, Method]:
    """The rows of the table."""
    rows = {
        "K-learning, prior by hand": Method(by_agent, [{"agent": kl.KLearning()}]),
        "K-learning, prior suggested": Method(by_agent, [{"agent": kl.KLearning(), "suggested": True}]),
        "PSRL, prior by hand": Method(by_agent, [{"agent": kl.PSRL()}]),
        "PSRL, prior suggested": Method(by_agent, [{"agent": kl.PSRL(), "suggested": True}]),
        "Q-learning": Method(by_agent, Q_SETTINGS),
        "rule of thumb": Method(by_rule, [{}], seeds=1),
        "random": Method(by_chance, [{}]),
    }
    if find_spec("stable_baselines3") is None:
        advice = "pip install stable-baselines3 sb3-contrib"
        print(f"Stable-Baselines3 is not installed, and its rows are left out: {advice}", file=sys.stderr)
        return rows
    masks = name == "workshop" and find_spec("sb3_contrib") is not None
    algorithms = {"MaskablePPO" if masks else "PPO": PPO_SETTINGS, "DQN": DQN_SETTINGS}
    for algorithm, settings in algorithms.items():
        rows[f"{algorithm} of Stable-Baselines3"] = Method(
            by_network, [{"algorithm": algorithm, **s} for s in settings]
        )
    return rows


def value_of_rule(simulator: Simulator, rule: Any) -> float:
    """Exact."""
    model = simulator.model()
    table = np.eye(model.world.actions)[[rule(observation) for observation in model.observations]]
    return kl.evaluate(model.world, [table] * simulator.days).value


def value_of_chance(simulator: Simulator) -> float:
    """Of actions at random among those that are allowed; exact."""
    model = simulator.model()
    table = np.ones(model.reward.shape)
    if simulator.make is workshop.Workshop:
        table = np.array([workshop.allowed(workshop.Morning(**x)) for x in model.observations], np.float64)
    return kl.evaluate(model.world, [table / table.sum(axis=1, keepdims=True)] * simulator.days).value


def optimum(simulator: Simulator) -> float:
    return kl.optimal(simulator.model().world).value


def best_setting(simulator: Simulator, name: str, method: Method) -> Setting:
    """By a seed and over episodes that are for this alone; what was tried is printed."""
    if len(method.settings) == 1:
        return method.settings[0]
    means = []
    for setting in method.settings:
        policy = method.learn(simulator, setting, SEARCH_SEED)
        means.append(float(returns(simulator, policy, SEARCHED).mean()))
        print(f"    {name}, {setting}: {means[-1]:.0f}", file=sys.stderr, flush=True)
    return method.settings[int(np.argmax(means))]


def row(simulator: Simulator, name: str, method: Method, seeds: int) -> str:
    """One line of the table: mean over seeds with its interval, time per seed."""
    setting, earned, wall, cpu = best_setting(simulator, name, method), [], 0.0, 0.0
    count = min(seeds, method.seeds)
    for seed in range(count):
        wall, cpu = wall - time.perf_counter(), cpu - time.process_time()
        policy = method.learn(simulator, setting, seed)
        wall, cpu = wall + time.perf_counter(), cpu + time.process_time()
        earned.append(float(returns(simulator, policy, DEPLOYED).mean()))
    mean, low, high = mean_interval(np.array(earned))
    interval = f"{low:.0f} to {high:.0f}" if np.isfinite(low) else "–"
    extremes = f"{min(earned):.0f} to {max(earned):.0f}"
    share = (mean - value_of_chance(simulator)) / (optimum(simulator) - value_of_chance(simulator))
    spent = f"{wall / count:.1f} | {cpu / count:.1f}" if method.learn is not by_rule else "– | –"
    return f"| {name} | {count} | {mean:.0f} | {interval} | {extremes} | {share:.0%} | {spent} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulator", choices=SIMULATORS)
    parser.add_argument("--only", default="", help="rows whose names have this word")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how often each method learns (no interval below ten)")
    given = parser.parse_args()
    simulator, rows = SIMULATORS[given.simulator], methods(given.simulator)
    asked = {name: method for name, method in rows.items() if given.only in name}
    if not asked:
        parser.error(f"--only {given.only!r} is in the name of no row: give a part of {', '.join(map(repr, rows))}")
    if given.seeds < 1:
        parser.error(f"--seeds {given.seeds} is below 1: give at least one")
    print(f"exact values: {value_of_chance(simulator):.1f} at random, {optimum(simulator):.1f} at best")
    print("| | seeds | mean | 95% interval | least to most | of the way | wall, s | CPU, s |\n" + "|---" * 8 + "|")
    for name, method in asked.items():
        print(row(simulator, name, method, given.seeds), flush=True)


if __name__ == "__main__":
    main()
