"""Deep K-learning and what it is compared with: searches on tuning seeds, then held-out seeds, as JSON and as tables.

    python -m bench.deep [PART ...] [--out deep.json] [--seconds 300] [--small] [--processes 2]
    python -m bench.deep --table deep.json
    python -m bench.deep --speed
    python -m bench.deep --diary "DeepSea 50" [--seed 2] [--set largest_bonus=1]

Whole runs are one compiled program. On a GPU all settings and seeds of a study are one batch, and the next studies are
compiled meanwhile; on a CPU they run one after the other, and seeds are shared among processes (``--processes``).
Studies come in order of importance, each is written as soon as it is over, and none begins once the seconds are spent.
Held-out studies use agents as they are by default.
"""

import argparse
import copy
import itertools
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from bench.control import Acrobot, CartPole, MountainCar
from klearning.deep import DQN, BootstrappedDQN, DeepKLearning, EnsembleKLearning, fused
from klearning.deep.agent import DeepAgent
from klearning.deep.pure_worlds import Catch, DeepSea, PureEnvironment

TUNING, HELD_OUT = range(10, 15), range(200, 210)
DEPLOYMENTS = 20  # greedy episodes of what was learnt
UNSOLVED = 10_000
COMPILERS = 4  # studies that are compiled while another runs on a GPU

Row = dict[str, Any]
Grid = dict[str, tuple[float, ...]]

ENVIRONMENTS: dict[str, tuple[PureEnvironment, int]] = {  # with how many episodes
    "DeepSea 20": (DeepSea(20), 300),
    "DeepSea 30": (DeepSea(30), 500),
    "DeepSea 40": (DeepSea(40), 700),
    "DeepSea 50": (DeepSea(50), 1000),
    "DeepSea 100": (DeepSea(100), 1300),
    "DeepSea 20, stochastic": (DeepSea(20, True), 1000),
    "DeepSea 30, stochastic": (DeepSea(30, True), 1500),
    "MountainCar": (MountainCar(), 150),
    "CartPole": (CartPole(), 100),
    "Acrobot": (Acrobot(), 60),
    "catch": (Catch(), 500),
}
BY_STEPS: dict[str, tuple[PureEnvironment, int]] = {  # episodes of one agent are longer than another's
    "CartPole, 20,000 steps": (CartPole(), 20_000),
    "Acrobot, 10,000 steps": (Acrobot(), 10_000),
}
SEAS, CONTROL = (
    ("DeepSea 20", "DeepSea 30", "DeepSea 20, stochastic"),
    ("MountainCar", *BY_STEPS),
)

AGENTS: dict[str, DeepAgent[Any]] = {
    "DeepKLearning": DeepKLearning(),
    "BootstrappedDQN": BootstrappedDQN(),
    "EnsembleKLearning": EnsembleKLearning(),
    "DQN": DQN(),
}
RATES = (5e-4, 1e-3, 2e-3)
GRIDS: dict[str, Grid] = {  # 24 settings each
    "DeepKLearning": {"noise": (0.01, 0.02, 0.05, 0.1), "temperature_rate": (0.1, 0.2), "learning_rate": RATES},
    "BootstrappedDQN": {"prior_scale": (1.0, 3.0, 5.0, 10.0), "polyak": (0.02, 0.05), "learning_rate": RATES},
    "EnsembleKLearning": {"prior_scale": (1.0, 3.0, 5.0, 10.0), "temperature_rate": (0.1, 0.3), "learning_rate": RATES},
    "DQN": {
        "epsilon": (0.01, 0.05), "exploration": (2_000.0, 10_000.0), "polyak": (0.01, 0.05),
        "learning_rate": (3e-4, 1e-3, 3e-3),
    },
}  # fmt: skip
BOUNDED: Grid = {"largest_bonus": (0.5, 1.0, 2.0, 4.0), "noise": (0.02, 0.05), "learning_rate": RATES}  # 24 as well
NORMALISED: Grid = {"learning_rate": RATES, "polyak": (0.02, 0.05)}
FINER: Grid = {  # and 24 about the best of them
    "largest_bonus": (0.5, 1.0, 2.0), "noise": (0.01, 0.02), "learning_rate": (2.5e-4, 5e-4), "polyak": (0.02, 0.05),
}  # fmt: skip


