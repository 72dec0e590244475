"""Sweeps on a real Ray cluster of two nodes, of one core each, on this machine: the same bytes, whoever is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import klearning as kl
from klearning.experiments.batch import Batch
from klearning.experiments.spec import make_spec
from klearning.experiments.store import Store
from klearning.experiments.sweep import LocalExecutor, run_batches, sweep
from tests.storage.test_store import contents

ray = pytest.importorskip("ray")

from klearning.experiments.executors import ray as executor_file  # noqa: E402
from klearning.experiments.executors.ray import ClusterError, RayExecutor  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours

QUICK_TO_SEE = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
}


def sea(seed, depth=4, episodes=40, **rest):
    world = {"name": "deep_sea", "depth": depth}
    return make_spec(world, kl.KLearning(), episodes=episodes, seed=seed, **rest)


SHORT = [sea(seed) for seed in range(30)]
LONG = [sea(seed, depth=12, episodes=30_000, snapshots=[10, 9_000]) for seed in range(4)]


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    nodes = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": QUICK_TO_SEE},
    )
    yield nodes
    nodes.shutdown()


@pytest.fixture
def second(cluster):
    """The second node, which a test may kill."""
    node = cluster.add_node(num_cpus=1)
    yield node
    if node in cluster.worker_nodes:
        cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What threads of this process make of all the runs."""
    store = Store(tmp_path_factory.mktemp("whole"))
    sweep([*SHORT, *LONG], store, executor=LocalExecutor(2))
    return files(store)


def files(store):
    """Everything but folders."""
    return {path: data for path, data in contents(store.path).items() if data is not None}


def expected(whole, specs):
    names = {spec.name for spec in specs}
    return {path: data for path, data in whole.items() if Path(path).parent.name in names}


def kill(node):
    """The node's own process and, with it, its workers, at once."""
    for process in node.all_processes["raylet"]:
        os.kill(process.process.pid, signal.SIGKILL)


@pytest.mark.parametrize("shared", [False, True], ids=["sent", "shared"])
def test_two_nodes_give_the_bytes_of_one_process(cluster, second, whole, tmp_path, shared):
    played, executor = [], RayExecutor(address=cluster.address, shared_store=shared)
    store = Store(tmp_path / "store")
    assert sweep(SHORT, store, executor=executor, progress=played.append) == (30, 0, [])
    assert sum(played) == 30 * 40
    assert files(store) == expected(whole, SHORT)
    batch, here = Batch(sea(0, episodes=20), 6, (5, 20)), Store(tmp_path / "here")
    for place, who in ((store, executor), (here, LocalExecutor(2))):
        assert run_batches([batch], place, executor=who) == 1
    assert (store.batch(batch.name)).read_bytes() == here.batch(batch.name).read_bytes()
    assert not ray.is_initialized()  # the cluster is left


@pytest.mark.parametrize("shared", [False, True], ids=["sent", "shared"])
def test_a_node_killed_in_the_middle_loses_nothing(cluster, second, whole, tmp_path, shared):
    killed = []

    def finished(outcome):
        if not killed:
            kill(second)
            killed.append(outcome)

    store, specs = Store(tmp_path / "store"), [*SHORT[:4], *LONG]
    executor = RayExecutor(2, address=cluster.address, shared_store=shared)
    assert sweep(specs, store, executor=executor, finished=finished, checkpoint_seconds=0.1) == (8, 0, [])
    assert killed
    assert files(store) == expected(whole, specs)


def test_a_worker_that_always_dies_fails_its_job_alone(cluster, tmp_path, monkeypatch):
    """A world of 650 MB: within the limit it is an error, and others, which take 110 with their kernels, end well."""
    large = make_spec({"name": "deep_sea", "depth": 1500}, kl.KLearning(), episodes=2)
    executor = RayExecutor(address=cluster.address, memory=250, retries=1)
    done, _, failed = sweep([large, *SHORT[:2]], Store(tmp_path), executor=executor)
    assert done == 2
    assert [outcome.spec.name for outcome in failed] == [large.name]
    assert "emory" in failed[0].error


def test_what_the_cluster_cannot_do_is_one_line(cluster, tmp_path, monkeypatch):
    with pytest.raises(ClusterError, match=r"memory=1e\+09 megabytes is more than any node has"):
        sweep(SHORT[:1], Store(tmp_path), executor=RayExecutor(address=cluster.address, memory=1e9))
    with monkeypatch.context() as patch:
        patch.setattr(executor_file, "versions", lambda: {"numpy": "0.1"})
        with pytest.raises(ClusterError, match=r"a node has numpy \S+, not 0\.1: install"):
            sweep(SHORT[:1], Store(tmp_path), executor=RayExecutor(address=cluster.address))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_ctrl_c_keeps_checkpoints_and_leaves_the_cluster(cluster, tmp_path):
    """The command, interrupted as a terminal does it, and given again; a run is longer than it takes to hear of it."""
    file = tmp_path / "long.toml"
    file.write_text(
        '[[sweep]]\nworld = {name = "deep_sea", depth = 12}\nagent = {name = "KLearning"}\n'
        "episodes = 300000\nseeds = 2\nsnapshots = [10, 9000]\n"
    )
    store = Store(tmp_path / "store")
    command = [sys.executable, "-m", "klearning", "sweep", str(file), "--store", str(store.path)]
    command += ["--executor", "ray", "--address", cluster.address]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not list((store.path / "runs").glob("[0-9a-f]*")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.splitlines()[-1]) == (130, "klearning: stopped")
    assert "Traceback" not in said
    assert not list(store.path.rglob(".*"))
    assert list((store.path / "checkpoints").iterdir())
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "0 failed" in again.stderr
    local = Store(tmp_path / "local")
    sweep([sea(seed, 12, 300_000, snapshots=[10, 9_000]) for seed in range(2)], local, executor=LocalExecutor(2))
    assert files(store) == files(local)
