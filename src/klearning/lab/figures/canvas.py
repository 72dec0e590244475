"""One look for all figures, and one way to write them."""

import io
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from klearning.numerics.files import write_file
from klearning.numerics.pictures import need_matplotlib as need_matplotlib

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


def styled(draw: Callable[P, Any]) -> Callable[P, Any]:
    """Draw in the house style; the reader's own Matplotlib settings stay as they are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Any:
        need_matplotlib()
        import matplotlib

        with matplotlib.rc_context(STYLE):
            return draw(*args, **kwargs)

    return drawn


def new_figure(width: float = 6.0, height: float = 3.6) -> tuple[Any, Any]:
    """A figure that needs no screen, and its axes."""
    figure, axes = new_grid(1, 1, width, height)
    return figure, axes[0, 0]


def new_grid(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    """A figure with an array of axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Any, path: Path) -> None:
    """Write a PNG whole or not at all; the same figure gives the same bytes."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None}, dpi=STYLE["savefig.dpi"])
    write_file(path, picture.getvalue(), parents=True)
