"""Regret against rounds in three games, against four opponents.

In `random games` seed k also draws game k, 5 × 5, from the prior that agents begin with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from klearning.games.exp3 import EXP3
from klearning.games.k_learning import KLearning
from klearning.games.matches import OPPONENTS
from klearning.games.player import Player
from klearning.games.thompson import Thompson
from klearning.games.ucb import UCB
from klearning.lab.experiments.spec import Spec, match_spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import Claim, interval_text, table
from klearning.lab.papers.figure import Figure, Plot, mean_curve
from klearning.numerics.display.canvas import draw_mean, new_grid, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import Interval, mean_interval
from klearning.numerics.types import Floats
from klearning.tabular.trials.runs import geometric_points, power_points

K_LEARNING, OPTIMISTIC, THOMPSON, ADVERSARIAL = "K-learning", "UCB", "Thompson sampling", "EXP3"
PLAYERS: dict[str, Player] = {
    K_LEARNING: KLearning(), OPTIMISTIC: UCB(), THOMPSON: Thompson(), ADVERSARIAL: EXP3(),
}  # fmt: skip
WORST = "best_response"
WORDS = {
    WORST: "against a best response",
    "equilibrium": "against the equilibrium",
    "exp3": "against EXP3",
    "self_play": "in self-play",
}
ROCK, THREAT, RANDOM = "rock-paper-scissors", "idle threat", "random games"
GAMES: dict[str, dict[str, Any]] = {
    ROCK: {"name": "rock_paper_scissors"},
    THREAT: {"name": "idle_threat"},
    RANDOM: {"name": "random_game", "rows": 5, "columns": 5},
}
A_DECADE = 20  # rounds that are drawn
SUBLINEAR, LINEAR = 0.75, 0.9  # powers of the rounds: below the one, above the other


class Growth(NamedTuple):
    """Results of an agent in a game against an opponent."""

    points: Floats
    regret: Floats  # (seeds, points)
    power: Floats  # (seeds,), nan if regret is not above zero throughout


Results = dict[tuple[str, str, str], Growth]  # by game, opponent and agent


@dataclass(frozen=True, eq=False)
class Regret(Figure[Results]):
    """How many seeds, and how many rounds of each."""

    name: str = "regret"
    seeds: int = 30
    rounds: int = 2000
    title: ClassVar[str] = "Matrix games"

    def small(self) -> Self:
        return replace(self, seeds=20, rounds=500)

    def runs(self) -> dict[tuple[str, str, str], Spec]:
        """Regret is kept where it is drawn, and where a power of the rounds is fitted to it."""
        kept = sorted({*geometric_points(self.rounds, A_DECADE), *power_points(self.rounds).tolist()})
        return {
            (name, opponent, who): match_spec(
                game, player, opponent=opponent, episodes=self.rounds, seeds=self.seeds, keep=kept
            )
            for name, game in GAMES.items()
            for opponent in OPPONENTS
            for who, player in PLAYERS.items()
        }

    def read(self, store: Store) -> Results:
        points = np.array(geometric_points(self.rounds, A_DECADE))
        return {
            key: Growth(points.astype(float), runs.at(points).regret, runs.powers())
            for key, runs in self.results(store).items()
        }

    @styled
    def draw(self, results: Results, command: str) -> Picture:
        figure, grid = new_grid(len(GAMES), len(OPPONENTS), width=11.0, height=7.2)
        for row, game in zip(grid, GAMES):
            for axes, opponent in zip(row, OPPONENTS):
                for i, agent in enumerate(PLAYERS):
                    t, regret, _ = results[game, opponent, agent]
                    draw_mean(axes, t, regret, series(i), label=agent, markevery=(2 * i, 8))
                axes.axhline(0.0, color="black", linewidth=0.5)
                low, high = axes.get_ylim()
                axes.set(xlim=(0, t[-1]), ylim=(min(low, -1.0), max(high, 1.0)))  # rounding is not shown as regret
            row[0].set_ylabel(f"{game}\nmean cumulative regret")
        for axes, opponent in zip(grid[0], OPPONENTS):
            axes.set_title(WORDS[opponent])
        for axes in grid[-1]:
            axes.set_xlabel("round")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", frameon=False, fontsize=8, ncols=len(labels))
        seeds = len(next(iter(results.values())).regret)
        figure.supxlabel(f"{seeds} seeds, unit noise, prior N(0, 1) of every payoff; bands: 95%; {command}", fontsize=6)
        return figure

    def claims(self, results: Results) -> list[Claim]:
        return [
            sub_linear(results),
            thompson_is_linear(results),
            thompson_can_be_linear(results),
            adversarial_is_worse(results),
        ]

    def table(self, results: Results) -> str:
        """Regret after the last round with intervals; the power where it is above zero throughout."""
        rows = []
        for (game, opponent, agent), growth in results.items():
            x, power = mean_interval(growth.regret[:, -1]), mean_interval(growth.power)
            grows = "–" if np.isnan(power.low) else interval_text(power, ".2f")
            rows.append((game, WORDS[opponent], agent, interval_text(x, "z.0f"), grows))
        rounds = int(next(iter(results.values())).points[-1])
        return table(("game", "", "agent", f"regret after {rounds:,} rounds", "power of the rounds"), rows)

    def plots(self, results: Results) -> list[Plot]:
        return [plot(results, game, opponent) for game in GAMES for opponent in OPPONENTS]

    @property
    def size(self) -> str:
        return f"{self.seeds} seeds, {self.rounds:,} rounds"


FIGURES = (Regret(),)


def plot(results: Results, game: str, opponent: str) -> Plot:
    growths = {agent: results[game, opponent, agent] for agent in PLAYERS}
    curves = [mean_curve(who, type(PLAYERS[who]).__name__, g.points, g.regret) for who, g in growths.items()]
    seeds = len(growths[K_LEARNING].regret)
    caption = f"Exact regret, mean over {seeds} seeds; bands: 95%. Below zero: paid more than the game is worth."
    return Plot(f"Games: {game}, {WORDS[opponent]}", "round", "mean cumulative regret", curves, caption)


def sub_linear(results: Results) -> Claim:
    """The whole interval of the mean power is below three quarters, in every game, of both agents."""
    powers = {f"{agent}, {game}": _power(results, game, agent) for agent in (K_LEARNING, OPTIMISTIC) for game in GAMES}
    sentence = f"K-learning's and UCB's regret is sub-linear against a best response: a power below {SUBLINEAR}"
    return Claim("abstract", sentence, _judged(powers, lambda x: x.high < SUBLINEAR), _numbers(powers))


def thompson_is_linear(results: Results) -> Claim:
    """The whole interval is above nine tenths, in every game."""
    powers = {game: _power(results, game, THOMPSON) for game in GAMES}
    sentence = f"Thompson sampling's regret is linear against a best response: a power above {LINEAR} in every game"
    return Claim("abstract", sentence, _judged(powers, lambda x: x.low > LINEAR), _numbers(powers))


def thompson_can_be_linear(results: Results) -> Claim:
    thompson, ours = _power(results, THREAT, THOMPSON), _power(results, THREAT, K_LEARNING)
    powers = {f"{THOMPSON}, {THREAT}": thompson, f"{K_LEARNING}, {THREAT}": ours}
    sentence = "there is a game in which Thompson sampling's regret is linear and K-learning's is not"
    holds = _judged(powers, lambda x: thompson.low > LINEAR and ours.high < SUBLINEAR)
    return Claim("ours", sentence, holds, _numbers(powers))


def adversarial_is_worse(results: Results) -> Claim:
    """On average in the end, against a best response, in the paper's own games."""
    last = {
        (game, agent): float(results[game, WORST, agent].regret[:, -1].mean())
        for game in (ROCK, RANDOM)
        for agent in (K_LEARNING, OPTIMISTIC, ADVERSARIAL)
    }
    holds = all(x < last[game, ADVERSARIAL] for (game, agent), x in last.items() if agent != ADVERSARIAL)
    numbers = "; ".join(f"{agent}, {game} {x:.0f}" for (game, agent), x in last.items())
    sentence = "EXP3, which does not use the matrix, performs poorly relative to K-learning and UCB"
    return Claim("abstract", sentence, holds, numbers)


def _power(results: Results, game: str, agent: str) -> Interval:
    return mean_interval(results[game, WORST, agent].power)


def _judged(powers: Mapping[str, Interval], within: Callable[[Interval], bool]) -> bool | None:
    """Whether all are; unknown if one has no interval."""
    return None if any(np.isnan(x.low) for x in powers.values()) else all(within(x) for x in powers.values())


def _numbers(powers: Mapping[str, Interval]) -> str:
    return "; ".join(f"{name} {interval_text(x, '.2f')}" for name, x in powers.items())
