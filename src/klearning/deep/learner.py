"""DeepLearner: a deep agent in somebody's environment, step by step; an `Actor`, as the tabular `Learner` is.

An episode is played by what was known at its beginning, and learnt from at its end, whole or not at all. So an
interrupt loses no more than the episode under way, and episodes may run side by side. All that is drawn in episode n,
the n-th to begin, is drawn from streams of that number: what comes does not depend on where learning was interrupted.

Networks learn where JAX computes. They act in NumPy, on a copy that is made after each episode.
"""

from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jax import Array
from numpy.typing import NDArray

from klearning.deep.agent import DRAWN, DeepAgent
from klearning.deep.features import Features, features_name
from klearning.deep.replay import Steps
from klearning.numerics import checks
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.types import Flags, Floats
from klearning.simulators.actor import misuse, read_reward
from klearning.simulators.adapters.masks import Masks
from klearning.simulators.numbering import Numbering
from klearning.tabular.trials.streams import sequence, whole_number

BLOCK = 64  # steps that are written to the ring at a time
MOST_BYTES = 3 * 2**28  # of a replay buffer, on any machine: a small file cannot ask for much memory
NUMBERS = 2  # that are summed over an episode: entropy and C
WAYS = ("greedy", "soft")
UNDER_WAY = (
    "step", "over", "number", "sums", "_waiting", "_x", "_chosen", "_rewards", "_terminal", "_masks", "_key", "_acting",
    "_uniforms",
)  # fmt: skip

static = partial(jax.jit, static_argnums=0)
in_place = partial(jax.jit, static_argnums=0, donate_argnums=1)  # the memory given is used up


@partial(jax.jit, static_argnums=(0, 3, 4))
def begin(agent: DeepAgent[Any], key: Array, like: Array, points: int, actions: int) -> Any:
    return agent.begin(key, like, points, actions)


@static
def soft(agent: DeepAgent[Any], acting: Any, x: Array) -> Array:
    return jax.nn.softmax(jax.vmap(lambda row: agent.policy(acting, row)[0])(x))


@static
def greedy(agent: DeepAgent[Any], acting: Any, x: Array) -> Array:
    return jax.vmap(lambda row: agent.greedy(acting, row))(x)


@static
def visits(agent: DeepAgent[Any], memory: Any, x: Array) -> Array:
    return jax.vmap(lambda row: agent.visits(memory, row))(x)


@in_place
def insert(agent: DeepAgent[Any], memory: Any, block: Steps, count: int) -> Any:
    return agent.insert(memory, block, count)


@in_place
def improve(agent: DeepAgent[Any], memory: Any, steps: int, key: Array, numbers: Array) -> Any:
    return agent.concluded(agent.improve(memory, steps, key), numbers)


