"""What a batch of runs learned: cumulative regret of every seed, and their mean."""

from typing import Any

from klearning.figures.canvas import COLOURS, new_figure, styled
from klearning.games.matches import Matches
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


@styled
def draw_matches(matches: Matches) -> Any:
    """Cumulative regret against rounds."""
    figure, axes = new_figure()
    axes.set_prop_cycle(color=COLOURS)
    matches.plot(axes)
    axes.set_xlim(1, max(2, matches.values.shape[1]))
    figure.supxlabel(f"{matches.agent} against {matches.opponent}\n{matches.prior}", fontsize=6)
    return figure
