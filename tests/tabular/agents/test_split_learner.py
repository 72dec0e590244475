"""The bonus `split` in K-learning: the counts it prices rows by are the posterior's own, however a memory is moved."""

from itertools import product

import numpy as np
import pytest
from gymnasium.spaces import Discrete

import klearning as kl
from klearning.numerics.sparse.rows import row_sums
from klearning.tabular.trials.trial import new_task

HORIZON = 4
AGENT = kl.KLearning(bonus="split")


def memory_of(learner):
    return learner.memory.posterior, learner.memory.work.unseen


def assert_priced_by_its_own_counts(learner):
    p, u = memory_of(learner)
    assert u.moves is p.moves
    assert p.moves.shape[1] == p.visits.shape[1]


def play(learner, episodes, seed):
    """A walk in which every step leads to a new number now and then, and sometimes the world is over."""
    rng, actions = np.random.default_rng(seed), []
    for _ in range(episodes):
        x = int(rng.integers(3))
        while not learner.over:
            a = learner.act(x)
            actions.append(int(a))
            x = 2 * x + int(a) + int(rng.integers(3))
            learner.observe(float(x % 5 == 0), x, terminated=bool(rng.random() < 0.1))
        learner.end_episode()
    return actions


def learner(seed=0, stationary=True, grow_states=True):
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.3), kl.Dirichlet(0.5), stationary=stationary)
    return kl.Learner(AGENT, Discrete(400), Discrete(2), HORIZON, prior=prior, seed=seed, grow_states=grow_states)


@pytest.mark.parametrize("stationary", [True, False])
def test_counts_are_shared_while_tables_grow(stationary):
    one = learner(stationary=stationary)
    before = len(one.starts)
    play(one, 60, 1)
    assert len(one.starts) > before
    assert_priced_by_its_own_counts(one)
    p, _ = memory_of(one)
    seen = row_sums(p.model.rows)
    np.testing.assert_array_equal(p.moves[:, 1:][np.isfinite(p.moves[:, 1:])].sum(), seen.sum())
    assert p.moves[np.isfinite(p.moves)].sum() > 60


@pytest.mark.parametrize("stationary", [True, False])
def test_grown_tables_plan_as_a_belief_of_the_same_counts(stationary):
    """K of the next plan is what `solve` makes of the same statistics."""
    one = learner(stationary=stationary)
    play(one, 60, 1)
    one.act(0)
    p, _ = memory_of(one)
    belief = one.empty_belief().after(p)
    belief.initial[:] = p.model.initial
    want = kl.solve(belief, one.diagnostics["temperature"], "split")
    assert one.diagnostics["bound"] == pytest.approx(want.bound, rel=1e-12)
    policy = np.concatenate(want.policy).reshape(one.policy.shape)
    np.testing.assert_allclose(one.policy, policy, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("stationary", "grow_states"), list(product([True, False], [True, False])))
def test_a_loaded_learner_goes_on_bit_for_bit(tmp_path, stationary, grow_states):
    one = learner(3, stationary, grow_states)
    play(one, 30, 2)
    one.save(tmp_path / "learner.npz")
    other = kl.load(tmp_path / "learner.npz")
    assert_priced_by_its_own_counts(other)
    assert play(one, 30, 4) == play(other, 30, 4)
    assert_priced_by_its_own_counts(other)
    assert one.diagnostics == other.diagnostics
    for x, y in zip(memory_of(one)[0].moves, memory_of(other)[0].moves):
        np.testing.assert_array_equal(x, y)


def test_counts_are_shared_after_episodes():
    world = kl.deep_sea(6)
    memory = AGENT.begin(kl.Belief.before(kl.Prior(), world))
    task = new_task(AGENT, world, 50, 0)
    memory = AGENT.advance(memory, task, 0, 50)
    assert memory.work.unseen.moves is memory.posterior.moves
    assert memory.posterior.moves.sum() == 50 * 5  # nothing is known to follow the last layer


def test_it_is_a_bound_while_it_learns_and_solves_deep_sea():
    """Solved within 300 at depth 10 (69 on average); every plan is certified, and K above what `reward` makes of it."""
    runs = kl.run(AGENT, kl.deep_sea(10), episodes=300, seeds=5, threads=1)
    assert np.isfinite(runs.solved).all()
    assert np.isfinite(runs.diagnostics["gap"]).all()
    assert (runs.diagnostics["gap"] <= 1e-5 * np.abs(runs.diagnostics["bound"])).all()
