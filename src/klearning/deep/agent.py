"""The base of deep agents: a loop over episodes, a replay buffer, networks trained by Adam.

    act by the current policy for `train_every` steps, or to the end of the episode
    add these steps to the replay buffer, normalise features by what they have been so far
    for each step, `updates` times: draw a batch, take a step of Adam on (W(s,a) − y)², move the target network
    after an episode: update what else the agent learns from it

Targets y are computed for `DRAWN` updates at a time, by the target network before the first of them. What is deployed
is the average of the networks over about the last `AVERAGED` updates, which swings less than the last one.

Everything is a pure function of arrays, used step by step in an environment (`learner.py`) and in one scan over many
episodes (`bench/fused.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from klearning.deep import network, replay, scaling
from klearning.deep.features import features_name
from klearning.deep.network import Pair
from klearning.deep.replay import Steps
from klearning.numerics import checks

if TYPE_CHECKING:
    from klearning.deep.learner import DeepLearner

Memory = TypeVar("Memory")

DRAWN = 8  # batches to draw at a time; their targets are computed at once
AVERAGED = 1000  # updates; a quarter of all of them as long as that is less
LARGEST = 1e9  # of settings: products of a few are floats of 32 bits
MOST = 2**31 - 1  # of whole settings: JAX counts in 32 bits
MOST_UPDATES = 1000  # per step: those of an episode are counted in 32 bits


def next_log_temperature(log_tau: Array, numbers: Array, step: Array | float) -> Array:
    """log τ − step · (τH − C/τ)/(τH + C/τ), for the sums H and C over an episode."""
    entropy, bonus = jnp.exp(log_tau) * numbers[0], numbers[1] / jnp.exp(log_tau)
    return log_tau - step * (entropy - bonus) / (entropy + bonus + 1e-30)


@dataclass(frozen=True, repr=False)
class DeepAgent(Generic[Memory]):
    """Settings of networks and training."""

    hidden: tuple[int, ...] = (128, 128)
    normalised: bool = True  # hidden units have mean 0 and variance 1 within a layer
    learning_rate: float = 1e-3
    batch: int = 128
    updates: int = 2  # per step of the environment
    train_every: int = 128  # steps; and at the end of an episode
    polyak: float = 0.05  # step of the target network per update
    discount: float = 0.99
    capacity: int = 100_000  # steps that are remembered
    features: str | Callable[[Any], Any] | None = None  # of observations; by default those of their space
    network: Pair | None = None  # (init, apply) of one's own, instead of `hidden` layers

    heads: ClassVar[int] = 1  # values per action that a network has
    own_parts: ClassVar[tuple[str, ...]] = ()  # of the memory, that `start` draws for each episode
    diagnostics: ClassVar[tuple[str, ...]] = ("loss",)
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
            elif name == "network":
                value = network.checked_pair(value)
            elif field.type is bool:
                value = checks.flag(name, value)
            elif field.type is int:
                value = checks.whole(name, value, 0 if zero else 1, MOST_UPDATES if name == "updates" else MOST)
            elif field.type is float:
                value = checks.number(name, value, 0.0, 1.0 if name in self.at_most_one else LARGEST, above=not zero)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """A call with the settings that differ from the defaults."""
        settings = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return f"{type(self).__name__}({', '.join(f'{name}={x!r}' for name, x, usual in settings if x != usual)})"

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        """The initial memory. ``like`` are example features; integers are below ``points``."""
        raise NotImplementedError

    def start(self, memory: Memory, key: Array) -> Memory:
        """An episode begins."""
        return memory

    def policy(self, memory: Memory, x: Array) -> tuple[Array, Array]:
        """Scores whose softmax is the policy, and c, half the posterior variance of each action."""
        raise NotImplementedError

    def greedy(self, memory: Memory, x: Array) -> Array:
        """Values whose argmax is the greedy action."""
        raise NotImplementedError

    def initial(self, key: Array, points: int, actions: int) -> Any:
        """Parameters of one network before it learns."""
        if self.network is None:
            return network.initial(key, (points, *self.hidden, self.heads * actions))
        init, apply = self.network
        params = init(key, jnp.zeros(points))
        shape = jax.eval_shape(apply, params, jnp.zeros((2, points))).shape
        if shape not in ((2, actions), (2, self.heads * actions)):
            raise ValueError(f"network: apply(params, x) is of shape {shape} for 2 observations: give (2, {actions})")
        return params

    def deployed(self, memory: Any) -> tuple[Any, NDArray[Any]]:
        """Networks along a first axis, and the weights of the sum of their values that `greedy` is."""
        return jax.tree.map(lambda part: part[None], memory.average), np.ones(1)

    def outputs(self, params: Any, x: Array) -> Array:
        """Values of one network, (…, actions). A single ``x`` of NumPy's is computed by NumPy, batches by JAX."""
        if self.network is None:
            return network.values(params, x, self.normalised)
        return network.applied(self.network[1], params, x)

    def visits(self, memory: Memory, x: Array) -> Array:
        """How often each action was taken near x; zeros if the agent does not count."""
        return 0.0 * self.greedy(memory, x)

    def inputs(self, memory: Any, x: Any) -> Any:
        """Features as networks see them."""
        return scaling.scaled(memory.scaling, x)

    def targets(self, memory: Memory, steps: Steps) -> Any:
        """Targets of replayed steps, for `loss`: a tree of arrays.

        It depends on the target network, and not on the parameters that are trained.
        """
        raise NotImplementedError

    def loss(self, params: Any, z: Array, action: Array, targets: Any) -> Array:
        """The mean loss of a batch. ``z`` are `inputs`."""
        raise NotImplementedError

    def on_steps(self, memory: Memory, block: Steps, weight: Array) -> Memory:
        """Count new steps."""
        return memory

    def on_episode_end(self, memory: Memory, numbers: Array, episodes: Array | int = 1) -> Memory:
        """Learn from the sums over a finished episode, or over several."""
        return memory

    def acting(self, memory: Any) -> Any:
        """The parts of the memory that acting needs, which are copied at every episode."""
        return memory._replace(ring=None, optimiser=None, loss=None, largest=None, target=None)

    def describe(self, memory: Any, numbers: Any) -> dict[str, float]:
        """Diagnostics of an episode, from the sums over its steps."""
        return {"loss": float(memory.loss)}

    def make_learner(
        self, observation_space: Any, action_space: Any, horizon: int, *, bins: Any = None, prior: Any = None,
        seed: int = 0,
    ) -> "DeepLearner":  # fmt: skip
        """The learner that `kl.learn` lets act."""
        from klearning.deep.learner import DeepLearner

        if prior is not None:
            raise ValueError(f"prior={prior!r}: networks have none; give {type(self).__name__} its own settings")
        return DeepLearner(self, observation_space, action_space, horizon, bins=bins, seed=seed)

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
        """Add the first ``count`` steps of a block to the replay buffer."""
        weight = (jnp.arange(block.reward.shape[0]) < count).astype(jnp.float32)
        ring = replay.written(memory.ring, block, memory.seen, count)
        units = scaling.updated(memory.scaling, block.x, weight, memory.seen)
        return self.on_steps(memory._replace(ring=ring, scaling=units, seen=memory.seen + count), block, weight)

    def improve(self, memory: Any, steps: Array | int, key: Array) -> Any:
        """Run `updates` gradient steps for each of ``steps`` new steps."""
        updates = self.updates * steps
        whole = isinstance(updates, int) and updates % DRAWN == 0  # a loop of known length is faster on a GPU
        adam = optax.adam(self.learning_rate)
        flat, unflat = ravel_pytree(memory.params)  # one long vector is updated at once, not layer by layer

        def some(i: Array, moving: Any) -> Any:
            at = replay.drawn(memory.ring, memory.seen, jax.random.fold_in(key, i), (DRAWN, self.batch))
            steps = replay.taken(memory.ring, at)
            targets = self.targets(memory._replace(target=unflat(moving[1])), steps)
            batches = self.inputs(memory, steps.x), steps.action, jax.lax.stop_gradient(targets)

            def update(j: Array, moving: Any) -> Any:
                params, target, average, optimiser, mean_loss = moving
                batch = jax.tree.map(lambda part: part[j], batches)
                loss, gradient = jax.value_and_grad(lambda params: self.loss(unflat(params), *batch))(params)
                change, optimiser = adam.update(gradient, optimiser)
                params = params + change
                target = target + self.polyak * (params - target)
                return params, target, average, optimiser, mean_loss + 0.01 * (loss - mean_loss)

            count = DRAWN if whole else jnp.minimum(updates - i * DRAWN, DRAWN)
            params, target, average, optimiser, mean_loss = jax.lax.fori_loop(0, count, update, moving)
            share = jnp.minimum(1.0, count / jnp.minimum(AVERAGED, 0.25 * optimiser[0].count))
            return params, target, average + share * (params - average), optimiser, mean_loss

        # only networks and optimiser change, so only they are carried
        moments, *empty = memory.optimiser
        long = moments._replace(mu=ravel_pytree(moments.mu)[0], nu=ravel_pytree(moments.nu)[0])
        moving = flat, ravel_pytree(memory.target)[0], ravel_pytree(memory.average)[0], (long, *empty), memory.loss
        *networks, (long, *empty), loss = jax.lax.fori_loop(0, -(-updates // DRAWN), some, moving)
        params, target, average = map(unflat, networks)
        moments = long._replace(mu=unflat(long.mu), nu=unflat(long.nu))
        return memory._replace(
            params=params, target=target, average=average, optimiser=(moments, *empty), loss=loss
        )  # fmt: skip
