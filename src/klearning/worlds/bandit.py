"""A multi-armed bandit: one layer, one state."""

from collections.abc import Sequence

from klearning.arrays import checks
from klearning.models.mdp import MDP


def bandit(means: Sequence[float] = (0.2, 0.5, 0.8), noise: float | str = 1.0) -> MDP:
    """A bandit with these mean rewards. The paper's example of a certainty equivalent (e-certequiv)."""
    arms = checks.array("means", means, (None,))
    return MDP.from_layers([[arms]], [], [1.0], noise, name="bandit")
