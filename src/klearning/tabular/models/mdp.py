"""MDP: the tuple {S, A, R, P, L, ρ}, with states numbered through all layers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics import checks
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.plots import Axes, draw_policy
from klearning.numerics.display.summaries import format_value, html_summary
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.layers import by_layer, check_end, check_offsets, from_layers, offsets, size_text
from klearning.numerics.sparse.rows import (
    Entries,
    Rows,
    checked_blocks,
    dense_entries,
    rows_from_blocks,
    rows_to_layers,
    steps_between,
    tiled_rows,
)
from klearning.numerics.sparse.validation import check_probabilities, check_rows
from klearning.numerics.types import Floats, Ints, Layers
from klearning.tabular.models.sweeps import (
    Model,
    all_action_values,
    greedy,
    hard_sweep,
    occupancy_sweep,
    policy_sweep,
    successor_range,
)
from klearning.tabular.models.tabular import END, read_horizon, read_name, read_table

ROW_BYTES = 64  # at least, of every state and action


@dataclass(frozen=True, eq=False)
class MDP:
    """A finite-horizon MDP.

    ``noise`` is the standard deviation of Gaussian reward noise, one for all or one for every action and state, or
    ``"bernoulli"`` if a reward is a coin flip. ``goal`` names the (state, action) that counts as reaching the goal,
    if there is one: the state numbered through all layers, so that the first of the last layer is
    ``mdp.layers[-2]``; or, if the goal is ``recurring``, counted from the first of its layer, and then it counts at any
    step. ``end`` is the state of every layer, counted from its first, in which an episode is over: agents know that it
    pays nothing.
    """

    layers: Ints
    reward: Floats  # (A, S) means, the kernels' order; `rewards` gives (S_l, A)
    rows: Rows
    initial: Floats
    noise: float | str | Floats = 0.0  # an array is (A, S), as the rewards are
    goal: tuple[int, int] | None = None
    name: str = "mdp"
    end: int | None = None
    recurring: bool = False  # whether the goal is that state of any layer

    def __post_init__(self) -> None:
        """Check everything that kernels trust: they check no index."""
        check_offsets("layers", self.layers)
        checks.array("reward", self.reward, (None, self.states))
        if self.actions == 0:
            raise ValueError("reward has no actions: give at least one")
        checks.distributions("initial", self.initial, (int(self.layers[1]),))
        low, high = successor_range(self.layers, self.layers)
        check_rows("rows", self.rows, (self.actions, self.states), low, high)
        check_probabilities("rows", self.rows, (high > low).astype(float))
        _check_noise(self.noise, self.reward)
        _check_goal(self.goal, min(self.widths) if self.recurring else self.states, self.actions)
        if self.end is not None:
            check_end(checks.whole("end", self.end, 0), self.layers)

    @classmethod
    def from_layers(
        cls,
        rewards: Sequence[ArrayLike],
        transitions: Sequence[ArrayLike],
        initial: ArrayLike,
        noise: float | str | Sequence[ArrayLike] = 0.0,
        *,
        goal: tuple[int, int] | None = None,
        name: str = "mdp",
    ) -> "MDP":
        """From lists per layer: rewards (S_l, A), transitions (S_l, A, S_{l+1}) for l < L, initial (S_1,).

        ``noise`` is one number, or a list per layer as well: a standard deviation for every (s, a), (S_l, A).
        """
        if not checks.layered("rewards", rewards):
            raise ValueError("rewards is empty: give one (S_l, A) array per layer, horizon at least 1")
        first = checks.array("rewards[0]", rewards[0], (None, None))
        actions = first.shape[1]
        blocks = [checks.array(f"rewards[{l}]", r, (None, actions)) for l, r in enumerate(rewards)]
        widths = [b.shape[0] for b in blocks]
        if actions == 0 or 0 in widths:
            raise ValueError("rewards has a layer without states or actions: every layer needs at least one of each")
        layers = offsets(widths)
        steps = steps_between(layers)
        checked = checked_blocks("transitions", transitions, steps, actions, checks.distributions)
        rows = rows_from_blocks(actions, int(layers[-1]), steps, checked)
        start = checks.distributions("initial", initial, (widths[0],))
        reward = np.ascontiguousarray(np.concatenate(blocks).T)
        spread: Any = noise
        if _is_table(noise):
            spread = from_layers("noise", noise, layers, actions, checks.counts)
        return cls(layers, reward, rows, start, _check_noise(spread, reward), goal, name)

    @classmethod
    def from_stationary(
        cls,
        rewards: ArrayLike,
        transitions: ArrayLike,
        initial: ArrayLike,
        horizon: int,
        noise: float | str | ArrayLike = 0.0,
        *,
        goal: tuple[int, int] | None = None,
        name: str = "mdp",
    ) -> "MDP":
        """From one model for all steps: rewards (S, A), transitions (S, A, S), initial (S,), and a horizon.

        ``noise`` is one number, or (S, A) as the rewards are.
        ``goal`` is a (state, action) of that model; it counts at any step.
        """
        horizon = checks.whole("horizon", horizon)
        r = checks.array("rewards", rewards, (None, None))
        states, actions = r.shape
        if r.size == 0:
            raise ValueError(f"rewards has shape {r.shape}: give at least one state and one action")
        p = checks.distributions("transitions", transitions, (states, actions, states))
        start = checks.distributions("initial", initial, (states,))
        spread: Any = checks.counts("noise", noise, r.shape) if _is_table(noise) else noise
        return cls._tiled(r, dense_entries(p), start, horizon, spread, name, goal)

    @classmethod
    def from_gymnasium(
        cls,
        env: Any,
        horizon: int | None = None,
        *,
        initial: ArrayLike | None = None,
        noise: float | str = 0.0,
        goal: tuple[int, int] | None = None,
        name: str | None = None,
    ) -> "MDP":
        """From an environment that holds its model, ``env.unwrapped.P``, as Gymnasium's FrozenLake or Taxi do.

        Every layer has one state more than the environment: index 0 is END, where terminated transitions
        lead, and state i of the environment is index i + 1. Rewards are means over the outcomes of (s, a);
        what is lost of a reward that depends on the next state is its spread. ``horizon`` defaults to the
        environment's time limit, ``initial`` to its ``initial_state_distrib``. ``goal`` is a (state, action) of the
        environment, numbered as it does; it counts at any step.
        """
        table = read_table(env, initial)
        steps = read_horizon(env, horizon)
        if goal is not None:
            _check_goal(goal, len(table.reward) - 1, table.reward.shape[1])
            goal = goal[0] + 1, goal[1]
        mdp = cls._tiled(table.reward, table.entries, table.initial, steps, noise, name or read_name(env), goal)
        return replace(mdp, end=END)

    @classmethod
    def _tiled(
        cls,
        rewards: Floats,
        entries: Entries,
        initial: Floats,
        horizon: int,
        noise: float | str | Floats,
        name: str,
        goal: tuple[int, int] | None,
    ) -> "MDP":
        """The same (S, A) rewards and transitions in every layer."""
        states, actions = rewards.shape
        checks.fits("horizon", horizon, ROW_BYTES * horizon * rewards.size)
        reward = np.ascontiguousarray(np.tile(rewards.T, horizon))
        rows = tiled_rows(entries, states, actions, horizon)
        layers = offsets([states] * horizon)
        if isinstance(noise, np.ndarray):
            noise = np.ascontiguousarray(np.tile(noise.T, horizon))
        checked = _check_noise(noise, reward)
        return cls(layers, reward, rows, initial, checked, goal, name, recurring=goal is not None)

    @property
    def horizon(self) -> int:
        """L."""
        return len(self.layers) - 1

    @property
    def states(self) -> int:
        """S, over all layers."""
        return int(self.layers[-1])

    @property
    def actions(self) -> int:
        """A."""
        return self.reward.shape[0]

    @property
    def widths(self) -> list[int]:
        """|S_l| of each layer."""
        return [int(n) for n in np.diff(self.layers)]

    @property
    def rewards(self) -> Layers:
        """Mean rewards (S_l, A)."""
        return by_layer(self.reward.copy(), self.layers)

    @property
    def noise_table(self) -> Floats:
        """(A, S) standard deviations of Gaussian reward noise; zeros for coin flips."""
        if isinstance(self.noise, np.ndarray):
            return self.noise
        return np.full(self.reward.shape, 0.0 if isinstance(self.noise, str) else self.noise)

    @property
    def transitions(self) -> Layers:
        """Transition probabilities (S_l, A, S_{l+1}), l < L, as dense arrays."""
        return rows_to_layers(self.rows, self.layers)

    @property
    def model(self) -> Model:
        """The arrays that the sweeps read."""
        ones = np.ones_like(self.reward)
        return Model(self.layers, self.layers, -1, self.initial, self.reward, ones, 0.0, self.rows)

    def value(self, policy: Floats) -> float:
        """E_ρ V_1 of a policy given as the kernels have it, (A, S): `evaluate` without all that follows from it."""
        return policy_sweep(self.model, self.reward, policy, np.zeros(self.states), np.zeros(max(self.widths)))

    def __repr__(self) -> str:
        return f"MDP({self.name!r}, horizon={self.horizon}, states={self.states}, actions={self.actions})"

    def _repr_html_(self) -> str:
        low, high = float(self.reward.min()), float(self.reward.max())
        facts = {
            "horizon": self.horizon,
            "states": f"{self.states} over all layers, at most {max(self.widths)} in one",
            "actions": self.actions,
            "mean rewards": f"from {format_value(low)} to {format_value(high)}",
            "noise": self.noise,
        }
        return html_summary(f"MDP {self.name}", facts)


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Exact values of a policy: ``value`` is E_ρ V_1, the rest one array per layer."""

    value: float
    values: Layers
    q_values: Layers
    policy: Layers
    occupancy: Layers

    def plot(self, ax: Axes | None = None, what: str = "values", action: int | None = None) -> Axes:
        """A row per layer, a square per state, as `Plan.plot`; returns Matplotlib's axes."""
        return draw_policy(ax, what, action, self.values, self.q_values, self.policy, self.occupancy)

    def __repr__(self) -> str:
        return f"Solution(value={format_value(self.value)}, {size_text(self.policy)})"

    def _repr_html_(self) -> str:
        return html_summary("Solution", {"value": self.value, "tables": size_text(self.policy)})


