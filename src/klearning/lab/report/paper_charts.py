"""Comparisons from the papers' own studies, drawn like the rest of the page: one exhibit per plot."""

import numpy as np

from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.papers import PAPERS, command_line
from klearning.lab.papers.figure import Curve, Figure, Plot
from klearning.lab.papers.paper import Paper
from klearning.lab.report.charts import curve_table
from klearning.lab.report.exhibits import Exhibit
from klearning.numerics.display.markup import Html, element, folded, number, paragraph

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
    command = element("pre", element("code", command_line(paper, words)))
    source = folded("Settings and command", paragraph(paper.title), command, class_="settings")
    return Exhibit.of_plot(name, plot, _see(plot, own), _table(plot, own), source)


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
    heads = [f"{plot.x_label.split()[0]} {x[i]:,.0f}" for i in at]
    return curve_table(plot.y_label.capitalize(), heads, curves, at)
