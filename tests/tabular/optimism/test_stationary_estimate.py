"""The estimate of E V* where layers share a table and every bonus of ours is below it: it covers as it says."""

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.tabular.trials.task import Streams

L, ACTIONS, PLANS, DRAWS = 20, 2, 400, 200
ERRORS = 4.4  # standard errors, two-sided: 1.1e-5 by chance


def mean_optimum(mass, counts, r, draws=40_000):
    """The mean of V* over dense draws of one table for all layers, and its standard error: nothing of ours in it."""
    rng = np.random.default_rng(0)
    alpha = np.broadcast_to(mass / len(r) + counts, (draws, *counts.shape))
    logs = np.log(rng.standard_gamma(alpha + 1.0)) + np.log(rng.random(alpha.shape)) / alpha
    rows = np.exp(logs - logs.max(-1, keepdims=True))
    rows /= rows.sum(-1, keepdims=True)
    V = np.zeros((draws, len(r)))
    for _ in range(L):
        V = (r + np.einsum("nsay,ny->nsa", rows, V)).max(2)
    return V[:, 0].mean(), V[:, 0].std() / draws**0.5


def stay_or_fall(mass, seen):
    """Rewards are known: 1 a step in state 0, whose one good action stays or falls for good; seen so often each way."""
    r = np.zeros((2, ACTIONS))
    r[0], r[:, 1] = 1.0, -1e4
    counts = np.zeros((2, ACTIONS, 2))
    counts[1, :, 1] = counts[0, 1, 1] = 1e4
    counts[0, 0] = seen
    visits, nothing = counts.sum(-1), np.zeros((2, ACTIONS))
    prior = kl.Prior(kl.Gaussian(noise=0.0), kl.Dirichlet(mass), stationary=True)
    belief = kl.Belief.from_counts(
        prior,
        [visits, *[nothing] * (L - 2), nothing + 1.0],
        [visits * r, *[nothing] * (L - 2), r],
        [counts, *[0.0 * counts] * (L - 2)],
        [1.0, 0.0],
    )
    return belief, counts, r


@pytest.mark.thin(2)
@pytest.mark.parametrize(("mass", "seen"), [(0.3, 0.0), (0.3, 3.0), (1.0, 1.0), (2.0, 10.0)])
def test_the_estimate_covers(mass, seen):
    """Student's intervals of 200 draws, 400 times, hold E V* in 95% of them. False alarms: below 1e-3 (3.2 sd)."""
    belief, counts, r = stay_or_fall(mass, seen)
    truth, doubt = mean_optimum(mass, counts, r)
    agent = kl.KLearning(optimism=kl.Calibration(DRAWS, window=1, thompson_fraction=0.0))
    memory, said = agent.begin(belief), np.zeros(len(agent.diagnostics))
    streams = Streams(np.random.default_rng(1), np.random.default_rng(2))
    told = np.zeros((PLANS, 2))
    for t in range(PLANS):
        memory = agent.plan(memory, streams, t, said)
        told[t] = said[5:7]  # estimate, error
    estimate, error = told.T
    assert abs(estimate.mean() - truth) < ERRORS * np.hypot(doubt, estimate.std() / PLANS**0.5)
    covered = np.mean(np.abs(estimate - truth) <= stats.t.ppf(0.975, DRAWS - 1) * error)
    assert 0.905 <= covered <= 0.985
    if seen == 0.0:  # the example of which every bonus states about 2
        assert kl.solve(belief, bonus="split").bound < 0.5 * truth
        assert memory.progress.optimism <= 1.0
