"""K-learning on a device against the CPU, plan by plan: τ, f, gap, K and the exact value of the policy."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from numba import cuda

import klearning as kl
from klearning.gpu.batch import new_batch
from klearning.gpu.k_learning import KLearningProgram, Search
from klearning.gpu.layout import new_log, zeros
from klearning.gpu.random import F
from klearning.tabular.agents.fixed_optimism import plan
from klearning.tabular.optimism.program import k_values, program, solve_at
from tests.support.device_plans import beliefs, plans_for

SEEDS, EPISODES = 2, 3
COINS = kl.MDP.from_layers(
    [[[0.2, 0.7, 0.4]], [[0.1, 0.9, 0.5], [0.8, 0.3, 0.6]]], [[[[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]]]], [1.0],
    "bernoulli", name="coins",
)  # fmt: skip
LAKE = kl.MDP.from_gymnasium(gym.make("FrozenLake-v1", desc=["SF", "HG"]), 4, goal=(3, 0))
KNOWN = kl.deep_sea(4, slip=0.2)

CASES = {
    "optimal": (kl.KLearning(tolerance=1e-4), kl.deep_sea(4), kl.Prior()),
    "swapped": (kl.KLearning(), kl.deep_sea(4, mapping_seed=1), kl.Prior()),
    "scheduled": (kl.KLearning("schedule"), kl.deep_sea(4, slip=0.3), kl.Prior()),
    "printed": (kl.KLearning("schedule", "paper"), kl.deep_sea(3), kl.Prior()),
    "printed, less of it": (kl.KLearning("schedule", "paper", optimism=0.2), kl.deep_sea(3), kl.Prior()),
    "sharp": (kl.KLearning("optimal", "sharp", optimism=0.3), kl.deep_sea(4, slip=0.3), kl.Prior()),
    "fixed": (kl.KLearning(0.5), kl.deep_sea(4), kl.Prior(kl.Gaussian(0.2, 0.5, 0.3), kl.Dirichlet(2.0))),
    "coin flips": (kl.KLearning(optimism=0.5), COINS, kl.Prior(kl.Beta(1.0, 2.0))),
    "an end": (kl.KLearning(), LAKE, kl.Prior()),
    "known": (kl.KLearning(), KNOWN, kl.Prior(transitions=kl.Known(KNOWN))),
    "known, deterministic": (kl.KLearning(), kl.deep_sea(3), kl.Prior(transitions=kl.Known(kl.deep_sea(3)))),
}


@pytest.mark.parametrize("name", CASES)
def test_every_plan_is_that_of_the_cpu(name):
    """At the device's τ: f and gap of the CPU's sweep, and the exact value of its policy. And τ is as the rule says."""
    agent, world, prior = CASES[name]
    form = KLearningProgram(agent, prior, world)
    batch = new_batch(world, "KLearning", np.arange(SEEDS, dtype=np.uint32))
    log = new_log(4, 1, SEEDS)
    search = form.begin(batch)
    for t in range(EPISODES):
        before = beliefs(batch, prior, world, range(SEEDS))
        form.advance(batch, search, log, t, 1)
        tau, f, gap, sweeps = log.diagnostics.copy_to_host()[0]
        values = log.values.copy_to_host()[0]
        for i, belief in enumerate(before):
            memory = agent.algorithm.begin(over(belief, world))
            best = plan(memory, agent.algorithm.rule(), t)
            policy = np.zeros_like(memory.policy)
            c = agent.optimism * memory.c
            same = solve_at(memory.posterior.model, c, float(tau[i]), policy, memory.work)
            assert abs(f[i] - same.bound) < 1e-5 * max(1.0, same.bound)
            assert abs(gap[i] - same.gap) < 1e-5
            assert abs(values[i] - world.value(policy)) < 1e-5
            if agent.temperature == "optimal":
                assert gap[i] <= 1.01 * agent.tolerance * same.bound
                assert f[i] - best.bound <= gap[i] + 1e-5 * best.bound
                assert sweeps[i] <= 12
            else:
                assert tau[i] == pytest.approx(best.tau, rel=1e-5)
    visits = batch.counts.visits.copy_to_host()
    assert visits.sum() == SEEDS * EPISODES * world.horizon


def over(belief, world):
    """The same belief, which knows where an episode is over."""
    if world.end is None:
        return belief
    after = kl.Belief.before(belief.prior, world)
    certain = np.isinf(after.visits)
    after.visits[~certain] = belief.visits[~certain]
    after.reward_sums[~certain] = belief.reward_sums[~certain]
    return replace(after, transitions=belief.transitions)


def test_k_values_of_played_beliefs():
    _, world, prior = CASES["scheduled"]
    form = KLearningProgram(kl.KLearning(tolerance=1e-4), prior, world)
    batch = new_batch(world, "KLearning", np.arange(SEEDS, dtype=np.uint32))
    form.advance(batch, form.begin(batch), new_log(4, 8, SEEDS), 0, 8)
    K, out = zeros((world.states * world.actions, SEEDS)), zeros((4, SEEDS))
    search = Search(cuda.to_device(np.full(SEEDS, 2.0, F)), cuda.to_device(np.ones(SEEDS, F)))
    plans_for(batch.shape, form.kind)[batch.grid](batch.world, batch.counts, form.numbers, search, batch.share, K, out)
    tau = out.copy_to_host()[0]
    for i, belief in enumerate(beliefs(batch, prior, world, range(SEEDS))):
        ready = program(belief, "reward")
        solve_at(ready.model, ready.c, float(tau[i]), np.zeros_like(ready.c), ready.work)
        exact, V = np.zeros_like(ready.c), np.zeros(world.states)
        k_values(ready.model, ready.c, float(tau[i]), exact, V, ready.work)
        np.testing.assert_allclose(K.copy_to_host()[:, i], exact.T.ravel(), atol=1e-5)
