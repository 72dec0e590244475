"""Sweeps on a real Ray cluster of two nodes, of one core each, on this machine: the same bytes, whatever is killed.

The cluster asks for a token, as one that is reached by its address should (docs/howto/big_sweeps.md).
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import klearning as kl
from klearning import games
from klearning.lab.experiments.spec import make_spec, match_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import LocalExecutor, sweep
from tests.lab.experiments.test_store import contents

os.environ.setdefault("RAY_raylet_start_wait_time_s", "600")  # of a machine with much else to do; read at the import
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
ray = pytest.importorskip("ray")

from klearning.lab.experiments.executors import ray as executor_file  # noqa: E402
from klearning.lab.experiments.executors.ray import ClusterError, RayExecutor  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours

SYSTEM = {
    "health_check_initial_delay_ms": 500,  # a node that is killed is missed soon; a slow one has ten seconds to answer
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
    "memory_monitor_refresh_ms": 0,  # what else this machine does ends no worker
    "worker_niceness": 0,  # by default workers come last where others want the cores
}


PATIENCE = 600  # seconds, of a machine with much else to do


def sea(seed, depth=4, episodes=40, **rest):
    world = {"name": "deep_sea", "depth": depth}
    return make_spec(world, kl.KLearning(), episodes=episodes, seeds=rest.pop("seeds", [seed]), **rest)


def match(game, opponent, **rest):
    return match_spec(game, games.KLearning(), opponent=opponent, episodes=40, snapshots=[1, 30], **rest)


SHORT = [sea(seed) for seed in range(8)]
MATCHES = [
    match({"name": "rock_paper_scissors"}, "best_response"),
    match({"name": "random_game", "rows": 2}, {"name": "EXP3", "unit": 2.0}, seeds=[1]),
    match({"name": "guarded_sea", "depth": 3}, "self_play"),
]
LONG = [sea(seed, depth=12, episodes=20_000, snapshots=[10, 9_000]) for seed in range(3)]
LONGEST = sea(0, depth=12, episodes=400_000, snapshots=[10, 9_000])


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    nodes = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": SYSTEM},
    )
    yield nodes
    nodes.shutdown()


@pytest.fixture
def second(cluster):
    """The second node, which a test may kill: then the next one has another."""
    node = next(iter(cluster.worker_nodes), None) or cluster.add_node(num_cpus=1)
    yield node
    if node.all_processes["raylet"][0].process.poll() is not None:
        cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What threads of this process make of all the runs."""
    store = Store(tmp_path_factory.mktemp("whole"))
    assert sweep([LONGEST, *LONG, *SHORT, *MATCHES], store, executor=LocalExecutor(2)).failed == []
    return files(store)


def files(store):
    """Everything but folders."""
    return {path: data for path, data in contents(store.path).items() if data is not None}


def expected(whole, specs):
    names = {spec.name for spec in specs}
    return {path: data for path, data in whole.items() if Path(path).parent.name in names}


