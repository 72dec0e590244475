"""Deep K-learning: K-values by one network, the bonus outside it.

    K(s,a) = (1 − ρ) W_θ(s,a) + ρ γ max_b W_θ(s,b) + c(s,a)/τ,   ρ = c(s,a)/(½sd²),   b: seen actions, where ρ < ½
    c(s,a) = ½σ²/(n + σ²/sd²)  by counts n of tiles around s
    act: a ∼ exp(K(s,a)/τ);   deploy: argmax W_θ
    W_θ(s,a) → r + γ τ log Σ_a' exp(K⁻(s',a')/τ),   K⁻ by the target network and the counts of now
    after an episode, with H = Σ entropy and C = Σ c over its steps:  log τ ← log τ − η (τH − C/τ)/(τH + C/τ)

The last line is −η·tanh(log τ − log √(C/H)), whose rest is at τ = √(C/H): where τH = C/τ, as in the exact solver.
A heuristic, exact in its limits: nothing is proved for networks.

**What was not seen.** Of an action that was never taken a network knows nothing: its output there is what it was at
first, about 0, and where returns are far above it no bonus makes up for that. A Gaussian belief about a mean has ρ, the
share of the variance that is left, of the prior's mean in it, and 1 − ρ of what was seen. So has K here; the prior is
that nothing is paid, and that one stays where one is.

`largest_bonus` k bounds the bonus b = c/τ by k√(2c), so many standard deviations s = √(2c) of the belief. Both are
bounds on τ log E exp(μ/τ) where the belief about a mean reward is sub-Gaussian of that variance and no further than ks
from its mean; c/τ alone is without bound as τ falls, and so are the targets of a network. Where b is at the bound, it
does not depend on τ, and its c is not in C: C/τ is −τ ∂b/∂τ.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from klearning.deep import counts, network, replay
from klearning.deep.agent import LARGEST, DeepAgent
from klearning.deep.counts import Counts, Tiles
from klearning.deep.replay import Steps
from klearning.numerics import checks


class Beside(NamedTuple):
    """What K has beside the network: K = (1 − ρ)W + ρ γ max W + added."""

    left: Array  # ρ, of the prior
    added: Array  # the bonus, or −∞ where an action is not allowed


class Memory(NamedTuple):
    """All that is known, a pytree of arrays."""

    params: Any
    target: Any
    optimiser: Any
    loss: Array
    tiles: Tiles
    counts: Counts
    log_tau: Array
    largest: Array  # |reward| so far, or 1
    ring: Steps
    seen: Array  # steps


@dataclass(frozen=True)
class DeepKLearning(DeepAgent[Memory]):
    """K-values by a network, uncertainty by counts of tiles."""

    sd: float = 1.0  # of mean rewards, before anything was seen
    noise: float = 0.02  # of rewards, where they were seen seldom
    noise_strength: float = 1.0  # ... how often is seldom
    temperature: float = 0.3  # at first
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
            raise ValueError(f"places={self.places} is no power of two: give {1 << self.places.bit_length()}")

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        for_network, for_tiles = jax.random.split(key)
        whole = network.whole(like)
        params = network.initial(for_network, (points, *self.hidden, actions))
        tiles = counts.new_tiles(for_tiles, 0 if whole else like.shape[-1], self.tilings, self.bins / 12**0.5)
        known = counts.new_counts(points if whole else self.tilings * self.places, actions, self.sd)
        optimiser = optax.adam(self.learning_rate).init(params)
        zero, one = jnp.zeros(()), jnp.ones(())
        ring = replay.empty(self.capacity, like, actions)
        target = jax.tree.map(jnp.copy, params)
        return Memory(
            params, target, optimiser, zero, tiles, known, jnp.log(self.temperature * one), one, ring,
            jnp.zeros((), jnp.int32),
        )  # fmt: skip

    def c(self, m: Memory, x: Array) -> Array:
        """c(x, ·), the mean over tilings."""
        return counts.mean_at(m.counts.c, counts.places(m.tiles, m.counts, x))

    def visits(self, m: Memory, x: Array) -> Array:
        return counts.mean_at(m.counts.visits, counts.places(m.tiles, m.counts, x))

    def bonus(self, c: Array, tau: Array) -> tuple[Array, Array]:
        """b, and c where b changes with τ, else 0."""
        if self.largest_bonus is None:
            return c / tau, c
        most = self.largest_bonus * (2.0 * c) ** 0.5
        return network.module_of(c).minimum(c / tau, most), c * (c < most * tau)

    def left(self, c: Array) -> Array:
        """ρ, the share of the prior in what is believed."""
        return c / (0.5 * self.sd**2)

    def believed(self, W: Array, left: Array) -> Array:
        """(1 − ρ)W + ρ γ max W."""
        numpy = network.module_of(W)
        seen = left < 0.5
        none = ~numpy.logical_or.reduce(seen, axis=-1, keepdims=True)
        best = numpy.maximum.reduce(numpy.where(seen | none, W, -jnp.inf), axis=-1, keepdims=True)
        return (1.0 - left) * W + left * self.discount * best

    def policy(self, m: Memory, x: Array) -> tuple[Array, Array]:
        tau, c = network.module_of(x).exp(m.log_tau), self.c(m, x)
        b, slope = self.bonus(c, tau)
        return (self.believed(self.outputs(m.params, x), self.left(c)) + b) / tau, slope

    def describe(self, memory: Any, numbers: Any) -> dict[str, float]:
        H, C = (0.0, 0.0) if numbers is None else numbers.tolist()
        tau = float(jnp.exp(memory.log_tau))
        return {"temperature": tau, "entropy": H, "c": C, "loss": float(memory.loss)}

    def acting(self, memory: Any) -> Any:
        known = memory.counts._replace(visits=None, sums=None, squares=None)
        return super().acting(memory)._replace(counts=known)

    def greedy(self, m: Memory, x: Array) -> Array:
        return self.outputs(m.target, x)

    def beside(self, m: Memory, steps: Steps) -> Beside:
        c = self.c(m, steps.after)
        return Beside(self.left(c), super().beside(m, steps) + self.bonus(c, jnp.exp(m.log_tau))[0])

    def loss(self, params: Any, m: Memory, steps: Steps, beside: Beside) -> Array:
        tau = jnp.exp(m.log_tau)
        K = self.believed(self.outputs(m.target, steps.after), beside.left) + beside.added
        V = tau * jax.nn.logsumexp(K / tau, axis=-1)
        y = steps.reward / m.largest + self.discount * (1.0 - steps.terminal) * V
        W = jnp.take_along_axis(self.outputs(params, steps.x), steps.action[:, None], axis=-1)[:, 0]
        return 0.5 * jnp.mean((W - jax.lax.stop_gradient(y)) ** 2)

    def noticed(self, m: Memory, block: Steps, weight: Array) -> Memory:
        largest = jnp.maximum(m.largest, jnp.max(weight * jnp.abs(block.reward)))
        at = counts.places(m.tiles, m.counts, block.x)
        known = counts.counted(m.counts, at, block.action, block.reward, weight)

        def c(n: Array, sums: Array, squares: Array) -> Array:
            return counts.half_variance(
                n, sums / largest, squares / largest**2, self.sd, self.noise, self.noise_strength
            )

        known = counts.valued(known, at, block.action, c, everywhere=largest > m.largest)  # another scale
        return m._replace(counts=known, largest=largest)

    def concluded(self, m: Memory, numbers: Array) -> Memory:
        tau = jnp.exp(m.log_tau)
        entropy, bonus = tau * numbers[0], numbers[1] / tau
        return m._replace(log_tau=m.log_tau - self.temperature_rate * (entropy - bonus) / (entropy + bonus + 1e-30))