@dataclass(frozen=True)
class Study:
    """An agent, in every setting of a grid, in one environment."""

    part: str
    agent: str
    environment: str
    seeds: tuple[int, ...]
    grid: Grid = field(default_factory=dict)
    episodes: int | None = None  # those of the environment, or steps
    normalised: bool | None = None  # networks; as the agent has them by default

    @property
    def settings(self) -> list[dict[str, float]]:
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]

    @property
    def env(self) -> PureEnvironment:
        return (ENVIRONMENTS | BY_STEPS)[self.environment][0]

    @property
    def length(self) -> int:
        return (ENVIRONMENTS | BY_STEPS)[self.environment][1] if self.episodes is None else self.episodes

    def made(self) -> DeepAgent[Any]:
        steps = self.length if self.environment in BY_STEPS else self.length * self.env.horizon
        agent = replace(AGENTS[self.agent], capacity=min(steps, 100_000))
        return agent if self.normalised is None else replace(agent, normalised=self.normalised)


def studies() -> dict[str, list[Study]]:
    """By the name of their part, the most important first."""
    held, tuning = tuple(HELD_OUT), tuple(TUNING)

    def out(agent: str, environments: Iterable[str]) -> list[Study]:
        return [Study("held out", agent, name, held) for name in environments]

    def search(
        agent: str, environments: Iterable[str], grid: Grid | None = None, normalised: bool = False
    ) -> list[Study]:
        grid = GRIDS[agent] if grid is None else grid
        return [Study("search", agent, name, tuning, grid, normalised=normalised) for name in environments]

    return {
        "k": out("DeepKLearning", ("DeepSea 50", *SEAS, *CONTROL, "DeepSea 40", "catch")),
        "dqn": out("DQN", (*CONTROL, "catch")),
        "bootstrapped": out("BootstrappedDQN", (*SEAS, "DeepSea 50", *CONTROL)),
        "ensemble": out("EnsembleKLearning", (*SEAS, *CONTROL)),
        "search_normalised": search("DeepKLearning", (*CONTROL, *SEAS, "DeepSea 50"), NORMALISED, True),
        "search_normalised_dqn": search("DQN", CONTROL, normalised=True),
        "search_normalised_bootstrapped": search("BootstrappedDQN", (*SEAS, *CONTROL), normalised=True),
        "search_normalised_ensemble": search("EnsembleKLearning", (*SEAS, *CONTROL), normalised=True),
        "search_bounded": search("DeepKLearning", ("DeepSea 50", *SEAS, *CONTROL), BOUNDED),
        "search_finer": search("DeepKLearning", ("DeepSea 50", *SEAS, *CONTROL), FINER),
        "search_k": search("DeepKLearning", (*SEAS, *CONTROL)),
        "search_dqn": search("DQN", CONTROL),
        "search_bootstrapped": search("BootstrappedDQN", (*SEAS, "MountainCar")),
        "search_ensemble": search("EnsembleKLearning", (*SEAS, "MountainCar")),
        "deep": out("DeepKLearning", ("DeepSea 100",)),
        "seas": [
            study for name in SEAS for agent in ("DeepKLearning", "BootstrappedDQN") for study in out(agent, (name,))
        ],
    }


def set_to(agent: DeepAgent[Any], settings: dict[str, Array]) -> DeepAgent[Any]:
    """The agent with numbers that are known only to the compiled program, where none can be checked."""
    other = copy.copy(agent)
    for name, value in settings.items():
        object.__setattr__(other, name, value)
    return other


def learnt(agent: DeepAgent[Any], env: PureEnvironment, episodes: int, seed: Array) -> tuple[fused.Trace, Array]:
    """A run, and the returns of what it deploys."""
    memory, trace = fused.run(agent, env, episodes, seed)
    if isinstance(env, DeepSea):  # a world drawn anew is none that was learnt
        return trace, jnp.zeros(DEPLOYMENTS)
    return trace, deployed(agent, env, memory, seed)


def learnt_by_steps(agent: DeepAgent[Any], env: PureEnvironment, steps: int, seed: Array) -> tuple[Array, Array]:
    """How many steps a run took, and the returns of what it deploys."""
    memory = fused.run_steps(agent, env, steps, seed)
    return memory.seen, deployed(agent, env, memory, seed)


def deployed(agent: DeepAgent[Any], env: PureEnvironment, memory: Any, seed: Array) -> Array:
    keys = jax.random.split(jax.random.key(seed + 1_000_000), DEPLOYMENTS)
    return jax.vmap(lambda key: fused.greedy_return(agent, memory, env, key))(keys)