def optimal_value(mdp: MDP) -> float:
    """E_ρ V*_1: `optimal` without all that follows from it."""
    return hard_sweep(mdp.model, mdp.reward, np.zeros_like(mdp.reward), np.zeros(mdp.states))


@uninterrupted  # once, not for each of its kernels
@compiling_for("kl.optimal")
def optimal(mdp: MDP) -> Solution:
    """Q*, V* (e-bellman_q) and an optimal policy, uniform over ties."""
    _check_mdp(mdp)
    Q, V = np.zeros_like(mdp.reward), np.zeros(mdp.states)
    value = hard_sweep(mdp.model, mdp.reward, Q, V)
    policy = np.zeros_like(Q)
    greedy(Q, policy)
    return _solution(mdp, value, V, Q, policy)


@uninterrupted
@compiling_for("kl.evaluate")
def evaluate(mdp: MDP, policy: Any) -> Solution:
    """Q^π and V^π (e-bell-pol) of a policy given as (S_l, A) arrays or one (S, A) table."""
    _check_mdp(mdp)
    table = from_layers("policy", policy, mdp.layers, mdp.actions, checks.distributions)
    V = np.zeros(mdp.states)
    value = policy_sweep(mdp.model, mdp.reward, table, V, np.zeros(max(mdp.widths)))
    Q = np.zeros_like(mdp.reward)
    all_action_values(mdp.model, mdp.reward, V, Q)
    return _solution(mdp, value, V, Q, table)


