"""What a batch of runs learned: cumulative regret of every seed, and their mean."""

from typing import Any, Protocol

from klearning.figures.canvas import COLOURS, new_figure, styled


class Learnt(Protocol):
    """Runs, or a digest of very many."""

    @property
    def agent(self) -> Any: ...
    @property
    def prior(self) -> Any: ...
    @property
    def episodes(self) -> int: ...
    def plot(self, ax: Any = None) -> Any: ...


@styled
def draw(runs: Learnt) -> Any:
    """Cumulative regret against episodes; a tick on the axis where a seed first reached the goal."""
    figure, axes = new_figure()
    axes.set_prop_cycle(color=COLOURS)
    runs.plot(axes)
    axes.set_xlim(1, max(2, runs.episodes))
    figure.supxlabel(f"{runs.agent}\n{runs.prior}", fontsize=6)
    return figure