def kill(node):
    """The node's own process and its workers, which would live on for a while, at once."""
    [raylet] = (process.process.pid for process in node.all_processes["raylet"])
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in table.splitlines()]
    for pid in (raylet, *(pid for pid, parent in pairs if parent == raylet)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


STRANGER = """
import sys
import ray

address, path = sys.argv[1:]
ray.init(address=address, log_to_driver=False, logging_level="ERROR")

@ray.remote(num_cpus=0)
def intrude():
    with open(path, "w"):
        pass

ray.get(intrude.remote())
"""


def test_a_cluster_that_is_started_here_runs_nothing_for_who_does_not_know_its_token(tmp_path):
    """Real processes that know the address: without a token, with authentication off, with another token, with it."""
    ours, alone = dict(os.environ), {k: v for k, v in os.environ.items() if not k.startswith("RAY_AUTH")}
    exits = {}

    def finished(outcome):
        address = ray.get_runtime_context().gcs_address
        token = os.environ["RAY_AUTH_TOKEN"]
        assert token != ours["RAY_AUTH_TOKEN"]
        strangers = {
            "none": {},
            "off": {"RAY_AUTH_MODE": "disabled"},
            "another": {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": ours["RAY_AUTH_TOKEN"]},
            "the token": {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token},
        }
        processes = {
            name: subprocess.Popen(
                [sys.executable, "-c", STRANGER, address, str(tmp_path / name)],
                env=alone | {"RAY_NUM_REDIS_GET_RETRIES": "3"} | settings,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name, settings in strangers.items()
        }
        for name, process in processes.items():
            _, said = process.communicate(timeout=PATIENCE)
            exits[name] = process.returncode, "InvalidAuthToken" in said

    assert sweep(SHORT[:1], Store(tmp_path / "store"), executor=RayExecutor(1), finished=finished) == (1, 0, [])
    assert exits == {"none": (1, True), "off": (1, True), "another": (1, True), "the token": (0, False)}
    assert [name for name in exits if (tmp_path / name).exists()] == ["the token"]
    assert {name: os.environ[name] for name in executor_file.AUTHENTICATION}.items() <= ours.items()


@pytest.mark.parametrize("shared", [False, True], ids=["sent", "shared"])
def test_two_nodes_give_the_bytes_of_one_process(cluster, second, whole, tmp_path, shared):
    played, specs, store = [], [*SHORT, *MATCHES], Store(tmp_path)
    executor = RayExecutor(address=cluster.address, shared_store=shared)
    assert sweep(specs, store, executor=executor, progress=played.append) == (len(specs), 0, [])
    assert sum(played) == len(specs) * 40
    assert files(store) == expected(whole, specs)
    assert not ray.is_initialized()  # the cluster is left


def test_so_do_many_runs_in_one_file(cluster, second, tmp_path):
    spec, far, here = sea(0, episodes=20, seeds=70, keep=[5, 20]), Store(tmp_path / "far"), Store(tmp_path / "here")
    for store, executor in ((far, RayExecutor(address=cluster.address)), (here, LocalExecutor(2))):
        assert sweep([spec], store, executor=executor).done == 70
    assert len(list(here.folders())) == 2
    assert files(far) == files(here)


@pytest.mark.parametrize("shared", [False, True], ids=["sent", "shared"])
def test_a_node_killed_in_the_middle_loses_nothing(cluster, second, whole, tmp_path, shared):
    killed = []

    def finished(outcome):
        if not killed:
            kill(second)
            killed.append(outcome)

    store, specs, played = Store(tmp_path), [*SHORT[:2], *LONG], []
    executor = RayExecutor(2, address=cluster.address, shared_store=shared)
    tally = sweep(specs, store, executor=executor, finished=finished, checkpoint_seconds=0.1, progress=played.append)
    assert tally == (len(specs), 0, [])
    assert sum(played) == sum(spec.episodes for spec in specs)
    assert killed
    left = files(store)
    if shared:  # the killed may leave half of a write, or a checkpoint of what another finished, for `store gc`
        left = {path: data for path, data in left.items() if path.startswith("runs/") and "/." not in path}
    assert left == expected(whole, specs)


def test_a_worker_that_always_dies_fails_its_job_alone(cluster, whole, tmp_path):
    """A world of 650 MB: within the limit it is an error, and others, which take 110 with their kernels, end well."""
    large = make_spec({"name": "deep_sea", "depth": 1500}, kl.KLearning(), episodes=2)
    executor = RayExecutor(1, address=cluster.address, memory=400, retries=1)
    done, _, failed = sweep([large, SHORT[0]], Store(tmp_path), executor=executor)
    assert done == 1
    assert [outcome.spec.name for outcome in failed] == [large.name]
    assert "emory" in failed[0].error


def test_what_the_cluster_cannot_do_is_one_line(cluster, tmp_path, monkeypatch):
    with pytest.raises(ClusterError, match=r"memory=1e\+09 megabytes is more than any node has"):
        sweep(SHORT[:1], Store(tmp_path), executor=RayExecutor(address=cluster.address, memory=1e9))
    with monkeypatch.context() as patch:
        patch.setattr(executor_file, "versions", lambda: {"numpy": "0.1"})
        with pytest.raises(ClusterError, match=r"a node has numpy \S+, not 0\.1: have the same"):
            sweep(SHORT[:1], Store(tmp_path), executor=RayExecutor(1, address=cluster.address))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_ctrl_c_keeps_checkpoints_and_leaves_the_cluster(cluster, whole, tmp_path):
    """The command, interrupted as a terminal does it, and given again.

    When the result of the short run is there, the long one has been given to the same worker. It takes some seconds
    of a core that nobody else wants, and longer where somebody does; an interrupt is heard within about one.
    """
    file = tmp_path / "long.toml"
    grid = '[[sweep]]\nworld = {{name = "deep_sea", depth = {}}}\nagent = {{name = "KLearning"}}\nseeds = 1\n'
    short, long = grid.format(4) + "episodes = 40\n", grid.format(12) + "episodes = 400000\nsnapshots = [10, 9000]\n"
    file.write_text(short + long)
    store = Store(tmp_path / "store")
    command = [sys.executable, "-m", "klearning", "sweep", str(file), "--store", str(store.path), "--threads", "1"]
    command += ["--executor", "ray", "--address", cluster.address]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not list((store.path / "runs").glob("[0-9a-f]*/[0-9a-f]*")):  # the run itself, whole
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said.splitlines()[-1]) == (130, "klearning: stopped")
    assert "Traceback" not in said
    assert not list(store.path.rglob(".*"))
    assert [path.name for path in (store.path / "checkpoints").iterdir()] == [store.checkpoint(LONGEST.name).name]
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert "1 runs done, 1 were there already, 0 failed" in again.stderr
    assert files(store) == expected(whole, [SHORT[0], LONGEST])