class DeepLearner:
    """An agent of `klearning.deep` that learns in a simulator. Episodes have at most ``horizon`` steps."""

    def __init__(
        self, agent: DeepAgent[Any], observation_space: spaces.Space[Any], action_space: spaces.Space[Any],
        horizon: int, *, seed: int = 0, blank: bool = False,
    ) -> None:  # fmt: skip
        self.agent, self.horizon, self.seed = agent, checks.whole("horizon", horizon), checks.whole("seed", seed, 0)
        self.observation_space, self.action_space = observation_space, action_space
        self.features = Features(observation_space, features_name(agent.features))
        self.actions = Numbering("action", action_space, False)
        self._mask_reader = Masks(self.actions.count)
        self._check_room()
        self._root = jax.random.key(whole_number(seed, "deep learner", number=0))
        self._predictions = np.random.default_rng(sequence(seed, "deep predictions", number=0))
        self.memory: Any = None  # a blank one is yet to be filled
        self._copy: tuple[Any, Any] = None, None  # a memory, and what of it acts
        if not blank:
            self.memory = begin(agent, jax.random.fold_in(self._root, 0), *self.sizes)
        self.episode, self.steps = 0, 0  # that were learnt from
        self.returns: list[float] = []
        self.continuing = False
        self._aside = 0  # episodes that were set aside
        self.sums: NDArray[Any] = np.zeros(NUMBERS)  # over the steps of this episode, or of the last
        self._new_episode()

    @property
    def sizes(self) -> tuple[NDArray[Any], int, int]:
        """What the networks depend on: some features, how many, and how many actions."""
        return self.features.like, self.features.size, self.actions.count

    def _check_room(self) -> None:
        """For the replay buffer, which is there from the beginning, and for the batches that are drawn at a time."""
        size = self.step_bytes
        for name, count, each in (("capacity", self.agent.capacity, size), ("batch", self.agent.batch, DRAWN * size)):
            if count * each > MOST_BYTES:
                raise ValueError(
                    f"{name}={count} steps of {self.features.like.size} features take {count * each:,} bytes, more "
                    f"than {MOST_BYTES:,}: give {name}={MOST_BYTES // each} or less, or fewer features"
                )

    @property
    def step_bytes(self) -> int:
        """What a step takes: two observations, an action, a reward, whether it was the end, and a mask."""
        return 4 * (2 * self.features.like.size + 3 + self.actions.count)

    def _new_episode(self) -> None:
        self.step, self.over, self._waiting = 0, False, False
        self.number = 0
        self._x: list[NDArray[Any]] = []
        self._chosen: list[int] = []
        self._rewards: list[float] = []
        self._masks: list[Floats] = []
        self._terminal = False
        self._key: Any = None
        self._acting: Any = None
        self._uniforms: Any = None

    @property
    def under_way(self) -> bool:
        """Whether an episode has begun that `end_episode` has not ended."""
        return self._waiting or self.step > 0

    @property
    def diagnostics(self) -> dict[str, float]:
        """What there is to say of this episode, or of the last, by name."""
        return self.agent.describe(self.memory, self.sums)

    def check_spaces(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        """ValueError where these are not the spaces that the learner was made for."""
        for name, mine, space in (
            ("observation", self.observation_space, observation_space), ("action", self.action_space, action_space)
        ):  # fmt: skip
            if mine != space:
                raise ValueError(f"{name} space {space} is not the learner's, {mine}: give its own")

    def act(self, observation: Any, action_mask: Any = None) -> Any:
        """The action for an observation, drawn from the policy that explores; one that the mask allows."""
        if self._waiting or self.over:
            raise RuntimeError(misuse("act", self, self._waiting))
        x, allowed = self.features(observation), self._read_mask(action_mask, observation)
        if self.step == 0:
            with uninterrupted:
                self._begin(self.episode + self._aside)
                self._x, self.sums = [x], np.zeros(NUMBERS)
        elif np.logical_or.reduce(x != self._x[self.step], axis=None):
            raise ValueError(f"observation={observation!r} is not the one that observe() was given last: pass that one")
        with uninterrupted:
            pi, *numbers = self._chances(self._acting, x, allowed)
            a = draw(pi, self._uniforms.random())
            self._masks.append(allowed)
            self._chosen.append(a)
            self.sums = self.sums + numbers
            self._waiting = True
        return self.actions.point(a)

    def _begin(self, number: int) -> None:
        """The streams of an episode, and what it acts by to its end."""
        self.number = number
        self._key = jax.random.fold_in(self._root, 1 + number)
        start = self.agent.start(self._known, jax.random.fold_in(self._key, 0))
        self._acting = jax.tree.map(np.asarray, start)
        self._uniforms = np.random.default_rng(sequence(self.seed, "deep actions", number=number))

    @property
    def _known(self) -> Any:
        """What acts by all that was learnt, in NumPy's arrays."""
        if self._copy[0] is not self.memory:
            self._copy = self.memory, jax.tree.map(np.array, self.agent.acting(self.memory))
        return self._copy[1]

    def _chances(self, acting: Any, x: NDArray[Any], allowed: NDArray[Any]) -> Any:
        """π, and what is summed over an episode. Chances of nought are no mistake."""
        with np.errstate(divide="ignore"):
            return self.agent.chances(acting, x, allowed)

    def observe(self, reward: float, observation: Any, terminated: bool = False, truncated: bool = False) -> None:
        """What the last action led to."""
        if not self._waiting:
            raise RuntimeError(misuse("observe", self, self._waiting))
        r = read_reward(reward, self.step)
        x = self.features(observation)
        with uninterrupted:
            self._rewards.append(r)
            self._x.append(x)
            self.step += 1
            self._waiting, self._terminal = False, bool(terminated)
            self.over = bool(terminated or truncated or self.step == self.horizon)

    def end_episode(self) -> None:
        """Learn from the episode, however it ended. Does nothing where none has begun."""
        if self._waiting:
            raise RuntimeError(misuse("end_episode", self, self._waiting))
        if self.step > 0:
            with uninterrupted:  # learnt from once, or not at all
                self._learn()

    def _learn(self) -> None:
        count = self.step
        for first in range(0, count, BLOCK):
            block, length = self._block(first, min(first + BLOCK, count))
            self.memory = insert(self.agent, self.memory, block, length)
        key, numbers = jax.random.fold_in(self._key, 1), self.sums.astype(np.float32)
        self.memory = improve(self.agent, self.memory, count, key, numbers)
        self.returns.append(float(np.sum(self._rewards)))
        self.episode += 1
        self.steps += count
        self._new_episode()

    def _block(self, first: int, end: int) -> tuple[Steps, int]:
        """Steps of the episode, with room up to a block's length."""
        length, last = end - first, self.step - 1
        masks = [*self._masks[1:], np.ones(self.actions.count, np.float32)]
        terminal = [float(self._terminal and i == last) for i in range(first, end)]
        x, after = self._x[first:end], self._x[first + 1 : end + 1]
        parts: tuple[Any, ...] = (
            x, self._chosen[first:end], self._rewards[first:end], after, terminal, masks[first:end]
        )  # fmt: skip
        kinds: tuple[Any, ...] = (
            self.features.like.dtype,
            np.int32,
            np.float32,
            self.features.like.dtype,
            np.float32,
            np.float32,
        )
        arrays = (np.asarray(part, kind) for part, kind in zip(parts, kinds, strict=True))
        padded = [np.concatenate([part, np.zeros((BLOCK - length, *part.shape[1:]), part.dtype)]) for part in arrays]
        return Steps(*map(jnp.asarray, padded)), length

    def abandon_episode(self) -> None:
        """Forget the episode under way, as if it had not begun."""
        with uninterrupted:
            self._new_episode()

    def set_aside(self) -> "DeepLearner":
        """The episode under way as a learner of its own, so that another may begin; see `take_back` and `drop`.

        It goes on by `act` and `observe`, with the networks that it began with, whatever is learnt in the meantime.
        """
        with uninterrupted:
            aside = copy(self)
            aside.memory = None
            self._new_episode()
            self._aside += 1
        return aside

    def take_back(self, aside: "DeepLearner") -> None:
        """An episode that was set aside is over, or is to end where it is: `end_episode` learns from it."""
        if self.under_way:
            raise RuntimeError(
                "take_back() while another episode is under way: call end_episode() or set_aside() first"
            )
        with uninterrupted:
            self._aside -= 1
            for name in UNDER_WAY:
                setattr(self, name, getattr(aside, name))

    def drop(self, aside: "DeepLearner") -> None:
        """Forget an episode that was set aside."""
        self._aside -= 1

    def predict(self, observation: Any, step: int = 0, how: str = "greedy", action_mask: Any = None) -> Any:
        """The action in deployment: "greedy" without exploration, "soft" drawn from the policy that explores."""
        checks.choice("how", how, WAYS)
        x, allowed = self.features(observation), self._read_mask(action_mask, observation)
        if how == "greedy":
            values = self.agent.greedy(self._known, x)
            return self.actions.point(int(np.where(allowed > 0, values, -np.inf).argmax()))
        return self.actions.point(draw(self._chances(self._known, x, allowed)[0], self._predictions.random()))

    def policies(self, observations: Any, how: str = "soft") -> Floats:
        """The probabilities of all actions, (horizon, observations, actions); the same at every step."""
        checks.choice("how", how, WAYS)
        x, acting = np.stack([self.features(point) for point in observations]), self.agent.acting(self.memory)
        if how == "soft":
            table = np.asarray(soft(self.agent, acting, x), np.float64)
            table /= table.sum(axis=1, keepdims=True)
        else:
            table = np.eye(self.actions.count)[np.asarray(greedy(self.agent, acting, x)).argmax(axis=1)]
        return np.broadcast_to(table, (self.horizon, *table.shape))

    def values(self, observations: Any) -> Floats:
        """What each action is thought to be worth, (observations, actions), in the units of rewards."""
        x = np.stack([self.features(point) for point in observations])
        return np.asarray(greedy(self.agent, self.agent.acting(self.memory), x), np.float64) * float(
            self.memory.largest
        )

    def visits(self, observations: Any) -> Floats:
        """How often each action was taken around observations, (observations, actions); 0 where nothing is counted."""
        x = np.stack([self.features(point) for point in observations])
        return np.asarray(visits(self.agent, self.memory._replace(ring=None, optimiser=None), x), np.float64)

    def save(self, path: str | Path) -> None:
        """Write everything to one file; `kl.load` goes on from there, bit for bit."""
        from klearning.deep.saving import save

        save(self, path)

    def _read_mask(self, mask: Any, observation: Any) -> NDArray[Any]:
        if mask is None:
            return np.ones(self.actions.count, np.float32)
        allowed: Flags = self._mask_reader.read(mask, observation)
        return allowed.astype(np.float32)

    def __repr__(self) -> str:
        return f"DeepLearner({self.agent!r}, horizon={self.horizon}, episodes={self.episode}, steps={self.steps:,})"


def draw(chances: Floats, u: float) -> int:
    """The action that a uniform falls on; never one of no chance."""
    up_to = chances.cumsum(dtype=np.float64)
    total = up_to[-1]
    a = up_to.searchsorted(u * total, side="right")
    return int(a if a < up_to.size else up_to.searchsorted(total))  # rounding may take u to the very end
