"""Priors from random play: what they are made of, and that nothing else is touched."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv

import klearning as kl
from klearning.lab.experiments.spec import make_spec
from klearning.simulators.codec import build_prior, prior_data
from klearning.simulators.suggest_prior import MASSES, Pair, Play, mass_of_rows


class Rooms(gym.Env):
    """Six rooms in a ring: action a moves a + 1 rooms on, or anywhere at all if it ``wanders``."""

    observation_space, action_space = Discrete(6), Discrete(2)

    def __init__(self, pay=(0.0, 1.0), noise=0.0, wanders=False, mask=None):
        self.pay, self.noise, self.wanders, self.mask = pay, noise, wanders, mask
        self.resets, self.taken = [], []

    @property
    def info(self):
        return {} if self.mask is None else {"action_mask": np.array(self.mask, np.int8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets.append(seed)
        self.room = 0
        return self.room, self.info

    def step(self, action):
        self.taken.append(action)
        reward = self.pay[action] + self.noise * self.np_random.standard_normal()
        self.room = int(self.np_random.integers(6)) if self.wanders else (self.room + action + 1) % 6
        return self.room, reward, False, False, self.info


def suggest(env, **settings):
    return kl.suggest_prior(env, horizon=10, **settings)


def test_what_hardly_varies():
    prior = suggest(Rooms(pay=(-3.0, 1.0)))
    assert (prior.reward.mean, prior.reward.sd, prior.reward.noise, prior.reward.strength) == (-1.0, 2.0, 0.2, 1.0)
    assert prior.transitions.mass <= 2 * MASSES[0]
    assert prior.stationary
    assert "rewards were -3 to 1" in prior.reasons[1]
    assert "of 12 pairs met again 0 led elsewhere" in prior.reasons[3]


def test_what_varies():
    """Noise of 2 from some 188 degrees of freedom: 5 standard errors are 26%. In 16 visits to six rooms k is 5 or 6."""
    prior = suggest(Rooms(noise=2.0, wanders=True))
    assert prior.reward.noise == pytest.approx(2.0, rel=0.26)
    assert 1.0 < prior.transitions.mass < 8.0
    assert "of 12 pairs met again 12 paid another reward" in prior.reasons[2]


@pytest.mark.parametrize("seed", [0, 1])
def test_rewards_on_another_scale_are_priors_on_another_scale(seed):
    one, ten = (suggest(Rooms((a, b), noise), seed=seed).reward for a, b, noise in ((0, 1, 0.5), (0, 10, 5.0)))
    assert [10 * x for x in (one.mean, one.sd, one.noise)] == pytest.approx([ten.mean, ten.sd, ten.noise], rel=0.02)


class Alarm(Rooms):
    """Pays −100 once, in its third step, and little otherwise."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, -100.0 if len(self.taken) == 3 else reward, *rest


def test_one_extreme_reward_does_not_set_the_hope_of_all():
    """Half the range is 50 there, but only one pair in twelve has another mean: about −6, in place of 0 or 1."""
    assert suggest(Rooms()).reward.sd == 0.5
    assert 2.0 < suggest(Alarm()).reward.sd < 15.0


def test_rewards_that_say_nothing():
    nothing, always = suggest(Rooms((0.0, 0.0))), suggest(Rooms((-2.0, -2.0)))
    assert (nothing.reward.mean, nothing.reward.sd) == (0.0, 1.0)
    assert "nothing was ever paid" in nothing.reasons[1]
    assert (always.reward.mean, always.reward.sd) == (-2.0, 2.0)
    once = suggest(Rooms(), episodes=1, seed=3)
    assert len(once.reasons) == 4
    short = kl.suggest_prior(Rooms(), episodes=1, horizon=1)
    assert "of 0 pairs met again" in short.reasons[2]
    assert short.reward.noise == 0.3 * short.reward.sd
    assert short.transitions.mass == pytest.approx(np.sqrt(MASSES[0] * MASSES[-1]), rel=0.02)


@pytest.mark.parametrize("mass", [0.1, 1.0, 4.0])
def test_the_mass_is_that_of_which_rows_were_drawn(mass):
    """200 rows of 30 visits from the urn of Hoppe, a fixed seed: within a quarter."""
    rng, pairs = np.random.default_rng(0), {}
    for row in range(200):
        pair = pairs[row, 0] = Pair()
        for n in range(30):
            new = rng.random() < mass / (mass + n)
            seen = list(pair.successors.elements())
            pair.successors[len(pair.successors) if new else seen[rng.integers(n)]] += 1
    assert mass_of_rows(Play(pairs, [30] * 200, 30))[0] == pytest.approx(mass, rel=0.25)


def test_it_prints_its_reasons_and_is_data_like_any_prior():
    env = Rooms()
    prior = suggest(env)
    text = str(prior)
    assert text.startswith("Prior(reward=UnknownNoise(mean=")
    assert text.count("\n") == 4
    for reason in prior.reasons:
        assert reason in text
    plain = kl.Prior(prior.reward, prior.transitions, stationary=True)
    assert prior_data(prior) == prior_data(plain)
    names = [
        make_spec({"name": "bandit"}, {"name": "PSRL"}, prior_data(p), episodes=3, seeds=[0]).name
        for p in (prior, plain)
    ]
    assert names[0] == names[1]
    assert type(build_prior(prior_data(prior))) is kl.Prior
    assert env.resets == env.resets[:20]


def test_learning_is_not_changed_by_having_looked():
    looked, fresh = Rooms(noise=1.0, wanders=True), Rooms(noise=1.0, wanders=True)
    prior = suggest(looked, seed=5)
    assert str(prior) == str(suggest(fresh, seed=5)) == str(suggest(Rooms(noise=1.0, wanders=True), seed=5))
    assert str(prior) != str(suggest(fresh, seed=6))
    new = Rooms(noise=1.0, wanders=True)
    learners = [kl.learn(kl.KLearning(), env, prior=prior, horizon=10, episodes=5) for env in (looked, new)]
    assert learners[0].returns == learners[1].returns
    assert kl.Learner(kl.PSRL(), Discrete(6), Discrete(2), 10, prior=prior).prior is prior


def test_an_environment_by_name():
    assert repr(kl.suggest_prior("FrozenLake-v1", seed=3)) == repr(kl.suggest_prior(gym.make("FrozenLake-v1"), seed=3))


def test_what_is_not_allowed_is_not_done():
    env = Rooms(mask=(0, 1))
    prior = suggest(env)
    assert set(env.taken) == {1}
    assert prior.reward.mean == 1.0


def sensor():
    env = Rooms()
    env.observation_space = Box(0.0, 1.0, (1,))
    return env


@pytest.mark.parametrize(
    ("env", "settings", "complaint"),
    [
        ("FrozenLaek-v1", {}, "did you mean 'FrozenLake-v1'"),
        (kl.deep_sea(3), {}, "is a world: give kl.WorldEnv"),
        (SyncVectorEnv([Rooms] * 2), {"horizon": 5}, "is a vector of 2 environments: give one of them"),
        (Rooms(), {}, "give horizon="),
        (Rooms(), {"horizon": 5, "episodes": 0}, "episodes=0 is too small"),
        (Rooms(), {"horizon": 5, "seed": -1}, "seed=-1 is too small"),
        (Rooms((np.nan, 0.0)), {"horizon": 5}, "reward.*nan is not finite: give finite numbers"),
        (sensor(), {"horizon": 5}, "is not discrete: bin it first"),
    ],
)
def test_mistakes(env, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        kl.suggest_prior(env, **settings)
