"""DeepLearner: a deep agent in an environment, step by step; an `Actor`, as the tabular `Learner` is.

Networks learn every `train_every` steps and at the end of an episode. What an episode changed can be undone until it
ends, so that an interrupt loses no more than the episode under way. Everything drawn in episode n, the n-th to begin,
is drawn from streams of that number: what comes does not depend on where learning was interrupted.

Episodes of a vector of environments share the networks: these act for all in one batch, and learn every `train_every`
steps of all together. An interrupt then forgets the episodes under way, but not what networks learned from them.

Networks learn where JAX computes. They act in NumPy, on a copy that is made after they learned.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jax import Array
from numpy.typing import NDArray

from klearning.deep import replay, tables
from klearning.deep.agent import DRAWN, DeepAgent
from klearning.deep.features import Features, features_name
from klearning.deep.pictures import convolutions, picture_of
from klearning.deep.replay import Steps
from klearning.numerics import checks
from klearning.numerics.display.summaries import html_summary
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.types import Flags, Floats
from klearning.simulators.actor import WAYS, Spaces, misuse, read_reward, way_to_act
from klearning.simulators.adapters.masks import Masks
from klearning.simulators.bins import Bins
from klearning.simulators.learner import episode_facts
from klearning.simulators.space_index import SpaceIndex
from klearning.tabular.trials.streams import sequence, whole_number

if TYPE_CHECKING:
    from pandas import DataFrame

BLOCK = 64  # steps that are written to the ring at a time
MOST_BYTES = 3 * 2**28  # of a replay buffer, on any machine: a small file cannot ask for much memory
NUMBERS = 2  # that are summed over an episode: entropy and C
UNDER_WAY = (
    "step", "over", "number", "sums", "learned", "_waiting", "_x", "_chosen", "_rewards", "_terminal", "_masks", "_key",
    "_acting", "_uniforms", "_undo",
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


@static
def chances_of_all(agent: DeepAgent[Any], acting: Any, own: dict[str, Array], x: Array, allowed: Array) -> Any:
    """The policies of several episodes in a batch, each with some parts of the memory of its own."""
    return jax.vmap(lambda own, *row: agent.chances(acting._replace(**own), *row))(own, x, allowed)


@in_place
def insert(agent: DeepAgent[Any], memory: Any, block: Steps, count: int) -> Any:
    return agent.insert(memory, block, count)


@in_place
def improve(agent: DeepAgent[Any], memory: Any, steps: int, key: Array) -> Any:
    return agent.improve(memory, steps, key)


@in_place
def on_episode_end(agent: DeepAgent[Any], memory: Any, numbers: Array) -> Any:
    return agent.on_episode_end(memory, numbers)


@partial(jax.jit)
def overwritten(ring: Steps, first: Array) -> Steps:
    """The steps that a block written from ``first`` on replaces."""
    return replay.taken(ring, (first + jnp.arange(BLOCK)) % ring.reward.shape[0])


@partial(jax.jit, donate_argnums=0)
def restored(ring: Steps, rows: Steps, first: Array, count: int) -> Steps:
    return replay.written(ring, rows, first, count)


class Undo(NamedTuple):
    """How the memory was before the episode under way."""

    memory: Any  # without its replay buffer
    rows: list[tuple[Steps, Array, int]]  # of the buffer that were replaced: steps, from where on, how many


class DeepLearner:
    """An agent of `klearning.deep` that learns in a simulator. Episodes have at most ``horizon`` steps."""

    def __init__(
        self, agent: DeepAgent[Any], observation_space: spaces.Space[Any], action_space: spaces.Space[Any],
        horizon: int, *, bins: Bins | None = None, seed: int = 0, blank: bool = False,
    ) -> None:  # fmt: skip
        self.horizon, self.seed = checks.whole("horizon", horizon), checks.whole("seed", seed, 0)
        self.observation_space, self.bins = observation_space, bins
        seen = observation_space if bins is None else bins.binned_space
        self.features = Features(seen, features_name(agent.features))
        if self.features.whole and agent.network is not None:
            raise ValueError(f"network={agent.network!r} needs vectors, not {seen}: give features=, too")
        self.actions = SpaceIndex("action", action_space, False)
        self.given, self.agent = agent, for_pictures(agent, seen, self.actions.count)
        self._mask_reader = Masks(self.actions.count)
        self._check_room()
        self._root = jax.random.key(whole_number(seed, "deep learner", number=0))
        self._predictions = np.random.default_rng(sequence(seed, "deep predictions", number=0))
        self.memory: Any = None  # a blank one is yet to be filled
        self._copy: tuple[Any, Any] = None, None  # a memory, and what of it acts
        if not blank:
            self.memory = begin(self.agent, jax.random.fold_in(self._root, 0), *self.sizes)
        self.episodes_done, self.steps = 0, 0  # episodes that ended, steps that were learned from
        self.returns: list[float] = []
        self.continuing, self.discount = False, 1.0  # episodes end by themselves, and are valued whole
        self._aside = 0  # episodes that were set aside
        self.sums: NDArray[Any] = np.zeros(NUMBERS)  # over the steps of this episode, or of the last
        self._new_episode()

    @property
    def sizes(self) -> tuple[NDArray[Any], int, int]:
        """The sizes of the networks: example features, their number, and the number of actions."""
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
        """Bytes per step: two observations, an action, a reward, whether it was the end, and a mask."""
        return 2 * self.features.like.nbytes + 4 * (3 + self.actions.count)

    def _new_episode(self) -> None:
        self.step, self.over, self._waiting = 0, False, False
        self.number, self.learned = 0, 0
        self._undo: Undo | None = None
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
        """Diagnostics of this episode, or of the last, by name."""
        return self.agent.describe(self.memory, self.sums)

    def check_spaces(self, spaces: Spaces) -> None:
        """ValueError if these are not the spaces, or not the bins, that the learner was made for."""
        spaces.check(self.observation_space, self.bins, self.actions)

    @property
    def made_with(self) -> dict[str, Any]:
        """The arguments that it was made with, by name."""
        return {"agent": self.given, "horizon": self.horizon, "seed": self.seed}

    def read(self, observation: Any) -> NDArray[Any]:
        """The features of an observation."""
        return self.features(observation if self.bins is None else self.bins.cut(observation))

    def read_all(self, observations: Sequence[Any]) -> NDArray[Any]:
        return np.stack([self.read(observation) for observation in observations])

    def act(self, observation: Any, action_mask: Any = None) -> Any:
        """The action for an observation, drawn from the policy that explores; one that the mask allows."""
        x, allowed = self._asked(observation, action_mask)
        with uninterrupted:
            if self.step == 0:
                self._begin(self.episodes_done + self._aside)
                self._x, self.sums = [x], np.zeros(NUMBERS)
            if self.step - self.learned >= self.agent.train_every and self.memory is not None:
                self._train(undo=True)
                self._acting = self._starting()
            return self._act(allowed, *self._chances(self._acting, x, allowed))

    def _asked(self, observation: Any, action_mask: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Features and mask of the observation to act on, which is the one seen last."""
        if self._waiting or self.over:
            raise RuntimeError(misuse("act", self, self._waiting))
        x, allowed = self.read(observation), self._read_mask(action_mask, observation)
        if self.step > 0 and np.logical_or.reduce(x != self._x[self.step], axis=None):
            raise ValueError(f"observation={observation!r} is not the one that observe() was given last: pass that one")
        return x, allowed

    def _act(self, allowed: NDArray[Any], pi: Floats, *numbers: float) -> Any:
        """An action drawn from π, and what is summed over the episode."""
        a = draw(pi, self._uniforms.random())
        self._masks.append(allowed)
        self._chosen.append(a)
        self.sums = self.sums + numbers
        self._waiting = True
        return self.actions.point(a)

    def _begin(self, number: int) -> None:
        """The streams of an episode, and what it acts by until it learns."""
        self.number = number
        self._key = jax.random.fold_in(self._root, 1 + number)
        self._acting = self._starting()
        self._uniforms = np.random.default_rng(sequence(self.seed, "deep actions", number=number))

    def _starting(self, key: Any = None) -> Any:
        """What acts in this episode, or in that of a key."""
        start = self.agent.start(self._known, jax.random.fold_in(self._key if key is None else key, 0))
        return jax.tree.map(np.asarray, start)

    @property
    def _known(self) -> Any:
        """The parts of the memory that act, as NumPy arrays."""
        if self._copy[0] is not self.memory:
            self._copy = self.memory, jax.tree.map(np.array, self.agent.acting(self.memory))
        return self._copy[1]

    def _chances(self, acting: Any, x: NDArray[Any], allowed: NDArray[Any]) -> Any:
        """π, and what is summed over an episode. Probabilities of zero are allowed."""
        with np.errstate(divide="ignore"):
            return self.agent.chances(acting, x, allowed)

    def observe(self, reward: float, observation: Any, terminated: bool = False, truncated: bool = False) -> None:
        """Record the result of the last action."""
        if not self._waiting:
            raise RuntimeError(misuse("observe", self, self._waiting))
        r = read_reward(reward, self.step)
        x = self.read(observation)
        with uninterrupted:
            self._rewards.append(r)
            self._x.append(x)
            self.step += 1
            self._waiting, self._terminal = False, bool(terminated)
            self.over = bool(terminated or truncated or self.step == self.horizon)

    def end_episode(self) -> None:
        """Learn from the episode, however it ended. Does nothing if none has begun."""
        if self._waiting:
            raise RuntimeError(misuse("end_episode", self, self._waiting))
        if self.step > 0:
            with uninterrupted:  # learned from once, or not at all
                self._learn()

    def _learn(self) -> None:
        self._train(undo=False)
        self.memory = on_episode_end(self.agent, self.memory, self.sums.astype(np.float32))
        self.returns.append(float(np.sum(self._rewards)))
        self.episodes_done += 1
        self._new_episode()

    def _train(self, undo: bool) -> None:
        """Learn from the steps of this episode that were not yet learned from; so that it can be undone, or not."""
        count, key = self.step - self.learned, jax.random.fold_in(self._key, 1 + self.learned)
        if undo and self._undo is None:
            self._undo = Undo(jax.tree.map(jnp.copy, self.memory._replace(ring=None)), [])
        self._insert(self, undo)
        self.memory = improve(self.agent, self.memory, count, key)

    def _insert(self, episode: "DeepLearner", undo: bool = False) -> None:
        """Add an episode's new steps to the replay buffer; so that it can be undone, or not."""
        for first in range(episode.learned, episode.step, BLOCK):
            block, length = episode._block(first, min(first + BLOCK, episode.step))
            if undo and self._undo is not None:
                start = jnp.copy(self.memory.seen)
                self._undo.rows.append((overwritten(self.memory.ring, start), start, length))
            self.memory = insert(self.agent, self.memory, block, length)
        self.steps += episode.step - episode.learned
        episode.learned = episode.step

    def _block(self, first: int, end: int) -> tuple[Steps, int]:
        """Steps of the episode, with room up to a block's length."""
        length, last = end - first, self.step - 1
        masks = [*self._masks[1:], np.ones(self.actions.count, np.float32)]
        terminal = [float(self._terminal and i == last) for i in range(first, end)]
        x, after = self._x[first:end], self._x[first + 1 : end + 1]
        parts: tuple[Any, ...] = (
            x, self._chosen[first:end], self._rewards[first:end], after, terminal, masks[first:end]
        )  # fmt: skip
        seen, number = self.features.like.dtype, np.float32
        kinds: tuple[Any, ...] = (seen, np.int32, number, seen, number, number)
        arrays = (np.asarray(part, kind) for part, kind in zip(parts, kinds, strict=True))
        padded = [np.concatenate([part, np.zeros((BLOCK - length, *part.shape[1:]), part.dtype)]) for part in arrays]
        return Steps(*map(jnp.asarray, padded)), length

    def abandon_episode(self) -> None:
        """Forget the episode under way, as if it had not begun.

        Only what it learned before the learner was saved and loaded again stays.
        """
        with uninterrupted:
            if self._undo is not None:
                self.steps -= self.learned
                ring = self.memory.ring
                for rows, first, count in reversed(self._undo.rows):
                    ring = restored(ring, rows, first, count)
                self.memory = self._undo.memory._replace(ring=ring)
            self._new_episode()

    def fork_episode(self) -> "DeepLearner":
        """The episode under way as a learner of its own, so that another may begin.

        `rejoin_episode` learns from it, `discard_episode` forgets it.

        It goes on by `act` and `observe`, with the networks that it began with, whatever is learned in the meantime; or
        with others by `act_together`, with the networks of now.
        """
        with uninterrupted:
            aside = copy(self)
            aside.memory = None
            self._new_episode()
            self._aside += 1
        return aside

    def rejoin_episode(self, aside: "DeepLearner") -> None:
        """Return a forked episode that is over, or is to end here: `end_episode` learns from it."""
        if self.under_way:
            raise RuntimeError(
                "rejoin_episode() while another episode is under way: call end_episode() or fork_episode() first"
            )
        with uninterrupted:
            self._aside -= 1
            for name in UNDER_WAY:
                setattr(self, name, getattr(aside, name))

    def discard_episode(self, aside: "DeepLearner") -> None:
        """Forget an episode that was set aside. What networks learned from it stays."""
        self._aside -= 1

    def learn_together(self, forks: Sequence["DeepLearner"]) -> None:
        """Learn from the new steps of forked episodes, if there are `train_every` of them together."""
        new = [fork for fork in forks if fork.step > fork.learned]
        count = sum(fork.step - fork.learned for fork in new)
        if count < self.agent.train_every:
            return
        with uninterrupted:
            key = jax.random.fold_in(new[0]._key, 1 + new[0].learned)
            for fork in new:
                self._insert(fork)
            self.memory = improve(self.agent, self.memory, count, key)
            for fork in forks:
                fork._acting = self._starting(fork._key)

    def act_together(
        self, forks: Sequence["DeepLearner"], observations: Sequence[Any], masks: Sequence[Any]
    ) -> list[Any]:
        """The next action of each forked episode: one batch for the networks."""
        given = list(zip(forks, observations, masks, strict=True))
        if len(given) < 2:
            return [fork.act(seen, action_mask=mask) for fork, seen, mask in given]
        asked = [fork._asked(seen, mask) for fork, seen, mask in given]
        with uninterrupted:
            own = [{name: getattr(fork._acting, name) for name in self.agent.own_parts} for fork in forks]
            rows = list(zip(own, asked, strict=True))
            rows += rows[:1] * ((1 << (len(rows) - 1).bit_length()) - len(rows))  # few sizes, each compiled once
            own_parts, (x, allowed) = jax.tree.map(lambda *parts: np.stack(parts), *rows)
            found = chances_of_all(self.agent, self.agent.acting(self.memory), own_parts, x, allowed)
            chances = zip(*map(np.asarray, found))
            return [fork._act(mask, *row) for fork, (_, mask), row in zip(forks, asked, chances)]

    def predict(
        self, observation: Any, step: int = 0, how: str = "greedy", action_mask: Any = None, *,
        deterministic: bool | None = None, info: bool = False,
    ) -> Any:  # fmt: skip
        """The action in deployment: "greedy" without exploration, "soft" drawn from the policy that explores.

        ``deterministic=True`` and ``False`` say the same, as in Stable-Baselines3. With ``info`` the answer is (action,
        dict): ``visits`` around the observation, ``value`` of the best action, ``probability`` of this one.
        """
        how = way_to_act(how, deterministic)
        x, allowed = self.read(observation), self._read_mask(action_mask, observation)
        if how == "greedy":
            a, chance = int(np.where(allowed > 0, self.agent.greedy(self._known, x), -np.inf).argmax()), 1.0
        else:
            chances = self._chances(self._known, x, allowed)[0]
            a = draw(chances, self._predictions.random())
            chance = float(chances[a])
        action = self.actions.point(a)
        return (action, self._info(observation, chance)) if info else action

    def _info(self, observation: Any, probability: float) -> dict[str, Any]:
        visits, value = float(self.visits([observation]).sum()), float(self.values([observation])[0, 0])
        return {"met": visits >= 1.0 if visits else None, "visits": visits, "value": value, "probability": probability}

    def policies(self, observations: Sequence[Any], how: str = "soft") -> Floats:
        """The probabilities of all actions, (horizon, observations, actions); the same at every step."""
        checks.choice("how", how, WAYS)
        return self._at_all_steps(self._policy(self.read_all(observations), how))

    def _policy(self, x: NDArray[Any], how: str) -> Floats:
        """(observations, actions)."""
        acting = self.agent.acting(self.memory)
        if how == "greedy":
            return np.eye(self.actions.count)[np.asarray(greedy(self.agent, acting, x)).argmax(axis=1)]
        table = np.asarray(soft(self.agent, acting, x), np.float64)
        table /= table.sum(axis=1, keepdims=True)
        return table

    def values(self, observations: Sequence[Any]) -> Floats:
        """The estimated value of `predict` from these observations on, (horizon, observations).

        In the units of rewards, discounted; the same at every step.
        """
        return self.action_values(observations).max(axis=2)

    def action_values(self, observations: Sequence[Any]) -> Floats:
        """The same by action, (horizon, observations, actions)."""
        return self._at_all_steps(self._action_values(self.read_all(observations)))

    def _action_values(self, x: NDArray[Any]) -> Floats:
        """(observations, actions)."""
        network_values = np.asarray(greedy(self.agent, self.agent.acting(self.memory), x), np.float64)
        return network_values * float(self.memory.largest)

    def _at_all_steps(self, table: Floats) -> Floats:
        return np.broadcast_to(table, (self.horizon, *table.shape))

    def visits(self, observations: Sequence[Any]) -> Floats:
        """How often each action was taken around observations, (observations, actions); 0 if nothing is counted."""
        return self._visits(self.read_all(observations))

    def _visits(self, x: NDArray[Any]) -> Floats:
        return np.asarray(visits(self.agent, self.memory._replace(ring=None, optimiser=None), x), np.float64)

    def table(self, step: int = 0, by: str = "observation", draws: int = 30, seed: int = 0) -> "DataFrame":
        """A pandas data frame with a row for each of the last observations met, by the features that networks see.

        Columns are those of `Learner.table`, with ``feature.0``, … for the observation, or its number if it is one.
        ``uncertainty`` is nan: networks have no belief. ``step``, ``draws`` and ``seed`` change nothing.
        """
        return tables.table(self, by)

    def deployed(self) -> NoReturn:
        """What `kl.certify` asks of a learner, and networks cannot answer."""
        raise ValueError("networks have no belief to certify: play greedy episodes, as kl.callbacks.EvalCallback does")

    def export(self, path: str | Path) -> None:
        """Write the greedy policy as an ``.npz`` of NumPy's that needs neither JAX nor klearning to be read."""
        tables.export(self, path)

    def save(self, path: str | Path) -> None:
        """Write everything to one file; `kl.load` continues from there, bit for bit."""
        from klearning.deep.saving import save

        save(self, path)

    def _read_mask(self, mask: Any, observation: Any) -> NDArray[Any]:
        if mask is None:
            return np.ones(self.actions.count, np.float32)
        allowed: Flags = self._mask_reader.read(mask, observation)
        return allowed.astype(np.float32)

    def __repr__(self) -> str:
        done = f"episodes={self.episodes_done}, steps={self.steps:,}"
        return f"DeepLearner({self.given!r}, horizon={self.horizon}, {done})"

    def _repr_html_(self) -> str:
        facts = {
            **episode_facts(self.episodes_done, self.horizon, self.returns),
            "steps": f"{self.steps:,}",
            "observations": f"{self.features.size} features of {self.observation_space}",
            "actions": f"{self.actions.count} of {self.actions.space}",
            **{name: x for name, x in self.diagnostics.items() if self.episodes_done},
        }
        return html_summary(f"DeepLearner: {self.given!r}", facts)


def for_pictures(agent: DeepAgent[Any], space: spaces.Space[Any], actions: int) -> DeepAgent[Any]:
    """The agent, with convolutions if it sees pictures and has neither features nor a network of its own."""
    shape = picture_of(space) if agent.features is None and agent.network is None else None
    return agent if shape is None else replace(agent, network=convolutions(shape, agent.heads * actions))


def draw(chances: Floats, u: float) -> int:
    """The action that a uniform falls on; never one of no chance."""
    up_to = chances.cumsum(dtype=np.float64)
    total = up_to[-1]
    a = up_to.searchsorted(u * total, side="right")
    return int(a if a < up_to.size else up_to.searchsorted(total))  # rounding may take u to the very end
