"""What a learner knows, by observation: a table of all of them, or all that is believed of one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.cards import html_card, html_table, text_card, text_table
from klearning.numerics.frames import data_frame
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.tabular import END

if TYPE_CHECKING:
    from pandas import DataFrame

    from klearning.simulators.knowledge import Knowledge

SUBJECTS = ("observation", "action")


def table(learner: "Knowledge", step: int, by: str, draws: int, seed: int) -> "DataFrame":
    """See `Learner.table`."""
    checks.choice("by", by, SUBJECTS)
    if checks.whole("draws", draws, 0) == 1:
        raise ValueError("draws=1 shows no spread: give at least 2, or 0 to leave the uncertainty out")
    points = learner.observations.numbered_points()
    columns = np.minimum(1 + np.arange(len(points)), learner.insight.width - 1)
    make = _by_observation if by == "observation" else _by_action
    return data_frame(make(learner, points, columns, step, draws, checks.whole("seed", seed, 0)))


def _by_observation(
    learner: "Knowledge", points: list[Any], columns: Any, step: int, draws: int, seed: int
) -> dict[str, Any]:
    insight = learner.insight
    best = insight.at_step(insight.greedy, step)[:, columns].argmax(axis=0)
    values = insight.at_step(insight.values, step)[columns]
    spread, visits = insight.spread(step, draws, seed, by_action=False), insight.visits()
    tried = None if visits is None else insight.at_step(visits, step)[:, columns].sum(axis=0)
    return {
        **named_parts("observation", points),
        **named_parts("action", [learner.actions.point(a) for a in best.tolist()]),
        "value": values,
        "uncertainty": _or_nan(None if spread is None else spread.values[columns], len(points)),
        "visits": _or_nan(tried, len(points)),
        "met": True if learner.observations.discovers else insight.tried(columns),
    }


def _by_action(
    learner: "Knowledge", points: list[Any], columns: Any, step: int, draws: int, seed: int
) -> dict[str, Any]:
    insight, A, n = learner.insight, learner.actions.count, len(points)
    p = insight.posterior
    best = insight.at_step(insight.greedy, step)[:, columns].argmax(axis=0)
    spread = insight.spread(step, draws, seed, by_action=True)
    uncertainty = None if spread is None else spread.action_values

    def flat(x: Floats | None) -> Floats:
        """The actions of the first observation, then those of the next."""
        return _or_nan(None if x is None else insight.at_step(x, step)[:, columns].T.ravel(), n * A)

    return {
        **{name: np.repeat(np.array(part), A) for name, part in named_parts("observation", points).items()},
        **named_parts("action", [learner.actions.point(a) for a in range(A)] * n),
        "value": flat(insight.action_values()),
        "uncertainty": flat(uncertainty),
        "reward": flat(None if p is None else p.model.reward),
        "reward_sd": flat(insight.reward_sd()),
        "visits": flat(insight.visits()),
        "probability": flat(learner.memory.policy),
        "best": (best[:, None] == np.arange(A)).ravel(),
    }


def _or_nan(x: Floats | None, length: int) -> Floats:
    return np.full(length, np.nan) if x is None else x


def named_parts(name: str, points: Sequence[Any]) -> dict[str, list[Any]]:
    """Points of a space as columns: one per number that a point is made of, named as pandas' `json_normalize` does."""
    rows = [dict(_parts(name, point)) for point in points]
    return {column: [row[column] for row in rows] for column in (rows[0] if rows else {name: None})}


def _parts(name: str, point: Any) -> Iterator[tuple[str, Any]]:
    plain_point = plain(point)
    if isinstance(plain_point, dict | list):
        pairs = plain_point.items() if isinstance(plain_point, dict) else enumerate(plain_point)
        for key, part in pairs:
            yield from _parts(f"{name}.{key}", part)
    else:
        yield name, plain_point


def plain(point: Any) -> Any:
    """A point of a space as numbers, lists and dicts: what JSON can hold."""
    if isinstance(point, Mapping):
        return {str(key): plain(part) for key, part in point.items()}
    if isinstance(point, tuple | list):
        return [plain(part) for part in point]
    return point.tolist() if isinstance(point, np.ndarray | np.generic) else point


class Successor(NamedTuple):
    """What may follow, with its posterior mean probability."""

    observation: Any
    probability: float


