"""A zero-sum matrix game, and some to begin with."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.model import GameModel, known_model
from klearning.games.simplex import Saddle, in_words, matrix, policy_in_words, saddle
from klearning.numerics import checks
from klearning.numerics.display.summaries import html_summary
from klearning.numerics.types import Floats


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Game:
    """Payoffs to us, a row per move of the opponent's and a column per move of ours; the opponent loses what we gain.

    A round pays ``payoffs[i, j]`` with Gaussian noise of standard deviation ``noise``. Both sides see the payoff. The
    game's ``name`` names its random streams; ``moves`` are words for rows and for columns.
    """

    payoffs: Floats
    noise: float
    name: str
    moves: tuple[tuple[str, ...], tuple[str, ...]]  # of the opponent and of ours; empty without words
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
            raise ValueError(f"name={name!r} is not a name: give the game a text of one character or more")
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
        """Our expected payoff per round if both sides play an equilibrium."""
        return self.equilibrium.value

    @cached_property
    def model(self) -> GameModel:
        """The game in arrays, with one layer of one state."""
        return known_model([self.payoffs[None]], [], np.ones(1))

    def __repr__(self) -> str:
        m, n = self.payoffs.shape
        return f"Game({self.name}: {m} × {n} moves, value={in_words(self.value)}, noise={self.noise:.4g})"

    def _repr_html_(self) -> str:
        ours, others = self.equilibrium.policy, self.equilibrium.opponent
        facts = {
            "value": self.value,
            "noise": self.noise,
            "our equilibrium": policy_in_words(ours),
            "the opponent's": policy_in_words(others),
        }
        return html_summary(f"{self.name}: {self.payoffs.shape[0]} × {self.payoffs.shape[1]} moves", facts)


def _words(moves: Any, shape: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    try:
        rows, columns = (tuple(words) for words in moves)
    except (TypeError, ValueError):
        raise ValueError(f"moves={moves!r} is not a pair: give words for rows and words for columns") from None
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
    """Payoffs drawn from N(0, 1), the default prior of agents."""
    m, n = checks.whole("rows", rows), checks.whole("columns", columns)
    payoffs = np.random.default_rng(checks.whole("seed", seed, 0)).standard_normal((m, n))
    return Game(payoffs, noise, f"random_game({m}, {n}, seed={seed})")


def idle_threat(noise: float = 1.0) -> Game:
    """The opponent has a second move that it never needs: its first pays us less, whatever we do.

    A move that is never played is never learned. An agent that plays safe against every likely matrix, as Thompson
    sampling does, keeps fearing it, and pays for that in every round.
    """
    words = ("take", "threaten"), ("stand", "give way")
    return Game(np.array([[0.5, -0.5], [1.5, 1.5]]), noise, "idle_threat", words)


def inspection_game(sites: int = 4, noise: float = 1.0) -> Game:
    """We inspect one of several sites a night; an offender dumps waste at one of them, or stays at home.

    Columns are sites that we inspect, rows sites at which waste is dumped (the last row: none). Waste costs us the
    value of the site, 1 to 2. An inspection at the right site catches the offender and pays 1; any other costs 0.2.
    Sites must be inspected at random, the more valuable ones more often.
    """
    k = checks.whole("sites", sites, 2)
    damage = np.linspace(1.0, 2.0, k)
    payoffs = np.vstack([np.repeat(-damage[:, None], k, axis=1) - 0.2, np.full((1, k), -0.2)])
    payoffs[np.arange(k), np.arange(k)] = 1.0
    names = tuple(f"site {i + 1}" for i in range(k))
    return Game(
        payoffs, noise, f"inspection_game({k})", ((*(f"dump at {name}" for name in names), "stay at home"), names)
    )
