"""Sweeps on a Ray cluster of two nodes of one core each on this machine: bytes, a killed node, speed, costs per run.

    python -m bench.ray_sweep --runs 1000 --long 8
    python -m bench.ray_sweep --speed-up               # what two workers give, and what a run costs beside itself

Needs `pip install ray`. Prints JSON.

The speed-up is that of two free cores, on a machine that others use too: Linux says of a thread how long it had work
and no core, which is taken off the clock of each job. The time between two jobs of a worker is counted as it is. It is
one of medians, since others come and go.
"""

import argparse
import itertools
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import klearning as kl
from klearning.lab.experiments.executors import Executor
from klearning.lab.experiments.executors import ray as executor_file
from klearning.lab.experiments.executors.ray import Answer, RayExecutor, Worker
from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import LocalExecutor, sweep
from klearning.lab.experiments.transfer import JobFiles

TIMES = "ray-sweep-times"  # a folder of workers' own clocks


def files(store: Store) -> dict[str, bytes]:
    """Of all runs."""
    root = store.path / "runs"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def seconds(specs: list[Spec], store: Store, executor: Executor, **rest: Any) -> float:
    began = time.perf_counter()
    assert sweep(specs, store, executor=executor, **rest) == (len(specs), 0, [])
    return time.perf_counter() - began


def costs(store: Store, specs: list[Spec]) -> dict[str, float]:
    """The cost of a store of N runs: bytes, and processor seconds to list it and to see what is missing."""
    told = {"bytes per run": sum(map(len, files(store).values())) / len(specs)}
    looks = {"first list": store.rows, "second list": store.rows, "missing": lambda: store.missing(specs)}
    for name, look in looks.items():
        began = time.process_time()
        look()
        told[f"processor seconds, {name}"] = time.process_time() - began
    return told


class TimedWorker(Worker):
    """Writes down when a job began and ended, how long its thread waited for a core meanwhile, and had one."""

    def do(self, fields: dict[str, Any], name: str, files: JobFiles | None) -> Answer:
        began, before = time.time(), _thread_clocks()
        answer = super().do(fields, name, files)
        spent = [b - a for a, b in zip(before, _thread_clocks(), strict=True)]
        with (Path(tempfile.gettempdir()) / TIMES / str(os.getpid())).open("a") as file:
            file.write(json.dumps([began, time.time(), *spent]) + "\n")
        return answer


def _thread_clocks() -> tuple[float, float]:
    """Seconds with a core, and with work and without one."""
    processor, wait, _ = Path("/proc/thread-self/schedstat").read_text().split()
    return int(processor) / 1e9, int(wait) / 1e9


def speed_up(cluster: Any, folder: Path, small: int, long: int, episodes: int) -> dict[str, Any]:
    """One worker and two, on long runs; processor time beside the runs themselves, on small ones."""
    executor_file.Worker = TimedWorker  # type: ignore[misc]
    times = Path(tempfile.gettempdir()) / TIMES
    hard, quick = [sea(seed, 12, episodes) for seed in range(long)], [sea(seed, 4, 40) for seed in range(small)]
    told: dict[str, Any] = {}
    turn = []
    for count in (1, 2):
        _, lines = _timed(
            cluster, hard, Store(folder / f"hard{count}"), RayExecutor(count, address=cluster.address), times
        )
        work = [end - began - wait for own in lines for began, end, _, wait in own]
        gaps = [later[0] - earlier[1] for own in lines for earlier, later in itertools.pairwise(own)]
        turn.append(float(np.median(work) + np.median(gaps)))
        processor = [line[2] for own in lines for line in own]
        for name, x in (("of a run", work), ("between two runs", gaps), ("of a core, of a run", processor)):
            told[f"{count} workers: seconds {name}, median, least, mean"] = [
                float(np.median(x)), min(x), float(np.mean(x)),
            ]  # fmt: skip
    told["speed-up"] = 2.0 * turn[0] / turn[1]
    began = time.process_time()
    seconds(quick, Store(folder / "quick"), LocalExecutor(1))
    told["small runs: processor seconds per run, a thread"] = (time.process_time() - began) / small
    for name, shared in (("sent", False), ("shared", True)):
        executor = RayExecutor(2, address=cluster.address, shared_store=shared)
        (driver, rest), lines = _timed(cluster, quick, Store(folder / name), executor, times)
        workers = sum(line[2] for own in lines for line in own)
        told[f"small runs, {name}: processor seconds per run, driver, workers, Ray"] = [
            x / small for x in (driver, workers, rest)
        ]
    return told


