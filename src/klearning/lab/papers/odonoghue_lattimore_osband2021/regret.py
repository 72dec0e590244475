"""Regret against rounds in three games, against four opponents.

All seeds of an agent in a game against an opponent are played at once and kept as one file. In `random games` seed k
also draws game k, 5 × 5, from the prior that agents begin with.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from klearning.games.exp3 import EXP3
from klearning.games.game import Game, idle_threat, random_game, rock_paper_scissors
from klearning.games.k_learning import KLearning
from klearning.games.matches import OPPONENTS, play
from klearning.games.player import Player
from klearning.games.thompson import Thompson
from klearning.games.ucb import UCB
from klearning.lab.experiments.batch import arrays_of, geometric_points
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.figures.canvas import new_grid, series, styled
from klearning.lab.papers.claims import Claim, Verdict, table
from klearning.lab.papers.figure import Figure, Plot, mean_curve
from klearning.numerics.statistics import Interval, mean_interval
from klearning.numerics.types import Arrays, Floats

VERSION = 1
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
GAMES: dict[str, Callable[[int], Game]] = {  # by seed
    ROCK: lambda seed: rock_paper_scissors(),
    THREAT: lambda seed: idle_threat(),
    RANDOM: lambda seed: random_game(5, 5, seed=seed),
}
SUBLINEAR, LINEAR = 0.75, 0.9  # powers of the rounds: below the one, above the other


@dataclass(frozen=True, eq=False)
class Contest:
    """All seeds of an agent in a game against an opponent, by their names, and after which rounds regret is kept."""

    game: str
    opponent: str
    agent: str
    seeds: int
    points: tuple[int, ...]

    @property
    def canonical(self) -> str:
        data = {**asdict(self), "settings": asdict(PLAYERS[self.agent]), "kind": "contest", "version": VERSION}
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @property
    def name(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def play(self) -> Arrays:
        """Regret at the points, and per seed the power of the rounds by which it grows."""
        game, agent, rounds = GAMES[self.game], PLAYERS[self.agent], self.points[-1]
        if game(0).name == game(1).name:
            matches = [play(agent, game(0), self.opponent, rounds, self.seeds)]
        else:
            matches = [play(agent, game(seed), self.opponent, rounds, [seed]) for seed in range(self.seeds)]
        at = np.array(self.points) - 1
        regret = np.concatenate([match.regret[:, at] for match in matches])
        return {"regret": regret, "power": np.concatenate([match.powers() for match in matches])}


class Growth(NamedTuple):
    """What was kept of a contest."""

    points: Floats
    regret: Floats  # (seeds, points)
    power: Floats  # (seeds,), nan where regret is not above zero throughout


Results = dict[tuple[str, str, str], Growth]  # by game, opponent and agent


@dataclass(frozen=True, eq=False)
class Regret(Figure[Results]):
    """How many seeds, and how many rounds of each."""

    name: str = "regret"
    seeds: int = 30
    rounds: int = 2000

    def small(self) -> Self:
        return replace(self, seeds=20, rounds=500)

    def wholes(self) -> dict[tuple[str, str, str], Contest]:
        points = geometric_points(self.rounds, 20)
        return {
            (game, opponent, agent): Contest(game, opponent, agent, self.seeds, points)
            for game in GAMES
            for opponent in OPPONENTS
            for agent in PLAYERS
        }

    def read(self, store: Store) -> Results:
        arrays = {key: (contest, arrays_of(store, contest)) for key, contest in self.wholes().items()}
        return {key: Growth(np.array(c.points, float), x["regret"], x["power"]) for key, (c, x) in arrays.items()}

    def draw(self, results: Results, command: str) -> Any:
        return draw(results, command)

    def claims(self, results: Results) -> list[Claim]:
        return claims(results)

    def table(self, results: Results) -> str:
        return regret_table(results)

    def plots(self, results: Results) -> list[Plot]:
        return [plot(results, game, opponent) for game in GAMES for opponent in OPPONENTS]

    def verdict(self, summary: StoreSummary) -> Verdict | None:
        if (largest := self.read_largest(summary.store)) is None:
            return None
        figure, results = largest
        return Verdict("Matrix games", f"{figure.seeds} seeds, {figure.rounds:,} rounds", claims(results))


FIGURES = (Regret(),)


def plot(results: Results, game: str, opponent: str) -> Plot:
    growths = {agent: results[game, opponent, agent] for agent in PLAYERS}
    curves = [mean_curve(who, type(PLAYERS[who]).__name__, g.points, g.regret) for who, g in growths.items()]
    seeds = len(growths[K_LEARNING].regret)
    caption = f"Exact regret, mean over {seeds} seeds; bands: 95%. Below zero: paid more than the game is worth."
    return Plot(f"Games: {game}, {WORDS[opponent]}", "round", "mean cumulative regret", curves, caption)


@styled
def draw(results: Results, command: str) -> Any:
    figure, grid = new_grid(len(GAMES), len(OPPONENTS), width=11.0, height=7.2)
    for row, game in zip(grid, GAMES):
        for axes, opponent in zip(row, OPPONENTS):
            for i, agent in enumerate(PLAYERS):
                t, regret, _ = results[game, opponent, agent]
                mean, error = regret.mean(axis=0), regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
                style = series(i)
                axes.plot(t, mean, label=agent, linewidth=1.3, markersize=3.5, markevery=(2 * i, 8), **style)
                axes.fill_between(t, mean - 1.96 * error, mean + 1.96 * error, color=style["color"], alpha=0.15, lw=0)
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


def claims(results: Results) -> list[Claim]:
    return [
        sub_linear(results),
        thompson_is_linear(results),
        thompson_can_be_linear(results),
        adversarial_is_worse(results),
    ]


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


def regret_table(results: Results) -> str:
    """Regret after the last round with intervals; the power where it is above zero throughout."""
    rows = []
    for (game, opponent, agent), growth in results.items():
        x, power = mean_interval(growth.regret[:, -1]), mean_interval(growth.power)
        grows = "–" if np.isnan(power.low) else f"{power.estimate:.2f} [{power.low:.2f}, {power.high:.2f}]"
        rows.append((game, WORDS[opponent], agent, f"{x.estimate:z.0f} [{x.low:z.0f}, {x.high:z.0f}]", grows))
    rounds = int(next(iter(results.values())).points[-1])
    return table(("game", "", "agent", f"regret after {rounds:,} rounds", "power of the rounds"), rows)


def _power(results: Results, game: str, agent: str) -> Interval:
    return mean_interval(results[game, WORST, agent].power)


def _judged(powers: Mapping[str, Interval], within: Callable[[Interval], bool]) -> bool | None:
    """Whether all are; unknown where one has no interval."""
    return None if any(np.isnan(x.low) for x in powers.values()) else all(within(x) for x in powers.values())


def _numbers(powers: Mapping[str, Interval]) -> str:
    return "; ".join(f"{name} {x.estimate:.2f} [{x.low:.2f}, {x.high:.2f}]" for name, x in powers.items())
