"""Agents that plan by value iteration on a GPU plan as they do on the CPU, episode by episode.

The GPU room's device functions are compiled for the CPU and play; the CPU's agent is shown the same episodes.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.gpu import value_iteration as vi
from klearning.gpu.random import F, run_key
from klearning.gpu.seeds import PROGRAMS
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.trials.task import Streams
from tests.support.device_functions import host_counts, host_world, on_cpu

PRIOR = kl.Prior(kl.Gaussian(0.2, 0.8, 0.5), kl.Dirichlet(0.7))
WORLD = kl.random_mdp([3, 4, 2, 5], actions=3, prior=PRIOR, seed=4)
KEY = (np.uint32(3), np.uint32(4))
SLOW = pytest.mark.slow


@dataclass
class Device:
    """One seed of an agent, by the functions of the device."""

    shape: Any
    world: Any
    x: Any
    noisy: bool
    action_value: Any

    def __post_init__(self):
        self.width = int(np.diff(self.world.layers).max())
        self.plan_ = on_cpu(vi.plan_for(self.shape, self.width, self.noisy, self.action_value))
        self.play_ = on_cpu(vi.play_for(self.shape))
        self.counts = host_counts(self.world, self.shape, 1)
        self.share = np.zeros((self.shape.states * (self.shape.actions - 1), 1), F)
        self.V, self.J = np.zeros(2 * self.width, F), np.zeros(2 * self.width, F)

    def plan(self, t, seed=0, key=KEY):
        """The exact value of a new policy, and the agent's own value of the first layer's states."""
        place = vi.Draws(key, np.uint32(seed), t)
        value = self.plan_(self.world, self.counts, self.x, place, 0, self.V, self.J, self.share)
        base = 0 if self.shape.horizon % 2 == 1 else self.width
        return value, self.V[base : base + self.world.layers[1]].copy()

    def policy(self):
        """(A, S), from the shares."""
        A = self.shape.actions
        policy = np.zeros((A, self.shape.states))
        policy[0] = 1.0
        for a, share in enumerate(self.share.reshape(-1, A - 1).T.astype(float), 1):
            policy *= 1.0 - share
            policy[a] = share
        return policy

    def play(self, t, seed=0, key=KEY):
        """The next episode, read off the counts."""
        before = [x.copy() for x in self.counts]
        self.play_(self.world, self.share, self.counts, key, np.uint32(seed), 0, t)
        pair = np.flatnonzero((self.counts.visits - before[0])[:, 0])
        s, a = divmod(pair, self.shape.actions)
        return Episode(s, a, (self.counts.sums - before[1])[pair, 0].astype(float))


def device(agent, monkeypatch, mdp=WORLD, prior=PRIOR):
    world, shape = host_world(monkeypatch, mdp)
    form = PROGRAMS[type(agent)](agent, prior, mdp)
    return Device(shape, world, form.begin(SimpleNamespace(seeds=[0])), form.noisy, form.action_value(shape))


@pytest.mark.slow
@pytest.mark.parametrize("agent", [kl.RLSVI(scale=0.0), kl.BEB(scale=0.05), kl.UCBVI(scale=0.001)], ids=repr)
def test_the_same_episodes_make_the_same_plans(agent, monkeypatch):
    gpu, memory = device(agent, monkeypatch), agent.begin(kl.Belief.before(PRIOR, WORLD))
    streams = Streams(*np.random.default_rng(0).spawn(2))
    for t in range(60):
        value, V = gpu.plan(t)
        memory = agent.plan(memory, streams, t, np.zeros(0))
        np.testing.assert_allclose(V, memory.V[: len(V)], rtol=2e-6, atol=2e-6, err_msg=f"episode {t}")
        policy = gpu.policy()
        same = np.abs(policy - memory.policy).max(axis=0) < 1e-6
        assert same.mean() > 0.9  # elsewhere two actions are the same to within rounding
        assert value == pytest.approx(WORLD.value(policy), abs=2e-6)
        memory = agent.update(memory, gpu.play(t), t)


COINS = kl.random_mdp([3, 4, 2, 5], actions=3, prior=kl.Prior(kl.Beta(0.7, 1.6)), seed=4)
LAWS = {
    "RLSVI": (kl.RLSVI(), WORLD, PRIOR),
    "PSRL": (kl.PSRL(), WORLD, PRIOR),
    "PSRL, coin flips": (kl.PSRL(), COINS, kl.Prior(kl.Beta(0.7, 1.6), kl.Dirichlet(3.0))),
    "PSRL, known": (kl.PSRL(), WORLD, kl.Prior(kl.Gaussian(0.2, 0.8, 0.5), kl.Known(WORLD))),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", [name if name == "RLSVI" else pytest.param(name, marks=SLOW) for name in LAWS])
def test_a_plan_has_the_law_of_the_cpu(case, monkeypatch):
    """V of the first layer after ten episodes, and the policy's value: Kolmogorov–Smirnov, 4e-4 by chance."""
    agent, world, prior = LAWS[case]
    gpu, memory = device(agent, monkeypatch, world, prior), agent.begin(kl.Belief.before(prior, world))
    for t in range(10):
        gpu.plan(t)
        memory = agent.update(memory, gpu.play(t), t)
    streams, draws = Streams(*np.random.default_rng(1).spawn(2)), 1500
    got, want = np.zeros((draws, 4)), np.zeros((draws, 4))
    for i in range(draws):
        value, V = gpu.plan(10, seed=i)
        got[i] = *V, value
        memory = agent.plan(memory, streams, 10, np.zeros(0))
        want[i] = *memory.V[:3], world.value(memory.policy)
    for x, y in zip(got.T, want.T):
        assert stats.ks_2samp(x.round(4), y.round(4), method="asymp").pvalue > 1e-4


