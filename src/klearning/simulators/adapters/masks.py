"""Action masks: which actions a simulator allows in which states, as far as it has told.

A mask met during an episode counts once the episode is learned from. An action that was allowed in a
state once is planned with for good, and taken only while it is allowed: a mask that changes depends on something that
is not observed, and that is said once.
"""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.trials.task import draw_action


class TaskWarning(UserWarning):
    """The task is not quite what the settings, or its own observations, say."""


class Masks:
    """The allowed actions of every state of which a mask was told; ``count`` is how many actions there are."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.known: dict[int, Flags] = {}  # what planning reckons with
        self.news: dict[int, Flags] = {}  # of the episode under way
        self._told = False  # that masks change

    def __bool__(self) -> bool:
        """Whether any was told."""
        return bool(self.known or self.news)

    def read(self, mask: Any, observation: Any) -> Flags:
        """A mask as a simulator gives it: a number or a boolean per action."""
        try:
            flags = np.asarray(mask, np.float64)
        except (TypeError, ValueError):
            flags = np.zeros(0)
        allowed: Flags = flags == 1.0
        if flags.shape != (self.count,) or not (allowed | (flags == 0.0)).all():
            fault = f"is not a mask: give a 0 or 1 for each of the {self.count} actions"
        elif not allowed.any():
            fault = "allows no action: end the episode there, or allow one"
        else:
            return allowed
        raise ValueError(f"action_mask={mask!r} of observation={observation!r} {fault}")

    def tell(self, s: int, allowed: Flags, observation: Any) -> None:
        """Note what is allowed in state s."""
        before = self.at(s)
        if before is None:
            self.news[s] = allowed
        elif (allowed != before).any():
            if not self._told:
                self._told = True
                warnings.warn(
                    f"action_mask of observation={observation!r} changes, from {before.astype(int).tolist()} to "
                    f"{allowed.astype(int).tolist()}: plans take for possible what is allowed there at times; "
                    "put into the observation what the mask depends on",
                    TaskWarning,
                    stacklevel=4,
                )
            if (allowed & ~before).any():
                self.news[s] = allowed | before

    def at(self, s: int) -> Flags | None:
        """The allowed actions in state s; None if no mask was given."""
        return self.news.get(s, self.known.get(s))

    def forget_news(self) -> None:
        self.news = {}

    def settle(self) -> None:
        """The episode was learned from: its masks now count."""
        self.known |= self.news
        self.news = {}

    def restrict(self, table: Floats, width: int) -> Floats:
        """A policy, (A, states of all layers), with nothing but what is known to be allowed, layers being so wide."""
        masks = {s: allowed for s, allowed in self.known.items() if not allowed.all()}
        if masks:
            table = table.copy()
            for s, allowed in masks.items():
                table[:, s::width] = restricted(table[:, s::width], allowed)
        return table

    def as_array(self, masks: dict[int, Flags]) -> Ints:
        """One row per state: its number, then a 0 or 1 per action."""
        rows = [[s, *allowed.tolist()] for s, allowed in masks.items()]
        return np.array(rows, np.int64).reshape(len(rows), 1 + self.count)

    def from_array(self, name: str, rows: Any, states: int) -> dict[int, Flags]:
        """The inverse, of what a file holds of states below this number."""
        form = rows.dtype == np.int64 and rows.ndim == 2 and rows.shape[1] == 1 + self.count
        if not form or not np.isin(rows[:, 1:], (0, 1)).all() or not rows[:, 1:].any(axis=1).all():
            raise ValueError(f"{name} is not a table of masks of {self.count} actions")
        numbers = rows[:, 0]
        if len(np.unique(numbers)) < len(numbers) or ((numbers < 1) | (numbers >= states)).any():
            raise ValueError(f"{name} has masks of states that were never met, or two of one state")
        return {int(row[0]): row[1:] == 1 for row in rows}


def restricted(policy: Floats, allowed: Flags) -> Floats:
    """Columns of probabilities (A, …) over what is allowed; even where that leaves nothing."""
    flags = allowed.reshape(-1, *[1] * (policy.ndim - 1))
    kept = np.where(flags, policy, 0.0)
    total = kept.sum(axis=0)
    return np.where(total > 0.0, kept / np.where(total > 0.0, total, 1.0), flags / allowed.sum())


def draw_allowed(policy: Floats, column: int, allowed: Flags, u: float) -> int:
    """The action that a uniform u falls on in a column of a policy, among those that are allowed."""
    return draw_action(restricted(policy[:, column], allowed).reshape(-1, 1), 0, u)


def forbidden_in(masks: Iterable[tuple[int, Flags]]) -> tuple[Ints, Flags]:
    """States, and what is not allowed in them, (A, n): as an agent's `forbid` takes them."""
    pairs = list(masks)
    states = np.array([s for s, _ in pairs], np.int64)
    return states, np.ascontiguousarray(~np.array([allowed for _, allowed in pairs], np.bool_).T)
