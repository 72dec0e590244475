"""One look for all figures, and one way to write them."""

import io
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from klearning.numerics.display.plots import Axes, Picture
from klearning.numerics.display.plots import need_matplotlib as need_matplotlib
from klearning.numerics.files import write_file
from klearning.numerics.types import Floats, Ints

# Okabe and Ito's colours, told apart by colour-blind readers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = "osD^v<>PX*h"
LINES = ("-", (0, (4, 1.5)), ":")


def series(i: int) -> dict[str, Any]:
    """How the i-th of many curves is drawn: colours first, then the same colours with another line."""
    k = len(COLOURS)
    return {"color": COLOURS[i % k], "linestyle": LINES[i // k % len(LINES)], "marker": MARKERS[i % len(MARKERS)]}


STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 9,
    "axes.titlesize": 10,
    "figure.dpi": 150,
    "savefig.dpi": 200,
}


P = ParamSpec("P")
Drawn = TypeVar("Drawn")


def styled(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Draw in the house style; the reader's own Matplotlib settings stay as they are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        need_matplotlib()
        import matplotlib

        with matplotlib.rc_context(STYLE):
            return draw(*args, **kwargs)

    return drawn


def new_figure(width: float = 6.0, height: float = 3.6) -> tuple[Picture, Axes]:
    """A figure that needs no screen, and its axes."""
    figure, axes = new_grid(1, 1, width, height)
    return figure, axes[0, 0]


def new_grid(
    rows: int, columns: int, width: float, height: float, figure: Picture | None = None
) -> tuple[Picture, Any]:
    """A figure with an array of axes; a new one that needs no screen, or the given one."""
    if figure is not None:
        figure.set_size_inches(width, height)
        figure.set_layout_engine("constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def draw_mean(axes: Axes, x: Floats | Ints, paths: Floats, style: Mapping[str, Any], **line: Any) -> None:
    """The mean of paths, (runs, points), and a 95% band by its standard error."""
    mean, error = paths.mean(axis=0), paths.std(axis=0, ddof=1) / np.sqrt(len(paths))
    axes.plot(x, mean, linewidth=1.3, markersize=3.5, **line, **style)
    axes.fill_between(x, mean - 1.96 * error, mean + 1.96 * error, color=style["color"], alpha=0.15, lw=0)


def save(figure: Picture, path: Path) -> None:
    """Write a PNG whole or not at all; the same figure gives the same bytes."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None}, dpi=STYLE["savefig.dpi"])
    write_file(path, picture.getvalue(), parents=True)
