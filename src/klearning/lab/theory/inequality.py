"""The result of every law: its two sides, so that a reader can look at both on their own problem."""

from typing import NamedTuple

import numpy as np

from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief

Side = float | Floats | Layers


class Inequality(NamedTuple):
    """``lower`` ≤ ``upper``: numbers, or one array per layer; ``error`` is the standard error of their difference.

    An error of zero means that both sides are exact up to rounding.
    """

    lower: Side
    upper: Side
    error: Side = 0.0

    @property
    def slack(self) -> Floats:
        """upper − lower, everywhere, in one flat array: negative if the law fails."""
        return flat(self.upper) - flat(self.lower)

    def holds(self, errors: float = 5.0, tolerance: float = 1e-9) -> bool:
        """Whether the law holds everywhere, up to ``errors`` standard errors and a relative rounding."""
        scale = np.maximum(1.0, np.maximum(np.abs(flat(self.lower)), np.abs(flat(self.upper))))
        return bool(np.all(self.slack >= -errors * flat(self.error) - tolerance * scale))

    def equal(self, tolerance: float = 1e-9) -> bool:
        """Whether both sides are the same, up to a relative rounding."""
        scale = np.maximum(1.0, np.abs(flat(self.upper)))
        return bool(np.all(np.abs(self.slack) <= tolerance * scale))


def flat(side: Side) -> Floats:
    """A side as one flat array."""
    if isinstance(side, list):
        return np.concatenate([np.ravel(block) for block in side])
    return np.atleast_1d(np.asarray(side, np.float64)).ravel()


def refuse_tied_layers(belief: Belief, law: str) -> None:
    """Laws that take a layer to be independent of those after it say nothing if all layers share one table."""
    if belief.tables.shared:
        raise ValueError(
            f"{law} of a belief with stationary=True: it is a law of layers that are independent of each other, "
            "give a prior with stationary=False"
        )
