"""The bonus `visits`: an upper bound on E V* for stationary beliefs too, its gap and its limits.

V* is that of exact draws; "5 standard errors" is one-sided, 3e-7 by chance for each belief, were its bound tight.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

import klearning as kl
from klearning.tabular.optimism.certificate import least_value
from tests.support.cases import REWARDS, TRANSITIONS
from tests.tabular.beliefs.test_stationary import random_tied
from tests.tabular.optimism.test_proof import expected_optimum, tied


@pytest.mark.parametrize(("seen", "most"), [(0.0, 11.4), (1.0, 5.95), (3.0, 3.67)])
def test_where_every_other_bonus_states_two(seen, most):
    """E V* is 7.8, 3.4 and 2.4. Longer searches came to 10.6, 5.8 and 3.57: this one is near them."""
    belief = tied(seen)
    best, error = expected_optimum(belief)
    plan = kl.solve(belief, bonus="visits")
    assert plan.proved
    assert best - 5 * error <= plan.bound <= most
    assert plan.gap <= 1e-3 * plan.bound


@pytest.mark.thin(3)
@pytest.mark.parametrize("transitions", TRANSITIONS)
@pytest.mark.parametrize("reward", REWARDS)
def test_stationary_beliefs(reward, transitions):
    for seed in range(3):
        case = random_tied(np.random.default_rng([seed, 9]), 3, 2, 4, reward, transitions, last_layer=True)
        belief = case.tied()
        best, error = expected_optimum(belief)
        for temperature in ("optimal", 0.5):
            plan = kl.solve(belief, temperature, "visits")
            assert plan.proved
            assert plan.bound >= best - 5 * error
            assert plan.gap <= 0.01 * (abs(plan.bound) + 1)


def arms(m, s):
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 1.0))
    n = 1 / s**2 - 1  # visits with which the posterior has this spread
    return kl.Belief.from_counts(prior, [n[None]], [(m / s**2)[None]], [], [1.0])


def test_arms_are_those_of_variational_bayesian_optimistic_sampling():
    """One step: min over V of V + Σ s π/u, π = exp(−u²/2), u = (z + √(z²+4))/2, z = (V − m)/s; T on a grid of √2."""
    m, s = np.array([0.3, -0.2, 0.5]), np.array([0.9, 0.8, 0.2])

    def value(V):
        z = (V - m) / s
        u = (z + np.sqrt(z * z + 4)) / 2
        return V + (s * np.exp(-u * u / 2) / u).sum()

    exact = optimize.minimize_scalar(value, (0.0, 2.0)).fun
    plan = kl.solve(arms(m, s), bonus="visits")
    assert exact - 1e-9 <= plan.bound <= exact + 0.015 * (exact - m.max())


def test_the_gap_is_a_gap():
    """At one temperature for all, bound − gap is no more than what any other V gives; here by a general minimiser."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.5), kl.Known([np.array([[[0.2, 0.8], [0.7, 0.3]]] * 2)]), stationary=True)
    belief = kl.Belief.empty(prior, [2] * 3, 2, [0.6, 0.4]).update([0, 3, 4], [0, 1, 1], [1.0, 0.2, 0.0])
    T, P = 0.4, belief.transition_means[0]
    m, c, start = belief.reward_means[0], belief.reward_variances[0] / 2, np.array([0.6, 0.4])

    def bound(x):
        V = [*x.reshape(3, 2), np.zeros(2)]
        terms = [T * np.exp((m + c / T + P @ V[l + 1] - V[l][:, None]) / T - 1) for l in range(3)]
        return start @ V[0] + (start[:, None] * terms[0]).sum() + terms[1].sum() + terms[2].sum()

    least = optimize.minimize(bound, np.ones(6), method="BFGS").fun
    plan = kl.solve(belief, T, "visits")
    assert plan.bound == pytest.approx(bound(np.concatenate(plan.values)), rel=1e-9)
    assert plan.bound - plan.gap <= least + 1e-6
    assert least - 1e-6 <= plan.bound


