"""What callbacks of `learn` are called with, and how: a callback can never fail a run."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class EpisodeReport:
    """One episode, as callbacks see it."""

    episode: int  # 1, 2, …
    collected: float  # the return
    steps: int
    terminated: bool
    diagnostics: dict[str, float]  # what the agent said of its plan
    value: float | None = None  # the exact value of the policy, if the model is known and this episode was evaluated
    regret: float | None = None  # what the optimum is above that
    learner: Any = field(default=None, repr=False, compare=False)  # the learner itself, for callbacks that need more

    def numbers(self) -> dict[str, float]:
        """Everything that is a number, by name."""
        known = {"value": self.value, "regret": self.regret}
        rest = {name: float(x) for name, x in known.items() if x is not None}
        return {"return": self.collected, "steps": float(self.steps), **self.diagnostics, **rest}


Callback = Callable[[EpisodeReport], Any]


def guarded(callback: Callback) -> Callable[[EpisodeReport], bool]:
    """The callback as `learn` calls it: whether to go on.

    It may say no, by False or StopIteration; any other failure is a warning, and its last call.
    """
    failed = False

    def call(report: EpisodeReport) -> bool:
        nonlocal failed
        if failed:
            return True
        try:
            answer = callback(report)
        except StopIteration:
            return False
        except Exception as error:
            failed = True
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"{callback!r} failed and is not called again: {reason}", RuntimeWarning, stacklevel=2)
            return True
        return not (isinstance(answer, bool | np.bool_) and not answer)  # None does not count as an answer

    return call
