"""Actions that are not allowed, and discounts: against slow recursions and worlds that never had the actions."""

from dataclasses import replace

import numpy as np
import pytest

import klearning as kl
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, forget
from klearning.tabular.models.sweeps import FORBIDDEN
from klearning.tabular.optimism.program import program
from klearning.tabular.trials.task import Streams

S, A, H = 4, 3, 5
PRIOR = kl.Prior(kl.Gaussian(0.1, 0.7, 0.5), kl.Dirichlet(0.6), stationary=True)


def counted(prior, seed=0, actions=A, discount=1.0):
    """A belief after random counts, one table for all layers if the prior is stationary."""
    rng = np.random.default_rng(seed)
    moves = rng.integers(0, 3, (H, S, actions, S)).astype(float)
    moves[rng.random((H, S, actions)) < 0.4] = 0.0
    visits = moves.sum(axis=-1)
    sums = rng.normal(0.0, 1.0, visits.shape) * np.sqrt(visits)
    if prior.reward.bounds:
        sums = rng.random(visits.shape) * visits
    belief = Belief.from_counts(prior, list(visits), list(sums), list(moves[:-1]), np.full(S, 1 / S))
    return replace(belief, discount=discount)


def forbidding(belief, forbidden):
    """The belief with these (A, states of a layer) not allowed."""
    table = np.tile(forbidden, (1, belief.visits.shape[1] // S))
    visits, sums = np.where(table, np.inf, belief.visits), np.where(table, FORBIDDEN, belief.reward_sums)
    return replace(belief, visits=visits, reward_sums=sums)


def without(belief, a):
    """The belief of a world that never had action a."""
    keep = [b for b in range(belief.actions) if b != a]
    blocks = belief.tables.to_blocks(belief.transitions.rows)
    rows = belief.tables.to_rows([block[:, keep] for block in blocks], len(keep))
    return replace(
        belief,
        visits=np.ascontiguousarray(belief.visits[keep]),
        reward_sums=np.ascontiguousarray(belief.reward_sums[keep]),
        transitions=belief.transitions._replace(rows=rows),
    )


@pytest.mark.parametrize("bonus", ["paper", "sharp", "reward", "split"])
@pytest.mark.parametrize("stationary", [True, False])
@pytest.mark.parametrize("a", [0, 1])
def test_an_action_that_is_not_allowed_is_as_if_it_were_not_there(bonus, stationary, a):
    prior = kl.Prior(kl.Beta(1.0, 2.0), kl.Dirichlet(0.6), stationary=stationary)
    belief = counted(prior)
    forbidden = np.zeros((A, S), np.bool_)
    forbidden[a] = True
    one, other = kl.solve(forbidding(belief, forbidden), bonus=bonus), kl.solve(without(belief, a), bonus=bonus)
    assert one.temperature == pytest.approx(other.temperature, rel=1e-4)
    assert one.bound == pytest.approx(other.bound, rel=1e-9)
    at = kl.solve(forbidding(belief, forbidden), other.temperature, bonus)
    again = kl.solve(without(belief, a), other.temperature, bonus)
    keep = [b for b in range(A) if b != a]
    for l in range(H):
        np.testing.assert_allclose(at.values[l], again.values[l], rtol=1e-12)
        np.testing.assert_allclose(at.policy[l][:, keep], again.policy[l], rtol=1e-10, atol=1e-300)
        assert (at.policy[l][:, a] == 0.0).all()
    assert one.proved == other.proved


def slow_values(belief, tau, c, forbidden):
    """The optimistic Bellman equation with a discount, over what is allowed, by loops."""
    m, P, V = belief.reward_means, belief.transition_means, np.zeros(S)
    values = []
    for l in reversed(range(H)):
        K = m[l] + c[l] / tau + (belief.discount * (P[l] @ V) if l + 1 < H else 0.0)
        V = np.array([tau * np.logaddexp.reduce(K[s][~forbidden[:, s]] / tau) for s in range(S)])
        values.append(V)
    return values[::-1]


@pytest.mark.parametrize("bonus", ["sharp", "reward"])
@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_masks_that_differ_by_state_and_discounts(bonus, discount):
    forbidden = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 1]], np.bool_)
    belief = forbidding(counted(PRIOR, 3, discount=discount), forbidden)
    c = [np.ascontiguousarray(x) for x in np.split(program(belief, bonus).c.T, H)]
    plan = kl.solve(belief, 0.3, bonus)
    for V, slow in zip(plan.values, slow_values(belief, 0.3, c, forbidden), strict=True):
        np.testing.assert_allclose(V, slow, rtol=1e-12)


def test_draws_never_allow_what_is_not_allowed():
    forbidden = np.zeros((A, S), np.bool_)
    forbidden[2, 1] = True
    belief = forbidding(counted(PRIOR), forbidden)
    world = belief.sample(1)
    assert all(kl.optimal(world).policy[l][1, 2] == 0.0 for l in range(H))
    coins = forbidding(counted(kl.Prior(kl.Beta(), kl.Dirichlet(0.6), stationary=True)), forbidden)
    draws = coins.prior.reward.draw(coins.mean_rewards(), np.random.default_rng(0))
    np.testing.assert_array_equal(draws <= FORBIDDEN, forbidden)
    for call in (lambda: kl.solve_cone(belief), coins.sample):
        with pytest.raises(ValueError, match="not allowed"):
            call()


