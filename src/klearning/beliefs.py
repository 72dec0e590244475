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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning import checks
from klearning.bellman import Model
from klearning.compiled import Floats, Ints, announce_compilation, kernel
from klearning.mdp import MDP, Layers, join, split, transition_rows
from klearning.rows import (
    Rows,
    add_weight,
    copy_rows,
    dense_block,
    empty_rows,
    enlarge,
    row_sums,
    rows_from_layers,
    rows_to_layers,
    rows_with_room,
)


class RewardPrior(NamedTuple):
    """A conjugate reward prior in numbers: n0 = strength, σ² = noise."""

    mean: float
    variance: float  # proxy before any visit
    strength: float
    noise: float
    shift: float


@dataclass(frozen=True)
class Gaussian:
    """Mean rewards N(mean, sd²), observed with Gaussian noise of standard deviation ``noise``."""

    mean: float = 0.0
    sd: float = 1.0
    noise: float = 0.05

    def __post_init__(self) -> None:
        checks.number("mean", self.mean, -np.inf)
        checks.number("sd", self.sd, 0.0)
        checks.number("noise", self.noise, 0.0)

    def numbers(self) -> RewardPrior:
        ratio = float(self.noise) / float(self.sd) if self.sd > 0 else np.inf
        strength = ratio * ratio  # infinite where the mean is as good as known
        return RewardPrior(float(self.mean), float(self.sd) ** 2, strength, float(self.noise) ** 2, 0.0)

    def variance(self, p: "Posterior") -> Floats:
        """The exact posterior variance: of a Gaussian, the proxy itself."""
        return p.variance

    def draw(self, p: "Posterior", rng: np.random.Generator) -> Floats:
        return p.model.reward + np.sqrt(p.variance) * rng.standard_normal(p.variance.shape)

    def world_noise(self) -> float | str:
        return self.noise


