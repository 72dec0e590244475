"""Theorem 1 (t-kl_mdp): its bound, its assumption, the arithmetic behind its constant, and the lower bound."""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.inequality import Inequality
from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP

Sizes = tuple[int, int, int]


def sizes_of(mdp_or_sizes: MDP | Belief | Sizes) -> Sizes:
    """(L, S, A), S over all layers, of an MDP, a belief or such a tuple."""
    if isinstance(mdp_or_sizes, MDP | Belief):
        return mdp_or_sizes.horizon, mdp_or_sizes.states, mdp_or_sizes.actions
    if not isinstance(mdp_or_sizes, tuple | list) or len(mdp_or_sizes) != 3:
        raise ValueError(f"sizes={mdp_or_sizes!r}: give an MDP, a Belief, or (horizon, states, actions)")
    L, S, A = (checks.whole(name, n) for name, n in zip(("horizon", "states", "actions"), mdp_or_sizes))
    if S < L:
        raise ValueError(f"states={S} is below horizon={L}: states are counted over all layers")
    return L, S, A


def regret_bound(mdp_or_sizes: MDP | Belief | Sizes, episodes: ArrayLike, noise: float | None = None) -> Any:
    """t-kl_mdp: Bayes regret after N episodes is at most 2 √((σ² + L²) S A T log A (1 + log(T/L))), T = N L.

    For an MDP, a Belief, or sizes (L, S, A) with S over all layers; ``episodes`` is a number or an array of them.
    σ is ``noise``, by default the largest of the MDP (½ for coin flips). It is a bound on *Bayes* regret, under
    Assumption 1 (see `breaks_assumption`) and if `reward_bound` holds; with one action it is zero.
    """
    L, S, A = sizes_of(mdp_or_sizes)
    if noise is None:
        if not isinstance(mdp_or_sizes, MDP):
            raise ValueError("noise=None: give the standard deviation of the rewards' noise, as sizes do not tell it")
        noise = 0.5 if isinstance(mdp_or_sizes.noise, str) else float(np.max(mdp_or_sizes.noise))
    sigma = checks.number("noise", noise, 0.0)
    N = _episodes(episodes)
    bound = 2.0 * np.sqrt((sigma**2 + L**2) * S * A * N * L * np.log(A) * (1.0 + np.log(N)))
    return float(bound) if bound.ndim == 0 else bound


def lower_bound(mdp_or_sizes: MDP | Belief | Sizes, episodes: ArrayLike) -> Any:
    """√(L S A T): the order, without its constant, of the least regret that any algorithm can promise (Jin et al.)."""
    L, S, A = sizes_of(mdp_or_sizes)
    bound = np.sqrt(L * S * A * L * _episodes(episodes))
    return float(bound) if bound.ndim == 0 else bound


def _episodes(episodes: ArrayLike) -> Floats:
    N = np.asarray(episodes, np.float64)
    if not np.isfinite(N).all() or (N < 1).any():
        raise ValueError(f"episodes={episodes!r}: give numbers of at least 1")
    return N


def breaks_assumption(prior: Prior, mdp: MDP | None = None) -> list[str]:
    """ass1: why Theorem 1 does not speak of this prior, or of this world; nothing if it does."""
    reasons = []
    family, numbers = type(prior.reward).__name__, prior.reward.numbers()
    bounds = prior.reward.bounds
    if bounds is None:
        reasons.append(f"a {family} prior of mean rewards is unbounded: Assumption 1 has them in [0, 1]")
    elif bounds[0] < 0.0 or bounds[1] > 1.0:
        reasons.append(f"a {family} prior of rewards in [{bounds[0]:g}, {bounds[1]:g}]: Assumption 1 has [0, 1]")
    if numbers.variance > numbers.noise_variance:
        wide = f"sd={sqrt(numbers.variance)} above noise={sqrt(numbers.noise_variance)}"
        reasons.append(f"{wide}: the printed bonus is too small before the first visit")
    if prior.reward.learns_noise:
        reasons.append(f"the noise of a {family} prior is learned: the theorem has it known, and means sub-Gaussian")
    if prior.stationary:
        reasons.append("stationary=True ties the layers: the theorem has them independent")
    if mdp is not None and (mdp.reward.min() < 0.0 or mdp.reward.max() > 1.0):
        low, high = float(mdp.reward.min()), float(mdp.reward.max())
        reasons.append(f"mean rewards of {mdp.name} lie in [{low:g}, {high:g}]: Assumption 1 has them in [0, 1]")
    return reasons


def theorem_arithmetic(episodes: int) -> Inequality:
    """l-delta_unroll with the pigeonhole lemma mended to 2 + log N: the sum of its two terms, and the printed bound.

    In units of √((σ² + L²) S A L log A):   ½ Σ_t √((1 + log t)/t) + (2 + log N) √(N/(1 + log N))  ≤  2 √(N(1 + log N)).
    With u = 1 + log N the step to N adds at least 1/(2√N u^(3/2)) to the slack, which is negative up to N = 3 and
    positive from N = 4 on. Up to N = 3 regret is at most N L, which is below the printed bound for two or more actions.
    So Theorem 1 stands as printed although its lemma does not.
    """
    t = np.arange(1.0, checks.whole("episodes", episodes) + 1.0)
    u = 1.0 + np.log(episodes)
    lower = 0.5 * np.sqrt((1.0 + np.log(t)) / t).sum() + (1.0 + u) * np.sqrt(episodes / u)
    return Inequality(float(lower), float(2.0 * np.sqrt(episodes * u)))
