"""Episodes that are kept to be learnt from again, the newest ones in a ring.

Which of them comes next is a hash of how many there have been (`numerics/uniforms.py`): as good as drawn evenly, and no
stream of randomness is spent, so that learning from an episode is a function of what is known and of the episode.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compiled import kernel
from klearning.numerics.tree_checks import refuse
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats, Ints
from klearning.numerics.uniforms import threefry
from klearning.tabular.beliefs.posterior import Episode

ORDERS = ("forward", "backward")  # in which the steps of an episode are learnt from
MOST = 200  # episodes that are kept
NEWEST = -1


@marked(counts=("kept", "total"), finite=("rewards",))
class Replay(NamedTuple):
    places: Ints  # (episodes, L + 1), states counted from the first of their layer: wider layers change none of them
    actions: Ints
    rewards: Floats
    steps: Ints
    known: Ints  # how many states are: one per step, or one more
    kept: int  # how many of the newest may come again
    total: int  # how many there have been


def check_replay(order: str, replay: int) -> None:
    checks.choice("order", order, ORDERS)
    checks.whole("replay", replay, 0)


def empty_replay(horizon: int, replay: int) -> Replay:
    """Room for the newest episode, and where any are to come again for more."""
    most = MOST if replay > 0 else 1
    places, actions = np.zeros((most, horizon + 1), np.int64), np.zeros((most, horizon), np.int64)
    steps, known = np.zeros((2, most), np.int64)
    return Replay(places, actions, np.zeros((most, horizon)), steps, known, 0, 0)


@kernel
def keep(replay: Replay, layers: Ints, episode: Episode, steps: int) -> Replay:
    """With the first steps of an episode, in the place of the oldest one; the arrays are changed."""
    most = replay.steps.size
    e = replay.total % most
    replay.steps[e], replay.known[e] = steps, min(steps + 1, episode.states.size)
    for k in range(replay.known[e]):
        replay.places[e, k] = episode.states[k] - layers[k]
    for k in range(steps):
        replay.actions[e, k], replay.rewards[e, k] = episode.actions[k], episode.rewards[k]
    kept = min(replay.kept + 1, most)
    return Replay(
        replay.places, replay.actions, replay.rewards, replay.steps, replay.known, kept, replay.total + 1
    )  # fmt: skip


@kernel
def pick(replay: Replay, i: int) -> int:
    """Which episode is the i-th to be learnt from again now; or the `NEWEST`."""
    if i == NEWEST:
        return (replay.total - 1) % replay.steps.size
    word, _ = threefry(np.uint64(0), np.uint64(0), np.uint64(replay.total), np.uint64(i))
    age = int(word % np.uint64(replay.kept))
    return (replay.total - 1 - age) % replay.steps.size


def fading(replay: Replay, factor: float) -> Replay:
    """What is left where old episodes count ``factor`` times as much after each: about 1/(1 − factor) of them."""
    return replay if factor == 1.0 else replay._replace(kept=min(replay.kept, round(1.0 / (1.0 - factor))))


def check_stored(replay: Replay, layers: Ints, actions: int, name: str) -> None:
    """That all that is kept are episodes of such layers."""
    L, widths = len(layers) - 1, np.diff(layers)
    widths = np.append(widths, widths[-1])
    refuse(f"{name}.places", "is no state of its layer", (replay.places < 0) | (replay.places >= widths), replay.places)
    refuse(f"{name}.actions", "is no action", (replay.actions < 0) | (replay.actions >= actions), replay.actions)
    refuse(f"{name}.steps", "is no number of steps", (replay.steps < 0) | (replay.steps > L), replay.steps)
    wrong = (replay.known < replay.steps) | (replay.known > replay.steps + 1) | (replay.known > L + 1)
    refuse(f"{name}.known", "is neither as many as steps nor one more", wrong, replay.known)
    if replay.kept > min(replay.total, len(replay.steps)):
        raise ValueError(f"{name}.kept={replay.kept} is more than there have been, {replay.total}, or than have room")
