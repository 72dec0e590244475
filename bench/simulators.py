"""The cost that a Learner adds to a simulator's own step, and the cost of a stationary plan."""

import time
from typing import Any

import gymnasium

import klearning as kl
from klearning.lab.benchmarks.gymnasium.toy_text import PROBLEMS
from klearning.simulators.learner import Learner


def walk(env: Any, learner: Learner | None, episodes: int, horizon: int) -> tuple[float, float, int]:
    """CPU seconds in steps and in planning, and steps; resets are not counted. Without a learner, actions are fixed."""
    stepping = planning = 0.0
    steps, clock = 0, time.process_time
    for t in range(episodes):
        observation, _ = env.reset(seed=t)
        over, l = False, 0
        if learner is not None:  # the first act of an episode plans
            start = clock()
            action = learner.act(observation)
            planning += clock() - start
        start = clock()
        while not over and l < horizon:
            if learner is None:
                action = l % 2 + 1
            elif l > 0:
                action = learner.act(observation)
            observation, reward, terminated, truncated, _ = env.step(action)
            if learner is not None:
                learner.observe(reward, observation, terminated, truncated)
            over, l = terminated or truncated, l + 1
        stepping += clock() - start
        steps += l
        if learner is not None:
            start = clock()
            learner.end_episode()
            planning += clock() - start
    return stepping, planning, steps


def overhead(agent: Any, name: str, episodes: int) -> tuple[float, float, float]:
    """µs of the environment's own step, µs that act and observe add to it, µs of planning and updating an episode."""
    problem = PROBLEMS[name]
    env: Any = gymnasium.make(problem.name, max_episode_steps=problem.horizon)
    spaces = env.observation_space, env.action_space
    learner = kl.Learner(agent, *spaces, problem.horizon, prior=problem.prior)
    walk(env, learner, 2, problem.horizon)
    bare, with_learner, planned = [], [], []
    for _ in range(5):
        seconds, _, steps = walk(env, None, episodes, problem.horizon)
        bare.append(seconds / steps)
        seconds, planning, steps = walk(env, learner, episodes, problem.horizon)
        with_learner.append(seconds / steps)
        planned.append(planning / episodes)
    return min(bare) * 1e6, (min(with_learner) - min(bare)) * 1e6, min(planned) * 1e6
