"""Calibrated optimism beside its parents and everybody else: all runs behind docs/evidence/calibrated.md.

    python -m bench.calibrated_study estimate                         # processor minutes of each part, from a small run
    python -m bench.calibrated_study run sizes long --out study.json  # parts by name, all of them by default
    python -m bench.calibrated_study tables study.json                # what the page shows

Runs are spread over all cores by processes, those that matter most first. The file is written as jobs are done, and one
that it holds is left out, so that a study can be stopped and gone on with. Every run is that of `kl.run` or `kl.learn`
with its seed.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import klearning as kl
from bench.calibration_variants import VARIANTS, WINDOWS
from bench.tail_rules import TAIL
from bench.vapor_variants import VAPOR_VARIANTS
from klearning.lab.benchmarks.bsuite import sweep as bsuite
from klearning.lab.benchmarks.gymnasium.toy_text import PROBLEMS, episodes_needed
from klearning.lab.papers.odonoghue2021.protocols import PROTOCOLS
from klearning.lab.papers.odonoghue2021.study import PRIOR, Size
from klearning.numerics.files import write_whole
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats
from klearning.tabular.trials.agent import Agent

CALIBRATED, ONE_IN_TEN, INFORMED = "calibrated", "calibrated, one in ten", "calibrated, informed"
THOMPSON, FULL = "Thompson sampling", "K-learning, κ = 1"
PARENTS = (FULL, THOMPSON)
SIZES = [
    Size(2, 4, 2), Size(4, 4, 2), Size(8, 4, 2), Size(4, 2, 2), Size(4, 8, 2), Size(4, 4, 4), Size(4, 4, 8),
    Size(2, 2, 2), Size(5, 5, 2), Size(16, 4, 2), Size(4, 16, 2), Size(6, 3, 5),
]  # fmt: skip
LONG = [Size(4, 2, 2), Size(4, 4, 2), Size(5, 5, 2)]
TUNED = [Size(4, 2, 2), Size(5, 5, 2)]
TUNING, HELD_OUT = 100_000, 200_000  # the first world of those by which settings were chosen, and of the others
DEPTHS = (10, 20, 30, 40, 50)
EPISODES = {("text", depth): 40 * depth for depth in DEPTHS} | {("printed", 10): 20_000}
REWARDS = kl.Gaussian(mean=0.0, sd=0.3, noise=0.05)
BSUITE_SIZES = (10, 20, 30)
BSUITE_EPISODES = {"deep_sea": 1000, "deep_sea_stochastic": 2000, "bandit": 10_000}

AGENTS: dict[str, Agent] = {
    CALIBRATED: kl.KLearning(optimism="calibrated"),
    THOMPSON: kl.PSRL(),
    FULL: kl.KLearning(),
    ONE_IN_TEN: kl.KLearning(optimism="calibrated", thompson=0.1),
    INFORMED: kl.KLearning(optimism="calibrated", thompson="informed"),
    "K-learning, κ = 0.25": kl.KLearning(optimism=0.25),
    "K-learning, κ = 0.1": kl.KLearning(optimism=0.1),
    "K-learning, bonus paper": kl.KLearning(bonus="paper"),
    "RLSVI": kl.RLSVI(),
    "UCBVI": kl.UCBVI(),
    "UCRL2": kl.UCRL2(),
    "UCFH": kl.UCFH(),
    "BEB": kl.BEB(),
    "BOLT": kl.BOLT(),
    "optimistic Q-learning": kl.OptimisticQLearning(),
    "Q-learning": kl.QLearning(),
    "soft Q-learning": kl.SoftQLearning(),
}
VAPORS: dict[str, Agent] = {
    "VAPOR": kl.VAPOR(),
    "VAPOR, calibrated": kl.VAPOR(optimism="calibrated"),
    "VAPOR, κ = 0.25": kl.VAPOR(optimism=0.25),
    "VAPOR, κ = 0.1": kl.VAPOR(optimism=0.1),
    "VAPOR, own κ": VAPOR_VARIANTS["VAPOR, own κ, no Thompson episodes"],
}
AGENTS |= {"OnlineKLearning": kl.OnlineKLearning(), **VAPORS}
CLOSE = (
    CALIBRATED, ONE_IN_TEN, INFORMED, THOMPSON, FULL, "K-learning, κ = 0.25", "K-learning, κ = 0.1",
    "VAPOR", "VAPOR, calibrated",
)  # fmt: skip
AGENT_ORDER = {name: i for i, name in enumerate(AGENTS)}
FAST = {name: replace(AGENTS[name], tolerance=1e-3) for name in (CALIBRATED, ONE_IN_TEN, INFORMED, FULL)}  # type: ignore[type-var]


@dataclass(frozen=True)
class Job:
    """Some runs of one agent in one case of a part."""

    part: str
    case: str
    agent: str
    seeds: range


Numbers = list[float]
Results = dict[str, dict[str, dict[str, dict[str, list[Numbers]]]]]  # part, case, agent, first seed of a job
SAVE_EVERY = 20.0  # seconds


def bayes_run(agent: Agent, size: Size, seed: int, points: Iterable[int]) -> Numbers:
    """Cumulative regret at the points, then what the agent stated of all episodes, if it is calibrated.

    f + shortfall of a Boltzmann episode and the estimate of a Thompson episode, less the policy's value.
    """
    points = list(points)
    world = kl.random_mdp(size.S, size.A, size.L, PRIOR, seed)
    runs = kl.run(agent, world, prior=PRIOR, episodes=points[-1], seeds=[seed])
    numbers = [float(runs.regret[0, t - 1]) for t in points]
    if "estimate" in runs.diagnostics:
        told = {name: x[0] for name, x in runs.diagnostics.items()}
        most = np.where(told["thompson"] > 0.0, told["estimate"], told["bound"] + told["shortfall"])
        numbers.append(float(np.sum(most - runs.values[0])))
    return numbers


def sizes(job: Job, seed: int) -> Numbers:
    return bayes_run(AGENTS[job.agent], size_of(job.case), seed, (100, 1000))


def long(job: Job, seed: int) -> Numbers:
    return bayes_run(AGENTS[job.agent], size_of(job.case), HELD_OUT + seed, (1000, 10_000))


def variants(job: Job, seed: int) -> Numbers:
    agent = AGENTS[THOMPSON] if job.agent == THOMPSON else (VARIANTS | WINDOWS | TAIL | VAPOR_VARIANTS)[job.agent]
    return bayes_run(agent, size_of(job.case), TUNING + seed, (1000, 10_000))[:2]


def deep_sea(job: Job, seed: int) -> Numbers:
    """First hit and time to solve, −1 where it was not."""
    name, depth = job.case.split()
    protocol, most = PROTOCOLS[name], EPISODES[name, int(depth)]
    agent = AGENTS[job.agent]
    if isinstance(agent, kl.KLearning):
        agent = replace(agent, bonus=protocol.bonus)
    runs = kl.run(agent, protocol.world(int(depth)), prior=protocol.prior, episodes=most, seeds=[seed])
    return [float(x[0]) if np.isfinite(x[0]) else -1.0 for x in (runs.first_hit, runs.solved)]


def worlds(job: Job, seed: int) -> Numbers:
    """Regret after 200 and after 1000 episodes."""
    name, what = job.case.split(", ")
    world: Any = getattr(kl, name)()
    closer = kl.Prior(REWARDS, kl.Dirichlet(mass=1.0), stationary=what == "stationary")
    prior = kl.Prior() if what == "default" else closer
    runs = kl.run(AGENTS[job.agent], world, prior=prior, episodes=1000, seeds=[seed])
    return [float(runs.regret[0, t - 1]) for t in (200, 1000)]


def simulators(job: Job, seed: int) -> Numbers:
    """Episodes until the deployed policy is worth 95% of the optimum; those of the limit where it never was."""
    problem = PROBLEMS[job.case]
    outcome = episodes_needed(problem, FAST.get(job.agent, AGENTS[job.agent]), seed)
    return [float(outcome.episodes or problem.most), float(outcome.episodes is not None)]


def bsuite_part(job: Job, seed: int) -> Numbers:
    """bsuite's total: bad episodes, or regret."""
    name, number = job.case.split()
    setting = {"size": int(number), "mapping_seed": 42 + seed} if name != "bandit" else {"mapping_seed": seed}
    result = bsuite.run_setting(name, setting, FAST.get(job.agent, AGENTS[job.agent]), BSUITE_EPISODES[name], seed)
    return [float(result.totals[-1])]