@pytest.mark.parametrize("discount", [1.0, 0.7])
def test_ends_discounts_and_certificates(discount):
    """The proved regret of a policy is above what draws say of it, where an episode may end and later is worth less."""
    prior = kl.Prior(kl.Gaussian(0.3, 0.5, 0.2), kl.Dirichlet(0.6), stationary=True)
    belief = kl.Belief.empty(prior, [3] * 4, 2, [0.0, 0.5, 0.5], end=0)
    for a in (0, 1, 0):
        belief = belief.update([1, 5, 8, 10], [a, 1, 0, a], [1.0, 0.0, 0.5, 0.3])
    belief = replace(belief, discount=discount)
    plan = kl.solve(belief, bonus="visits")
    for policy in (plan.policy, np.full((12, 2), 0.5)):
        told = kl.certify(belief, policy, draws=400)
        assert told.regret - 5 * told.error <= told.bound < 20
    assert plan.values[1][0] == 0.0


def test_a_certificate_of_what_is_well_known_is_small():
    """Ten thousand visits everywhere, deterministic rows: little is lost by the best policy, by proof."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.1), kl.Dirichlet(0.3), stationary=True)
    counts = np.zeros((2, 2, 2))
    counts[:, 0, 0] = counts[:, 1, 1] = 1e4
    n, r = counts.sum(axis=-1), np.array([[0.0, 0.0], [1.0, 0.5]])
    belief = kl.Belief.from_counts(prior, [n, 0 * n, 0 * n], [n * r, 0 * n, 0 * n], [counts, 0 * counts], [1.0, 0.0])
    good, bad = (np.tile(np.eye(2)[a], (6, 1)) for a in (1, 0))
    assert kl.certify(belief, good).bound < 0.6
    assert kl.certify(belief, bad).bound > 0.9


def one_way(pay):
    """One action, 20 steps: the first state pays and leads to either, never seen; the second pays nothing for good."""
    n, counts = np.array([[0.0], [1e4]]), np.array([[[0.0, 0.0]], [[0.0, 1e4]]])
    zero, r = 0 * n, np.array([[pay], [0.0]])
    visits, sums = [n, *[zero] * 18, zero + 1], [n * r, *[zero] * 18, r]
    return kl.Belief.from_counts(tied(0.0).prior, visits, sums, [counts, *[0 * counts] * 18], [1.0, 0.0])


def test_one_action_is_no_limit_where_layers_share_a_table():
    """The mean model says 2 where E V* is more than 7."""
    for temperature in ("optimal", np.inf, 0.0):
        assert kl.solve(one_way(1.0), temperature, "visits").bound > 7.7
    layered = kl.Belief.empty(kl.Prior(), [1, 2], 1, [1.0])
    assert kl.solve(layered, bonus="visits").bound == kl.solve(layered, bonus="split").bound


def test_what_a_policy_returns_at_least():
    """Where the first state costs 1, the mean model says −2 and E V^π is below −7."""
    belief = one_way(-1.0)
    value, error = expected_optimum(belief)
    assert -12 < least_value(belief, belief.posterior(), np.ones((1, 40))) <= value + 5 * error < -5


def test_nothing_uncertain_is_met_exactly():
    rows = [np.array([[[0.2, 0.8], [0.7, 0.3]]] * 2)]
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.0), kl.Known(rows), stationary=True)
    belief = kl.Belief.from_counts(prior, [np.ones((2, 2))] * 2, [np.eye(2)] * 2, [rows[0]], [1.0, 0.0])
    plan = kl.solve(belief, bonus="visits")
    assert plan.bound == pytest.approx(kl.optimal(belief.sample(0)).value)
    assert plan.temperature == 0.0


def test_it_learns():
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.1), kl.Dirichlet(0.3), stationary=True)
    world = kl.river_swim(3, horizon=8)
    runs = kl.run(kl.KLearning(bonus="visits"), world, prior=prior, episodes=60, seeds=3)
    late = (runs.regret[:, -1] - runs.regret[:, -11]) / 10
    assert late.mean() < 0.5 * runs.regret[:, 0].mean()
    assert (runs.diagnostics["bound"] > 0).all()


def test_it_refuses_what_it_cannot():
    for settings in ({"temperature": "schedule"}, {"optimism": 0.5}, {"optimism": "calibrated"}):
        with pytest.raises(ValueError, match="visits"):
            kl.KLearning(bonus="visits", **settings)
