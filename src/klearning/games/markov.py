"""Markov games: layers of states, and in every state a matrix game whose moves decide what is paid and what comes next.

    V_l(s) = value of the matrix   Q_ij = A_l(s)_ij + Σ_s' P_l(s' | s, i, j) V_{l+1}(s')          (Shapley, 1953)

Rows i are the opponent's moves and columns j are ours, chosen at the same time; payoffs are paid to us.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.simplex import find_saddle, guarantees, new_tableau
from klearning.numerics import checks
from klearning.numerics.cards import html_card
from klearning.numerics.compiled import kernel
from klearning.numerics.layers import offsets
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats, Ints, Layers


@marked(fixed=("layers", "initial"), finite=("means", "sds", "chances", "doubts"))
class Outlook(NamedTuple):
    """A Markov game as it is, or as it is believed to be; states are numbered through all layers."""

    layers: Ints  # offsets
    initial: Floats  # (S_1,)
    means: Floats  # (S, rows, columns) of payoffs
    sds: Floats  # (S, rows, columns)
    chances: Floats  # (S, rows, columns, widest layer) of the next layer's states, their means
    doubts: Floats  # (S, rows, columns): the variance of a value that follows is at most so many squares of its span


@kernel
def look_ahead(B: Outlook, l: int, s: int, V: Floats, matrix: Floats, sds: Floats) -> None:
    """The matrix game of a state, given values of the next layer: means of its payoffs to the end, and sds."""
    m, n = matrix.shape
    first = last = 0
    span = 0.0
    if l + 2 < B.layers.size:
        first, last = B.layers[l + 1], B.layers[l + 2]
        low, high = V[first], V[first]
        for k in range(first, last):
            low, high = min(low, V[k]), max(high, V[k])
        span = high - low
    for i in range(m):
        for j in range(n):
            Q = B.means[s, i, j]
            for k in range(first, last):
                Q += B.chances[s, i, j, k - first] * V[k]
            matrix[i, j] = Q
            sds[i, j] = np.sqrt(B.sds[s, i, j] ** 2 + B.doubts[s, i, j] * span * span)


@kernel
def joint_sweep(B: Outlook, ours: Floats, theirs: Floats, V: Floats) -> float:
    """What two policies, (S, columns) and (S, rows), are paid to the end."""
    m, n = B.means.shape[1:]
    Q, sds = np.zeros((m, n)), np.zeros((m, n))
    for l in range(B.layers.size - 2, -1, -1):
        for s in range(B.layers[l], B.layers[l + 1]):
            look_ahead(B, l, s, V, Q, sds)
            paid = 0.0
            for i in range(m):
                if theirs[s, i] > 0.0:
                    for j in range(n):
                        paid += theirs[s, i] * Q[i, j] * ours[s, j]
            V[s] = paid
    return start_value(B, V)


@kernel
def response_sweep(B: Outlook, other: Floats, policy: Floats, V: Floats) -> float:
    """The best answer, of the side that chooses columns, to the whole policy of the other; of equals the first."""
    m, n = B.means.shape[1:]
    Q, sds = np.zeros((m, n)), np.zeros((m, n))
    for l in range(B.layers.size - 2, -1, -1):
        for s in range(B.layers[l], B.layers[l + 1]):
            look_ahead(B, l, s, V, Q, sds)
            best = 0
            for j in range(n):
                policy[s, j] = 0.0
                paid = 0.0
                for i in range(m):
                    paid += other[s, i] * Q[i, j]
                if j == 0 or paid > V[s]:
                    best, V[s] = j, paid
            policy[s, best] = 1.0
    return start_value(B, V)


@kernel
def start_value(B: Outlook, V: Floats) -> float:
    total = 0.0
    for s in range(B.initial.size):
        total += B.initial[s] * V[s]
    return total


@dataclass(frozen=True, eq=False, repr=False)
class MarkovSaddle:
    """An equilibrium of a Markov game, a list with one array per layer.

    ``policy`` (S_l, columns) is ours, ``opponent`` (S_l, rows) the other's, ``values`` (S_l,) what we are paid from a
    state to the end. ``gap`` is the most that both could gain together in any one state by another mixture there.
    """

    policy: Layers
    opponent: Layers
    values: Layers
    value: float
    gap: float

    def __repr__(self) -> str:
        return f"MarkovSaddle(value={self.value:.4g}, gap={self.gap:.2g}, horizon={len(self.values)})"

    def _repr_html_(self) -> str:
        return html_card("MarkovSaddle", {"value": self.value, "gap": self.gap, "horizon": len(self.values)})


def equilibrium_of(B: Outlook) -> MarkovSaddle:
    """Backwards, with an equilibrium of the matrix game of every state."""
    states, m, n = B.means.shape
    x, y, V = np.zeros((states, n)), np.zeros((states, m)), np.zeros(states)
    Q, sds, tableau, gap = np.zeros((m, n)), np.zeros((m, n)), new_tableau(m, n), 0.0
    for l in range(B.layers.size - 2, -1, -1):
        for s in range(B.layers[l], B.layers[l + 1]):
            look_ahead(B, l, s, V, Q, sds)
            V[s] = find_saddle(Q, x[s], y[s], tableau)
            low, high = guarantees(Q, x[s], y[s])
            gap = max(gap, high - low)
    policy, opponent, values = (per_layer(part, B.layers) for part in (x, y, V))
    return MarkovSaddle(policy, opponent, values, float(B.initial @ V[: B.initial.size]), gap)


def per_layer(table: Floats, layers: Ints) -> Layers:
    """One array for all states as a list with one per layer."""
    return [table[low:high] for low, high in pairwise(layers.tolist())]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class MarkovGame:
    """A layered zero-sum game of simultaneous moves, from lists per layer.

    ``payoffs`` are (S_l, rows, columns), paid to us; ``transitions`` (S_l, rows, columns, S_{l+1}), one for every layer
    but the last; ``initial`` (S_1,) is where it begins, by default evenly. Every step is paid with Gaussian noise of
    standard deviation ``noise``, which both sides see, as they see the state and both moves.
    """

    payoffs: Layers
    transitions: Layers
    initial: Floats
    noise: float
    name: str
    outlook: Outlook
    equilibrium: MarkovSaddle

    def __init__(
        self,
        payoffs: Sequence[ArrayLike],
        transitions: Sequence[ArrayLike] = (),
        initial: ArrayLike | None = None,
        noise: float = 1.0,
        name: str = "markov_game",
    ) -> None:
        A = read_tables("payoffs", payoffs)
        P = read_transitions(transitions, A)
        start = np.full(len(A[0]), 1.0 / len(A[0])) if initial is None else initial
        rho = checks.distributions("initial", start, (len(A[0]),)).copy()
        if not isinstance(name, str) or not name:
            raise ValueError(f"name={name!r} is no text: give the game a name")
        B = as_outlook(A, [np.zeros_like(block) for block in A], P, [np.zeros_like(block) for block in A], rho)
        fields = {
            "payoffs": A,
            "transitions": P,
            "initial": rho,
            "noise": checks.moderate("noise", noise, 0.0),
            "name": name,
            "outlook": B,
            "equilibrium": equilibrium_of(B),
        }
        for array in (*A, *P, rho):
            array.setflags(write=False)
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def value(self) -> float:
        """What we are paid per episode when both play an equilibrium."""
        return self.equilibrium.value

    def __repr__(self) -> str:
        return f"MarkovGame({self.name}: {self._size()}, value={self.value:.4g}, noise={self.noise:.4g})"

    def _size(self) -> str:
        states, m, n = self.outlook.means.shape
        return f"{len(self.payoffs)} layers, {states} states, {m} × {n} moves"

    def _repr_html_(self) -> str:
        return html_card(f"{self.name}: {self._size()}", {"value": self.value, "noise": self.noise})


def read_tables(field: str, blocks: Any, like: Layers | None = None) -> Layers:
    """Numbers (S_l, rows, columns), a copy for every layer, of the same moves throughout, or of the same sizes."""
    if not isinstance(blocks, Sequence | np.ndarray) or isinstance(blocks, str) or len(blocks) == 0:
        raise ValueError(f"{field} is no list of layers: give one (S_l, rows, columns) array per layer")
    if like is not None:
        checks.layered(field, blocks, len(like))
    tables: Layers = []
    for l, block in enumerate(blocks):
        shape = (None, *tables[0].shape[1:]) if tables else (None, None, None)
        shape = like[l].shape if like is not None else shape
        tables.append(np.array(checks.array(f"{field}[{l}]", block, shape), order="C"))
        if tables[-1].size == 0:
            raise ValueError(f"{field}[{l}] has shape {tables[-1].shape}: give at least one state, row and column")
        if (size := np.abs(tables[-1]).max()) > checks.LARGEST:
            raise ValueError(f"{field}[{l}] has a number of size {size:g}: give at most {checks.LARGEST:g}")
    return tables


def read_transitions(transitions: Any, tables: Layers) -> Layers:
    """Probabilities of every layer but the last."""
    blocks = checks.layered("transitions", transitions, len(tables) - 1)
    return [
        checks.distributions(f"transitions[{l}]", block, (*tables[l].shape, len(tables[l + 1]))).copy()
        for l, block in enumerate(blocks)
    ]


def as_outlook(means: Layers, sds: Layers, transitions: Layers, doubts: Layers, initial: Floats) -> Outlook:
    """Lists per layer as arrays for kernels."""
    layers = offsets([len(block) for block in means])
    chances = np.zeros((*np.concatenate(means).shape, max(len(block) for block in means)))
    for low, block in zip(layers.tolist(), transitions, strict=False):  # the last layer has none
        chances[low : low + len(block), :, :, : block.shape[-1]] = block
    return Outlook(layers, initial.copy(), np.concatenate(means), np.concatenate(sds), chances, np.concatenate(doubts))


def guarded_sea(depth: int = 5, noise: float = 0.05, toll: float = 1.0, cost: float = 0.01) -> MarkovGame:
    """DeepSea with a guard: a diver sinks one row per step and goes left or right; only right every time finds 1.

    At the same time the guard looks away or blocks the way to the right: who then goes right sinks straight down, and
    finds nothing in the last cell; but a guard who blocks while the diver goes left pays ``toll``. Going right costs
    ``cost`` / depth. Without cost the value is 1 / (1 + depth / toll): both mix in every cell of the diagonal.
    """
    L = checks.whole("depth", depth)
    fine, fee = checks.moderate("toll", toll, 0.0), checks.moderate("cost", cost, 0.0) / L
    payoffs, transitions = [], []
    for l in range(L):
        A = np.tile([[0.0, -fee], [fine, -fee]], (l + 1, 1, 1))
        if l == L - 1:
            A[l, 0, 1] = 1.0
        payoffs.append(A)
        cells = np.arange(l + 1)
        P = np.zeros((l + 1, 2, 2, l + 2))
        P[cells, :, 0, np.maximum(cells - 1, 0)] = 1.0
        P[cells, 0, 1, cells + 1] = 1.0
        P[cells, 1, 1, cells] = 1.0
        transitions.append(P)
    return MarkovGame(payoffs, transitions[:-1], np.ones(1), noise, f"guarded_sea({L})")


def random_markov_game(
    layers: int = 4, states: int = 3, rows: int = 2, columns: int = 2, seed: int = 0, noise: float = 1.0
) -> MarkovGame:
    """Payoffs from N(0, 1), transitions from a Dirichlet of mass 1 spread evenly: what agents believe by default."""
    L, S = checks.whole("layers", layers), checks.whole("states", states)
    m, n = checks.whole("rows", rows), checks.whole("columns", columns)
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
    payoffs = [rng.standard_normal((S, m, n)) for _ in range(L)]
    transitions = [rng.dirichlet(np.full(S, 1.0 / S), (S, m, n)) for _ in range(L - 1)]
    return MarkovGame(payoffs, transitions, None, noise, f"random_markov_game({L}, {S}, {m}, {n}, seed={seed})")
