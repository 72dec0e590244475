"""Inventory control with lost sales (Arrow, Harris and Marschak, 1951; Szepesvári, 2010, example 1)."""

from collections.abc import Sequence
from math import exp, lgamma, log

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.tabular.models.mdp import MDP


def inventory(
    capacity: int = 6,
    horizon: int = 10,
    demand: float | Sequence[float] = 2.0,
    price: float = 0.25,
    unit_cost: float = 0.1,
    fixed_cost: float = 0.06,
    holding_cost: float = 0.02,
    salvage: float = 0.0,
    start: int = 0,
    noise: float = 0.05,
) -> MDP:
    """A shop orders stock each morning, sells what is asked for by day and pays for what is left at night.

    State: the stock, 0..capacity. Action: how many units to order, 0..capacity; what does not fit is neither
    delivered nor paid. With stock y after the delivery and demand D, min(D, y) units are sold at ``price``, the
    demand above y is lost, and y − min(D, y) units are left: they cost ``holding_cost`` each, and are the next
    morning's stock. A delivery of q > 0 units costs ``fixed_cost`` + q · ``unit_cost``. After the last day each unit
    left is worth ``salvage``, at most ``unit_cost``. ``demand`` is the mean of a Poisson law, or a list of the
    chances of 0, 1, 2, … units. ``start`` is the first morning's stock.

    The optimum on day l is an (s_l, S_l) rule: with less than s_l in stock order up to S_l, else nothing. Without
    a fixed cost s_l = S_l, a base stock; with one day it is the newsvendor's, the least S with
    P(D ≤ S) ≥ (price − unit_cost) / (price + holding_cost − salvage).

    Rewards are a day's expected profit with Gaussian ``noise``: the demand itself shows in the stock alone. With the
    defaults means lie in [-0.25, 0.44], the values of a layer span at most 0.66 and the optimum is 1.9859. The default
    prior fits; N(0, 0.3²) is closer to what a merchant knows, with a Dirichlet of mass 1.
    """
    capacity = checks.whole("capacity", capacity)
    horizon = checks.whole("horizon", horizon)
    checks.fits("capacity", capacity, 8 * capacity**3)
    checks.fits("horizon", horizon, 8 * horizon * capacity**2)
    start = checks.whole("start", start, 0)
    if start > capacity:
        raise ValueError(f"start={start} is more than fits: give at most capacity={capacity}")
    price, fixed = checks.number("price", price, 0.0), checks.number("fixed_cost", fixed_cost, 0.0)
    unit, holding = checks.number("unit_cost", unit_cost, 0.0), checks.number("holding_cost", holding_cost, 0.0)
    salvage = checks.number("salvage", salvage, 0.0, unit)
    chances = demand_chances(demand, capacity)
    amounts = np.arange(capacity + 1)
    stocked = np.minimum(amounts[:, None] + amounts, capacity)  # (stock, order), after the delivery
    delivered = stocked - amounts[:, None]
    sold = np.minimum(amounts[:, None], amounts) @ chances  # expected, by stock after the delivery
    left = amounts - sold
    profit = (price * sold - holding * left)[stocked] - unit * delivered - fixed * (delivered > 0)
    rewards = [profit] * (horizon - 1) + [profit + salvage * left[stocked]]
    transitions = [nights(chances)[stocked]] * (horizon - 1)
    initial = np.eye(capacity + 1)[start]
    noise = checks.number("noise", noise, 0.0)
    return MDP.from_layers(rewards, transitions, initial, noise, name=f"inventory({capacity}, {horizon})")


def demand_chances(demand: float | Sequence[float], capacity: int) -> Floats:
    """P(D = 0), …, P(D = capacity − 1), P(D ≥ capacity): no stock serves more, so the tail is one event."""
    chances = np.zeros(capacity + 1)
    if np.ndim(demand) == 0:
        mean = checks.number("demand", demand, 0.0)
        for d in range(capacity):
            chances[d] = exp(d * log(mean) - mean - lgamma(d + 1)) if mean > 0 else float(d == 0)
    else:
        given = checks.distributions("demand", demand, (None,))[:capacity]
        chances[: len(given)] = given
    chances[capacity] = max(1.0 - chances[:capacity].sum(), 0.0)
    return chances


def nights(chances: Floats) -> Floats:
    """The law of what is left, (stock after the delivery, stock left)."""
    amounts = np.arange(len(chances))
    after = np.zeros((len(chances), len(chances)))
    for d, chance in enumerate(chances):
        after[amounts, np.maximum(amounts - d, 0)] += chance
    return after
