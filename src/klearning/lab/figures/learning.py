"""What a batch of runs learned: cumulative regret of every seed, and their mean."""

from typing import Any, Protocol

from klearning.games.matches import Matches
from klearning.lab.figures.canvas import COLOURS, new_figure, styled


class Learnt(Protocol):
    """Runs, matches, or a digest of very many."""

    @property
    def agent(self) -> Any: ...
    @property
    def prior(self) -> Any: ...
    @property
    def episodes(self) -> int: ...
    def plot(self, ax: Any = None) -> Any: ...


@styled
def draw(results: Learnt) -> Any:
    """Cumulative regret against episodes; a tick on the axis where a seed first reached the goal, if there is one."""
    figure, axes = new_figure()
    axes.set_prop_cycle(color=COLOURS)
    results.plot(axes)
    axes.set_xlim(1, max(2, results.episodes))
    against = f" against {results.opponent}" if isinstance(results, Matches) else ""
    figure.supxlabel(f"{results.agent}{against}\n{results.prior}", fontsize=6)
    return figure