def measure(study: Study) -> list[Row]:
    """One row per setting."""
    return compiled(study)()


def compiled(study: Study) -> Callable[[], list[Row]]:
    """Runs all settings and all seeds at once: a row per setting."""
    env, agent, whole = study.env, study.made(), learnt_by_steps if study.environment in BY_STEPS else learnt
    settings = study.settings
    # one after the other: on a CPU they are slower side by side; by steps, short episodes would wait for long ones
    alone = jax.default_backend() == "cpu" or study.environment in BY_STEPS
    columns = {name: jnp.array([setting[name] for setting in settings]) for name in study.grid}

    def one(setting: dict[str, Array], seed: Array) -> Any:
        return whole(set_to(agent, setting), env, study.length, seed)

    def of_seeds(setting: dict[str, Array], seeds: Array) -> Any:
        each = partial(one, setting)
        return jax.lax.map(each, seeds) if alone else jax.vmap(each)(seeds)

    seeds = jnp.array(study.seeds)
    if not study.grid:
        program = jax.jit(lambda _, seeds: jax.tree.map(lambda x: x[None], of_seeds({}, seeds)))
    elif alone:
        program = jax.jit(lambda columns, seeds: jax.lax.map(lambda setting: of_seeds(setting, seeds), columns))
    else:
        program = jax.jit(jax.vmap(of_seeds, (0, None)))
    begin = time.perf_counter()
    ready = program.lower(columns, seeds).compile()
    compiling = time.perf_counter() - begin

    def rows() -> list[Row]:
        begin = time.perf_counter()
        outcome = jax.tree.map(np.asarray, jax.block_until_ready(ready(columns, seeds)))
        seconds = {"compiling": compiling, "running": time.perf_counter() - begin}
        return [
            about(study, setting, seconds) | row(study, *jax.tree.map(lambda part, i=i: part[i], outcome))
            for i, setting in enumerate(settings)
        ]

    return rows


def about(study: Study, setting: dict[str, float], seconds: dict[str, float]) -> Row:
    return {
        "part": study.part, "agent": study.agent, "environment": study.environment, "episodes": study.length,
        "settings": setting, "normalised": study.made().normalised, "seeds": list(study.seeds), "seconds": seconds,
    }  # fmt: skip


def row(study: Study, trace: Any, returns: NDArray[Any]) -> Row:
    """What is written of the outcome of one setting, by seed."""
    greedy = returns.mean(axis=1).tolist()
    if study.environment in BY_STEPS:
        return {"steps": trace.tolist(), "greedy": greedy, "late": greedy}
    through = {"temperature": trace.temperature[:, -1].tolist(), "steps": trace.length.sum(axis=1).tolist()}
    if study.environment.startswith("DeepSea"):
        stochastic = "stochastic" in study.environment
        return {
            **through, "solved": [solved(good, stochastic) for good in trace.good],
            "first": [first(good) for good in trace.good], "late": trace.good[:, -50:].mean(axis=1).tolist(),
        }  # fmt: skip
    return {
        **through, "greedy": greedy, "late": trace.returns[:, -20:].mean(axis=1).tolist(),
        "mean": trace.returns.mean(axis=1).tolist(),
    }  # fmt: skip


def solved(good: NDArray[Any], stochastic: bool) -> int:
    """The first episode at which bsuite would call it solved, looking at every one; `UNSOLVED` where none."""
    t = np.arange(1, good.size + 1)
    bad = np.cumsum(1.0 - good)
    yes = (bad < 0.8 * t) & (t >= 100) if stochastic else bad < 0.9 * t
    return int(yes.argmax()) + 1 if yes.any() else UNSOLVED


def first(good: NDArray[Any]) -> int:
    return int(good.argmax()) + 1 if good.any() else UNSOLVED


def score(rows: Iterable[Row]) -> float:
    """What a search lowers: sizes of each row of a setting about 1, failures about 5."""
    scales = {"DeepSea 20": 130.0, "DeepSea 30": 250.0, "DeepSea 50": 600.0, "DeepSea 20, stochastic": 300.0}
    goals = {"MountainCar": (-95.0, 10.0), "CartPole": (500.0, 250.0), "Acrobot": (-75.0, 20.0), "catch": (1.0, 0.2)}
    goals |= {name: goals[name.partition(",")[0]] for name in BY_STEPS}
    total = 0.0
    for r in rows:
        if "solved" in r:
            total += min(float(np.mean(r["solved"])) / scales[r["environment"]], 5.0)
        else:
            goal, width = goals[r["environment"]]
            total += min(float(np.mean([goal - x for x in r["greedy"]])) / width, 5.0)
    return total


