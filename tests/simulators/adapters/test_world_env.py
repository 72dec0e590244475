"""Our worlds as Gymnasium and dm_env environments: the interfaces' own checks, and the law of the MDP behind them."""

import subprocess
import sys
import unittest
import warnings
from types import SimpleNamespace

import dm_env
import gymnasium as gym
import numpy as np
import pytest
from dm_env import specs, test_utils
from gymnasium.utils.env_checker import check_env

import klearning as kl
from klearning.lab.benchmarks.bsuite.dm_env import LoggedWorld
from klearning.simulators.adapters.dm_env import DmWorld
from klearning.simulators.adapters.world_env import WorldEnv, environment_id
from klearning.simulators.walk import Walk, is_stationary
from klearning.tabular.worlds import WORLDS
from tests.support.oracles import assert_close

NAMES = {world: environment_id(world) for world in WORLDS}
SETTINGS = {  # names, options and whether the state within the layer is what is observed
    "deep sea": ("klearning/DeepSea-v0", {"depth": 5}, False),
    "slippery sea": ("klearning/DeepSea-v0", {"depth": 4, "slip": 0.3, "mapping_seed": 3}, False),
    "river": ("klearning/RiverSwim-v0", {"horizon": 7}, True),
    "bernoulli river": ("klearning/RiverSwim-v0", {"noise": "bernoulli"}, True),
    "bandit": ("klearning/Bandit-v0", {"means": [0.1, 0.9]}, True),
    "random": ("klearning/RandomMDP-v0", {"states": [2, 4, 3], "actions": 3}, False),
    "bsuite sea": ("klearning/BsuiteDeepSea-v0", {"size": 5, "deterministic": False}, False),
}


def test_names():
    assert NAMES["deep_sea"] == "klearning/DeepSea-v0"
    assert NAMES["random_mdp"] == "klearning/RandomMDP-v0"


@pytest.mark.parametrize("name", [*NAMES.values(), "klearning/BsuiteDeepSea-v0", "klearning/BsuiteBandit-v0"])
def test_gymnasium_has_nothing_to_say_against(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(name).unwrapped)


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_pass_too(setting):
    name, options, within = SETTINGS[setting]
    env = gym.make(name, **options)
    check_env(env.unwrapped)
    mdp = env.unwrapped.mdp
    assert env.observation_space.n == (mdp.widths[0] if within else mdp.states)
    assert env.action_space.n == mdp.actions


def test_the_world_behind_a_name_is_the_world():
    mdp = gym.make("klearning/DeepSea-v0", depth=7, cost=0.3).unwrapped.mdp
    assert repr(mdp) == repr(kl.deep_sea(7))
    np.testing.assert_array_equal(mdp.reward, kl.deep_sea(7, cost=0.3).reward)
    with pytest.raises(TypeError, match="dept"):
        gym.make("klearning/DeepSea-v0", dept=7)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_seed_fixes_the_episodes(setting):
    name, options, _ = SETTINGS[setting]

    def trace(seed):
        env = gym.make(name, **options)
        seen = [env.reset(seed=seed)[0]]
        rng = np.random.default_rng(0)
        for _ in range(60):
            obs, reward, over, cut, _ = env.step(int(rng.integers(env.action_space.n)))
            seen += [obs, reward, over, cut]
            if over or cut:
                seen.append(env.reset()[0])
        return seen

    assert trace(1) == trace(1)
    assert trace(1) != trace(2)


@pytest.mark.parametrize("setting", SETTINGS)
def test_episodes_take_the_horizon_and_end_terminated_or_by_time(setting):
    name, options, within = SETTINGS[setting]
    env = gym.make(name, **options)
    mdp = env.unwrapped.mdp
    for episode in range(20):
        obs, _ = env.reset(seed=episode)
        for l in range(mdp.horizon):
            low, high = (0, mdp.widths[l]) if within else mdp.layers[l : l + 2]
            assert low <= obs < high
            before = obs
            obs, _, over, cut, info = env.step(env.action_space.sample())
            last, by_time = l == mdp.horizon - 1, within and mdp.horizon > 1
            assert (over, cut, info) == (last and not by_time, last and by_time, {})
        assert obs == before  # nothing lies behind the last layer


