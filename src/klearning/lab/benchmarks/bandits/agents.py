"""Two agents for bandits to compare with: Bayes-UCB, and information-directed sampling. `kl.run` plays them.

What is believed of the mean of an arm is a distribution on a grid, p_a(x): Beta for coins, else normal. In round t

    Bayes-UCB (Kaufmann, Cappé and Garivier, 2012)       play the arm with the largest 1 − 1/t quantile
    information-directed (Russo and Van Roy, 2014)       play the mixture π that minimises (Σ π_a Δ_a)² / Σ π_a g_a

Δ_a = E max μ − E μ_a is the expected regret of arm a, and g_a what its reward tells of which arm is best, A*:

    coins     g_a = Σ_b P(A* = b) KL( E[μ_a | A* = b] ‖ E μ_a )        the mutual information
    normal    g_a = Σ_b P(A* = b) (E[μ_a | A* = b] − E μ_a)²           its lower bound, up to a constant

Two arms of the mixture are enough. Episodes have one step, and there is one state.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.beliefs.rewards import is_beta
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams

POINTS = 1000  # of a grid
REACH = 6.0  # standard deviations that a normal arm's grid covers at least
COINS = (np.arange(POINTS) + 0.5) / POINTS


class Memory(NamedTuple):
    """What is believed, and the mixture (A, 1) of the last round."""

    posterior: Posterior
    policy: Floats


class Arms(NamedTuple):
    """What is believed of each arm's mean on a grid: (A, points), rows sum to one."""

    grid: Floats
    chances: Floats
    coins: bool


class BanditAgent(Agent[Memory]):
    """Plays a mixture that depends on what is believed and the round."""

    longest_horizon: ClassVar[int | None] = 1

    @abstractmethod
    def mixture(self, arms: Arms, t: int) -> Floats:
        """The chance of every arm in round t = 1, 2, …"""

    def begin(self, belief: Belief) -> Memory:
        if belief.states != 1:
            raise ValueError(f"belief has {belief.states} states: {type(self).__name__} is for a bandit, one state")
        return Memory(belief.posterior(), np.zeros((belief.actions, 1)))

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        memory.policy[:, 0] = self.mixture(believed(memory.posterior), t + 1)
        return memory


@dataclass(frozen=True)
class BayesUCB(BanditAgent):
    """The arm with the largest 1 − 1/t quantile in round t."""

    def mixture(self, arms: Arms, t: int) -> Floats:
        above = np.cumsum(arms.chances[:, ::-1], axis=1)[:, ::-1]  # the chance of this point or a higher one
        highest = (above >= 1.0 / t).sum(axis=1)
        return np.eye(len(arms.chances))[int(np.argmax(highest))]


@dataclass(frozen=True)
class InformationDirectedBandit(BanditAgent):
    """The mixture of two arms with the least squared regret per unit of information."""

    def mixture(self, arms: Arms, t: int) -> Floats:
        return least_ratio(*regret_and_information(arms))


def believed(p: Posterior) -> Arms:
    """The arms of the only state."""
    means = p.model.reward[:, 0]
    if is_beta(p.prior):
        mass = p.prior.strength + p.visits[:, 0]
        return coin_arms(mass * means, mass * (1.0 - means))
    sds = np.sqrt(p.variance[:, 0])
    grid = np.linspace((means - REACH * sds).min(), (means + REACH * sds).max(), POINTS)
    return Arms(grid, normalised(-0.5 * ((grid - means[:, None]) / sds[:, None]) ** 2), coins=False)


def coin_arms(heads: Floats, tails: Floats) -> Arms:
    """Arms with Beta(heads, tails) means."""
    pairs = zip(heads, tails, strict=True)
    return Arms(COINS, np.stack([beta_on_grid(float(a), float(b)) for a, b in pairs]), coins=True)


@lru_cache(maxsize=20_000)
def beta_on_grid(a: float, b: float) -> Floats:
    return normalised((a - 1.0) * np.log(COINS) + (b - 1.0) * np.log1p(-COINS))


def coin_regret(agent: BanditAgent, means: Floats, rounds: int, seed: int) -> Floats:
    """Cumulative regret of one run with coins of these means and uniform priors.

    The same in law as `kl.run`, whose calls into kernels take ten times as long as these agents need to think.
    """
    rng = np.random.default_rng(seed)
    heads, tails, lost = np.ones(means.size), np.ones(means.size), np.zeros(rounds)
    for t in range(rounds):
        mixture = agent.mixture(coin_arms(heads, tails), t + 1)
        lost[t] = means.max() - mixture @ means
        arm = int(rng.choice(means.size, p=mixture))
        pays = rng.random() < means[arm]
        heads[arm] += pays
        tails[arm] += not pays
    return np.cumsum(lost)


def normalised(logs: Floats) -> Floats:
    """Probabilities along the last axis, from their logarithms up to a constant."""
    x = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(x / x.sum(axis=-1, keepdims=True))


def regret_and_information(arms: Arms) -> tuple[Floats, Floats]:
    """Δ and g of every arm."""
    x, p, count = arms.grid, arms.chances, len(arms.chances)
    below = np.cumsum(p, axis=1) - 0.5 * p  # ties are shared
    means = p @ x
    best, given = np.empty(count), np.tile(means[:, None], count)  # P(A* = b), E[μ_a | A* = b]
    for b in range(count):
        others = np.delete(below, b, axis=0).prod(axis=0)
        joint = p[b] * others
        best[b] = joint.sum()
        if best[b] == 0.0:
            continue
        given[b, b] = joint @ x / best[b]
        for a in set(range(count)) - {b}:
            rest = np.delete(below, (a, b), axis=0).prod(axis=0)
            lower = np.cumsum(p[a] * x) - 0.5 * p[a] * x  # E[μ_a; μ_a < x]
            given[a, b] = (p[b] * rest * lower).sum() / best[b]
    best /= best.sum()
    regret = np.maximum(best @ np.diag(given) - means, 0.0)
    told = divergence(given, means[:, None]) if arms.coins else (given - means[:, None]) ** 2
    return regret, told @ best


def divergence(p: Floats, q: Floats) -> Floats:
    """KL of coins."""
    p, q = np.clip(p, 1e-12, 1.0 - 1e-12), np.clip(q, 1e-12, 1.0 - 1e-12)
    return np.asarray(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)))


def least_ratio(regret: Floats, information: Floats) -> Floats:
    """The mixture π with the least (π·Δ)² / π·g. With π_a = q and π_b = 1 − q the ratio is convex in q."""
    count = regret.size
    least, best = np.inf, np.eye(count)[int(np.argmin(regret))]
    for a in range(count):
        for b in range(a, count):
            d, g = regret[a] - regret[b], information[a] - information[b]
            inner = regret[b] / d - 2.0 * information[b] / g if d != 0.0 != g else -1.0
            for q in {0.0, 1.0, min(max(inner, 0.0), 1.0)}:
                squared, told = (regret[b] + q * d) ** 2, information[b] + q * g
                ratio = squared / told if told > 0.0 else (np.inf if squared > 0.0 else 0.0)
                if ratio < least:
                    least, best = ratio, q * np.eye(count)[a] + (1.0 - q) * np.eye(count)[b]
    return best
