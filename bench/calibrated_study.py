"""The study of docs/evidence/calibrated.md: agents that explore less than Thompson sampling, on the same worlds.

    python -m bench.calibrated_study estimate              # processor minutes of each step, from small runs
    python -m bench.calibrated_study run --only search     # twelve settings of each agent, on worlds of tuning
    python -m bench.calibrated_study run --held-out --workers 16 --limit-seconds 500
    python -m bench.calibrated_study cost                  # time of an episode, in turns, on an idle machine
    python -m bench.calibrated_study phases                # what early and late episodes lose, on worlds of tuning
    python -m bench.calibrated_tables                      # the tables of the page, then `make pages`

`STEPS` lists what is run, the most important first. A job is one agent on a chunk of worlds. Its numbers are a small
file in the folder `--out`, and jobs that have one are skipped: a study that was stopped is resumed by the same command.
Within a step all cases get their first chunk before any gets its second, and the largest case begins, so that the last
jobs are short. Worlds are those of tuning; `--held-out` plays others, by which nothing may be chosen, into a folder of
their own. A study that was played on several machines is the union of their folders: copy the files together.
"""

import argparse
import itertools
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import klearning as kl
from bench import forks
from klearning.lab.benchmarks.bandits.agents import BanditAgent, BayesUCB, InformationDirectedBandit, coin_regret
from klearning.lab.benchmarks.bandits.bayes_optimal import COINS
from klearning.numerics.files import write_whole
from klearning.tabular.models.mdp import optimal_value
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.trial import Trial

OUT = Path("out/calibrated_study")
TUNING, HELD_OUT = 7001, 980_001  # first worlds; earlier agents have met those from 900,001 to 980,000

THOMPSON, DOUBLED, TRIPLED = "PSRL", "PSRL, counts × 2", "PSRL, counts × 3"
OURS, K, CALIBRATED = "information-directed", "K-learning", "K-learning, calibrated"
CALIBRATED_VAPOR = "VAPOR, calibrated"
AGENTS: dict[str, Agent] = {
    THOMPSON: kl.PSRL(),
    DOUBLED: kl.PSRL(concentration=2.0),
    TRIPLED: kl.PSRL(concentration=3.0),
    OURS: kl.InformationDirected(),
    K: kl.KLearning(temperature="optimal", bonus="reward", optimism=1.0),
    CALIBRATED: kl.KLearning(optimism="calibrated"),
    CALIBRATED_VAPOR: kl.VAPOR(optimism="calibrated"),
    "VAPOR": kl.VAPOR(),
    "VBOS": kl.VBOS(),
    "Bayes-UCB": BayesUCB(),
    "IDS": InformationDirectedBandit(),
}


def calibrated_k(bonus: Any = "reward", **settings: Any) -> Agent:
    return kl.KLearning(bonus=bonus, optimism=kl.Calibration(**settings))


def calibrated_vapor(bonus: Any = "reward", **settings: Any) -> Agent:
    return kl.VAPOR(bonus=bonus, optimism=replace(kl.VAPOR.default, **settings))


