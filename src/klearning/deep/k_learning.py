"""Deep K-learning: K-values by one network, the bonus outside it.

    K(s,a) = (1 − ρ) W_θ(s,a) + ρ γ max_b W_θ(s,b) + c(s,a)/τ,   ρ = c(s,a)/(½sd²),   b: seen actions, where ρ < ½
    c(s,a) = ½σ²/(n + σ²/sd²), n the visits of the tiles around s (`counts.py`)
    act: a ∼ exp(K(s,a)/τ);   deploy: argmax Q_θ
    W_θ(s,a) → r + γ τ log Σ_a' exp(K⁻(s',a')/τ),   K⁻ by the target network and the counts of now
    Q_θ(s,a) → r + γ max_a' Q⁻(s',a'),   a second output of the same network
    after an episode, with H = Σ entropy and C = Σ c over its steps:  log τ ← log τ − η (τH − C/τ)/(τH + C/τ)

**Units.** Networks learn rewards in units of the largest |reward| so far, or 1. sd and σ are in units of `spread` times
E|r| / √P(r ≠ 0): the root mean square of rewards, if all that are not 0 were of the same size. So a few large rewards
do not make every unseen step look like another. The unit is at least 1 until it is known what steps pay: until a reward
of `LARGE` or more was met, and the mean reward is further from 0 than `ERRORS` standard errors. Neither small costs nor
noise alone end the hope for a reward.

The last line is −η·tanh(log τ − log √(C/H)), with its fixed point at τ = √(C/H), that is τH = C/τ, as in the exact
solver. It is a heuristic, exact in its limits without `largest_bonus`: nothing is proved for networks.

**Unseen actions.** The output of a network for an action that was never taken is its initial value, about 0. If returns
are far above 0, no bonus makes up for that. The mean of a Gaussian belief is a weighted average: weight ρ, the
remaining share of the variance, on the prior mean, and 1 − ρ on the data. So is K here; the prior is to get no reward
and to stay in place.

**Deployment.** W holds the bonuses and the entropy of later steps, which is what exploring is about, and not what a
policy that is deployed should seek. So the network has a second output Q without them. It is learned from the same
batches. A network of one's own may have a single output per action: then W is deployed.

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
from klearning.deep.agent import LARGEST, DeepAgent, next_log_temperature
from klearning.deep.counts import Counts, Tilings
from klearning.deep.replay import Steps
from klearning.deep.scaling import Scaling, new_scaling
from klearning.numerics import checks

LARGE = 0.5  # |reward|
ERRORS = 4.0
LEAST_UNIT = 1e-3  # of rewards
LEAST_SHARE = 1e-6  # of rewards that are not 0
TOLERANCE = 0.1  # of log sd: all tiles are valued again if it moves further


class Memory(NamedTuple):
    """The agent's memory, a pytree of arrays."""

    params: Any
    target: Any
    average: Any  # of the last updates, which is deployed
    optimiser: Any
    loss: Array
    tilings: Tilings
    counts: Counts
    log_tau: Array
    largest: Array  # |reward| so far, or 1
    mean: Array  # of rewards
    square: Array  # the mean of their squares
    size: Array  # the mean of their absolute values
    paid: Array  # the share of them that are not 0
    peak: Array  # the largest of them
    sd: Array  # of the belief about a mean reward, in units of `largest`
    scaling: Scaling
    ring: Steps
    seen: Array  # steps


