"""What a batch of runs learned: cumulative regret of every seed, and their mean."""

from typing import Any

from klearning.figures.canvas import COLOURS, new_figure, styled
from klearning.trials.run import Runs


@styled
def draw(runs: Runs) -> Any:
    """Cumulative regret against episodes; a tick on the axis where a seed first reached the goal."""
    figure, axes = new_figure()
    axes.set_prop_cycle(color=COLOURS)
    runs.plot(axes)
    axes.set_xlim(1, max(2, runs.values.shape[1]))
    figure.supxlabel(f"{runs.agent}\n{runs.prior}", fontsize=6)
    return figure
