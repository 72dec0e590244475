"""δ, Δ and Φ: from K-values to a bound on the regret of one episode, and on their sum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from klearning.lab.theory import regret_bound
from klearning.lab.theory.inequality import flat
from klearning.lab.theory.optimistic import entropy
from tests.support import oracles
from tests.support.cases import BONUSES, any_number, cases, modest
from tests.support.theory_cases import enumerable, temperatures

bonuses = st.sampled_from(BONUSES)


def random_policy(case, seed):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.full(case.actions, 0.7), n) for n in case.widths]


@modest
@given(cases(any_number), bonuses, temperatures)
def test_k_values_are_the_fixed_point(case, bonus, tau):
    """e-kbellmaneq; and the operator, applied to anything, is the plain formula."""
    belief = case.belief()
    assert theory.optimistic.fixed_point(belief, tau, bonus).equal()
    y = [K + 0.3 * np.sin(K) for K in kl.solve(belief, tau, bonus).k_values]
    m, P, _ = case.mean_model()
    c = case.half_variance(bonus)
    want = [
        m[l] + c[l] / tau + (P[l] @ (tau * oracles.log_sum_exp(y[l + 1] / tau)) if l + 1 < case.horizon else 0.0)
        for l in range(case.horizon)
    ]
    oracles.assert_close(theory.optimistic.optimistic_operator(belief, tau, y, bonus), want, 1e-9)


@modest
@given(cases(any_number), temperatures, st.integers(0, 10**6))
def test_the_soft_maximum_is_variational(case, tau, seed):
    """e-variational: no policy does better than the Boltzmann policy, by τ times its divergence from it."""
    plan = kl.solve(case.belief(), tau)
    for K, boltzmann, pi in zip(plan.k_values, plan.policy, random_policy(case, seed)):
        assert theory.optimistic.variational(K, tau, boltzmann).equal()
        law = theory.optimistic.variational(K, tau, pi)
        assert law.holds()
        divergence = (pi * (np.log(np.maximum(pi, 1e-300)) - (K - law.upper[:, None]) / tau)).sum(axis=1)
        np.testing.assert_allclose(law.slack, tau * divergence, atol=1e-9 * (1 + np.abs(K).max()))


def test_soft_maximum_and_entropy_at_their_edges():
    K = np.array([[1.0, 3.0]])
    assert theory.optimistic.soft_maximum(K, 0.0).tolist() == [3.0]
    assert theory.optimistic.soft_maximum(K[:, :1], math.inf).tolist() == [1.0]
    with pytest.raises(ValueError, match="tau=inf"):
        theory.optimistic.soft_maximum(K, math.inf)
    assert entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist() == [0.0, math.log(2)]


@modest
@given(enumerable(["paper"]), temperatures)
def test_little_delta(example, tau):
    """e-little-delta holds for Beta priors; δ itself is above zero, for K is optimistic."""
    law = theory.unrolling.little_delta(example[0].belief(), tau)
    assert law.holds()
    assert (flat(law.lower) >= -1e-12).all()


@modest
@given(enumerable(), st.integers(0, 10**6))
def test_expected_values_of_a_policy_are_those_of_the_mean(example, seed):
    """e-app-qvals: E^t Q^π by enumeration is Q^π of the posterior means."""
    case, posterior, _ = example
    policy = random_policy(case, seed)
    enumerated = posterior.average(posterior.policy_q_values(policy)).values
    oracles.assert_close(theory.unrolling.expected_q_values(case.belief(), policy), enumerated, 1e-9)


@modest
@given(cases(any_number), bonuses, temperatures)
def test_the_delta_recursion(case, bonus, tau):
    """e-big-delta: definition and recursion agree; so does what a plain recursion makes of the raw numbers."""
    belief = case.belief()
    plan = kl.solve(belief, tau, bonus)
    law = theory.unrolling.big_delta(belief, plan)
    assert law.equal()
    m, P, _ = case.mean_model()
    V, _ = oracles.policy_values(m, P, plan.policy)
    oracles.assert_close(law.lower, [soft - v for soft, v in zip(plan.values, V)], 1e-9)


@modest
@given(cases(any_number), bonuses, temperatures)
def test_phi_unrolls(case, bonus, tau):
    """Φ(τ, λ) = E_ρ Δ_1 = f(τ) − J."""
    belief = case.belief()
    plan = kl.solve(belief, tau, bonus)
    law = theory.unrolling.unrolled(belief, plan, bonus)
    assert law.equal()
    assert law.upper == pytest.approx(
        plan.bound - theory.duality.mean_return(belief, plan.occupancy), rel=1e-9, abs=1e-9
    )


@modest
@given(cases(any_number), bonuses, temperatures, st.integers(0, 10**6))
def test_phi_of_any_occupancy(case, bonus, tau, seed):
    """τH̄ + C̄/τ from the raw numbers, for a policy that has nothing to do with K; e-epregret-def."""
    _, P, initial = case.mean_model()
    flows = oracles.occupancy(P, initial, random_policy(case, seed))
    H = oracles.expected(oracles.entropies(random_policy(case, seed)), flows)
    C = oracles.expected(case.half_variance(bonus), flows)
    assert theory.unrolling.phi(case.belief(), tau, flows, bonus) == pytest.approx(
        tau * H + C / tau, rel=1e-8, abs=1e-9
    )
    if bonus == "paper":
        assert theory.unrolling.unrolling_bound(case.belief(), tau, flows).holds()


def test_the_unrolling_bound_needs_its_whole_constant():
    """Six layers, all known but the first: Φ is (σ² + 25)/2τ, more than half of the (σ² + 36)/2τ that bounds it."""
    visits = [np.full((1, 2), n) for n in (0.0, 1e9, 1e9, 1e9, 1e9, 1e9)]
    counts = [n.reshape(1, 2, 1) for n in visits[:-1]]
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 1.0), kl.Dirichlet(1.0))
    belief = kl.Belief.from_counts(prior, visits, [np.zeros((1, 2))] * 6, counts, [1.0])
    tau = 0.01
    law = theory.unrolling.unrolling_bound(belief, tau, [np.array([[1.0, 0.0]])] * 6)
    assert law.holds()
    assert law.lower == pytest.approx(26 / (2 * tau), rel=1e-6)
    assert law.upper == pytest.approx(37 / (2 * tau) + tau * 6 * np.log(2), rel=1e-6)


@modest
@given(enumerable(), temperatures)
def test_phi_bounds_the_regret_of_an_episode(example, tau):
    """e-reg-ub at any τ, e-br-opt at the optimum: enumerated, without error bars."""
    case, posterior, bonus = example
    belief = case.belief()
    for temperature in (tau, "optimal"):
        plan = kl.solve(belief, temperature, bonus)
        law = theory.unrolling.episode_regret(belief, posterior, plan, bonus)
        assert law.holds()
        assert law.lower >= -1e-9


@pytest.mark.slow
@pytest.mark.parametrize("temperature", ["schedule", "optimal"])
def test_the_sum_of_phi_stays_below_the_bound_of_the_theorem(temperature):
    """l-delta_unroll and t-kl_mdp on 20 worlds from the prior, N = 1..25: regret ≤ ΣΦ ≤ bound.

    The bound is at least 2.5 times the mean of ΣΦ, of which one standard error is below 0.7%, and the mean regret at
    most a fifth of it, with a standard error below 1.5%: a false alarm is fifty errors away.
    """
    widths, actions, N, worlds = [1, 2, 2], 2, 25, 20
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
    phis, regrets = np.zeros((worlds, N)), np.zeros((worlds, N))
    for k in range(worlds):
        rng = np.random.default_rng(k)
        world = kl.random_mdp(widths, actions, prior=prior, seed=k)
        belief = kl.Belief.empty(prior, widths, actions, [1.0])
        for t in range(N):
            plan = kl.solve(belief, kl.schedule(t + 1) if temperature == "schedule" else "optimal", "paper")
            phis[k, t] = theory.unrolling.phi(belief, plan.temperature, plan.occupancy, "paper")
            regrets[k, t] = kl.optimal(world).value - kl.evaluate(world, plan.policy).value
            belief = belief.update(*episode(world, plan.policy, rng))
    total = phis.cumsum(axis=1).mean(axis=0)
    assert (regrets.cumsum(axis=1).mean(axis=0) <= total).all()
    assert (total <= regret_bound(world, np.arange(1, N + 1))).all()


def episode(world, policy, rng):
    """States, actions and coin flips of one episode."""
    s, states, chosen, rewards = 0, [], [], []
    for l, pi in enumerate(policy):
        a = int(rng.choice(len(pi[s]), p=pi[s]))
        states.append(int(world.layers[l]) + s)
        chosen.append(a)
        rewards.append(float(rng.random() < world.rewards[l][s, a]))
        if l + 1 < len(policy):
            s = int(rng.choice(world.widths[l + 1], p=world.transitions[l][s, a]))
    return states, chosen, rewards
