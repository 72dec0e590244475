"""Prior and Belief: what the agent may know.

A belief holds sufficient statistics only: visits n, reward sums, seen transitions. Mean rewards are those of a reward
family (`tabular/beliefs/rewards.py`), and with a Dirichlet of total mass α0 over the next layer

    E[P | data](s') = (α0 · prior share of s' + n(s')) / (α0 + n)
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics import checks
from klearning.numerics.display.summaries import format_value, html_summary
from klearning.numerics.layers import check_end, from_layers, offsets
from klearning.numerics.sparse.rows import copy_rows, empty_rows, row_sums, rows_from_layers
from klearning.numerics.sparse.validation import check_pool, check_rows
from klearning.numerics.types import Floats, Ints, Layers
from klearning.tabular.beliefs.posterior import NOT_COUNTED, Episode, Posterior, derive_all, learn, mean_rewards
from klearning.tabular.beliefs.rewards import Gaussian, MeanRewards, RewardFamily, RewardPrior, check_family
from klearning.tabular.beliefs.sampling import draw_tables
from klearning.tabular.beliefs.tables import Tables, tables_for
from klearning.tabular.beliefs.transitions import Dirichlet, Known, Transitions
from klearning.tabular.models.mdp import MDP
from klearning.tabular.models.sweeps import FORBIDDEN, Model, successor_range


@dataclass(frozen=True, eq=False)
class Prior:
    """The agent's knowledge before the first episode.

    ``span`` bounds max − min of the optimal values of the next layer, for the `sharp` bonus, and for `split` if one
    is stated: one number, or one per layer. By default (L − l) · range of the rewards, which is taken to be 1, as in
    the paper's Assumption 1, if the prior has no bounds (state a span if 1 per step is wrong).

    ``stationary`` says that rewards and transitions do not change with the step: what is seen in one layer is then
    known of all of them. It learns far faster if that is true; the regret bound is proved only without it.
    """

    reward: RewardFamily = field(default_factory=Gaussian)
    transitions: Dirichlet | Known = field(default_factory=Dirichlet)
    span: float | Sequence[float] | None = None
    stationary: bool = False

    def __post_init__(self) -> None:
        check_family(self.reward)
        if not isinstance(self.transitions, Dirichlet | Known):
            raise ValueError(f"transitions={self.transitions!r} is not a transition prior: give a Dirichlet or Known")
        checks.flag("stationary", self.stationary)
        if self.span is not None and np.ndim(self.span) == 0:
            checks.number("span", self.span, 0.0)

    def spans(self, horizon: int) -> Floats:
        """The bound on the span of V*_{l+1}, layer by layer; zero in the last."""
        to_go = np.arange(horizon - 1, -1, -1.0)
        if self.span is None:
            low, high = self.reward.bounds or (0.0, 1.0)
            return to_go * (high - low)
        if np.ndim(self.span) == 0:
            return np.where(to_go > 0, checks.number("span", self.span, 0.0), 0.0)
        return np.where(to_go > 0, checks.counts("span", np.asarray(self.span), (horizon,)), 0.0)

    def _repr_html_(self) -> str:
        facts = {
            "mean rewards": self.reward,
            "transitions": self.transitions,
            "span of the values": "by the rewards' range" if self.span is None else self.span,
            "stationary": self.stationary,
        }
        return html_summary("Prior", facts)


class Layered(Protocol):
    """An agent's advance knowledge of a world: layers, actions, where episodes begin and where they end."""

    @property
    def widths(self) -> list[int]: ...
    @property
    def actions(self) -> int: ...
    @property
    def initial(self) -> Floats: ...
    @property
    def end(self) -> int | None: ...