@dataclass(frozen=True)
class Beta:
    """Mean rewards Beta(a, b); each reward is a coin flip, 0 or 1."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        checks.number("a", self.a, 0.0, above=True)
        checks.number("b", self.b, 0.0, above=True)

    def numbers(self) -> RewardPrior:
        strength = float(self.a + self.b)
        return RewardPrior(self.a / strength, 0.25 / (strength + 1.0), strength, 0.25, 1.0)

    def variance(self, p: "Posterior") -> Floats:
        """The exact posterior variance, at most the proxy."""
        return p.model.reward * (1.0 - p.model.reward) / (self.a + self.b + p.visits + 1.0)

    def draw(self, p: "Posterior", rng: np.random.Generator) -> Floats:
        over = np.isinf(p.visits)  # pays nothing for certain, and a Beta has no infinite counts
        heads, tails = self.a + p.reward_sums, self.b + (np.where(over, 0.0, p.visits) - p.reward_sums)
        return np.where(over, 0.0, rng.beta(heads, tails))

    def world_noise(self) -> float | str:
        return "bernoulli"


@dataclass(frozen=True, eq=False)
class Dirichlet:
    """Transition rows Dirichlet, of total ``mass`` spread evenly over a support.

    The support is every state of the next layer, or what ``support`` says: one array (S_l, A, S_{l+1}) of
    booleans for each l < L (a list of one, for a stationary prior), or an MDP whose possible transitions are meant.
    """

    mass: float = 0.3
    support: Sequence[ArrayLike] | MDP | None = None

    def __post_init__(self) -> None:
        checks.number("mass", self.mass, 0.0, above=True)

    def begin(self, layers: Ints, actions: int) -> "Transitions":
        if self.support is None:
            return Transitions(empty_rows(layers, actions), self.mass, self.mass, True)
        if isinstance(self.support, MDP):
            rows = _rows_of("support", self.support, layers, actions)
        else:
            widths = np.diff(layers)
            blocks = [
                (checks.counts(f"support[{l}]", b, (int(widths[l]), actions, int(widths[l + 1]))) > 0).astype(float)
                for l, b in enumerate(checks.layered("support", self.support, len(widths) - 1))
            ]
            rows = rows_from_layers(layers, actions, blocks)
        inside = rows.length[:, : layers[-2]]
        if inside.size and inside.min() == 0:
            a, s = np.argwhere(inside == 0)[0]
            raise ValueError(f"support of state {s}, action {a} is empty: name at least one next state")
        length = rows.length.ravel()
        first = np.cumsum(length) - length
        entry = np.repeat(rows.start.ravel() - first, length) + np.arange(length.sum())
        row = np.repeat(np.arange(length.size), length)
        possible = rows.weight[entry] > 0.0
        rows.weight[entry] = np.where(possible, self.mass / np.bincount(row, possible, length.size)[row], 0.0)
        return Transitions(rows, 0.0, self.mass, True)


@dataclass(frozen=True, eq=False)
class Known:
    """Transitions known for certain: arrays (S_l, A, S_{l+1}) for each l < L, or an MDP that has them."""

    transitions: Sequence[ArrayLike] | MDP

    def begin(self, layers: Ints, actions: int) -> "Transitions":
        if isinstance(self.transitions, MDP):
            rows = _rows_of("transitions", self.transitions, layers, actions)
        else:
            rows = transition_rows("transitions", self.transitions, layers, actions)
        return Transitions(rows, 0.0, 1.0, False)


def _rows_of(name: str, mdp: MDP, layers: Ints, actions: int) -> Rows:
    if mdp.actions != actions or not np.array_equal(mdp.layers, layers):
        raise ValueError(f"{name}={mdp!r} has other layers or actions than the world: give one of the same shape")
    return copy_rows(mdp.rows)


class Transitions(NamedTuple):
    """A transition prior in arrays: rows, the mass spread over whole layers, Σα of a row, learns or not."""

    rows: Rows
    even_mass: float
    total: float
    learns: bool


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


class Episode(NamedTuple):
    """One trajectory: a state, an action and a reward a step, and one state more where what came last is known.

    States are numbered through all layers. What follows the last layer has a number only where layers share one table.
    """

    states: Ints
    actions: Ints
    rewards: Floats


class Posterior(NamedTuple):
    """A belief as the kernels read it: its statistics and what follows from them; axes (action, state)."""

    model: Model  # posterior means
    variance: Floats  # variance proxy of the mean rewards
    visits: Floats  # infinitely many where an episode is over: nothing is left to learn
    moves: Floats  # visits of which the next state is known
    reward_sums: Floats
    prior: RewardPrior
    total: float  # prior mass Σα of a transition row
    learns: bool  # whether transitions are learnt


@kernel(inline=True)
def reward_posterior(prior: RewardPrior, visits: float, reward_sum: float) -> tuple[float, float]:
    """Posterior mean and variance proxy of one mean reward; nothing, for certain, where an episode is over."""
    if np.isinf(visits):
        return 0.0, 0.0
    if np.isinf(prior.strength):
        return prior.mean, 0.0
    weight = prior.strength + visits
    if weight == 0.0:  # noiseless rewards, none seen yet
        return prior.mean, prior.variance
    return (prior.strength * prior.mean + reward_sum) / weight, prior.noise / (weight + prior.shift)


@kernel(inline=True)
def derive(p: Posterior, a: int, s: int) -> None:
    """Bring what follows from the statistics of (a, s) up to date."""
    mean, variance = reward_posterior(p.prior, p.visits[a, s], p.reward_sums[a, s])
    p.model.reward[a, s] = mean
    p.variance[a, s] = variance
    if p.learns:
        weight = p.total + p.moves[a, s]
        p.model.scale[a, s] = 1.0 / weight if weight > 0.0 else 0.0


@kernel
def derive_all(p: Posterior) -> None:
    for a in range(p.visits.shape[0]):
        for s in range(p.visits.shape[1]):
            derive(p, a, s)


@kernel
def learn(p: Posterior, episode: Episode) -> Posterior:
    """Condition on one episode. Changes the arrays it is given; the rows may have moved to new ones."""
    m, rows = p.model, p.model.rows
    for l in range(episode.actions.size):
        a, s = episode.actions[l], episode.states[l] - m.layers[l] + m.table[l]
        p.visits[a, s] += 1.0
        p.reward_sums[a, s] += episode.rewards[l]
        if p.learns and l + 1 < episode.states.size:
            p.moves[a, s] += 1.0
            successor = episode.states[l + 1] - m.layers[l + 1] + m.table[l + 1]
            if not add_weight(rows, a, s, successor, 1.0):
                rows = enlarge(rows, a, s)
                add_weight(rows, a, s, successor, 1.0)
        derive(p, a, s)
    return with_rows(p, rows)


@kernel(inline=True)
def with_rows(p: Posterior, rows: Rows) -> Posterior:
    """The same posterior, its rows moved."""
    m = p.model
    model = Model(m.layers, m.table, m.end, m.initial, m.reward, m.scale, m.mass, rows)
    return Posterior(model, p.variance, p.visits, p.moves, p.reward_sums, p.prior, p.total, p.learns)


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
        layers = checks.offsets([checks.whole(f"widths[{l}]", n) for l, n in enumerate(widths)])
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
        transitions = _begin(prior, layers, actions)
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
        seen = join("visits", n, layers, actions)
        sums = join("reward_sums", reward_sums, layers, actions)
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
            blocks = [_draw_dirichlet(alpha, for_rows) for alpha in blocks]
        blocks = [self._closed(block) for block in blocks]
        rows = rows_from_layers(self.layers, self.actions, self._in_steps(blocks))
        noise = self.prior.reward.world_noise()
        end = self.end if self.end >= 0 else None
        return MDP(self.layers, np.ascontiguousarray(reward), rows, self.initial, noise, name="sample", end=end)

    def in_layers(self, x: Floats) -> Layers:
        """A table (A, rows) as one (S_l, A) array a layer."""
        if not self.prior.stationary:
            return split(x, self.layers)
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
            return _shared(rows_from_layers(np.arange(3) * width, actions, [
                blocks[0] + dense_block(t.rows, 0, width, 0, width)]))  # fmt: skip
        prior = rows_to_layers(t.rows, self.layers)
        return rows_from_layers(self.layers, actions, [b + p for b, p in zip(blocks, prior, strict=True)])


def _begin(prior: Prior, layers: Ints, actions: int) -> Transitions:
    """The transition prior in arrays. One table for all layers is built as the first of two layers."""
    if not prior.stationary:
        return prior.transitions.begin(layers, actions)
    begun = _of_one_step(prior.transitions, int(layers[1])).begin(np.arange(3) * layers[1], actions)
    return begun._replace(rows=_shared(begun.rows))


def _of_one_step(prior: Dirichlet | Known, width: int) -> Dirichlet | Known:
    """A prior that names an MDP, by what that does in its first step; lists hold one array anyway."""
    given = prior.support if isinstance(prior, Dirichlet) else prior.transitions
    if not isinstance(given, MDP):
        return prior
    if given.horizon < 2 or given.widths != [width] * given.horizon:
        raise ValueError(f"{given!r} has other states than {width} in every layer: give one array (S, A, S) in a list")
    block = dense_block(given.rows, 0, width, width, 2 * width)
    return Dirichlet(prior.mass, [block]) if isinstance(prior, Dirichlet) else Known([block])


def _shared(rows: Rows) -> Rows:
    """The rows of the first of two equal layers, with successors numbered as its own states."""
    width = rows.start.shape[1] // 2
    start, length, room = (np.ascontiguousarray(x[:, :width]) for x in rows[:3])
    return Rows(start, length, room, np.maximum(rows.succ - width, 0), rows.weight, rows.used)


def _draw_dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    """Dirichlet rows from gammas held as logarithms: with α near zero the gammas themselves underflow."""
    positive = np.where(alpha > 0, alpha, 1.0)
    log_gamma = np.log(rng.standard_gamma(positive + 1.0)) - rng.standard_exponential(alpha.shape) / positive
    log_gamma[alpha == 0] = -np.inf
    draws = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    rows: Floats = draws / draws.sum(axis=-1, keepdims=True)
    return rows


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
