"""A walk through an MDP one step at a time: what the Gymnasium and dm_env faces of our worlds share.

`simulate` plays whole episodes in a kernel; this plays single steps for those who bring their own loop.
Randomness is an argument.
"""

from operator import index
from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Floats, Ints
from klearning.tabular.models.mdp import MDP

NUMBERINGS = ("auto", "within", "through")


def is_stationary(mdp: MDP) -> bool:
    """Whether every layer has the same states, mean rewards and transitions."""
    L, states = mdp.horizon, mdp.widths[0]
    if mdp.widths != [states] * L:
        return False
    reward = mdp.reward.reshape(mdp.actions, L, states)
    if (reward != reward[:, :1]).any():
        return False
    first = _layer_entries(mdp, 0)
    return all(
        len(x) == len(y) and (x == y).all() for l in range(1, L - 1) for x, y in zip(_layer_entries(mdp, l), first)
    )


def _layer_entries(mdp: MDP, l: int) -> tuple[Ints, Ints, Floats]:
    """Row lengths, successors within the next layer and weights of layer l, rows in order of (action, state)."""
    low, high = mdp.layers[l], mdp.layers[l + 1]
    start, length = mdp.rows.start[:, low:high].ravel(), mdp.rows.length[:, low:high].ravel()
    before = np.cumsum(length) - length
    where = np.repeat(start - before, length) + np.arange(length.sum())
    return length, mdp.rows.succ[where] - high, mdp.rows.weight[where]


class Walk:
    """Where somebody is in an MDP, and how they get on.

    ``numbering`` says what an observation is: the state's number ``within`` its layer, or ``through`` all
    layers. ``auto`` is within if all layers are the same model and through elsewhere, so that what is
    observed always says what may happen next.
    """

    def __init__(self, mdp: MDP, numbering: str = "auto") -> None:
        if not isinstance(mdp, MDP):
            raise ValueError(f"mdp={mdp!r} is not an MDP: give one, for example deep_sea(10)")
        checks.choice("numbering", numbering, NUMBERINGS)
        self.mdp = mdp
        self.stationary = is_stationary(mdp)
        self.within = numbering == "within" or (numbering == "auto" and self.stationary)
        self.observations = max(mdp.widths) if self.within else mdp.states
        self.state, self.layer, self.over = 0, 0, True
        self._bernoulli = isinstance(mdp.noise, str)
        self._noise: Floats | None = table if np.any(table := mdp.noise_table) else None
        self._offsets = mdp.layers.tolist()
        self._start = mdp.initial.cumsum()

    @property
    def observation(self) -> int:
        """The current observation. After the last layer it stays the last state."""
        return self.place if self.within else self.state

    @property
    def by_time(self) -> bool:
        """Whether an episode is cut short by its horizon: nothing that is observed says that it must end."""
        return self.within and self.stationary and self.mdp.horizon > 1

    @property
    def place(self) -> int:
        """The state's number within its layer."""
        return self.state - self._offsets[self.layer]

    def begin(self, rng: np.random.Generator) -> None:
        """Go to a first state."""
        self.layer, self.over = 0, False
        at = int(np.searchsorted(self._start, rng.random() * self._start[-1], side="right"))
        self.state = min(at, len(self._start) - 1)

    def step(self, action: Any, rng: np.random.Generator) -> float:
        """Take an action, get its reward, and move on unless this was the last layer."""
        a, s = self._action(action), self.state
        reward = self._reward(a, s, rng)
        if self.layer == len(self._offsets) - 2:
            self.over = True
        else:
            self.state = self._next_state(a, s, rng)
            self.layer += 1
        return reward

    def _action(self, action: Any) -> int:
        try:
            a = index(action)
        except TypeError:
            a = -1
        if not 0 <= a < self.mdp.reward.shape[0]:
            top = self.mdp.actions - 1
            raise ValueError(f"action={action!r} is not an action here: give a whole number from 0 to {top}")
        return a

    def _reward(self, a: int, s: int, rng: np.random.Generator) -> float:
        mean = float(self.mdp.reward[a, s])
        if self._bernoulli:
            return 1.0 if rng.random() < mean else 0.0
        if self._noise is not None and (sd := self._noise[a, s]) > 0.0:
            return mean + float(sd * rng.standard_normal())
        return mean

    def _next_state(self, a: int, s: int, rng: np.random.Generator) -> int:
        rows = self.mdp.rows
        e = int(rows.start[a, s])
        last = e + int(rows.length[a, s]) - 1
        if e < last:
            u = rng.random() - rows.weight[e]
            while u >= 0.0 and e < last:
                e += 1
                u -= rows.weight[e]
        return int(rows.succ[e])
