"""From what a store keeps to a result: the arrays of a spec as `Runs`, and what a list says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.lab.experiments.spec import Spec, build_agent, build_match, build_prior, build_world
from klearning.numerics.types import Arrays
from klearning.tabular.trials.runs import DIAGNOSTIC, Meeting, Runs, joined

BY_EPISODE = {"values": "f", "returns": "f", "hits": "b"}  # what every run has, and of which kind
OF_POINTS = {"regret": "f", "first_hit": "f", "solved": "f"}  # what those have, too, of which some episodes are kept
PER_SEED = ("first_hit", "solved")


class SpecSetting:
    """Who met what, built from the spec when it is first asked for: a store may name what is not known here."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @cached_property
    def match(self) -> Meeting:
        return build_match(self.spec)

    @cached_property
    def world(self) -> Any:
        return build_world(self.spec) if self.spec.kind == "world" else self.match.world

    @cached_property
    def agent(self) -> Any:
        return build_agent(self.spec) if self.spec.kind == "world" else self.match.agent

    @cached_property
    def prior(self) -> Any:
        return build_prior(self.spec, self.world) if self.spec.kind == "world" else self.match.prior

    @cached_property
    def opponent(self) -> Any:
        return None if self.spec.kind == "world" else self.match.opponent


def runs_of(spec: Spec, arrays: Mapping[str, NDArray[Any]]) -> Runs:
    """The result of a part of a spec."""
    seeds = tuple(range(spec.seed, spec.seed + spec.seeds))
    by_seed = arrays if has_seeds(spec) else {name: x[None] for name, x in arrays.items()}
    if spec.kind == "world" and spec.device == "cpu" and "visits" in arrays:
        by_seed = {**by_seed, "visits": by_seed["visits"].transpose(0, 2, 1)}
    return Runs.of(SpecSetting(spec), seeds, by_seed, np.array(spec.keep) if spec.keep else None, spec=spec)


def together(parts: Sequence[Runs]) -> Runs:
    """Results that differ in their seeds alone, as one; ValueError if they differ in more."""
    if not parts:
        raise ValueError("specs=[] is empty: give the specs of some runs")
    first = parts[0].spec
    for part in parts:
        if _without_seeds(part.spec).canonical != _without_seeds(first).canonical:
            raise ValueError(
                f"run {part.spec.name[:12]} differs from {first.name[:12]} in more than its seed: give alike"
            )
    return joined(parts)


def _without_seeds(spec: Spec) -> Spec:
    drawn = spec.is_drawn and spec.world["seed"] == spec.seed
    return replace(spec, seed=0, seeds=1, world={**spec.world, "seed": 0} if drawn else spec.world)


def has_seeds(spec: Spec) -> bool:
    """Whether the arrays of a part have an axis of seeds: those of a single run, kept whole, do not."""
    return bool(spec.keep) or spec.device != "cpu"


def has_goal(spec: Spec) -> bool:
    """Whether an episode can reach a goal. Builds the world; a game has no goal."""
    return spec.kind == "world" and build_world(spec).goal is not None


def facts(spec: Spec, arrays: Arrays, goal: bool = True) -> dict[str, Any]:
    """The listed results of a part of a spec: of one run its numbers, of several the median time and the mean regret.

    Without a ``goal`` the number of solved seeds is None, not 0.
    """
    runs = runs_of(spec, arrays)
    times = (np.median(np.nan_to_num(x, nan=np.inf)) for x in (runs.first_hit, runs.solved))
    first, solved, lost = (float(x) if np.isfinite(x) else None for x in (*times, runs.last_regret.mean()))
    count = int(np.isfinite(runs.solved).sum())
    return {
        "ran": int(runs.ran.max()),
        "first_hit": first,
        "solved": solved,
        "solved_seeds": count if goal or count else None,
        "regret": lost,  # None if a run ended before the first episode that is kept
    }


def check_arrays(spec: Spec, arrays: Arrays) -> None:
    """Names, kinds and shapes of what every result has; ValueError if they are not those of this spec."""
    expected = BY_EPISODE | (OF_POINTS if spec.keep else {})
    if missing := [name for name in ("optimal_value", *expected) if name not in arrays]:
        raise ValueError(f"it has no array {missing[0]!r}")
    best, seeds = arrays["optimal_value"], (spec.seeds,) if has_seeds(spec) else ()
    length = arrays["hits"].shape[-1] if arrays["hits"].ndim == 1 + len(seeds) else -1
    fits = length == len(spec.keep) if spec.keep else 0 < length <= spec.episodes
    if best.shape != seeds or best.dtype.kind != "f" or not fits:
        raise ValueError("its arrays are not those of a run")
    for name, x in arrays.items():
        if name in expected or name.startswith(DIAGNOSTIC):
            shape = seeds if name in PER_SEED else (*seeds, length)
            if x.shape != shape or x.dtype.kind != expected.get(name, x.dtype.kind):
                raise ValueError(f"its {name} are not one per episode")
