"""RiverSwim (Strehl and Littman, 2008): a little reward downstream, a large one far upstream."""

import numpy as np

from klearning.numerics import checks
from klearning.tabular.models.mdp import MDP

LEFT, RIGHT = 0, 1


def river_swim(states: int = 6, horizon: int = 20, noise: float | str = 0.0) -> MDP:
    """A chain swum against the current: right moves up by .35 (first state .6), is washed down by .05 (last .4)."""
    states = checks.whole("states", states, 2)
    checks.fits("states", states, 16 * states**2)
    P = np.zeros((states, 2, states))
    r = np.zeros((states, 2))
    top = states - 1
    for s in range(states):
        P[s, LEFT, max(s - 1, 0)] = 1.0
        if 0 < s < top:
            P[s, RIGHT, [s + 1, s, s - 1]] = 0.35, 0.6, 0.05
    P[0, RIGHT, [0, 1]] = 0.4, 0.6
    P[top, RIGHT, [top, top - 1]] = 0.6, 0.4
    r[0, LEFT], r[top, RIGHT] = 5 / 1000, 1.0
    return MDP.from_stationary(r, P, np.eye(states)[0], horizon, noise, name="river_swim")
