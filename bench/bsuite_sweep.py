"""All of bsuite that needs no data set, for agents of `klearning.deep`: bsuite's own environments and scores.

    python -m bench.bsuite_sweep [EXPERIMENT ...] [--agents DQN ...] [--settings 5] [--steps 50000] [--processes 2]
    python -m bench.bsuite_sweep --table               # table and radar of the file

Shorter than bsuite's protocol: of the settings of an experiment every n-th, and no run is longer than `--steps` steps.
bsuite's scores count what was played. A run is a line of JSON; runs that the file has are not repeated.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from bench.deep import AGENTS, on_one_core, read
from bench.record import record
from klearning.lab.benchmarks.bsuite.scores import TAGS, by_tag, radar
from klearning.lab.benchmarks.bsuite.worlds import LOGGED_EPISODES
from klearning.simulators.episode_report import EpisodeReport
from klearning.simulators.learn import learn

FILE, RADAR = Path("bsuite.jsonl"), Path("docs/figures/bsuite_radar.png")
DATA_SETS = ("mnist", "mnist_noise", "mnist_scale")
HORIZON = 1001  # no episode is longer
COMPARED = ("DeepKLearning", "DQN", "BootstrappedDQN")

Row = dict[str, Any]


class Experiment(gymnasium.Env[NDArray[Any], np.int64]):
    """An environment of bsuite, by its id. Its random numbers are its own; the seed of `reset` has no effect."""

    def __init__(self, name: str) -> None:
        import bsuite

        with contextlib.redirect_stdout(io.StringIO()):
            self.inner = bsuite.load_from_id(name)
        self.action_space = Discrete(self.inner.action_spec().num_values)
        self.observation_space = Box(-np.inf, np.inf, self.inner.observation_spec().shape)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        return np.asarray(self.inner.reset().observation, np.float32), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        t = self.inner.step(int(action))
        over, ended = bool(t.last()), t.discount == 0.0
        return np.asarray(t.observation, np.float32), float(t.reward), over and ended, over and not ended, {}


def play(name: str, agent: str, steps: int) -> Row:
    """What bsuite would log, at its own episodes and at the last one."""
    from bsuite import sweep

    experiment, _, number = name.partition("/")
    env, began, logged = Experiment(name), time.perf_counter(), {0: {"steps": 0.0, "total_return": 0.0}}

    def note(report: EpisodeReport) -> None:
        before = logged[report.episode - 1]
        now = {"episode": report.episode, "episode_return": report.collected, "episode_len": report.steps}
        now |= {"steps": before["steps"] + report.steps, "total_return": before["total_return"] + report.collected}
        logged[report.episode] = {key: float(x) for key, x in (now | env.inner.bsuite_info()).items()}
        if report.episode - 1 not in LOGGED_EPISODES:
            del logged[report.episode - 1]

    most = sweep.EPISODES[name]
    learn(AGENTS[agent], env, episodes=most, steps=steps, seed=int(number), horizon=HORIZON, callbacks=[note])
    rows = list(logged.values())
    about = {"id": name, "experiment": experiment, "agent": agent, "steps": steps}
    return {**about, "rows": rows, "seconds": round(time.perf_counter() - began, 1)}


def names(experiments: list[str], count: int) -> list[str]:
    """Of each experiment, ``count`` settings from its first to its last."""
    from bsuite import sweep

    chosen = []
    for experiment in experiments:
        own = [name for name in sweep.SWEEP if name.partition("/")[0] == experiment]
        at = np.unique(np.linspace(0, len(own) - 1, count).round().astype(int))
        chosen += [own[i] for i in at]
    return chosen


def score(rows: list[Row]) -> float:
    """bsuite's own score of an experiment."""
    import pandas as pd
    from bsuite import sweep
    from bsuite.experiments.summary_analysis import BSUITE_INFO

    table = [{**sweep.SETTINGS[row["id"]], "bsuite_id": row["id"], **logged} for row in rows for logged in row["rows"]]
    return float(BSUITE_INFO[rows[0]["experiment"]].score(pd.DataFrame(table)))


def scores(rows: list[Row]) -> dict[str, dict[str, float]]:
    """By agent, then by experiment."""
    agents = [name for name in AGENTS if any(row["agent"] == name for row in rows)]
    found: dict[str, dict[str, float]] = {agent: {} for agent in agents}
    for agent in agents:
        for experiment in TAGS:
            own = [row for row in rows if (row["agent"], row["experiment"]) == (agent, experiment)]
            if own:
                found[agent][experiment] = score(own)
    return found


def tables(rows: list[Row], device: str) -> None:
    """The table of scores, by experiment and by tag, and the radar chart."""
    found = scores(rows)
    tags = {agent: by_tag(own) for agent, own in found.items()}
    lines = [[name, *(f"{own[name]:.2f}" if name in own else "" for own in found.values())] for name in TAGS]
    for tag in dict.fromkeys(tag for own in tags.values() for tag in own):
        lines.append([f"**{tag}**", *(f"**{own[tag]:.2f}**" if tag in own else "" for own in tags.values())])
    record("deep.bsuite", "python -m bench.bsuite_sweep", ["experiment", *found], lines, device=device)
    radar(found).savefig(RADAR, dpi=120)


def main() -> None:
    experiments = [name for name in TAGS if name not in DATA_SETS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=f"of {', '.join(experiments)}")
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(COMPARED))
    parser.add_argument("--settings", type=int, default=5, help="of each experiment (default: 5)")
    parser.add_argument("--steps", type=int, default=50_000, help="at most, per run (default: 50,000)")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--table", action="store_true", help="write the table and the radar of the file, run nothing")
    parser.add_argument("--device", default="", help="what the file was measured on, for the table")
    given = parser.parse_args()
    unknown = [name for name in given.experiments if name not in experiments]
    if unknown:
        parser.error(f"experiment {unknown[0]!r} is unknown: give some of {', '.join(experiments)}")
    if given.table:
        tables(read(given.out), given.device)
        return
    done = {(row["id"], row["agent"], row["steps"]) for row in read(given.out)}
    wanted = ((name, agent, given.steps) for agent in given.agents
              for name in names(given.experiments or experiments, given.settings))  # fmt: skip
    on_one_core()
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(play, *run) for run in wanted if run not in done]):
            row = future.result()
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row["id"], row["agent"], row["rows"][-1], row["seconds"], flush=True)


if __name__ == "__main__":
    main()
