"""Vectors of environments: what is learned is what the environments themselves saw, episode by episode."""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import klearning as kl
from klearning.simulators.saving import load
from klearning.tabular.models.tabular import END
from tests.simulators.test_actor import Tavern
from tests.simulators.test_learn import assert_same_learning
from tests.support.small_worlds import corridor

MODES = list(AutoresetMode)
HORIZON = 10


class Diary(gymnasium.Env[Any, Any]):
    """Shows who it is and which step it is at, and writes down its episodes; their lengths differ."""

    def __init__(self, who: int, kind: str = "plain", truncates: bool = False) -> None:
        self.who, self.kind, self.truncates = who, kind, truncates
        cells = spaces.MultiDiscrete([9, 12])
        self.observation_space = spaces.Dict({"at": cells, "more": spaces.Discrete(2)}) if kind == "dict" else cells
        self.action_space = spaces.Tuple([spaces.Discrete(3)]) if kind == "dict" else spaces.Discrete(3)
        self.episodes: list[list[Any]] = []
        self.steps = 0

    def look(self) -> Any:
        cell = np.array([self.who, self.at])
        return {"at": cell, "more": 1} if self.kind == "dict" else cell

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.length = 0, int(self.np_random.integers(1, 8))
        self.episodes.append([])
        return self.look(), {}

    def step(self, action):
        a = int(action[0] if self.kind == "dict" else action)
        self.steps += 1
        reward = float(self.np_random.random())
        self.at += 1
        over = self.at == self.length
        self.episodes[-1].append((self.at - 1, a, reward, over))
        return self.look(), reward, over and not self.truncates, over and self.truncates, {}


@dataclass(frozen=True)
class Witness(kl.Random):
    """Writes down what it is to learn from."""

    learnt: Any = None

    def update(self, memory, episode, t):
        width = memory.policy.shape[1] // HORIZON
        self.learnt.append((t, (episode.states % width).tolist(), episode.actions.tolist(), episode.rewards.tolist()))
        return memory


def vector(mode, *arguments, **options):
    return SyncVectorEnv([lambda who=who: Diary(who, *arguments, **options) for who in range(4)], autoreset_mode=mode)


@pytest.mark.parametrize("kind", ["plain", "dict"])
@pytest.mark.parametrize("truncates", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_the_episodes_learnt_are_those_that_were(mode, truncates, kind):
    """No step leads from one episode into the next, none is lost, and none is counted twice."""
    envs, agent, steps = vector(mode, kind, truncates), Witness([]), []
    learner = kl.learn(agent, envs, episodes=25, horizon=HORIZON, callbacks=[lambda report: steps.append(report.steps)])
    numbers = {tuple(key[:2]): k + 1 for key, k in learner.observations.known.items()}  # (who, step) → state
    told = {}
    for env in envs.envs:
        for episode in env.episodes:
            if episode and episode[-1][-1]:  # behind the last one that was learned an environment may go on idly
                states = [numbers.get((env.who, at), -1) for at, *_ in episode]
                last = numbers.get((env.who, len(episode)), -1) if truncates else END
                told[tuple(reward for _, _, reward, _ in episode)] = [*states, last], [a for _, a, _, _ in episode]
    learnt = {tuple(rewards): (states, actions) for _, states, actions, rewards in agent.learnt}
    assert [t for t, *_ in agent.learnt] == list(range(25))
    assert len(learnt) == learner.episodes_done == len(learner.returns) == 25
    for rewards, episode in learnt.items():
        assert told[rewards] == episode
    assert steps == [len(episode[2]) for episode in agent.learnt]
    assert sum(steps) <= sum(env.steps for env in envs.envs)
    assert {states[0] for states, _ in learnt.values()} == {numbers[who, 0] for who in range(4)}
    assert learner.starts.sum() == 25
    assert not learner.under_way


@pytest.mark.parametrize("mode", MODES)
def test_steps_count_in_every_environment(mode):
    """Those of all environments together; what is under way then is played to its end."""
    reports = []
    learner = kl.learn(kl.Random(), vector(mode), steps=60, horizon=HORIZON, callbacks=[reports.append])
    assert learner.steps == sum(report.steps for report in reports)
    assert 60 <= learner.steps < 60 + 4 * 8  # four episodes of fewer than eight steps
    assert (learner.episodes_done, learner.under_way) == (len(reports), False)
    assert learner.starts.sum() == learner.episodes_done


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.PSRL(), kl.QLearning()], ids=str)
def test_one_environment_in_a_vector_is_one_alone(agent):
    alone = kl.learn(agent, corridor(), episodes=20, seed=4)
    envs = SyncVectorEnv([corridor], autoreset_mode=AutoresetMode.DISABLED)
    assert_same_learning(kl.learn(agent, envs, episodes=20, seed=4), alone)
    parts = kl.learn(agent, envs, episodes=8, seed=4)
    assert_same_learning(kl.learn(parts, envs, episodes=12), alone)
    still = kl.learn(agent, corridor(slip=0.0), episodes=20, seed=4)  # where seeds do not matter
    for mode in MODES:
        envs = SyncVectorEnv([lambda: corridor(slip=0.0)], autoreset_mode=mode)
        assert_same_learning(kl.learn(agent, envs, episodes=20, seed=4), still)


