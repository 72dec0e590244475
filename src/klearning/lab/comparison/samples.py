"""Who is compared, in numbers: one per run, by world; and what the runs of two agents share, which makes them pairs."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.records.fields import leaves
from klearning.numerics.types import Floats
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.runs import Runs


class Metric(NamedTuple):
    """A number per run, and which of two is better."""

    words: str  # what it is
    verb: str  # what the better agent does
    of: Callable[[Runs], Floats]
    lower: bool = True  # is better
    censored: bool = False  # nan: it took longer than was watched
    share: str = ""  # its name if worlds of different scales are put together


METRICS = {
    "regret": Metric(
        "cumulative regret", "loses less than", lambda runs: runs.regret[:, -1],
        share="regret, as a share of what random play loses",
    ),
    "return": Metric(
        "mean return per episode", "collects more than", lambda runs: runs.returns.mean(axis=1),
        lower=False, share="return, from random play (0) to the optimum (1)",
    ),
    "solved": Metric(
        "episodes until solved", "solves sooner than", lambda runs: runs.solved,
        censored=True, share="episodes until solved",
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sample:
    """An agent's numbers in every world; ``shares`` names the randomness behind them, "" if that is its own.

    Samples that share it in every world are compared pair by pair.
    """

    name: str
    numbers: dict[str, Floats]
    shares: dict[str, str]
    episodes: int | None = None
    unit: str = "episode"  # in a game, a round

    @property
    def strata(self) -> list[Floats]:
        return list(self.numbers.values())

    @property
    def pooled(self) -> Floats:
        return np.concatenate(self.strata)


def pairing(a: Sample, b: Sample) -> str:
    """By what the runs of two samples are pairs: "world", "seed", or "" if they share nothing."""
    if all(a.shares[world] and a.shares[world] == b.shares[world] for world in a.numbers):
        return next(iter(a.shares.values())).partition(":")[0]
    return ""


def samples_of(results: Any, metric: Metric) -> list[Sample]:
    """Samples from what a reader has: by name runs, lists of runs or numbers, or these by world."""
    if not isinstance(results, Mapping) or len(results) < 2:
        raise ValueError(f"results={_short(results)} are not two or more: give runs by name, {{'mine': runs, …}}")
    by_world = {_text("name", name): _by_world(name, value) for name, value in results.items()}
    worlds = {name: list(own) for name, own in by_world.items()}
    first = next(iter(worlds))
    for name, own in worlds.items():
        if set(own) != set(worlds[first]):
            raise ValueError(
                f"{name!r} was run in {own}, {first!r} in {worlds[first]}: give all of them the same worlds"
            )
    several = len(worlds[first]) > 1
    samples = [_sample(name, {w: own[w] for w in worlds[first]}, metric, several) for name, own in by_world.items()]
    lengths = {sample.name: sample.episodes for sample in samples if sample.episodes is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"runs differ in length, {lengths} episodes: give all of them the same number")
    return samples


def _by_world(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{name!r} has no worlds: give {{'a world': runs, …}}")
        return {_text("world", world): own for world, own in value.items()}
    if isinstance(value, Runs):
        return {value.place: value}
    return {_common_name(value): value}


def _common_name(value: Any) -> str:
    """Of a list: worlds drawn from one law are one world in what follows."""
    runs = list(value) if isinstance(value, Sequence) else []
    return "worlds drawn alike" if runs and isinstance(runs[0], Runs) else "one world"


def _sample(name: str, by_world: Mapping[str, Any], metric: Metric, several: bool) -> Sample:
    parts = {world: _numbers(f"{name!r} in {world!r}", value, metric, several) for world, value in by_world.items()}
    lengths = {part.episodes for part in parts.values()}
    return Sample(
        name,
        {world: part.numbers for world, part in parts.items()},
        {world: part.shares for world, part in parts.items()},
        lengths.pop() if len(lengths) == 1 else None,
        next(iter(parts.values())).unit,
    )


class _Part(NamedTuple):
    numbers: Floats
    shares: str = ""
    episodes: int | None = None
    unit: str = "episode"


def _numbers(field: str, value: Any, metric: Metric, several: bool) -> _Part:
    """One number per run, or per world if there is a list of them."""
    for runs in value if isinstance(value, Sequence) else [value]:
        if isinstance(runs, Runs):
            _check_runs(field, runs, metric, several)
    if isinstance(value, Runs):
        numbers = _scaled(value, metric) if several else metric.of(value)
        # streams are named by the seed, the world and the class of the agent: its variants meet the same chances
        world = _digest([value.world]) if value.opponent is None else ""
        shared = f"seed:{type(value.agent).__name__}:{value.place}:{tuple(value.seeds)}:{world}"
        return _Part(numbers, shared, value.episodes, value.unit)
    if isinstance(value, Sequence) and value and all(isinstance(runs, Runs) for runs in value):
        lengths = {runs.episodes for runs in value}
        if len(lengths) > 1:
            raise ValueError(f"{field} has runs of {sorted(lengths)} episodes: give all of them the same number")
        if metric.censored and any(len(runs.seeds) > 1 for runs in value):
            raise ValueError(f"{field} has several seeds per drawn world: times cannot be averaged, give one seed each")
        each = [_scaled(runs, metric) if several else metric.of(runs) for runs in value]
        numbers = np.array([x[0] if len(x) == 1 else x.mean() for x in each])
        return _Part(numbers, f"world:{_digest([runs.world for runs in value])}", lengths.pop())
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(f"{field} is {_short(value)}: give Runs, a list of Runs, or one number per run")
    if np.isinf(numbers).any() or (np.isnan(numbers).any() and not metric.censored):
        raise ValueError(f"{field} has numbers that are not finite: a run without a result cannot be compared")
    return _Part(numbers)


def _check_runs(field: str, runs: Runs, metric: Metric, several: bool) -> None:
    if runs.opponent is not None:
        if metric.censored or several:
            raise ValueError(f"{field} is a game: compare by metric='regret' or 'return', one game at a time")
    elif metric.censored and runs.world.goal is None:
        raise ValueError(f"{field} has no goal, and is never solved: compare by metric='regret' or 'return'")
    if metric is METRICS["return"] and not runs.keeps_all:
        raise ValueError(f"{field} keeps some episodes: a mean return needs all of them, keep='all'")


def _scaled(runs: Runs, metric: Metric) -> Floats:
    """On a scale that worlds have in common: the optimum and random play are its ends. Times stay times."""
    x = metric.of(runs)
    if metric.censored:
        return x
    best, random = runs.optimal_value, random_value(runs.world)
    if not best - random > 1e-12 * max(1.0, abs(best)):
        raise ValueError(
            f"world {runs.world.name!r} gives random play its optimum, {best:g}: nothing to learn, leave it out"
        )
    return x / (runs.episodes * (best - random)) if metric.lower else (x - random) / (best - random)


def random_value(world: MDP) -> float:
    """The exact value of choosing every action alike."""
    return float(world.value(np.full((world.actions, world.states), 1.0 / world.actions)))


def _digest(worlds: Sequence[MDP]) -> str:
    digest = hashlib.sha256()
    for world in worlds:
        for part in (world.reward, *leaves(world.model).values()):
            digest.update(np.ascontiguousarray(part).tobytes())
        digest.update(repr((world.noise, world.layers)).encode())
    return digest.hexdigest()[:16]


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{field}={value!r} is not text: name what is compared, {{'mine': runs, …}}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def metric_of(name: str) -> Metric:
    return METRICS[checks.choice("metric", name, METRICS)]
