"""New: DeepSea watched while agents learn it. Regret of ten seeds, and for the first of them snapshots to animate."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue2021.protocols import GREEDY, K_OPTIMAL, K_SCHEDULE, SOFT, TEXT, THOMPSON
from klearning.numerics.display.canvas import new_figure, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.types import Floats

DEPTH, EPISODES, SEEDS = 20, 1000, 10
LABELS = (K_OPTIMAL, K_SCHEDULE, THOMPSON, "RLSVI", GREEDY, SOFT)
# close together where much happens: the paper's agents find the treasure of depth 20 within the first few hundred
TIMES = (*range(1, 11), *range(12, 31, 2), *range(35, 101, 5), *range(110, 301, 10), *range(350, 1001, 50))
WATCHED: dict[int, dict[str, Any]] = {  # by the first seed
    0: {"seeds": [0], "snapshots": TIMES},
    1: {"seeds": range(1, SEEDS)},
}


@dataclass(frozen=True, eq=False)
class Watching(Figure[dict[str, Floats]]):
    """Reads cumulative regret, (seeds, episodes), by label."""

    name: str = "watching"

    def runs(self) -> dict[tuple[str, int], Spec]:
        """By label and first seed: the first one with snapshots, then all others."""
        agents = TEXT.contestants()
        return {
            (label, seed): make_spec(
                TEXT.world_data(DEPTH), agents[label], TEXT.prior, episodes=EPISODES, protocol="text", **more,
            )
            for label in LABELS
            for seed, more in WATCHED.items()
        }  # fmt: skip

    def read(self, store: Store) -> dict[str, Floats]:
        found = self.results(store)
        return {label: np.concatenate([found[label, first].regret for first in WATCHED]) for label in LABELS}

    @styled
    def draw(self, results: dict[str, Floats], command: str) -> Picture:
        figure, axes = new_figure(width=6.4, height=3.8)
        t = np.arange(1, EPISODES + 1)
        for i, (label, paths) in enumerate(results.items()):
            line = series(i)
            axes.plot(t, paths.mean(axis=0), label=label, linewidth=1.6, markersize=4, markevery=0.15, **line)
            for path in paths:
                axes.plot(t, path, color=line["color"], linewidth=0.4, alpha=0.4)
        axes.set(xlabel="episode", ylabel="cumulative regret", xlim=(1, EPISODES), title=f"Regret on DeepSea({DEPTH})")
        axes.legend(frameon=False, fontsize=7)
        figure.supxlabel(f"protocol `text` ({TEXT.note})\nmean of {SEEDS} seeds, each thin; {command}", fontsize=6)
        return figure


FIGURES = (Watching(),)
