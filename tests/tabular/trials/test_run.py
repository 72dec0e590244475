"""`run`: determinism, exact regret, what counts as a hit, the edges of a world."""

import numpy as np
import pytest

import klearning as kl
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.trials import regret
from klearning.tabular.trials.trial import new_task

SMALL = {
    "one state": lambda: kl.bandit([0.1, 0.9], noise=0.1),
    "one action": lambda: kl.MDP.from_layers([[[0.5]], [[1.0]]], [[[[1.0]]]], [1.0], noise=0.1),
    "one layer": lambda: kl.MDP.from_layers([[[0.1, 0.4], [0.3, 0.0]]], [], [0.5, 0.5], noise=0.1),
    "coin flips": lambda: kl.bandit([0.2, 0.8], noise="bernoulli"),
    "ragged": lambda: kl.random_mdp([2, 4, 1, 3], actions=3, seed=1),
    "stochastic": lambda: kl.river_swim(horizon=8),
    "deterministic": lambda: kl.deep_sea(5),
}
AGENTS = [
    kl.KLearning(),
    kl.KLearning("schedule"),
    kl.KLearning(0.3),
    kl.KLearning(bonus="sharp"),
    kl.KLearning(bonus="paper"),
]


def same(a, b):
    assert np.array_equal(a.values, b.values)
    assert np.array_equal(a.returns, b.returns)
    assert np.array_equal(a.hits, b.hits)
    assert np.array_equal(a.visits, b.visits)
    for name in a.diagnostics:
        assert np.array_equal(a.diagnostics[name], b.diagnostics[name])


@pytest.mark.parametrize("agent", AGENTS, ids=str)
@pytest.mark.parametrize("world", SMALL.values(), ids=SMALL.keys())
def test_contract(agent, world):
    world = world()
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0)) if world.noise == "bernoulli" else None
    runs = kl.run(agent, world, prior=prior, episodes=40, seeds=2)
    assert runs.values.shape == runs.returns.shape == (2, 40)
    assert np.isfinite(runs.values).all()
    assert np.isfinite(runs.returns).all()
    assert (np.diff(runs.regret, axis=1, prepend=0.0) >= -1e-12).all()
    assert np.array_equal(runs.visits.sum(axis=(1, 2)), [40 * world.horizon] * 2)


def test_same_bytes_whatever_the_threads_and_the_company():
    world = kl.deep_sea(8)
    together = kl.run(kl.KLearning(), world, episodes=200, seeds=4, threads=4)
    same(together, kl.run(kl.KLearning(), world, episodes=200, seeds=4, threads=1))
    alone = kl.run(kl.KLearning(), world, episodes=200, seeds=[2])
    assert np.array_equal(together.returns[2], alone.returns[0])
    assert not np.array_equal(together.returns[0], together.returns[1])


def test_same_bytes_whatever_the_chunks():
    world, agent = kl.river_swim(horizon=6), KLearning()
    belief = kl.Belief.before(kl.Prior(), world)
    logs = []
    for chunks in ([60], [1, 2, 3, 54], [20, 20, 20]):
        task, memory, done = new_task(agent, world, 60, 0), agent.begin(belief), 0
        for count in chunks:
            memory, done = agent.advance(memory, task, done, count), done + count
        logs.append(task.log)
    for log in logs[1:]:
        assert np.array_equal(log.returns, logs[0].returns)
        assert np.array_equal(log.values, logs[0].values)


def test_one_belief_serves_many_runs():
    """Beginning from a belief does not change it."""
    world = kl.deep_sea(6)
    belief = kl.Belief.before(kl.Prior(), world)
    agent = KLearning()
    for _ in range(2):
        agent.advance(agent.begin(belief), new_task(agent, world, 50, 0), 0, 50)
    assert belief.visits.sum() == 0
    assert belief.transitions.rows.length.sum() == 0


def test_what_the_agent_learnt_is_what_happened():
    """The belief that K-learning ends with has the counts of the log, and the counts of `Belief.update`."""
    world, agent = kl.deep_sea(5, slip=0.2), KLearning()
    begun = kl.Belief.before(kl.Prior(), world)
    task, memory, step = new_task(agent, world, 30, 0), agent.begin(begun), begun
    for t in range(30):
        memory = agent.advance(memory, task, t, 1)
        step = step.update(task.episode.states, task.episode.actions, task.episode.rewards)
    ended = begun.after(memory.posterior)
    assert np.array_equal(ended.visits, task.log.visits)
    assert np.array_equal(ended.visits, step.visits)
    assert np.allclose(ended.reward_sums, step.reward_sums, atol=1e-12)
    for ours, theirs in zip(ended.transition_means, step.transition_means, strict=True):
        assert np.allclose(ours, theirs, atol=1e-12)


