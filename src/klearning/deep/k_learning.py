"""Deep K-learning: K-values by one network, the bonus outside it.

    K(s,a) = (1 − ρ) W_θ(s,a) + ρ γ max_b W_θ(s,b) + c(s,a)/τ,   ρ = c(s,a)/(½sd²),   b: seen actions, where ρ < ½
    c(s,a) = ½sd² · min(u_tiles, u_noise):  ½σ²/(n + σ²/sd²) by counts n of tiles around s, or ½sd² times the remaining
        share of the prior's variance by regression on noise (`noise.py`), if s is a vector; the smaller of the two
    act: a ∼ exp(K(s,a)/τ);   deploy: argmax W_θ
    W_θ(s,a) → r + γ τ log Σ_a' exp(K⁻(s',a')/τ),   K⁻ by the target network and the counts of now
    after an episode, with H = Σ entropy and C = Σ c over its steps:  log τ ← log τ − η (τH − C/τ)/(τH + C/τ)

**Smaller of two.** Tiles know at once what was seen, and networks know what is like it. Each is a posterior variance
given a part of the information, so that given all of it is smaller than both. An integer is not like any other.

**Units.** Networks learn rewards in units of the largest |reward| so far, or 1. sd and σ are given in units of the mean
|reward|, or 1 if that is larger: an unseen step is hoped to pay about as much as steps do, not as the best one does.

The last line is −η·tanh(log τ − log √(C/H)), with its fixed point at τ = √(C/H), that is τH = C/τ, as in the exact
solver. It is a heuristic, exact in its limits: nothing is proved for networks.

**Unseen actions.** The output of a network for an action that was never taken is its initial value, about 0. If returns
are far above 0, no bonus makes up for that. The mean of a Gaussian belief is a weighted average: weight ρ, the
remaining share of the variance, on the prior mean, and 1 − ρ on the data. So is K here; the prior is to get no reward
and to stay in place.

`largest_bonus` k bounds the bonus b = c/τ by k√(2c), that is k standard deviations s = √(2c) of the belief. Both bound
τ log E exp(μ/τ) if the belief about a mean reward is sub-Gaussian of that variance and within ks of its mean. c/τ alone
is unbounded as τ falls, and so are the targets of a network. If b is at the bound, it does not depend on τ, and its c
is not part of C: C/τ is −τ ∂b/∂τ.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from numpy.typing import NDArray

from klearning.deep import counts, network, replay
from klearning.deep import noise as noise_network
from klearning.deep.agent import LARGEST, DeepAgent
from klearning.deep.counts import Counts, Tiles
from klearning.deep.noise import Noise
from klearning.deep.replay import Steps
from klearning.deep.scaling import Scaling, new_scaling
from klearning.numerics import checks

SOME = 4  # tilings that tell how noisy rewards are
FLOOR = 0.1  # of τ, in units of the network's root mean square error: it does not tell values apart that are closer
TOLERANCE = 0.1  # of log sd: all tiles are valued again if it moves further


class Networks(NamedTuple):
    """What is trained."""

    W: Any
    noise: Any  # f of `noise.py`; nothing for integers


class Memory(NamedTuple):
    """The agent's memory, a pytree of arrays."""

    params: Networks
    target: Networks
    optimiser: Any
    loss: Array
    waves: Any  # of `noise.py`, and p of it; nothing for integers
    noise_prior: Any
    tiles: Tiles
    counts: Counts
    log_tau: Array
    largest: Array  # |reward| so far, or 1
    size: Array  # the mean |reward|
    sd: Array  # of the belief about a mean reward, in units of `largest`
    scaling: Scaling
    ring: Steps
    seen: Array  # steps


