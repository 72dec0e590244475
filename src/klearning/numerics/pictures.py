"""Axes to draw on, and one drawing: numbers of every state, layer by layer. For whoever has Matplotlib."""

from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Layers


def need_matplotlib() -> None:
    """Say what to install where Matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("figures need Matplotlib: pip install matplotlib") from None


def axes_or_new(ax: Any = None) -> Any:
    """The axes given, or those of a new figure of pyplot's, which a notebook shows by itself."""
    need_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(5.0, 3.6), layout="constrained")[1]


def draw_layers(ax: Any, numbers: Layers, label: str, low: float | None = None, high: float | None = None) -> Any:
    """A row per layer, a square per state: what ``label`` names; empty where a layer has fewer states than others."""
    image = np.full((len(numbers), max(map(len, numbers))), np.nan)
    for row, layer in zip(image, numbers, strict=True):
        row[: len(layer)] = layer
    wide = max(image.shape) > 2 * min(image.shape)
    shown = ax.imshow(image, vmin=low, vmax=high, aspect="auto" if wide else "equal", interpolation="nearest")
    ax.figure.colorbar(shown, ax=ax, label=label)
    ax.set(xlabel="state of the layer", ylabel="layer")
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    ax.grid(False)
    return ax


def draw_actions(ax: Any, numbers: Any, label: str) -> Any:
    """A bar per action, where there is one state only."""
    ax.bar(np.arange(len(numbers)), numbers)
    ax.set(xlabel="action", ylabel=label, xticks=np.arange(len(numbers)))
    return ax


VIEWS = ("values", "policy", "occupancy")


def draw_policy(
    ax: Any, what: str, action: int | None, values: Layers, action_values: Layers, policy: Layers, occupancy: Layers
) -> Any:
    """What a policy is worth, does, or comes by: one of `VIEWS`; of the policy the chance of one action."""
    checks.choice("what", what, VIEWS)
    A = policy[0].shape[1]
    a = A - 1 if action is None else checks.whole("action", action, 0)
    if a >= A:
        raise ValueError(f"action={action!r} is none of {A} actions: give a number from 0 to {A - 1}")
    axes = axes_or_new(ax)
    if sum(map(len, policy)) == 1:
        by_action = {"values": action_values, "policy": policy, "occupancy": occupancy}[what]
        return draw_actions(axes, by_action[0][0], what)
    if what == "values":
        return draw_layers(axes, values, "value")
    if what == "occupancy":
        return draw_layers(axes, [block.sum(axis=1) for block in occupancy], "chance of coming here", 0.0)
    return draw_layers(axes, [block[:, a] for block in policy], f"chance of action {a}", 0.0, 1.0)