@pytest.mark.parametrize("mode", MODES)
def test_learning_side_by_side_works_and_is_repeatable(mode):
    def learnt():
        envs = SyncVectorEnv([lambda: corridor(6, slip=0.1, limit=15)] * 3, autoreset_mode=mode)
        return kl.learn(kl.KLearning(), envs, episodes=150, seed=1)

    learner = learnt()
    assert np.mean(learner.returns[-50:]) > 0.9
    assert_same_learning(learnt(), learner)


@dataclass(frozen=True)
class Stubborn(kl.Random):
    """The n-th plan has one action, n mod 3, everywhere."""

    plans: Any = None

    def plan(self, memory, streams, t, diagnostics):
        memory.policy[:] = 0.0
        memory.policy[len(self.plans) % 3] = 1.0
        self.plans.append(t)
        return memory


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_follows_the_plan_that_it_began_with(mode):
    envs, agent = vector(mode), Stubborn([])
    kl.learn(agent, envs, episodes=30, horizon=HORIZON)
    actions = [{a for _, a, _, _ in episode} for env in envs.envs for episode in env.episodes if episode]
    assert sum(len(chosen) > 1 for chosen in actions) == 0
    assert len(set.union(*actions)) == 3
    assert len(agent.plans) == 30
    assert agent.plans == sorted(agent.plans)
    assert len(set(agent.plans)) > 10  # each with what was learned by then


class Fragile(Diary):
    """Fails at its tenth step."""

    def step(self, action):
        if self.steps == 10:
            self.steps += 1
            raise KeyboardInterrupt
        return super().step(action)


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_keeps_what_was_learnt_and_gives_up_the_rest(mode, tmp_path):
    envs = SyncVectorEnv(
        [lambda who=who: (Fragile if who == 1 else Diary)(who) for who in range(3)], autoreset_mode=mode
    )
    agent = kl.KLearning()
    with pytest.raises(KeyboardInterrupt) as caught:
        kl.learn(agent, envs, episodes=50, horizon=HORIZON)
    learner = caught.value.learner
    done = learner.episodes_done
    assert 0 < done < 50
    assert learner.starts.sum() == done
    assert not learner.under_way
    visits = learner.belief.visits
    assert visits[np.isfinite(visits)].sum() == sum(len(e) for e in taken(learner, envs))
    learner.save(tmp_path / "x.npz")
    for going_on in (learner, load(tmp_path / "x.npz")):
        fresh = SyncVectorEnv([lambda who=who: Diary(who) for who in range(3)], autoreset_mode=mode)
        assert kl.learn(going_on, fresh, episodes=10).episodes_done == done + 10
        assert going_on.starts.sum() == done + 10


def taken(learner, envs):
    """The episodes behind the returns, as the environments wrote them down."""
    whole = {round(sum(r for _, _, r, _ in e), 9): e for env in envs.envs for e in env.episodes if e}
    return [whole[round(total, 9)] for total in learner.returns]


