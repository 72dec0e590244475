"""Markov games: layers of states with a matrix game in each, whose moves decide the payoff and the next state.

Rows are the opponent's moves and columns are ours, chosen at the same time; payoffs are paid to us.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.model import GameModel, equilibrium, known_model, new_scratch, per_layer
from klearning.games.simplex import in_words
from klearning.numerics import checks
from klearning.numerics.display.summaries import html_summary
from klearning.numerics.types import Floats, Layers


@dataclass(frozen=True, eq=False, repr=False)
class MarkovSaddle:
    """An equilibrium of a Markov game, a list with one array per layer.

    ``policy`` (S_l, columns) is ours, ``opponent`` (S_l, rows) the other side's, ``values`` (S_l,) our expected payoff
    from a state to the end. ``gap`` is the most that both could gain together by other moves in any one state.
    """

    policy: Layers
    opponent: Layers
    values: Layers
    value: float
    gap: float

    def __repr__(self) -> str:
        return f"MarkovSaddle(value={in_words(self.value)}, gap={self.gap:.2g}, horizon={len(self.values)})"

    def _repr_html_(self) -> str:
        return html_summary("MarkovSaddle", {"value": self.value, "gap": self.gap, "horizon": len(self.values)})


def equilibrium_of(B: GameModel) -> MarkovSaddle:
    """Backwards, with an equilibrium of the matrix game of every state."""
    states, m, n = B.means.shape
    x, y, W = np.zeros((states, n)), np.zeros((states, m)), new_scratch(states, m, n)
    gap = equilibrium(B, x, y, W)
    policy, opponent, values = (per_layer(part, B.layers) for part in (x, y, W.values))
    return MarkovSaddle(policy, opponent, values, float(B.initial @ W.values[: B.initial.size]), gap)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class MarkovGame:
    """A layered zero-sum game of simultaneous moves, from lists per layer.

    ``payoffs`` are (S_l, rows, columns), paid to us; ``transitions`` (S_l, rows, columns, S_{l+1}), one for every layer
    but the last; ``initial`` (S_1,) has the probabilities of first states, equal by default. Payoffs have Gaussian
    noise of standard deviation ``noise``. Both sides see every payoff, state and move.
    """

    payoffs: Layers
    transitions: Layers
    initial: Floats
    noise: float
    name: str
    model: GameModel
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
            raise ValueError(f"name={name!r} is not a name: give the game a text of one character or more")
        B = known_model(A, P, rho)
        fields = {
            "payoffs": A,
            "transitions": P,
            "initial": rho,
            "noise": checks.moderate("noise", noise, 0.0),
            "name": name,
            "model": B,
            "equilibrium": equilibrium_of(B),
        }
        for array in (*A, *P, rho):
            array.setflags(write=False)
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def value(self) -> float:
        """Our expected payoff per episode if both sides play an equilibrium."""
        return self.equilibrium.value

    def __repr__(self) -> str:
        return f"MarkovGame({self.name}: {self._size()}, value={in_words(self.value)}, noise={self.noise:.4g})"

    def _size(self) -> str:
        states, m, n = self.model.means.shape
        return f"{len(self.payoffs)} layers, {states} states, {m} × {n} moves"

    def _repr_html_(self) -> str:
        return html_summary(f"{self.name}: {self._size()}", {"value": self.value, "noise": self.noise})


def read_tables(field: str, blocks: Any, like: Layers | None = None) -> Layers:
    """Numbers (S_l, rows, columns), a copy for every layer, of the same moves throughout, or of the same sizes."""
    if not isinstance(blocks, Sequence | np.ndarray) or isinstance(blocks, str) or len(blocks) == 0:
        raise ValueError(f"{field} is not a list of layers: give one (S_l, rows, columns) array per layer")
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


def guarded_sea(depth: int = 5, noise: float = 0.05, toll: float = 1.0, cost: float = 0.01) -> MarkovGame:
    """DeepSea with a guard: a diver sinks one row per step and goes left or right; only right every time finds 1.

    At the same time the guard looks away or blocks the way to the right. A diver who goes right against a block sinks
    straight down. A guard who blocks while the diver goes left pays ``toll``. Going right costs ``cost`` / depth.
    Without cost the value is 1 / (1 + depth / toll): both mix in every cell of the diagonal.
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
    """Payoffs from N(0, 1), transitions from a Dirichlet of mass 1 spread evenly: the default prior of agents."""
    L, S = checks.whole("layers", layers), checks.whole("states", states)
    m, n = checks.whole("rows", rows), checks.whole("columns", columns)
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
    payoffs = [rng.standard_normal((S, m, n)) for _ in range(L)]
    transitions = [rng.dirichlet(np.full(S, 1.0 / S), (S, m, n)) for _ in range(L - 1)]
    return MarkovGame(payoffs, transitions, None, noise, f"random_markov_game({L}, {S}, {m}, {n}, seed={seed})")
