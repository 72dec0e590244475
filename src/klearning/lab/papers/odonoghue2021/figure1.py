"""Figure 1: the DeepSea MDP, a cartoon; on a page its story, with a diver to steer. Nothing is run."""

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.papers.figure import Figure, Introduction
from klearning.numerics.display.canvas import COLOURS, new_figure, styled
from klearning.numerics.display.markup import Html, element, paragraph, section
from klearning.numerics.display.plots import Picture

if TYPE_CHECKING:
    from matplotlib.patches import Rectangle


@dataclass(frozen=True, eq=False)
class Cartoon(Figure[None]):
    """It needs no runs."""

    name: str = "figure1"

    def read(self, store: Store) -> None:
        return None

    def draw(self, results: None, command: str) -> Picture:
        return draw()

    def introduction(self, summary: StoreSummary) -> Introduction | None:
        if not any(run.spec.world["name"] == "deep_sea" for run in summary.runs):
            return None
        return Introduction(story(), (files(__package__) / "dive.js").read_text(encoding="utf-8"))


FIGURES = (Cartoon(),)


@styled
def draw(depth: int = 5) -> Picture:
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


def _square(column: int, row: int, face: str) -> "Rectangle":
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=face, edgecolor="0.4", linewidth=0.8)


def _arrow(axes: Any, start: tuple[int, int], end: tuple[int, int], colour: str, width: float) -> None:
    style = {"arrowstyle": "->", "color": colour, "linewidth": width, "shrinkA": 7, "shrinkB": 9}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def story() -> Html:
    """Why DeepSea is hard, beside a sketch of it."""
    words = [
        paragraph(
            "A diver sinks one row a step and swims left or right. Right costs a little; left is free. Only the diver "
            "who goes right ", element("em", "every time"), " finds the treasure, worth 1, in the last corner."
        ),
        paragraph(
            "Somebody who flips coins finds it once in 2", element("sup", "L"), " dives, L being the depth: at 20, "
            "once in a million. Trying at random is hopeless; one has to explore on purpose."
        ),
        element("p", class_="dive", hidden=True),
    ]  # fmt: skip
    beside = element("div", sketch(), element("div", *words), class_="beside")
    return section("deep-sea", "A treasure that chance does not find", beside, short="DeepSea")


def sketch(depth: int = 6, pitch: int = 50, box: int = 34) -> Html:
    """DeepSea as an SVG: cells, the two moves, the one path that pays."""
    cells, moves = [], []
    for row in range(depth):
        for column in range(row + 1):
            kind = "cell goal" if row == column == depth - 1 else ("cell path" if row == column else "cell")
            corner = {"x": column * pitch + 3, "y": row * pitch + 3}
            cells.append(element("rect", **corner, width=box, height=box, rx=7, class_=kind))
            if row < depth - 1:
                moves.append(_move(column, row, column + 1, pitch, box, good=row == column))
                moves.append(_move(column, row, max(column - 1, 0), pitch, box))
    middle = box / 2 + 3
    end = (depth - 1) * pitch + middle
    prize = element("text", "1", x=f"{end:g}", y=f"{end + 6:g}", class_="prize")
    diver = element("circle", cx=f"{middle:g}", cy=f"{middle:g}", r=9, class_="diver", id="diver")
    head = element("path", d="M0 0 L7 3.5 L0 7 Z", class_="head")
    marker = element("marker", head, id="head", markerWidth=7, markerHeight=7, refX=5, refY=3.5, orient="auto",
                     markerUnits="userSpaceOnUse")  # fmt: skip
    size = (depth - 1) * pitch + box + 6
    said = f"DeepSea of depth {depth}: the diver starts at the top left, the treasure is at the bottom right"
    drawn = [element("defs", marker), *moves, *cells, prize, diver]
    return element("svg", *drawn, viewBox=f"0 0 {size} {size}", role="img", aria_label=said, class_="sketch", id="sea",
                   data_depth=depth, data_pitch=pitch, data_middle=f"{middle:g}")  # fmt: skip


def _move(column: int, row: int, to: int, pitch: int, box: int, good: bool = False) -> Html:
    """A line from one cell's edge to another's."""
    x, y = column * pitch + box / 2 + 3, row * pitch + box / 2 + 3
    dx, dy = (to - column) * pitch, float(pitch)
    a = box / 2 / pitch
    ends = {"x1": x + a * dx, "y1": y + a * dy, "x2": x + (1 - a) * dx, "y2": y + (1 - a) * dy}
    kind = {"class_": "move path", "marker_end": "url(#head)"} if good else {"class_": "move"}
    return element("line", **{key: f"{value:g}" for key, value in ends.items()}, **kind)