@dataclass(frozen=True, eq=False, repr=False)
class Belief:
    """A prior and the statistics of all that was seen. Means and variances are derived, never stored.

    An action that is not allowed is a pair with infinitely many visits and a reward sum of `FORBIDDEN`. Plans weigh
    what comes a step later by ``discount``. If it ``forgets``, old episodes count for less: not an exact posterior.
    """

    prior: Prior
    tables: Tables
    end: int  # the state of every layer where an episode is over, or -1
    initial: Floats
    visits: Floats  # (A, rows), the kernels' order
    reward_sums: Floats
    transitions: Transitions
    discount: float = 1.0
    forgets: bool = False
    reward_squares: Floats = field(default_factory=NOT_COUNTED.copy)  # Σr², if the prior learns the noise

    def __post_init__(self) -> None:
        """Check everything that kernels trust: they check no index."""
        self.tables.check()
        rows, even, total, learns = self.transitions
        checks.distributions("initial", self.initial, (int(self.layers[1]),))
        check_end(self.end, self.layers)
        shape = (checks.array("reward_sums", self.reward_sums, (None, self.tables.height)).shape[0], self.tables.height)
        over = np.zeros(shape, np.bool_)
        over[:, self.table[:-1] + self.end] = self.end >= 0
        for name in ("visits", "reward_sums", "initial"):
            if getattr(getattr(self, name), "dtype", None) != np.float64:
                raise ValueError(f"{name} is not an array of floats: give one, as Belief.from_counts makes it")
        certain = over | (self.reward_sums <= FORBIDDEN)
        if self.visits.shape != shape or not np.array_equal(np.isinf(self.visits), certain):
            raise ValueError(
                f"visits is not of shape {shape}, and infinite exactly if an episode is over or an action not allowed"
            )
        checks.counts("visits", np.where(certain, 0.0, self.visits), shape)
        if checks.number("discount", self.discount, 0.0, 1.0, above=True) < 1.0 and not self.prior.stationary:
            raise ValueError(f"discount={self.discount!r} needs a prior with stationary=True")
        counted = shape if self.prior.reward.learns_noise else NOT_COUNTED.shape
        checks.counts("reward_squares", self.reward_squares, counted)
        checks.number("transitions.even_mass", even, 0.0)
        checks.number("transitions.total", total, 0.0)
        checks.flag("transitions.learns", learns)
        check_rows("transitions.rows", rows, shape, *successor_range(*self.tables))
        if learns:
            check_pool("transitions.rows", rows, self.tables.height)

    @classmethod
    def before(cls, prior: Prior, world: Layered) -> "Belief":
        """Before the first episode in a world, or in any MDP."""
        if not hasattr(world, "widths"):
            raise ValueError(f"world={world!r} is not an MDP: give one, for example deep_sea(10)")
        return cls.empty(prior, world.widths, world.actions, world.initial, world.end)

    @classmethod
    def empty(
        cls,
        prior: Prior,
        widths: Sequence[int],
        actions: int,
        initial: ArrayLike,
        end: int | None = None,
        discount: float = 1.0,
    ) -> "Belief":
        """Before the first episode, in layers of these widths.

        ``end`` names the state of every layer, counted from its first, in which an episode is over and pays no more.
        """
        if not isinstance(prior, Prior):
            raise ValueError(f"prior={prior!r} is not a Prior: give one, for example Prior(reward=Gaussian())")
        layers = offsets([checks.whole(f"widths[{l}]", n) for l, n in enumerate(widths)])
        start = checks.distributions("initial", initial, (int(widths[0]),))
        actions = checks.whole("actions", actions)
        prior.spans(len(widths))
        tables = tables_for(layers, prior.stationary)
        over = -1 if end is None else checks.whole("end", end, 0)
        check_end(over, layers)
        visits = np.zeros((actions, tables.height))
        if over >= 0:
            visits[:, tables.first[:-1] + over] = np.inf
        transitions = prior.transitions.begin(tables, actions)
        squares = np.zeros_like(visits) if prior.reward.learns_noise else NOT_COUNTED.copy()
        return cls(
            prior, tables, over, start, visits, np.zeros_like(visits), transitions, discount, reward_squares=squares
        )

    @classmethod
    def from_counts(
        cls,
        prior: Prior,
        visits: Sequence[ArrayLike],
        reward_sums: Sequence[ArrayLike],
        transition_counts: Sequence[ArrayLike],
        initial: ArrayLike,
        *,
        reward_squares: Sequence[ArrayLike] | None = None,
    ) -> "Belief":
        """From lists per layer: visits (S_l, A), reward sums (S_l, A), counts (S_l, A, S_{l+1}) for l < L.

        With a stationary prior what was counted in different layers is added up. ``reward_squares``, Σr² as (S_l, A),
        is for a prior that learns the noise, as `UnknownNoise` does; others do not read it.
        """
        if not checks.layered("visits", visits):
            raise ValueError("visits is empty: give one (S_l, A) array per layer")
        n = [checks.counts(f"visits[{l}]", v, (None, None)) for l, v in enumerate(visits)]
        belief = cls.empty(prior, [v.shape[0] for v in n], n[0].shape[1], initial)
        tables, actions = belief.tables, belief.actions
        totals = from_layers("visits", n, tables.layers, actions)
        sums = from_layers("reward_sums", reward_sums, tables.layers, actions)
        _check_reward_sums(prior, sums, totals)
        blocks = tables.summed_blocks(_check_transition_counts(transition_counts, n))
        rows = belief.transitions.rows
        if belief.transitions.learns and blocks:
            before = tables.to_blocks(rows)
            rows = tables.to_rows([counts + alpha for counts, alpha in zip(blocks, before, strict=True)], actions)
        transitions = belief.transitions._replace(rows=rows)
        belief = replace(belief, visits=tables.summed(totals), reward_sums=tables.summed(sums), transitions=transitions)
        if not prior.reward.learns_noise:
            return belief
        squares = _squares(reward_squares, sums, totals, tables.layers)
        return replace(belief, reward_squares=tables.summed(squares))

    @property
    def layers(self) -> Ints:
        """Layer l holds the states layers[l] .. layers[l+1]-1."""
        return self.tables.layers

    @property
    def table(self) -> Ints:
        """Where the rows of each layer begin: see `Model`."""
        return self.tables.first

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
            np.where(np.isinf(self.visits), 0.0, float(self.discount)), float(t.even_mass), copy_rows(t.rows),
        )  # fmt: skip
        p = Posterior(
            model, np.zeros(shape), self.visits.copy(), self._moves(), self.reward_sums.copy(),
            self.prior.reward.numbers(), float(t.total), t.learns, float(self.discount), self.reward_squares.copy(),
        )  # fmt: skip
        derive_all(p)
        return p

    def frequencies(self, strength: float = 0.0, noise: float = 1.0) -> Posterior:
        """A belief without a prior: empirical means and frequencies, zero before a visit.

        Both may be shrunk towards zero as if by ``strength`` visits; ``noise`` is the variance of one reward.
        """
        prior = RewardPrior(0.0, noise / strength if strength > 0 else np.inf, strength, noise, 0.0)
        shape = self.visits.shape
        rows = empty_rows(*shape)
        tables = self.layers, self.table, self.end, self.initial.copy()
        model = Model(*tables, np.zeros(shape), np.zeros(shape), 0.0, rows)
        certain = np.where(np.isinf(self.visits), np.inf, 0.0)
        sums, squares = np.where(self.reward_sums <= FORBIDDEN, FORBIDDEN, 0.0), np.zeros_like(self.reward_squares)
        p = Posterior(
            model, np.zeros(shape), certain, certain.copy(), sums, prior, strength, True, float(self.discount), squares
        )  # fmt: skip
        derive_all(p)
        return p

    def after(self, p: Posterior) -> "Belief":
        """This belief with the statistics of a posterior that grew out of it: kernels made it, nothing is checked."""
        belief = copy(self)
        transitions = self.transitions._replace(rows=p.model.rows)
        rewards = {"reward_sums": p.reward_sums, "reward_squares": p.reward_squares}
        vars(belief).update(visits=p.visits, transitions=transitions, **rewards)
        return belief

    def update(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike) -> "Belief":
        """The belief after one more episode; this one stays as it is. States are numbered through all layers."""
        path = np.asarray(states, np.int64)
        chosen = np.asarray(actions, np.int64)
        paid = checks.array("rewards", rewards, (self.horizon,))
        if path.shape != (self.horizon,) or (path < self.layers[:-1]).any() or (path >= self.layers[1:]).any():
            raise ValueError(f"states={path.tolist()} is not a path: give a state of each of the {self.horizon} layers")
        if chosen.shape != (self.horizon,) or (chosen < 0).any() or (chosen >= self.actions).any():
            raise ValueError(f"actions={chosen.tolist()}: give {self.horizon} numbers from 0 to {self.actions - 1}")
        return self.after(learn(self.posterior(), Episode(path, chosen, paid)))

    def mean_rewards(self) -> MeanRewards:
        """Statistics of mean rewards, in tables (A, rows), as the reward family reads them."""
        return mean_rewards(self.posterior())

    @property
    def reward_means(self) -> Layers:
        """E[μ(s,a)], (S_l, A)."""
        return self.in_layers(self.mean_rewards().mean)

    @property
    def reward_variances(self) -> Layers:
        """Var(μ(s,a)), exact, (S_l, A)."""
        return self.in_layers(self.prior.reward.variance(self.mean_rewards()))

    @property
    def reward_noises(self) -> Layers:
        """How noisy rewards are, √E[σ²(s,a)] as a standard deviation, (S_l, A); learned if the prior learns it."""
        return self.in_layers(self.prior.reward.noises(self.mean_rewards()))

    @property
    def transition_means(self) -> Layers:
        """E[P(s'|s,a)], (S_l, A, S_{l+1}), l < L."""
        return self._in_steps([alpha / alpha.sum(axis=-1, keepdims=True) for alpha in self._concentrations()])

    def sample(self, seed: int | np.random.SeedSequence = 0) -> MDP:
        """One MDP drawn exactly from the posterior; rewards and transitions use independent streams."""
        table, noise, blocks = draw_tables(self.prior.reward, self.posterior(), self._concentrations(), seed)
        reward = np.ascontiguousarray(np.concatenate(self.in_layers(table)).T)
        if isinstance(noise, np.ndarray):
            noise = np.ascontiguousarray(np.concatenate(self.in_layers(noise)).T)
        rows = rows_from_layers(self.layers, self.actions, self._in_steps(blocks))
        if self.prior.reward.bounds is not None and (table <= FORBIDDEN).any():
            raise ValueError(
                "belief knows of actions that are not allowed, and an MDP of bounded rewards has none such"
            )
        end = self.end if self.end >= 0 else None
        return MDP(self.layers, reward, rows, self.initial, noise, name="sample", end=end)

    def _steps_seen(self) -> float:
        """Actions that the belief was updated with."""
        return float(self.visits[np.isfinite(self.visits)].sum())

    def __repr__(self) -> str:
        shape = f"horizon={self.horizon}, states={self.states}, actions={self.actions}"
        return f"Belief({shape}, steps_seen={self._steps_seen():g}, prior={self.prior!r})"

    def _repr_html_(self) -> str:
        tried = float(np.mean(self.visits[np.isfinite(self.visits)] > 0.0)) if self._steps_seen() else 0.0
        facts = {
            "horizon": self.horizon,
            "states": f"{self.states} over all layers" + (", one table for all" if self.tables.shared else ""),
            "actions": self.actions,
            "steps seen": f"{self._steps_seen():g}, {format_value(100.0 * tried)} % of all (state, action) tried",
            "mean rewards": self.prior.reward,
            "transitions": self.prior.transitions,
        }
        return html_summary("Belief", facts)

    def in_layers(self, x: Floats) -> Layers:
        """A table (A, rows) as one (S_l, A) array per layer."""
        return self.tables.in_layers(x)

    def _concentrations(self) -> Layers:
        """The Dirichlet parameters of every row, dense: a block per table."""
        t = self.transitions
        return [block + t.even_mass / block.shape[-1] for block in self.tables.to_blocks(t.rows)]

    def _in_steps(self, blocks: Layers) -> Layers:
        """Probabilities (S_l, A, S_{l+1}), l < L, from a block per table; what is over stays over."""
        if self.end >= 0:
            for block in blocks:
                block[self.end] = np.eye(block.shape[-1])[self.end]
        return self.tables.in_steps(blocks)

    def _moves(self) -> Floats:
        """Visits whose next state is known: if layers share a table, not those of the last layer."""
        if not self.tables.shared:
            return self.visits.copy()
        t = self.transitions
        return np.where(np.isinf(self.visits), np.inf, np.maximum(row_sums(t.rows) - (t.total - t.even_mass), 0.0))


