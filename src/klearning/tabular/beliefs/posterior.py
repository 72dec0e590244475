"""A belief as the kernels read it, and how an episode changes it."""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import check_fixed, differs, refuse
from klearning.numerics.sparse.rows import Rows, add_weight, enlarge, row_sums
from klearning.numerics.sparse.validation import check_pool, same_entries
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.beliefs.rewards import MeanRewards, RewardPrior, learns_noise, reward_posterior
from klearning.tabular.models.sweeps import FORBIDDEN, Model, row_of, shared

NEGLIGIBLE = 1e-6  # a count that has faded to less is none


class Episode(NamedTuple):
    """One trajectory: a state, an action and a reward a step, and one state more if the last next state is known.

    States are numbered through all layers. The state after the last layer has a number only if layers share one table.
    """

    states: Ints
    actions: Ints
    rewards: Floats


NOT_COUNTED = np.zeros((0, 0))


@field_roles(
    fixed=("prior", "total", "learns", "discount"),
    counts=("visits", "moves"),
    finite=("variance", "reward_sums", "reward_squares"),
)
class Posterior(NamedTuple):
    """A belief as the kernels read it: its statistics and what follows from them; axes (action, state)."""

    model: Model  # posterior means
    variance: Floats  # variance proxy of the mean rewards
    visits: Floats  # infinitely many if nothing is left to learn: the episode is over, or the action not allowed
    moves: Floats  # visits of which the next state is known
    reward_sums: Floats
    prior: RewardPrior
    total: float  # prior mass Σα of a transition row
    learns: bool  # whether transitions are learned
    discount: float = 1.0  # γ, what a step's delay leaves of a value
    reward_squares: Floats = NOT_COUNTED  # Σr², if the prior learns the noise; else empty

    def check(self, fresh: "Posterior", name: str) -> None:
        refuse(f"{name}.variance", "is negative", self.variance < 0.0, self.variance)
        if self.learns:
            check_pool(f"{name}.model.rows", self.model.rows, fresh.visits.shape[1])
        check_statistics(self, fresh, name)
        check_derived(self, fresh, name)


def mean_rewards(p: Posterior) -> MeanRewards:
    """The part of a posterior that its reward family reads."""
    return MeanRewards(p.model.reward, p.variance, p.visits, p.reward_sums)


def check_statistics(p: Posterior, fresh: Posterior, name: str) -> None:
    """That visits, moves, reward sums and rows agree, as they do in whatever `learn` has made of a fresh posterior."""
    over = np.isinf(fresh.visits)
    visits, moves = np.where(over, 0.0, p.visits), np.where(over, 0.0, p.moves)
    refuse(f"{name}.moves", "is more than the visits", moves > visits, p.moves)
    unseen = (visits == 0.0) & (p.reward_sums != fresh.reward_sums)
    refuse(f"{name}.reward_sums", "is the sum of no rewards", unseen, p.reward_sums)
    if p.reward_squares.size:
        squared = np.where(visits > 0.0, p.reward_sums, 0.0) ** 2
        least = squared / np.where(visits > 0.0, visits, 1.0)  # by Cauchy and Schwarz
        low = (p.reward_squares < least) & differs(p.reward_squares, least)
        refuse(f"{name}.reward_squares", "is too small for its reward sum", low, p.reward_squares)
    if not p.learns:
        check_fixed(f"{name}.moves", p.moves, fresh.moves)
        if not same_entries(p.model.rows, fresh.model.rows):
            raise ValueError(f"{name}.model.rows are not the transitions that the prior knows")
        return
    total = row_sums(p.model.rows)
    wrong = differs(total, row_sums(fresh.model.rows) + moves) & ~over
    refuse(f"{name}.model.rows: the sum of row", "is not prior and moves", wrong, total)


def check_derived(p: Posterior, fresh: Posterior, name: str) -> None:
    """That means and variances are those that follow from the statistics."""
    m = p.model
    reward, scale, variance = np.zeros_like(m.reward), fresh.model.scale.copy(), np.zeros_like(p.variance)
    derive_all(p._replace(model=m._replace(reward=reward, scale=scale), variance=variance))
    for field, x, y in (("model.reward", m.reward, reward), ("model.scale", m.scale, scale),
                        ("variance", p.variance, variance)):  # fmt: skip
        refuse(f"{name}.{field}", "does not follow from visits and reward sums", differs(x, y), x)


@kernel(inline=True)
def derive(p: Posterior, a: int, s: int) -> None:
    """Bring what follows from the statistics of (a, s) up to date."""
    derive_reward(p, a, s, p.reward_squares[a, s] if learns_noise(p.prior) else 0.0)
    if p.learns:
        derive_scale(p, a, s)


