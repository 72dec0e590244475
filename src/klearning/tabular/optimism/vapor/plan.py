"""`solve_vapor`: from a belief to the Plan of VAPOR, in which every (l, s, a) has a temperature of its own.

    τ = s / √(−2 ln λ)        K = m + s²/(2τ) + P̄V_{l+1}        λ = exp((K − V)/τ − 1)        π = λ / Σ_a λ

at the minimum of the dual in V (`occupancy.py`): K-learning's K, with a temperature per pair in the place of the one.
"""

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.layers import by_layer
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.sweeps import all_action_values
from klearning.tabular.optimism.plan import Plan
from klearning.tabular.optimism.program import check_belief
from klearning.tabular.optimism.vapor.newton import occupy
from klearning.tabular.optimism.vapor.occupancy import Flows, flow_arrays
from klearning.tabular.optimism.vapor.variances import VarianceName, fill_sds, is_bound, variance_rule


@uninterrupted  # once, not for each of its kernels
@compiling_for("kl.solve_vapor")
def solve_vapor(
    belief: Belief, bonus: VarianceName = "reward", tolerance: float = 1e-10, optimism: float = 1.0
) -> Plan[Layers]:
    """The policy whose occupancy λ is best on optimistic rewards, Σ λ (m + s √(−2 ln λ)), under the mean transitions.

    ``bonus`` chooses s² (`optimism/vapor/variances.py`), and ``optimism``, κ in (0, 1], multiplies it. The duality gap
    is at most ``tolerance`` times the optimism, the second part of that sum. ``temperature`` is one (S_l, A) array per
    layer: 0 if a pair is certain, infinite if there is no choice.
    """
    tolerance = checks.number("tolerance", tolerance, 0.0, 1.0, above=True)
    p, W = uncertain(belief, bonus, optimism)
    policy, V, K = np.full(W.u.shape, 1.0 / belief.actions), np.zeros(belief.states), np.zeros(W.u.shape)
    answer = occupy(p.model, p.discount, tolerance, W, V, policy)
    if not np.isfinite(answer.bound):
        raise ValueError("belief has values beyond the range of floats: scale the rewards and their prior")
    tau = temperatures(W)
    all_action_values(p.model, p.model.reward, V, K)
    K += np.divide(0.5 * W.stated**2, tau, out=np.zeros_like(K), where=tau > 0.0)
    tau_l, K_l, V_l, policy_l, occupancy_l = (by_layer(x, belief.layers) for x in (tau, K, V, policy, W.feasible))
    proved = is_bound(belief, p, W.stated)
    return Plan(tau_l, K_l, V_l, policy_l, occupancy_l, answer.bound, answer.gap, answer.sweeps, proved)


def uncertain(belief: Belief, bonus: str, optimism: float) -> tuple[Posterior, Flows]:
    """The posterior, and a workspace that holds s: where planning by VAPOR begins."""
    check_belief(belief)
    if isinstance(optimism, str):
        raise ValueError(f"optimism={optimism!r} is not a number: give one in (0, 1]; kl.VAPOR finds it from draws")
    share = checks.number("optimism", optimism, 0.0, 1.0, above=True)
    p, W = belief.posterior(), flow_arrays(belief.actions, belief.states)
    fill_sds(variance_rule(bonus).numbers(belief, share), p, W.stated)
    return p, W


def temperatures(W: Flows) -> Floats:
    """τ = s/u: 0 if a pair is certain, infinite if all of the flow must take it."""
    tau = np.divide(W.stated, W.u, out=np.zeros_like(W.u), where=(W.stated > 0.0) & (W.limit > 0.0))
    return np.where(W.sd < W.stated, np.inf, tau)