@pytest.mark.parametrize("setting", SETTINGS)
def test_steps_follow_the_mdp(setting):
    """3,000 episodes of uniform actions: counts of moves and sums of rewards of every (state, action), within 5.5 true
    standard deviations, and 3 more where they are counts, which are not Gaussian when rare. 4e-8 each by chance, some
    400 of them at most: 2e-5 in all."""
    name, options, within = SETTINGS[setting]
    env = gym.make(name, **options).unwrapped
    mdp, rng = env.mdp, np.random.default_rng(5)
    S, A = mdp.states, mdp.actions
    moves, pay = np.zeros((S, A, S)), np.zeros((S, A))
    visits, starts = np.zeros((S, A)), np.zeros(mdp.widths[0])
    env.reset(seed=11)
    for _ in range(3000):
        obs, _ = env.reset()
        starts[obs] += 1
        for l in range(mdp.horizon):
            s, a = obs + (mdp.layers[l] if within else 0), int(rng.integers(A))
            obs, reward, over, cut, _ = env.step(a)
            visits[s, a] += 1
            pay[s, a] += reward
            if not over and not cut:
                moves[s, a, obs + (mdp.layers[l + 1] if within else 0)] += 1

    def near(count, n, p):
        assert (np.abs(count - n * p) <= 5.5 * np.sqrt(n * p * (1 - p)) + 3 * (p > 0) * (p < 1) + 1e-9).all()

    near(starts, 3000, mdp.initial)
    for l, P in enumerate(mdp.transitions):
        here, there = slice(*mdp.layers[l : l + 2]), slice(*mdp.layers[l + 1 : l + 3])
        near(moves[here, :, there], visits[here][..., None], P)
    often = visits >= 30
    assert often.sum() >= min(S * A, 8)
    flips = isinstance(mdp.noise, str)
    sd = np.sqrt(mdp.reward * (1 - mdp.reward)) if flips else env.walk._noise
    spread = np.zeros((S, A)) if sd is None else sd.T
    slack = 5.5 * spread * np.sqrt(visits) + 3 * flips + 1e-9 * visits
    assert (np.abs(pay - visits * mdp.reward.T) <= slack)[often].all()


def test_noise_is_that_of_the_mdp():
    """4,000 rewards of N(0, 0.5²): the spread off by 5 standard errors, 6e-7 by chance."""
    env = WorldEnv(kl.bandit([0.0], noise=0.5))
    env.reset(seed=0)
    rewards = []
    for _ in range(4000):
        env.reset()
        rewards.append(env.step(0)[1])
    assert abs(np.std(rewards) - 0.5) < 5 * 0.5 / np.sqrt(2 * 4000)
    coin = WorldEnv(kl.bandit([0.5], noise="bernoulli"))
    flips = set()
    for seed in range(50):
        coin.reset(seed=seed)
        flips.add(coin.step(0)[1])
    assert flips == {0.0, 1.0}


@pytest.mark.parametrize("setting", SETTINGS)
def test_exported_and_imported_again(setting):
    name, options, _ = SETTINGS[setting]
    env = gym.make(name, **options)
    there, back = env.unwrapped.mdp, kl.MDP.from_gymnasium(env)
    assert back.horizon == there.horizon
    assert kl.optimal(back).value == pytest.approx(kl.optimal(there).value, abs=1e-12)


@pytest.mark.parametrize("setting", [s for s in SETTINGS if "river" not in s])
def test_what_is_exported_ends_by_itself(setting):
    """Where observations say which layer it is, more time than the world has is worth nothing."""
    name, options, _ = SETTINGS[setting]
    env = gym.make(name, **options)
    longer = kl.MDP.from_gymnasium(env, env.unwrapped.horizon + 3)
    assert kl.optimal(longer).value == pytest.approx(kl.optimal(env.unwrapped.mdp).value, abs=1e-12)


def test_no_episode_begins_where_none_can():
    walk = Walk(kl.MDP.from_layers([[[0.0], [0.0], [0.0]]], [], [0.0, 1.0, 0.0]))
    for u in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        walk.begin(SimpleNamespace(random=lambda u=u: u))
        assert walk.state == 1


def test_layers_of_different_models_have_no_model_within_them():
    env = WorldEnv(kl.deep_sea(4), numbering="within")
    check = env.reset(seed=0)[0], env.step(1)[0], env.step(1)[0]
    assert check == (0, 1, 2)  # columns
    with pytest.raises(ValueError, match="no model"):
        kl.MDP.from_gymnasium(env)


