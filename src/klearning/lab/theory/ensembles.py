"""Ensemble: a posterior over MDPs that has finitely many, each with a weight.

Three ways to one: a `mixture` of MDPs that the reader lists (exact), a `quadrature` of a tiny belief (exact for
the finite posterior that it is, and close to the belief), and `draws` from any belief (Monte Carlo, with error bars).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics import checks
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.distributions import Rule, gauss_dirichlet
from klearning.tabular.beliefs.rewards import MeanRewards
from klearning.tabular.models.mdp import MDP

MOST = 500_000  # members of a quadrature


class Estimate(NamedTuple):
    """Values and their standard errors, one array per layer; the errors are zero if all was enumerated."""

    values: Layers
    errors: Layers


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members and weights. Axes: member, state, action, next state; one array per layer."""

    weights: Floats
    rewards: Layers
    transitions: Layers
    initial: Floats
    drawn: bool  # by Monte Carlo, so that averages have errors

    @cached_property
    def q_values(self) -> Layers:
        """Q* (e-bellman_q) of every member."""
        Q: Layers = []
        for l in reversed(range(len(self.rewards))):
            Q.insert(0, self.rewards[l] + self._ahead(l, Q[0].max(axis=2) if Q else None))
        return Q

    def policy_q_values(self, policy: Sequence[ArrayLike]) -> Layers:
        """Q^π (e-bell-pol) of every member, π as (S_l, A) arrays."""
        pi = [np.asarray(block) for block in policy]
        Q: Layers = []
        for l in reversed(range(len(self.rewards))):
            Q.insert(0, self.rewards[l] + self._ahead(l, (pi[l + 1] * Q[0]).sum(axis=2) if Q else None))
        return Q

    def _ahead(self, l: int, V: Floats | None) -> Floats | float:
        """Σ_s' P(s'|s,a) V(s') of every member; nothing behind the last layer."""
        return 0.0 if V is None else np.einsum("nsay,ny->nsa", self.transitions[l], V)

    def average(self, blocks: Layers) -> Estimate:
        """E^t of one array per layer, the member its first axis."""
        means = [np.tensordot(self.weights, x, 1) for x in blocks]
        if not self.drawn:
            return Estimate(means, [np.zeros_like(m) for m in means])
        count = len(self.weights)
        return Estimate(means, [x.std(axis=0, ddof=1) / np.sqrt(count) for x in blocks])

    def regret(self, policy: Sequence[ArrayLike]) -> Floats:
        """V*_1 − V_1^π of every member, (member, S_1)."""
        achieved = (np.asarray(policy[0]) * self.policy_q_values(policy)[0]).sum(axis=2)
        lost: Floats = self.q_values[0].max(axis=2) - achieved
        return lost

    def at_start(self, V: Floats) -> tuple[float, float]:
        """E_ρ E^t of values (member, S_1), and its standard error."""
        values, errors = self.average([V @ self.initial])
        return float(values[0]), float(errors[0])


def mixture(mdps: Sequence[MDP], weights: ArrayLike | None = None) -> Ensemble:
    """These MDPs, with these weights (evenly, if none are given); all of one shape."""
    if not mdps:
        raise ValueError("mdps is empty: give at least one MDP")
    w = np.full(len(mdps), 1.0 / len(mdps)) if weights is None else weights
    if any(m.widths != mdps[0].widths or m.actions != mdps[0].actions for m in mdps):
        raise ValueError("mdps differ in layers or actions: give MDPs of one shape")
    return _gather(mdps, checks.distributions("weights", w, (len(mdps),)), drawn=False)


def draws(belief: Belief, count: int = 10_000, seed: int = 0) -> Ensemble:
    """``count`` MDPs from `Belief.sample`, each with a stream of its own: averages carry standard errors."""
    streams = np.random.SeedSequence(seed).spawn(checks.whole("count", count, 2))
    return _gather([belief.sample(stream) for stream in streams], np.full(count, 1.0 / count), drawn=True)


def _gather(mdps: Sequence[MDP], weights: Floats, drawn: bool) -> Ensemble:
    rewards = [np.stack(blocks) for blocks in zip(*(m.rewards for m in mdps))]
    transitions = [np.stack(blocks) for blocks in zip(*(m.transitions for m in mdps))]
    return Ensemble(weights, rewards, transitions, mdps[0].initial, drawn)


def quadrature(belief: Belief, nodes: int = 3) -> Ensemble:
    """Every mean reward and every break of every transition row on ``nodes`` points, independently: all combinations.

    For tiny beliefs: widths [1, 2] with two actions have eight uncertain numbers, hence 3⁸ = 6561 members.
    Every member has the weight of its points. The finite posterior shares the belief's means, its independence and
    2·nodes − 1 moments of every uncertain number, and all laws can be checked on it without error bars. If layers
    share one table, so do they in every member.
    """
    rewards, rows = _reward_rules(belief, nodes), _row_rules(belief, nodes)
    rules = rewards + [rule for layer in rows for rule in layer]
    size = prod(len(w) for _, w in rules)
    if size > MOST:
        raise ValueError(f"nodes={nodes} makes {size} MDPs: give fewer nodes, a smaller belief, or use draws")
    weights = reduce(lambda x, y: np.multiply.outer(x, y).ravel(), (w for _, w in rules))
    places = np.unravel_index(np.arange(size), [len(w) for _, w in rules])
    values = [x[place] for (x, _), place in zip(rules, places)]
    table = np.stack(values[: len(rewards)], axis=-1).reshape(size, -1, belief.actions)
    P, at = [], len(rewards)
    for step, rules_of_step in zip(belief.tables.steps, rows):
        block = np.stack(values[at : at + len(rules_of_step)], axis=1)
        P.append(block.reshape(size, -1, belief.actions, step.last - step.first))
        at += len(rules_of_step)
    places_of_layers = zip(belief.table, np.diff(belief.layers))
    R = [table[:, first : first + width] for first, width in places_of_layers]
    return Ensemble(weights, R, belief.tables.in_steps(P), belief.initial, drawn=False)


def row_mass(belief: Belief) -> Layers:
    """Σα of every Dirichlet row, prior and counts, (S_l, A)."""
    return belief.in_layers(belief.transitions.total + belief.posterior().moves)


def _reward_rules(belief: Belief, nodes: int) -> list[Rule]:
    """One rule per mean reward, in the order state, action."""
    by_state = MeanRewards(*(x.T for x in belief.mean_rewards()))
    return belief.prior.reward.rules(by_state, nodes)


def _row_rules(belief: Belief, nodes: int) -> list[list[Rule]]:
    """For each table that leads somewhere one rule per transition row."""

    def rule(row: Floats, mass: float) -> Rule:
        certain = not belief.transitions.learns or np.isinf(mass)
        return (row[None], np.ones(1)) if certain else gauss_dirichlet(row * mass, nodes)

    tables = zip(belief.tables.steps, belief.transition_means, row_mass(belief))
    return [
        [rule(row, m) for row, m in zip(mean.reshape(-1, mean.shape[-1]), mass.ravel())] for _, mean, mass in tables
    ]
