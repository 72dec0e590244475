"""Textbook Q-learning: one table, ε-greedy, updated after every step; for comparison with agents that plan.

It runs in a kernel on the environment's table of outcomes, which gives it exactly what it would see in the environment,
at a million steps per second. So its settings can be searched.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats, Ints
from klearning.tabular.models.mdp import MDP

GRID = {
    "epsilon": (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5),
    "step": (0.03, 0.1, 0.3, 0.5, 1.0),
    "discount": (0.95, 0.99, 1.0),
    "halving": (np.inf, 300.0),  # ε is halved by this episode, as 1/(1 + t/halving)
}


class Outcomes(NamedTuple):
    """The outcomes of (s, a): cumulative probabilities, next states (0 is END), rewards; each (S, A, most outcomes)."""

    chance: Floats
    following: Ints
    reward: Floats
    start: Floats  # cumulative probabilities of first states


class Setting(NamedTuple):
    epsilon: float
    step: float
    discount: float
    halving: float


def read_outcomes(P: Any, initial: Any) -> Outcomes:
    """The outcomes in an environment's P, with END before its states."""
    S, A = len(P) + 1, len(P[0])
    most = max(len(P[s][a]) for s in range(S - 1) for a in range(A))
    chance, following, reward = np.ones((S, A, most)), np.zeros((S, A, most), np.int64), np.zeros((S, A, most))
    for s, a in itertools.product(range(S - 1), range(A)):
        total = 0.0
        for j, (p, y, r, over) in enumerate(P[s][a]):
            total += p
            chance[s + 1, a, j] = total if j + 1 < len(P[s][a]) else 1.0
            following[s + 1, a, j], reward[s + 1, a, j] = 0 if over else y + 1, r
    return Outcomes(chance, following, reward, np.cumsum(np.concatenate([[0.0], np.asarray(initial)])))


@kernel(inline=True)
def draw(chance: Floats, u: float) -> int:
    j = 0
    while j < chance.size - 1 and u >= chance[j]:
        j += 1
    return j


@kernel
def choose(Q: Floats, s: int, epsilon: float, rng: np.random.Generator) -> int:
    """ε-greedy, ties broken at random."""
    A = Q.shape[1]
    if rng.random() < epsilon:
        return int(rng.random() * A)
    best, ties = Q[s].max(), 0
    for a in range(A):
        ties += Q[s, a] == best
    skip = int(rng.random() * ties)
    for a in range(A):
        if Q[s, a] == best:
            if skip == 0:
                return a
            skip -= 1
    return A - 1


@kernel
def episode(x: Outcomes, Q: Floats, setting: Setting, t: int, horizon: int, rng: np.random.Generator) -> None:
    """One episode with an update after every step, truncated at the horizon."""
    s = draw(x.start, rng.random())
    epsilon = setting.epsilon / (1.0 + t / setting.halving)
    for _ in range(horizon):
        a = choose(Q, s, epsilon, rng)
        j = draw(x.chance[s, a], rng.random())
        y = x.following[s, a, j]
        target = x.reward[s, a, j]
        if y != 0:
            target += setting.discount * Q[y].max()
        Q[s, a] += setting.step * (target - Q[s, a])
        s = y
        if s == 0:
            return


def greedy_value(mdp: MDP, Q: Floats) -> float:
    """The exact value of the greedy policy, which is uniform over ties."""
    best = Q.max(axis=1, keepdims=True) == Q
    policy = np.ascontiguousarray(np.tile((best / best.sum(axis=1, keepdims=True)).T, mdp.horizon))
    return mdp.value(policy)


def episodes_needed(
    x: Outcomes, mdp: MDP, setting: Setting, wanted: float, most: int, every: int, seed: int
) -> int | None:
    """Episodes until the value of the greedy policy reaches ``wanted``; None beyond ``most``.

    It is evaluated ``every`` few episodes, and later after each further 5%, because evaluation dominates the time.
    """
    Q, rng = np.zeros(x.chance.shape[:2]), np.random.default_rng(seed)
    look = every
    for t in range(1, most + 1):
        episode(x, Q, setting, t - 1, mdp.horizon, rng)
        if t >= look:
            if greedy_value(mdp, Q) >= wanted:
                return t
            look = t + max(every, t // 20)
    return None


def tune(x: Outcomes, mdp: MDP, wanted: float, most: int, every: int, seeds: int) -> list[tuple[float, Setting]]:
    """Every setting of `GRID` with its mean number of episodes (``2 * most`` if not reached), best first."""
    found = []
    for values in itertools.product(*GRID.values()):
        setting = Setting(*values)
        needed = [episodes_needed(x, mdp, setting, wanted, most, every, seed) or 2 * most for seed in range(seeds)]
        found.append((float(np.mean(needed)), setting))
    return sorted(found)
