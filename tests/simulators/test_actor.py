"""`learn` needs an Actor and nothing more; `tabulated` makes the policy of any a table, for exact values."""

import gymnasium
import numpy as np
import pytest

import klearning as kl
from klearning.simulators.actor import Actor, tabulated
from klearning.simulators.learn import learner_for
from tests.support.small_worlds import corridor


class Drunkard:
    """An actor without tables, memory or wit: goes right with chance p, and counts."""

    diagnostics = {"sobriety": 0.0}  # noqa: RUF012
    continuing, discount, steps = False, 1.0, 0

    def __init__(self, observation_space, action_space, horizon, p=0.5, seed=0):
        self.spaces, self.horizon, self.seed, self.p = (observation_space, action_space), horizon, seed, p
        self.rng = np.random.default_rng(seed)
        self.episodes_done, self.step, self.over, self.returns, self.earned = 0, 0, False, [], 0.0

    @property
    def under_way(self):
        return self.step > 0

    def check_spaces(self, spaces):
        if spaces[:2] != self.spaces:
            raise ValueError("other spaces")

    def act(self, observation):
        return int(self.rng.random() < self.p)

    def observe(self, reward, observation, terminated=False, truncated=False):
        self.step, self.earned = self.step + 1, self.earned + reward
        self.over = terminated or truncated or self.step == self.horizon

    def end_episode(self):
        self.returns.append(self.earned)
        self.episodes_done += 1
        self.abandon_episode()

    def abandon_episode(self):
        self.step, self.over, self.earned = 0, False, 0.0

    def predict(self, observation, step=0, how="greedy"):
        return 1

    def policies(self, observations, how="soft"):
        return np.tile([1.0 - self.p, self.p], (self.horizon, len(observations), 1))

    def save(self, path):
        raise NotImplementedError


class Tavern:
    """An agent that brings its own actor."""

    def __init__(self, p=0.5):
        self.p = p

    def make_learner(self, observation_space, action_space, horizon, *, bins=None, prior=None, seed=0):
        assert prior is None
        assert bins is None
        return Drunkard(observation_space, action_space, horizon, self.p, seed)


def test_a_learner_is_an_actor_and_an_agent_is_none():
    env = corridor()
    assert isinstance(kl.Learner(kl.KLearning(), env.observation_space, env.action_space, 5), Actor)
    assert isinstance(Drunkard(env.observation_space, env.action_space, 5), Actor)
    assert not isinstance(kl.KLearning(), Actor)
    assert not isinstance(Tavern(), Actor)


def test_learn_asks_an_agent_for_its_actor():
    reports = []
    actor = kl.learn(Tavern(p=1.0), corridor(), episodes=5, seed=3, callbacks=[reports.append])
    assert isinstance(actor, Drunkard)
    assert (actor.seed, actor.episodes_done, actor.returns) == (3, 5, [1.0] * 5)
    assert [report.diagnostics for report in reports] == [{"sobriety": 0.0}] * 5
    assert kl.learn(actor, corridor(), episodes=2) is actor
    assert actor.episodes_done == 7
    with pytest.raises(ValueError, match="other spaces"):
        kl.learn(actor, corridor(9), episodes=2)


def test_the_exact_value_of_an_actor_without_tables():
    """Right with chance p and 4 states in a bandit: the mean of the arms by p. Six standard errors: 2e-9."""
    world = kl.bandit([0.2, 0.7], noise=0.0)
    reports = []
    actor = kl.learn(
        Tavern(p=0.3),
        kl.WorldEnv(world),
        episodes=4000,
        callbacks=[reports.append],
        settings=kl.LearnSettings(evaluate_every=1000),
    )
    exact = 0.7 * 0.2 + 0.3 * 0.7
    assert world.value(tabulated(actor, world)) == pytest.approx(exact, abs=1e-14)
    assert [r.value for r in reports if r.value is not None] == pytest.approx([exact] * 4, abs=1e-14)
    assert reports[0].regret == pytest.approx(0.7 - exact)
    assert abs(np.mean(actor.returns) - exact) < 6 * 0.25 / np.sqrt(4000)


WORLDS = {
    "numbered through all layers": kl.deep_sea(4),
    "numbered within": kl.river_swim(4, 6),
    "random": kl.random_mdp(seed=3),
}


@pytest.mark.parametrize("world", WORLDS)
def test_tabulated_asks_for_every_state(world):
    """Beside a table that is filled state by state, with the number that the environment shows there."""
    mdp = WORLDS[world]
    env = kl.WorldEnv(mdp)
    learner = kl.learn(kl.PSRL(), env, episodes=30, seed=1)
    table = np.zeros((mdp.states, mdp.actions))
    for l, (low, high) in enumerate(zip(mdp.layers[:-1], mdp.layers[1:], strict=True)):
        for s in range(low, high):
            table[s] = learner.policies([s - low if env.walk.within else s])[l, 0]
    np.testing.assert_array_equal(tabulated(learner, mdp), table.T)
    assert mdp.value(tabulated(learner, mdp)) == pytest.approx(kl.evaluate(mdp, table).value, abs=1e-12)


@pytest.mark.parametrize("grow_states", [False, True])
@pytest.mark.parametrize("how", ["soft", "greedy"])
def test_tabulated_is_the_policy_by_point(grow_states, how):
    env = gymnasium.make("FrozenLake-v1")
    env = gymnasium.wrappers.TimeLimit(env.unwrapped, 10)
    learner = kl.learn(kl.KLearning(), env, episodes=20, horizon=10, settings=kl.LearnSettings(grow_states=grow_states))
    mdp = kl.MDP.from_gymnasium(env, 10)
    policy = learner.memory.policy if how == "soft" else learner.agent.exploit(learner.memory)
    assert mdp.value(tabulated(learner, mdp, how=how)) == mdp.value(learner.by_point(policy))


def test_a_world_that_is_longer_than_the_actor():
    learner = kl.learn(kl.KLearning(), kl.WorldEnv(kl.river_swim(4, 6)), episodes=1, horizon=5)
    with pytest.raises(ValueError, match="is longer than the actor's horizon of 5"):
        tabulated(learner, kl.river_swim(4, 6))


def test_many_new_states_in_the_episode_under_way():
    """They share one column until it has ended."""
    env = kl.WorldEnv(kl.deep_sea(5))
    learner = learner_for(kl.KLearning(), env)
    observation, _ = env.reset(seed=0)
    for _ in range(4):
        observation, reward, *_ = env.step(learner.act(observation))
        learner.observe(reward, observation)
    np.testing.assert_allclose(tabulated(learner, env.mdp).sum(axis=0), 1.0)
    np.testing.assert_allclose(learner.by_point(learner.policy).sum(axis=2), 1.0)
