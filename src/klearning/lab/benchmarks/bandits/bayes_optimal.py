"""The least Bayes regret that any agent can have, by dynamic programming over what it may know, in two small families.

What is known after some episodes are counts. With W the value of the remaining episodes,

    W_n(counts) = max over policies of one episode of   E[ return + W_{n-1}(counts after it) ]
    least Bayes regret of N episodes   = N · E V* − W_N(no counts)

An agent plays one family with `kl.run` on `random_mdp(1, 2, 1, COINS, seed)`, the other on `random_mdp([1, 2], 2, None,
COINS, seed)`: both are MDPs drawn from the same prior.
"""

from functools import cache
from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Beta
from klearning.tabular.beliefs.transitions import Dirichlet

COINS = Prior(Beta(1.0, 1.0), Dirichlet(mass=1.0))
BEST_OF_TWO = 2.0 / 3.0  # E max of two uniform means
MOST_EPISODES = 10  # of the two layers: every two of them make about six times as many counts

Counts = tuple[int, int]  # heads and tails of a coin, or moves to the first and to the second state
Row = tuple[Counts, Counts]  # an action of the first layer: its rewards and its moves
Arms = tuple[Counts, Counts]  # both actions of a state of the second layer


def least_bandit_regret(rounds: int) -> float:
    """Of two arms that pay 0 or 1, with means uniform and independent."""
    rounds = checks.whole("rounds", rounds)
    return rounds * BEST_OF_TWO - bandit_value(rounds)


@cache
def bandit_value(rounds: int) -> float:
    """W of the first round.

    After t rounds, W[n] has a row for every number of heads of the first arm, which had n tosses, and a column for
    every number of the second, which had t − n.
    """
    W: list[Floats] = [np.zeros((n + 1, rounds - n + 1)) for n in range(rounds + 1)]
    for t in range(rounds - 1, -1, -1):
        W = [np.maximum(_toss(W[n + 1], n), _toss(W[n].T, t - n).T) for n in range(t + 1)]
    return float(W[0][0, 0])


def _toss(after: Floats, tosses: int) -> Floats:
    """What tossing the arm of the rows is worth: after that it has one toss more, and perhaps one more head."""
    mean = ((np.arange(tosses + 1) + 1.0) / (tosses + 2.0))[:, None]
    return np.asarray(mean * (1.0 + after[1:]) + (1.0 - mean) * after[:-1])


def least_regret_of_two_layers(episodes: int) -> float:
    """Of one state, then two states, with two actions: all rewards are coins, and transitions are unknown."""
    checks.whole("episodes", episodes, 1, MOST_EPISODES)
    untried: Counts = (0, 0)
    row, arms = (untried, untried), (untried, untried)
    return episodes * two_layer_optimum() - _two_layers(episodes, (row, row), (arms, arms))


@cache
def _two_layers(left: int, rows: tuple[Row, Row], states: tuple[Arms, Arms]) -> float:
    """W of the last ``left`` episodes. Relabelling actions and states changes nothing, so counts come sorted."""
    if left == 0:
        return 0.0
    return max(_act(left, row, other, states) for row, other in (rows, rows[::-1]))


def _act(left: int, row: Row, other: Row, states: tuple[Arms, Arms]) -> float:
    """The mean over what the action of ``row`` may pay, and where it may lead."""
    (heads, tails), (first, second) = row
    to_first = (first + 0.5) / (first + second + 1.0)  # a Dirichlet of mass 1
    value = 0.0
    for reward in (0, 1):
        coin = (heads + reward, tails + 1 - reward)
        for s, chance in enumerate((to_first, 1.0 - to_first)):
            moved = (coin, (first + 1 - s, second + s))
            value += mean_of(heads, tails, reward) * chance * (reward + _second_layer(left, (moved, other), states, s))
    return value


def _second_layer(left: int, rows: tuple[Row, Row], states: tuple[Arms, Arms], s: int) -> float:
    """The best action in state s of the second layer."""
    values = []
    for (heads, tails), other in (states[s], states[s][::-1]):
        value = 0.0
        for reward in (0, 1):
            arms = ((heads + reward, tails + 1 - reward), other)
            after = (arms, states[1]) if s == 0 else (states[0], arms)
            value += mean_of(heads, tails, reward) * (reward + _two_layers(left - 1, *_sorted(rows, after)))
        values.append(value)
    return max(values)


def mean_of(heads: int, tails: int, reward: int) -> float:
    """The chance that a coin with a uniform prior shows heads, or tails, after these."""
    return ((heads if reward else tails) + 1.0) / (heads + tails + 2.0)


def _sorted(rows: tuple[Row, Row], states: tuple[Arms, Arms]) -> tuple[tuple[Row, Row], tuple[Arms, Arms]]:
    """The least of all ways to label actions and states."""
    first, second = _pair(*states[0]), _pair(*states[1])
    swapped = _pair(*((coin, moves[::-1]) for coin, moves in rows))
    return min((_pair(*rows), (first, second)), (swapped, (second, first)))


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    return (x, y) if x <= y else (y, x)


@cache
def two_layer_optimum(nodes: int = 32) -> float:
    """E V* of the two layers, by quadrature.

    The better action of a state of the second layer has the density 2v. Given both, the two actions of the first layer
    are independent: E max = ∫ 1 − F(x)² dx, where F is the law of reward + P·v + (1 − P)·w, and P is arcsine.
    """
    x, weight = np.polynomial.legendre.leggauss(nodes)
    x, weight = (x + 1.0) / 2.0, weight / 2.0
    P = np.sin(0.5 * np.pi * (np.arange(nodes) + 0.5) / nodes) ** 2
    total = 0.0
    for v, mass in zip(x, 2.0 * x * weight, strict=True):
        for w, other in zip(x, 2.0 * x * weight, strict=True):
            mean = P * v + (1.0 - P) * w
            low, high = mean.min(), mean.max() + 1.0
            y = low + (high - low) * np.linspace(0.0, 1.0, 4 * nodes + 1)
            F = np.clip(y[:, None] - mean, 0.0, 1.0).mean(axis=1)
            below = 1.0 - F**2
            total += mass * other * (low + (y[1] - y[0]) * (below.sum() - 0.5 * (below[0] + below[-1])))
    return float(total)
