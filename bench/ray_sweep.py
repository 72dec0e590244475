"""Sweeps on a Ray cluster of two nodes of one core each on this machine: bytes, a killed node, speed, costs per run.

    python -m bench.ray_sweep --runs 1000 --long 8
    python -m bench.ray_sweep --speed-up               # what two workers give, and what a run costs beside itself

Needs `pip install 'klearning[ray]'`. Prints JSON.

The speed-up is that of two free cores, on a machine that others use too: Linux says of every thread how long it had
work and no core. That is taken off the clock of a worker; what is left is its work, and its waiting for work.
"""

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import klearning as kl
from klearning.experiments.executors import Executor, Outcome
from klearning.experiments.executors.ray import RayExecutor
from klearning.experiments.spec import Spec, make_spec
from klearning.experiments.store import Store
from klearning.experiments.sweep import LocalExecutor, sweep


def files(store: Store) -> dict[str, bytes]:
    """Of all runs."""
    root = store.path / "runs"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def seconds(specs: list[Spec], store: Store, executor: Executor, **rest: Any) -> float:
    began = time.perf_counter()
    assert sweep(specs, store, executor=executor, **rest) == (len(specs), 0, [])
    return time.perf_counter() - began


def costs(store: Store, specs: list[Spec]) -> dict[str, float]:
    """What a store of so many runs takes: bytes, and processor seconds to list it and to see what is missing."""
    told = {"bytes per run": sum(map(len, files(store).values())) / len(specs)}
    looks = {"first list": store.rows, "second list": store.rows, "missing": lambda: store.missing(specs)}
    for name, look in looks.items():
        began = time.process_time()
        look()
        told[f"processor seconds, {name}"] = time.process_time() - began
    return told


Clocks = dict[str, tuple[float, float]]  # by thread: seconds of a core, and seconds with work and without one


class Meter:
    """Reads clocks of a sweep: of workers when a run ends, of all that Ray runs now and then."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, dict[int, Clocks]]] = []  # the time, and the clocks of every worker
        self.processor: dict[int, tuple[bool, float]] = {}  # by process: whether it is a worker, seconds
        self.driver = self.own = 0.0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Meter":
        self.driver = -time.process_time()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        self.driver += time.process_time() - self.own

    def finished(self, outcome: Outcome) -> None:
        self.ends.append((time.perf_counter(), {pid: clocks(pid) for pid in workers()}))

    def per_run(self) -> tuple[float, float]:
        """Seconds of the clock less the mean wait of workers for a core, and processor seconds; while all have work.

        By least squares over the ends of runs.
        """
        most = max(len(there) for _, there in self.ends)
        ends = [(now, there) for now, there in self.ends if len(there) == most]
        _, first = ends[0]
        at_work = {
            (pid, task)
            for pid, last in ends[-1][1].items()
            for task, (processor, _) in last.items()
            if processor - first[pid].get(task, (0.0, 0.0))[0] > 0.2 * _busiest(first[pid], last)
        }
        clock, processor = [], []
        for now, there in ends:
            mine = [there[pid].get(task, (0.0, 0.0)) for pid, task in at_work]
            clock.append(now - sum(wait for _, wait in mine) / most)
            processor.append(sum(x for x, _ in mine) / most)
        count = range(len(ends))
        return tuple(float(np.polyfit(count, x, 1)[0]) for x in (clock, processor))  # type: ignore[return-value]

    def ray_seconds(self, worker: bool) -> float:
        """Processor time of workers, or of all else that Ray runs."""
        return sum(x for kind, x in self.processor.values() if kind is worker)

    def _watch(self) -> None:
        first: dict[int, float] = {}
        while not self.over.wait(0.5):
            there = set(workers())
            for pid in descendants(os.getpid()):
                now = processor_seconds(pid)
                begun = first.setdefault(pid, 0.0 if pid in there else now)
                self.processor[pid] = pid in there, max(now - begun, 0.0)
            self.own = time.thread_time()


def workers() -> list[int]:
    """Processes that do jobs."""
    return [pid for pid in descendants(os.getpid()) if _read(f"/proc/{pid}/cmdline").startswith("ray::Worker")]


def clocks(pid: int) -> Clocks:
    """Of every thread of a process."""
    texts = {task.name: _read(f"{task}/schedstat").split() for task in Path(f"/proc/{pid}/task").glob("[0-9]*")}
    return {task: (int(text[0]) / 1e9, int(text[1]) / 1e9) for task, text in texts.items() if text}


def _busiest(first: Clocks, last: Clocks) -> float:
    """Processor seconds of the thread that had most of them: others only listen."""
    return max(processor - first.get(task, (0.0, 0.0))[0] for task, (processor, _) in last.items())


def descendants(parent: int) -> list[int]:
    """Processes that this one started, and those that they did."""
    above = {int(path.name): _stat(path.name) for path in Path("/proc").glob("[0-9]*")}
    there, more = [], [parent]
    while more:
        more = [pid for pid, stat in above.items() if stat and int(stat[1]) in more]
        there += more
    return there


def processor_seconds(pid: int) -> float:
    stat = _stat(str(pid))
    return sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK") if stat else 0.0


def _stat(pid: str) -> list[str]:
    """After the name, which may hold spaces: state, parent, …; nothing where it has ended."""
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def speed_up(address: str, folder: Path, small: int, long: int, episodes: int) -> dict[str, Any]:
    """One worker and two, on long runs; processor time beside the runs themselves, on small ones."""
    told: dict[str, Any] = {}
    hard = [sea(seed, 12, episodes) for seed in range(long)]
    quick = [sea(seed, 4, 40) for seed in range(small)]
    took = {}
    for count in (1, 2):
        with Meter() as meter:
            executor = RayExecutor(count, address=address)
            wall = seconds(hard, Store(folder / f"hard{count}"), executor, finished=meter.finished)
        took[count], processor = meter.per_run()
        told[f"{count} workers: seconds of the clock, start included"] = wall
        told[f"{count} workers: seconds per run, without waits for a core"] = took[count]
        told[f"{count} workers: processor seconds per run, over workers"] = processor
        told[f"{count} workers: processor seconds of the driver and of Ray's processes, per run"] = [
            meter.driver / long, meter.ray_seconds(False) / long,
        ]  # fmt: skip
    told["speed-up"] = took[1] / took[2]
    began = time.process_time()
    seconds(quick, Store(folder / "quick"), LocalExecutor(1))
    here = (time.process_time() - began) / small
    told["small runs: processor seconds per run, a thread"] = here
    for name, shared in (("sent", False), ("shared", True)):
        executor = RayExecutor(2, address=address, shared_store=shared)
        few, many = (
            _processor(quick[:count], Store(folder / f"{name}{count}"), executor) for count in (small // 5, small)
        )
        told[f"small runs, {name}: processor seconds per run, driver, workers, Ray"] = [
            (b - a) / (small - small // 5) for a, b in zip(few, many, strict=True)
        ]
    return told


def _processor(specs: list[Spec], store: Store, executor: Executor) -> tuple[float, float, float]:
    """Seconds of the driver, of workers and of all else that Ray runs."""
    with Meter() as meter:
        seconds(specs, store, executor)
    return meter.driver, meter.ray_seconds(True), meter.ray_seconds(False)


def sea(seed: int, depth: int, episodes: int) -> Spec:
    return make_spec({"name": "deep_sea", "depth": depth}, kl.KLearning(), episodes=episodes, seed=seed)


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
            more = speed_up(cluster.address, folder, arguments.runs, arguments.long, arguments.episodes)
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
