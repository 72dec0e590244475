"""The contract that every agent keeps, as a function: try your own agent on it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from klearning.beliefs.belief import Belief, Prior
from klearning.beliefs.rewards import Beta
from klearning.beliefs.transitions import Dirichlet
from klearning.models.mdp import MDP
from klearning.trials.agent import Agent
from klearning.trials.run import run
from klearning.trials.trial import new_task
from klearning.worlds.bandit import bandit
from klearning.worlds.deep_sea import deep_sea
from klearning.worlds.random_mdp import random_mdp
from klearning.worlds.river_swim import river_swim

ROUNDING = 1e-9


def _ends_early() -> MDP:
    """One model for all steps, in which state 0 is where an episode is over: reached sooner or later, or never."""
    rewards = [[0.0, 0.0], [0.1, 0.3], [0.0, 0.8]]
    transitions = [[[1.0, 0.0, 0.0]] * 2, [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]]
    world = MDP.from_stationary(rewards, transitions, [0.0, 0.5, 0.5], horizon=5, noise=0.1, name="ends early")
    return replace(world, end=0)


WORLDS: dict[str, Callable[[], MDP]] = {
    "one state": lambda: bandit([0.1, 0.9], noise=0.1),
    "one action": lambda: MDP.from_layers([[[0.5]], [[1.0]]], [[[[1.0]]]], [1.0], noise=0.1, name="one action"),
    "one layer": lambda: MDP.from_layers([[[0.1, 0.4], [0.3, 0.0]]], [], [0.5, 0.5], noise=0.1, name="one layer"),
    "coin flips": lambda: bandit([0.2, 0.8], noise="bernoulli"),
    "ragged layers": lambda: random_mdp([2, 4, 1, 3], actions=3, prior=Prior(Beta(), Dirichlet(1.0)), seed=1),
    "stochastic": lambda: river_swim(horizon=8, noise=0.05),
    "deterministic": lambda: deep_sea(5),
    "ends early": _ends_early,
}


UNCHANGING = ("stochastic", "ends early")  # with the step


class BrokenContract(AssertionError):
    """An agent does not do what `run` relies on."""


def check_agent(agent: Agent, episodes: int = 30) -> None:
    """Run an agent in small worlds of every shape; raise `BrokenContract`, naming the world, where it fails.

    Worlds that do not change with the step are tried with a stationary prior too.

    Checked: the policy is a table (A, S) of probabilities that sum to one over actions; values and
    returns are finite; no policy does better than the optimum; the same seed gives the same bytes, whatever the
    number of threads and however the episodes are cut into chunks; the belief it begins with is left as it was.
    """
    for name, make in WORLDS.items():
        world = make()

        def expect(holds: bool, what: str, where: str = name) -> None:
            if not holds:
                raise BrokenContract(f"{agent} in the world {where!r}: {what}")

        for prior in _priors(name, world):
            _check_policy(agent, world, prior, episodes, expect)
            _check_runs(agent, world, prior, episodes, expect)


def _priors(name: str, world: MDP) -> list[Prior]:
    prior = Prior(Beta(), Dirichlet(1.0)) if world.noise == "bernoulli" else Prior()
    return [prior, replace(prior, stationary=True)] if name in UNCHANGING else [prior]


def _check_policy(agent: Agent, world: MDP, prior: Prior, episodes: int, expect: Callable[..., None]) -> None:
    belief = Belief.before(prior, world)
    known = belief.visits.copy()
    task, memory = new_task(agent, world, episodes, 0), agent.begin(belief)
    for t in range(episodes):
        memory = agent.advance(memory, task, t, 1)
        expect(hasattr(memory, "policy"), "its memory has no field `policy`")
        policy = memory.policy
        expect(policy.shape == world.reward.shape, f"policy has shape {policy.shape}, not {world.reward.shape}")
        expect(bool((policy >= 0).all()), "policy has negative probabilities")
        expect(bool(np.allclose(policy.sum(axis=0), 1.0, atol=ROUNDING)), "policy does not sum to one over actions")
    expect(same(belief.visits, known), "it changed the belief that it began with")
    whole = new_task(agent, world, episodes, 0)
    agent.advance(agent.begin(belief), whole, 0, episodes)
    expect(same(task.log.returns, whole.log.returns), "chunks of episodes change what happens")


def _check_runs(agent: Agent, world: MDP, prior: Prior, episodes: int, expect: Callable[..., None]) -> None:
    one, two = (run(agent, world, prior=prior, episodes=episodes, seeds=3, threads=k) for k in (1, 2))
    expect(same(one.returns, two.returns) and same(one.values, two.values), "threads change what happens")
    expect(bool(np.isfinite(one.values).all() and np.isfinite(one.returns).all()), "values or returns are not finite")
    gaps = one.optimal_value - one.values
    expect(bool((gaps >= -ROUNDING).all()), f"regret of an episode is negative: {gaps.min()}")


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))
