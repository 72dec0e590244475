"""`klearning warm-up`: compile kernels ahead of the first call."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from typing import Any

import click

from klearning.cli.display import progress, say, show_json
from klearning.cli.help import Command
from klearning.cli.options import read_agent
from klearning.cli.param_types import AGENT_WITH_OPTIONS, as_json
from klearning.numerics import checks
from klearning.simulators.codec import declared
from klearning.tabular.agents import AGENTS

EXAMPLES = ("klearning warm-up KLearning KLearning,optimism=calibrated PSRL", "klearning warm-up")
GAMES, PLANS = "games", "plans"  # compiled besides agents if no agent is named


@click.command("warm-up", cls=Command, short_help="Compile kernels ahead of the first call.", examples=EXAMPLES)
@click.argument("agents", nargs=-1, type=AGENT_WITH_OPTIONS, metavar="[AGENT]...")
@click.option("-j", "--jobs", type=int, help="number of processes; default: one per core")
@as_json
def warm_up(agents: Sequence[str], jobs: int | None, as_json: bool) -> None:
    """Compile the kernels that AGENTs need, and cache them on this machine.

    An AGENT is a name with options after commas (KLearning,optimism=calibrated), or your own: file.py:Name. The default
    is every agent in every setting, and games and plans.

    This is optional: the first call that needs a kernel compiles it. Cached kernels are not compiled again.
    """
    from klearning.numerics.compile import cache

    words = list(agents) or [GAMES, PLANS, *every_setting()]
    for word in agents:
        if word in AGENTS.elsewhere:
            raise ValueError(f"agent={word!r} is compiled by JAX, which has no cache here: leave it out")
        read_agent(word)
    jobs = checks.whole("jobs", jobs) if jobs is not None else os.cpu_count() or 1
    if (place := cache.folder()) is None:
        raise OSError("kernels cannot be cached: no cache folder is writable; set NUMBA_CACHE_DIR to one that is")
    began, before = time.monotonic(), cache.size()
    with progress("compiled", len(words)) as advance:
        for _ in compiled(words, min(jobs, len(words))):
            advance(1)
    after, seconds = cache.size(), time.monotonic() - began
    new = after.files - before.files
    if as_json:
        show_json({"kernels": new, "seconds": seconds, "folder": str(place), **after._asdict()})
    else:
        say(f"compiled {new} kernels in {seconds:.1f} s; {place} has {after.files}, {after.bytes / 1e6:.0f} MB")


def every_setting() -> list[str]:
    """Every agent by default, and with each word that one of its options accepts.

    An agent's settings are far apart: they share kernels, which two processes would compile at the same time.
    """
    settings = [
        [name, *(f"{name},{option}={x}" for option, xs in declared(cls).choices.items() for x in xs)]
        for name, cls in AGENTS.items()
    ]
    return [words[-i] for i in range(1, max(map(len, settings)) + 1) for words in settings if i <= len(words)]


def compiled(words: Sequence[str], jobs: int) -> Iterator[str]:
    """Compile in several processes; yields each word when it is done."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, begin, (sys.path, [origin.module for origin in AGENTS.origins.values()]))
    with pool:
        waiting = {pool.submit(compile_one, word): word for word in words}
        try:
            for done in as_completed(waiting):
                done.result()
                yield waiting[done]
        except BaseException:  # do not wait for the others: a cached kernel is never partial
            for process in pool._processes.values():
                process.kill()
            raise


def begin(path: Sequence[str], modules: Sequence[str]) -> None:
    """Initialise a process of the pool: import the user's agents. The parent process handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stderr = None  # the parent shows progress
    sys.path[:] = path
    for module in modules:
        import_module(module)


def compile_one(word: str) -> None:
    """Run an agent for a few episodes, or a game, or a plan."""
    if word == GAMES:
        compile_games()
    elif word == PLANS:
        compile_plans()
    else:
        compile_agent(read_agent(word))


def compile_agent(agent: Any) -> None:
    import klearning as kl

    world = kl.bandit([0.1, 0.9]) if agent.longest_horizon == 1 else kl.river_swim(states=3, horizon=4)
    kl.run(agent, world, episodes=3, seeds=1, threads=1)
    if callable(agent.plan):
        kl.learn(agent, kl.WorldEnv(world), episodes=3)


def compile_plans() -> None:
    import klearning as kl

    world = kl.river_swim(states=3, horizon=4)
    belief = kl.Belief.before(kl.Prior(), world)
    plan = kl.solve(belief)
    kl.certify(belief, plan.policy)
    kl.solve_vapor(belief)
    kl.solve_vbos([0.0, 1.0], [1.0, 1.0])
    kl.evaluate(world, plan.policy)


def compile_games() -> None:
    import klearning as kl

    for make in (kl.games.rock_paper_scissors, kl.games.random_markov_game):
        for player in (kl.games.KLearning(), kl.games.UCB()):
            kl.games.play(player, make(), rounds=3, seeds=1, threads=1)
    kl.games.solve([[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]])