def ranking(rows: list[Row], agent: str) -> list[tuple[float, dict[str, float], list[Row]]]:
    """Settings of an agent's search, the best first."""
    by_setting: dict[str, list[Row]] = {}
    for r in rows:
        if r["part"] == "search" and r["agent"] == agent:
            by_setting.setdefault(json.dumps({**r["settings"], "normalised": r["normalised"]}), []).append(r)
    ranked = [(score(group), json.loads(name), group) for name, group in by_setting.items()]
    return sorted(ranked, key=lambda entry: entry[0])


def shares(study: Study, processes: int) -> list[Study]:
    """The study in parts, one for each process."""
    parts = [study.seeds[i::processes] for i in range(min(processes, len(study.seeds)))]
    return [replace(study, seeds=seeds) for seeds in parts]


def joined(parts: list[list[Row]]) -> list[Row]:
    """Rows of shares as rows of the study, seeds in order."""
    whole = []
    for rows in zip(*parts, strict=True):
        order = np.argsort(list(itertools.chain.from_iterable(r["seeds"] for r in rows)))
        one = dict(rows[0])
        for name, value in rows[0].items():
            if isinstance(value, list):
                flat = list(itertools.chain.from_iterable(r[name] for r in rows))
                one[name] = [flat[i] for i in order]
        one["seconds"] = {name: max(r["seconds"][name] for r in rows) for name in one["seconds"]}
        whole.append(one)
    return whole


def on_one_core() -> None:
    os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", OMP_NUM_THREADS="1")


def outcomes(chosen: list[Study], processes: int | None, spent: Callable[[], bool]) -> Iterator[list[Row]]:
    if processes is None:
        alone = jax.default_backend() == "cpu"  # where compiling would take time from what runs
        with ThreadPoolExecutor(COMPILERS) as ahead:
            ready = (compiled(s) for s in chosen) if alone else ahead.map(compiled, chosen)
            for rows in ready:
                if spent():
                    ahead.shutdown(cancel_futures=True)
                    break
                yield rows()
        return
    on_one_core()  # before the processes begin, which import JAX
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for study in chosen:
            if not spent():
                yield joined(list(pool.map(measure, shares(study, processes))))


def small(study: Study) -> Study:
    """To see that all of it runs: a few episodes of two seeds, two settings."""
    grid = {name: values[: 2 if i == 0 else 1] for i, (name, values) in enumerate(study.grid.items())}
    return replace(study, seeds=study.seeds[:2], episodes=3, grid=grid)


def spread(values: list[float], digits: int = 0) -> str:
    low, middle, high = (f"{x:.{digits}f}" for x in (min(values), float(np.median(values)), max(values)))
    return f"{middle} ({low} to {high})"


