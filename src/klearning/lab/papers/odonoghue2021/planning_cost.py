"""New: what planning costs as DeepSea grows, in backups of a state and action an episode: exact, not timed."""

from dataclasses import dataclass

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, K_SCHEDULE, TEXT
from klearning.numerics.display.canvas import COLOURS, new_figure, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.types import Floats

DEPTHS = (10, 20, 50, 100, 200)
EPISODES = 300
LABELS = (K_OPTIMAL, K_SCHEDULE)


@dataclass(frozen=True, eq=False)
class PlanningCost(Figure[dict[str, Floats]]):
    """Reads mean sweeps an episode by label, a depth a column."""

    name: str = "planning_cost"

    def runs(self) -> dict[tuple[str, int], Spec]:
        """By label and depth."""
        return {
            (label, depth): make_spec(
                TEXT.world_data(depth), TEXT.contestants()[label], TEXT.prior, episodes=EPISODES, protocol="text",
                evaluate_every=EPISODES,
            )
            for label in LABELS
            for depth in DEPTHS
        }  # fmt: skip

    def read(self, store: Store) -> dict[str, Floats]:
        sweeps = {key: runs.diagnostics["sweeps"].mean() for key, runs in self.results(store).items()}
        return {label: np.array([sweeps[label, depth] for depth in DEPTHS]) for label in LABELS}

    @styled
    def draw(self, results: dict[str, Floats], command: str) -> Picture:
        figure, axes = new_figure(width=6.0, height=3.8)
        L = np.array(DEPTHS, dtype=float)
        pairs = L * (L + 1.0)  # states times two actions
        for i, (label, counts) in enumerate(results.items()):
            axes.plot(
                L, counts * pairs, "o-", color=COLOURS[i], label=f"{label} ({counts[-1]:.1f} sweeps at L = {L[-1]:.0f})"
            )
        axes.plot(L, pairs, "--", color="grey", label="one sweep: $L(L+1)$")
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="depth $L$",
            ylabel="backups an episode",
            title="Planning cost on DeepSea",
        )
        axes.legend(frameon=False, fontsize=7)
        figure.supxlabel(f"protocol `text`, mean over {EPISODES} episodes of seed 0; {command}", fontsize=6)
        return figure


FIGURES = (PlanningCost(),)