@kernel(inline=True)
def derive_reward(p: Posterior, a: int, s: int, squares: float) -> None:
    mean, variance = reward_posterior(p.prior, p.visits[a, s], p.reward_sums[a, s], squares)
    p.model.reward[a, s] = mean
    p.variance[a, s] = variance


@kernel(inline=True)
def derive_scale(p: Posterior, a: int, s: int) -> None:
    weight = p.total + p.moves[a, s]
    p.model.scale[a, s] = p.discount / weight if weight > 0.0 else 0.0


@kernel
def derive_all(p: Posterior) -> None:
    if learns_noise(p.prior):
        for a in range(p.visits.shape[0]):
            for s in range(p.visits.shape[1]):
                derive_reward(p, a, s, p.reward_squares[a, s])
    else:  # in a loop of its own, which is vectorised
        for a in range(p.visits.shape[0]):
            for s in range(p.visits.shape[1]):
                derive_reward(p, a, s, 0.0)
    if p.learns:
        for a in range(p.visits.shape[0]):
            for s in range(p.visits.shape[1]):
                derive_scale(p, a, s)


@kernel
def learn(p: Posterior, episode: Episode) -> Posterior:
    """Condition on one episode. Changes the arrays it is given; the rows may have moved to new ones."""
    rows = p.model.rows
    l = count(p, rows, episode, 0)
    while l < episode.actions.size:
        rows = enlarge(rows, episode.actions[l], row_of(p.model, l, episode.states[l]))
        l = count(p, rows, episode, l)
    return with_rows(p, rows)


@kernel
def count(p: Posterior, rows: Rows, episode: Episode, first: int) -> int:
    """Condition on an episode from step ``first`` on; returns the first step whose row is full, else their number."""
    for l in range(first, episode.actions.size):
        a, s = episode.actions[l], row_of(p.model, l, episode.states[l])
        if p.learns and l + 1 < episode.states.size:
            if not add_weight(rows, a, s, row_of(p.model, l + 1, episode.states[l + 1]), 1.0):
                return l
            p.moves[a, s] += 1.0
        p.visits[a, s] += 1.0
        p.reward_sums[a, s] += episode.rewards[l]
        if p.reward_squares.size > 0:
            p.reward_squares[a, s] += episode.rewards[l] ** 2
        derive(p, a, s)
    return episode.actions.size


@kernel(inline=True)
def with_rows(p: Posterior, rows: Rows) -> Posterior:
    """The same posterior, its rows moved."""
    m = p.model
    model = Model(m.layers, m.table, m.end, m.initial, m.reward, m.scale, m.mass, rows)
    return Posterior(
        model, p.variance, p.visits, p.moves, p.reward_sums, p.prior, p.total, p.learns, p.discount, p.reward_squares
    )  # fmt: skip


@kernel
def forbid(p: Posterior, states: Ints, forbidden: Flags) -> None:
    """Which actions, (A, n), are not allowed in n states, counted within their layer.

    Such a pair is a fact: seen infinitely often, it leads nowhere and pays `FORBIDDEN`. One that is allowed again is
    as if it had never been tried, which is true.
    """
    for l in range(1 if shared(p.model) else p.model.layers.size - 1):
        for i in range(states.size):
            s = p.model.table[l] + states[i]
            for a in range(forbidden.shape[0]):
                if forbidden[a, i]:
                    p.visits[a, s] = p.moves[a, s] = np.inf
                    p.reward_sums[a, s], p.model.scale[a, s] = FORBIDDEN, 0.0
                    if learns_noise(p.prior):
                        p.reward_squares[a, s] = 0.0
                elif np.isinf(p.visits[a, s]):
                    p.visits[a, s] = p.moves[a, s] = p.reward_sums[a, s] = 0.0
                    p.model.scale[a, s] = p.discount
                derive(p, a, s)


@kernel
def forget(p: Posterior, factor: float) -> None:
    """Let all that was seen count ``factor`` times as much, and nothing once it is `NEGLIGIBLE`."""
    rows = p.model.rows
    for a in range(p.visits.shape[0]):
        for s in range(p.visits.shape[1]):
            if np.isinf(p.visits[a, s]):
                continue
            faded = factor * p.visits[a, s] < NEGLIGIBLE
            p.visits[a, s] *= 0.0 if faded else factor
            p.reward_sums[a, s] *= 0.0 if faded else factor
            if learns_noise(p.prior):
                p.reward_squares[a, s] *= 0.0 if faded else factor
            if p.learns:
                first, entries, total = rows.start[a, s], 0, 0.0
                for e in range(first, first + rows.length[a, s]):
                    weight = factor * rows.weight[e]
                    if weight >= NEGLIGIBLE:
                        rows.succ[first + entries], rows.weight[first + entries] = rows.succ[e], weight
                        total += weight
                        entries += 1
                rows.length[a, s] = entries
                p.moves[a, s] = min(total, p.visits[a, s])
            derive(p, a, s)
