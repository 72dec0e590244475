"""At scale 1 the optimistic agents' values are upper bounds on the truth, as often as their papers promise.

Rewards are coin flips. A world counts as failed where any of some forty looks along the way finds a value of the first
layer below the truth. The promise is a share of at most δ = 0.1; an agent that fails just so often would be found
wanting here by chance in one test of a thousand. Most never fail.
"""

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.tabular.trials.trial import new_task
from tests.support import agent_oracles as slow

DELTA, WORLDS = 0.1, 30
COINS = kl.Prior(kl.Beta(1.0, 2.0), kl.Dirichlet(1.0))
SHAPES = {"one layer": [1], "two layers": [1, 3], "three layers": [2, 3, 2]}
AGENTS = {
    "UCBVI hoeffding": lambda scale: kl.UCBVI("hoeffding", scale, DELTA),
    "UCBVI bernstein": lambda scale: kl.UCBVI("bernstein", scale, DELTA),
    "UCRL2": lambda scale: kl.UCRL2(scale, DELTA),
    "UCFH": lambda scale: kl.UCFH(scale, delta=DELTA, least_visits=1),
    "OptimisticQLearning hoeffding": lambda scale: kl.OptimisticQLearning("hoeffding", scale, DELTA),
    "OptimisticQLearning bernstein": lambda scale: kl.OptimisticQLearning("bernstein", scale, DELTA),
}
PAIRS = [(agent, shape) for i, agent in enumerate(AGENTS) for k, shape in enumerate(SHAPES) if (i + k) % 3 < 2]


def excess(agent, world, episodes, seed=0):
    """Optimistic less true values of the first layer: (times, states)."""
    memory, task = agent.begin(slow.belief(world, COINS)), new_task(agent, world, episodes, seed, every=episodes)
    truth, done, seen = kl.optimal(world).values[0], 0, []
    for stop in np.unique(np.geomspace(1, episodes, 30).astype(int)):
        memory, done = agent.advance(memory, task, done, int(stop) - done), int(stop)
        seen.append(agent.values(memory)[: len(truth)] - truth)
    return np.array(seen)


def failures(agent, worlds, episodes):
    return sum(excess(agent, world, episodes, seed).min() < -1e-9 for seed, world in enumerate(worlds))


def allowed(worlds):
    """Exceeded with a chance of 1e-3 if each world fails with chance δ."""
    return stats.binom.ppf(0.999, worlds, DELTA)


def drawn(shape, worlds=WORLDS):
    return [kl.random_mdp(SHAPES[shape], actions=2, prior=COINS, seed=seed) for seed in range(worlds)]


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "shape"), PAIRS)
def test_values_are_upper_bounds_as_often_as_promised(agent, shape):
    assert failures(AGENTS[agent](1.0), drawn(shape), 3000) <= allowed(WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "shape"), PAIRS)
def test_it_is_the_bonus_that_makes_them_so(agent, shape):
    """At scale 0 more worlds fail than may."""
    assert failures(AGENTS[agent](0.0), drawn(shape, 20), 2000) > allowed(20)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["UCFH", "OptimisticQLearning bernstein"])
def test_one_coin_flipped_very_often(agent):
    """Nothing to choose and nowhere to go: the reward's own uncertainty is all there is."""
    assert failures(AGENTS[agent](1.0), [kl.bandit([0.5], "bernoulli")] * 12, 100_000) <= allowed(12)


@pytest.mark.slow
def test_bernstein_ucbvi_is_made_for_known_rewards():
    """As its page says: with random rewards its bonus, O(1/n) in the last layer, is in the end too small."""
    assert failures(AGENTS["UCBVI bernstein"](1.0), [kl.bandit([0.5], "bernoulli")] * 12, 300_000) > allowed(12)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_bernstein_ucbvi_where_rewards_are_certain_as_in_its_paper(shape):
    certain = [kl.MDP.from_layers(w.rewards, w.transitions, w.initial) for w in drawn(shape)]
    assert failures(AGENTS["UCBVI bernstein"](1.0), certain, 3000) <= allowed(WORLDS)


@pytest.mark.thin(3)
@pytest.mark.parametrize("agent", AGENTS)
def test_bounds_come_down(agent):
    """One layer: more than half of the way from the trivial bound, 1, to the truth."""
    assert excess(AGENTS[agent](1.0), kl.bandit([0.1, 0.05], "bernoulli"), 300_000)[-1, 0] < 0.45