def label(size: Size) -> str:
    return f"{size.L}×{size.S}×{size.A}"


def size_of(case: str) -> Size:
    return Size(*map(int, case.split("×")))


@dataclass(frozen=True)
class Part:
    """What is run: cases, agents, how many seeds of each, how many of them are one job, and one run."""

    cases: tuple[str, ...]
    agents: tuple[str, ...]
    seeds: int
    chunk: int
    run: Callable[[Job, int], Numbers]
    fewer: int = 0  # seeds of agents that are far behind

    def count(self, agent: str) -> int:
        return self.fewer if self.fewer and agent not in CLOSE else self.seeds

    def jobs(self, name: str, seeds: int | None) -> Iterator[Job]:
        for case in reversed(self.cases):  # the long ones first
            for agent in self.agents:
                count = self.count(agent) if seeds is None else min(seeds, self.count(agent))
                for first in range(0, count, self.chunk):
                    yield Job(name, case, agent, range(first, min(first + self.chunk, count)))


SAMPLERS = (CALIBRATED, ONE_IN_TEN, INFORMED, THOMPSON, *VAPORS)
FAMILY = (CALIBRATED, ONE_IN_TEN, INFORMED, FULL, THOMPSON, *VAPORS)
PARTS = {
    "sizes": Part(tuple(map(label, SIZES)), tuple(AGENTS), 1000, 50, sizes, fewer=200),
    "long": Part(tuple(map(label, LONG)), SAMPLERS, 1000, 20, long),
    "deep_sea": Part(tuple(f"{name} {depth}" for name, depth in EPISODES), FAMILY, 30, 1, deep_sea),
    "worlds": Part(
        ("river_swim, stationary", "river_swim, closer", "bandit, default", "inventory, closer",
         "admission_queue, closer", "dose_finding, closer"), FAMILY, 30, 5, worlds,
    ),
    "simulators": Part(tuple(PROBLEMS), FAMILY, 10, 1, simulators),
    "bsuite": Part(
        ("bandit 11", *(f"{name} {size}" for name in ("deep_sea", "deep_sea_stochastic") for size in BSUITE_SIZES)),
        FAMILY, 10, 1, bsuite_part,
    ),
    "variants": Part(tuple(map(label, TUNED)), (THOMPSON, *VARIANTS), 400, 20, variants),
    "windows": Part(tuple(map(label, TUNED)), (THOMPSON, *WINDOWS), 400, 20, variants),
    "tail": Part(tuple(map(label, TUNED)), (THOMPSON, *VARIANTS, *TAIL), 400, 20, variants),
    "vapor_variants": Part(tuple(map(label, TUNED)), (THOMPSON, *VAPOR_VARIANTS), 400, 10, variants),
}  # fmt: skip


