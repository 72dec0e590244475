"""Gymnasium's tabular models, read without importing Gymnasium.

Its toy-text environments hold their model as ``P[s][a] = [(probability, next state, reward, terminated), …]``.
Here a layer gets one state more than the environment has: index 0 is END, which pays nothing and is never
left, and state i of the environment is index i + 1. A terminated transition leads to END, so an episode that
ends early still has as many steps as the others.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics import checks
from klearning.numerics.sparse.rows import Entries, merged_entries
from klearning.numerics.types import Floats

END = 0  # the state, in every layer, that terminated transitions lead to


class Table(NamedTuple):
    """A stationary model with END: mean rewards (1 + n, A), transitions, and where episodes begin (1 + n,)."""

    reward: Floats
    entries: Entries
    initial: Floats


def read_table(env: Any, initial: ArrayLike | None) -> Table:
    """The model of an environment that has one."""
    bare = getattr(env, "unwrapped", env)
    P = getattr(bare, "P", None)
    if P is None:
        raise ValueError(
            f"env={env!r} has no model `env.unwrapped.P`: give an environment of Gymnasium's toy-text kind, "
            "or MDP.from_stationary(rewards, transitions, initial, horizon)"
        )
    rows = _outcomes(P)
    states, actions = len(rows), len(rows[0])
    a, s, p, y, r, over = _columns(rows)
    reward = np.zeros((1 + states, actions))
    np.add.at(reward, (1 + s, a), p * r)
    every, ends = np.arange(actions), np.full(actions, END)
    entries = merged_entries(
        np.concatenate([every, a]),
        np.concatenate([ends, 1 + s]),
        np.concatenate([ends, np.where(over, END, 1 + y)]),
        np.concatenate([np.ones(actions), p]),
    )
    return Table(reward, entries, np.concatenate([[0.0], _start(bare, initial, states)]))


def read_horizon(env: Any, horizon: int | None) -> int:
    """The argument, or the environment's time limit, or its own word for it."""
    if horizon is None:
        horizon = time_limit(env)
    if horizon is None:
        horizon = getattr(getattr(env, "unwrapped", env), "horizon", None)
    if horizon is None:
        raise ValueError(
            f"env={env!r} has no time limit, so an episode may never end: give horizon=, the most steps of an episode; "
            "on the command line: --horizon"
        )
    return checks.whole("horizon", horizon)


def time_limit(env: Any) -> int | None:
    """The most steps of an episode by the environment's spec, or by a TimeLimit around one without a spec."""
    limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    layer = env
    while limit is None and hasattr(layer, "env"):
        limit = getattr(layer, "_max_episode_steps", None)
        layer = layer.env
    return limit


def read_name(env: Any) -> str:
    """The registered name, or the class."""
    return str(getattr(getattr(env, "spec", None), "id", None) or type(getattr(env, "unwrapped", env)).__name__)


def _outcomes(P: Any) -> list[list[Any]]:
    """P as lists, whether it came as dicts or lists: one list of outcomes per action, one list of those per state."""
    try:
        rows = [[[tuple(o) for o in P[s][a]] for a in range(len(P[s]))] for s in range(len(P))]
    except (KeyError, TypeError, IndexError):
        raise ValueError(
            "P is not of the form P[state][action] = [(probability, next state, reward, terminated), …], "
            "states and actions counted from 0: give it so"
        ) from None
    if not rows or not rows[0]:
        raise ValueError("P is empty: give at least one state with at least one action")
    for s, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"P[{s}] has {len(row)} actions and P[0] has {len(rows[0])}: give all states the same")
    return rows


def _columns(rows: list[list[Any]]) -> tuple[Any, ...]:
    """Action, state, probability, next state, reward and terminated of every outcome, checked."""
    where = [(a, s) for s, row in enumerate(rows) for a, outcomes in enumerate(row) for _ in outcomes]
    flat = [outcome for row in rows for outcomes in row for outcome in outcomes]
    for (action, state), outcome in zip(where, flat):
        if len(outcome) != 4:
            form = "(probability, next state, reward, terminated)"
            raise ValueError(f"P[{state}][{action}] holds {outcome!r}: give {form}")
    p, y, r, over = (np.array([outcome[i] for outcome in flat]) for i in range(4))
    a, s = np.array(where, np.int64).reshape(-1, 2).T
    _check_outcomes(rows, a, s, p, y, r)
    return a, s, p.astype(np.float64), y.astype(np.int64), r.astype(np.float64), over.astype(bool)


def _check_outcomes(rows: list[list[Any]], a: Any, s: Any, p: Any, y: Any, r: Any) -> None:
    def first(bad: Any) -> str:
        i = int(np.flatnonzero(bad)[0])
        return f"P[{s[i]}][{a[i]}]"

    for field, column in (("probability", p), ("next state", y), ("reward", r)):
        checks.array(f"P, {field} of all outcomes in order,", column, (None,))
    outside = (y < 0) | (y >= len(rows)) | (y != np.floor(y))
    if outside.any():
        raise ValueError(f"{first(outside)} leads to {y[outside][0]}: give a state from 0 to {len(rows) - 1}")
    if (p < 0).any():
        raise ValueError(f"{first(p < 0)} has a probability of {p[p < 0][0]:g}: give zero or more")
    total = np.zeros((len(rows), len(rows[0])))
    np.add.at(total, (s, a), p)
    wrong = np.argwhere(np.abs(total - 1.0) > checks.TOLERANCE)
    if len(wrong):
        i, j = wrong[0]
        raise ValueError(f"P[{i}][{j}] sums to {total[i, j]:.10g}: probabilities must sum to one")


def _start(bare: Any, initial: ArrayLike | None, states: int) -> Floats:
    if initial is None:
        initial = getattr(bare, "initial_state_distrib", None)
    if initial is None:
        raise ValueError(f"{bare!r} has no initial_state_distrib: give initial=, one probability per state")
    return checks.distributions("initial", initial, (states,))
