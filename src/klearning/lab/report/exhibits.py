"""An exhibit is a figure with its words: what to see above it, its numbers and what is behind it below."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from klearning.lab.papers.figure import Plot
from klearning.numerics.display.markup import Html, element, folded, join, paragraph

MOST = 12  # exhibits of one section


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A title, a sentence on what to see, a plot or a table, its caption, and what can be unfolded below."""

    name: str
    title: str
    see: str
    shown: Html
    caption: str
    more: Html
    plot: Plot | None = None  # that the script draws

    @classmethod
    def of_plot(cls, name: str, plot: Plot, see: str, numbers: Html, settings: Html) -> Self:
        """A plot, with its numbers as a table, and the settings and command behind it."""
        shown = element("div", class_="plot", data_chart=name)
        more = join([folded("The numbers as a table", numbers, class_="numbers"), settings])
        return cls(name, plot.title, see, shown, plot.caption, more, plot)

    def html(self) -> Html:
        return element(
            "figure",
            element("h3", self.title, id=f"{self.name}-title"),
            paragraph(self.see, class_="see", id=f"{self.name}-see"),
            self.shown,
            element("figcaption", self.caption),
            self.more,
            id=self.name,
            class_="exhibit",
            aria_labelledby=f"{self.name}-title",
        )


def gallery(name: str, what: str, exhibits: Sequence[Exhibit]) -> Html:
    """All exhibits of a section; with the script one at a time, chosen by a list."""
    options = [element("option", exhibit.title, value=exhibit.name) for exhibit in exhibits]
    chooser = element(
        "p", element("label", f"{what} ", element("select", *options)), class_="chooser", hidden=True
    )  # shown by the script
    shown = [exhibit.html() for exhibit in exhibits]
    return element("div", chooser if len(exhibits) > 1 else "", *shown, class_="gallery", id=f"{name}-gallery")