SIMULATION = """
import json
import klearning as kl

numbers = {}
for agent in (kl.PSRL(), kl.RLSVI(), kl.BEB(), kl.UCBVI()):
    runs = kl.run(agent, kl.deep_sea(4, slip=0.2), episodes=6, seeds=[3, 8], device="gpu")
    numbers[type(agent).__name__] = [runs.values.tolist(), runs.returns.tolist()]
print(json.dumps(numbers))
"""


@pytest.fixture(scope="module")
def simulated():
    """Values and returns, (2, seeds, episodes), of the kernels in Numba's CUDA simulator."""
    command = [sys.executable, "-c", SIMULATION]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"})
    assert done.returncode == 0, done.stderr
    return {name: np.array(x) for name, x in json.loads(done.stdout).items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "agent", [kl.RLSVI(), *(pytest.param(a, marks=SLOW) for a in (kl.PSRL(), kl.BEB(), kl.UCBVI()))], ids=repr
)
def test_the_simulator_plays_the_same_episodes(agent, simulated, monkeypatch):
    """The kernels, from their launch to their log."""
    world = kl.deep_sea(4, slip=0.2)
    values, returns = simulated[type(agent).__name__]
    key = run_key(world.name, type(agent).__name__)
    for i, seed in enumerate((3, 8)):
        gpu = device(agent, monkeypatch, world, kl.Prior())
        for t in range(6):
            value, _ = gpu.plan(t, seed, key)
            assert value == pytest.approx(values[i, t], abs=1e-5)
            assert gpu.play(t, seed, key).rewards.sum() == pytest.approx(returns[i, t], abs=1e-5)


@pytest.mark.slow
def test_psrl_finds_the_treasure_as_soon_as_on_the_cpu(monkeypatch):
    """Means of first hits and of regret over 200 seeds, within 4.4 standard errors: 2.2e-5 by chance."""
    world, seeds, episodes = kl.deep_sea(4, slip=0.2), 200, 40
    best, key = kl.optimal(world).value, run_key(world.name, "PSRL")
    values, hits = np.zeros((seeds, episodes)), np.zeros((seeds, episodes), bool)
    for seed in range(seeds):
        gpu = device(kl.PSRL(), monkeypatch, world, kl.Prior())
        for t in range(episodes):
            values[seed, t], _ = gpu.plan(t, seed, key)
            episode = gpu.play(t, seed, key)
            hits[seed, t] = (episode.states[-1], episode.actions[-1]) == world.goal
    cpu = kl.run(kl.PSRL(), world, episodes=episodes, seeds=seeds)
    ours = [np.cumsum(best - values, axis=1)[:, -1], np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, episodes)]
    theirs = [cpu.regret[:, -1], np.nan_to_num(cpu.first_hit, nan=episodes)]
    for x, y in zip(ours, theirs):
        assert abs(x.mean() - y.mean()) < 4.4 * np.sqrt((x.var() + y.var()) / seeds)


@pytest.mark.slow
@pytest.mark.parametrize("agent", [kl.PSRL(), kl.RLSVI()], ids=repr)
def test_bayes_regret_in_worlds_of_the_prior(agent, monkeypatch):
    """The mean difference over 150 worlds, each played on both, within 4.4 standard errors: 1.1e-5 by chance."""
    worlds, episodes = [kl.random_mdp([3, 4, 2, 5], actions=3, prior=PRIOR, seed=i) for i in range(150)], 15
    apart = []
    for i, world in enumerate(worlds):
        gpu, total = device(agent, monkeypatch, world), 0.0
        for t in range(episodes):
            total += kl.optimal(world).value - gpu.plan(t, i)[0]
            gpu.play(t, i)
        apart.append(total - kl.run(agent, world, prior=PRIOR, episodes=episodes, seeds=[i]).regret[0, -1])
    assert abs(np.mean(apart)) < 4.4 * np.std(apart) / np.sqrt(len(worlds))
