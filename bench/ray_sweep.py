"""Sweeps on a Ray cluster of two nodes of one core each on this machine: bytes, a killed node, speed, costs per run.

    python -m bench.ray_sweep --runs 1000 --long 8

Needs `pip install 'klearning[ray]'`. Prints JSON.
"""

import argparse
import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import klearning as kl
from klearning.experiments.executors import Executor
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000, help="small ones")
    parser.add_argument("--long", type=int, default=8, help="how many for the speed-up")
    parser.add_argument("--episodes", type=int, default=60_000, help="of a long one")
    parser.add_argument("--store-only", action="store_true", help="threads, and what the store costs; no cluster")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ray-sweep-"))
    world = {"name": "deep_sea", "depth": 4}
    specs = [make_spec(world, kl.KLearning(), episodes=40, seed=seed) for seed in range(arguments.runs)]
    here, far, hurt, shared = (Store(folder / name) for name in ("here", "far", "hurt", "shared"))
    if arguments.store_only:
        sweep(specs, here)
        print(json.dumps({"runs": len(specs), "load": os.getloadavg()[0], **costs(here, specs)}, indent=1))
        return
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    told: dict[str, Any] = {"runs": len(specs), "load": os.getloadavg()[0]}
    try:
        sweep(specs[:1], Store(folder / "warm"))  # kernels are compiled before the clock
        told["seconds, threads"] = seconds(specs, here, LocalExecutor(2))
        told["seconds, two nodes, sent"] = seconds(specs, far, RayExecutor(2, address=cluster.address))
        told["seconds, two nodes, shared"] = seconds(
            specs, shared, RayExecutor(2, address=cluster.address, shared_store=True)
        )
        told["same bytes"] = files(here) == files(far) == files(shared)

        world = {"name": "deep_sea", "depth": 12}
        hard = [
            make_spec(world, kl.KLearning(), episodes=arguments.episodes, seed=seed) for seed in range(arguments.long)
        ]
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
