"""`play`: an agent in a game against an opponent, once for every seed."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from klearning.games.exp3 import EXP3
from klearning.games.game import Game
from klearning.games.knowing import BestResponse, Equilibrium
from klearning.games.markov import MarkovGame
from klearning.games.markov_match import MarkovMatch, check_markov
from klearning.games.match import Log, Match, Reply, Rounds, is_compiled, opponent_name
from klearning.games.player import Player
from klearning.numerics import checks
from klearning.numerics.announcing import compiling_for
from klearning.numerics.cards import html_card, text_card
from klearning.numerics.frames import data_frame
from klearning.numerics.pictures import axes_or_new
from klearning.numerics.screen import ProgressBar
from klearning.numerics.statistics import FEWEST, Interval, mean_interval
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.trials.regret import cumulative_regret
from klearning.tabular.trials.run import MOST_LINES, seed_list
from klearning.tabular.trials.threads import on_threads

if TYPE_CHECKING:
    from pandas import DataFrame

OPPONENTS: dict[str, Player | None] = {  # by word; None: the agent itself, in the other chair
    "best_response": BestResponse(), "equilibrium": Equilibrium(), "exp3": EXP3(), "self_play": None,
}  # fmt: skip
GRID = 25  # points, evenly apart in logarithms, to which a power is fitted


@dataclass(frozen=True, eq=False, repr=False)
class Matches:
    """All that a batch of seeds produced; arrays are (seeds, rounds). A round of a Markov game is an episode."""

    agent: Player
    game: Game | MarkovGame
    opponent: Player | Reply
    prior: Gaussian | Prior
    seeds: tuple[int, ...]
    values: Floats  # exact payoff of the two mixtures of every round
    payoffs: Floats  # what was paid, moves drawn and with noise
    policies: Floats  # (seeds, rounds, columns), our mixtures; (seeds, 0, columns) where they were not kept
    opponents: Floats  # (seeds, rounds, rows), the opponent's; in Markov games with an axis of states before the last
    seconds: float  # nan where they were read from a store, which keeps no clock

    @property
    def episodes(self) -> int:
        """The number of rounds."""
        return int(self.values.shape[1])

    @property
    def regret(self) -> Floats:
        """Exact cumulative regret: the game's value, less the payoff of our mixture against the opponent's."""
        return cumulative_regret(self.game.value, self.values)

    @property
    def returns(self) -> Floats:
        """What was paid, by the name that `Runs` have for it."""
        return self.payoffs

    def powers(self, first: int | None = None) -> Floats:
        """Per seed the slope of log regret against log rounds, by least squares: 1 is linear, ½ a square root.

        From round ``first``, by default the tenth part of all. Nan where the regret is not above zero throughout.
        """
        rounds = self.values.shape[1]
        begin = max(1, rounds // 10) if first is None else checks.whole("first", first)
        if begin >= rounds:
            raise ValueError(f"first={begin} leaves no round of {rounds} to fit: give a smaller number, or play more")
        grid = np.unique(np.geomspace(begin, rounds, GRID).round().astype(int))
        regret = self.regret[:, grid - 1]
        logs = np.log(np.where(regret > 0.0, regret, np.nan))
        t = np.log(grid) - np.log(grid).mean()
        slopes: Floats = logs @ t / (t @ t)
        return slopes

    def summary(self) -> str:
        """How it went, in a few lines: means over the seeds, with 95% intervals."""
        return text_card(self._title(), self._facts())

    def frame(self) -> "DataFrame":
        """A pandas data frame, one row per seed and round.

        Columns are seed, round (from 1), value (exact, of the two mixtures), regret (cumulative, exact) and payoff
        (what was paid).
        """
        seeds, rounds = self.values.shape
        columns: dict[str, Any] = {
            "seed": np.repeat(self.seeds, rounds),
            "round": np.tile(np.arange(1, rounds + 1), seeds),
            **{name: series.ravel() for name, series in self._series().items()},
        }
        return data_frame(columns)

    def plot(self, ax: Any = None, what: str = "regret", label: str | None = None) -> Any:
        """A thin line per seed and their mean, by round; returns Matplotlib's axes.

        ``what`` is "regret", "value" or "payoff". Draw several on the same ``ax`` to compare them.
        """
        checks.choice("what", what, self._series())
        axes, lines = axes_or_new(ax), self._series()[what]
        rounds = np.arange(1, lines.shape[1] + 1)
        name = label if label is not None else type(self.agent).__name__
        (mean,) = axes.plot(rounds, lines.mean(axis=0), linewidth=2, label=f"{name}, mean of {len(lines)}")
        for line in lines[:MOST_LINES] if len(lines) > 1 else ():
            axes.plot(rounds, line, color=mean.get_color(), linewidth=0.6, alpha=0.35)
        title = f"{self.game.name}, against {opponent_name(self.opponent)}"
        axes.set(xlabel="round", ylabel="cumulative regret" if what == "regret" else what, title=title)
        axes.legend(frameon=False)
        return axes

    def _series(self) -> dict[str, Floats]:
        return {"value": self.values, "regret": self.regret, "payoff": self.payoffs}

    def _title(self) -> str:
        seeds, rounds = self.values.shape
        sides = f"{self.agent!r} in {self.game.name} against {opponent_name(self.opponent)}"
        length = f"{seeds} seeds × {rounds:,} rounds"
        return f"{sides}: {length}" + (f", {self.seconds:.3g} s" if np.isfinite(self.seconds) else "")

    def _facts(self) -> dict[str, str]:
        rounds, recent = self.values.shape[1], max(1, self.values.shape[1] // 10)
        facts = {
            "prior": repr(self.prior),
            "value of the game": f"{self.game.value:.4g}",
            f"regret after {rounds:,}": _told(mean_interval(self.regret[:, -1])),
            f"value, last {recent:,} rounds": _told(mean_interval(self.values[:, -recent:].mean(axis=1))),
        }
        if rounds > 1 and np.isfinite(powers := self.powers()).all():
            facts["regret grows as rounds to the power"] = _told(mean_interval(powers))
        if len(self.seeds) < FEWEST:
            facts["intervals"] = f"none below {FEWEST} seeds"
        return facts

    def __repr__(self) -> str:
        return f"Matches({self._title()})"

    def _repr_html_(self) -> str:
        return html_card(self._title(), self._facts())


def _told(x: Interval) -> str:
    """An estimate with its interval, where it has one."""
    return f"{x.estimate:.4g}" + ("" if np.isnan(x.low) else f" [{x.low:.4g}, {x.high:.4g}]")


def play(
    agent: Player,
    game: Game | MarkovGame,
    opponent: str | Player | Reply = "best_response",
    rounds: int = 1000,
    seeds: int | Sequence[int] = 5,
    *,
    prior: Gaussian | Prior | None = None,
    threads: int | None = None,
    keep_mixtures: bool = False,
    progress: Callable[[int], None] | bool | None = None,
) -> Matches:
    """Let an agent play a game it does not know, once for every seed, in parallel.

    ``opponent`` is "best_response" (to our mixture of the round), "equilibrium", "exp3", "self_play" (the same agent in
    the other chair), an agent, or a function of our mixture, the round (from 1) and a random stream that returns a row
    or a mixture of rows. ``prior`` is of every payoff, by default N(0, 1) with the game's noise. ``seeds`` is how many
    or which; results depend on nothing else. ``keep_mixtures`` keeps both mixtures of every round.

    In a Markov game a round is an episode, a mixture one of every state, (states, moves), and the best response one to
    our whole policy. Its ``prior`` is a `klearning.Prior`, by default N(0, 1) and a Dirichlet of mass 1.
    """
    them = as_opponent(opponent, agent)
    belief, new_match = matchmaker(agent, game, them, prior)
    count, numbers = checks.whole("rounds", rounds), seed_list(seeds)
    workers = checks.whole("threads", threads) if threads is not None else None
    if is_compiled(agent) and is_compiled(them):
        with compiling_for(f"a game of {type(agent).__name__}"):
            new_match(numbers[0], 1, False).advance(1)  # compiles, once, before the clock
    began = time.perf_counter()

    def one(seed: int, should_stop: Callable[[], bool]) -> Log:
        match = new_match(seed, count, keep_mixtures)
        for done in match.chunks():
            if tell is not None:
                tell(done)
            if should_stop():
                break
        return match.log

    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar("rounds", len(numbers) * count)) if progress is True else None
        tell = progress if callable(progress) else bar
        log_of = dict(on_threads(one, numbers, workers))
    logs = [log_of[seed] for seed in numbers]
    values, payoffs, policies, opponents = (np.stack(parts) for parts in zip(*logs, strict=True))
    seconds = time.perf_counter() - began
    return Matches(agent, game, them, belief, numbers, values, payoffs, policies, opponents, seconds)


def matchmaker(
    agent: Player, game: Game | MarkovGame, opponent: Player | Reply, prior: Any = None
) -> tuple[Gaussian | Prior, Callable[[int, int, bool], Rounds]]:
    """The belief that sides begin with, and what makes a match of a seed, rounds, and whether to keep mixtures."""
    check_agent(agent)
    for chair, player in (("agent", agent), ("opponent", opponent)):
        if isinstance(player, Player) and not is_compiled(player) and type(player).mixture is Player.mixture:
            raise ValueError(f"{chair}={player!r} has no method 'mixture': it says what is played in a round")
    if not isinstance(game, Game | MarkovGame):
        raise ValueError(f"game={game!r} is no game: give games.Game(payoffs), or games.rock_paper_scissors()")
    if isinstance(game, MarkovGame):
        beliefs = check_markov(agent, opponent, prior, game.noise)
        return beliefs, partial(MarkovMatch, agent, game, opponent, beliefs)
    belief = prior if prior is not None else Gaussian(0.0, 1.0, game.noise)
    if not isinstance(belief, Gaussian):
        raise ValueError(f"prior={prior!r} is no Gaussian: give klearning.Gaussian(mean, sd, noise)")
    return belief, partial(Match, agent, game, opponent, belief)


def check_agent(agent: Any) -> None:
    """ValueError where this plays no games in our chair."""
    if isinstance(agent, BestResponse):
        raise ValueError("agent=BestResponse() sees the other's mixture: it plays the opponent's chair only")
    if isinstance(agent, type) and issubclass(agent, Player):
        raise ValueError(f"agent={agent.__name__} is a class: call it, games.{agent.__name__}()")
    if not isinstance(agent, Player):
        raise ValueError(
            f"agent={agent!r} plays no matrix games: give games.KLearning(), UCB(), Thompson(), EXP3() or "
            "Equilibrium(), or a games.Player of your own"
        )


def as_opponent(opponent: Any, agent: Player) -> Player | Reply:
    """Who is meant by a word, a player or a function."""
    if isinstance(opponent, str):
        return OPPONENTS[checks.choice("opponent", opponent, OPPONENTS)] or agent
    if isinstance(opponent, type) and issubclass(opponent, Player):
        raise ValueError(f"opponent={opponent.__name__} is a class: call it, games.{opponent.__name__}()")
    if isinstance(opponent, Player) or callable(opponent):
        return opponent
    raise ValueError(
        f"opponent={opponent!r} is none: give one of {', '.join(map(repr, OPPONENTS))}, an agent or a function"
    )
