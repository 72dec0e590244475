"""Charts as data: the script draws them, the tables beside them say the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.summaries import contestant_key
from klearning.lab.papers import PAPERS
from klearning.lab.papers.figure import Curve, Plot
from klearning.lab.report.labels import agent_order, contestant_labels, looks
from klearning.numerics.display.markup import Html, number, table
from klearning.numerics.types import Floats
from klearning.tabular.trials.runs import Runs

DIGITS = 6
MOST_SERIES = 24


def chart_data(plot: Plot) -> dict[str, Any]:
    """A plot as the script draws it."""
    own = [curve for curve in plot.curves if curve.family]
    styles = looks([curve.family for curve in own])
    return {
        "x_label": plot.x_label,
        "y_label": plot.y_label,
        "x_log": plot.x_log,
        "y_log": plot.y_log,
        "series": [_series(curve, colour, line) for curve, (colour, line) in zip(own, styles, strict=True)],
        "references": [_series(curve, 0, curve.line) for curve in plot.curves if not curve.family],
    }


def _series(curve: Curve, colour: int, line: int) -> dict[str, Any]:
    """One curve; None if it has no point; bands if there is an interval."""
    points = {"x": curve.x, "y": curve.y, "low": curve.low, "high": curve.high}
    numbers = {name: plain(values) for name, values in points.items() if values is not None}
    note = {} if curve.note is None else {"note": curve.note}
    return {"label": curve.label, "colour": colour, "line": line, **numbers, **note}


def curve_table(caption: str, headings: Sequence[str], curves: Sequence[Curve], at: Sequence[int]) -> Html:
    """The numbers of curves at some of their points, with intervals if there are any."""
    rows = [[curve.label, *(_cell(curve, i) for i in at)] for curve in curves]
    return table(caption, ["agent", *headings], rows)


def _cell(curve: Curve, i: int) -> str:
    mean = number(float(curve.y[i]))
    if curve.low is None or curve.high is None:
        return mean
    return f"{mean} [{number(float(curve.low[i]))}, {number(float(curve.high[i]))}]"


def plain(numbers: Any) -> list[float | None]:
    """Six digits of each; None for what is not finite, which JSON does not have."""
    return [_rounded(float(x)) if np.isfinite(x) else None for x in numbers]


def _rounded(x: float) -> float | int:
    short = float(f"{x:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def ordered(companies: Sequence[list[Runs]]) -> list[tuple[str, list[Runs]]]:
    """Label and runs of the agents of a figure, in the order in which they are named."""
    ranked = sorted(companies, key=lambda runs: (agent_order(runs[0].spec), contestant_key(runs[0].spec)))
    return list(zip(contestant_labels([runs[0].spec for runs in ranked]), ranked, strict=True))


def references(specs: Sequence[Spec], axis: str, x: Floats) -> list[Curve]:
    """Reference curves of papers for such runs, each curve once."""
    figures = [figure for paper in PAPERS.values() for figure in paper.figures]
    curves = [curve for figure in figures for curve in figure.references(specs, axis, x)]
    return list({curve.label: curve for curve in curves}.values())