@dataclass(frozen=True, repr=False)
class DeepKLearning(DeepAgent[Memory]):
    """K-values by a network, uncertainty by counts of tiles."""

    sd: float = 1.0  # prior standard deviation of mean rewards, in units that follow from rewards
    spread: float = 0.5  # the unit once rewards are known, in units of E|r| / √P(r ≠ 0)
    noise: float = 0.04  # prior guess of the standard deviation of rewards, in the same units
    noise_strength: float = 1.0  # number of visits that this guess is worth
    temperature: float = 0.3  # initial
    temperature_rate: float = 0.1  # η
    temperature_floor: float = 0.03  # of τ, in units of the network's root mean square error
    tilings: int = 8
    tiles: int = 2**13  # per tiling and scale
    largest_bonus: float | None = 1.0  # in standard deviations of the belief about a mean reward
    learning_rate: float = 5e-4  # this, the bound and σ fitted: docs/evidence/deep.md

    heads: ClassVar[int] = 2  # W and Q
    diagnostics: ClassVar[tuple[str, ...]] = ("temperature", "entropy", "c", "loss")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.largest_bonus is not None:
            object.__setattr__(
                self, "largest_bonus", checks.number("largest_bonus", self.largest_bonus, 0.0, LARGEST, above=True)
            )
        if self.tiles & (self.tiles - 1):
            raise ValueError(f"tiles={self.tiles} is not a power of two: give {1 << self.tiles.bit_length()}")

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        for_network, for_tiles = jax.random.split(key)
        whole = network.whole(like)
        params = self.initial(for_network, points, actions)
        tilings = counts.new_tilings(for_tiles, 0 if whole else points, self.tilings)
        tiles = points if whole else len(counts.SCALES) * self.tilings * self.tiles
        known = counts.new_counts(tiles, actions, self.sd)
        optimiser = optax.adam(self.learning_rate).init(params)
        zero, one = jnp.zeros(()), jnp.ones(())
        ring = replay.empty(self.capacity, like, actions)
        target, average = (jax.tree.map(jnp.copy, params) for _ in range(2))
        return Memory(
            params, target, average, optimiser, zero, tilings, known, jnp.log(self.temperature * one), one, zero,
            zero, zero, zero, zero, self.sd * one, new_scaling(like), ring, jnp.zeros((), jnp.int32),
        )  # fmt: skip

    def c(self, m: Memory, z: Array) -> Array:
        """c of inputs z, for each action: the mean over tilings."""
        return counts.mean_at(m.counts.c, counts.tiles_of(m.tilings, m.counts, z))

    def visits(self, m: Memory, x: Array) -> Array:
        return counts.mean_at(m.counts.visits, counts.tiles_of(m.tilings, m.counts, self.inputs(m, x)))

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
        z = self.inputs(m, x)
        tau, c = network.module_of(x).exp(m.log_tau), self.c(m, z)
        W = self.values(m, m.params, z)[0]
        b, slope = self.bonus(c, tau)
        return (self.shrunk_values(W, self.prior_weight(c, m.sd)) + b) / tau, slope

    def describe(self, memory: Any, numbers: Any) -> dict[str, float]:
        H, C = (0.0, 0.0) if numbers is None else numbers.tolist()
        tau = float(jnp.exp(memory.log_tau))
        return {"temperature": tau, "entropy": H, "c": C, "loss": float(memory.loss)}

    def acting(self, memory: Any) -> Any:
        known = memory.counts._replace(visits=None, sums=None, squares=None)
        return super().acting(memory)._replace(counts=known, mean=None, square=None, size=None, paid=None, peak=None)

    def values(self, m: Memory, params: Any, z: Array) -> tuple[Array, ...]:
        """W and Q, (…, actions); W alone if the network has one value per action."""
        both, actions = self.outputs(params, z), m.counts.c.shape[-1]
        return tuple(both[..., i : i + actions] for i in range(0, both.shape[-1], actions))

    def greedy(self, m: Memory, x: Array) -> Array:
        return self.values(m, m.average, self.inputs(m, x))[-1]

    def deployed(self, memory: Memory) -> tuple[Any, NDArray[Any]]:
        *layers, last = memory.average
        actions = memory.counts.c.shape[-1]
        Q = {name: part[..., -actions:] for name, part in last.items()}
        return super().deployed(memory._replace(average=[*layers, Q]))

    def targets(self, m: Memory, steps: Steps) -> Array:
        """Those of W, and of Q if there is one, along the last axis."""
        z = self.inputs(m, steps.after)
        tau, c, (W, *rest) = jnp.exp(m.log_tau), self.c(m, z), self.values(m, m.target, z)
        K = self.shrunk_values(W, self.prior_weight(c, m.sd)) + self.bonus(c, tau)[0]
        allowed = steps.allowed > 0
        V = tau * jax.nn.logsumexp(jnp.where(allowed, K / tau, -jnp.inf), axis=-1)
        next_values = [V, *(jnp.max(jnp.where(allowed, Q, -jnp.inf), axis=-1) for Q in rest)]
        reward, live = steps.reward / m.largest, self.discount * (1.0 - steps.terminal)
        return jnp.stack([reward + live * value for value in next_values], axis=-1)

    def loss(self, params: Any, z: Array, action: Array, targets: Array) -> Array:
        values = self.outputs(params, z).reshape(*targets.shape, -1)
        return network.squared_error(values, jnp.broadcast_to(action[..., None], targets.shape), targets)

    def on_steps(self, m: Memory, block: Steps, weight: Array) -> Memory:
        peak = jnp.maximum(m.peak, jnp.max(weight * jnp.abs(block.reward)))
        largest = jnp.maximum(peak, 1.0)
        r = block.reward
        pairs = (m.mean, r), (m.square, r**2), (m.size, jnp.abs(r)), (m.paid, (r != 0.0).astype(r.dtype))
        mean, square, size, paid = (old + jnp.sum(weight * (new - old)) / jnp.maximum(m.seen, 1) for old, new in pairs)
        usual = size / jnp.maximum(paid, LEAST_SHARE) ** 0.5
        told = (peak >= LARGE) & (mean**2 * m.seen > ERRORS**2 * (square - mean**2))
        before = m.sd * m.largest / self.sd
        now = jnp.where(told, jnp.maximum(self.spread * usual, LEAST_UNIT), jnp.maximum(usual, 1.0))
        unit = jnp.where(jnp.abs(jnp.log(now / before)) > TOLERANCE, now, before)
        sd, noise = (x * unit / largest for x in (self.sd, self.noise))
        at = counts.tiles_in_all_scales(m.tilings, m.counts, self.inputs(m, block.x))
        tilings = m.tilings
        if not network.whole(block.x):
            tilings = counts.with_scale(tilings, m.counts, at, weight, m.seen)
        known = counts.counted(m.counts, at, block.action, block.reward, weight)

        def c(n: Array, sums: Array, squares: Array) -> Array:
            return counts.half_variance(n, sums / largest, squares / largest**2, sd, noise, self.noise_strength)

        known = counts.valued(known, at, block.action, c, everywhere=(largest > m.largest) | (unit != before))
        log_tau = m.log_tau - jnp.log(largest / m.largest)  # the same in the units of rewards
        return m._replace(
            tilings=tilings, counts=known, largest=largest, mean=mean, square=square, size=size, paid=paid, peak=peak,
            sd=sd, log_tau=log_tau,
        )  # fmt: skip

    def on_episode_end(self, m: Memory, numbers: Array, episodes: Array | int = 1) -> Memory:
        log_tau = next_log_temperature(m.log_tau, numbers, episodes * self.temperature_rate)
        least = self.temperature_floor * (2.0 * m.loss) ** 0.5
        return m._replace(log_tau=jnp.maximum(log_tau, jnp.log(least + 1e-9)))