def test_a_price_of_transitions_is_discounted_as_a_whole():
    """Over two steps γ stands before what the second is worth, which does not depend on it."""
    moves = [np.full((S, A, S), 0.5)]
    visits, sums = [np.full((S, A), 2.0), np.zeros((S, A))], [np.full((S, A), 0.3), np.zeros((S, A))]
    whole = Belief.from_counts(PRIOR, visits, sums, moves, np.full(S, 1 / S))
    one, part = (kl.solve(replace(whole, discount=d), 0.3, "split") for d in (1.0, 0.7))
    ready = program(whole, "split")
    own = (ready.model.reward[:, :S] + ready.c[:, :S] / 0.3).T
    np.testing.assert_allclose(part.k_values[0] - own, 0.7 * (one.k_values[0] - own), rtol=1e-12)
    assert (one.k_values[0] > own).all()


DISCOUNT, LONG = 0.8, 60
MOVES = np.array([[1, 2, 0], [0, 0, 2]])  # (A, S): where an action leads
REWARDS = np.array([[0.1, 0.0, 0.9], [0.3, 0.2, 0.5]])


def discounted_optimum():
    V = np.zeros(3)
    for _ in range(500):
        V = (REWARDS + DISCOUNT * V[MOVES]).max(axis=0)
    return V


AGENTS = {
    "K-learning": kl.KLearning(temperature=1e-4),
    "soft value iteration": kl.SoftQLearning(1e-4, form="model"),
    "PSRL": kl.PSRL(),
    "RLSVI": kl.RLSVI(sd=1e6, noise=0.01, scale=0.0),
    "UCBVI": kl.UCBVI(scale=0.0),
    "UCRL2": kl.UCRL2(scale=0.0),
    "UCFH": kl.UCFH(scale=0.0, least_visits=1.0),
    "BEB": kl.BEB(scale=0.0),
    "BOLT": kl.BOLT(scale=1e-9),
    "Q-learning": kl.QLearning(step=1.0),
    "soft Q-learning": kl.SoftQLearning(1e-4, step=1.0),
}


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_every_agent_that_knows_the_world_has_its_discounted_values(agent):
    """A plan over 60 steps is off by at most 0.8^60 / 0.2 · 0.9 < 1e-5."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 1e-4), kl.Dirichlet(1e-9), stationary=True)
    belief = Belief.empty(prior, [3] * LONG, 2, np.full(3, 1 / 3), discount=DISCOUNT)
    memory, rng = agent.begin(belief), np.random.default_rng(0)
    for t in range(600 if agent == AGENTS["soft Q-learning"] else 40):  # which has a value for every layer
        states, actions = [t % 3], rng.integers(0, 2, LONG)
        for a in actions:
            states.append(MOVES[a, states[-1]])
        rewards = np.array([REWARDS[a, s] for a, s in zip(actions, states)])
        numbers = np.array(states) + 3 * np.arange(LONG + 1)
        memory = agent.update(memory, Episode(numbers, actions, rewards), t)
        memory = agent.plan(memory, Streams(rng, rng), t, np.zeros(len(agent.diagnostics)))
    np.testing.assert_allclose(agent.values(memory)[:3], discounted_optimum(), atol=2e-3)


def test_a_discount_needs_one_table_for_all_steps():
    with pytest.raises(ValueError, match=r"discount=0.9 needs a prior with stationary=True"):
        Belief.empty(kl.Prior(), [2, 2], 2, [0.5, 0.5], discount=0.9)
    with pytest.raises(ValueError, match=r"discount=0.0 is out of range"):
        Belief.empty(PRIOR, [2, 2], 2, [0.5, 0.5], discount=0.0)


def test_forgetting_multiplies_all_counts_and_drops_what_is_negligible():
    belief = counted(PRIOR)
    p, q = belief.posterior(), belief.posterior()
    forget(p, 0.5)
    np.testing.assert_allclose(p.visits, 0.5 * q.visits)
    np.testing.assert_allclose(p.reward_sums, 0.5 * q.reward_sums)
    np.testing.assert_allclose(p.moves, 0.5 * q.moves)
    ready = replace(belief.after(p), forgets=True)
    np.testing.assert_allclose(ready.posterior().model.reward, p.model.reward)
    assert not kl.solve(replace(belief, forgets=True)).proved
    for _ in range(40):
        forget(p, 0.5)
    fresh = Belief.empty(PRIOR, [S] * H, A, np.full(S, 1 / S)).posterior()
    for x, y in ((p.visits, fresh.visits), (p.moves, fresh.moves), (p.model.reward, fresh.model.reward),
                 (p.model.scale, fresh.model.scale), (p.model.rows.length, fresh.model.rows.length)):  # fmt: skip
        np.testing.assert_array_equal(x, y)


def test_what_forgets_proves_nothing():
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
    belief = Belief.empty(prior, [2, 2], 2, [0.5, 0.5])
    assert kl.solve(belief, bonus="split").proved
    assert not kl.solve(replace(belief, forgets=True), bonus="split").proved
