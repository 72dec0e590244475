"""What deep agents have in common: one loop over episodes, a ring of steps, networks that are moved by Adam.

    act by the policy of what is known, to the episode's end
    write its steps to the ring; for each of them, `updates` times: draw a batch, a step of Adam on (W(s,a) − y)²,
    the target network a share of the way
    learn what else there is to learn from the episode

Nothing is learnt before an episode is over: it is learnt from whole, or not at all. All of it is pure functions of
arrays: the same ones step by step in somebody's environment (`learner.py`) and fused into one scan (`fused.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.flatten_util import ravel_pytree

from klearning.deep import network, replay
from klearning.deep.features import features_name
from klearning.deep.replay import Steps
from klearning.numerics import checks

Memory = TypeVar("Memory")

DRAWN = 32  # batches at a time: what no network changes is computed for all of them at once
LARGEST = 1e9  # of settings: products of a few are floats of 32 bits
MOST = 2**31 - 1  # of whole settings: JAX counts in 32 bits
MOST_UPDATES = 1000  # per step: those of an episode are counted in 32 bits


@dataclass(frozen=True)
class DeepAgent(Generic[Memory]):
    """Settings of the networks and of how they learn."""

    hidden: tuple[int, ...] = (50, 50)
    normalised: bool = True  # units of hidden layers: mean 0 and variance 1
    learning_rate: float = 1e-3
    batch: int = 128
    updates: int = 2  # per step of the environment
    polyak: float = 0.05  # how far the target network follows, per update
    discount: float = 0.99
    capacity: int = 100_000  # steps that are remembered
    features: str | Callable[[Any], Any] | None = None  # of observations; by default those of their space

    diagnostics: ClassVar[tuple[str, ...]] = ("loss",)
    takes_prior: ClassVar[bool] = False
    at_most_one: ClassVar[tuple[str, ...]] = ("learning_rate", "polyak", "discount", "epsilon")
    may_be_zero: ClassVar[tuple[str, ...]] = ("discount", "epsilon", "exploration", "prior_scale", "temperature_rate")

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            zero = name in self.may_be_zero
            if name == "hidden":
                widths = value if isinstance(value, list | tuple) else [value]
                value = tuple(checks.whole(f"hidden[{i}]", width) for i, width in enumerate(widths))
            elif name == "features":
                value = features_name(value)
            elif field.type is bool:
                value = checks.flag(name, value)
            elif field.type is int:
                value = checks.whole(name, value, 0 if zero else 1, MOST_UPDATES if name == "updates" else MOST)
            elif field.type is float:
                value = checks.number(name, value, 0.0, 1.0 if name in self.at_most_one else LARGEST, above=not zero)
            object.__setattr__(self, name, value)

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        """What is known at first. ``like`` are some features; whole numbers are below ``points``."""
        raise NotImplementedError

    def start(self, memory: Memory, key: Array) -> Memory:
        """An episode begins."""
        return memory

    def policy(self, memory: Memory, x: Array) -> tuple[Array, Array]:
        """Scores whose softmax acts, and c, half the variance of what is not known of each action."""
        raise NotImplementedError

    def greedy(self, memory: Memory, x: Array) -> Array:
        """Values whose largest is the action in deployment."""
        raise NotImplementedError

    def outputs(self, params: Any, x: Array) -> Array:
        """Of one network, (…, actions)."""
        return network.values(params, x, self.normalised)

    def visits(self, memory: Memory, x: Array) -> Array:
        """How often each action was taken around x, as far as that is counted."""
        return 0.0 * self.greedy(memory, x)

    def beside(self, memory: Memory, steps: Steps) -> Any:
        """What the values of what came after steps have in them that is of no network: arrays (…, actions)."""
        return jnp.where(steps.allowed > 0, 0.0, -jnp.inf)

    def loss(self, params: Any, memory: Memory, steps: Steps, beside: Any) -> Array:
        """Mean over a batch, to be lowered in ``params``; ``beside`` is that of these steps."""
        raise NotImplementedError

    def noticed(self, memory: Memory, block: Steps, weight: Array) -> Memory:
        """Steps are new: what is to be counted."""
        return memory

    def concluded(self, memory: Memory, numbers: Array) -> Memory:
        """An episode is over: what is to be learnt from the sums over it."""
        return memory

    def acting(self, memory: Any) -> Any:
        """What of the memory acting needs, and no more: it is copied at every episode."""
        return memory._replace(ring=None, optimiser=None, loss=None, largest=None)

    def describe(self, memory: Any, numbers: Any) -> dict[str, float]:
        """Diagnostics of an episode, from the sums over its steps."""
        return {"loss": float(memory.loss)}

    def actor(
        self, observation_space: Any, action_space: Any, horizon: int, *, prior: Any = None, seed: int = 0
    ) -> Any:
        """The learner that `kl.learn` lets act."""
        from klearning.deep.learner import DeepLearner

        if prior is not None:
            raise ValueError(f"prior={prior!r}: networks have none; give {type(self).__name__} its own settings")
        return DeepLearner(self, observation_space, action_space, horizon, seed=seed)

    def chances(self, memory: Memory, x: Array, allowed: Array) -> tuple[Array, Array, Array]:
        """π(·|x) among what is allowed; and of this step what is summed over an episode: entropy, and Σ π c."""
        numpy = network.module_of(x)
        scores, c = self.policy(memory, x)
        scores = numpy.where(allowed > 0, scores, -jnp.inf)
        scores = scores - numpy.maximum.reduce(scores)
        odds = numpy.exp(scores)
        total = numpy.add.reduce(odds)
        pi = odds / total
        entropy = numpy.log(total) - numpy.add.reduce(pi * numpy.where(pi > 0.0, scores, 0.0))
        return pi, entropy, numpy.add.reduce(pi * c)

    def act(self, memory: Memory, x: Array, allowed: Array, key: Array) -> tuple[Array, Array]:
        """An action of the policy, and its numbers."""
        pi, entropy, c = self.chances(memory, x, allowed)
        return jax.random.categorical(key, jnp.log(pi)), jnp.stack([entropy, c])

    def insert(self, memory: Any, block: Steps, count: Array) -> Any:
        """The first ``count`` steps of a block are remembered."""
        weight = (jnp.arange(block.reward.shape[0]) < count).astype(jnp.float32)
        ring = replay.written(memory.ring, block, memory.seen, count)
        return self.noticed(memory._replace(ring=ring, seen=memory.seen + count), block, weight)

    def improve(self, memory: Any, steps: Array, key: Array) -> Any:
        """So many steps were seen: `updates` for each."""
        updates = self.updates * steps
        adam = optax.adam(self.learning_rate)
        flat, unflat = ravel_pytree(memory.params)  # one long vector moves in one go, and not layer by layer

        def some(i: Array, moving: Any) -> Any:
            drawn = replay.sampled(memory.ring, memory.seen, jax.random.fold_in(key, i), (DRAWN, self.batch))
            beside = self.beside(memory, drawn)

            def update(j: Array, moving: Any) -> Any:
                params, target, optimiser, mean_loss = moving
                batch, aside = jax.tree.map(lambda part: part[j], (drawn, beside))
                before = memory._replace(target=unflat(target))
                loss, gradient = jax.value_and_grad(lambda p: self.loss(unflat(p), before, batch, aside))(params)
                change, optimiser = adam.update(gradient, optimiser)
                params = params + change
                target = target + self.polyak * (params - target)
                return params, target, optimiser, mean_loss + 0.01 * (loss - mean_loss)

            return jax.lax.fori_loop(0, jnp.minimum(updates - i * DRAWN, DRAWN), update, moving)

        # the rest stays as it is while networks move: only they are carried
        moments, *empty = memory.optimiser
        long = moments._replace(mu=ravel_pytree(moments.mu)[0], nu=ravel_pytree(moments.nu)[0])
        moving = flat, ravel_pytree(memory.target)[0], (long, *empty), memory.loss
        flat, target, (long, *empty), loss = jax.lax.fori_loop(0, -(-updates // DRAWN), some, moving)
        moments = long._replace(mu=unflat(long.mu), nu=unflat(long.nu))
        return memory._replace(params=unflat(flat), target=unflat(target), optimiser=(moments, *empty), loss=loss)