def play(job: Job) -> tuple[Job, list[Numbers], float]:
    """A job, its numbers per seed, and the processor seconds that it took."""
    start = time.process_time()
    numbers = [PARTS[job.part].run(job, seed) for seed in job.seeds]
    return job, numbers, time.process_time() - start


def run_parts(
    names: list[str], out: Path, seeds: int | None, processes: int, agents: list[str], cases: list[str], minutes: float
) -> None:
    """All jobs of the parts that the file does not hold, the nearest relatives first, for so many minutes."""
    done: Results = json.loads(out.read_text()) if out.exists() else {}
    jobs = [
        job
        for name in names
        for job in PARTS[name].jobs(name, seeds)
        if not has(done, job) and (not agents or job.agent in agents) and (not cases or job.case in cases)
    ]
    jobs.sort(key=order(names))
    first = {(job.part, job.agent): Job(job.part, job.case, job.agent, range(1)) for job in jobs}
    start, spent, saved = time.monotonic(), 0.0, time.monotonic()
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(play, first.values()))  # each kernel is compiled by one process, and read by the others
        for i, task in enumerate(as_completed([pool.submit(play, job) for job in jobs]), 1):
            job, numbers, seconds = task.result()
            by_agent = done.setdefault(job.part, {}).setdefault(job.case, {}).setdefault(job.agent, {})
            by_agent[str(job.seeds.start)] = numbers
            spent += seconds
            late = time.monotonic() - start > 60 * minutes
            if time.monotonic() - saved > SAVE_EVERY or i == len(jobs) or late:
                write_whole(out, (json.dumps(done) + "\n").encode())
                saved = time.monotonic()
                passed = (saved - start) / 60
                print(f"{i} of {len(jobs)} jobs, {passed:.1f} min, {spent / 60:.1f} of processors", flush=True)
            if late:
                pool.shutdown(wait=False, cancel_futures=True)
                return


