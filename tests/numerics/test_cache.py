"""Kernels on disk: never out of date, the same for every process, and compiled again only if something changed."""

import ast
import os
import shutil
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

from klearning.numerics.compile import cache, notices
from klearning.numerics.compile.notices import Announcer, compiling_for
from tests.contract.test_surface import FILES, PACKAGE

SMALL = """
import numpy as np
from klearning.numerics.loops import largest
from klearning.numerics.random.generator import exponential
from klearning.numerics.elementary import log1p_unit
print(log1p_unit(0.5), largest(np.array([3.0, 5.0])), exponential(np.random.default_rng(0)))
"""
REFUSE = """
from klearning.numerics.compile.linking import Code
def refuse(self, *arguments): raise AssertionError(f"{self.function.__qualname__} is compiled again")
Code._compile = refuse
"""
# rows of counts that grow; a kernel that is compiled when it is first reached; arrays handed back to Python
LARGE = """
import hashlib, klearning as kl
digest = hashlib.sha256()
for agent in (kl.PSRL(), kl.KLearning("schedule")):
    digest.update(kl.run(agent, kl.river_swim(horizon=6), episodes=20, seeds=2, threads=1).values.tobytes())
print(digest.hexdigest())
"""


def python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def house(tmp_path):
    """A copy of the package, which may be edited, and what compiles there."""
    shutil.copytree(PACKAGE, tmp_path / "klearning", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def edit(module: str, old: str, new: str) -> None:
        path = tmp_path / "klearning" / module
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    def kernels() -> set[str]:
        return {path.name.rpartition(".")[0] for path in (tmp_path / "cache").rglob("*.kernel")}

    def names(keys: set[str]) -> set[str]:
        return {key.rpartition(".")[0].removeprefix("klearning.numerics.") for key in keys}

    return lambda code: python(code, **environment), edit, kernels, names


@pytest.mark.slow
def test_an_edit_changes_results_and_compiles_nothing_else_again(house):
    call, edit, kernels, names = house
    first, before = call(SMALL), kernels()
    assert {"loops.largest", "random.generator.exponential", "elementary.log1p_unit"} <= names(before)
    edit("numerics/loops.py", "found = max(found, x[i])", "found = min(found, x[i])")
    second, after = call(SMALL), kernels()
    assert (first.split()[1], second.split()[1]) == ("5.0", "3.0")
    assert first.split()[::2] == second.split()[::2]
    assert names(after - before) == {"loops.largest"}


@pytest.mark.slow
def test_an_edit_of_what_a_kernel_imports_reaches_it(tmp_path):
    """In files of somebody's own, two imports away."""
    (tmp_path / "inner.py").write_text("FACTOR = 2.0\n")
    (tmp_path / "middle.py").write_text(
        "from inner import FACTOR\nfrom klearning.numerics.compile.kernels import kernel\n\n\n"
        "@kernel\ndef scaled(x: float) -> float:\n    return FACTOR * x\n"
    )
    (tmp_path / "outer.py").write_text(
        "from klearning.numerics.compile.kernels import kernel\nfrom middle import scaled\n\n\n"
        "@kernel(apart=True)\ndef shifted(x: float) -> float:\n    return scaled(x) + 1.0\n"
    )
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{PACKAGE.parent}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    code = "from outer import shifted; print(shifted(3.0))"
    assert python(code, **environment) == "7.0\n"
    assert python(REFUSE + code, **environment) == "7.0\n"
    (tmp_path / "inner.py").write_text("FACTOR = 5.0\n")
    assert python(code, **environment) == "16.0\n"


@pytest.mark.slow
def test_every_process_finds_what_another_compiled():
    """Names of compiled code do not depend on the order of a set, which every process has its own of."""
    first = python(LARGE, PYTHONHASHSEED="1")
    assert python(REFUSE + LARGE, PYTHONHASHSEED="2") == first


def imports_by_syntax(module: str) -> set[str]:
    """What `cache.imports_of` finds by a pattern, found by Python's own parser."""
    package = module if cache.is_package(module) else module.rpartition(".")[0]
    found = set()
    for node in ast.parse(cache.source_of(module) or b"").body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                found.add(inner if cache.source_of(inner) is not None else base)
    return {name for name in found if cache.source_of(name) is not None}


def test_imports_are_found_as_python_finds_them():
    for path in FILES:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        assert set(cache.imports_of(module)) >= imports_by_syntax(module), module


def test_nobody_else_writes_into_the_cache(tmp_path):
    private, shared = tmp_path / "private", tmp_path / "shared"
    private.mkdir(mode=0o700)
    shared.mkdir()
    shared.chmod(0o777)
    link = tmp_path / "link"
    link.symlink_to(private)
    assert [cache.is_private(path) for path in (private, shared, link)] == [True, False, False]


SIDE_EFFECTS = """
import signal, sys
before = signal.getsignal(signal.SIGINT), list(sys.meta_path), list(sys.path_hooks)
import klearning
assert before == (signal.getsignal(signal.SIGINT), list(sys.meta_path), list(sys.path_hooks))
later = {"numba", "llvmlite", "jax", "scipy", "matplotlib", "ray", "rich", "sqlite3", *map("klearning.".__add__, (
    "games", "experiments", "figures", "papers", "report", "comparison", "cli", "theory", "gpu.run", "deep.k_learning"
))}
print(sorted(later & set(sys.modules)))
"""


def test_import_has_no_side_effects(tmp_path):
    assert python(SIDE_EFFECTS, NUMBA_CACHE_DIR=str(tmp_path / "none"), HOME=str(tmp_path)) == "[]\n"
    assert not list(tmp_path.iterdir())


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(notices, "time", clock := Clock())
    return clock


def compile_for(announcer: Announcer, clock: Clock, seconds: float, cached: bool = True) -> None:
    with announcer.compiling("outer", cached):
        clock.now += seconds / 2
        with announcer.compiling("inner", cached):
            clock.now += seconds / 2


def test_what_takes_more_than_two_seconds_says_what_it_is_for(clock, capsys):
    announcer = Announcer()
    with compiling_for("PSRL"), compiling_for("solve"):
        compile_for(announcer, clock, 1.5)
        assert capsys.readouterr().err == ""
        compile_for(announcer, clock, 1.0)
        compile_for(announcer, clock, 10.0)
    text = "klearning: compiling kernels for {} (once on this machine; Ctrl-C waits for it) ...\n"
    assert capsys.readouterr().err == text.format("PSRL")
    compile_for(announcer, clock, 3.0)
    assert capsys.readouterr().err == text.format("outer")


def test_a_machine_without_a_cache_hears_why_it_compiles_again(clock, capsys):
    compile_for(Announcer(), clock, 3.0, cached=False)
    assert "in every run, because no cache folder is writable; set NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_paths_are_of_this_package():
    assert Path(PACKAGE) == cache.ROOT


THREADS = """
import threading, klearning as kl
world, ready, values = kl.deep_sea(4), threading.Barrier(8), []
def solve():
    ready.wait()
    values.append(kl.optimal(world).value)
threads = [threading.Thread(target=solve) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(values), len(set(values)))
"""


@pytest.mark.slow
def test_several_threads_may_make_the_first_call():
    """Numba is imported by one of them: two that import it at once find it by half."""
    assert python(THREADS) == "8 1\n"
