"""A replay buffer of whole episodes: the newest ones, the oldest overwritten first.

Which of them comes next is a hash of how many there have been (`numerics/random/threefry.py`): as good as drawn evenly,
and no stream of randomness is spent. So learning from an episode is a function of the memory and of the episode.
"""

from typing import Literal, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.random.threefry import threefry
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import refuse
from klearning.numerics.types import Floats, Ints
from klearning.tabular.beliefs.posterior import Episode

ORDERS = ("forward", "backward")  # in which the steps of an episode are learned from
Order = Literal["forward", "backward"]
CAPACITY = 200  # episodes
NEWEST = -1


@field_roles(counts=("size", "total"), finite=("rewards",))
class Replay(NamedTuple):
    local_states: Ints  # (episodes, L + 1), counted from the first of their layer: wider layers change none of them
    actions: Ints
    rewards: Floats
    steps: Ints
    state_counts: Ints  # how many states an episode has: one per step, or one more
    size: int  # how many of the newest may be replayed
    total: int  # how many there have been


def check_replay(order: Order, replay: int) -> None:
    checks.choice("order", order, ORDERS)
    checks.whole("replay", replay, 0)


def empty_replay(horizon: int, replay: int) -> Replay:
    """Memory for the newest episode; for more of them if any are to be replayed."""
    capacity = CAPACITY if replay > 0 else 1
    local_states, actions = np.zeros((capacity, horizon + 1), np.int64), np.zeros((capacity, horizon), np.int64)
    steps, state_counts = np.zeros((2, capacity), np.int64)
    return Replay(local_states, actions, np.zeros((capacity, horizon)), steps, state_counts, 0, 0)


@kernel
def keep(replay: Replay, layers: Ints, episode: Episode, steps: int) -> Replay:
    """Overwrite the oldest episode with the first steps of this one; the arrays are changed in place."""
    capacity = replay.steps.size
    e = replay.total % capacity
    replay.steps[e], replay.state_counts[e] = steps, min(steps + 1, episode.states.size)
    for k in range(replay.state_counts[e]):
        replay.local_states[e, k] = episode.states[k] - layers[k]
    for k in range(steps):
        replay.actions[e, k], replay.rewards[e, k] = episode.actions[k], episode.rewards[k]
    size = min(replay.size + 1, capacity)
    return Replay(
        replay.local_states, replay.actions, replay.rewards, replay.steps, replay.state_counts, size, replay.total + 1
    )  # fmt: skip


@kernel
def pick(replay: Replay, i: int) -> int:
    """The i-th episode to be replayed now; or the `NEWEST`."""
    if i == NEWEST:
        return (replay.total - 1) % replay.steps.size
    word, _ = threefry(np.uint64(0), np.uint64(0), np.uint64(replay.total), np.uint64(i))
    age = int(word % np.uint64(replay.size))
    return (replay.total - 1 - age) % replay.steps.size


def fading(replay: Replay, factor: float) -> Replay:
    """The episodes that are kept if a new one makes old ones count ``factor`` times as much: about 1/(1 − factor)."""
    return replay if factor == 1.0 else replay._replace(size=min(replay.size, round(1.0 / (1.0 - factor))))


def check_stored(replay: Replay, layers: Ints, actions: int, name: str) -> None:
    """That the buffer holds episodes of such layers."""
    L, widths = len(layers) - 1, np.diff(layers)
    widths = np.append(widths, widths[-1])
    outside = (replay.local_states < 0) | (replay.local_states >= widths)
    refuse(f"{name}.local_states", "is not a state of its layer", outside, replay.local_states)
    refuse(f"{name}.actions", "is not an action", (replay.actions < 0) | (replay.actions >= actions), replay.actions)
    refuse(f"{name}.steps", "is not a number of steps", (replay.steps < 0) | (replay.steps > L), replay.steps)
    more = replay.state_counts - replay.steps
    wrong = (more < 0) | (more > 1) | (replay.state_counts > L + 1)
    refuse(f"{name}.state_counts", "is neither as many as steps nor one more", wrong, replay.state_counts)
    if replay.size > min(replay.total, len(replay.steps)):
        raise ValueError(f"{name}.size={replay.size} is more than there have been, {replay.total}, or than fit")