# the search: as many settings of each agent, on the same worlds; the first is the agent's default
SETTINGS: dict[str, tuple[Callable[..., Agent], tuple[dict[str, Any], ...]]] = {
    THOMPSON: (
        kl.PSRL,
        tuple({"concentration": x} for x in (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)),
    ),
    OURS: (
        kl.InformationDirected,
        (
            {"window": 10, "concentration": 2.0, "patience": 30.0},
            {"window": 3}, {"window": 30}, {"concentration": 1.5}, {"concentration": 3.0}, {"concentration": 4.0},
            {"patience": 10.0}, {"patience": 100.0}, {"patience": 300.0}, {"concentration": 1.5, "patience": 10.0},
            {"concentration": 3.0, "patience": 100.0}, {"concentration": 1.5, "patience": 100.0},
        ),
    ),
    CALIBRATED: (
        calibrated_k,
        (
            {"draws": 1, "window": 10, "margin": 0.0, "thompson_fraction": "log"},
            {"draws": 4}, {"window": 3}, {"window": 30}, {"window": 100}, {"margin": 1.0},
            {"thompson_fraction": 0.0}, {"thompson_fraction": 0.25}, {"thompson_fraction": "informed"},
            {"window": 30, "thompson_fraction": 0.0}, {"bonus": "split"}, {"bonus": "split", "thompson_fraction": 0.0},
        ),
    ),
    CALIBRATED_VAPOR: (
        calibrated_vapor,
        (
            {"draws": 1, "window": 30, "margin": 0.0, "thompson_fraction": 0.0},
            {"draws": 4}, {"window": 3}, {"window": 10}, {"window": 100}, {"margin": 1.0}, {"thompson_fraction": "log"},
            {"thompson_fraction": 0.1}, {"thompson_fraction": 0.25}, {"window": 10, "thompson_fraction": "log"},
            {"bonus": "sharp"}, {"bonus": "sharp", "thompson_fraction": "log"},
        ),
    ),
}  # fmt: skip


def setting_name(agent: str, settings: dict[str, Any]) -> str:
    return f"{agent}: {', '.join(f'{name} {x}' for name, x in settings.items())}"


SEARCHED = {setting_name(agent, x): make(**x) for agent, (make, tried) in SETTINGS.items() for x in tried}
AGENTS |= SEARCHED
CORE = (THOMPSON, OURS, DOUBLED)
LATER = (K, TRIPLED, CALIBRATED, CALIBRATED_VAPOR)
FAMILY = (*CORE, *LATER)

SIZES = (
    "2×4×2", "4×4×2", "8×4×2", "4×2×2", "4×8×2", "4×4×4", "4×4×8", "2×2×2", "5×5×2", "16×4×2", "4×16×2", "6×3×5",
)  # fmt: skip
NORMAL = kl.Prior(kl.Gaussian(0.0, 1.0, 1.0), kl.Dirichlet(1.0))
# the prior that worlds come from, and the one that the agent has
PRIORS: dict[str, tuple[kl.Prior, kl.Prior]] = {
    "coins, mass × 3": (COINS, replace(COINS, transitions=kl.Dirichlet(3.0))),
    "coins, mass ÷ 3": (COINS, replace(COINS, transitions=kl.Dirichlet(1.0 / 3.0))),
    "normal": (NORMAL, NORMAL),
    "normal, sd × 3": (NORMAL, replace(NORMAL, reward=kl.Gaussian(0.0, 3.0, 1.0))),
    "normal, sd ÷ 3": (NORMAL, replace(NORMAL, reward=kl.Gaussian(0.0, 1.0 / 3.0, 1.0))),
}
PRIOR_CASES = tuple(f"{size}, {prior}" for size in ("4×2×2", "5×5×2", "4×4×4") for prior in PRIORS)
DEPTHS = ("10", "20", "50")
SEA = kl.Prior(kl.Gaussian(mean=0.0, sd=1.0, noise=0.05), kl.Dirichlet(mass=0.3))
WORLDS = (
    "river_swim, stationary", "river_swim, closer", "bandit, default", "inventory, closer", "admission_queue, closer",
    "dose_finding, closer",
)  # fmt: skip
SEARCH_SIZES = ("4×2×2", "5×5×2", "4×4×4", "2×2×2")
SIMULATORS = ("FrozenLake", "Taxi", "CliffWalking", "Blackjack")
BSUITE = ("bandit 11", *(f"{name} {size}" for name in ("deep_sea", "deep_sea_stochastic") for size in (10, 20, 30)))
SIZE_POINTS, LONG_POINTS, BANDIT_POINTS, TINY_POINTS = (100, 1000), (1000, 10_000), (50, 100, 200), (3, 6)

Numbers = list[float]


@dataclass(frozen=True)
class Job:
    """One agent on a chunk of the worlds of a case; worlds are counted from 0."""

    part: str
    case: str
    agent: str
    worlds: range

    @property
    def file(self) -> str:
        return f"{self.part}/{slug(self.case)}--{slug(self.agent)}--{self.worlds.start}-{self.worlds.stop}.json"


