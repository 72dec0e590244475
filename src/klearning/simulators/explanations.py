"""A learner's knowledge by observation: a table of all of them, or the belief about one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.display.frames import data_frame
from klearning.numerics.display.summaries import html_summary, html_table, text_summary, text_table
from klearning.numerics.types import Floats
from klearning.simulators.adapters.masks import restricted
from klearning.simulators.bins import interval
from klearning.simulators.space_index import SpaceIndex, named_parts, plain
from klearning.simulators.view import LearnerView
from klearning.tabular.models.tabular import END

if TYPE_CHECKING:
    from pandas import DataFrame

SUBJECTS = ("observation", "action")
NOT_ALLOWED = "not allowed"


def table(view: LearnerView, step: int, by: str, draws: int, seed: int) -> "DataFrame":
    """See `Learner.table`."""
    checks.choice("by", by, SUBJECTS)
    if checks.whole("draws", draws, 0) == 1:
        raise ValueError("draws=1 shows no spread: give at least 2, or 0 to leave the uncertainty out")
    points = view.learner.observations.numbered_points()
    columns = np.minimum(1 + np.arange(len(points)), view.width - 1)
    make = _by_observation if by == "observation" else _by_action
    return data_frame(make(view, points, columns, step, draws, checks.whole("seed", seed, 0)))


def point_columns(index: SpaceIndex, points: list[Any]) -> dict[str, list[Any]]:
    """Observations as columns of a data frame; bins are pandas' intervals."""
    parts = named_parts(index.field, points)
    if index.bins is None or not points:
        return parts
    from pandas import Interval

    return {
        name: [Interval(*interval(index.edges[i], k), closed="left") for k in part] if i in index.edges else part
        for i, (name, part) in enumerate(parts.items())
    }


def _by_observation(
    view: LearnerView, points: list[Any], columns: Any, step: int, draws: int, seed: int
) -> dict[str, Any]:
    learner = view.learner
    best = view.at_step(view.greedy, step)[:, columns].argmax(axis=0)
    spread, visits = view.spread(step, draws, seed, by_action=False), view.visits()
    tried = None if visits is None else view.at_step(visits, step)[:, columns].sum(axis=0)
    return {
        **point_columns(learner.observations, points),
        **named_parts("action", [learner.actions.point(a) for a in best.tolist()]),
        "value": view.at_step(view.values, step)[columns],
        "uncertainty": _or_nan(None if spread is None else spread.values[columns], len(points)),
        "visits": _or_nan(tried, len(points)),
        "met": True if learner.observations.grows else view.tried(columns),
    }


def _by_action(view: LearnerView, points: list[Any], columns: Any, step: int, draws: int, seed: int) -> dict[str, Any]:
    learner, A, n = view.learner, view.learner.actions.count, len(points)
    p = view.posterior
    best = view.at_step(view.greedy, step)[:, columns].argmax(axis=0)
    spread = view.spread(step, draws, seed, by_action=True)
    uncertainty = None if spread is None else spread.action_values
    allowed = np.array([view.allowed(s) for s in columns]).reshape(-1)

    def flat(x: Floats | None) -> Floats:
        """The actions of the first observation, then those of the next."""
        return _or_nan(None if x is None else view.at_step(x, step)[:, columns].T.ravel(), n * A)

    def possible(x: Floats | None) -> Floats:
        """The same, with nan for actions that are not allowed."""
        return np.where(allowed, flat(x), np.nan)

    return {
        **{
            name: [x for x in part for _ in range(A)]
            for name, part in point_columns(learner.observations, points).items()
        },
        **named_parts("action", [learner.actions.point(a) for a in range(A)] * n),
        "value": possible(view.action_values()),
        "uncertainty": possible(uncertainty),
        "reward": possible(None if p is None else p.model.reward),
        "reward_sd": possible(view.reward_sd()),
        "visits": flat(view.visits()),
        "probability": flat(view.memory.policy),
        "best": (best[:, None] == np.arange(A)).ravel(),
    }


def _or_nan(x: Floats | None, length: int) -> Floats:
    return np.full(length, np.nan) if x is None else x


class Successor(NamedTuple):
    """A possible successor, with its posterior mean probability."""

    observation: Any
    probability: float


@dataclass(frozen=True)
class ActionSummary:
    """The belief about one action in one observation; None if the agent has none, or the action is not allowed."""

    action: Any
    allowed: bool  # as far as the simulator has said
    probability: float  # of being chosen while exploring
    value: float | None  # expected return from here on, greedy after this action
    visits: float | None
    reward: float | None  # posterior mean
    reward_sd: float | None  # posterior standard deviation of the mean reward
    successors: tuple[Successor, ...]  # what was seen to follow, the likeliest first
    end: float | None  # probability that the episode is over
    elsewhere: float | None  # probability of all that was never seen to follow


