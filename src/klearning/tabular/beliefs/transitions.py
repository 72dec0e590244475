"""Priors of transitions: Dirichlet rows, or rows known for certain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics import checks
from klearning.numerics.sparse.rows import Rows, checked_blocks, copy_rows, dense_block, empty_rows, places
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.tables import Tables
from klearning.tabular.models.mdp import MDP

MASSES = (checks.SMALLEST, 1e9)  # above, rounding shows in the price of unknown transitions


class Transitions(NamedTuple):
    """A transition prior in arrays: rows, the mass spread over whole layers, Σα of a row, learns or not."""

    rows: Rows
    even_mass: float
    total: float
    learns: bool


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet:
    """Transition rows Dirichlet, of total ``mass``, from 1e-50 to 1e9, spread evenly over a support.

    The support is every state of the next layer, or what ``support`` says: one array (S_l, A, S_{l+1}) of
    booleans for each l < L (a list of one, for a stationary prior), or an MDP whose possible transitions are meant.
    """

    mass: float = 0.3
    support: Sequence[ArrayLike] | MDP | None = None

    def __post_init__(self) -> None:
        checks.number("mass", self.mass, *MASSES)
        if self.support is not None and not isinstance(self.support, MDP):
            checks.layered("support", self.support)

    @property
    def blocks(self) -> list[Floats]:
        """The support as one array per layer l < L; none if it is every state."""
        return [] if self.support is None else _blocks(self.support)

    def begin(self, tables: Tables, actions: int) -> Transitions:
        if self.support is None:
            return Transitions(empty_rows(actions, tables.height), self.mass, self.mass, True)
        rows = _rows_of("support", self.support, tables, actions, checks.counts)
        inside = rows.length[:, : tables.steps[-1].high] if tables.steps else rows.length[:, :0]
        if inside.size and inside.min() == 0:
            a, s = np.argwhere(inside == 0)[0]
            raise ValueError(f"support of state {s}, action {a} is empty: name at least one next state")
        _spread(self.mass, rows)
        return Transitions(rows, 0.0, self.mass, True)

    def __repr__(self) -> str:
        return f"Dirichlet(mass={self.mass!r}" + (")" if self.support is None else f", support={_short(self.support)})")


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """Transitions known for certain: arrays (S_l, A, S_{l+1}) for each l < L, or an MDP that has them."""

    transitions: Sequence[ArrayLike] | MDP

    def __post_init__(self) -> None:
        if not isinstance(self.transitions, MDP):
            checks.layered("transitions", self.transitions)

    @property
    def blocks(self) -> list[Floats]:
        """The transitions as one array per layer l < L."""
        return _blocks(self.transitions)

    def begin(self, tables: Tables, actions: int) -> Transitions:
        rows = _rows_of("transitions", self.transitions, tables, actions, checks.distributions)
        return Transitions(rows, 0.0, 1.0, False)

    def __repr__(self) -> str:
        return f"Known({_short(self.transitions)})"


def _short(given: Sequence[ArrayLike] | MDP) -> str:
    """Arrays by how many they are: they are too long to print."""
    return repr(given) if isinstance(given, MDP) else f"<{len(given)} arrays>"


def _blocks(given: Sequence[ArrayLike] | MDP) -> list[Floats]:
    return [np.asarray(block, np.float64) for block in (given.transitions if isinstance(given, MDP) else given)]


def _rows_of(field: str, given: Sequence[ArrayLike] | MDP, tables: Tables, actions: int, check: Any) -> Rows:
    """Rows of arrays, one per table, or of an MDP: if layers share a table, those of its first step."""
    if not isinstance(given, MDP):
        return tables.to_rows(checked_blocks(field, given, tables.steps, actions, check), actions)
    if tables.shared:
        width = tables.height
        if given.horizon < 2 or given.widths != [width] * given.horizon or given.actions != actions:
            raise ValueError(
                f"{field}={given!r} has other states than {width} in every layer, or other actions: "
                "give one array (S, A, S) in a list"
            )
        return tables.to_rows([dense_block(given.rows, 0, width, width, 2 * width)], actions)
    if given.actions != actions or not np.array_equal(given.layers, tables.layers):
        raise ValueError(f"{field}={given!r} has other layers or actions than the world: give one of the same shape")
    return copy_rows(given.rows)


def _spread(mass: float, rows: Rows) -> None:
    """Spread ``mass`` evenly over what is possible in each row."""
    entry, row = places(rows)
    possible = rows.weight[entry] > 0.0
    rows.weight[entry] = np.where(possible, mass / np.bincount(row, possible, rows.length.size)[row], 0.0)