def table(rows: list[Row]) -> str:
    """Held-out results and the best settings of every search, as Markdown."""
    heads = ("environment", "agent", "solved, or greedy return: median (all seeds)", "late", "steps, mean", "seconds")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    order = [*ENVIRONMENTS, *BY_STEPS]
    for r in sorted((r for r in rows if r["part"] == "held out"), key=lambda r: order.index(r["environment"])):
        sea = "solved" in r
        main = r["solved"] if sea else r["greedy"]
        failures = sum(x == UNSOLVED for x in main)
        shown = f"{failures} of {len(main)} unsolved" if failures else spread(main, 0 if sea else 1)
        length = "" if r["environment"] in BY_STEPS else f", {r['episodes']:,} episodes"
        cells = (
            r["environment"] + length, r["agent"], shown,
            f"{np.mean(r['late']):.{2 if sea else 1}f}", f"{np.mean(r['steps']):,.0f}",
            f"{r['seconds']['running']:.1f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    for agent in AGENTS:
        ranked = ranking(rows, agent)
        if ranked:
            lines += ["", f"{agent}, best of {len(ranked)} settings on tuning seeds:", ""]
            lines += ["| settings | score | by environment |", "|---|---|---|"]
        for total, settings, group in ranked[:5]:
            by_name = "; ".join(f"{r['environment']} {spread(r.get('solved') or r['greedy'])}" for r in group)
            lines.append(f"| {', '.join(f'{k} {v:g}' for k, v in settings.items())} | {total:.2f} | {by_name} |")
    return "\n".join(lines)


def speed(rounds: int = 5) -> str:
    """CPU time of runs that are alike, by turns; the least counts. `bench.deep_speed` has single steps and updates."""
    env, episodes = DeepSea(20), 20
    agents = {name: replace(agent, capacity=1000) for name, agent in AGENTS.items()}
    programs: dict[str, Callable[[], Any]] = {}
    for name, agent in agents.items():
        whole = jax.jit(lambda seed, agent=agent: fused.run(agent, env, episodes, seed)[1].returns)
        programs[name] = partial(whole.lower(0).compile(), 0)
    times = least(programs, rounds)
    updates = AGENTS["DQN"].updates * episodes * env.size
    lines = ["| agent | CPU µs an update, with all else | times DeepKLearning |", "|---|---|---|"]
    for name, seconds in times.items():
        lines.append(f"| {name} | {1e6 * seconds / updates:.0f} | {seconds / times['DeepKLearning']:.1f} |")
    return "\n".join(lines)


def diary(environment: str, seed: int, settings: dict[str, float], every: int = 25) -> str:
    """One run of K-learning as it goes: what acts, what is not known, how well the network fits, what came of it."""
    env, episodes = ENVIRONMENTS[environment]
    agent = replace(DeepKLearning(), capacity=min(episodes * env.horizon, 100_000), **settings)  # type: ignore[arg-type]
    program = jax.jit(lambda seed: learnt(agent, env, episodes, seed))
    trace, deployed = jax.tree.map(np.asarray, program(seed))
    lines = ["| episode | τ | entropy H | C | loss | mean return | successes so far |", "|---" * 7 + "|"]
    for end in range(every, episodes + 1, every):
        H, C = trace.numbers[end - every : end].mean(axis=0)
        cells = (
            f"{end:,}", f"{trace.temperature[end - 1]:.2g}", f"{H:.3g}", f"{C:.2g}", f"{trace.loss[end - 1]:.1e}",
            f"{trace.returns[end - every : end].mean():.4g}", f"{trace.good[:end].sum():.0f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "" if isinstance(env, DeepSea) else f"\ngreedy: {deployed.mean():.1f}"])


def least(programs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU time of each, by turns."""
    times = dict.fromkeys(programs, np.inf)
    for _ in range(rounds):
        for name, program in programs.items():
            begin = time.process_time()
            jax.block_until_ready(program())
            times[name] = min(times[name], time.process_time() - begin)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = studies()
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)} (default: all, in this order)")
    parser.add_argument("--out", type=Path, default=Path("deep.json"))
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no study after so many")
    parser.add_argument("--processes", type=int, help="share seeds among processes, on the CPU, each on one core")
    parser.add_argument("--small", action="store_true", help="three episodes of everything, to see that it runs")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the tables of a file, measure nothing")
    parser.add_argument("--speed", action="store_true", help="measure CPU time instead")
    parser.add_argument("--diary", choices=ENVIRONMENTS, metavar="ENVIRONMENT", help="one run of K-learning as it goes")
    parser.add_argument("--seed", type=int, default=0, help="of the diary")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the diary's agent")
    given = parser.parse_args()
    if given.diary:
        pairs = (text.partition("=") for text in given.set)
        print(diary(given.diary, given.seed, {name: float(value) for name, _, value in pairs}))
        return
    if given.table:
        print(table(json.loads(given.table.read_text())))
        return
    if given.speed:
        print(speed())
        return
    unknown = [part for part in given.parts if part not in parts]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: give some of {', '.join(parts)}")
    chosen = [study for part in given.parts or parts for study in parts[part]]
    begin, rows = time.perf_counter(), []
    for found in outcomes([small(s) if given.small else s for s in chosen], given.processes,
                          lambda: time.perf_counter() - begin > given.seconds):  # fmt: skip
        rows += found
        given.out.write_text(json.dumps(rows))
        r = found[0]
        print(
            f"{time.perf_counter() - begin:6.1f} s  {r['part']}, {r['agent']}, {r['environment']}: "
            f"{len(found)} settings, {r['seconds']['compiling']:.1f} s compiling, "
            f"{r['seconds']['running']:.1f} s running",
            flush=True,
        )
    print(table(rows))


if __name__ == "__main__":
    main()
