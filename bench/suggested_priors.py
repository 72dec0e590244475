"""Returns of K-learning with a prior suggested by random play, and with one made by hand, in nine simulators.

    python -m bench.suggested_priors [--seeds 10] [--processes 2] [NAME ...]

Writes docs/evidence/data/benchmarks.suggested.json: the mean return while learning and the mean return of the greedy
policy afterwards, in 100 fresh episodes. The 20 episodes of random play are not counted. "Half the range" is the rule
without the spread of means: sd is half the distance between the least and the largest reward. Rules were compared on
the simulators of `FITTED`; the others were looked at once. "Of the way" has Fieller's interval of a ratio. Outcomes are
kept in out/suggested_priors.json, seed by seed, and not measured again.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from scipy import stats

import klearning as kl
from bench.record import record
from examples.clinic import STEPS, Clinic
from examples.warehouse import DAYS as MONTH
from examples.warehouse import Warehouse
from examples.workshop import DAYS, Workshop
from klearning.lab.benchmarks.gymnasium.toy_text import PROBLEMS
from klearning.numerics.files import write_whole
from klearning.numerics.statistics import Interval, mean_interval
from klearning.numerics.types import Floats
from klearning.simulators.random_play import random_play

HEADINGS = (
    "simulator: prior", "simulator", "prior", "episodes", "random play", "sd", "while learning", "of the way",
    "deployed", "less by hand",
)  # fmt: skip
FITTED = ("Taxi", "CliffWalking", "warehouse", "queue")
KEPT = Path("out/suggested_priors.json")
DEPLOYED, RANDOM = 100, 1000  # episodes
RULES = ("by hand", "half the range", "suggested")
K = "K-learning"
AGENTS: dict[str, kl.Agent] = {
    K: kl.KLearning(temperature="optimal", bonus="reward", optimism=1.0),
    "information-directed": kl.InformationDirected(),
    "PSRL": kl.PSRL(),
    "PSRL, counts × 2": kl.PSRL(concentration=2.0),
    "K-learning, calibrated": kl.KLearning(optimism="calibrated"),
}


class Simulator(NamedTuple):
    make: Callable[[], gymnasium.Env[Any, Any]]
    horizon: int
    episodes: int
    prior: kl.Prior  # made by hand


class Job(NamedTuple):
    name: str  # of a simulator
    rule: str  # of its prior
    agent: str
    seed: int


class Outcome(NamedTuple):
    sd: float
    learning: float
    deployed: float


def by_hand(mean: float, sd: float, noise: float, mass: float) -> kl.Prior:
    return kl.Prior(kl.Gaussian(mean, sd, noise), kl.Dirichlet(mass), stationary=True)


def toy_text(name: str, episodes: int) -> Simulator:
    problem = PROBLEMS[name]
    return Simulator(problem.make, problem.horizon, episodes, problem.prior)


def inventory() -> gymnasium.Env[Any, Any]:
    return kl.WorldEnv(kl.inventory(capacity=6, horizon=10, demand=2.0))


def queue() -> gymnasium.Env[Any, Any]:
    return kl.WorldEnv(kl.admission_queue())


SIMULATORS = {
    "Taxi": toy_text("Taxi", 300),
    "CliffWalking": toy_text("CliffWalking", 200),
    "warehouse": Simulator(Warehouse, MONTH, 1000, by_hand(10.0, 70.0, 30.0, 1.0)),
    "queue": Simulator(queue, 15, 500, by_hand(0.0, 0.5, 0.1, 1.0)),
    "FrozenLake": toy_text("FrozenLake", 1000),
    "Blackjack": toy_text("Blackjack", 5000),
    "workshop": Simulator(Workshop, DAYS, 300, by_hand(150.0, 150.0, 40.0, 1.0)),
    "inventory": Simulator(inventory, 10, 500, by_hand(0.0, 0.3, 0.05, 1.0)),
    "clinic": Simulator(Clinic, STEPS, 1000, by_hand(0.0, 4.0, 3.0, 2.0)),
}


def prior_by(rule: str, simulator: Simulator, seed: int) -> kl.Prior:
    if rule == "by hand":
        return simulator.prior
    suggested = kl.suggest_prior(simulator.make(), seed=seed, horizon=simulator.horizon)
    if rule == "suggested":
        return suggested
    steps = random_play(simulator.make(), "suggest_prior", 20, seed, simulator.horizon)
    rewards = [step.reward for step in steps if step.action >= 0]  # a reset pays nothing
    half = float(f"{np.ptp(rewards) / 2.0:.2g}")
    if half == 0.0:
        return suggested
    reward: Any = suggested.reward
    return replace(suggested, reward=replace(reward, sd=half, noise=max(reward.noise, 0.1 * half)))


def outcome(job: Job) -> Outcome:
    """Of one learner: what it believed, earned and is worth."""
    simulator, agent = SIMULATORS[job.name], AGENTS[job.agent]
    prior = prior_by(job.rule, simulator, job.seed)
    learner = kl.learn(
        agent, simulator.make(), horizon=simulator.horizon, prior=prior, episodes=simulator.episodes, seed=job.seed
    )
    reward: Any = prior.reward
    return Outcome(reward.sd, float(np.mean(learner.returns)), deployed_return(learner, simulator))


def deployed_return(learner: kl.Learner, simulator: Simulator) -> float:
    """Mean return of the greedy policy."""
    env, total = simulator.make(), 0.0
    for episode in range(DEPLOYED):
        observation, info = env.reset(seed=50_000 + episode)
        for step in range(simulator.horizon):
            action = learner.predict(observation, step, action_mask=info.get("action_mask"))
            observation, reward, terminated, truncated, info = env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
    return total / DEPLOYED


def random_returns(simulator: Simulator) -> Floats:
    returns: list[float] = []
    for step in random_play(simulator.make(), "bench", RANDOM, 0, simulator.horizon):
        if step.action < 0:
            returns.append(0.0)
        else:
            returns[-1] += step.reward
    return np.array(returns)


def way(rule: Floats, hand: Floats, random: Floats, level: float = 0.95) -> Interval:
    """(rule − random)/(hand − random), with Fieller's interval; rule and hand are pairs of seeds.

    NaN bounds if random play and the prior by hand are not told apart.
    """
    A, H = rule.mean() - random.mean(), hand.mean() - random.mean()
    errors = np.cov(rule, hand) / len(rule) + random.var(ddof=1) / len(random)
    t = float(stats.t.ppf(0.5 + level / 2.0, len(rule) - 1))
    a, b, c = H**2 - t**2 * errors[1, 1], A * H - t**2 * errors[0, 1], A**2 - t**2 * errors[0, 0]
    if a <= 0.0:
        return Interval(A / H, np.nan, np.nan)
    root = float(np.sqrt(max(b**2 - a * c, 0.0)))
    return Interval(A / H, (b - root) / a, (b + root) / a)


def number(x: float) -> str:
    return f"{x:,.0f}" if abs(x) >= 1000.0 else f"{x:.3g}"


def percent(x: float) -> str:
    return f"{x:.0%}"


def interval_text(x: Interval, form: Callable[[float], str] = number) -> str:
    """The estimate, with its interval if it has one."""
    text = form(x.estimate) + ("" if np.isnan(x.low) else f" [{form(x.low)}, {form(x.high)}]")
    return text.replace("-", "−")


def row(name: str, rule: str, of: dict[str, list[Outcome]], random: Floats) -> list[str]:
    (sds, learning, deployed), (_, by_hand_learning, by_hand_deployed) = (
        np.array(of[each]).T for each in (rule, "by hand")
    )
    label = f"{name} (fitted)" if name in FITTED else name
    sd = f"{sds.min():.3g}" + (f" to {sds.max():.3g}" if sds.max() > sds.min() else "")
    played = number(random.mean()).replace("-", "−")
    told = [f"{label}: {rule}", label, rule, number(SIMULATORS[name].episodes), played, sd]
    told.append(interval_text(mean_interval(learning)))
    told.append("100%" if rule == "by hand" else interval_text(way(learning, by_hand_learning, random), percent))
    told.append(interval_text(mean_interval(deployed)))
    told.append("" if rule == "by hand" else interval_text(mean_interval(deployed - by_hand_deployed)))
    return told


def kept() -> dict[Job, Outcome]:
    rows = json.loads(KEPT.read_text()) if KEPT.exists() else []
    return {Job(*row[:4]): Outcome(*row[4:]) for row in rows}


def outcomes(jobs: list[Job], processes: int) -> dict[Job, Outcome]:
    """Those that are kept, and the others measured now."""
    found = kept()
    missing = [job for job in jobs if job not in found]
    KEPT.parent.mkdir(exist_ok=True)
    with get_context("spawn").Pool(processes) as pool:
        for job, measured in zip(missing, pool.imap(outcome, missing)):
            found[job] = measured
            write_whole(KEPT, json.dumps([[*job, *numbers] for job, numbers in found.items()]).encode())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SIMULATORS), help="simulators")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    seeds = range(given.seeds)
    found = outcomes([Job(n, rule, K, seed) for n in given.names for rule in RULES for seed in seeds], given.processes)
    rows = []
    for name in given.names:
        random = random_returns(SIMULATORS[name])
        of = {rule: [found[Job(name, rule, K, seed)] for seed in seeds] for rule in RULES}
        rows += [row(name, rule, of, random) for rule in RULES]
    for line in rows:
        print(*line, sep=" | ")
    record(
        "benchmarks.suggested",
        f"python -m bench.suggested_priors --seeds {given.seeds}",
        HEADINGS,
        rows,
        keep=True,
        device="Any machine",
    )


if __name__ == "__main__":
    main()
