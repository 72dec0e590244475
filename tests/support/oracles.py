"""Slow, obvious versions of what the package does fast: dense arrays, one a layer, plain recursions.

Axes are state, action, next state. Layers count from 0, so the paper's L − l is L − 1 − l here.
Nothing in here calls the package's numerics.
"""

from itertools import product

import numpy as np


def assert_close(got, want, tolerance=1e-12):
    """Lists of arrays, equal up to a tolerance that is relative above 1 and absolute below."""
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def gaussian_posterior(mean, sd, noise, n, total):
    """Mean and variance of a Gaussian mean after n noisy observations that sum to ``total``."""
    if sd == 0.0:
        return np.full(n.shape, mean), np.zeros(n.shape)
    if noise == 0.0:
        seen = n > 0
        return np.where(seen, total / np.maximum(n, 1), mean), np.where(seen, 0.0, sd**2)
    precision = 1 / sd**2 + n / noise**2
    return (mean / sd**2 + total / noise**2) / precision, 1 / precision


def beta_posterior(a, b, n, total):
    """Mean and variance of a Beta(a, b) chance after n flips with ``total`` heads."""
    heads, tails = a + total, b + n - total
    mass = heads + tails
    return heads / mass, heads * tails / (mass**2 * (mass + 1))


def normalised(alpha):
    """The mean of Dirichlet rows."""
    return alpha / alpha.sum(axis=-1, keepdims=True)


def log_sum_exp(x):
    """Over the last axis; complex numbers are fine, for derivatives by a complex step."""
    top = x.real.max(axis=-1)
    return top + np.log(np.exp(x - top[..., None]).sum(axis=-1))


def k_values(m, c, P, tau):
    """K, V and the Boltzmann policy of the optimistic Bellman equation, backwards."""
    L = len(m)
    K, V, policy = [None] * L, [None] * L, [None] * L
    for l in reversed(range(L)):
        ahead = P[l] @ V[l + 1] if l + 1 < L else 0.0
        K[l] = m[l] + c[l] / tau + ahead
        V[l] = tau * log_sum_exp(K[l] / tau)
        policy[l] = np.exp((K[l] - V[l][:, None]) / tau)
    return K, V, policy


def f(m, c, P, initial, tau):
    """E_ρ V_1 at one τ."""
    return initial @ k_values(m, c, P, tau)[1][0]


def slope_of_f(m, c, P, initial, tau):
    """f′ by a complex step: no cancellation, so exact to rounding."""
    h = 1e-30 * tau
    return f(m, c, P, initial, tau + 1j * h).imag / h


def curvature_of_f(m, c, P, initial, tau, step=1e-3):
    """f″ by the five-point rule on f′."""
    h = step * tau
    at = [slope_of_f(m, c, P, initial, tau + i * h) for i in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


def policy_values(r, P, policy):
    """V^π and Q^π for rewards r."""
    L = len(r)
    V, Q = [None] * L, [None] * L
    for l in reversed(range(L)):
        Q[l] = r[l] + (P[l] @ V[l + 1] if l + 1 < L else 0.0)
        V[l] = (policy[l] * Q[l]).sum(axis=1)
    return V, Q


def optimal_values(r, P):
    """V* and Q*."""
    L = len(r)
    V, Q = [None] * L, [None] * L
    for l in reversed(range(L)):
        Q[l] = r[l] + (P[l] @ V[l + 1] if l + 1 < L else 0.0)
        V[l] = Q[l].max(axis=1)
    return V, Q


def occupancy(P, initial, policy):
    """The chance of being in s and taking a, forwards."""
    reached, flows = np.asarray(initial), []
    for l, pi in enumerate(policy):
        flows.append(reached[:, None] * pi)
        if l + 1 < len(policy):
            reached = np.einsum("sa,say->y", flows[l], P[l])
    return flows


def expected(table, flows):
    """Σ_l Σ_{s,a} λ_l(s,a) x_l(s,a)."""
    return sum(float(np.sum(x * flow)) for x, flow in zip(table, flows))


def entropies(policy):
    """−log π(a|s), 0 where π is 0: averaged over λ it is the entropy of the policy."""
    return [-np.log(np.where(pi > 0, pi, 1.0)) for pi in policy]


def best_by_enumeration(r, P, initial):
    """The largest value of any deterministic policy, trying all of them."""
    widths, actions = [len(x) for x in r], r[0].shape[1]
    best = -np.inf
    for choice in product(range(actions), repeat=sum(widths)):
        table = np.eye(actions)[list(choice)]
        policy = np.split(table, np.cumsum(widths)[:-1])
        best = max(best, float(initial @ policy_values(r, P, policy)[0][0]))
    return best


def rollouts(r, P, initial, policy, episodes, rng):
    """Returns of simulated episodes, rewards without noise."""
    state = rng.choice(len(initial), size=episodes, p=initial)
    total = np.zeros(episodes)
    for l in range(len(r)):
        action = draw_rows(policy[l][state], rng)
        total += r[l][state, action]
        if l + 1 < len(r):
            state = draw_rows(P[l][state, action], rng)
    return total


def draw_rows(rows, rng):
    """One index from each row of probabilities."""
    u = rng.random((len(rows), 1))
    return np.minimum((u > rows.cumsum(axis=1)).sum(axis=1), rows.shape[1] - 1)
