"""Policies deployed after equally many steps in the warehouse and the workshop of examples/.

    python -m bench.deployed warehouse --processes 16    the tables of docs/evidence/simulators.md, ten seeds each
    python -m bench.deployed workshop --only PSRL        rows whose names have this word
    python -m bench.deployed workshop --steps 1500 --episodes 4 --seeds 2 --out out/small.json     a look, in a minute

Every method learns 28,000 days (1,000 months of the warehouse, 560 runs of the workshop), once per seed. What it would
deploy then works 200 episodes that nobody has learned from, the same for all: the same customers, the same luck.
Settings of baselines are the best of four, by one other seed over 200 other episodes; rules of thumb have the best of
all their settings, by their exact values. Stable-Baselines3's agents take part where it is installed.

Each seed of each method is a task of its own, in one of the processes and on one thread. What is done is written to
out/deployed_warehouse.json at once, and not done again by the next command; the tables are beside it, in Markdown.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import klearning as kl
from examples import warehouse, workshop
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats

STEPS, EPISODES, SEEDS = 28_000, 200, 10
DEPLOYED, SEARCHED = 900_000, 800_000  # seeds of the episodes: of the tables, and of the search for settings
SEARCH_SEED = 1000
BY_HAND = "K-learning, prior by hand"
RANDOM_PLAY = 20  # episodes from which a prior is suggested

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
    """Forbidden actions do nothing."""
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
    """Possible states of a press in the evening: chance, wear, cost."""
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


def returns(simulator: Simulator, policy: Policy, first: int, episodes: int = EPISODES) -> Floats:
    """The return of a policy in each held-out episode."""
    env, earned = simulator.make(), np.zeros(episodes)
    for i in range(episodes):
        observation, info = env.reset(seed=first + i)
        for step in range(simulator.days):
            observation, reward, _, _, info = env.step(policy(observation, step, info.get("action_mask")))
            earned[i] += float(reward)
    return earned


def best_levels(simulator: Simulator) -> tuple[int, ...]:
    """Of the rule of thumb, by its exact values."""
    values = {levels: value_of_rule(simulator, simulator.rule(*levels)) for levels in simulator.rules}
    return max(values, key=lambda levels: values[levels])


def by_rule(simulator: Simulator, setting: Setting, seed: int, steps: int) -> Policy:
    """The rule of thumb at its best."""
    rule: Policy = simulator.rule(*best_levels(simulator))
    return rule


def by_agent(simulator: Simulator, setting: Setting, seed: int, steps: int) -> Policy:
    """Ours: what `predict` does after learning, which looks at masks if there are some."""
    env = gymnasium.wrappers.TimeLimit(simulator.make(), simulator.days)
    episodes, prior = steps // simulator.days, setting.get("prior", simulator.prior)
    if setting.get("suggested"):  # what random play takes is taken off
        prior, episodes = kl.suggest_prior(env, episodes=RANDOM_PLAY, seed=seed), episodes - RANDOM_PLAY
    learner = kl.learn(setting["agent"], env, episodes=episodes, prior=prior, seed=seed)
    return lambda observation, step, mask: learner.predict(observation, step, action_mask=mask)


def by_chance(simulator: Simulator, setting: Setting, seed: int, steps: int) -> Policy:
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


def by_network(simulator: Simulator, setting: Setting, seed: int, steps: int) -> Policy:
    """Stable-Baselines3, on one thread."""
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
    model = algorithm("MlpPolicy", env, seed=seed, device="cpu", **settings).learn(steps)

    def policy(observation: dict[str, int], step: int, mask: Any) -> int:
        given = {"action_masks": mask} if masks else {}
        return int(model.predict(env.encode(observation, step), deterministic=True, **given)[0])

    return policy


@dataclass(frozen=True)
class Method:
    learn: Callable[[Simulator, Setting, int, int], Policy]  # from a seed and a number of steps
    settings: dict[str, Setting]  # by what the table says of them
    seconds: float  # for one seed, roughly: what is long begins first
    seeds: int = SEEDS


def ours(agent: Any, seconds: float, **setting: Any) -> Method:
    return Method(by_agent, {"": {"agent": agent, **setting}}, seconds)


Q_SETTINGS: dict[str, Setting] = {
    f"ε {epsilon}, γ {discount}": {"agent": kl.QLearning(epsilon, 0.1, discount)}
    for epsilon, discount in product((0.1, 0.3), (0.9, 0.97))
}
PPO_SETTINGS: dict[str, Setting] = {
    f"learning rate {rate}, γ {gamma}": {"learning_rate": rate, "gamma": gamma, "n_steps": 448}
    for rate, gamma in product((0.0003, 0.001), (0.95, 0.99))
}
DQN_SETTINGS: dict[str, Setting] = {
    f"learning rate {rate}, γ {gamma}": {
        "learning_rate": rate, "gamma": gamma, "exploration_fraction": 0.2, "learning_starts": 500,
        "target_update_interval": 500, "buffer_size": STEPS,
    }
    for rate, gamma in product((0.0005, 0.002), (0.95, 0.99))
}  # fmt: skip


def methods(name: str) -> dict[str, Method]:
    """The rows of the table."""
    rows = {
        BY_HAND: ours(kl.KLearning(), 4.0),
        "K-learning, prior suggested": ours(kl.KLearning(), 4.0, suggested=True),
        "PSRL, prior by hand": ours(kl.PSRL(), 16.0),
        "PSRL, prior suggested": ours(kl.PSRL(), 16.0, suggested=True),
        "Q-learning": Method(by_agent, Q_SETTINGS, 2.0),
        "rule of thumb": Method(by_rule, {"": {}}, 5.0, seeds=1),
        "random": Method(by_chance, {"": {}}, 1.0),
    }
    if find_spec("stable_baselines3") is None:
        return rows
    algorithms = {"PPO": PPO_SETTINGS, "DQN": DQN_SETTINGS}
    if name == "workshop" and find_spec("sb3_contrib") is not None:
        algorithms["MaskablePPO"] = PPO_SETTINGS
    for algorithm, settings in algorithms.items():
        rows[f"{algorithm} of Stable-Baselines3"] = Method(
            by_network, {text: {"algorithm": algorithm, **setting} for text, setting in settings.items()}, 28.0
        )
    return rows


def other_priors(name: str) -> dict[str, Method]:
    """The rows of a second table: K-learning told something else than the three sentences say."""
    prior = SIMULATORS[name].prior
    assert isinstance(prior.reward, kl.Gaussian)
    narrow = replace(prior, reward=replace(prior.reward, sd=prior.reward.sd / 2.0))
    sparse = kl.Dirichlet(mass=0.2)
    others = {
        "half the sd": narrow,
        "a mass of 0.2": replace(prior, transitions=sparse),
        "both": replace(narrow, transitions=sparse),
    }
    return {f"K-learning, {text}": ours(kl.KLearning(), 4.0, prior=other) for text, other in others.items()}


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


class Task(NamedTuple):
    """One learning from one seed, for the search or for the table."""

    method: str
    setting: str
    seed: int
    search: bool

    def __str__(self) -> str:
        purpose = "search" if self.search else f"seed {self.seed}"
        return ", ".join(filter(None, (self.method, self.setting, purpose)))


class Outcome(NamedTuple):
    mean: float  # over the episodes
    cpu: float  # seconds of processor time, of learning alone


@dataclass(frozen=True)
class Study:
    """One simulator, at one size."""

    simulator: str
    steps: int = STEPS
    episodes: int = EPISODES
    seeds: int = SEEDS

    @property
    def rows(self) -> dict[str, Method]:
        return {**methods(self.simulator), **other_priors(self.simulator)}

    def searches(self, name: str) -> list[Task]:
        settings = self.rows[name].settings
        return [Task(name, text, SEARCH_SEED, True) for text in settings] if len(settings) > 1 else []

    def seeds_of(self, name: str, setting: str) -> list[Task]:
        return [Task(name, setting, seed, False) for seed in range(min(self.seeds, self.rows[name].seeds))]

    def perform(self, task: Task) -> tuple[Task, Outcome]:
        simulator, method = SIMULATORS[self.simulator], self.rows[task.method]
        start = time.process_time()
        policy = method.learn(simulator, method.settings[task.setting], task.seed, self.steps)
        seconds = time.process_time() - start
        earned = returns(simulator, policy, SEARCHED if task.search else DEPLOYED, self.episodes)
        return task, Outcome(float(earned.mean()), seconds)

    def warm_up(self, names: list[str]) -> None:
        """Compile and import, so that it is in no row's time."""
        simulator = SIMULATORS[self.simulator]
        for name in names:
            method = self.rows[name]
            if method.learn in (by_agent, by_network):
                method.learn(simulator, next(iter(method.settings.values())), 0, (RANDOM_PLAY + 1) * simulator.days)

    def in_worker(self, names: list[str]) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
        self.warm_up(names)


