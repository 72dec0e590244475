"""A multi-armed bandit: one layer, one state."""

from collections.abc import Sequence

import numpy as np

from klearning.numerics import checks
from klearning.tabular.models.mdp import MDP


def bandit(means: Sequence[float] = (0.2, 0.5, 0.8), noise: float | str | Sequence[float] = 1.0) -> MDP:
    """A bandit with these mean rewards, and one noise for all or one per arm.

    The paper's example of a certainty equivalent (e-certequiv).
    """
    arms = checks.array("means", means, (None,))
    if not arms.size:
        raise ValueError("means has no entries: give a number per arm")
    spread = noise if isinstance(noise, str) or np.ndim(noise) == 0 else [[checks.counts("noise", noise, arms.shape)]]
    return MDP.from_layers([[arms]], [], [1.0], spread, name="bandit")
