"""bsuite's simulators: what Gymnasium's spaces say of them, their scores beside bsuite's, a sweep of a deep agent."""

import gymnasium
import numpy as np
import pandas as pd
import pytest
from bsuite.experiments.cartpole import analysis as cartpole_analysis
from bsuite.experiments.cartpole_swingup import analysis as swingup_analysis
from bsuite.experiments.catch import analysis as catch_analysis
from bsuite.experiments.mountain_car import analysis as mountain_car_analysis

import klearning as kl
from klearning.deep import DQN
from klearning.lab.benchmarks.bsuite import sweep
from klearning.lab.benchmarks.bsuite.simulators import BOUNDS, SimulatorEnv

NAMES = list(BOUNDS)
ANALYSES = {
    "catch": catch_analysis, "mountain_car": mountain_car_analysis, "cartpole": cartpole_analysis,
    "cartpole_swingup": swingup_analysis,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_observations_lie_in_their_space_and_episodes_within_the_horizon(name):
    experiment = sweep.EXPERIMENTS[name]
    env, rng = experiment.make(**experiment.settings[3]), np.random.default_rng(0)
    assert isinstance(env, gymnasium.Env)
    for _ in range(3):
        observation, _ = env.reset(seed=0)
        steps, over = 0, False
        while not over:
            assert env.observation_space.contains(observation)
            observation, _, terminated, truncated, _ = env.step(rng.integers(env.action_space.n))
            steps, over = steps + 1, terminated or truncated
        assert steps <= experiment.horizon


def test_a_seed_makes_an_environment():
    first, again, other = (SimulatorEnv("mountain_car", seed).reset()[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def logged_returns(name, rng):
    """Returns of every episode of two runs, of a size that scores can tell apart."""
    low, high = {"catch": (-1, 1), "mountain_car": (-900, -30), "cartpole": (0, 900), "cartpole_swingup": (-50, 180)}[
        name
    ]
    count = sweep.EXPERIMENTS[name].episodes
    return [rng.uniform(low, high * scale if high > 0 else high, count) for scale in (1.0, 0.5)]


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_bsuites(name):
    experiment, rng = sweep.EXPERIMENTS[name], np.random.default_rng(1)
    results, frames = [], []
    for i, returns in enumerate(logged_returns(name, rng)):
        setting = experiment.settings[4 * i]
        totals = np.cumsum(experiment.optimum - returns)
        results.append(sweep.Result(setting, *sweep.logged(totals), returns.max()))
        episode = results[-1].episodes
        collected = np.cumsum(returns)[episode - 1]
        frames.append(
            pd.DataFrame(
                {
                    "episode": episode, "raw_return": collected, "total_return": collected, "bsuite_id": f"{name}/{i}",
                    "total_regret": results[-1].totals, "best_episode": np.maximum.accumulate(returns)[episode - 1],
                    "height_threshold": setting.get("height_threshold", 0.0),
                }
            )
        )  # fmt: skip
        frames[-1].loc[frames[-1].index[-1], "best_episode"] = returns.max()
    theirs = ANALYSES[name].score(pd.concat(frames, ignore_index=True))
    assert sweep.score(name, results) == pytest.approx(theirs, abs=1e-12)
    assert 0.0 < theirs < 1.0


def test_settings_are_bsuites():
    from bsuite.experiments.cartpole_swingup.sweep import SETTINGS

    assert sweep.EXPERIMENTS["cartpole_swingup"].settings == SETTINGS
    for name in NAMES:
        assert sweep.EXPERIMENTS[name].episodes == ANALYSES[name].NUM_EPISODES


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["catch", "deep_sea"])
def test_a_deep_agent_runs_a_setting(name):
    agent = DQN(hidden=(4,), batch=8, capacity=200)
    setting = sweep.EXPERIMENTS[name].settings[0]
    result = sweep.run_setting(name, setting, agent, 5)
    assert result.episodes.tolist() == [1, 2, 3, 4, 5]
    assert (np.diff(result.totals) >= 0).all()


def test_an_agent_that_counts_states_is_told_so():
    with pytest.raises(ValueError, match=r"is tabular.*give an agent of klearning.deep"):
        sweep.run_setting("cartpole", {"seed": 0}, kl.PSRL(), 1)
