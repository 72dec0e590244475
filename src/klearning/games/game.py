"""A zero-sum matrix game, and some to begin with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.simplex import Saddle, matrix, saddle, told
from klearning.numerics import checks
from klearning.numerics.cards import html_card
from klearning.numerics.types import Floats


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Game:
    """Payoffs to us, a row per move of the opponent's and a column per move of ours; what we gain the opponent loses.

    A round pays ``payoffs[i, j]`` and Gaussian noise of standard deviation ``noise``, which both sides see. Random
    streams are named by the game's ``name``; ``moves`` are words for rows and for columns.
    """

    payoffs: Floats
    noise: float
    name: str
    moves: tuple[tuple[str, ...], tuple[str, ...]]  # of the opponent and of ours; empty where there are no words
    equilibrium: Saddle

    def __init__(
        self,
        payoffs: ArrayLike,
        noise: float = 1.0,
        name: str = "game",
        moves: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> None:
        A = matrix("payoffs", payoffs).copy()
        if not isinstance(name, str) or not name:
            raise ValueError(f"name={name!r} is no text: give the game a name")
        fields = {
            "payoffs": A,
            "noise": checks.moderate("noise", noise, 0.0),
            "name": name,
            "moves": _words(moves, A.shape),
            "equilibrium": saddle(A),
        }
        A.setflags(write=False)
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @property
    def value(self) -> float:
        """What we are paid per round when both play an equilibrium."""
        return self.equilibrium.value

    def __repr__(self) -> str:
        m, n = self.payoffs.shape
        return f"Game({self.name}: {m} × {n} moves, value={self.value:.4g}, noise={self.noise:.4g})"

    def _repr_html_(self) -> str:
        ours, others = self.equilibrium.policy, self.equilibrium.opponent
        facts = {
            "value": self.value,
            "noise": self.noise,
            "our equilibrium": told(ours),
            "the opponent's": told(others),
        }
        return html_card(f"{self.name}: {self.payoffs.shape[0]} × {self.payoffs.shape[1]} moves", facts)


def _words(moves: Any, shape: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    try:
        rows, columns = (tuple(words) for words in moves)
    except (TypeError, ValueError):
        raise ValueError(f"moves={moves!r} is no pair: give words for rows and words for columns") from None
    for side, words, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        if words and len(words) != size:
            raise ValueError(f"moves has {len(words)} words for {side}s: give {size}, one per {side}")
    return rows, columns


def rock_paper_scissors(noise: float = 1.0) -> Game:
    """1 for a win, −1 for a loss; the equilibrium is a third each."""
    words = ("rock", "paper", "scissors")
    payoffs = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    return Game(payoffs, noise, "rock_paper_scissors", (words, words))


def random_game(rows: int = 5, columns: int = 5, seed: int = 0, noise: float = 1.0) -> Game:
    """Payoffs drawn from N(0, 1): what agents with the default prior believe."""
    m, n = checks.whole("rows", rows), checks.whole("columns", columns)
    payoffs = np.random.default_rng(checks.whole("seed", seed, 0)).standard_normal((m, n))
    return Game(payoffs, noise, f"random_game({m}, {n}, seed={seed})")


def idle_threat(noise: float = 1.0) -> Game:
    """The opponent has a second move that it never needs: its first pays us less, whatever we do.

    What is never played is never learnt. Who plays safe against every matrix that the belief holds likely, as Thompson
    sampling does, goes on fearing it, and pays for that in every round.
    """
    words = ("take", "threaten"), ("stand", "give way")
    return Game(np.array([[0.5, -0.5], [1.5, 1.5]]), noise, "idle_threat", words)


def inspection_game(sites: int = 4, noise: float = 1.0) -> Game:
    """We inspect one of some sites a night; somebody dumps waste at one of them, or stays at home.

    A column is a site that we inspect, a row one at which waste is dumped (the last: none). Waste costs us what the
    site is worth, 1 to 2; an inspection at the right site catches the offender, and pays 1; one where nobody is costs
    0.2. What a night comes to is measured with noise. Sites must be inspected at random, the dearer ones more often.
    """
    k = checks.whole("sites", sites, 2)
    damage = np.linspace(1.0, 2.0, k)
    payoffs = np.vstack([np.repeat(-damage[:, None], k, axis=1) - 0.2, np.full((1, k), -0.2)])
    payoffs[np.arange(k), np.arange(k)] = 1.0
    names = tuple(f"site {i + 1}" for i in range(k))
    return Game(
        payoffs, noise, f"inspection_game({k})", ((*(f"dump at {name}" for name in names), "stay at home"), names)
    )
