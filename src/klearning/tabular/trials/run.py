"""`run`: an agent in a world, once for every seed."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

import numpy as np

from klearning.numerics import checks
from klearning.numerics.checks import memory_bytes
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.progress import ProgressBar
from klearning.numerics.types import Arrays
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import Agent, check_methods
from klearning.tabular.trials.chunks import Chunked
from klearning.tabular.trials.runs import Meeting, Runs, at_points, points_to_keep, seed_list, stacked
from klearning.tabular.trials.threads import on_threads
from klearning.tabular.trials.trial import Trial

CPU = "cpu"
GROWTH = 8  # of chunks: an episode may take microseconds, and a call of a kernel takes a hundred
DEVICES: dict[str, Callable[..., Runs]] = {}  # where else seeds can be played: filled by rooms that know how
Progress = Callable[[int], None] | bool | None
Play = TypeVar("Play", bound=Chunked)  # a trial or a match


def run(
    agent: Agent,
    world: Any,
    *,
    prior: Prior | None = None,
    episodes: int = 1000,
    seeds: int | Sequence[int] = 5,
    threads: int | None = None,
    evaluate_every: int = 1,
    progress: Progress = None,
    device: str = CPU,
    keep: str | Sequence[int] = "all",
) -> Runs:
    """Let an agent learn in a world, once for every seed, in parallel.

    ``seeds`` is how many or which; results depend on nothing else. The policy's exact value is computed
    every ``evaluate_every`` episodes and carried over in between; 0 is never. ``progress=True`` shows a bar, in
    a terminal or a notebook; a function is called from time to time with the number of episodes just finished.

    ``keep`` is "all" episodes; or "points", ten of them per power of ten; or the episodes themselves, up to the last.
    Regret is exact either way. With very many seeds all episodes of each may be more than fits into memory.

    ``device="gpu"`` plays all seeds at once in float32, with random numbers of its own: the same in law, not seed by
    seed. There ``world`` may be one world per seed, `klearning.gpu.random_worlds`.
    """
    check_methods(agent)
    check_progress(progress)
    checks.choice("device", device, (CPU, *DEVICES))
    like = world if device == CPU else getattr(world, "like", world)  # elsewhere each seed may have a world of its own
    if not isinstance(like, MDP):
        raise ValueError(f"world={world!r} is not an MDP: {_world_advice(world)}")
    episodes = checks.count("episodes", episodes)
    numbers, points = seed_list(seeds), points_to_keep(keep, episodes)
    every = checks.whole("evaluate_every", evaluate_every, 0)
    workers = checks.whole("threads", threads) if threads is not None else None
    knows = prior if prior is not None else Prior()
    check_memory(len(numbers), len(points) or episodes, 3 + len(agent.diagnostics), like.reward.size)
    if device != CPU:
        if every != 1 or workers is not None:
            raise ValueError(
                f"device={device!r} has threads of its own and evaluates every episode: "
                "leave out threads and evaluate_every"
            )
        return DEVICES[device](agent, world, knows, episodes, numbers, progress, points)
    with compiling_for(f"{type(agent).__name__} in {world.name}"):
        best = np.asarray(optimal_value(world))
        Trial(agent, world, knows, numbers[0], 1).advance(1)  # compiles, once, before the clock

    def arrays_of(trial: Trial) -> Arrays:
        arrays = trial.result()
        return arrays | {"optimal_value": best, "visits": arrays["visits"].T}

    return play_seeds(
        Meeting(agent, world, knows), lambda seed: Trial(agent, world, knows, seed, episodes, every), arrays_of,
        numbers, points, workers, progress,
    )  # fmt: skip


def play_seeds(
    setting: Meeting,
    begin: Callable[[int], Play],
    arrays_of: Callable[[Play], Arrays],
    seeds: Sequence[int],
    points: Sequence[int],
    threads: int | None,
    progress: Progress,
) -> Runs:
    """Play every seed to its end, on threads; results are in the order of the seeds."""

    def play(seed: int, should_stop: Callable[[], bool]) -> Arrays:
        one = begin(seed)
        for count in one.chunks(growth=GROWTH):
            if tell is not None:
                tell(count)
            if should_stop():
                break
        arrays = arrays_of(one)
        return at_points(arrays, points) if points else arrays

    began = time.perf_counter()
    with ExitStack() as stack:
        unit = "episodes" if setting.opponent is None else "rounds"
        total = len(seeds) * begin(seeds[0]).episodes if progress is True else 0
        bar = stack.enter_context(ProgressBar(unit, total)) if progress is True else None
        tell = progress if callable(progress) else bar
        arrays_by_seed = dict(on_threads(play, seeds, threads))
    arrays, seconds = stacked([arrays_by_seed[seed] for seed in seeds]), time.perf_counter() - began
    return Runs.of(setting, seeds, arrays, np.array(points) if points else None, seconds)


def check_progress(progress: Any) -> None:
    """ValueError unless it is a flag or a function."""
    if not callable(progress) and progress is not None and not isinstance(progress, bool):
        raise ValueError(f"progress={progress!r} is not a flag: give True, or a function of the episodes just finished")


def check_memory(seeds: int, points: int, numbers: int, visits: int = 0) -> None:
    """One line if results of this size do not fit into this machine's memory."""
    need, most = seeds * (points * (8 * numbers + 1) + 8 * visits), memory_bytes()
    if 0 < most < need:
        raise ValueError(
            f"{seeds:,} seeds with {points:,} episodes each take {need:,} bytes, and this machine has {most:,}: "
            'give keep="points", or fewer seeds'
        )


def _world_advice(thing: Any) -> str:
    if callable(thing):
        return f"call it, {getattr(thing, '__name__', 'world')}(…)"
    if hasattr(thing, "reset"):
        return "let the agent learn in an environment, kl.learn(agent, env), or read its model, MDP.from_gymnasium(env)"
    elsewhere = f", or let the agent learn in an environment, kl.learn(agent, {thing!r})" if _is_name(thing) else ""
    return f"give one, for example deep_sea(10){elsewhere}"


def _is_name(thing: Any) -> bool:
    """Whether it may be the name of one of Gymnasium's environments."""
    return isinstance(thing, str) and "-v" in thing