def test_what_is_stationary():
    P = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    Q = np.array([[[0.5, 0.5]], [[0.0, 1.0]]])
    r, start = np.zeros((2, 1)), [1.0, 0.0]
    assert is_stationary(kl.river_swim())
    assert is_stationary(kl.bandit([0.1]))
    assert not is_stationary(kl.deep_sea(3))
    assert not is_stationary(kl.MDP.from_layers([r] * 3, [P, Q], start))
    assert not is_stationary(kl.MDP.from_layers([r, r + 1, r], [P, P], start))
    assert is_stationary(kl.MDP.from_layers([r] * 3, [P, P], start))
    assert not is_stationary(kl.MDP.from_layers([r] * 3, [P, P[:, :, ::-1]], start))


def test_stepping_out_of_turn():
    env = WorldEnv(kl.bandit([0.5]))
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    env.reset()
    env.step(0)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("action", [-1, 2, 1.0, "right", None])
def test_actions_that_are_none(action):
    env = WorldEnv(kl.deep_sea(3))
    env.reset(seed=0)
    with pytest.raises(ValueError, match="is not an action here: give a whole number from 0 to 1"):
        env.step(action)


def test_bad_construction():
    with pytest.raises(ValueError, match="is not an MDP"):
        WorldEnv("deep_sea")
    with pytest.raises(ValueError, match="did you mean 'within'"):
        WorldEnv(kl.deep_sea(3), numbering="withn")


def test_vectors_of_environments():
    envs = gym.make_vec("klearning/RiverSwim-v0", num_envs=3, vectorization_mode="sync", horizon=4)
    envs.reset(seed=0)
    for l in range(4):
        _, _, over, cut, _ = envs.step(np.ones(3, np.int64))
        assert (over | cut).all() == (l == 3)
    envs.close()


def test_importing_the_package_registers():
    """Also by Gymnasium's own way of naming the module to import, and twice without a warning."""
    code = (
        "import gymnasium as gym; env = gym.make('klearning:klearning/DeepSea-v0', depth=3); "
        "import klearning.simulators.adapters.world_env as e; e.register_environments(); print(env.reset(seed=0)[0])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "0", done.stderr


# dm_env


@pytest.mark.parametrize(("world", "one_hot"), [*((world, False) for world in WORLDS), ("river_swim", True)])
def test_dm_env_has_nothing_to_say_against(world, one_hot):
    class Interface(test_utils.EnvironmentTestMixin, unittest.TestCase):
        def make_object_under_test(self):
            return DmWorld(WORLDS[world](), 0, one_hot=one_hot)

    done = unittest.defaultTestLoader.loadTestsFromTestCase(Interface).run(unittest.TestResult())
    assert done.testsRun >= 4
    assert not done.failures + done.errors


def test_dm_plays_what_gymnasium_plays():
    river = kl.river_swim(horizon=5)
    dm, env = DmWorld(river, seed=3), WorldEnv(river)
    env.np_random = np.random.default_rng(3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        first, (obs, _) = dm.reset(), env.reset()
        assert first.first()
        assert first.observation == obs
        for _ in range(5):
            a = int(rng.integers(2))
            step, (obs, reward, over, cut, _) = dm.step(a), env.step(a)
            assert (int(step.observation), step.reward, step.last()) == (obs, reward, over or cut)
        assert step.discount == float(cut)
        assert dm.step(0).first()  # a step behind the end begins again
        env.reset()


def test_dm_regret_is_that_of_the_means():
    dm = LoggedWorld(kl.bandit([0.2, 0.9], noise=1.0), seed=0)
    for action in (0, 1, 1, 0):
        dm.reset()
        dm.step(action)
    assert dm.bsuite_info() == {"total_regret": pytest.approx(1.4)}
    assert dm.bsuite_num_episodes == 10_000
    assert not hasattr(DmWorld(kl.bandit([0.2, 0.9])), "bsuite_info")  # worlds do not know that they are watched


def test_without_dm_env_the_rest_works_and_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['dm_env'] = None; import klearning, klearning.lab.benchmarks.bsuite.environments\n"
        "try: import klearning.simulators.adapters.dm_env\nexcept ImportError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install dm_env" in done.stdout, done.stderr


def test_dm_specs():
    dm = DmWorld(kl.river_swim(), one_hot=True)
    assert isinstance(dm.action_spec(), specs.DiscreteArray)
    assert dm.observation_spec().shape == (6,)
    assert_close([dm.reset().observation], [[1, 0, 0, 0, 0, 0]])
    assert isinstance(dm, dm_env.Environment)
