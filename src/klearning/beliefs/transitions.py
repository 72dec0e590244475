"""Priors of transitions: Dirichlet rows, or rows known for certain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.arrays import checks
from klearning.arrays.rows import (
    Rows,
    copy_rows,
    dense_block,
    empty_rows,
    rows_from_layers,
    transition_rows,
)
from klearning.arrays.types import Floats, Ints
from klearning.models.mdp import MDP


@dataclass(frozen=True, eq=False)
class Dirichlet:
    """Transition rows Dirichlet, of total ``mass`` spread evenly over a support.

    The support is every state of the next layer, or what ``support`` says: one array (S_l, A, S_{l+1}) of
    booleans for each l < L (a list of one, for a stationary prior), or an MDP whose possible transitions are meant.
    """

    mass: float = 0.3
    support: Sequence[ArrayLike] | MDP | None = None

    def __post_init__(self) -> None:
        checks.number("mass", self.mass, 0.0, above=True)

    @property
    def blocks(self) -> list[Floats]:
        """The support as one array per layer l < L; none where it is every state."""
        return [] if self.support is None else _blocks(self.support)

    def begin(self, layers: Ints, actions: int) -> "Transitions":
        if self.support is None:
            return Transitions(empty_rows(layers, actions), self.mass, self.mass, True)
        if isinstance(self.support, MDP):
            rows = _rows_of("support", self.support, layers, actions)
        else:
            widths = np.diff(layers)
            blocks = [
                (checks.counts(f"support[{l}]", b, (int(widths[l]), actions, int(widths[l + 1]))) > 0).astype(float)
                for l, b in enumerate(checks.layered("support", self.support, len(widths) - 1))
            ]
            rows = rows_from_layers(layers, actions, blocks)
        inside = rows.length[:, : layers[-2]]
        if inside.size and inside.min() == 0:
            a, s = np.argwhere(inside == 0)[0]
            raise ValueError(f"support of state {s}, action {a} is empty: name at least one next state")
        length = rows.length.ravel()
        first = np.cumsum(length) - length
        entry = np.repeat(rows.start.ravel() - first, length) + np.arange(length.sum())
        row = np.repeat(np.arange(length.size), length)
        possible = rows.weight[entry] > 0.0
        rows.weight[entry] = np.where(possible, self.mass / np.bincount(row, possible, length.size)[row], 0.0)
        return Transitions(rows, 0.0, self.mass, True)


@dataclass(frozen=True, eq=False)
class Known:
    """Transitions known for certain: arrays (S_l, A, S_{l+1}) for each l < L, or an MDP that has them."""

    transitions: Sequence[ArrayLike] | MDP

    @property
    def blocks(self) -> list[Floats]:
        """The transitions as one array per layer l < L."""
        return _blocks(self.transitions)

    def begin(self, layers: Ints, actions: int) -> "Transitions":
        if isinstance(self.transitions, MDP):
            rows = _rows_of("transitions", self.transitions, layers, actions)
        else:
            rows = transition_rows("transitions", self.transitions, layers, actions)
        return Transitions(rows, 0.0, 1.0, False)


def _blocks(given: Sequence[ArrayLike] | MDP) -> list[Floats]:
    return [np.asarray(block, np.float64) for block in (given.transitions if isinstance(given, MDP) else given)]


def _rows_of(name: str, mdp: MDP, layers: Ints, actions: int) -> Rows:
    if mdp.actions != actions or not np.array_equal(mdp.layers, layers):
        raise ValueError(f"{name}={mdp!r} has other layers or actions than the world: give one of the same shape")
    return copy_rows(mdp.rows)


class Transitions(NamedTuple):
    """A transition prior in arrays: rows, the mass spread over whole layers, Σα of a row, learns or not."""

    rows: Rows
    even_mass: float
    total: float
    learns: bool


def begin_transitions(prior: Dirichlet | Known, stationary: bool, layers: Ints, actions: int) -> Transitions:
    """The transition prior in arrays. One table for all layers is built as the first of two layers."""
    if not stationary:
        return prior.begin(layers, actions)
    begun = _of_one_step(prior, int(layers[1])).begin(np.arange(3) * layers[1], actions)
    return begun._replace(rows=shared_rows(begun.rows))


def _of_one_step(prior: Dirichlet | Known, width: int) -> Dirichlet | Known:
    """A prior that names an MDP, by what that does in its first step; lists hold one array anyway."""
    given = prior.support if isinstance(prior, Dirichlet) else prior.transitions
    if not isinstance(given, MDP):
        return prior
    if given.horizon < 2 or given.widths != [width] * given.horizon:
        raise ValueError(f"{given!r} has other states than {width} in every layer: give one array (S, A, S) in a list")
    block = dense_block(given.rows, 0, width, width, 2 * width)
    return Dirichlet(prior.mass, [block]) if isinstance(prior, Dirichlet) else Known([block])


def shared_rows(rows: Rows) -> Rows:
    """The rows of the first of two equal layers, with successors numbered as its own states."""
    width = rows.start.shape[1] // 2
    start, length, room = (np.ascontiguousarray(x[:, :width]) for x in rows[:3])
    return Rows(start, length, room, np.maximum(rows.succ - width, 0), rows.weight, rows.used)
