"""Matplotlib plots of numbers per state, layer by layer."""

import io
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Layers

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure

    Picture: TypeAlias = Figure
else:
    Axes = Picture = Any  # Matplotlib is imported when something is drawn


def need_matplotlib() -> None:
    """Raise ImportError with the fix if Matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("figures need Matplotlib: pip install matplotlib") from None


def axes_or_new(ax: Axes | None = None) -> Axes:
    """The given axes, or those of a new pyplot figure, which a notebook shows by itself."""
    need_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(5.0, 3.6), layout="constrained")[1]


def pyplot_figure() -> Picture:
    """A new figure that pyplot manages: a notebook shows it once, whatever the last line of the cell is."""
    need_matplotlib()
    from matplotlib import pyplot

    figure = pyplot.figure()
    if "inline" in pyplot.get_backend():
        figure._ipython_display_ = partial(_display_and_close, figure)
    return figure


def _display_and_close(figure: Any) -> None:
    """Show a figure in a notebook; pyplot then does not show it again at the end of the cell."""
    from matplotlib import pyplot

    notebook = import_module("IPython.display")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi="figure")
    pyplot.close(figure)
    notebook.display(notebook.Image(picture.getvalue()))


def draw_layers(ax: Axes, numbers: Layers, label: str, low: float | None = None, high: float | None = None) -> Axes:
    """An image with a row per layer and a square per state, and a colour bar with ``label``."""
    image = np.full((len(numbers), max(map(len, numbers))), np.nan)
    for row, layer in zip(image, numbers, strict=True):
        row[: len(layer)] = layer
    wide = max(image.shape) > 2 * min(image.shape)
    shown = ax.imshow(image, vmin=low, vmax=high, aspect="auto" if wide else "equal", interpolation="nearest")
    ax.figure.colorbar(shown, ax=ax, label=label)
    ax.set(xlabel="state of the layer", ylabel="layer")
    ax.locator_params(integer=True)
    ax.grid(False)
    return ax


def draw_actions(ax: Axes, numbers: Any, label: str) -> Axes:
    """A bar per action, for a single state."""
    ax.bar(np.arange(len(numbers)), numbers)
    ax.set(xlabel="action", ylabel=label, xticks=np.arange(len(numbers)))
    return ax


VIEWS = ("values", "policy", "occupancy")


def draw_policy(
    ax: Axes | None, what: str, action: int | None, values: Layers, action_values: Layers, policy: Layers,
    occupancy: Layers,
) -> Axes:  # fmt: skip
    """Plot one of `VIEWS` of a policy: its values, the probability of one action, or its occupancy."""
    checks.choice("what", what, VIEWS)
    A = policy[0].shape[1]
    a = A - 1 if action is None else checks.whole("action", action, 0)
    if a >= A:
        raise ValueError(f"action={action!r} is out of range: give a number from 0 to {A - 1}")
    axes = axes_or_new(ax)
    if sum(map(len, policy)) == 1:
        by_action = {"values": action_values, "policy": policy, "occupancy": occupancy}[what]
        return draw_actions(axes, by_action[0][0], what)
    if what == "values":
        return draw_layers(axes, values, "value")
    if what == "occupancy":
        return draw_layers(axes, [block.sum(axis=1) for block in occupancy], "probability of a visit", 0.0)
    return draw_layers(axes, [block[:, a] for block in policy], f"probability of action {a}", 0.0, 1.0)
