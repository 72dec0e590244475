"""A queue with a doorman and a server of two speeds (Naor, 1969; Stidham, 1985; Koole, 2006)."""

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.tabular.models.mdp import MDP

ACTIONS = [(0, 0), (0, 1), (1, 0), (1, 1)]  # (open the door, serve fast)


def admission_queue(
    buffer: int = 5,
    horizon: int = 15,
    arrival: float = 0.5,
    slow: float = 0.4,
    fast: float = 0.7,
    fee: float = 1.0,
    holding_cost: float = 0.05,
    fast_cost: float = 0.25,
    noise: float = 0.05,
) -> MDP:
    """Whom to let in and how fast to serve: a customer brings a fee when served, and costs while waiting.

    State 2n + z: n of at most ``buffer`` customers are inside, and one is at the door (z = 1) or none is. Action
    2·admit + speed: 0 refuse and serve slowly, 1 refuse and serve fast, 2 admit and serve slowly, 3 admit and serve
    fast. The customer at the door enters if admitted and if there is space, else leaves for good. Each of the m inside
    costs ``holding_cost``; one of them, if there is one, is served with chance ``slow`` or ``fast``, pays ``fee`` and
    leaves. Fast costs ``fast_cost`` per step, with or without a customer. The next customer comes to the door with
    chance ``arrival``, at the first step too, when the queue is empty. Customers inside at the end pay nothing.

    The optimum has two thresholds in every step: admit while fewer than some number are inside, and serve fast
    from some number on. It follows from the concavity of the values in m, which both decisions preserve.

    Rewards are a step's expectation with Gaussian ``noise``: a service shows in the state alone. With the defaults
    means lie in [-0.25, 0.40], the values of a layer span at most 0.80 and the optimum is 4.1081. The default prior
    fits; N(0, 0.3²) is closer, with a Dirichlet of mass 1.
    """
    buffer = checks.whole("buffer", buffer)
    horizon = checks.whole("horizon", horizon)
    checks.fits("buffer", buffer, 32 * len(ACTIONS) * buffer**2)
    arrival = checks.number("arrival", arrival, 0.0, 1.0)
    slow = checks.number("slow", slow, 0.0, 1.0)
    fast = checks.number("fast", fast, slow, 1.0)
    fee, holding = checks.number("fee", fee, 0.0), checks.number("holding_cost", holding_cost, 0.0)
    fast_cost = checks.number("fast_cost", fast_cost, 0.0)
    rewards = np.zeros((2 * buffer + 2, len(ACTIONS)))
    transitions = np.zeros((2 * buffer + 2, len(ACTIONS), 2 * buffer + 2))
    for n in range(buffer + 1):
        for z in (0, 1):
            for a, (admit, hurry) in enumerate(ACTIONS):
                inside = min(n + admit * z, buffer)
                served = (fast if hurry else slow) if inside > 0 else 0.0
                rewards[2 * n + z, a] = fee * served - holding * inside - fast_cost * hurry
                transitions[2 * n + z, a] += (1.0 - served) * at_door(inside, arrival, buffer)
                transitions[2 * n + z, a] += served * at_door(max(inside - 1, 0), arrival, buffer)
    initial = at_door(0, arrival, buffer)
    noise = checks.number("noise", noise, 0.0)
    return MDP.from_stationary(
        rewards, transitions, initial, horizon, noise, name=f"admission_queue({buffer}, {horizon})"
    )


def at_door(inside: int, arrival: float, buffer: int) -> Floats:
    """The law of the state with m inside: a customer arrives or not."""
    law = np.zeros(2 * buffer + 2)
    law[2 * inside : 2 * inside + 2] = 1.0 - arrival, arrival
    return law
