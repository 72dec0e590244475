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
from copy import copy
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
PARTS = 10  # of a game, after each of which what was learned is deployed
UNSOLVED = 10_000
GOOD = 0.5  # of the last 50 episodes in a sea, at least this share
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
    **{f"MinAtar {name}{length}": Task(Game(f"{name}-MinAtar"), steps=steps, envs=16)
       for length, steps in (("", 1_000_000), (", short", 300_000))
       for name in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")},
}  # fmt: skip
SMALL = tuple(name for name, task in TASKS.items() if not isinstance(task.env, str | Game))

AGENTS: dict[str, DeepAgent[Any]] = {
    "DeepKLearning": DeepKLearning(),
    "DQN": DQN(),
    "BootstrappedDQN": BootstrappedDQN(),
    "EnsembleKLearning": EnsembleKLearning(),
}
LIBRARY = ("SB3 DQN", "SB3 DQN, by task")  # of bench.sb3
COMPARED = ("DeepKLearning", "DQN")  # by default; the ensembles take twenty times as long
SEARCHED = ("LunarLander, half", "DeepSea 20", "MountainCar", "CartPole", "Acrobot")
LEARNING: tuple[dict[str, float], ...] = (
    {}, {"learning_rate": 2.5e-4}, {"learning_rate": 5e-4}, {"learning_rate": 1e-3}, {"polyak": 0.02}, {"polyak": 0.1},
)  # fmt: skip
SETTINGS: dict[str, tuple[dict[str, float], ...]] = {  # as many for each
    "DeepKLearning": (
        *LEARNING, {"temperature_floor": 0.01}, {"temperature_floor": 0.1}, {"spread": 0.25}, {"spread": 1.0},
    ),
    "DQN": (*LEARNING, {"exploration": 5_000.0}, {"exploration": 25_000.0}, {"epsilon": 0.01}, {"epsilon": 0.1}),
    "BootstrappedDQN": (
        *LEARNING, {"prior_scale": 0.3}, {"prior_scale": 3.0}, {"prior_scale": 10.0}, {"learning_rate": 2e-3},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One agent on one task with one seed; settings that differ from the defaults."""

    task: str
    agent: str
    seed: int
    settings: tuple[tuple[str, float], ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        return self.task, self.agent, self.seed, self.settings

    @property
    def base(self) -> DeepAgent[Any]:
        """The agent without these settings."""
        task = TASKS[self.task]
        horizon = 1 if isinstance(task.env, str) else task.env.horizon
        capacity = min(task.steps + horizon if task.steps else task.episodes * horizon, 100_000)
        settings: dict[str, Any] = {"capacity": capacity}
        if isinstance(task.env, Game):  # as pictures have in `kl.learn`
            settings["network"] = convolutions(task.env.shape, AGENTS[self.agent].heads * task.env.actions)
        return replace(AGENTS[self.agent], **settings)


def tuned(agent: DeepAgent[Any], settings: dict[str, Any]) -> DeepAgent[Any]:
    """The agent with settings that a program takes as arguments: they are not checked."""
    made = copy(agent)
    for name, value in settings.items():
        object.__setattr__(made, name, value)
    return made


def execute(run: Run) -> Row:
    """The row of a run."""
    task = TASKS[run.task]
    if not isinstance(task.env, str):
        *_, (row,) = execute_together([run])
        return row
    began, env = time.perf_counter(), gymnasium.make(task.env)
    settings: dict[str, Any] = {name: int(x) if x == int(x) else x for name, x in run.settings}
    learner = learn(replace(run.base, **settings), env, steps=task.steps, seed=run.seed)
    greedy = play_returns(learner, env, episodes=DEPLOYMENTS, how="greedy", seed=run.seed)
    late = float(np.mean(learner.returns[-DEPLOYMENTS:]))
    return row_of(run, {"greedy": float(np.mean(greedy)), "late": late}, time.perf_counter() - began)


def row_of(run: Run, found: Row, seconds: float) -> Row:
    about = {"task": run.task, "agent": run.agent, "seed": run.seed, "settings": run.settings}
    return {**about, **found, "seconds": round(seconds, 1)}


def execute_together(runs: list[Run]) -> Iterator[list[Row]]:
    """The rows of runs that differ by their seeds and the values of settings alone, as one program.

    Games give rows after each of `PARTS` parts of the steps.
    """
    began, first = time.perf_counter(), runs[0]
    seeds = jnp.array([run.seed for run in runs])
    names = [name for name, _ in first.settings]
    settings = {name: jnp.array([dict(run.settings)[name] for run in runs]) for name in names}
    play = played_in_parts if TASKS[first.task].envs > 1 else played_whole
    for found in play(replace(first, seed=0, settings=()), seeds, settings):
        seconds = (time.perf_counter() - began) / len(runs)
        yield [row_of(run, numbers, seconds) for run, numbers in zip(runs, found, strict=True)]


def played_whole(run: Run, seeds: Array, settings: dict[str, Array]) -> Iterator[list[Row]]:
    parts, tree = jax.tree.flatten(jax.tree.map(np.asarray, program(run)(seeds, settings)))
    yield [outcome(TASKS[run.task], jax.tree.unflatten(tree, one)) for one in zip(*parts, strict=True)]


def played_in_parts(run: Run, seeds: Array, settings: dict[str, Array]) -> Iterator[list[Row]]:
    """The mean greedy return after every part, and the mean return of the episodes that ended in it."""
    task, base = TASKS[run.task], run.base
    env: Any = task.env
    rounds = task.steps // fused.round_length(base, task.envs) // PARTS

    def begin(seed: Array, settings: dict[str, Any]) -> Any:
        return fused.begun_vector(tuned(base, settings), env, task.envs, seed)[0]

    def part(now: Any, number: int, seed: Array, settings: dict[str, Any]) -> tuple[Any, Array, Array]:
        agent = tuned(base, settings)
        _, play_round, key = fused.begun_vector(agent, env, task.envs, seed)
        now, returns = jax.lax.scan(play_round, now, jax.random.split(jax.random.fold_in(key, number), rounds))
        return now, jnp.nanmean(returns), deployed(agent, env, now[0], seed).mean()

    now = jax.jit(jax.vmap(begin))(seeds, settings)
    play_part = jax.jit(jax.vmap(part, in_axes=(0, None, 0, 0)), donate_argnums=0)
    late, greedy = np.zeros((2, len(seeds), 0))
    for number in range(PARTS):
        now, *found = play_part(now, number, seeds, settings)
        late, greedy = (np.column_stack([old, new]).round(3) for old, new in zip((late, greedy), found, strict=True))
        about = {"steps": task.steps * (number + 1) // PARTS}
        yield [
            {**about, "greedy": g[-1], "late": r[-1], "greedy_by_part": g, "late_by_part": r}
            for g, r in zip(greedy.tolist(), late.tolist(), strict=True)
        ]


@cache
def program(run: Run) -> Callable[..., Any]:
    """A run as a function of seeds and settings: what happened, and greedy returns of what was learned."""
    task, base = TASKS[run.task], run.base
    env: Any = task.env

    def whole(seed: Any, settings: dict[str, Any]) -> Any:
        agent = tuned(base, settings)
        if task.steps:
            memory, happened = fused.run_steps(agent, env, task.steps, seed), jnp.zeros(0)
        else:
            memory, happened = fused.run(agent, env, task.episodes, seed)
        if task.sea:  # a world that is drawn again is another one
            return happened, jnp.zeros(DEPLOYMENTS)
        return happened, deployed(agent, env, memory, seed)

    together = jax.vmap(whole)

    def alone(seeds: Array, settings: dict[str, Array]) -> Any:  # faster than a batch of one
        found = whole(seeds[0], {name: x[0] for name, x in settings.items()})
        return jax.tree.map(lambda part: jnp.asarray(part)[None], found)

    return jax.jit(lambda seeds, settings: (alone if len(seeds) == 1 else together)(seeds, settings))


def outcome(task: Task, found: Any) -> Row:
    """The numbers of a run."""
    happened, returns = found
    if task.sea:
        env: Any = task.env
        return {"solved": solved(happened.good, env.stochastic), "late": float(happened.good[-50:].mean())}
    late = {"late": float(happened.returns[-DEPLOYMENTS:].mean())} if task.episodes else {}
    return {"greedy": float(returns.mean()), **late}


def deployed(agent: DeepAgent[Any], env: PureEnvironment, memory: Any, seed: Array) -> Array:
    keys = jax.random.split(jax.random.key(seed + 1_000_000), DEPLOYMENTS)
    return jax.vmap(lambda key: fused.greedy_return(agent, memory, env, key))(keys)


def solved(good: NDArray[Any], stochastic: bool) -> int:
    """The first episode at which bsuite would call it solved, looking at every one; `UNSOLVED` if none."""
    t = np.arange(1, good.size + 1)
    bad = np.cumsum(1.0 - good)
    yes = (bad < 0.8 * t) & (t >= 100) if stochastic else bad < 0.9 * t
    return int(yes.argmax()) + 1 if yes.any() else UNSOLVED


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def newest(rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    """The last row of every run."""
    return {run_of(row).key: row for row in rows}


def finished(path: Path) -> set[tuple[Any, ...]]:
    """The keys of runs that need not be repeated."""
    return {key for key, row in newest(read(path)).items() if row.get("steps", 0) in (0, TASKS[row["task"]].steps)}


def run_of(row: Row) -> Run:
    return Run(row["task"], row["agent"], row["seed"], tuple((name, x) for name, x in row["settings"]))


def planned(tasks: list[str], agents: list[str], seeds: range, search: bool) -> Iterator[Run]:
    """All seeds of a task after each other, so that an interrupted run has whole tasks."""
    for task, agent in itertools.product(tasks, agents):
        for settings, seed in itertools.product(stated(agent) if search else [()], seeds):
            yield Run(task, agent, seed, settings)


def stated(agent: str) -> list[tuple[tuple[str, float], ...]]:
    """The settings of a search, each with the values of all settings that are searched; no two are the same."""
    names = sorted({name for settings in SETTINGS[agent] for name in settings})
    usual = {name: getattr(AGENTS[agent], name) for name in names}
    full = ({**usual, **settings} for settings in SETTINGS[agent])
    return list(dict.fromkeys(tuple((name, float(values[name])) for name in names) for values in full))


def on_one_core() -> None:
    os.environ.update(JAX_PLATFORMS="cpu", PJRT_NPROC="1", OMP_NUM_THREADS="1")  # two threads are 5 times as slow


def execute_all(runs: list[Run], out: Path, processes: int, seconds: float) -> None:
    """Those that are not in the file, until the seconds are spent."""
    done = finished(out)
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
    """Those that are not in the file, all seeds and settings of an agent in a task as one program."""
    done = finished(out)
    left = (run for run in runs if run.key not in done)
    for _, group in itertools.groupby(left, lambda run: (run.task, run.agent)):
        for rows in execute_together(list(group)):
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
    late = [row["late"] for row in rows] if task.sea else [1.0]
    lapsed = f"; bad at the end in {sum(x < GOOD for x in late)}" if min(late) < GOOD else ""
    done = min(row.get("steps", task.steps) for row in rows)
    early = f"; after {done:,} steps" if done < task.steps else ""
    return f"{mean} ± {half} ({low} to {high}, n = {len(rows)}{lapsed}{early})"


def verdict(task: Task, rows: list[Row]) -> str:
    """The goal of K-learning, and whether it is reached."""
    if task.goal is None or not rows:
        return ""
    if task.sea:
        reached = max(row["solved"] for row in rows) <= task.goal
        return f"{'✓' if reached else '✗'} {task.goal:.0f} in every seed"
    reached = float(np.mean([row["greedy"] for row in rows])) >= task.goal
    return f"{'✓' if reached else '✗'} {task.goal:.0f}"


def ahead(task: Task, rows: list[Row], others: list[Row]) -> str:
    """The difference of mean greedy returns, with a 95% interval."""
    if task.sea or min(len(rows), len(others)) < 2:
        return ""
    x, y = ([row["greedy"] for row in group] for group in (rows, others))
    return f"{np.mean(x) - np.mean(y):+.1f} ± {np.hypot(interval(x), interval(y)):.1f}"


def final_table(rows: list[Row], seeds: range) -> tuple[list[str], list[list[str]]]:
    """Mean ± interval (least to most), seeds; per task and agent."""
    agents, found = by_task(rows, seeds, tuple(AGENTS))
    lines = []
    for name, own in found.items():
        task, ours, theirs = TASKS[name], own.get("DeepKLearning", []), own.get("DQN", [])
        length = f"{task.steps:,} steps" if task.steps else f"{task.episodes:,} episodes"
        cells = [cell(task, own[agent]) for agent in agents]
        lines.append([f"{name}, {length}", *cells, ahead(task, ours, theirs), verdict(task, ours)])
    return ["task", *agents, "DeepKLearning − DQN", "goal of DeepKLearning"], lines


def library_table(rows: list[Row], seeds: range) -> tuple[list[str], list[list[str]]]:
    """As above, beside the agents of Stable-Baselines3: the tasks that one of them has played."""
    agents, found = by_task(rows, seeds, (*COMPARED, *LIBRARY))
    played = {name: own for name, own in found.items() if any(own.get(agent) for agent in LIBRARY)}
    return ["task", *agents], [
        [name, *(cell(TASKS[name], own[agent]) for agent in agents)] for name, own in played.items()
    ]


def by_task(rows: list[Row], seeds: range, names: tuple[str, ...]) -> tuple[list[str], dict[str, dict[str, list[Row]]]]:
    """The agents that have rows, of these names; and the rows with default settings, by task and agent."""
    rows = [row for row in newest(rows).values() if row["seed"] in seeds and not row["settings"]]
    agents = [name for name in names if any(row["agent"] == name for row in rows)]
    found = {
        name: {agent: [r for r in rows if (r["task"], r["agent"]) == (name, agent)] for agent in agents}
        for name in TASKS
    }
    return agents, {name: own for name, own in found.items() if any(own.values())}


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
        differ = [f"{name} {x:g}" for name, x in json.loads(settings) if x != getattr(AGENTS[agent], name)]
        lines.append([agent, ", ".join(differ) or "default", *means])
    return ["agent", "settings", *SEARCHED], lines


def diary(name: str, seed: int, settings: dict[str, Any], every: int = 25) -> str:
    """One run of K-learning as it goes: what acts, what is not known, how well the network fits, what came of it."""
    env: Any = TASKS[name].env
    agent = replace(Run(name, "DeepKLearning", seed).base, **settings)
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
            ("deep.sb3", library_table(read(given.out), seeds), f"python -m bench.sb3 {which}"),
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