@dataclass(frozen=True)
class DeepKLearning(DeepAgent[Memory]):
    """K-values by a network, uncertainty by counts of tiles and by regression on noise."""

    sd: float = 1.0  # prior standard deviation of mean rewards, in units of the mean |reward| or 1
    noise: float = 0.02  # prior guess of the standard deviation of rewards, in the same units
    noise_strength: float = 1.0  # number of visits that this guess is worth
    temperature: float = 0.3  # initial
    temperature_rate: float = 0.1  # η
    tilings: int = 16
    bins: int = 10  # per bounded feature
    places: int = 2**14  # per tiling
    largest_bonus: float | None = 1.0  # in standard deviations of the belief about a mean reward
    learning_rate: float = 5e-4  # this, the bound and σ fitted: docs/evidence/deep.md

    diagnostics: ClassVar[tuple[str, ...]] = ("temperature", "entropy", "c", "loss")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.largest_bonus is not None:
            object.__setattr__(
                self, "largest_bonus", checks.number("largest_bonus", self.largest_bonus, 0.0, LARGEST, above=True)
            )
        if self.places & (self.places - 1):
            raise ValueError(f"places={self.places} is not a power of two: give {1 << self.places.bit_length()}")

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        for_network, for_tiles = jax.random.split(key)
        whole = network.whole(like)
        noise = Noise((), (), ()) if whole else noise_network.new_noise(jax.random.fold_in(key, 2), points, actions)
        params = Networks(self.initial(for_network, points, actions), noise.learned)
        tiles = counts.new_tiles(for_tiles, 0 if whole else like.shape[-1], self.tilings, self.bins / 12**0.5)
        known = counts.new_counts(points if whole else self.tilings * self.places, actions, self.sd)
        optimiser = optax.adam(self.learning_rate).init(params)
        zero, one = jnp.zeros(()), jnp.ones(())
        ring = replay.empty(self.capacity, like, actions)
        target = jax.tree.map(jnp.copy, params)
        return Memory(
            params, target, optimiser, zero, noise.waves, noise.prior, tiles, known, jnp.log(self.temperature * one),
            one, zero, self.sd * one, new_scaling(like), ring, jnp.zeros((), jnp.int32),
        )  # fmt: skip

    def c(self, m: Memory, x: Array) -> Array:
        """c(x, ·): by tiles, the mean over tilings; or by regression on noise, if that is smaller."""
        by_tiles = counts.mean_at(m.counts.c, counts.places(m.tiles, m.counts, x))
        if network.whole(x):
            return by_tiles
        left = noise_network.remaining(Noise(m.waves, m.noise_prior, m.target.noise), self.inputs(m, x))
        return network.module_of(x).minimum(by_tiles, 0.5 * m.sd**2 * left)

    def visits(self, m: Memory, x: Array) -> Array:
        return counts.mean_at(m.counts.visits, counts.places(m.tiles, m.counts, x))

    def bonus(self, c: Array, tau: Array) -> tuple[Array, Array]:
        """b, and c if b depends on τ, else 0."""
        if self.largest_bonus is None:
            return c / tau, c
        most = self.largest_bonus * (2.0 * c) ** 0.5
        return network.module_of(c).minimum(c / tau, most), c * (c < most * tau)

    def prior_weight(self, c: Array, sd: Array) -> Array:
        """ρ, the weight of the prior mean in the posterior mean."""
        return c / (0.5 * sd**2)

    def shrunk_values(self, W: Array, rho: Array) -> Array:
        """(1 − ρ)W + ρ γ max W."""
        numpy = network.module_of(W)
        seen = rho < 0.5
        none = ~numpy.logical_or.reduce(seen, axis=-1, keepdims=True)
        best = numpy.maximum.reduce(numpy.where(seen | none, W, -jnp.inf), axis=-1, keepdims=True)
        return (1.0 - rho) * W + rho * self.discount * best

    def policy(self, m: Memory, x: Array) -> tuple[Array, Array]:
        tau, c = network.module_of(x).exp(m.log_tau), self.c(m, x)
        b, slope = self.bonus(c, tau)
        W = self.outputs(m.params.W, self.inputs(m, x))
        return (self.shrunk_values(W, self.prior_weight(c, m.sd)) + b) / tau, slope

    def describe(self, memory: Any, numbers: Any) -> dict[str, float]:
        H, C = (0.0, 0.0) if numbers is None else numbers.tolist()
        tau = float(jnp.exp(memory.log_tau))
        return {"temperature": tau, "entropy": H, "c": C, "loss": float(memory.loss)}

    def acting(self, memory: Any) -> Any:
        known = memory.counts._replace(visits=None, sums=None, squares=None)
        acting = super().acting(memory)._replace(counts=known, params=memory.params._replace(noise=None), size=None)
        if not memory.noise_prior:
            return acting
        both = noise_network.stacked(Noise(memory.waves, memory.noise_prior, memory.target.noise))
        return acting._replace(noise_prior=both.prior, target=memory.target._replace(noise=None))

    def deployed(self, memory: Any) -> tuple[Any, NDArray[Any]]:
        return super().deployed(memory._replace(target=memory.target.W))

    def greedy(self, m: Memory, x: Array) -> Array:
        return self.outputs(m.target.W, self.inputs(m, x))

    def targets(self, m: Memory, steps: Steps, at: Array) -> tuple[Array, Any]:
        """Of W, and of the regression on noise."""
        tau, c = jnp.exp(m.log_tau), self.c(m, steps.after)
        W = self.outputs(m.target.W, self.inputs(m, steps.after))
        K = self.shrunk_values(W, self.prior_weight(c, m.sd)) + self.bonus(c, tau)[0]
        V = tau * jax.nn.logsumexp(jnp.where(steps.allowed > 0, K / tau, -jnp.inf), axis=-1)
        y = steps.reward / m.largest + self.discount * (1.0 - steps.terminal) * V
        if network.whole(steps.x):
            return y, ()
        noise, z = Noise(m.waves, m.noise_prior, ()), self.inputs(m, steps.x)
        return y, noise_network.targets(noise, z, steps.action, at, self.noise_scale(m, steps))

    def noise_scale(self, m: Memory, steps: Steps) -> Any:
        """σ/sd of the actions taken, by some of their tiles: 1 until one was taken twice."""
        at = counts.places(m.tiles, m.counts, steps.x, SOME)
        n, c = (
            counts.mean_at(table.reshape(-1), at * table.shape[-1] + steps.action[..., None])
            for table in (m.counts.visits, m.counts.c)
        )
        rho = self.prior_weight(c, m.sd)
        return (jnp.clip(n * rho / (1.0 - rho + 1e-6), 0.0, 1.0) ** 0.5)[..., None]

    def losses(self, params: Networks, z: Array, action: Array, targets: tuple[Array, Any]) -> tuple[Array, ...]:
        y, of_noise = targets
        loss = network.squared_error(self.outputs(params.W, z), action, y)
        return (loss,) if network.whole(z) else (loss, noise_network.loss(params.noise, action, of_noise))

    def on_steps(self, m: Memory, block: Steps, weight: Array) -> Memory:
        sizes = weight * jnp.abs(block.reward)
        largest = jnp.maximum(m.largest, jnp.max(sizes))
        size = m.size + jnp.sum(sizes - weight * m.size) / jnp.maximum(m.seen, 1)
        before = m.sd * m.largest / self.sd
        now = jnp.maximum(size, 1.0)
        unit = jnp.where(jnp.abs(jnp.log(now / before)) > TOLERANCE, now, before)
        sd, noise = (x * unit / largest for x in (self.sd, self.noise))
        at = counts.places(m.tiles, m.counts, block.x)
        known = counts.counted(m.counts, at, block.action, block.reward, weight)

        def c(n: Array, sums: Array, squares: Array) -> Array:
            return counts.half_variance(n, sums / largest, squares / largest**2, sd, noise, self.noise_strength)

        known = counts.valued(known, at, block.action, c, everywhere=(largest > m.largest) | (unit != before))
        log_tau = m.log_tau - jnp.log(largest / m.largest)  # the same in the units of rewards
        return m._replace(counts=known, largest=largest, size=size, sd=sd, log_tau=log_tau)

    def on_episode_end(self, m: Memory, numbers: Array) -> Memory:
        tau = jnp.exp(m.log_tau)
        entropy, bonus = tau * numbers[0], numbers[1] / tau
        log_tau = m.log_tau - self.temperature_rate * (entropy - bonus) / (entropy + bonus + 1e-30)
        return m._replace(log_tau=jnp.maximum(log_tau, jnp.log(FLOOR * (2.0 * m.loss) ** 0.5 + 1e-9)))