@dataclass(frozen=True)
class ActionAccount:
    """What is believed of one action in one place; None where the agent does not know."""

    action: Any
    probability: float  # of being chosen while exploring
    value: float | None  # expected return from here on, greedy after this action
    visits: float | None
    reward: float | None  # posterior mean
    reward_sd: float | None  # posterior standard deviation of the mean reward
    successors: tuple[Successor, ...]  # what was seen to follow, the likeliest first
    end: float | None  # probability that the episode is over
    elsewhere: float | None  # probability of all that was never seen to follow


@dataclass(frozen=True, repr=False)
class Account:
    """What is believed of one observation: see `Learner.about`."""

    observation: Any
    step: int
    met: bool | None  # None where nobody knows
    best: Any  # the greedy action
    value: float
    actions: tuple[ActionAccount, ...]

    def _facts(self) -> dict[str, Any]:
        words = {True: "yes", False: "never: this is what is believed of any such observation", None: "unknown"}
        return {"met": words[self.met], "best action": plain(self.best), f"value at step {self.step}": self.value}

    def _columns(self) -> dict[str, list[Any]]:
        names = ("action", "probability", "value", "visits", "reward", "reward_sd")
        columns = {name.replace("_", " "): [_cell(getattr(a, name)) for a in self.actions] for name in names}
        return {**columns, "leads to": [_leads_to(a) for a in self.actions]}

    def __repr__(self) -> str:
        return f"{text_card(f'observation {plain(self.observation)}', self._facts())}\n{text_table(self._columns())}"

    def _repr_html_(self) -> str:
        return html_card(f"observation {plain(self.observation)}", self._facts()) + html_table(self._columns())


def _cell(x: Any) -> Any:
    return "–" if x is None else plain(x)


def _leads_to(account: ActionAccount, most: int = 3) -> str:
    """The likeliest successors, in words."""
    if account.elsewhere is None or account.end is None:
        return "–"
    parts = [(str(plain(y.observation)), y.probability) for y in account.successors]
    hidden = sum(probability for _, probability in parts[most:])
    parts = [*parts[:most], ("other seen ones", hidden), ("the end", account.end), ("elsewhere", account.elsewhere)]
    return ", ".join(f"{name} ({probability:.2g})" for name, probability in parts if probability >= 0.005) or "–"


def about(learner: "Knowledge", observation: Any, step: int) -> Account:
    """See `Learner.about`."""
    insight, s = learner.insight, learner._column(observation)
    p, Q, visits, sd = insight.posterior, insight.action_values(), insight.visits(), insight.reward_sd()
    reward = None if p is None else p.model.reward

    def number(table: Floats | None, a: int) -> float | None:
        return None if table is None else float(insight.at_step(table, step)[a, s])

    def account(a: int) -> ActionAccount:
        chance, ways = float(insight.at_step(learner.memory.policy, step)[a, s]), _successors(learner, p, step, a, s)
        numbers = number(Q, a), number(visits, a), number(reward, a), number(sd, a)
        return ActionAccount(learner.actions.point(a), chance, *numbers, *ways)

    best = learner.actions.point(int(insight.at_step(insight.greedy, step)[:, s].argmax()))
    value = float(insight.at_step(insight.values, step)[s])
    accounts = tuple(account(a) for a in range(learner.actions.count))
    return Account(observation, step, learner.met(observation), best, value, accounts)


def _successors(
    learner: "Knowledge", p: Posterior | None, step: int, a: int, s: int
) -> tuple[tuple[Successor, ...], float | None, float | None]:
    """Observations seen to follow (s, a), the chance of the end, and that of all the rest."""
    last = step == learner.horizon - 1
    if p is None or (last and not learner.prior.stationary):
        return (), None, None
    m, width = p.model, learner.insight.width
    row = int(m.table[step]) + s
    first = int(m.rows.start[a, row])
    entries = slice(first, first + int(m.rows.length[a, row]))
    scale, even = float(m.scale[a, row]), m.mass / width
    seen = {int(y) % width: scale * (float(w) + even) for y, w in zip(m.rows.succ[entries], m.rows.weight[entries])}
    total = scale * (float(m.rows.weight[entries].sum()) + m.mass)
    end = seen.pop(END, scale * even)
    points = learner.observations.numbered_points()
    known = [Successor(points[y - 1], q) for y, q in seen.items() if 1 <= y <= len(points)]
    known.sort(key=lambda successor: -successor.probability)
    return tuple(known), end, max(0.0, total - end - sum(y.probability for y in known))
