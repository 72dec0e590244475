"""Certainty equivalents of Q* (e-certequiv), and what the K-values claim about them.

Every law takes a belief and an `Ensemble` that stands for it: from `quadrature` it is checked exactly, from `draws` up
to standard errors. Averages of exp(Q*/τ) have heavy tails if τ is small against the spread of Q*: there a Monte
Carlo estimate is too low more often than its error tells.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.cumulants import reward_cumulants
from klearning.lab.theory.ensembles import Ensemble, Estimate
from klearning.lab.theory.inequality import Inequality, refuse_tied_layers
from klearning.lab.theory.optimistic import expected_ahead, optimistic_operator, soft_maximum
from klearning.numerics import checks
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.optimism.plan import solve


def q_cumulants(posterior: Ensemble, beta: float) -> Estimate:
    """G^{Q|t}_l(s,a,β) = log E^t exp(β Q*_l(s,a)), (S_l, A), with standard errors by the delta method."""
    tops = [Q.max(axis=0) for Q in posterior.q_values]
    means, errors = posterior.average([np.exp(beta * (Q - top)) for Q, top in zip(posterior.q_values, tops)])
    return Estimate([beta * top + np.log(x) for top, x in zip(tops, means)], [e / x for e, x in zip(errors, means)])


def certainty_equivalents(posterior: Ensemble, tau: float) -> Estimate:
    """e-certequiv: τ log E^t exp(Q*_l(s,a)/τ), (S_l, A): the sure payoff that is worth as much as Q* at risk."""
    tau = checks.number("tau", tau, 0.0, above=True)
    G, errors = q_cumulants(posterior, 1.0 / tau)
    return Estimate([tau * g for g in G], [tau * e for e in errors])


def bellman_inequality(belief: Belief, posterior: Ensemble, tau: float, bonus: BonusName = "paper") -> Inequality:
    """The inequality above e-upperb, with 𝒬 the certainty equivalents: 𝒬_l(s,a) ≤ B_l(τ, 𝒬_{l+1})(s,a)."""
    refuse_tied_layers(belief, "bellman_inequality")
    Q, errors = certainty_equivalents(posterior, tau)
    ahead = expected_ahead(belief, [e.max(axis=1) for e in errors])  # a soft maximum moves by no more
    return Inequality(Q, optimistic_operator(belief, tau, Q, bonus), [e + f for e, f in zip(errors, ahead)])


def cumulant_inequality(belief: Belief, posterior: Ensemble, beta: float) -> Inequality:
    """l-bellman-ineq, with the exact cumulants of rewards (e-app-partial) and the transition term of e-ian-applied:

    G^Q_l(s,a,β) ≤ G^μ_l(s,a,β) + (L−l)²β²/(2(n∨1)) + Σ_s' E^t P_l(s'|s,a) log Σ_a' exp G^Q_{l+1}(s',a',β)
    """
    refuse_tied_layers(belief, "cumulant_inequality")
    G, errors = q_cumulants(posterior, beta)
    ahead = expected_ahead(belief, [soft_maximum(g, 1.0) for g in G])
    ahead_errors = expected_ahead(belief, [e.max(axis=1) for e in errors])
    tilde = tilde_cumulants(belief, beta)
    return Inequality(G, [g + v for g, v in zip(tilde, ahead)], [e + f for e, f in zip(errors, ahead_errors)])


def tilde_cumulants(belief: Belief, beta: float) -> Layers:
    """G̃^{μ|t}_l(s,a,β) of l-bellman-ineq: G^{μ|t}_l(s,a,β) + (L−l)²β²/(2(n∨1))."""
    visits = belief.in_layers(belief.visits)
    left = belief.horizon - 1
    return [
        G + ((left - l) * beta) ** 2 / (2.0 * np.maximum(n, 1.0))
        for l, (G, n) in enumerate(zip(reward_cumulants(belief, beta), visits))
    ]


def k_value_inequality(belief: Belief, posterior: Ensemble, tau: float, bonus: BonusName = "paper") -> Inequality:
    """e-upperb: certainty equivalents are at most the K-values, 𝒬_l(s,a) ≤ K_l(s,a)."""
    refuse_tied_layers(belief, "k_value_inequality")
    Q, errors = certainty_equivalents(posterior, tau)
    return Inequality(Q, solve(belief, tau, bonus).k_values, errors)


def maximal_inequality(x: ArrayLike, tau: float, weights: ArrayLike | None = None) -> Inequality:
    """l-max-ineq: E max_i X_i ≤ τ log Σ_i exp G^{X_i}(1/τ), for X given by its outcomes (outcome, i) and their weights.

    The lemma needs no independence. At τ = 0 the right side is the largest outcome of any X_i.
    """
    X = checks.array("x", x, (None, None))
    w = np.full(len(X), 1.0 / len(X)) if weights is None else weights
    w = checks.distributions("weights", w, (len(X),))
    lower, top = float(w @ X.max(axis=1)), float(X[w > 0].max())
    if tau == 0.0:
        return Inequality(lower, top)
    return Inequality(lower, top + tau * float(np.log(w @ np.exp((X - top) / tau).sum(axis=1))))


class Chain(NamedTuple):
    """The three members of e-smax-upper, (S_l,) per layer, and the error of the first two."""

    expected_maximum: Layers
    of_certainty_equivalents: Layers
    of_k_values: Layers
    error: Layers

    @property
    def first(self) -> Inequality:
        return Inequality(self.expected_maximum, self.of_certainty_equivalents, self.error)

    @property
    def second(self) -> Inequality:
        return Inequality(self.of_certainty_equivalents, self.of_k_values, self.error)


def maximal_chain(belief: Belief, posterior: Ensemble, tau: float, bonus: BonusName = "paper") -> Chain:
    """e-smax-upper, e-max_k: E^t max_a Q*_l(s,a) ≤ τ log Σ_a exp(𝒬_l(s,a)/τ) ≤ τ log Σ_a exp(K_l(s,a)/τ)."""
    refuse_tied_layers(belief, "maximal_chain")
    best = posterior.average([Q.max(axis=2) for Q in posterior.q_values])
    Q, errors = certainty_equivalents(posterior, tau)
    plan = solve(belief, tau, bonus)
    error = [e + f.max(axis=1) for e, f in zip(best.errors, errors)]
    return Chain(best.values, [soft_maximum(q, tau) for q in Q], plan.values, error)


def sum_of_independents(x: ArrayLike, y: ArrayLike, tau: float) -> Inequality:
    """Why the exponential utility (e-certequiv): certainty equivalents of independent X and Y add up.

    Both sides are equal. X and Y are given by equally likely outcomes.
    """
    X, Y = checks.array("x", x, (None,)), checks.array("y", y, (None,))
    return Inequality(_equivalent(np.add.outer(X, Y).ravel(), tau), _equivalent(X, tau) + _equivalent(Y, tau))


def _equivalent(x: Floats, tau: float) -> float:
    top = x.max()
    return float(top + tau * np.log(np.mean(np.exp((x - top) / tau))))
