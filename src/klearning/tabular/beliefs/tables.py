"""Where the rows of each layer lie: every layer has its own, or all layers share one table.

Whatever a belief holds once per row (counts, reward sums, posterior means) goes through here to become one array per
layer, and back: nothing else asks whether a prior is stationary to find a row.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.layers import by_layer, check_offsets
from klearning.numerics.sparse.rows import Rows, Step, dense_block, rows_from_blocks, steps_between
from klearning.numerics.types import Floats, Ints, Layers


class Tables(NamedTuple):
    """Layers of states, and where the rows of each begin."""

    layers: Ints
    first: Ints  # layer l has the rows from first[l] on: from layers[l] on, or from 0 if all layers share them

    def check(self) -> None:
        """That layers rise from 0, and rows begin where `tables_for` lets them."""
        check_offsets("tables.layers", self.layers)
        widths = np.diff(self.layers)
        shared = np.array_equal(self.first, np.zeros_like(self.layers)) and (widths == widths[0]).all()
        typed = isinstance(self.first, np.ndarray) and self.first.dtype == np.int64
        if not typed or not (shared or np.array_equal(self.first, self.layers)):
            raise ValueError("tables.first is neither where the layers begin nor, if all are of one width, 0")

    @property
    def shared(self) -> bool:
        return bool(self.first[-1] == 0)

    @property
    def horizon(self) -> int:
        return len(self.layers) - 1

    @property
    def height(self) -> int:
        """How many rows there are."""
        return int(self.layers[1 if self.shared else -1])

    @property
    def steps(self) -> list[Step]:
        """One per table that leads somewhere: from layer to layer, or from the shared rows to themselves."""
        if self.shared:
            return [Step(0, self.height, 0, self.height)]
        return steps_between(self.layers)

    def in_layers(self, x: Floats) -> Layers:
        """A table (A, rows) as one (S_l, A) array per layer."""
        return [x.T] * self.horizon if self.shared else by_layer(x, self.layers)

    def in_steps(self, blocks: Layers) -> Layers:
        """One block for every l < L from one for every table."""
        return blocks * (self.horizon - 1) if self.shared else blocks

    def summed(self, x: Floats) -> Floats:
        """A table (A, rows) from numbers (A, S) for all states: layers that share rows are added up."""
        return x.reshape(len(x), self.horizon, -1).sum(axis=1) if self.shared else x

    def summed_blocks(self, blocks: Layers) -> Layers:
        """One block for every table from one for every l < L."""
        return [np.sum(blocks, axis=0)] if self.shared and blocks else blocks

    def to_blocks(self, rows: Rows) -> Layers:
        """The weights of all rows, dense: (S_l, A, S_{l+1}) for every table."""
        return [dense_block(rows, *step) for step in self.steps]

    def to_rows(self, blocks: Layers, actions: int) -> Rows:
        """The inverse of `to_blocks`."""
        return rows_from_blocks(actions, self.height, self.steps, blocks)


def tables_for(layers: Ints, stationary: bool) -> Tables:
    """A table per layer, or one for all if nothing changes with the step."""
    widths = np.diff(layers).tolist()
    if stationary and len(set(widths)) > 1:
        raise ValueError(f"stationary=True with layers of {widths} states: all must have the same states")
    return Tables(layers, np.zeros_like(layers) if stationary else layers)