class Results:
    """Finished tasks, in a file that is whole at any time."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.outcomes = path, dict[Task, Outcome]()
        self.about = {"simulator": study.simulator, "steps": study.steps, "episodes": study.episodes}
        if not path.exists():
            return
        try:
            document = json.loads(path.read_text())
            about = {key: document[key] for key in self.about}
            self.outcomes = {
                Task(*(x[key] for key in Task._fields)): Outcome(*(x[key] for key in Outcome._fields))
                for x in document["tasks"]
            }
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{path} is not a file of results ({error!r}): name another with --out, or delete it")
        if about != self.about:
            sys.exit(f"{path} holds results of {about}, not of {self.about}: name another with --out, or delete it")

    def add(self, task: Task, outcome: Outcome) -> None:
        self.outcomes[task] = outcome
        tasks = [{**task._asdict(), **outcome._asdict()} for task, outcome in sorted(self.outcomes.items())]
        text = json.dumps({**self.about, "with": versions(), "tasks": tasks}, indent=1, ensure_ascii=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        draft.write_text(text + "\n")
        draft.replace(self.path)

    def best_setting(self, study: Study, name: str) -> str:
        searches = study.searches(name)
        if not searches:
            return next(iter(study.rows[name].settings))
        return max(searches, key=lambda task: self.outcomes[task].mean).setting

    def pending(self, study: Study, names: list[str]) -> list[Task]:
        """Tasks that can begin now: of a row whose setting is not yet chosen, its search."""
        tasks = []
        for name in names:
            search = [task for task in study.searches(name) if task not in self.outcomes]
            tasks += search or [
                task for task in study.seeds_of(name, self.best_setting(study, name)) if task not in self.outcomes
            ]
        return tasks


def versions() -> dict[str, str]:
    """Of what decides the numbers and their time."""
    numbers = {"python": platform.python_version(), "cores": str(os.cpu_count())}
    for package in ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib"):
        with suppress(PackageNotFoundError):
            numbers[package] = version(package)
    return numbers


@contextmanager
def workers(study: Study, names: list[str], processes: int) -> Iterator[Any]:
    """A `map` over N processes, which yields results as they come."""
    study.warm_up(names)  # in one process before there are many: what is compiled here is loaded there
    if processes == 1:
        yield map
    else:
        with get_context("spawn").Pool(processes, partial(study.in_worker, names)) as pool:
            yield pool.imap_unordered


def do_all(study: Study, names: list[str], results: Results, processes: int) -> None:
    """Searches and rows that need none; then the rows of the best settings. Long tasks begin first."""
    rows = study.rows
    if not results.pending(study, names):
        return
    with workers(study, names, processes) as each:
        while tasks := results.pending(study, names):
            tasks.sort(key=lambda task: -rows[task.method].seconds)
            open_rows = {task.method for task in tasks if task.search}
            left = sum(rows[task.method].seconds for task in tasks)
            left += sum(rows[name].seconds * len(study.seeds_of(name, "")) for name in open_rows)
            guess, spent = 0.0, 0.0
            say(f"{len(tasks)} tasks, {processes} at a time")
            for number, (task, outcome) in enumerate(each(study.perform, tasks), start=1):
                results.add(task, outcome)
                seconds = rows[task.method].seconds
                left, guess, spent = left - seconds, guess + seconds, spent + outcome.cpu
                minutes = left * spent / guess / min(processes, os.cpu_count() or 1) / 60.0
                say(f"{number} of {len(tasks)}: {task}: {integer(outcome.mean)} in {outcome.cpu:.1f} s; some "
                    f"{minutes:.1f} minutes left")  # fmt: skip


def integer(x: float) -> str:
    return f"{x:,.0f}".replace("-", "−")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def places(samples: dict[str, Floats]) -> dict[str, str]:
    """Those that the tests of `kl.compare` leave open."""
    several = {name: earned for name, earned in samples.items() if len(earned) > 1}
    if len(several) < 2:
        return {}
    standings = kl.compare(several, metric="return").standings
    return {x.agent: f"{x.first}" if x.first == x.last else f"{x.first}–{x.last}" for x in standings}


def table(study: Study, names: list[str], results: Results) -> list[str]:
    """The best first: mean over seeds with its interval, time per seed."""
    simulator = SIMULATORS[study.simulator]
    least, most = value_of_chance(simulator), optimum(simulator)
    settings = {name: results.best_setting(study, name) for name in names}
    outcomes = {name: [results.outcomes[task] for task in study.seeds_of(name, settings[name])] for name in names}
    samples = {name: np.array([outcome.mean for outcome in outcomes[name]]) for name in names}
    place = places(samples)
    lines = []
    for name, earned in samples.items():
        mean, low, high = mean_interval(earned)
        seconds = np.mean([outcome.cpu for outcome in outcomes[name]])
        cells = [
            ", ".join(filter(None, (name, settings[name]))),
            f"{len(earned)}",
            integer(mean),
            f"{integer(low)} to {integer(high)}" if np.isfinite(low) else "–",
            f"{integer(min(earned))} to {integer(max(earned))}" if len(earned) > 1 else "–",
            place.get(name, "–"),
            f"{integer(100.0 * (mean - least) / (most - least))}%",
            f"{seconds:.1f}" if name not in ("rule of thumb", "random") else "–",
        ]
        lines.append((mean, f"| {' | '.join(cells)} |"))
    head = ["| method | seeds | mean | 95% interval | least to most | rank | progress | CPU s |", "|---" * 8 + "|"]
    return head + [line for _, line in sorted(lines, reverse=True)]


def settings_tried(study: Study, names: list[str], results: Results) -> list[str]:
    lines = [
        f"| {task.method} | {task.setting} | {integer(results.outcomes[task].mean)} |"
        for name in names
        for task in study.searches(name)
    ]
    return ["| method | setting | mean |", "|---" * 3 + "|", *lines] if lines else []


def tables(study: Study, names: list[str], results: Results) -> str:
    simulator = SIMULATORS[study.simulator]
    exact = f"exact values: {value_of_chance(simulator):,.1f} at random, {optimum(simulator):,.1f} at best"
    blocks = [[exact]]
    if "rule of thumb" in names:
        levels = best_levels(simulator)
        value = value_of_rule(simulator, simulator.rule(*levels))
        blocks.append([f"rule of thumb: the best of {len(simulator.rules)} is {levels}, worth exactly {value:,.1f}"])
    others = [name for name in names if name in other_priors(study.simulator)]
    blocks.append(table(study, [name for name in names if name not in others], results))
    blocks.append(table(study, [name for name in names if name == BY_HAND] + others, results) if others else [])
    blocks.append(settings_tried(study, names, results))
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulator", choices=SIMULATORS)
    parser.add_argument("--only", default="", help="rows whose names have this word")
    parser.add_argument("--processes", type=positive, default=1, help="how many tasks at a time, one thread each")
    parser.add_argument("--seeds", type=positive, default=SEEDS, help="per method (no interval below ten)")
    parser.add_argument("--steps", type=positive, default=STEPS, help="of learning")
    parser.add_argument("--episodes", type=positive, default=EPISODES, help="that what is deployed works")
    parser.add_argument("--out", type=Path, help="JSON file of results (default: out/deployed_SIMULATOR.json)")
    given = parser.parse_args()
    study = Study(given.simulator, given.steps, given.episodes, given.seeds)
    names = [name for name in study.rows if given.only in name]
    if not names:
        parser.error(f"--only {given.only!r} is in the name of no row: give a part of "
                     f"{', '.join(map(repr, study.rows))}")  # fmt: skip
    least = (RANDOM_PLAY + 1) * SIMULATORS[given.simulator].days
    if given.steps < least:
        parser.error(
            f"--steps {given.steps} is too short for random play and an episode after it: give {least} or more"
        )
    if find_spec("stable_baselines3") is None:
        say("Stable-Baselines3 is not installed, and its rows are left out: pip install stable-baselines3 sb3-contrib")
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"  # for the processes that are started from here
    results = Results(given.out or Path("out", f"deployed_{given.simulator}.json"), study)
    try:
        do_all(study, names, results, given.processes)
    except KeyboardInterrupt:
        sys.exit(f"stopped: {len(results.outcomes)} tasks are in {results.path}, and the same command continues")
    text = tables(study, names, results)
    results.path.with_suffix(".md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