def test_a_callback_stops_it_and_other_episodes_are_given_up():
    learner = kl.learn(kl.PSRL(), vector(MODES[0]), episodes=50, horizon=HORIZON, callbacks=[lambda r: r.episode < 7])
    assert (learner.episodes_done, learner.starts.sum()) == (7, 7)


def test_a_horizon_that_is_shorter_than_episodes():
    with pytest.raises(ValueError, match=r"horizon=3 is over and environment \d goes on.*TimeLimit\(env, 3\)"):
        kl.learn(kl.Random(), vector(MODES[0]), episodes=20, horizon=3)
    steps = []
    envs = vector(AutoresetMode.DISABLED)
    kl.learn(kl.Random(), envs, episodes=20, horizon=3, callbacks=[lambda report: steps.append(report.steps)])
    assert max(steps) == 3


def test_the_horizon_is_the_time_limit():
    assert kl.learn(kl.Random(), gymnasium.make_vec("FrozenLake-v1", 2), episodes=1).horizon == 100
    assert kl.learn(kl.Random(), SyncVectorEnv([lambda: corridor(limit=7)]), episodes=1).horizon == 7
    with pytest.raises(ValueError, match="has no time limit"):
        kl.learn(kl.Random(), vector(MODES[0]), episodes=1)


def test_what_cannot_be_had_of_a_vector():
    envs = gymnasium.make_vec("FrozenLake-v1", 4)
    with pytest.raises(ValueError, match="evaluate_every needs a model"):
        kl.learn(kl.Random(), envs, episodes=1, settings=kl.LearnSettings(evaluate_every=1))
    with pytest.raises(ValueError, match=r"is a vector of 4 environments: bin each of them.*wrappers=\[kl\.Binned\]"):
        kl.Binned(envs)
    learner = kl.Learner(kl.Random(), envs.observation_space, envs.action_space, 100)  # four as one
    observations, _ = envs.reset(seed=0)
    observations, rewards, *_ = envs.step(learner.act(observations))
    with pytest.raises(ValueError, match=r"reward=array\(.* is not a number.* let kl\.learn\(agent, envs\) play"):
        learner.observe(rewards, observations)


def test_an_actor_that_plays_one_at_a_time_says_so():
    with pytest.raises(ValueError, match=r"is a vector of 2 environments, and .* plays one at a time: give one"):
        kl.learn(Tavern(), gymnasium.make_vec("FrozenLake-v1", 2), episodes=1)


def test_taking_back_while_another_is_under_way_is_an_error():
    learner = kl.Learner(kl.Random(), spaces.Discrete(2), spaces.Discrete(2), 3)
    learner.act(0)
    aside = learner.fork_episode()
    assert (learner.under_way, aside.under_way) == (False, True)
    learner.act(1)
    with pytest.raises(RuntimeError, match="while another episode is under way"):
        learner.rejoin_episode(aside)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_in_other_processes(mode):
    envs = gymnasium.vector.AsyncVectorEnv([lambda: gymnasium.make("FrozenLake-v1")] * 2, autoreset_mode=mode)
    try:
        learner = kl.learn(kl.PSRL(), envs, episodes=20)
    finally:
        envs.close()
    same = SyncVectorEnv([lambda: gymnasium.make("FrozenLake-v1")] * 2, autoreset_mode=mode)
    assert_same_learning(learner, kl.learn(kl.PSRL(), same, episodes=20))


def test_no_environment_of_a_vector_takes_an_action_that_it_does_not_allow():
    """Taxi tells what is possible, and neither stays where it is nor pays for what is not."""

    class Watched(gymnasium.Wrapper):
        def step(self, action):
            state = self.env.unwrapped.s
            assert self.env.unwrapped.action_mask(state)[action] == 1
            return self.env.step(action)

    envs = SyncVectorEnv([lambda: Watched(gymnasium.make("Taxi-v4", max_episode_steps=30))] * 3)
    learner = kl.learn(kl.KLearning(), envs, episodes=6, horizon=30, seed=0)
    assert learner.masks.known
    assert learner.episodes_done == 6
