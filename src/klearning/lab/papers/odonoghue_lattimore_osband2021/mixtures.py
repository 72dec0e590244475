"""Rock-paper-scissors watched while agents learn it against a best response: regret of ten seeds, and for the first of
them the mixtures of many rounds, to animate."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from klearning.games.game import rock_paper_scissors
from klearning.lab.experiments.spec import Spec, match_spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue_lattimore_osband2021.regret import PLAYERS, WORST
from klearning.numerics.display.canvas import new_grid, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.types import Floats

ROUNDS, SEEDS = 1000, 10
# close together where much happens: most is learned in the first hundred rounds
TIMES = (*range(1, 31), *range(32, 101, 2), *range(105, 301, 5), *range(320, 1001, 20))
WATCHED: dict[int, dict[str, Any]] = {  # by the first seed
    0: {"seeds": [0], "snapshots": TIMES},
    1: {"seeds": range(1, SEEDS)},
}
CORNERS = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
FINENESS = 60  # of the shading


class Paths(NamedTuple):
    """Our mixtures, (times, moves), of one seed, and regret after the last round of all."""

    mixtures: Floats
    regret: Floats


@dataclass(frozen=True, eq=False)
class Mixtures(Figure[dict[str, Paths]]):
    """Reads paths by agent."""

    name: str = "mixtures"

    def runs(self) -> dict[tuple[str, int], Spec]:
        """By agent and first seed: the first one with snapshots, then all others."""
        game = {"name": "rock_paper_scissors"}
        return {
            (who, seed): match_spec(game, player, opponent=WORST, episodes=ROUNDS, **more)
            for who, player in PLAYERS.items()
            for seed, more in WATCHED.items()
        }

    def read(self, store: Store) -> dict[str, Paths]:
        found = self.results(store)
        last = {who: np.concatenate([found[who, first].regret[:, -1] for first in WATCHED]) for who in PLAYERS}
        return {who: Paths(found[who, 0].snapshots["policy"][0], last[who]) for who in PLAYERS}

    def draw(self, results: dict[str, Paths], command: str) -> Picture:
        return draw(results, command)


FIGURES = (Mixtures(),)


@styled
def draw(results: dict[str, Paths], command: str) -> Picture:
    """A triangle per agent: the more could be taken from a mixture, the darker; a dot for every round that was kept."""
    game = rock_paper_scissors()
    grid = np.array([(i, j, FINENESS - i - j) for i in range(FINENESS + 1) for j in range(FINENESS + 1 - i)]) / FINENESS
    loss = game.value - (grid @ game.payoffs.T).min(axis=1)
    figure, row = new_grid(1, len(results), width=11.0, height=3.3)
    for i, (axes, (who, paths)) in enumerate(zip(row[0], results.items())):
        axes.tricontourf(*(grid @ CORNERS).T, loss, levels=12, cmap="Blues")
        points = paths.mixtures @ CORNERS
        colour = series(i)["color"]
        axes.plot(*points.T, color="black", linewidth=0.4, alpha=0.5)
        axes.scatter(*points.T, s=9, color=colour, edgecolors="white", linewidths=0.3, zorder=3)
        for (x, y), move, below in zip(CORNERS, game.moves[1], (False, True, True)):
            axes.annotate(move, (x, y), (0, -11 if below else 4), textcoords="offset points", ha="center", fontsize=7)
        axes.set_title(f"{who}\nmean regret {paths.regret.mean():.0f}", fontsize=9, pad=12)
        axes.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.1, 0.95))
        axes.axis("off")
    words = (
        f"our mixtures in {len(TIMES)} of {ROUNDS:,} rounds of rock-paper-scissors against a best response, seed 0; "
    )
    figure.supxlabel(f"{words}regret: mean of {SEEDS} seeds; {command}", fontsize=6)
    return figure
