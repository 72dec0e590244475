"""Deep K-learning, DQN and bootstrapped DQN on the same tasks and seeds: one row per run, in a file to resume from.

    python -m bench.deep [TASK ...] [--agents DQN ...] [--seeds 400-419] [--processes 2] [--seconds 600] [--out FILE]
    python -m bench.deep "MinAtar Breakout" --together
    python -m bench.deep --search                     # as many settings for each agent, on tuning seeds
    python -m bench.deep --table                      # tables of the file, into docs/evidence/data
    python -m bench.deep --diary "DeepSea 50" [--seeds 2-2] [--set largest_bonus=1]

Every agent has the same settings in every task. A run is a line of JSON; runs that the file has are not repeated.
Tasks with an environment in JAX are one compiled program each; with `--together` all seeds are one program, for a GPU.
LunarLander needs Box2D, MinAtar the package gymnax: 16 environments side by side.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from bench import fused
from bench.control import Acrobot, CartPole, MountainCar
from bench.gymnax_worlds import Game
from bench.pure_worlds import Catch, DeepSea, PureEnvironment
from bench.record import record
from klearning.deep import DQN, BootstrappedDQN, DeepKLearning, EnsembleKLearning, convolutions
from klearning.deep.agent import DeepAgent
from klearning.simulators.evaluation import play_returns
from klearning.simulators.learn import learn

FINAL, TUNING = range(400, 420), range(10, 14)
DEPLOYMENTS = 20  # greedy episodes of what was learned
UNSOLVED = 10_000
FILE = Path("deep.jsonl")

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """An environment: in JAX, or by its name in Gymnasium; for N episodes, or N steps."""

    env: PureEnvironment | str
    episodes: int = 0
    steps: int = 0
    goal: float | None = None  # solved by this episode in every seed, or the mean greedy return
    envs: int = 1  # side by side

    @property
    def sea(self) -> bool:
        return isinstance(self.env, DeepSea)


TASKS: dict[str, Task] = {
    "DeepSea 20": Task(DeepSea(20), 300, goal=130),
    "DeepSea 30": Task(DeepSea(30), 500, goal=200),
    "DeepSea 50": Task(DeepSea(50), 1000, goal=400),
    "DeepSea 100": Task(DeepSea(100), 1300, goal=1300),
    "DeepSea 20, picture": Task(DeepSea(20, picture=True), 300, goal=150),
    "DeepSea 30, picture": Task(DeepSea(30, picture=True), 500, goal=250),
    "DeepSea 20, stochastic": Task(DeepSea(20, stochastic=True), 1000),
    "catch": Task(Catch(), 500),
    "MountainCar": Task(MountainCar(), steps=25_000, goal=-105),
    "CartPole": Task(CartPole(), steps=20_000, goal=475),
    "Acrobot": Task(Acrobot(), steps=10_000, goal=-90),
    "LunarLander": Task("LunarLander-v3", steps=200_000, goal=200),
    "LunarLander, half": Task("LunarLander-v3", steps=100_000),
    **{f"MinAtar {name}": Task(Game(f"{name}-MinAtar"), steps=1_000_000, envs=16)
       for name in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")},
}  # fmt: skip
SMALL = tuple(name for name, task in TASKS.items() if not isinstance(task.env, str | Game))

AGENTS: dict[str, DeepAgent[Any]] = {
    "DeepKLearning": DeepKLearning(),
    "DQN": DQN(),
    "BootstrappedDQN": BootstrappedDQN(),
    "EnsembleKLearning": EnsembleKLearning(),
}
COMPARED = ("DeepKLearning", "DQN")  # by default; the ensembles take twenty times as long
SEARCHED = ("LunarLander, half", "DeepSea 20", "DeepSea 20, picture", "MountainCar", "CartPole", "Acrobot")
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {  # six settings each
    "DeepKLearning": {"hidden": ((50, 50), (128, 128)), "temperature_floor": (0.01, 0.03, 0.1)},
    "DQN": {"hidden": ((50, 50), (128, 128)), "exploration": (2_000, 10_000, 50_000)},
    "BootstrappedDQN": {"learning_rate": (5e-4, 1e-3), "prior_scale": (1.0, 3.0, 10.0)},
}


@dataclass(frozen=True)
class Run:
    """One agent on one task with one seed; settings that differ from the defaults."""

    task: str
    agent: str
    seed: int
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        return self.task, self.agent, self.seed, self.settings

    def made(self) -> DeepAgent[Any]:
        task = TASKS[self.task]
        horizon = 1 if isinstance(task.env, str) else task.env.horizon
        capacity = min(task.steps + horizon if task.steps else task.episodes * horizon, 100_000)
        settings: dict[str, Any] = {"capacity": capacity, **dict(self.settings)}
        if isinstance(task.env, Game):  # as pictures have in `kl.learn`
            settings["network"] = convolutions(task.env.shape, task.env.actions)
        return replace(AGENTS[self.agent], **settings)


def execute(run: Run) -> Row:
    """The row of a run."""
    began, task = time.perf_counter(), TASKS[run.task]
    found = simulated(run, task.env) if isinstance(task.env, str) else program(replace(run, seed=0))(run.seed)
    about = {"task": run.task, "agent": run.agent, "seed": run.seed, "settings": run.settings}
    return {**about, **found, "seconds": round(time.perf_counter() - began, 1)}


@cache
def program(run: Run) -> Callable[[int], Row]:
    """A compiled run as a function of the seed."""
    whole = jax.jit(whole_run(run))
    return lambda seed: outcome(TASKS[run.task], jax.tree.map(np.asarray, whole(seed)))


def execute_together(runs: list[Run]) -> list[Row]:
    """The rows of runs that differ by their seeds alone, as one program."""
    began, first = time.perf_counter(), runs[0]
    found = jax.tree.map(np.asarray, jax.jit(jax.vmap(whole_run(first)))(jnp.array([run.seed for run in runs])))
    seconds = round((time.perf_counter() - began) / len(runs), 1)
    rows = []
    for run, *one in zip(runs, *jax.tree.leaves(found), strict=True):
        about = {"task": run.task, "agent": run.agent, "seed": run.seed, "settings": run.settings}
        numbers = outcome(TASKS[run.task], jax.tree.unflatten(jax.tree.structure(found), one))
        rows.append({**about, **numbers, "seconds": seconds})
    return rows


def whole_run(run: Run) -> Callable[[Any], Any]:
    """A run as a function of the seed: what happened, and greedy returns of what was learned."""
    task, agent = TASKS[run.task], run.made()
    env: Any = task.env

    def whole(seed: Any) -> Any:
        if task.envs > 1:
            memory, happened = fused.run_vector(agent, env, task.envs, task.steps, seed)
        elif task.steps:
            memory, happened = fused.run_steps(agent, env, task.steps, seed), jnp.zeros(0)
        else:
            memory, happened = fused.run(agent, env, task.episodes, seed)
        if task.sea:  # a world that is drawn again is another one
            return happened, jnp.zeros(DEPLOYMENTS)
        return happened, deployed(agent, env, memory, seed)

    return whole


def outcome(task: Task, found: Any) -> Row:
    """The numbers of a run."""
    happened, returns = found
    if task.sea:
        env: Any = task.env
        return {"solved": solved(happened.good, env.stochastic), "late": float(happened.good[-50:].mean())}
    late = {}
    if task.envs > 1:
        tenths = np.array_split(happened, 10)
        late = {"late": float(np.nanmean(tenths[-1])), "tenths": [round(float(np.nanmean(x)), 3) for x in tenths]}
    elif task.episodes:
        late = {"late": float(happened.returns[-DEPLOYMENTS:].mean())}
    return {"greedy": float(returns.mean()), **late}


def deployed(agent: DeepAgent[Any], env: PureEnvironment, memory: Any, seed: Array) -> Array:
    keys = jax.random.split(jax.random.key(seed + 1_000_000), DEPLOYMENTS)
    return jax.vmap(lambda key: fused.greedy_return(agent, memory, env, key))(keys)


def simulated(run: Run, name: str) -> Row:
    """In Gymnasium, by `learn`."""
    env = gymnasium.make(name)
    learner = learn(run.made(), env, steps=TASKS[run.task].steps, seed=run.seed)
    greedy = play_returns(learner, env, episodes=DEPLOYMENTS, how="greedy", seed=run.seed)
    late = float(np.mean(learner.returns[-DEPLOYMENTS:]))
    return {"greedy": float(np.mean(greedy)), "late": late, "episodes": learner.episodes_done}


def solved(good: NDArray[Any], stochastic: bool) -> int:
    """The first episode at which bsuite would call it solved, looking at every one; `UNSOLVED` if none."""
    t = np.arange(1, good.size + 1)
    bad = np.cumsum(1.0 - good)
    yes = (bad < 0.8 * t) & (t >= 100) if stochastic else bad < 0.9 * t
    return int(yes.argmax()) + 1 if yes.any() else UNSOLVED


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_of(row: Row) -> Run:
    settings = ((name, tuple(x) if isinstance(x, list) else x) for name, x in row["settings"])
    return Run(row["task"], row["agent"], row["seed"], tuple(settings))


def planned(tasks: list[str], agents: list[str], seeds: range, search: bool) -> Iterator[Run]:
    """All seeds of a task after each other, so that an interrupted run has whole tasks."""
    for task, agent in itertools.product(tasks, agents):
        grid = GRIDS[agent] if search else {}
        for values in itertools.product(*grid.values()):
            for seed in seeds:
                yield Run(task, agent, seed, tuple(zip(grid, values, strict=True)))


def on_one_core() -> None:
    os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", OMP_NUM_THREADS="1")


def execute_all(runs: list[Run], out: Path, processes: int, seconds: float) -> None:
    """Those that are not in the file, until the seconds are spent."""
    done = {run_of(row).key for row in read(out)}
    left = [run for run in runs if run.key not in done]
    began = time.perf_counter()
    on_one_core()  # before the processes begin, which import JAX
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(execute, run) for run in left}
        for future in as_completed(waiting):
            row = future.result()
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{time.perf_counter() - began:6.0f} s  {json.dumps(row)}", flush=True)
            if time.perf_counter() - began > seconds:
                for other in waiting:
                    other.cancel()
                break


def execute_all_together(runs: list[Run], out: Path) -> None:
    """Those that are not in the file, all seeds of a task, an agent and its settings as one program."""
    done = {run_of(row).key for row in read(out)}
    for _, group in itertools.groupby((run for run in runs if run.key not in done), lambda run: replace(run, seed=0)):
        rows = execute_together(list(group))
        with out.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        print("\n".join(map(json.dumps, rows)), flush=True)


def interval(values: list[float]) -> float:
    """Half the width of a 95% interval of the mean, by the normal approximation."""
    return 1.96 * float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else float("nan")


def cell(task: Task, rows: list[Row]) -> str:
    """Of one agent on one task."""
    if not rows:
        return ""
    values, digits = ([row["solved"] for row in rows], 0) if task.sea else ([row["greedy"] for row in rows], 1)
    failed = sum(x == UNSOLVED for x in values)
    if failed:
        return f"{failed} of {len(rows)} unsolved"
    mean, half, low, high = (f"{x:.{digits}f}" for x in (np.mean(values), interval(values), min(values), max(values)))
    return f"{mean} ± {half} ({low} to {high}, n = {len(rows)})"


def verdict(task: Task, rows: list[Row]) -> str:
    """The goal of K-learning, and whether it is reached."""
    if task.goal is None or not rows:
        return ""
    if task.sea:
        reached = max(row["solved"] for row in rows) <= task.goal
        return f"{'✓' if reached else '✗'} {task.goal:.0f} in every seed"
    reached = float(np.mean([row["greedy"] for row in rows])) >= task.goal
    return f"{'✓' if reached else '✗'} {task.goal:.0f}"


def final_table(rows: list[Row], seeds: range) -> tuple[list[str], list[list[str]]]:
    """Mean ± interval (least to most), seeds; per task and agent."""
    rows = [row for row in rows if row["seed"] in seeds and not row["settings"]]
    agents = [name for name in AGENTS if any(row["agent"] == name for row in rows)]
    lines = []
    for name, task in TASKS.items():
        own = {agent: [r for r in rows if (r["task"], r["agent"]) == (name, agent)] for agent in agents}
        if any(own.values()):
            length = f"{task.steps:,} steps" if task.steps else f"{task.episodes:,} episodes"
            cells = [cell(task, own[agent]) for agent in agents]
            lines.append([f"{name}, {length}", *cells, verdict(task, own.get("DeepKLearning", []))])
    return ["task", *agents, "goal of DeepKLearning"], lines


def search_table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """A row per setting, means over tuning seeds."""
    rows = [row for row in rows if row["seed"] in TUNING and row["settings"]]
    lines = []
    for agent, settings in sorted({(r["agent"], json.dumps(r["settings"])) for r in rows}):
        own = [r for r in rows if (r["agent"], json.dumps(r["settings"])) == (agent, settings)]
        means = []
        for task in SEARCHED:
            values = [r["solved" if "solved" in r else "greedy"] for r in own if r["task"] == task]
            means.append("" if not values else "unsolved" if max(values) == UNSOLVED else f"{np.mean(values):.0f}")
        lines.append([agent, ", ".join(f"{k} {v}" for k, v in json.loads(settings)), *means])
    return ["agent", "settings", *SEARCHED], lines


def diary(name: str, seed: int, settings: dict[str, Any], every: int = 25) -> str:
    """One run of K-learning as it goes: what acts, what is not known, how well the network fits, what came of it."""
    env: Any = TASKS[name].env
    agent = replace(Run(name, "DeepKLearning", seed).made(), **settings)
    trace = jax.tree.map(np.asarray, jax.jit(lambda seed: fused.run(agent, env, TASKS[name].episodes, seed)[1])(seed))
    lines = ["| episode | τ | entropy H | C | loss | mean return | successes so far |", "|---" * 7 + "|"]
    for end in range(every, TASKS[name].episodes + 1, every):
        H, C = trace.numbers[end - every : end].mean(axis=0)
        cells = (
            f"{end:,}", f"{trace.temperature[end - 1]:.2g}", f"{H:.3g}", f"{C:.2g}", f"{trace.loss[end - 1]:.1e}",
            f"{trace.returns[end - every : end].mean():.4g}", f"{trace.good[:end].sum():.0f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def seeds_of(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)} (default: those in JAX)")
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(COMPARED))
    parser.add_argument("--seeds", type=seeds_of, default=None, metavar="FIRST-LAST", help="default: 400-419")
    parser.add_argument("--search", action="store_true", help="every setting of the grids, on tuning seeds")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--together", action="store_true", help="all seeds as one program, where JAX computes")
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no run after this many")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--table", action="store_true", help="write the tables of the file, run nothing")
    parser.add_argument("--device", default="", help="what the file was measured on, for the table")
    parser.add_argument("--diary", choices=TASKS, metavar="TASK", help="one run of K-learning as it goes")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the diary's agent")
    given = parser.parse_args()
    unknown = [name for name in given.tasks if name not in TASKS]
    if unknown:
        parser.error(f"task {unknown[0]!r} is unknown: give some of {', '.join(TASKS)}")
    if given.diary:
        pairs = (text.partition("=") for text in given.set)
        print(diary(given.diary, (given.seeds or range(1))[0], {name: float(value) for name, _, value in pairs}))
    elif given.table:
        seeds = given.seeds or FINAL
        which = f"--seeds {seeds[0]}-{seeds[-1]}"
        for name, (headings, lines), command in (
            ("deep.seeds", final_table(read(given.out), seeds), f"python -m bench.deep {which}"),
            ("deep.search", search_table(read(given.out)), "python -m bench.deep --search"),
        ):
            if lines:
                record(name, command, headings, lines, device=given.device)
    else:
        tasks = given.tasks or list(SEARCHED if given.search else SMALL)
        seeds = given.seeds or (TUNING if given.search else FINAL)
        runs = list(planned(tasks, given.agents, seeds, given.search))
        if given.together:
            execute_all_together(runs, given.out)
        else:
            execute_all(runs, given.out, given.processes, given.seconds)


if __name__ == "__main__":
    main()