def _check_mdp(mdp: Any) -> None:
    if not isinstance(mdp, MDP):
        raise ValueError(f"mdp={mdp!r} is not an MDP: give one, for example deep_sea(10) or MDP.from_gymnasium(env)")


def _solution(mdp: MDP, value: float, V: Floats, Q: Floats, policy: Floats) -> Solution:
    occupancy = np.zeros_like(policy)
    occupancy_sweep(mdp.model, policy, occupancy)
    return Solution(value, *(by_layer(x, mdp.layers) for x in (V, Q, policy, occupancy)))


def _is_table(noise: Any) -> bool:
    """Whether there is a noise for every state and action; else it is a number or a word."""
    return isinstance(noise, list | tuple) or (isinstance(noise, np.ndarray) and noise.ndim > 0)


def _check_noise(noise: float | str | Floats, reward: Floats) -> float | str | Floats:
    if _is_table(noise):
        return np.ascontiguousarray(checks.counts("noise", noise, reward.shape))
    if not isinstance(noise, str):
        return checks.number("noise", noise, 0.0)
    if noise != "bernoulli":
        raise ValueError(f"noise={noise!r} is unknown: give a standard deviation, or 'bernoulli' for coin flips")
    if reward.min() < 0.0 or reward.max() > 1.0:
        raise ValueError("noise='bernoulli' with rewards outside [0, 1]: mean rewards must be probabilities")
    return noise


def _check_goal(goal: Any, states: int, actions: int) -> None:
    pair = isinstance(goal, tuple | list) and len(goal) == 2 and all(isinstance(x, int | np.integer) for x in goal)
    if goal is not None and not (pair and 0 <= goal[0] < states and 0 <= goal[1] < actions):
        raise ValueError(f"goal={goal!r} is not a (state, action) pair: give indices below {(states, actions)}")
