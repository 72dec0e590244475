"""Comparisons from the papers' own studies, drawn like the rest of the page: one exhibit per plot."""

import numpy as np

from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.papers import PAPERS, command_line
from klearning.lab.papers.figure import Curve, Figure, Plot
from klearning.lab.papers.paper import Paper
from klearning.lab.report.charts import Chart, Series, plain
from klearning.lab.report.exhibits import Exhibit
from klearning.lab.report.labels import looks
from klearning.numerics.display.markup import Html, element, folded, number, paragraph, table

COLUMNS = 6  # of a table, about


def exhibits(summary: StoreSummary) -> list[Exhibit]:
    """Of every figure that has plots, at the largest size that the store has."""
    shown: list[Exhibit] = []
    for paper in PAPERS.values():
        for figure in paper.figures:
            if type(figure).plots is Figure.plots or (largest := figure.read_largest(summary.store)) is None:
                continue
            sized, results = largest
            words = figure.name + (" --quick" if sized is not figure else "")
            for plot in sized.plots(results):
                shown.append(_exhibit(f"paper-{len(shown)}", plot, paper, words))
    return shown


def _exhibit(name: str, plot: Plot, paper: Paper, words: str) -> Exhibit:
    own = [curve for curve in plot.curves if curve.family]
    series = [
        _series(curve, colour, line)
        for curve, (colour, line) in zip(own, looks([curve.family for curve in own]), strict=True)
    ]
    others = [_series(curve, 0, 1) for curve in plot.curves if not curve.family]
    chart = Chart(name, plot.x_label, plot.y_label, series, others, plot.x_log, plot.y_log)
    source = folded("Settings and command", paragraph(paper.title), _command(paper, words), class_="settings")
    return Exhibit.of_chart(chart, plot.title, _see(plot, own), plot.caption, _table(plot, own), source)


def _command(paper: Paper, words: str) -> Html:
    return element("pre", element("code", command_line(paper, words)))


def _series(curve: Curve, colour: int, line: int) -> Series:
    low, high = (None if ends is None else plain(ends) for ends in (curve.low, curve.high))
    return Series(curve.label, colour, line, plain(curve.x), plain(curve.y), low, high)


def _see(plot: Plot, curves: list[Curve]) -> str:
    """The range in the end."""
    ends = sorted((float(curve.y[-1]), curve.label) for curve in curves if np.isfinite(curve.y[-1]))
    if not ends:
        return ""
    (least, first), (most, last) = ends[0], ends[-1]
    axis, end = plot.x_label.split()[0], f"{curves[0].x[-1]:,.0f}"
    return f"At {axis} {end} means are from {number(least)} ({first}) to {number(most)} ({last})."


def _table(plot: Plot, curves: list[Curve]) -> Html:
    x = curves[0].x
    at = sorted({round(i) for i in np.linspace(0, len(x) - 1, min(COLUMNS, len(x)))})
    heads = ["agent", *(f"{plot.x_label.split()[0]} {x[i]:,.0f}" for i in at)]
    return table(plot.y_label.capitalize(), heads, [[c.label, *(_cell(c, i) for i in at)] for c in curves])


def _cell(curve: Curve, i: int) -> str:
    mean = number(float(curve.y[i]))
    if curve.low is None or curve.high is None:
        return mean
    return f"{mean} [{number(float(curve.low[i]))}, {number(float(curve.high[i]))}]"
