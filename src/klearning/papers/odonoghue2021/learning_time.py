"""Time to solve DeepSea against its depth, for K-learning with the optimal temperature (in Figure 2)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from klearning.figures.canvas import COLOURS, new_figure, styled
from klearning.papers.odonoghue2021.protocols import Protocol
from klearning.simulate import Runs, run

DEPTHS = (10, 20, 30, 40, 50)
EPISODES = 2000
SEEDS = 5


def measure(
    protocol: Protocol, depths: Sequence[int], seeds: int, progress: Callable[[int], None] | None = None
) -> dict[int, Runs]:
    """The runs behind the figure, by depth."""
    return {
        depth: run(
            protocol.k_learning(), protocol.world(depth), prior=protocol.prior,
            episodes=EPISODES, seeds=seeds, progress=progress,
        )
        for depth in depths
    }  # fmt: skip


@styled
def draw(results: Mapping[int, Runs], protocol: Protocol, command: str) -> Any:
    """First hit and time to solve of every seed and their mean; dashed, the 2^(L-1) of dithering."""
    figure, axes = new_figure(width=6.4, height=4.0)
    depths = np.array(list(results))
    for label, colour, times in (
        ("solved: 10% of episodes reached the goal", COLOURS[0], [runs.solved for runs in results.values()]),
        ("first hit", COLOURS[1], [runs.first_hit for runs in results.values()]),
    ):
        for depth, episodes in zip(depths, times, strict=True):
            axes.plot(np.full(len(episodes), depth), episodes, ".", color=colour, alpha=0.5, markersize=5)
        # a mean over the solved seeds alone would flatter: it is drawn only where every seed solved
        axes.plot(depths, [episodes.mean() for episodes in times], "-o", color=colour, label=label)
    axes.plot(depths, 2.0 ** (depths - 1), "--", color="grey", label="$2^{L-1}$")
    axes.set(yscale="log", ylim=(5, 2 * EPISODES), xlabel="depth $L$", ylabel="episodes", xticks=depths)
    axes.set_title("K-learning, optimal temperature, on DeepSea")
    axes.legend(frameon=False, loc="lower right")
    seeds = len(next(iter(results.values())).seeds)
    figure.supxlabel(f"protocol `{protocol.name}` ({protocol.note}); {seeds} seeds\n{command}", fontsize=6.5)
    return figure