def slug(name: str) -> str:
    words = {"×": "x", "÷": "by", "(": "", ")": "", ",": "", ":": "", " ": "_"}
    return "".join(words.get(letter, letter) for letter in name)


def sizes_of(text: str) -> tuple[int, int, int]:
    L, S, A = map(int, text.split("×"))
    return L, S, A


def effort(case: str) -> int:
    """Rows of tables, roughly: the product of the sizes that a case is named by."""
    return math.prod(map(int, re.findall(r"\d+", case.partition(", ")[0])))


def regret(agent: Agent, world: kl.MDP, prior: kl.Prior, points: tuple[int, ...], seed: int) -> Numbers:
    """Exact cumulative regret after these episodes: that of `kl.run`, without its threads."""
    trial = Trial(agent, world, prior, seed, points[-1])
    trial.advance(points[-1])
    lost = np.cumsum(optimal_value(world) - trial.log.values)
    return [float(lost[t - 1]) for t in points]


def sized(agent: Agent, case: str, seed: int, points: tuple[int, ...]) -> Numbers:
    size, _, prior = case.partition(", ")
    drawn, believed = PRIORS[prior] if prior else (COINS, COINS)
    L, S, A = sizes_of(size)
    return regret(agent, kl.random_mdp(S, A, L, drawn, seed), believed, points, seed)


def sizes(agent: Agent, case: str, seed: int) -> Numbers:
    return sized(agent, case, seed, SIZE_POINTS)


def long(agent: Agent, case: str, seed: int) -> Numbers:
    return sized(agent, case, seed, LONG_POINTS)


def bandits(agent: Agent, case: str, seed: int) -> Numbers:
    world = kl.random_mdp(1, 2, 1, COINS, seed)
    if isinstance(agent, BanditAgent):
        lost = coin_regret(agent, world.reward[:, 0], BANDIT_POINTS[-1], seed)
        return [float(lost[t - 1]) for t in BANDIT_POINTS]
    return regret(agent, world, COINS, BANDIT_POINTS, seed)


def tiny(agent: Agent, case: str, seed: int) -> Numbers:
    return regret(agent, kl.random_mdp([1, 2], 2, None, COINS, seed), COINS, TINY_POINTS, seed)


def fork(agent: Agent, case: str, seed: int) -> Numbers:
    """Regret after 500 and after 1,000 episodes. The number of a world says which fork it is."""
    chance = forks.chances()[(seed - TUNING) % len(forks.chances())]
    x = forks.fork_regret(agent, float(chance), case == "known rewards", 1000, seed)
    return [float(x[499]), float(x[999])]


def deep_sea(agent: Agent, case: str, seed: int) -> Numbers:
    """First hit and time to solve, nan if it was not."""
    depth = int(case)
    runs = kl.run(agent, kl.deep_sea(depth), prior=SEA, episodes=40 * depth, seeds=[seed], threads=1)
    return [float(runs.first_hit[0]), float(runs.solved[0])]


def worlds(agent: Agent, case: str, seed: int) -> Numbers:
    """Regret after 200 and after 1,000 episodes."""
    name, prior = case.split(", ")
    world: kl.MDP = getattr(kl, name)()
    closer = kl.Prior(kl.Gaussian(0.0, 0.3, 0.05), kl.Dirichlet(1.0), stationary=prior == "stationary")
    return regret(agent, world, kl.Prior() if prior == "default" else closer, (200, 1000), seed)


def simulators(agent: Agent, case: str, seed: int) -> Numbers:
    """Episodes until the deployed policy is worth 95% of the optimum, nan if it never was."""
    from klearning.lab.benchmarks.gymnasium.toy_text import PROBLEMS, episodes_needed

    return [float(episodes_needed(PROBLEMS[case], fast(agent), seed).episodes or np.nan)]


