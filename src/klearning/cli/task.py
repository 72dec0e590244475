"""What tasks have, as options of a line: a discount, no end, drift, masks, and when to stop."""

from collections.abc import Callable
from typing import Any, NamedTuple

import click

OPTIONS = (
    click.option(
        "--discount", type=float, default=1.0, show_default=True,
        help="weigh what comes a step later by so much; below 1 --horizon may be left out",
    ),
    click.option(
        "--continuing", is_flag=True,
        help="the task never ends: an episode is a window of --horizon steps, and the next begins where it ended",
    ),
    click.option(
        "--forget", type=float, default=1.0, show_default=True,
        help="after an episode all that was seen counts so much: a heuristic for simulators that change",
    ),
    click.option(
        "--action-masks/--no-action-masks", default=True, show_default=True,
        help="never take what info['action_mask'] does not allow, or do not look at it",
    ),
    click.option(
        "--stop-when-sure", type=float, metavar="LOSS",
        help="stop once an episode without exploration loses no more than this, by a bound; with a stationary prior "
        "by an estimate",
    ),
    click.option(
        "--stop-at-return", type=float, metavar="RETURN",
        help="stop once the mean return of the last 100 episodes has reached this",
    ),
)  # fmt: skip


def task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


class Stops(NamedTuple):
    """When to stop before the last episode."""

    loss: float | None
    target: float | None

    def of(self, learner: Any) -> list[Any]:
        """As callbacks; what has been learnt before counts."""
        from klearning.simulators.stopping import StopAtReturn, StopWhenSure

        callbacks: list[Any] = []
        if self.loss is not None:
            if not hasattr(learner, "belief"):
                raise ValueError(f"--stop-when-sure {self.loss:g}: {learner.agent} has no belief: use --stop-at-return")
            _ = learner.belief  # or an error, now
            callbacks.append(StopWhenSure(self.loss))
        if self.target is not None:
            rule = StopAtReturn(self.target)
            rule.recent.extend(learner.returns)
            callbacks.append(rule)
        return callbacks