def order(names: list[str]) -> Callable[[Job], tuple[int, int, int]]:
    """The nearest relatives first; of rules that are compared with each other some worlds each, then more."""

    def key(job: Job) -> tuple[int, int, int]:
        if PARTS[job.part].run is variants:
            return len(AGENT_ORDER), names.index(job.part), job.seeds.start
        return AGENT_ORDER[job.agent], names.index(job.part), 0

    return key


def has(done: Results, job: Job) -> bool:
    return str(job.seeds.start) in done.get(job.part, {}).get(job.case, {}).get(job.agent, {})


def estimate(names: list[str], processes: int) -> None:
    """Processor minutes of each part: one seed of each case and agent, played twice, the second time counts."""
    with ProcessPoolExecutor(processes) as pool:
        for name in names:
            part = PARTS[name]
            jobs = [Job(name, case, agent, range(1)) for case in part.cases for agent in part.agents]
            total = 0.0
            for job, _, seconds in pool.map(play_twice, jobs):
                total += seconds * part.count(job.agent)
                print(f"  {name}, {job.case}, {job.agent}: {seconds:.3f} s a run", flush=True)
            print(f"{name}: {total / 60:.0f} processor minutes", flush=True)


def play_twice(job: Job) -> tuple[Job, list[Numbers], float]:
    play(job)
    return play(job)


# ---- tables


def interval(x: Floats) -> str:
    told = mean_interval(x)
    return f"{told.estimate:.4g} [{told.low:.4g}, {told.high:.4g}]"