def bsuite(agent: Agent, case: str, seed: int) -> Numbers:
    """bsuite's total: bad episodes, or regret."""
    from klearning.lab.benchmarks.bsuite.sweep import run_setting

    name, number = case.split()
    setting = {"mapping_seed": seed} if name == "bandit" else {"size": int(number), "mapping_seed": 42 + seed}
    episodes = {"deep_sea": 1000, "deep_sea_stochastic": 2000, "bandit": 10_000}[name]
    return [float(run_setting(name, setting, fast(agent), episodes, seed).totals[-1])]


def fast(agent: Agent) -> Agent:
    """With a coarser search for temperatures, for simulators."""
    return replace(agent, tolerance=1e-3) if isinstance(agent, kl.KLearning) else agent


PARTS: dict[str, Callable[[Agent, str, int], Numbers]] = {
    "search": sizes,
    "sizes": sizes,
    "long": long,
    "priors": sizes,
    "bandits": bandits,
    "tiny": tiny,
    "forks": fork,
    "deep_sea": deep_sea,
    "worlds": worlds,
    "simulators": simulators,
    "bsuite": bsuite,
}


@dataclass(frozen=True)
class Step:
    """Cases of a part, the agents that play them, how many worlds of each, and how many of them are one job."""

    part: str
    cases: tuple[str, ...]
    agents: tuple[str, ...]
    worlds: int
    chunk: int

    def jobs(self, most: int) -> Iterator[Job]:
        count = min(self.worlds, most)
        for first in range(0, count, self.chunk):
            for case in sorted(self.cases, key=effort, reverse=True):
                for agent in self.agents:
                    yield Job(self.part, case, agent, range(first, min(first + self.chunk, count)))


STEPS = (
    Step("search", SEARCH_SIZES, tuple(SEARCHED), 100, 25),
    Step("sizes", SIZES, CORE, 1000, 25),
    Step("bandits", ("two arms",), CORE, 10_000, 500),
    Step("forks", ("known rewards", "unknown rewards"), FAMILY, 40, 10),
    Step("deep_sea", DEPTHS, FAMILY, 30, 2),
    Step("long", SIZES, CORE, 100, 5),
    Step("bandits", ("two arms",), (*LATER, "VBOS", "VAPOR"), 4000, 500),
    Step("tiny", ("two layers",), FAMILY, 4000, 500),
    Step("sizes", SIZES, LATER, 1000, 20),
    Step("priors", PRIOR_CASES, (*CORE, K), 1000, 20),
    Step("long", SIZES, CORE, 1000, 5),
    Step("bandits", ("two arms",), ("Bayes-UCB", "IDS"), 2000, 100),
    Step("long", SIZES, LATER, 200, 5),
    Step("worlds", WORLDS, FAMILY, 30, 5),
    Step("simulators", SIMULATORS, FAMILY, 10, 1),
    Step("bsuite", BSUITE, FAMILY, 10, 1),
)


def play(job: Job, out: Path, first: int, deadline: float = np.inf) -> float:
    """Play a job and write its file; the processor seconds that it took. Nothing is begun after the deadline."""
    if time.time() > deadline:
        return 0.0
    start = time.process_time()
    numbers = [PARTS[job.part](AGENTS[job.agent], job.case, first + world) for world in job.worlds]
    seconds = time.process_time() - start
    path = out / job.file
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {"part": job.part, "case": job.case, "agent": job.agent, "first": job.worlds.start, "seconds": seconds}
    write_whole(path, (json.dumps(found | {"numbers": numbers}) + "\n").encode())
    return seconds


