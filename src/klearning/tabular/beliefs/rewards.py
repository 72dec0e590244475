"""Reward families: which prior of mean rewards there is, and all that depends on it.

With a conjugate prior worth n0 visits of mean μ0, after n visits and rewards of sum Σr,

    E[μ | data] = (n0 μ0 + Σr) / (n0 + n)        variance proxy = σ² / (n0 + n + shift)

which is all that the kernels know (`RewardPrior`). A Gaussian prior N(μ0, s0²) with noise σ has n0 = σ²/s0² and shift
0, and a Beta(α, β) prior of coin flips has n0 = α + β, σ = 1/2 and shift 1 (a Beta is sub-Gaussian with
1/(4(α+β+1)); its exact variance is smaller). If the noise is unknown too, with a guess that is worth k
visits, the normal–inverse-gamma prior has E[σ² | data] in the place of σ²:

    E[σ² | data] = (k σ0² + SS) / (k + n),      SS = Σ(r−μ0)² − (Σ(r−μ0))² / (n0 + n)

What else there is to ask (exact moments, draws, cumulants, which rewards are possible) a `RewardFamily` answers, and
nothing asks which one it is.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.random.generator import beta, normal, student
from klearning.numerics.types import Flags, Floats
from klearning.tabular.beliefs.distributions import Rule, beta_cumulant, gauss_beta, gauss_normal, gaussian_cumulant
from klearning.tabular.models.sweeps import FORBIDDEN

FAR = 6.0  # a reward this many standard deviations from the mean of an unbounded prior is worth a warning


class RewardPrior(NamedTuple):
    """A conjugate reward prior in numbers."""

    mean: float  # μ0
    variance: float  # proxy before any visit
    strength: float  # n0
    noise_variance: float  # σ²
    shift: float  # 0 if the posterior is Gaussian or Student's, 1 if it is the Beta of coin flips
    noise_strength: float = np.inf  # k: how many visits the noise is worth; infinitely many if it is known


@kernel(inline=True)
def learns_noise(prior: RewardPrior) -> bool:
    """Whether the noise is unknown."""
    return np.isfinite(prior.noise_strength)


@kernel(inline=True)
def mean_noise(prior: RewardPrior, visits: float, reward_sum: float, squares: float) -> float:
    """E[σ² | data], a variance; ``squares`` is Σr², which is not read if the noise is known."""
    if not learns_noise(prior):
        return prior.noise_variance
    mean, k = prior.mean, prior.noise_strength
    from_mean = reward_sum - visits * mean
    spread = squares - mean * (2.0 * reward_sum - visits * mean) - from_mean * from_mean / (prior.strength + visits)
    return (k * prior.noise_variance + max(spread, 0.0)) / (k + visits)


@kernel(inline=True)
def reward_posterior(prior: RewardPrior, visits: float, reward_sum: float, squares: float) -> tuple[float, float]:
    """Posterior mean and variance proxy of one mean reward, which is certain if there are infinitely many visits.

    There it is `FORBIDDEN` if the action is not allowed, and nothing if the episode is over.
    """
    weight = prior.strength + visits
    noise = mean_noise(prior, visits, reward_sum, squares)
    # values are chosen at the end, so that loops over states are vectorised
    mean, variance = (prior.strength * prior.mean + reward_sum) / weight, noise / (weight + prior.shift)
    if weight == 0.0:  # noiseless rewards, none seen yet
        mean, variance = prior.mean, prior.variance
    if np.isinf(prior.strength):
        mean, variance = prior.mean, 0.0
    if np.isinf(visits):
        mean, variance = (FORBIDDEN if reward_sum <= FORBIDDEN else 0.0), 0.0
    return mean, variance


@kernel(inline=True)
def is_beta(prior: RewardPrior) -> bool:
    """Whether the posterior of a mean reward is the Beta of coin flips."""
    return prior.shift != 0.0


@kernel(inline=True)
def draw_reward(
    prior: RewardPrior, mean: float, variance: float, visits: float, reward_sum: float, rng: np.random.Generator
) -> float:
    """One mean reward from its posterior; the mean if it is certain. `RewardFamily.draw`, compiled."""
    if np.isinf(visits):
        return mean
    if is_beta(prior):
        heads, tails = prior.strength * prior.mean, prior.strength * (1.0 - prior.mean)
        return beta(heads + reward_sum, tails + (visits - reward_sum), rng)
    if learns_noise(prior):
        freedom = prior.noise_strength + visits + 2.0
        return mean + np.sqrt(variance * (freedom - 2.0) / freedom) * student(freedom, rng)
    return mean + np.sqrt(variance) * normal(rng)


class MeanRewards(NamedTuple):
    """Statistics of mean rewards, in arrays of one shape."""

    mean: Floats
    proxy: Floats  # of the variance
    visits: Floats  # infinitely many if an episode is over or an action is not allowed
    sums: Floats


@dataclass(frozen=True)
class RewardFamily(ABC):
    """A prior of mean rewards, by its parameters. The methods here are right for a Gaussian posterior."""

    @abstractmethod
    def numbers(self) -> RewardPrior:
        """The numbers that the kernels read."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The range of all rewards; None if there is no limit."""
        return None

    @property
    def learns_noise(self) -> bool:
        """Whether the noise is unknown. The posterior is then Student's, which is not sub-Gaussian: no bound holds."""
        return bool(np.isfinite(self.numbers().noise_strength))

    def world_noise(self) -> float | str:
        """The ``noise`` of an MDP that is drawn from this prior."""
        return float(np.sqrt(self.numbers().noise_variance))

    def draw_world(self, x: MeanRewards, rng: np.random.Generator) -> tuple[Floats, float | str | Floats]:
        """Mean rewards and the ``noise`` of an MDP, drawn together."""
        return self.draw(x, rng), self.world_noise()

    def noises(self, x: MeanRewards) -> Floats:
        """√E[σ² | data], the noise as a standard deviation; none if an episode is over."""
        return np.where(np.isinf(x.visits), 0.0, np.sqrt(self.numbers().noise_variance))

    def variance(self, x: MeanRewards) -> Floats:
        """The exact posterior variance, at most the proxy."""
        return x.proxy

    def draw(self, x: MeanRewards, rng: np.random.Generator) -> Floats:
        """Mean rewards from their posterior."""
        draws: Floats = x.mean + np.sqrt(x.proxy) * rng.standard_normal(x.proxy.shape)
        return draws

    def cumulant(self, x: MeanRewards, beta: float) -> Floats:
        """log E exp(βμ), exactly."""
        return gaussian_cumulant(x.mean, x.proxy, beta)

    def rules(self, x: MeanRewards, nodes: int) -> list[Rule]:
        """A Gauss rule for every mean reward, in the order of the arrays."""
        return [gauss_normal(m, v, nodes) for m, v in zip(x.mean.ravel(), x.proxy.ravel(), strict=True)]

    @cached_property
    def _believable(self) -> tuple[float, float]:
        """Rewards outside are impossible if there are bounds, and hardly possible if there are none."""
        if self.bounds is not None:
            return self.bounds
        prior = self.numbers()
        far = FAR * float(np.sqrt(prior.variance + prior.noise_variance))
        return prior.mean - far, prior.mean + far

    def doubt(self, reward: float) -> str | None:
        """Why this reward is hardly possible, or None; one that is not possible at all is a ValueError."""
        low, high = self._believable
        if low <= reward <= high:
            return None
        if self.bounds is None:
            return (
                f"reward={reward!r} is more than {FAR:g} standard deviations from the mean of the prior {self}: "
                "give a prior with a larger sd, or scale the rewards"
            )
        raise ValueError(
            f"reward={reward!r} is outside [{low:g}, {high:g}], the range of the prior {self}: "
            "scale the rewards, or use a Gaussian prior"
        )

    def check_sums(self, sums: Floats, visits: Floats) -> None:
        """That rewards of these sums are possible in these visits, (A, S)."""
        if self.bounds is None:
            return
        low, high = self.bounds
        wrong = np.argwhere((sums < low * visits) | (sums > high * visits))
        if len(wrong):
            a, s = wrong[0]
            n = visits[a, s]
            raise ValueError(
                f"reward_sums of state {s}, action {a} is {sums[a, s]:g} in {n:g} visits: "
                f"rewards lie in [{low:g}, {high:g}], give a number from {low * n:g} to {high * n:g}"
            )

    def data(self) -> dict[str, Any]:
        """Name and parameters, as specs and sweep files have them."""
        for kind, family in FAMILIES.items():
            if family is type(self):
                return {"kind": kind, **asdict(self)}
        raise ValueError(f"reward={self!r} has no name: add its class to klearning.tabular.beliefs.rewards.FAMILIES")


