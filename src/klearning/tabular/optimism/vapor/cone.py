"""VAPOR's program through CVXPY: an independent reference for `solve_vapor`, and slow; needs the extra ``cone``.

With g² ≤ λ e, quadratic cones, and e ≤ −λ ln λ, exponential ones: maximise Σ λ m + √2 Σ s g subject to the flow of λ.
"""

from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.layers import by_layer
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.sweeps import FORBIDDEN, Model, all_action_values
from klearning.tabular.optimism.cone import SOLVERS, layer_matrix, need_cvxpy, run_solver
from klearning.tabular.optimism.plan import Plan
from klearning.tabular.optimism.vapor.plan import uncertain
from klearning.tabular.optimism.vapor.variances import VarianceName, is_bound


def flow_program(model: Model, s: Floats) -> tuple[Any, list[Any], list[Any]]:
    """The problem, λ as one (A, S_l) variable per layer, and the flow constraints, whose multipliers are values."""
    cp = need_cvxpy()
    actions, widths = s.shape[0], np.diff(model.layers).tolist()
    occupancy = [cp.Variable((actions, n), nonneg=True) for n in widths]
    value, inflow, constraints, flow = 0.0, model.initial, [], []
    for l, (x, s_l, n) in enumerate(zip(occupancy, by_layer(s, model.layers), widths, strict=True)):
        flow.append(cp.sum(x, axis=0) == inflow)
        at = int(model.table[l])
        e, g = cp.Variable(x.shape), cp.Variable(x.shape)
        flat, e_flat, g_flat = (cp.vec(y, order="C") for y in (x, e, g))
        constraints += [e <= cp.entr(x), cp.SOC(flat + e_flat, cp.vstack([flat - e_flat, 2 * g_flat]), axis=0)]
        value += cp.sum(cp.multiply(model.reward[:, at : at + n], x)) + np.sqrt(2.0) * cp.sum(cp.multiply(s_l.T, g))
        if l + 1 < len(widths):
            rows = [layer_matrix(model, l, a) for a in range(actions)]
            seen = sum(matrix.T @ x[a] for a, (matrix, _) in enumerate(rows))
            inflow = seen + sum(even @ x[a] for a, (_, even) in enumerate(rows)) / widths[l + 1]
    return cp.Problem(cp.Maximize(value), flow + constraints), occupancy, flow


def solve_vapor_cone(
    belief: Belief, bonus: VarianceName = "reward", solver: str = "CLARABEL", optimism: float = 1.0
) -> Plan[Layers]:
    """The same Plan as ``solve_vapor(belief, bonus)``, from a cone solver; its values are multipliers of the flow."""
    checks.choice("solver", solver, SOLVERS)
    p, W = uncertain(belief, bonus, optimism)
    if p.model.end >= 0 or p.discount < 1.0 or (p.model.reward <= FORBIDDEN).any():
        raise ValueError(
            "belief knows of an end of episodes, of actions that are not allowed or of a discount, "
            "and this cone program does not: use kl.solve_vapor"
        )
    problem, variables, flow = flow_program(p.model, W.stated)
    run_solver(problem, solver)
    occupancy = np.concatenate([np.clip(x.value, 1e-300, 1.0) for x in variables], axis=1)
    policy = occupancy / occupancy.sum(axis=0)
    V, K = np.concatenate([c.dual_value for c in flow]), np.zeros_like(policy)
    root = np.sqrt(-2.0 * np.log(occupancy))
    tau = np.divide(W.stated, root, out=np.full_like(root, np.inf), where=root > 0.0)
    all_action_values(p.model, p.model.reward, V, K)
    K += 0.5 * W.stated * root
    tau_l, K_l, V_l, policy_l, occupancy_l = (by_layer(x, belief.layers) for x in (tau, K, V, policy, occupancy))
    bound, proved = float(problem.value), is_bound(belief, p, W.stated)
    return Plan(tau_l, K_l, V_l, policy_l, occupancy_l, bound, float("nan"), 0, proved)