def run(given: argparse.Namespace) -> None:
    """All jobs that have no file yet."""
    out = folder(given.out, given.held_out)
    jobs = {job.file: job for job in chosen(given) if not (out / job.file).exists()}
    begun = time.time()
    deadline, spent = begun + given.limit_seconds, 0.0
    with ProcessPoolExecutor(given.workers) as pool:
        for key in kernels_of, (lambda job: (job.part, job.agent)):
            list(pool.map(compiled, {key(job): job for job in reversed(jobs.values())}.values()))
        print(f"{len(jobs)} jobs; kernels are there after {time.time() - begun:.0f} s", flush=True)
        tasks = [pool.submit(play, job, out, first_world(given.held_out), deadline) for job in jobs.values()]
        for i, task in enumerate(as_completed(tasks), 1):
            spent += task.result()
            if i % 100 == 0 or i == len(tasks):
                passed = time.time() - begun
                print(f"{i} of {len(tasks)} jobs, {passed:.0f} s, {spent:.0f} s of processors", flush=True)
    left = sum(not (out / file).exists() for file in jobs)
    print(f"{left} jobs are left: run the same command again" if left else "complete", flush=True)


def chosen(given: argparse.Namespace) -> Iterator[Job]:
    """The jobs of the parts, cases and agents that are named: all parts, cases or agents if none is."""
    parts, cases = set(given.only) & set(PARTS) or set(PARTS), set(given.only) - set(PARTS)
    agents = given.agents or AGENTS
    if given.held_out:
        parts = parts - {"search"}  # nothing may be chosen by these worlds
    for step in STEPS:
        for job in step.jobs(given.worlds):
            size = job.case.partition(", ")[0]
            if job.part in parts and not (cases and cases.isdisjoint((job.case, size))) and family(job) in agents:
                yield job


def family(job: Job) -> str:
    """The agent, without the settings of a search."""
    return job.agent.partition(":")[0]


def kernels_of(job: Job) -> tuple[str, Any]:
    """Agents that differ in numbers alone have the same kernels."""
    return family(job), getattr(AGENTS[job.agent], "bonus", None)


def compiled(job: Job) -> None:
    """Have the kernels of a job's agent in the cache, so that one process compiles them and the others read."""
    agent = AGENTS[job.agent]
    if job.part in ("bandits", "tiny", "forks"):
        PARTS[job.part](agent, job.case, TUNING)
    elif job.part == "deep_sea":
        regret(agent, kl.deep_sea(4), SEA, (2,), TUNING)
    else:
        regret(agent, kl.random_mdp(2, 2, 2, COINS), COINS, (2,), TUNING)


def first_world(held_out: bool) -> int:
    return HELD_OUT if held_out else TUNING


def folder(out: Path, held_out: bool) -> Path:
    return out / ("held_out" if held_out else "tuning")


def estimate(given: argparse.Namespace) -> None:
    """Processor seconds of each step: one world of each case and agent, played twice. The second time counts."""
    total = 0.0
    for step in STEPS:
        if given.only and step.part not in given.only:
            continue
        by_agent: dict[str, float] = {}
        for agent in step.agents:
            for case in step.cases:
                PARTS[step.part](AGENTS[agent], case, TUNING)
                start = time.process_time()
                PARTS[step.part](AGENTS[agent], case, TUNING)
                seconds = step.worlds * (time.process_time() - start)
                by_agent[agent] = by_agent.get(agent, 0.0) + seconds
        total += sum(by_agent.values())
        parts = ", ".join(f"{agent} {seconds:.0f}" for agent, seconds in by_agent.items())
        print(f"{step.part}, {step.worlds} worlds: {sum(by_agent.values()):.0f} s ({parts})", flush=True)
    print(f"all: {total:.0f} s of one processor", flush=True)


COST_CASES, COST_EPISODES, TURNS = ("4×2×2", "4×4×2", "5×5×2", "4×4×8", "16×4×2"), 1000, 9