@dataclass(frozen=True)
class Gaussian(RewardFamily):
    """Mean rewards N(mean, sd²), observed with Gaussian noise of standard deviation ``noise``.

    Each is 0 or from 1e-50 to 1e50 in size.
    """

    mean: float = 0.0
    sd: float = 1.0
    noise: float = 0.05

    def __post_init__(self) -> None:
        checks.moderate("mean", self.mean)
        checks.moderate("sd", self.sd, 0.0)
        checks.moderate("noise", self.noise, 0.0)

    def numbers(self) -> RewardPrior:
        ratio = float(self.noise) / float(self.sd) if self.sd > 0 else np.inf
        strength = ratio * ratio  # infinite if the mean is as good as known
        return RewardPrior(float(self.mean), float(self.sd) ** 2, strength, float(self.noise) ** 2, 0.0)

    def world_noise(self) -> float | str:
        return self.noise


@dataclass(frozen=True)
class Beta(RewardFamily):
    """Mean rewards Beta(a, b); each reward is a coin flip, 0 or 1."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        checks.moderate("a", self.a, 0.0, above=True)
        checks.moderate("b", self.b, 0.0, above=True)

    def numbers(self) -> RewardPrior:
        strength = float(self.a + self.b)
        return RewardPrior(self.a / strength, 0.25 / (strength + 1.0), strength, 0.25, 1.0)

    @property
    def bounds(self) -> tuple[float, float] | None:
        return 0.0, 1.0

    def world_noise(self) -> float | str:
        return "bernoulli"

    def variance(self, x: MeanRewards) -> Floats:
        return x.mean * (1.0 - x.mean) / (self.a + self.b + x.visits + 1.0)

    def draw(self, x: MeanRewards, rng: np.random.Generator) -> Floats:
        certain = np.isinf(x.visits)  # a Beta has no infinite counts
        visits, sums = np.where(certain, 0.0, x.visits), np.where(certain, 0.0, x.sums)
        return np.where(certain, x.mean, rng.beta(self.a + sums, self.b + (visits - sums)))

    def cumulant(self, x: MeanRewards, beta: float) -> Floats:
        def one(mean: float, mass: float) -> float:
            return beta * mean if np.isinf(mass) else beta_cumulant(mean * mass, (1.0 - mean) * mass, beta)

        G: Floats = np.vectorize(one, otypes=[float])(x.mean, self.a + self.b + x.visits)
        return G

    def rules(self, x: MeanRewards, nodes: int) -> list[Rule]:
        def one(mean: float, mass: float) -> Rule:
            certain = np.isinf(mass)
            return gauss_normal(mean, 0.0, 1) if certain else gauss_beta(mean * mass, (1 - mean) * mass, nodes)

        mass = self.a + self.b + x.visits
        return [one(m, n) for m, n in zip(x.mean.ravel(), mass.ravel(), strict=True)]


@dataclass(frozen=True)
class UnknownNoise(RewardFamily):
    """Mean rewards and their Gaussian noise are both learned, for every state and action apart.

    ``mean`` and ``sd`` are those of the mean rewards, as in `Gaussian`, and ``noise`` is what the noise is thought to
    be, as a standard deviation: a guess that is worth ``strength`` visits. The prior is normal–inverse-gamma:

        σ² ~ Inverse-Gamma(1 + strength/2, strength·noise²/2),      μ | σ² ~ N(mean, σ²·sd²/noise²)

    so that E σ² = noise² and Var μ = sd². The posterior of a mean reward is a Student-t with strength + 2 + n degrees
    of freedom. It has no cumulants, so that nothing is proved of a plan that takes it for a Gaussian of the same mean
    and variance.
    """

    mean: float = 0.0
    sd: float = 1.0
    noise: float = 0.3
    strength: float = 1.0

    def __post_init__(self) -> None:
        checks.moderate("mean", self.mean)
        checks.moderate("sd", self.sd, 0.0, above=True)
        checks.moderate("noise", self.noise, 0.0, above=True)
        checks.moderate("strength", self.strength, 0.0, above=True)

    def numbers(self) -> RewardPrior:
        return Gaussian(self.mean, self.sd, self.noise).numbers()._replace(noise_strength=float(self.strength))

    def draw(self, x: MeanRewards, rng: np.random.Generator) -> Floats:
        freedom, over = self._freedom(x)
        t = x.mean + np.sqrt(x.proxy * (freedom - 2.0) / freedom) * rng.standard_t(freedom)
        return np.where(over, x.mean, t)

    def draw_world(self, x: MeanRewards, rng: np.random.Generator) -> tuple[Floats, float | str | Floats]:
        freedom, over = self._freedom(x)
        noise = self.noises(x) * np.sqrt((freedom - 2.0) / rng.chisquare(freedom))
        weight = self.numbers().strength + np.where(over, 0.0, x.visits)
        means = x.mean + noise / np.sqrt(weight) * rng.standard_normal(x.mean.shape)
        return np.where(over, x.mean, means), noise

    def noises(self, x: MeanRewards) -> Floats:
        sds: Floats = np.sqrt(x.proxy * (self.numbers().strength + np.where(np.isinf(x.visits), 0.0, x.visits)))
        return sds

    def _freedom(self, x: MeanRewards) -> tuple[Floats, Flags]:
        """Degrees of freedom of every posterior, and whether the episode is over, which leaves nothing to learn."""
        over = np.isinf(x.visits)
        return self.strength + 2.0 + np.where(over, 0.0, x.visits), over

    def cumulant(self, x: MeanRewards, beta: float) -> Floats:
        raise ValueError(f"reward={self!r} has no cumulants: E exp(βμ) is infinite for a Student-t, use a Gaussian")

    def rules(self, x: MeanRewards, nodes: int) -> list[Rule]:
        raise ValueError(f"reward={self!r} has too few moments for a quadrature: use theory.draws, or a Gaussian")


FAMILIES: dict[str, type[RewardFamily]] = {"gaussian": Gaussian, "beta": Beta, "unknown_noise": UnknownNoise}


def check_family(reward: Any) -> None:
    """That this is a reward prior, and one that `draw_reward` draws right."""
    if not isinstance(reward, RewardFamily):
        names = ", ".join(family.__name__ for family in FAMILIES.values())
        raise ValueError(f"reward={reward!r} is not a reward prior: give one of {names}")
    shift = reward.numbers().shift
    if shift != 0.0 and (shift, reward.bounds) != (1.0, (0.0, 1.0)):
        raise ValueError(
            f"reward={reward!r} has shift={shift:g} and bounds={reward.bounds}: "
            "give shift=0 for a Gaussian posterior, or shift=1 and bounds (0, 1) for that of coin flips"
        )
