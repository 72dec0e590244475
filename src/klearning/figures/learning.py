"""What a batch of runs learned: cumulative regret of every seed, and their mean."""

from typing import Any

import numpy as np

from klearning.figures.canvas import COLOURS, new_figure, styled
from klearning.trials.run import Runs


@styled
def draw(runs: Runs) -> Any:
    """Cumulative regret against episodes; a tick on the axis where a seed first reached the goal."""
    figure, axes = new_figure()
    episodes = np.arange(1, runs.values.shape[1] + 1)
    for regret in runs.regret:
        axes.plot(episodes, regret, color=COLOURS[0], linewidth=0.7, alpha=0.4)
    axes.plot(episodes, runs.regret.mean(axis=0), color=COLOURS[0], linewidth=2, label=f"mean of {len(runs.seeds)}")
    found = runs.first_hit[np.isfinite(runs.first_hit)]
    if found.size:
        axes.plot(found, np.zeros_like(found), "|", color=COLOURS[1], markersize=12, label="first hit of a seed")
    axes.set(xlabel="episode", ylabel="cumulative regret", title=runs.world.name)
    axes.set_xlim(1, max(2, episodes[-1]))
    axes.legend(frameon=False)
    figure.supxlabel(f"{runs.agent}\n{runs.prior}", fontsize=6)
    return figure
