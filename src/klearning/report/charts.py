"""Charts as data: the script draws them, the tables beside them say the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from klearning.report.gather import Trial
from klearning.report.labels import agent_label, agent_order, looks

DIGITS = 6
MOST_SERIES = 24


@dataclass(frozen=True, eq=False)
class Series:
    """One curve; None where it has no point; bands where there is an interval."""

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


def ordered(companies: Sequence[list[Trial]]) -> list[tuple[str, int, int, list[Trial]]]:
    """Label, colour, line and runs of the agents of a figure, in the order in which they are named."""
    ranked = sorted(companies, key=lambda trials: agent_order(trials[0].spec))
    specs = [trials[0].spec for trials in ranked]
    return [(agent_label(spec), c, l, trials) for spec, (c, l), trials in zip(specs, looks(specs), ranked)]
