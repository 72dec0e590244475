"""`solve`: from a belief to a Plan."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.layers import by_layer
from klearning.arrays.types import Floats, Layers
from klearning.beliefs.belief import Belief
from klearning.models.soft import Soft, soft_arrays, without_padding
from klearning.models.sweeps import Model, all_action_values, occupancy_sweep, policy_sweep
from klearning.optimism.bonuses import bonus_for, check_schedule, fill, unseen_for
from klearning.optimism.price import split_k_values
from klearning.optimism.temperature import Schedule, Temperature, at_optimum, at_temperature, first_guess, scheduled


@dataclass(frozen=True, eq=False)
class Plan:
    """What a solve returns; arrays as one (S_l, A) or (S_l,) a layer.

    ``bound`` is f(τ), an upper bound on the expected optimal value where the bonus is valid, and ``gap``
    how far at most f(τ) is above its minimum over τ (with `split` and a stated span, a local one).
    """

    temperature: float
    k_values: Layers
    values: Layers
    policy: Layers
    occupancy: Layers
    bound: float
    gap: float
    sweeps: int


def solve(
    belief: Belief,
    temperature: str | float | Schedule = "optimal",
    bonus: str = "reward",
    tolerance: float = 1e-10,
) -> Plan:
    """K-values (e-bellmanop) and the Boltzmann policy over them (e-policy).

    ``temperature`` is "optimal", a number, or ``schedule(t)``; ``bonus`` is "paper", "sharp", "reward" or "split".
    The optimum is found to a duality gap below ``tolerance`` times the optimism f − J, and times f. It is 0 where
    nothing is uncertain (act greedily) and infinite where there is one action.
    """
    tolerance = checks.number("tolerance", tolerance, 0.0, 1.0, above=True)
    chosen = bonus_for(belief, bonus)
    p = belief.posterior()
    c = np.zeros((belief.actions, belief.states))
    fill(chosen, p, c)
    W = soft_arrays(belief.layers, belief.actions, unseen_for(belief, chosen, p))
    policy = np.zeros_like(c)
    if isinstance(temperature, Schedule):
        check_schedule(bonus)
        found = at_temperature(p.model, c, scheduled(chosen, p, c, temperature.t), policy, W)
    elif isinstance(temperature, str):
        checks.choice("temperature", temperature, ["optimal"])
        found = at_optimum(p.model, c, 0.0, tolerance, policy, W)
    else:
        tau = _check_temperature(temperature, p.model, c, W)
        found = at_temperature(p.model, c, tau, policy, W)
    if not isfinite(found.bound):
        raise ValueError(
            f"temperature={found.tau!r} gives K-values beyond the range of floats: "
            'give one closer to the optimum (temperature="optimal")'
        )
    return _plan(p.model, c, found, policy, W)


def _plan(model: Model, c: Floats, found: Temperature, policy: Floats, W: Soft) -> Plan:
    K, V, occupancy = np.zeros_like(c), np.zeros(c.shape[1]), np.zeros_like(c)
    complete(model, c, found.tau, policy, W, K, V, occupancy)
    K_l, V_l, policy_l, occupancy_l = (by_layer(x, model.layers) for x in (K, V, policy, occupancy))
    return Plan(found.tau, K_l, V_l, policy_l, occupancy_l, found.bound, found.gap, found.sweeps)


@kernel
def complete(
    model: Model, c: Floats, tau: float, policy: Floats, W: Soft, K: Floats, V: Floats, occupancy: Floats
) -> None:
    """K, V and λ of the policy that was found."""
    if tau == 0.0 or np.isinf(tau):
        policy_sweep(model, model.reward, policy, V, W.K_a)
        all_action_values(model, model.reward, V, K)
    else:
        without_padding(model.layers, W.at, W.V, V)
        if W.unseen.priced:
            split_k_values(model, c, tau, W, K)
        else:
            all_action_values(model, model.reward, V, K)
            K += c / tau
    occupancy_sweep(model, policy, occupancy)


def _check_temperature(value: float, model: Model, c: Floats, W: Soft) -> float:
    """A number that the sweep can take: 0 only where nothing is uncertain, ∞ only with one action."""
    if c.shape[0] == 1 and value == np.inf:
        return np.inf
    tau = checks.number("temperature", value, 0.0)
    if tau == 0.0 and c.shape[0] > 1 and (W.unseen.priced or first_guess(model, c, W) > 0.0):
        raise ValueError(
            "temperature=0 makes the bonus c/τ infinite where something is uncertain: "
            'give a positive number, or temperature="optimal"'
        )
    return tau