Times = list[list[list[float]]]  # by worker, by job: began, ended, processor seconds, seconds without a core


def _timed(
    cluster: Any, specs: list[Spec], store: Store, executor: Executor, folder: Path
) -> tuple[tuple[float, float], Times]:
    """Processor seconds of the driver and of Ray's own processes, and what workers wrote."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    driver, ray = time.process_time(), _ray_seconds(cluster)
    seconds(specs, store, executor)
    spent = time.process_time() - driver, _ray_seconds(cluster) - ray
    lines = [[json.loads(line) for line in path.read_text().splitlines()] for path in folder.iterdir()]
    shutil.rmtree(folder)
    return spent, lines


def _ray_seconds(cluster: Any) -> float:
    """Processor time of all that makes the cluster; its workers do not count."""
    nodes = [cluster.head_node, *cluster.worker_nodes]
    pids = [one.process.pid for node in nodes for kind in node.all_processes.values() for one in kind]
    ticks = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13] for pid in pids]
    return sum(int(x) for pair in ticks for x in pair) / os.sysconf("SC_CLK_TCK")


def sea(seed: int, depth: int, episodes: int) -> Spec:
    return make_spec({"name": "deep_sea", "depth": depth}, kl.KLearning(), episodes=episodes, seeds=[seed])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000, help="small ones")
    parser.add_argument("--long", type=int, default=8, help="how many long ones")
    parser.add_argument("--episodes", type=int, default=60_000, help="of a long one")
    parser.add_argument("--store-only", action="store_true", help="threads, and what the store costs; no cluster")
    parser.add_argument("--speed-up", action="store_true", help="of two workers, in place of all else")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ray-sweep-"))
    specs = [sea(seed, 4, 40) for seed in range(arguments.runs)]
    here, far, hurt, shared = (Store(folder / name) for name in ("here", "far", "hurt", "shared"))
    if arguments.store_only:
        sweep(specs, here)
        print(json.dumps({"runs": len(specs), "load": os.getloadavg()[0], **costs(here, specs)}, indent=1))
        return
    from ray.cluster_utils import Cluster

    system = {"worker_niceness": 0}  # as threads have it: by default workers come last where others want the cores
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": system}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    second = cluster.add_node(num_cpus=1)
    told: dict[str, Any] = {"runs": len(specs), "load": os.getloadavg()[0]}
    try:
        sweep(specs[:1], Store(folder / "warm"))  # kernels are compiled before the clock
        if arguments.speed_up:
            more = speed_up(cluster, folder, arguments.runs, arguments.long, arguments.episodes)
            print(json.dumps(told | more | {"load at the end": os.getloadavg()[0]}, indent=1))
            return
        told["seconds, threads"] = seconds(specs, here, LocalExecutor(2))
        told["seconds, two nodes, sent"] = seconds(specs, far, RayExecutor(2, address=cluster.address))
        told["seconds, two nodes, shared"] = seconds(
            specs, shared, RayExecutor(2, address=cluster.address, shared_store=True)
        )
        told["same bytes"] = files(here) == files(far) == files(shared)

        hard = [sea(seed, 12, arguments.episodes) for seed in range(arguments.long)]
        for workers in (1, 2):
            took = seconds(hard, Store(folder / f"hard{workers}"), RayExecutor(workers, address=cluster.address))
            told[f"seconds, {arguments.long} long runs, {workers} workers"] = took

        finished: list[str] = []

        def kill(outcome: Any) -> None:
            finished.append(outcome.job.work)
            if len(finished) == len(specs) // 3:
                for process in second.all_processes["raylet"]:
                    os.kill(process.process.pid, signal.SIGKILL)

        told["seconds, a node killed"] = seconds(specs, hurt, RayExecutor(2, address=cluster.address), finished=kill)
        told["same bytes, a node killed"] = files(here) == files(hurt)
    finally:
        cluster.shutdown()
    print(json.dumps(told | costs(here, specs), indent=1))


if __name__ == "__main__":
    main()
