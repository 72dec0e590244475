"""Prior and Belief: what the agent may know.

A belief holds sufficient statistics only: visits n, reward sums, seen transitions. With a conjugate
prior worth n0 visits of mean μ0, and a Dirichlet of total mass α0 over the next layer,

    E[μ | data] = (n0 μ0 + Σr) / (n0 + n)        variance proxy = σ² / (n0 + n + shift)
    E[P | data](s') = (α0 · prior share of s' + n(s')) / (α0 + n)

where a Gaussian prior N(μ0, s0²) with noise σ has n0 = σ²/s0² and shift 0, and a Beta(α, β) prior of
coin flips has n0 = α + β, σ = 1/2 and shift 1 (a Beta is sub-Gaussian with 1/(4(α+β+1)); its exact
variance is smaller).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.arrays import checks
from klearning.arrays.compiled import announce_compilation
from klearning.arrays.layers import by_layer, from_layers, offsets
from klearning.arrays.rows import (
    Rows,
    copy_rows,
    dense_block,
    row_sums,
    rows_from_layers,
    rows_to_layers,
    rows_with_room,
)
from klearning.arrays.types import Floats, Ints, Layers
from klearning.beliefs.posterior import Episode, Posterior, derive_all, learn
from klearning.beliefs.rewards import Beta, Gaussian, RewardPrior
from klearning.beliefs.sampling import draw_dirichlet
from klearning.beliefs.transitions import Dirichlet, Known, Transitions, begin_transitions, shared_rows
from klearning.models.mdp import MDP
from klearning.models.sweeps import Model


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known before the first episode.

    ``span`` bounds max − min of the optimal values of the next layer, for the `sharp` bonus: one number,
    or one a layer. By default (L − l) · range, where rewards are taken to lie in a range of 1, as in
    the paper's Assumption 1 (a Gaussian prior has no range: state a span where 1 a step is wrong).

    ``stationary`` says that rewards and transitions do not change with the step: what is seen in one layer is then
    known of all of them. It learns far faster where it is true; the regret bound is proved only without it.
    """

    reward: Gaussian | Beta = field(default_factory=Gaussian)
    transitions: Dirichlet | Known = field(default_factory=Dirichlet)
    span: float | Sequence[float] | None = None
    stationary: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.reward, Gaussian | Beta):
            raise ValueError(f"reward={self.reward!r} is no reward prior: give a Gaussian or a Beta")
        if not isinstance(self.transitions, Dirichlet | Known):
            raise ValueError(f"transitions={self.transitions!r} is no transition prior: give a Dirichlet or Known")

    def spans(self, horizon: int) -> Floats:
        """The bound on the span of V*_{l+1}, layer by layer; zero in the last."""
        left = np.arange(horizon - 1, -1, -1.0)
        if self.span is None:
            return left
        if np.ndim(self.span) == 0:
            return np.where(left > 0, checks.number("span", self.span, 0.0), 0.0)
        return np.where(left > 0, checks.counts("span", np.asarray(self.span), (horizon,)), 0.0)


