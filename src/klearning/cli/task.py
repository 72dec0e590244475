"""Options of `klearning learn` for the task and when to stop."""

from collections.abc import Callable
from typing import Any

import click

from klearning.simulators.callbacks import StopAtReturn, StopWhenSure
from klearning.simulators.learner import Learner

OPTIONS = (
    click.option(
        "--discount", type=float, default=1.0, show_default=True,
        help="weight of a reward one step later; below 1, --horizon may be omitted",
    ),
    click.option(
        "--continuing", is_flag=True,
        help="the task never ends: an episode is a window of --horizon steps, and the next continues from there",
    ),
    click.option(
        "--decay", type=float, default=1.0, show_default=True,
        help="multiply all counts by this after each episode, a heuristic for simulators that change",
    ),
    click.option(
        "--action-masks/--no-action-masks", default=True, show_default=True,
        help="take only actions that info['action_mask'] allows, or ignore it",
    ),
    click.option(
        "--replan-every", type=int, default=1, show_default=True, metavar="N",
        help="replan every N episodes; every episode is still learned from",
    ),
    click.option("--evaluate-every", default=0, metavar="N", help="exact regret every N episodes, for a known model"),
    click.option(
        "--stop-when-sure", type=float, metavar="LOSS",
        help="stop when a greedy episode loses at most LOSS, by a bound, or for a stationary prior by an estimate",
    ),
    click.option(
        "--stop-at-return", type=float, metavar="RETURN",
        help="stop when the mean return of the last 100 episodes reaches RETURN",
    ),
)  # fmt: skip
SETTINGS = ("discount", "continuing", "decay", "replan_every", "action_masks", "evaluate_every")


def task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def stopping_rules(learner: Any, loss: float | None, target: float | None) -> list[Any]:
    """When to stop before the last episode, as callbacks; what was learned before counts."""
    rules: list[Any] = []
    if loss is not None:
        if not isinstance(learner, Learner):
            raise ValueError(f"--stop-when-sure {loss:g}: {learner} has no belief: use --stop-at-return")
        _ = learner.belief  # or an error, now
        rules.append(StopWhenSure(loss))
    if target is not None:
        rule = StopAtReturn(target)
        rule.recent.extend(learner.returns)
        rules.append(rule)
    return rules
