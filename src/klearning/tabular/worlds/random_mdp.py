"""An MDP drawn from a prior: the world on which Bayes regret means something."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from klearning.numerics import checks
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP


def random_mdp(
    states: int | Sequence[int] = 5,
    actions: int = 2,
    horizon: int | None = None,
    prior: Prior | None = None,
    seed: int = 0,
) -> MDP:
    """One draw of mean rewards and transitions from ``prior``.

    ``states`` is the number of states of every layer of a ``horizon`` (default 4), or one number per layer.
    """
    actions, seed = checks.whole("actions", actions), checks.whole("seed", seed, 0)
    if isinstance(states, int | np.integer):
        width, layers = checks.whole("states", states), checks.whole("horizon", 4 if horizon is None else horizon)
        checks.fits("states", states, 8 * layers * actions * width**2)
        widths = [width] * layers
    else:
        widths = [checks.whole(f"states[{l}]", n) for l, n in enumerate(states)]
        if not widths:
            raise ValueError(f"states={states!r} is empty: give one number per layer, or one for all")
        if horizon not in (None, len(widths)):
            raise ValueError(f"horizon={horizon} disagrees with states, which lists {len(widths)} layers: drop one")
    initial = np.full(widths[0], 1.0 / widths[0])
    belief = Belief.empty(prior or Prior(), widths, actions, initial)
    return replace(belief.sample(seed), name=f"random_mdp({seed})")