def _check_reward_sums(prior: Prior, sums: Floats, visits: Floats) -> None:
    unseen = (visits == 0) & (sums != 0)
    if unseen.any():
        a, s = np.argwhere(unseen)[0]
        raise ValueError(f"reward_sums of state {s}, action {a} is {sums[a, s]:g} after no visit: it must be 0")
    prior.reward.check_sums(sums, visits)


def _squares(given: Any, sums: Floats, visits: Floats, layers: Ints) -> Floats:
    """Σr² (A, S), such as rewards of these sums can have."""
    if given is None:
        raise ValueError("reward_squares=None with a prior that learns the noise: give Σr² as one (S_l, A) per layer")
    squares = from_layers("reward_squares", given, layers, len(sums))
    least = sums**2 / np.maximum(visits, 1.0)
    wrong = np.argwhere((squares < least * (1.0 - checks.TOLERANCE)) | ((visits == 0) & (squares != 0)))
    if len(wrong):
        a, s = wrong[0]
        raise ValueError(
            f"reward_squares of state {s}, action {a} is {squares[a, s]:g}: rewards that sum to {sums[a, s]:g} in "
            f"{visits[a, s]:g} visits have squares that sum to {least[a, s]:g} at least, and to 0 without a visit"
        )
    return squares


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
