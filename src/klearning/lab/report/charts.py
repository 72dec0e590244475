"""Charts as data: the script draws them, the tables beside them say the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.summaries import contestant_key
from klearning.lab.papers import PAPERS
from klearning.lab.report.labels import agent_order, contestant_labels, looks
from klearning.tabular.trials.runs import Runs

DIGITS = 6
MOST_SERIES = 24


@dataclass(frozen=True, eq=False)
class Series:
    """One curve; None if it has no point; bands if there is an interval."""

    label: str
    colour: int
    line: int
    x: list[float | None]
    y: list[float | None]
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    note: list[str] | None = None  # said beside a point, e.g. how many seeds

    def data(self) -> dict[str, Any]:
        kept = {"label": self.label, "colour": self.colour, "line": self.line, "x": self.x, "y": self.y}
        extra = {"low": self.low, "high": self.high, "note": self.note}
        return kept | {key: value for key, value in extra.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves on common axes."""

    name: str
    x_label: str
    y_label: str
    series: list[Series]
    references: list[Series] = field(default_factory=list)
    x_log: bool = False
    y_log: bool = False

    def data(self) -> dict[str, Any]:
        return {
            "x_label": self.x_label,
            "y_label": self.y_label,
            "x_log": self.x_log,
            "y_log": self.y_log,
            "series": [series.data() for series in self.series],
            "references": [series.data() for series in self.references],
        }


def plain(numbers: Any) -> list[float | None]:
    """Six digits of each; None for what is not finite, which JSON does not have."""
    return [_rounded(float(x)) if np.isfinite(x) else None for x in numbers]


def _rounded(x: float) -> float | int:
    short = float(f"{x:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def ordered(companies: Sequence[list[Runs]]) -> list[tuple[str, int, int, list[Runs]]]:
    """Label, colour, line and runs of the agents of a figure, in the order in which they are named."""
    ranked = sorted(companies, key=lambda runs: (agent_order(runs[0].spec), contestant_key(runs[0].spec)))
    specs = [runs[0].spec for runs in ranked]
    labels, styles = contestant_labels(specs), looks([spec.agent["name"] for spec in specs])
    return [(label, c, l, runs) for label, (c, l), runs in zip(labels, styles, ranked)]


def references(specs: Sequence[Spec], axis: str, x: ArrayLike) -> list[Series]:
    """Reference curves of papers for such runs, each curve once."""
    at = np.asarray(x, float)
    curves = [
        curve for paper in PAPERS.values() for figure in paper.figures for curve in figure.references(specs, axis, at)
    ]
    unique = {curve.label: curve for curve in curves}
    return [Series(curve.label, 0, curve.line, plain(at), plain(curve.y)) for curve in unique.values()]