def test_values_are_those_of_the_policy():
    """The logged value is `evaluate` of the plan made from the same belief."""
    world, agent = kl.river_swim(horizon=5), KLearning(tolerance=1e-12)
    belief = kl.Belief.before(kl.Prior(), world)
    task, memory = new_task(agent, world, 20, 0), agent.begin(belief)
    for t in range(20):
        plan = kl.solve(belief, tolerance=1e-12)
        memory = agent.advance(memory, task, t, 1)
        assert task.log.values[t] == pytest.approx(kl.evaluate(world, plan.policy).value, abs=1e-4)
        assert task.log.diagnostics[0, t] == pytest.approx(plan.temperature, rel=1e-4)
        assert task.log.diagnostics[1, t] == pytest.approx(plan.bound, rel=1e-9)
        belief = belief.update(task.episode.states, task.episode.actions, task.episode.rewards)


def test_returns_average_to_the_values():
    """A fixed temperature on a known world: the mean return is the mean value. False alarms: 1e-6 (4.9 sd)."""
    world = kl.deep_sea(4, noise=0.3)
    prior = kl.Prior(kl.Gaussian(0.0, 1e-9, 0.3), kl.Known(world))
    runs = kl.run(kl.KLearning(temperature=1.0), world, prior=prior, episodes=20_000, seeds=1)
    error = (runs.returns - runs.values)[0]
    assert abs(error.mean()) < 4.9 * error.std() / np.sqrt(error.size)


def test_evaluation_stride_changes_values_alone():
    world = kl.deep_sea(6)
    every, some = (kl.run(kl.KLearning(), world, episodes=50, seeds=2, evaluate_every=k) for k in (1, 7))
    assert np.array_equal(every.returns, some.returns)
    assert np.array_equal(every.values[:, ::7], some.values[:, ::7])
    assert np.array_equal(some.values[:, 1], some.values[:, 0])


def test_values_are_never_computed_if_asked_so():
    """`evaluate_every=0` is never, as in `kl.learn`: the same episodes, without exact values."""
    world = kl.deep_sea(4)
    every, never = (kl.run(kl.PSRL(), world, episodes=20, seeds=2, evaluate_every=k) for k in (1, 0))
    np.testing.assert_array_equal(never.returns, every.returns)
    assert np.isnan(never.values).all()
    assert np.isnan(never.regret).all()


def test_first_hit_and_solved():
    hits = np.zeros((3, 40), bool)
    hits[0, 30:] = True  # 1 of 31 at t=31, 4 of 34 is the first share of at least 10%
    hits[1, 4] = True  # one lucky hit within ten
    assert np.array_equal(regret.first_hit(hits), [31, 5, np.nan], equal_nan=True)
    assert np.array_equal(regret.time_to_solve(hits), [34, 5, np.nan], equal_nan=True)
    assert np.array_equal(regret.time_to_solve(hits, burn_in=11), [34, np.nan, np.nan], equal_nan=True)
    hits[2, 9] = True  # 1 of 10 is 10%
    assert regret.time_to_solve(hits)[2] == 10


def test_regret_by_hand():
    values = np.array([[0.0, 0.5, 1.0], [1.0, 1.0, 0.25]])
    assert regret.cumulative_regret(1.0, values).tolist() == [[1.0, 1.5, 1.5], [0.0, 0.0, 0.75]]
    runs = kl.run(kl.KLearning(), kl.deep_sea(3), episodes=5, seeds=2)
    np.testing.assert_allclose(np.diff(runs.regret, axis=1, prepend=0.0), runs.optimal_value - runs.values, atol=1e-12)


def test_goal_is_reached_by_going_right_alone():
    world = kl.deep_sea(3)
    assert world.goal == (5, 1)
    runs = kl.run(kl.KLearning(), world, episodes=200, seeds=1)
    assert runs.hits.any()
    assert np.array_equal(runs.hits, runs.returns > 0.5)  # noise 0.05: beyond reach otherwise (10 sd)


def test_a_failing_agent_is_reported():
    class Broken(KLearning):
        def advance(self, memory, task, first, count):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        kl.run(Broken(), kl.deep_sea(3), episodes=5, seeds=2)


def test_too_much_for_memory_is_one_line(monkeypatch):
    """It says how many bytes, and what to do; what is kept is never chosen by size."""
    monkeypatch.setattr("klearning.tabular.trials.run.memory_bytes", lambda: 10_000)
    with pytest.raises(
        ValueError, match=r"take 25,800 bytes, and this machine has 10,000: give keep=\"points\""
    ) as error:
        kl.run(kl.PSRL(), kl.deep_sea(4), episodes=200, seeds=5)
    assert "\n" not in str(error.value)
    some = kl.run(kl.PSRL(), kl.deep_sea(4), episodes=200, seeds=5, keep="points")
    monkeypatch.undo()
    whole = kl.run(kl.PSRL(), kl.deep_sea(4), episodes=200, seeds=5)
    np.testing.assert_array_equal(some.regret, whole.regret[:, some.points - 1])
    np.testing.assert_array_equal(some.visits, whole.visits)
    with pytest.raises(ValueError, match="episode 3 was not kept"):
        kl.run(kl.PSRL(), kl.deep_sea(4), episodes=200, seeds=5, keep=[1, 200]).at([3])
