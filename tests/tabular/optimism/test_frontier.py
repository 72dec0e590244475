"""Information of a visit, and the best trade of return against it, against dense NumPy and enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.tabular.models.sweeps import hard_sweep
from klearning.tabular.optimism.frontier import best_on_frontier, edge
from klearning.tabular.optimism.value_of_information import fill_information, variances

PRIORS = [
    kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0)),
    kl.Prior(kl.Gaussian(0.2, 1.0, 0.5), kl.Dirichlet(0.3)),
    kl.Prior(kl.Beta(2.0, 1.0), kl.Dirichlet(2.0), stationary=True),
]


def belief_after(prior, episodes, seed=0, widths=(2, 2, 2), actions=2):
    """A belief after some episodes of random walks."""
    rng = np.random.default_rng(seed)
    belief = kl.Belief.empty(prior, list(widths), actions, np.full(widths[0], 1.0 / widths[0]))
    for _ in range(episodes):
        states, taken = rng.integers(widths) + belief.layers[:-1], rng.integers(actions, size=len(widths))
        belief = belief.update(states, taken, rng.integers(2, size=len(widths)).astype(float))
    return belief


def dense(p, discount=1.0):
    """m, P̄ and what is known of a posterior, layer by layer: (A, n), (A, n, n')."""
    layers, table, layered = p.model.layers, p.model.table, []
    for l in range(layers.size - 1):
        n, rows = layers[l + 1] - layers[l], slice(table[l], table[l] + layers[l + 1] - layers[l])
        P = None
        if l + 2 < layers.size:
            after = layers[l + 2] - layers[l + 1]
            P = np.zeros((p.visits.shape[0], n, after))
            for a, s in product(range(P.shape[0]), range(n)):
                k = table[l] + s
                P[a, s] = p.model.mass / after
                for e in range(p.model.rows.start[a, k], p.model.rows.start[a, k] + p.model.rows.length[a, k]):
                    P[a, s, p.model.rows.succ[e] - table[l + 1]] += p.model.rows.weight[e]
                P[a, s] *= p.model.scale[a, k]
        layered.append((p.model.reward[:, rows], P, p.variance[:, rows], p.total + p.moves[:, rows]))
    return layered


def information(prior, p):
    """i by its definition, from the last layer to the first and back."""
    layered = dense(p)
    V, Q, x, u = {len(layered): None}, {}, {}, {}
    for l in range(len(layered) - 1, -1, -1):
        m, P, variance, mass = layered[l]
        if isinstance(prior.reward, kl.Beta):
            variance = 4.0 * m * (1.0 - m) * variance
        Q[l], x[l] = m.copy(), variance.copy()
        u[l] = x[l].copy()
        if P is not None:
            Q[l] += P @ V[l + 1]
            x[l] = variance + (P @ V[l + 1] ** 2 - (P @ V[l + 1]) ** 2) / (mass + 1.0)
            best = Q[l + 1].argmax(axis=0)
            u[l] = x[l] + P**2 @ u[l + 1][best, np.arange(best.size)]
        V[l] = Q[l].max(axis=0)
    found, passed_on = [], np.zeros(layered[0][0].shape[1])
    for l, (m, P, _, _) in enumerate(layered):
        R = np.zeros_like(m)
        for a, s in product(*map(range, m.shape)):
            others = [b for b in range(m.shape[0]) if b != a]
            b = max(others, key=lambda b: Q[l][b, s])
            both = u[l][a, s] + u[l][b, s]
            z = (Q[l][b, s] - Q[l][a, s]) / np.sqrt(both)
            k = stats.norm.pdf(z) ** 2 / (stats.norm.cdf(z) * stats.norm.sf(z)) / both
            R[a, s] = k + stats.norm.sf(z) ** 2 * passed_on[s]
        found.append(x[l] ** 2 * R)
        if P is not None:
            passed_on = np.einsum("asj,as->j", P**2, R)
    return np.concatenate(found, axis=1)


def computed(p):
    A, S = p.visits.shape[0], int(p.model.layers[-1])
    Q, V, out = np.zeros((A, S)), np.zeros(S), np.zeros((A, S))
    best = hard_sweep(p.model, p.model.reward, Q, V)
    fill_information(p, Q, V, variances(A, S), out)
    return best, out


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("episodes", [0, 1, 7, 60])
def test_information_by_its_definition(prior, episodes):
    for widths, actions in (((2, 2, 2), 2), ((3, 3), 3)):
        p = belief_after(prior, episodes, 1, widths, actions).posterior()
        np.testing.assert_allclose(computed(p)[1], information(prior, p), rtol=1e-9, atol=1e-15)


def test_no_information_if_all_is_known_or_there_is_no_choice():
    p = belief_after(kl.Prior(kl.Gaussian(0.0, 1e-9, 1.0), kl.Dirichlet(1e-9)), 3).posterior()
    assert computed(p)[1].max() < 1e-15
    assert not computed(belief_after(PRIORS[0], 3, actions=1).posterior())[1].any()


def points(p, gain):
    """J and C of every deterministic policy."""
    layered, states = dense(p), int(p.model.layers[-1])
    for choice in product(range(p.visits.shape[0]), repeat=states):
        both = np.zeros((2, 0))
        for l in range(len(layered) - 1, -1, -1):
            m, P, _, _ = layered[l]
            low, n = p.model.layers[l], m.shape[1]
            a = np.array(choice[low : low + n])
            here = np.stack([m[a, np.arange(n)], gain[a, np.arange(low, low + n)]])
            both = here if P is None else here + both @ P[a, np.arange(n)].T
        yield both @ p.model.initial


def best_of_pairs(J, C, value):
    """The greatest ``value(J, C)`` of mixtures of two policies, on a fine grid of chances."""
    q = np.linspace(0.0, 1.0, 2001)
    pairs = product(range(len(J)), repeat=2)
    return max(float(value((1 - q) * J[i] + q * J[j], (1 - q) * C[i] + q * C[j]).max()) for i, j in pairs)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_mixtures_by_enumeration(seed):
    """All 16 policies of two layers with two states: no mixture of two is better than the one that is found."""
    p = belief_after(PRIORS[0], 3 * seed, seed, (2, 2)).posterior()
    gain = np.random.default_rng(seed).random((2, 4))
    J, C = np.array(list(points(p, gain))).T
    work = edge(2, 4)
    for scale in np.geomspace(1e-3, 1e2, 12):
        v, psi = float(J.max()) + scale, scale
        for by_ratio, aim, value in ((True, v, lambda J, C, v=v: -((v - J) ** 2) / C),
                                     (False, psi, lambda J, C, psi=psi: J + np.sqrt(psi * C))):  # fmt: skip
            best = best_of_pairs(J, C, value)
            for warm in (0.0, 1e-3, 1.0, 1e6):
                found = best_on_frontier(p.model, gain, by_ratio, aim, warm, work)
                q = found.share
                mean = [(1 - q) * x + q * y for x, y in zip(found.low, found.high, strict=True)]
                assert value(*mean) == pytest.approx(best, rel=1e-5)
                assert value(*mean) >= best - 1e-9 * abs(best)


def best_return(p, reward):
    """Of any policy, if these are the rewards."""
    V = None
    for l, (_, P, _, _) in reversed(list(enumerate(dense(p)))):
        here = reward[:, p.model.layers[l] : p.model.layers[l + 1]]
        V = (here if P is None else here + P @ V).max(axis=0)
    return float(V @ p.model.initial)


@pytest.mark.parametrize("seed", range(8))
def test_no_policy_improves_the_best_mixture_at_its_own_eta(seed):
    """Both problems are concave: a mixture is best if it is greedy for reward + η gain, with the η of its optimum."""
    p = belief_after(PRIORS[0], 2 * seed, seed, (4, 4, 4), 3).posterior()
    gain = np.random.default_rng(seed).random((3, 12)) ** 4
    reward, work = p.model.reward, edge(3, 12)
    for scale in np.geomspace(1e-3, 1e2, 24):
        for by_ratio, aim in ((True, best_return(p, reward) + scale), (False, scale)):
            for warm in (0.0, 1e-3, 1e6):
                found = best_on_frontier(p.model, gain, by_ratio, aim, warm, work)
                q = found.share
                J, C = ((1 - q) * x + q * y for x, y in zip(found.low, found.high, strict=True))
                eta = (aim - J) / (2.0 * C) if by_ratio else 0.5 * np.sqrt(aim / C)
                assert J + eta * C == pytest.approx(best_return(p, reward + eta * gain), rel=1e-6)


def test_an_estimate_below_the_best_return_is_followed_greedily():
    p = belief_after(PRIORS[0], 5).posterior()
    best, gain = computed(p)
    found = best_on_frontier(p.model, gain, True, best - 1.0, 0.0, edge(2, 6))
    assert (found.share, found.sweeps) == (0.0, 1)
    assert pytest.approx(best) == found.low.J
