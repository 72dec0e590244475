"""Whether the bound of an optimistic plan is proved for what was run: this world, this prior, this bonus."""

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from klearning.lab.experiments.spec import Spec, build_prior, build_world
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.optimism.bonuses import BONUSES
from klearning.tabular.optimism.program import program

WORDS = {
    frozenset([True]): "an upper bound on the expected optimal value, by proof",
    frozenset([False]): "not proved to be an upper bound",
    frozenset([True, False]): "an upper bound by proof for some of these worlds and priors, not for all",
}
LARGEST = 1e6  # size of a world that is built for this: no line of text is worth more
PAGE = "docs/evidence/better_bonus.md says why"


def bound_label(specs: Sequence[Spec]) -> str:
    """A clause for every bonus of ours; empty if no agent has one."""
    answers: dict[str, set[bool]] = {}
    for spec in _different(specs):
        try:
            world = build_world(spec)
            belief = Belief.before(build_prior(spec, world), world)
        except (ValueError, TypeError, KeyError):  # not registered here, or from a store that was not written here
            continue
        answers.setdefault(spec.agent["bonus"], set()).add(program(belief, spec.agent["bonus"]).proved)
    clauses = [f"bonus {bonus}: {WORDS[frozenset(proved)]}" for bonus, proved in answers.items()]
    return f"{'; '.join(clauses)} ({PAGE})" if clauses else ""


def _different(specs: Sequence[Spec]) -> list[Spec]:
    """One of all that differ in seeds alone, the world's among them, because no proof asks for them."""
    chosen: dict[str, Spec] = {}
    for spec in specs:
        world = {name: value for name, value in spec.world.items() if name != "seed"}
        if spec.agent.get("bonus") in [*BONUSES] and _size(spec.world) <= LARGEST:
            chosen.setdefault(json.dumps([world, spec.prior, spec.agent["bonus"]], sort_keys=True), spec)
    return list(chosen.values())


def _size(world: Mapping[str, Any]) -> float:
    """How large a world may be by its parameters: the product of all numbers above one, and the largest once more."""
    numbers = [1.0]
    for name, value in world.items():
        if not name.endswith("seed"):
            numbers += [float(x) for x in (value if isinstance(value, list) else [value]) if _is_number(x) and x > 1]
    return prod(numbers) * max(numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