def cost(given: argparse.Namespace) -> None:
    """Microseconds of an episode of each agent, the first thousand of them, without evaluation; agents take turns."""
    found: dict[str, dict[str, Numbers]] = {}
    for case in COST_CASES:
        L, S, A = sizes_of(case)
        times: dict[str, Numbers] = {agent: [] for agent in FAMILY}
        for turn in range(-1, TURNS):  # the first compiles
            world = kl.random_mdp(S, A, L, COINS, TUNING + max(turn, 0))
            for name, x in times.items():
                trial = Trial(AGENTS[name], world, COINS, TUNING, COST_EPISODES, evaluate_every=0)
                start = time.process_time()
                trial.advance(COST_EPISODES)
                if turn >= 0:
                    x.append(1e6 * (time.process_time() - start) / COST_EPISODES)
        found[case] = times
        ratios = (f"{name} {np.median(np.divide(x, times[THOMPSON])):.2f}" for name, x in times.items())
        print(f"{case}: PSRL {np.median(times[THOMPSON]):.1f} µs; ratios: {', '.join(ratios)}", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    write_whole(given.out / "cost.json", (json.dumps(found) + "\n").encode())


PHASE_CASES, PHASES, PHASE_WORLDS = ("2×2×2", "4×2×2", "4×4×4"), (0, 100, 300, 1000, 3000, 10_000), 100


def phases(given: argparse.Namespace) -> None:
    """By phase: the shares of episodes that follow a draw and that the guard changes, and what episodes lose."""
    found: dict[str, list[Numbers]] = {}
    for case in PHASE_CASES:
        lost, drawn, guarded = played_by(OURS, case)
        doubled, _, _ = played_by(DOUBLED, case)
        found[case] = []
        for ends in itertools.pairwise(PHASES):
            now = slice(*ends)
            follows = drawn[:, now] > 0.0
            each = follows, guarded[:, now], lost[:, now][follows], lost[:, now][~follows], doubled[:, now]
            found[case].append([float(x.mean()) for x in each])
        print(case, np.round(found[case], 4).tolist(), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    write_whole(given.out / "phases.json", (json.dumps(found) + "\n").encode())


def played_by(agent: str, case: str) -> Any:
    """Regret and the diagnostics `thompson` and `guarded` of every episode, (worlds, episodes); zeros if none."""
    L, S, A = sizes_of(case)
    names, played = AGENTS[agent].diagnostics, []
    for seed in range(TUNING, TUNING + PHASE_WORLDS):
        world = kl.random_mdp(S, A, L, COINS, seed)
        trial = Trial(AGENTS[agent], world, COINS, seed, PHASES[-1])
        trial.advance(PHASES[-1])
        lost = optimal_value(world) - trial.log.values
        logged = [name in names and trial.log.diagnostics[names.index(name)] for name in ("thompson", "guarded")]
        played.append((lost, *(np.zeros_like(lost) + x for x in logged)))
    return np.array(played).transpose(1, 0, 2)


def read(out: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The numbers of all jobs that are done: by part, case and agent, an array (worlds, numbers) and nan if missing."""
    found: dict[tuple[str, str, str], dict[int, Numbers]] = {}
    for path in out.glob("*/*.json"):
        job = json.loads(path.read_text())
        by_world = found.setdefault((job["part"], job["case"], job["agent"]), {})
        by_world.update(enumerate(job["numbers"], job["first"]))
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for (part, case, agent), by_world in found.items():
        numbers = np.full((max(by_world) + 1, len(by_world[next(iter(by_world))])), np.nan)
        numbers[list(by_world)] = list(by_world.values())
        results.setdefault(part, {}).setdefault(case, {})[agent] = numbers
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "estimate", "cost", "phases"))
    parser.add_argument("--out", type=Path, default=OUT, help="the folder of results; default: %(default)s")
    parser.add_argument("--held-out", action="store_true", help="worlds by which nothing was chosen")
    parser.add_argument("--only", nargs="+", default=[], help=f"of {', '.join(PARTS)}, or cases such as 4×2×2")
    parser.add_argument("--agents", nargs="+", default=[], help="these alone, by their names in the tables")
    parser.add_argument("--worlds", type=int, default=10**9, help="of each case at most")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--limit-seconds", type=float, default=np.inf, help="no job is begun later")
    given = parser.parse_args()
    {"run": run, "estimate": estimate, "cost": cost, "phases": phases}[given.command](given)


if __name__ == "__main__":
    main()
