"""Tests of networks are a session of their own: JAX has threads, and other tests fork, which do not go together.

So are those of the GPU's kernels, in Numba's simulator: tests/gpu/test_simulator.py runs them.
"""

import gc
import os
import random
import re
import signal
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

ONLY_NETWORKS = ("tests/deep/", "tests/extending/test_network.py")
NETWORKS_FILES = (*ONLY_NETWORKS, "tests/pages/test_docs.py", "tests/cli/test_help.py")  # no other has such tests
NETWORKS_PAGES = ("deep_k_learning", "own_network", "evidence/deep")
NETWORKS = (*ONLY_NETWORKS, *NETWORKS_PAGES, "deep_agent", "DeepKLearning", "simulator_for_deep")
RARE = "bonus='split', tolerance=1e-06, optimism='calibrated'"  # 15 s of kernels that nothing else needs: slow


class NoNetworks:
    """A finder before all others that finds no JAX. (None in ``sys.modules`` is read as a module by SciPy.)"""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == "jax":
            raise ModuleNotFoundError("no JAX in this session: ask for its tests by -m networks", name=name)


def has_networks(config: pytest.Config) -> bool:
    return "networks" in config.option.markexpr.replace("not networks", "")


def cache_compiled_networks(folder: Path) -> None:
    """Tests compile the same small programs again and again, in two processes: let JAX keep all of them on disk."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in an order drawn with this seed")


def pytest_configure(config: pytest.Config) -> None:
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # a shell's background job; what tests start would ignore it too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if has_networks(config):
        cache_compiled_networks(config.rootpath / ".pytest_cache" / "xla")
    else:
        sys.meta_path.insert(0, NoNetworks())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is imported or collected is garbage: looking for it takes a quarter of the time of collecting."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    thinning = Thinning()
    for item in items:
        if any(part in item.nodeid for part in NETWORKS):
            item.add_marker(pytest.mark.networks)
            if not any(part in item.nodeid for part in NETWORKS_FILES):
                raise pytest.UsageError(f"{item.nodeid} is of networks: name its file in NETWORKS_FILES")
        if thinning.leaves_out(item) or (RARE in item.nodeid and os.environ.get("NUMBA_BOUNDSCHECK") != "1"):
            item.add_marker(pytest.mark.slow)
    if config.option.shuffle is not None:
        random.Random(config.option.shuffle).shuffle(items)


class Thinning:
    """Of the cases of a test that is marked ``thin(n)``, one in n is quick, along diagonals; the others are slow.

    So every agent is tried in some worlds, and every world with some agents, and all pairs by `make slow`.
    """

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], dict[int, int]] = {}  # by test and argument, its values in their order

    def leaves_out(self, item: pytest.Item) -> bool:
        marker, case = item.get_closest_marker("thin"), getattr(item, "callspec", None)
        if marker is None or case is None:
            return False
        test = item.nodeid.partition("[")[0]
        places = [self.seen.setdefault((test, name), {}) for name in case.params]
        at = [seen.setdefault(id(x), len(seen)) for seen, x in zip(places, case.params.values(), strict=True)]
        return sum(at) % marker.args[0] != 0


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    path, asked = collection_path.as_posix(), config.option.markexpr
    if any(part in f"{path}/" for part in ONLY_NETWORKS) and not has_networks(config):
        return True
    if "/tests/gpu/device" in path and os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
        return True
    if collection_path.name.startswith(
        "test_"
    ):  # most files have none of the few that are asked for: import those that may
        if has_networks(config) and not any(part in path for part in NETWORKS_FILES):
            return True
        if asked.startswith("slow") and not re.search(r"\bslow\b|\bthin\(", collection_path.read_text()):
            return True
    return None