@dataclass(frozen=True, eq=False)
class Belief:
    """A prior and the statistics of all that was seen. Means and variances are derived, never stored."""

    prior: Prior
    layers: Ints
    table: Ints  # where the rows of each layer begin: see `Model`
    end: int  # the state of every layer where an episode is over, or -1
    initial: Floats
    visits: Floats  # (A, rows), the kernels' order
    reward_sums: Floats
    transitions: Transitions

    @classmethod
    def empty(
        cls, prior: Prior, widths: Sequence[int], actions: int, initial: ArrayLike, end: int | None = None
    ) -> "Belief":
        """Before the first episode, in layers of these widths.

        ``end`` names the state of every layer, counted from its first, in which an episode is over and pays no more.
        """
        if not isinstance(prior, Prior):
            raise ValueError(f"prior={prior!r} is no Prior: give one, for example Prior(reward=Gaussian())")
        layers = offsets([checks.whole(f"widths[{l}]", n) for l, n in enumerate(widths)])
        start = checks.distributions("initial", initial, (int(widths[0]),))
        actions = checks.whole("actions", actions)
        prior.spans(len(widths))
        table, shape = layers, (actions, int(layers[-1]))
        if prior.stationary:
            if len(set(widths)) > 1:
                raise ValueError(f"stationary=True with layers of {list(widths)} states: all must have the same states")
            table, shape = np.zeros_like(layers), (actions, int(widths[0]))
        over = -1 if end is None else checks.whole("end", end, 0)
        if over >= min(widths):
            raise ValueError(f"end={end} is no state of every layer: give a number below {min(widths)}")
        transitions = begin_transitions(prior.transitions, prior.stationary, layers, actions)
        visits = np.zeros(shape)
        if over >= 0:
            visits[:, table[:-1] + over] = np.inf
        return cls(prior, layers, table, over, start, visits, np.zeros(shape), transitions)

    @classmethod
    def from_counts(
        cls,
        prior: Prior,
        visits: Sequence[ArrayLike],
        reward_sums: Sequence[ArrayLike],
        transition_counts: Sequence[ArrayLike],
        initial: ArrayLike,
    ) -> "Belief":
        """From lists per layer: visits (S_l, A), reward sums (S_l, A), counts (S_l, A, S_{l+1}) for l < L.

        With a stationary prior what was counted in different layers is added up.
        """
        if not isinstance(visits, Sequence | np.ndarray) or len(visits) == 0:
            raise ValueError("visits is empty: give one (S_l, A) array per layer")
        n = [checks.counts(f"visits[{l}]", v, (None, None)) for l, v in enumerate(visits)]
        belief = cls.empty(prior, [v.shape[0] for v in n], n[0].shape[1], initial)
        layers, actions = belief.layers, n[0].shape[1]
        seen = from_layers("visits", n, layers, actions)
        sums = from_layers("reward_sums", reward_sums, layers, actions)
        _check_reward_sums(prior, sums, seen)
        blocks = _check_transition_counts(transition_counts, n)
        if prior.stationary:
            seen, sums = (x.reshape(actions, len(n), -1).sum(axis=1) for x in (seen, sums))
            blocks = [np.sum(blocks, axis=0)] if blocks else []
        rows = belief._with_counts(blocks)
        return replace(belief, visits=seen, reward_sums=sums, transitions=belief.transitions._replace(rows=rows))

    @property
    def horizon(self) -> int:
        return len(self.layers) - 1

    @property
    def actions(self) -> int:
        return self.visits.shape[0]

    @property
    def states(self) -> int:
        """S, over all layers."""
        return int(self.layers[-1])

    def posterior(self) -> Posterior:
        """Fresh arrays for the kernels."""
        t = self.transitions
        shape = self.visits.shape
        model = Model(
            self.layers, self.table, self.end, self.initial.copy(), np.zeros(shape),
            np.where(np.isinf(self.visits), 0.0, 1.0), float(t.even_mass), copy_rows(t.rows),
        )  # fmt: skip
        p = Posterior(
            model, np.zeros(shape), self.visits.copy(), self._moves(), self.reward_sums.copy(),
            self.prior.reward.numbers(), float(t.total), t.learns,
        )  # fmt: skip
        announce_compilation()
        derive_all(p)
        return p

    def frequencies(self, strength: float = 0.0, noise: float = 1.0) -> Posterior:
        """What is seen from here on and no prior of ours: empirical means and frequencies, zero before a visit.

        Both may be shrunk towards zero as if by ``strength`` visits; ``noise`` is the variance of one reward.
        """
        prior = RewardPrior(0.0, noise / strength if strength > 0 else np.inf, strength, noise, 0.0)
        shape = self.visits.shape
        rows = rows_with_room(np.ones(shape, np.int64))
        tables = self.layers, self.table, self.end, self.initial.copy()
        model = Model(*tables, np.zeros(shape), np.zeros(shape), 0.0, rows)
        over = np.where(np.isinf(self.visits), np.inf, 0.0)
        p = Posterior(model, np.zeros(shape), over, over.copy(), np.zeros(shape), prior, strength, True)
        announce_compilation()
        derive_all(p)
        return p

    def after(self, p: Posterior) -> "Belief":
        """This belief with the statistics of a posterior that grew out of it."""
        transitions = self.transitions._replace(rows=p.model.rows)
        return replace(self, visits=p.visits, reward_sums=p.reward_sums, transitions=transitions)

    def update(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike) -> "Belief":
        """The belief after one more episode; this one stays as it is. States are numbered through all layers."""
        path = np.asarray(states, np.int64)
        chosen = np.asarray(actions, np.int64)
        got = checks.array("rewards", rewards, (self.horizon,))
        if path.shape != (self.horizon,) or (path < self.layers[:-1]).any() or (path >= self.layers[1:]).any():
            raise ValueError(f"states={path.tolist()} is no path: give one state of each of the {self.horizon} layers")
        if chosen.shape != (self.horizon,) or (chosen < 0).any() or (chosen >= self.actions).any():
            raise ValueError(f"actions={chosen.tolist()}: give {self.horizon} numbers from 0 to {self.actions - 1}")
        return self.after(learn(self.posterior(), Episode(path, chosen, got)))

    @property
    def reward_means(self) -> Layers:
        """E[μ(s,a)], (S_l, A)."""
        return self.in_layers(self.posterior().model.reward)

    @property
    def reward_variances(self) -> Layers:
        """Var(μ(s,a)), exact, (S_l, A)."""
        return self.in_layers(self.prior.reward.variance(self.posterior()))

    @property
    def transition_means(self) -> Layers:
        """E[P(s'|s,a)], (S_l, A, S_{l+1}), l < L."""
        return self._in_steps([self._closed(b / b.sum(axis=-1, keepdims=True)) for b in self._concentrations()])

    def sample(self, seed: int | np.random.SeedSequence = 0) -> MDP:
        """One MDP drawn exactly from the posterior; rewards and transitions use independent streams."""
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        for_rewards, for_rows = (np.random.default_rng(child) for child in sequence.spawn(2))
        p = self.posterior()
        reward = np.concatenate(self.in_layers(self.prior.reward.draw(p, for_rewards))).T
        blocks = self._concentrations()
        if self.transitions.learns:
            blocks = [draw_dirichlet(alpha, for_rows) for alpha in blocks]
        blocks = [self._closed(block) for block in blocks]
        rows = rows_from_layers(self.layers, self.actions, self._in_steps(blocks))
        noise = self.prior.reward.world_noise()
        end = self.end if self.end >= 0 else None
        return MDP(self.layers, np.ascontiguousarray(reward), rows, self.initial, noise, name="sample", end=end)

    def in_layers(self, x: Floats) -> Layers:
        """A table (A, rows) as one (S_l, A) array a layer."""
        if not self.prior.stationary:
            return by_layer(x, self.layers)
        return [x.T] * self.horizon

    def _in_steps(self, blocks: Layers) -> Layers:
        return blocks * (self.horizon - 1) if self.prior.stationary else blocks

    def _concentrations(self) -> Layers:
        """The Dirichlet parameters of every row, dense: a block a layer, or the one that all layers share."""
        t = self.transitions
        width = self.visits.shape[1]
        blocks = (
            [dense_block(t.rows, 0, width, 0, width)] if self.prior.stationary else rows_to_layers(t.rows, self.layers)
        )
        return [block + t.even_mass / block.shape[-1] for block in blocks]

    def _closed(self, block: Floats) -> Floats:
        """Probabilities (S_l, A, S_{l+1}) in which what is over stays over."""
        if self.end >= 0:
            block[self.end] = np.eye(block.shape[-1])[self.end]
        return block

    def _moves(self) -> Floats:
        """Visits of which the next state is known: where layers share a table, not those of the last layer."""
        if not self.prior.stationary:
            return self.visits.copy()
        t = self.transitions
        return np.where(np.isinf(self.visits), np.inf, np.maximum(row_sums(t.rows) - (t.total - t.even_mass), 0.0))

    def _with_counts(self, blocks: list[Floats]) -> Rows:
        """The rows of the prior with these counts added."""
        t, actions, width = self.transitions, self.actions, self.visits.shape[1]
        if not t.learns or not blocks:
            return t.rows
        if self.prior.stationary:
            return shared_rows(rows_from_layers(np.arange(3) * width, actions, [
                blocks[0] + dense_block(t.rows, 0, width, 0, width)]))  # fmt: skip
        prior = rows_to_layers(t.rows, self.layers)
        return rows_from_layers(self.layers, actions, [b + p for b, p in zip(blocks, prior, strict=True)])


