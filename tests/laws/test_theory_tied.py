"""Theory of a stationary belief: all layers share one table, and laws of independent layers are refused."""

import numpy as np
import pytest

import klearning as kl
from klearning.lab import theory
from klearning.lab.theory.ensembles import row_mass
from klearning.lab.theory.optimistic import bonus_at
from klearning.tabular.models.mdp import evaluate

TAU = 0.6


def tied(reward=None, horizon=3):
    """Two states, two actions, two episodes seen; the last layer's visits tell nothing of transitions."""
    prior = kl.Prior(reward or kl.Beta(1.0, 2.0), kl.Dirichlet(0.8), stationary=True)
    belief = kl.Belief.empty(prior, [2] * horizon, 2, [0.5, 0.5])
    first = 2 * np.arange(horizon)
    for states, actions in (([0, 1, 0], [0, 1, 0]), ([1, 1, 1], [1, 1, 0])):
        belief = belief.update(np.array(states[:horizon]) + first, actions[:horizon], [1.0, 0.0, 1.0][:horizon])
    return belief


VISITS = np.array([[2.0, 0.0], [1.0, 3.0]])  # (S, A), of three layers
SUMS = np.array([[2.0, 0.0], [1.0, 1.0]])
MOVES = np.array([[1.0, 0.0], [0.0, 3.0]])


def test_the_belief_is_what_was_counted():
    belief = tied()
    for l in range(3):
        np.testing.assert_array_equal(belief.in_layers(belief.visits)[l], VISITS)
        np.testing.assert_array_equal(belief.in_layers(belief.reward_sums)[l], SUMS)
        np.testing.assert_allclose(row_mass(belief)[l], 0.8 + MOVES, rtol=1e-12)


@pytest.mark.parametrize("reward", [kl.Beta(1.0, 2.0), kl.Gaussian(0.2, 0.5, 0.5)], ids=["beta", "gaussian"])
def test_cumulants_are_the_same_in_every_layer(reward):
    G = theory.cumulants.reward_cumulants(tied(reward), 0.9)
    tilde = theory.certainty.tilde_cumulants(tied(reward), 0.9)
    counts = [VISITS], [SUMS], [], [0.5, 0.5]
    (alone,) = theory.cumulants.reward_cumulants(kl.Belief.from_counts(kl.Prior(reward), *counts), 0.9)
    assert len(G) == len(tilde) == 3
    for l in range(3):
        np.testing.assert_allclose(G[l], alone, rtol=1e-12)
        np.testing.assert_allclose(tilde[l], alone + ((2 - l) * 0.9) ** 2 / (2 * np.maximum(VISITS, 1)), rtol=1e-12)


def test_bounds_of_rewards_and_bonuses_hold_in_every_layer():
    belief = tied()
    for law in (theory.reward_bound(belief, TAU), theory.unrolling.little_delta(belief, TAU)):
        assert [np.shape(side) for side in law.upper] == [(2, 2)] * 3
        assert law.holds()
    for l, bonus in enumerate(bonus_at(belief, TAU, "paper")):
        np.testing.assert_allclose(bonus, (0.25 + (2 - l) ** 2) / (2 * TAU * np.maximum(VISITS, 1)), rtol=1e-9)


def test_the_unrolling_bound_counts_all_layers():
    """With one state in every layer too, where a table cut by layers has one block and no more."""
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0), stationary=True)
    belief = kl.Belief.empty(prior, [1, 1, 1], 2, [1.0]).update([0, 1, 2], [0, 0, 1], [1.0, 0.0, 1.0])
    law = theory.unrolling.unrolling_bound(belief, TAU, [[[0.5, 0.5]]] * 3)
    collected = 3 * (0.5 / 2.0 + 0.5 / 1.0)
    assert law.upper == pytest.approx(TAU * 3 * np.log(2) + (0.25 + 9) * collected / (2 * TAU))
    assert law.holds()


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_a_quadrature_shares_its_table(horizon):
    belief = tied(horizon=horizon)
    posterior = theory.quadrature(belief, 2)
    assert len(posterior.rewards) == horizon
    assert len(posterior.transitions) == horizon - 1
    for blocks, means in ((posterior.rewards, belief.reward_means), (posterior.transitions, belief.transition_means)):
        for block, mean in zip(blocks, means, strict=True):
            np.testing.assert_array_equal(block, blocks[0])
            np.testing.assert_allclose(np.tensordot(posterior.weights, block, 1), mean, atol=1e-12)


@pytest.mark.slow
def test_a_quadrature_agrees_with_draws():
    """E Q* of 4,000 draws, 4.5 standard errors for 12 numbers: 1e-4 by chance; the rule's own error is far smaller."""
    belief = tied()
    exact = theory.quadrature(belief, 4)
    drawn = theory.draws(belief, 4_000, seed=3)
    values, errors = drawn.average(drawn.q_values)
    for mine, theirs, error in zip(exact.average(exact.q_values).values, values, errors, strict=True):
        assert (np.abs(mine - theirs) <= 4.5 * error).all()


def test_where_an_episode_is_over_nothing_is_uncertain():
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0), stationary=True)
    belief = kl.Belief.empty(prior, [2, 2], 1, [0.0, 1.0], end=0)
    posterior = theory.quadrature(belief, 3)
    assert len(posterior.weights) == 3 * 3  # one mean reward, one row of two
    assert (posterior.rewards[0][:, 0] == 0.0).all()
    assert (posterior.transitions[0][:, 0, 0] == [1.0, 0.0]).all()


def test_why_laws_of_independent_layers_are_refused():
    """E Q^π of a tied posterior is not Q^π of the mean MDP: what a layer pays and where it leads goes together."""
    belief = tied()
    policy = [np.full((2, 2), 0.5)] * 3
    posterior = theory.quadrature(belief, 4)
    expected = posterior.average(posterior.policy_q_values(policy)).values[0]
    of_means = evaluate(theory.optimistic.mean_mdp(belief), policy).q_values[0]
    assert np.abs(expected - of_means).max() > 1e-3


LAWS = {
    "bellman_inequality": lambda b, e, p: theory.certainty.bellman_inequality(b, e, TAU),
    "cumulant_inequality": lambda b, e, p: theory.certainty.cumulant_inequality(b, e, 1.0),
    "k_value_inequality": lambda b, e, p: theory.k_value_inequality(b, e, TAU),
    "maximal_chain": lambda b, e, p: theory.certainty.maximal_chain(b, e, TAU),
    "expected_q_values": lambda b, e, p: theory.unrolling.expected_q_values(b, p.policy),
    "big_delta": lambda b, e, p: theory.unrolling.big_delta(b, p),
    "unrolled": lambda b, e, p: theory.unrolling.unrolled(b, p),
    "episode_regret": lambda b, e, p: theory.unrolling.episode_regret(b, e, p),
}


@pytest.mark.parametrize("law", LAWS)
def test_laws_of_independent_layers_are_refused(law):
    belief = tied()
    with pytest.raises(ValueError, match="stationary=True: it is a law of layers that are independent"):
        LAWS[law](belief, theory.quadrature(belief, 2), kl.solve(belief, TAU, "paper"))


def test_theorem_1_does_not_speak_of_tied_layers():
    (reason,) = theory.breaks_assumption(kl.Prior(kl.Beta(), stationary=True))
    assert "stationary=True ties the layers" in reason