@dataclass(frozen=True, repr=False)
class StateSummary:
    """The belief about one observation: see `Learner.about`."""

    observation: Any
    step: int
    met: bool | None  # None if nobody knows
    best: Any  # the greedy action
    value: float
    actions: tuple[ActionSummary, ...]

    def _facts(self) -> dict[str, Any]:
        words = {True: "yes", False: "never: this is what is believed of any such observation", None: "unknown"}
        return {"met": words[self.met], "best action": plain(self.best), f"value at step {self.step}": self.value}

    def _columns(self) -> dict[str, list[Any]]:
        rows = [_cells(action) for action in self.actions]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def __repr__(self) -> str:
        return f"{text_summary(f'observation {plain(self.observation)}', self._facts())}\n{text_table(self._columns())}"

    def _repr_html_(self) -> str:
        return html_summary(f"observation {plain(self.observation)}", self._facts()) + html_table(self._columns())


def _cells(action: ActionSummary) -> dict[str, Any]:
    """A line of the table; – for what the agent does not know."""
    numbers = {
        "probability": action.probability,
        "value": action.value if action.allowed else NOT_ALLOWED,
        "visits": action.visits,
        "reward": action.reward,
        "reward sd": action.reward_sd,
    }
    known = {name: "–" if x is None else x for name, x in numbers.items()}
    return {"action": plain(action.action), **known, "leads to": _leads_to(action)}


def _leads_to(action: ActionSummary, most: int = 3) -> str:
    """The likeliest successors, in words."""
    if action.elsewhere is None or action.end is None:
        return "–"
    parts = [(str(plain(y.observation)), y.probability) for y in action.successors]
    hidden = sum(probability for _, probability in parts[most:])
    parts = [*parts[:most], ("other seen ones", hidden), ("the end", action.end), ("elsewhere", action.elsewhere)]
    return ", ".join(f"{name} ({probability:.2g})" for name, probability in parts if probability >= 0.005) or "–"


def state_summary(view: LearnerView, observation: Any, step: int) -> StateSummary:
    """See `Learner.about`."""
    learner, s = view.learner, view.column(observation)
    p, allowed = view.posterior, view.allowed(s)
    reward = None if p is None else p.model.reward
    tables = view.action_values(), view.visits(), reward, view.reward_sd()
    policy = view.at_step(view.memory.policy, step)[:, s]
    chances = policy if allowed.all() else restricted(policy, allowed)  # a mask may be newer than the policy

    def summary(a: int) -> ActionSummary:
        chance = float(chances[a])
        value, visits, paid, sd = (
            None if table is None else float(view.at_step(table, step)[a, s]) for table in tables
        )
        action = learner.actions.point(a)
        if not allowed[a]:
            return ActionSummary(action, False, chance, None, visits, None, None, (), None, None)
        return ActionSummary(action, True, chance, value, visits, paid, sd, *_successors(view, step, a, s))

    best = learner.actions.point(int(view.at_step(view.greedy, step)[:, s].argmax()))
    value = float(view.at_step(view.values, step)[s])
    actions = tuple(summary(a) for a in range(learner.actions.count))
    return StateSummary(observation, step, learner.met(observation), best, value, actions)


def _successors(
    view: LearnerView, step: int, a: int, s: int
) -> tuple[tuple[Successor, ...], float | None, float | None]:
    """Observations seen to follow (s, a), the chance of the end, and that of all the rest."""
    p, learner = view.posterior, view.learner
    last = step == learner.horizon - 1
    if p is None or (last and not learner.prior.stationary):
        return (), None, None
    m, width = p.model, view.width
    row = int(m.table[step]) + s
    first = int(m.rows.start[a, row])
    entries = slice(first, first + int(m.rows.length[a, row]))
    scale, even = float(m.scale[a, row]), m.mass / width
    seen = {int(y) % width: scale * (float(w) + even) for y, w in zip(m.rows.succ[entries], m.rows.weight[entries])}
    total = scale * (float(m.rows.weight[entries].sum()) + m.mass)
    end = seen.pop(END, scale * even)
    index, points = learner.observations, learner.observations.numbered_points()
    shown = index.readable if index.bins is not None else lambda point: point
    known = [Successor(shown(points[y - 1]), q) for y, q in seen.items() if 1 <= y <= len(points)]
    known.sort(key=lambda successor: -successor.probability)
    return tuple(known), end, max(0.0, total - end - sum(y.probability for y in known))