def _check_reward_sums(prior: Prior, sums: Floats, visits: Floats) -> None:
    unseen = (visits == 0) & (sums != 0)
    if unseen.any():
        a, s = np.argwhere(unseen)[0]
        raise ValueError(f"reward_sums of state {s}, action {a} is {sums[a, s]:g} after no visit: it must be 0")
    if isinstance(prior.reward, Beta) and ((sums < 0) | (sums > visits)).any():
        a, s = np.argwhere((sums < 0) | (sums > visits))[0]
        raise ValueError(
            f"reward_sums of state {s}, action {a} is {sums[a, s]:g} in {visits[a, s]:g} coin flips: "
            "give a number from 0 to the visits"
        )


def _check_transition_counts(counts: Any, visits: list[Floats]) -> list[Floats]:
    blocks = []
    for l, block in enumerate(checks.layered("transition_counts", counts, len(visits) - 1)):
        shape = (*visits[l].shape, visits[l + 1].shape[0])
        blocks.append(checks.counts(f"transition_counts[{l}]", block, shape))
        total = blocks[-1].sum(axis=-1)
        wrong = np.argwhere(np.abs(total - visits[l]) > checks.TOLERANCE * (1 + visits[l]))
        if len(wrong):
            s, a = wrong[0]
            raise ValueError(
                f"transition_counts[{l}][{s}, {a}] sums to {total[s, a]:g} but visits[{l}][{s}, {a}]="
                f"{visits[l][s, a]:g}: every visit before the last layer is one transition"
            )
    return blocks
