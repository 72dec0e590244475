"""Figure 1: the DeepSea MDP, a cartoon. Nothing is run."""

from typing import Any

from klearning.figures.canvas import COLOURS, new_figure, styled


@styled
def draw(depth: int = 5) -> Any:
    """The grid of cells that can be reached, the two actions, and the one path to the treasure."""
    figure, axes = new_figure(width=4.4, height=4.2)
    for row in range(depth):
        for column in range(depth):
            reachable = column <= row
            face = "white" if reachable else "0.9"
            face = COLOURS[4] if row == column == depth - 1 else face
            axes.add_patch(_square(column, row, face))
    for row in range(depth - 1):
        for column in range(row + 1):
            good = row == column
            _arrow(axes, (column, row), (column + 1, row + 1), COLOURS[0] if good else "0.6", 1.8 if good else 0.7)
            _arrow(axes, (column, row), (max(column - 1, 0), row + 1), "0.6", 0.7)
    axes.plot(0, 0, "o", color=COLOURS[1], markersize=12)
    axes.text(depth - 1, depth - 1, "1", ha="center", va="center", fontsize=13, weight="bold")
    axes.set(xlim=(-0.6, depth - 0.4), ylim=(depth - 0.4, -0.6), aspect="equal", xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.set_title(f"DeepSea of depth {depth}: one row down a step")
    axes.set_xlabel(
        "right: mean −cost/L, and 1 in the last cell of the diagonal\nleft: mean 0; grey cells cannot be reached"
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _square(column: int, row: int, face: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=face, edgecolor="0.4", linewidth=0.8)


def _arrow(axes: Any, start: tuple[int, int], end: tuple[int, int], colour: str, width: float) -> None:
    style = {"arrowstyle": "->", "color": colour, "linewidth": width, "shrinkA": 7, "shrinkB": 9}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)