def ratio(
    x: Floats, y: Floats, measure: Callable[..., Any] = np.mean, resamples: int = 2000
) -> tuple[float, float, float]:
    """measure(x) / measure(y) with a percentile interval over resampled pairs."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, x.size, (resamples, x.size))
    low, high = np.quantile(measure(x[at], axis=1) / measure(y[at], axis=1), (0.025, 0.975))
    return float(measure(x) / measure(y)), float(low), float(high)


def q95(x: Floats, axis: int | None = None) -> Any:
    return np.quantile(x, 0.95, axis=axis)


def shown(triple: tuple[float, float, float]) -> str:
    return f"{triple[0]:.3f} [{triple[1]:.3f}, {triple[2]:.3f}]"


def bayes_tables(results: dict[str, Any], points: tuple[int, ...]) -> Iterator[str]:
    for case in sorted(results, key=lambda c: [label(s) for s in SIZES].index(c)):
        by = {agent: np.array(x) for agent, x in results[case].items()}
        worlds = len(by[THOMPSON])
        for i, t in enumerate(points):
            if t < 1000:
                continue
            yield f"\n{case}, {t} episodes, {worlds} MDPs:\n"
            yield "| agent | regret | ratio to Thompson's | 95% of the MDPs below | its ratio | states of itself |"
            yield "|---|---|---|---|---|---|"
            for agent, x in sorted(by.items(), key=lambda item: item[1][:, i].mean()):
                mine, theirs = x[:, i], by[THOMPSON][: len(x), i]
                own = interval(x[:, len(points)]) if x.shape[1] > len(points) and i == len(points) - 1 else ""
                yield (f"| {agent} | {interval(mine)} | {shown(ratio(mine, theirs))} | {q95(mine):.4g} | "
                       f"{shown(ratio(mine, theirs, q95))} | {own} |")  # fmt: skip


def size_summary(results: dict[str, Any]) -> Iterator[str]:
    """One line per size."""
    yield "\n| L×S×A | calibrated | Thompson sampling | ratio | best of the others | stated |"
    yield "|---|---|---|---|---|---|"
    for case in [label(s) for s in SIZES if label(s) in results]:
        by = {agent: np.array(x) for agent, x in results[case].items()}
        mine, theirs = by[CALIBRATED][:, 1], by[THOMPSON][:, 1]
        rest = {agent: x[:, 1].mean() for agent, x in by.items() if agent not in (CALIBRATED, THOMPSON)}
        other = min(rest, key=lambda agent: rest[agent])
        yield (f"| {case} | {interval(mine)} | {interval(theirs)} | {shown(ratio(mine, theirs))} | "
               f"{other}: {rest[other]:.4g} | {interval(by[CALIBRATED][:, 2])} |")  # fmt: skip


def plain_table(results: dict[str, Any], columns: tuple[str, ...], never: float | None = None) -> Iterator[str]:
    """Mean and interval per case and agent; ``never`` is counted apart, and makes the mean a conditional one."""
    agents = list(next(iter(results.values())))
    for i, column in enumerate(columns):
        yield f"\n{column}:\n\n| case | " + " | ".join(agents) + " |\n|" + "---|" * (len(agents) + 1)
        for case, by in results.items():
            cells = []
            for agent in agents:
                x = np.array(by[agent])[:, i]
                late = int((x == never).sum()) if never is not None else 0
                x = x[x != never] if never is not None else x
                cells.append((interval(x) if x.size else "–") + (f", {late} never" if late else ""))
            yield f"| {case} | " + " | ".join(cells) + " |"


def variant_table(results: dict[str, Any]) -> Iterator[str]:
    for case, by_agent in results.items():
        by = {agent: np.array(x) for agent, x in by_agent.items()}
        yield f"\n{case}, {len(by[THOMPSON])} MDPs:\n"
        yield "| variant | 1000 | ratio | 10,000 | ratio | 95% below | its ratio |\n|---|---|---|---|---|---|---|"
        for agent, x in by.items():
            cells = [f"{x[:, 0].mean():.4g}", shown(ratio(x[:, 0], by[THOMPSON][:, 0]))]
            cells += [f"{x[:, 1].mean():.4g}", shown(ratio(x[:, 1], by[THOMPSON][:, 1]))]
            cells += [f"{q95(x[:, 1]):.4g}", shown(ratio(x[:, 1], by[THOMPSON][:, 1], q95))]
            yield f"| {agent} | " + " | ".join(cells) + " |"


def flat(part: dict[str, dict[str, dict[str, list[Numbers]]]]) -> dict[str, dict[str, list[Numbers]]]:
    """Seeds in order."""
    return {
        case: {agent: [x for first in sorted(jobs, key=int) for x in jobs[first]] for agent, jobs in by.items()}
        for case, by in part.items()
    }


def tables(path: Path) -> None:
    results = {part: flat(x) for part, x in json.loads(path.read_text()).items()}
    lines: list[str] = []
    for name, x in results.items():
        lines.append(f"\n## {name}")
        if name == "sizes":
            lines += [*size_summary(x), *bayes_tables(x, (100, 1000))]
        elif name == "long":
            lines += bayes_tables(x, (1000, 10_000))
        elif name in ("variants", "windows", "tail", "vapor_variants"):
            lines += variant_table(x)
        elif name == "deep_sea":
            lines += plain_table(x, ("first hit", "solved"), never=-1.0)
        elif name == "worlds":
            lines += plain_table(x, ("regret after 200 episodes", "after 1000"))
        elif name == "simulators":
            lines += plain_table(x, ("episodes until 95% of the optimum", "share of seeds that were there in time"))
        else:
            lines += plain_table(x, ("bad episodes, or regret",))
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for word in ("run", "estimate"):
        command = commands.add_parser(word)
        command.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
        command.add_argument("--processes", type=int, default=os.cpu_count())
        if word == "run":
            command.add_argument("--out", type=Path, default=Path("calibrated_study.json"))
            command.add_argument("--seeds", type=int, help="of each case at most; default: the study's")
            command.add_argument("--agents", nargs="+", default=[], help="these alone, by their names in the tables")
            command.add_argument("--cases", nargs="+", default=[], help="these alone")
            command.add_argument("--minutes", type=float, default=float("inf"), help="nothing is begun after them")
    commands.add_parser("tables").add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "tables":
        tables(given.file)
        return
    names = given.parts or list(PARTS)
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"{', '.join(unknown)}: there is {', '.join(PARTS)}")
    if given.command == "run":
        run_parts(names, given.out, given.seeds, given.processes, given.agents, given.cases, given.minutes)
    else:
        estimate(names, given.processes)


if __name__ == "__main__":
    main()
