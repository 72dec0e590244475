"""The temperature as the paper states it: an exponential cone program (e-cvx-opt-prob), through CVXPY.

An independent reference for `solve`, thousands of times slower; needs the extra ``cone``. In the form

    minimise E_ρ V_1   subject to   K_l = m + c·w + P̄V_{l+1},   (K_a − V, τ, z_a) ∈ K_exp,   Σ_a z_a ≤ τ,   w·τ ≥ 1.
"""

from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.layers import by_layer
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.sweeps import FORBIDDEN, Model, occupancy_sweep
from klearning.tabular.optimism.bonuses import BONUSES
from klearning.tabular.optimism.plan import Plan, solve
from klearning.tabular.optimism.program import Program, check_belief, program

SOLVERS = ("CLARABEL", "SCS", "ECOS", "MOSEK")


ConeBonus = Literal["paper", "sharp", "reward"]  # those of the form c/τ


class ConeProgram(NamedTuple):
    """The problem and the expressions whose values are its answer; K and V by layer, K (S_l, A)."""

    problem: Any
    tau: Any
    K: list[list[Any]]
    V: list[Any]


def need_cvxpy() -> Any:
    """The module CVXPY; ImportError with the fix if it is missing."""
    try:
        return import_module("cvxpy")
    except ImportError:
        raise ImportError("cone programs need CVXPY: pip install cvxpy clarabel scipy") from None


def run_solver(problem: Any, solver: str) -> None:
    """Solve a problem of CVXPY's; RuntimeError if the solver does not find the optimum."""
    problem.solve(solver=solver)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise RuntimeError(f"{solver} stopped with status {problem.status!r} on this belief")


def cone_program(model: Model, c: Floats) -> ConeProgram:
    """State the program for a posterior-mean model; the even part of a row enters through one mean per layer."""
    cp = need_cvxpy()
    if (model.reward <= FORBIDDEN).any():
        raise ValueError("belief knows of actions that are not allowed, and a cone program does not: use kl.solve")
    layers, actions = model.layers, c.shape[0]
    L = len(layers) - 1
    choices = [[i for i in range(n) if i != model.end] for n in np.diff(layers)]  # where something is left to choose
    tau, w = cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    V = [cp.Variable(int(n)) for n in np.diff(layers)]
    means = [cp.Variable() for _ in range(L)]
    constraints: list[Any] = [mean == cp.sum(v) / v.size for mean, v in zip(means, V, strict=True)]
    constraints += [v[model.end] == 0 for v in V if model.end >= 0]
    if c.any():
        constraints.append(w >= cp.inv_pos(tau))
    K: list[list[Any]] = []
    for l in range(L):
        columns = slice(layers[l], layers[l + 1])
        rows = slice(model.table[l], model.table[l] + V[l].size)
        K.append([])
        z = []
        for a in range(actions):
            k = model.reward[a, rows] + c[a, columns] * w
            if l + 1 < L:
                matrix, even = layer_matrix(model, l, a)
                k = k + matrix @ V[l + 1] + even * means[l + 1]
            K[l].append(k)
            z.append(cp.Variable(len(choices[l])))
            constraints.append(cp.ExpCone((k - V[l])[choices[l]], tau * np.ones(len(choices[l])), z[a]))
        constraints.append(cp.sum(cp.vstack(z), axis=0) <= tau)
    return ConeProgram(cp.Problem(cp.Minimize(model.initial @ V[0]), constraints), tau, K, V)


def layer_matrix(model: Model, l: int, a: int) -> tuple[Any, Floats]:
    """Σ_s' P̄(s'|s,a) V(s') as (sparse matrix on V, coefficients on the mean of V)."""
    from scipy.sparse import csr_array

    width, next_width = (int(n) for n in np.diff(model.layers[l : l + 3]))
    low = int(model.table[l])
    high = low + width
    rows, scale = model.rows, model.scale[a, low:high]
    entries = [np.arange(rows.start[a, s], rows.start[a, s] + rows.length[a, s]) for s in range(low, high)]
    index = np.concatenate(entries)
    pointer = np.concatenate([[0], np.cumsum([len(e) for e in entries])])
    weight = rows.weight[index] * np.repeat(scale, np.diff(pointer))
    successor = rows.succ[index] - model.table[l + 1]
    return csr_array((weight, successor, pointer), shape=(width, next_width)), scale * model.mass


def solve_cone(belief: Belief, bonus: ConeBonus = "paper", solver: str = "CLARABEL") -> Plan:
    """The same Plan as ``solve(belief, "optimal", bonus)``, from a cone solver. K and V are the solver's own.

    The program leaves the values of unreachable states free; `solve` reports the smallest.
    """
    check_belief(belief)
    checks.choice("solver", solver, SOLVERS)
    checks.choice("bonus", bonus, [name for name, facts in BONUSES.items() if not facts.prices])
    if belief.actions == 1:  # the infimum is at τ = ∞, which no solver attains
        return solve(belief, "optimal", bonus)
    ready = program(belief, bonus)
    cone = cone_program(ready.model, ready.c)
    run_solver(cone.problem, solver)
    return _read(ready, cone)


def _read(ready: Program, cone: ConeProgram) -> Plan:
    belief, model, c = ready.belief, ready.model, ready.c
    tau = float(cone.tau.value)
    V = np.concatenate([v.value for v in cone.V])
    K = np.ascontiguousarray(np.concatenate([np.stack([k.value for k in layer], axis=1) for layer in cone.K]).T)
    spread = np.exp((K - K.max(axis=0)) / max(tau, np.finfo(float).tiny))
    policy = spread / spread.sum(axis=0)
    occupancy = np.zeros_like(policy)
    occupancy_sweep(model, policy, occupancy)
    surprise = -np.log(np.where(policy > 0, policy, 1.0))
    if belief.end >= 0:  # nothing is left to choose there
        surprise[:, belief.layers[:-1] + belief.end] = 0.0
    entropy = float(np.sum(occupancy * surprise))
    gap = float((np.sqrt(tau * entropy) - np.sqrt(np.sum(occupancy * c) / tau)) ** 2) if c.any() else 0.0
    K_l, V_l, policy_l, occupancy_l = (by_layer(x, belief.layers) for x in (K, V, policy, occupancy))
    return Plan(tau, K_l, V_l, policy_l, occupancy_l, float(cone.problem.value), gap, 0, ready.proved)
