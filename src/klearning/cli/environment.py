"""The environment that a line names, with its options, in bins and in copies if the line asks for them."""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from klearning.cli.options import parse
from klearning.cli.user_imports import find, import_user_code
from klearning.numerics.interrupts import uninterrupted
from klearning.simulators import environments
from klearning.simulators.adapters.binned import Binned
from klearning.simulators.bins import BINS, nested

Env = gymnasium.Env[Any, Any]

MASKS = hasattr(signal, "pthread_sigmask")  # not in Windows


def binned(env: Env, bins: Sequence[str], quantiles: bool, horizon: int | None) -> Env:
    """The environment with the bins of the command line, if any."""
    if not bins and not quantiles:
        return env
    counts = bin_counts(bins) if bins else BINS
    try:
        return Binned.from_quantiles(env, counts, horizon=horizon) if quantiles else Binned(env, counts)
    except ValueError as error:
        hint = " (on the command line: --quantiles)" if "unbounded" in str(error) else ""
        raise ValueError(f"{error}{hint}") from None


@contextmanager
def copies(env: Any, count: int, name: str, options: Sequence[str]) -> Iterator[Any]:
    """A vector of N environments like this one, each in a process of its own; this one alone if N is 1."""
    if count == 1:
        yield env
        return
    _check_shared_memory(count)
    edges = env.edges if isinstance(env, Binned) else None
    with children_ignoring_ctrl_c():
        envs = AsyncVectorEnv(
            [partial(a_copy, name, options, edges, os.getpid())] * count,
            context="spawn",  # a fork would take threads of this process along
            autoreset_mode=AutoresetMode.DISABLED,  # so that --horizon may end an episode, and t has its own seed
        )
    try:
        yield envs
    except BaseException as error:
        for process in envs.processes:  # `close` would ask them for the step under way
            process.terminate()
            process.join()
        envs.closed = True
        if isinstance(error, EOFError):
            advice = "look at it alone, without --envs"
            raise ChildProcessError(f"environment={name!r}: the process of one of {count} is gone: {advice}") from None
        raise
    envs.close()


def _check_shared_memory(count: int) -> None:
    try:
        multiprocessing.get_context("spawn").Lock()
    except (OSError, ImportError) as error:
        advice = "let /dev/shm be written, or leave --envs out"
        raise OSError(f"--envs {count}: processes cannot share memory here ({error}): {advice}") from None


@contextmanager
def children_ignoring_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile never hear Ctrl-C; this one hears it when all of them are there."""
    with uninterrupted:  # a mask is this thread's own, and children's: another thread may take the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if MASKS else set()
        try:
            yield
        finally:
            if MASKS:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


def a_copy(name: str, options: Sequence[str], edges: Any, caller: int) -> Env:
    if os.getpid() != caller:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that learns
    env = make_environment(name, options)
    return env if edges is None else Binned(env, edges=edges)


def bin_counts(words: Sequence[str]) -> Any:
    """10, or 8,4 for one per dimension; or by name, arm.angle=8 for a part of a part, 0=8 for the first of a tuple."""
    if not any("=" in word for word in words):
        if len(words) > 1:
            raise ValueError(f"--bins {' --bins '.join(words)}: give one, or names, --bins NAME=N")
        return parse(words[0])
    counts = {}
    for word in words:
        path, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"--bins {word} has no name beside others that have: write NAME=N")
        counts[tuple(int(part) if part.isdigit() else part for part in path.split("."))] = parse(value)
    return nested(counts)


def make_environment(name: str, options: Sequence[str]) -> Env:
    given: dict[str, Any] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise ValueError(f"environment option {option!r} has no value: write NAME=VALUE")
        given[key] = {"true": True, "false": False}.get(value.lower(), parse(value))
    if name.endswith(".py"):
        raise ValueError(f"environment={name!r} is a file: write {name}:NAME, with the name of a class in it")
    if ":" not in name:
        return environments.make_environment(name, given)
    with environments.named_in_errors(name):
        return own_environment(name, given)


def own_environment(word: str, given: dict[str, Any]) -> Env:
    """The environment of file.py:Name or module:Name, or Gymnasium's own module:Name-v0."""
    place, _, name = word.rpartition(":")
    import_user_code(place)
    if name in gymnasium.registry:
        return gymnasium.make(name, **given)
    maker = find(word)
    env = maker(**given) if callable(maker) else maker
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"environment={word!r} made a {type(env).__name__}: give a gymnasium.Env, or what makes one")
    return env
