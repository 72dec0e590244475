"""An exhibit is a figure with its words: what to see above it, its numbers and what is behind it below."""

from collections.abc import Sequence
from dataclasses import dataclass

from klearning.lab.report.charts import Chart
from klearning.numerics.display.markup import Html, element, folded, paragraph

MOST = 12  # exhibits of one section


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A chart, its title and sentence, its table, and the settings and command behind it."""

    chart: Chart
    title: str
    see: str
    caption: str
    numbers: Html
    settings: Html

    @property
    def name(self) -> str:
        return self.chart.name

    def html(self) -> Html:
        name = self.name
        return element(
            "figure",
            element("h3", self.title, id=f"{name}-title"),
            paragraph(self.see, class_="see", id=f"{name}-see"),
            element("div", class_="plot", data_chart=name),
            element("figcaption", self.caption),
            folded("The numbers as a table", self.numbers, class_="numbers"),
            self.settings,
            id=name,
            class_="exhibit",
            aria_labelledby=f"{name}-title",
        )


@dataclass(frozen=True, eq=False)
class TableExhibit:
    """The same if the table itself is what to see."""

    name: str
    title: str
    see: str
    numbers: Html
    caption: str
    more: Html

    def html(self) -> Html:
        return element(
            "figure",
            element("h3", self.title, id=f"{self.name}-title"),
            paragraph(self.see, class_="see"),
            self.numbers,
            element("figcaption", self.caption),
            self.more,
            id=self.name,
            class_="exhibit",
            aria_labelledby=f"{self.name}-title",
        )


def gallery(name: str, what: str, exhibits: Sequence[Exhibit] | Sequence[TableExhibit]) -> Html:
    """All exhibits of a section; with the script one at a time, chosen by a list."""
    options = [element("option", exhibit.title, value=exhibit.name) for exhibit in exhibits]
    chooser = element(
        "p", element("label", f"{what} ", element("select", *options)), class_="chooser", hidden=True
    )  # shown by the script
    shown = [exhibit.html() for exhibit in exhibits]
    return element("div", chooser if len(exhibits) > 1 else "", *shown, class_="gallery", id=f"{name}-gallery")
