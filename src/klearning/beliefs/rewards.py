"""Priors of mean rewards: a conjugate family in numbers, its moments, its draws."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats


class RewardPrior(NamedTuple):
    """A conjugate reward prior in numbers: n0 = strength, σ² = noise."""

    mean: float
    variance: float  # proxy before any visit
    strength: float
    noise: float
    shift: float


@dataclass(frozen=True)
class Gaussian:
    """Mean rewards N(mean, sd²), observed with Gaussian noise of standard deviation ``noise``."""

    mean: float = 0.0
    sd: float = 1.0
    noise: float = 0.05

    def __post_init__(self) -> None:
        checks.number("mean", self.mean, -np.inf)
        checks.number("sd", self.sd, 0.0)
        checks.number("noise", self.noise, 0.0)

    def numbers(self) -> RewardPrior:
        ratio = float(self.noise) / float(self.sd) if self.sd > 0 else np.inf
        strength = ratio * ratio  # infinite where the mean is as good as known
        return RewardPrior(float(self.mean), float(self.sd) ** 2, strength, float(self.noise) ** 2, 0.0)

    def variance(self, p: Any) -> Floats:
        """The exact posterior variance: of a Gaussian, the proxy itself."""
        return p.variance

    def draw(self, p: Any, rng: np.random.Generator) -> Floats:
        return p.model.reward + np.sqrt(p.variance) * rng.standard_normal(p.variance.shape)

    def world_noise(self) -> float | str:
        return self.noise


@dataclass(frozen=True)
class Beta:
    """Mean rewards Beta(a, b); each reward is a coin flip, 0 or 1."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        checks.number("a", self.a, 0.0, above=True)
        checks.number("b", self.b, 0.0, above=True)

    def numbers(self) -> RewardPrior:
        strength = float(self.a + self.b)
        return RewardPrior(self.a / strength, 0.25 / (strength + 1.0), strength, 0.25, 1.0)

    def variance(self, p: Any) -> Floats:
        """The exact posterior variance, at most the proxy."""
        return p.model.reward * (1.0 - p.model.reward) / (self.a + self.b + p.visits + 1.0)

    def draw(self, p: Any, rng: np.random.Generator) -> Floats:
        over = np.isinf(p.visits)  # pays nothing for certain, and a Beta has no infinite counts
        heads, tails = self.a + p.reward_sums, self.b + (np.where(over, 0.0, p.visits) - p.reward_sums)
        return np.where(over, 0.0, rng.beta(heads, tails))

    def world_noise(self) -> float | str:
        return "bernoulli"


FAMILIES: dict[str, Any] = {"gaussian": Gaussian, "beta": Beta}


@kernel(inline=True)
def reward_posterior(prior: RewardPrior, visits: float, reward_sum: float) -> tuple[float, float]:
    """Posterior mean and variance proxy of one mean reward; nothing, for certain, where an episode is over."""
    if np.isinf(visits):
        return 0.0, 0.0
    if np.isinf(prior.strength):
        return prior.mean, 0.0
    weight = prior.strength + visits
    if weight == 0.0:  # noiseless rewards, none seen yet
        return prior.mean, prior.variance
    return (prior.strength * prior.mean + reward_sum) / weight, prior.noise / (weight + prior.shift)
