"""The figure of a comparison: how much, for how many runs, and who is ahead of whom."""

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from klearning.numerics.display.canvas import COLOURS, LINES, new_grid, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import Interval, performance_profile
from klearning.numerics.types import Floats

if TYPE_CHECKING:
    from klearning.lab.comparison.compare import Comparison

MOST_PAIRS = 10  # drawn


@styled
def draw(c: "Comparison", figure: Any = None) -> Picture:
    """Three panels, on a new figure or the given one: intervals per agent, performance profiles, improvements."""
    pairs = _pairs(c)
    rows = max(len(c.standings), len(pairs))
    figure, grid = new_grid(1, 3, 11.5, max(3.0, 0.9 + 0.32 * rows), figure)
    looks = {standing.agent: series(i) for i, standing in enumerate(c.standings)}
    _draw_agents(grid[0, 0], c, looks)
    _draw_profiles(grid[0, 1], c, looks)
    _draw_pairs(grid[0, 2], c, pairs)
    if _is_wide(c):
        for axes in grid[0, 1:2] if c.measure.censored else grid[0, :2]:
            _by_ratio(axes)
    figure.suptitle(f"{_what(c)}, {', '.join(c.worlds[:4])}{' …' if len(c.worlds) > 4 else ''}", fontsize=10)
    figure.supxlabel(fill(c.sentence, 180), fontsize=7)
    return figure


def _what(c: "Comparison") -> str:
    return c.measure.share if len(c.worlds) > 1 else c.measure.words


def _draw_agents(axes: Any, c: "Comparison", looks: dict[str, dict[str, Any]]) -> None:
    """Dots for means, diamonds for the middle half; of times the median, or the share solved in several worlds."""
    for i, standing in enumerate(c.standings):
        colour = looks[standing.agent]["color"]
        if c.measure.censored:
            _whisker(axes, i, standing.median if len(c.worlds) == 1 else standing.solved, colour, "o")
        else:
            _whisker(axes, i - 0.12, standing.mean, colour, "o")
            _whisker(axes, i + 0.12, standing.iqm, colour, "D")
    axes.set_yticks(range(len(c.standings)), [standing.agent for standing in c.standings])
    axes.set_ylim(len(c.standings) - 0.5, -0.5)
    if c.measure.censored:
        axes.set_title("median" if len(c.worlds) == 1 else "share solved", fontsize=8)
    else:
        axes.set_title("● mean   ◆ middle half (IQM)", fontsize=8)
    axes.set_xlabel(_what(c) if len(c.worlds) == 1 else "")


def _is_wide(c: "Comparison") -> bool:
    """Whether agents differ by more than an axis without logarithms shows."""
    x = np.concatenate([sample.pooled for sample in c.samples])
    x = x[np.isfinite(x)]
    return bool(x.size and x.min() > 0.0 and x.max() > 8.0 * x.min())


def _by_ratio(axes: Any) -> None:
    """A logarithmic axis whose ticks are numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _whisker(axes: Any, y: float, interval: Interval, colour: str, marker: str) -> None:
    if not np.isfinite(interval.estimate):
        axes.text(0.02, y, "half or more never solved", transform=axes.get_yaxis_transform(), color=colour,
                  fontsize=7, va="center")  # fmt: skip
        return
    axes.plot([interval.estimate], [y], marker, color=colour, markersize=5)
    ends = [end for end in (interval.low, interval.high) if np.isfinite(end)]
    if ends:
        axes.plot([min(interval.estimate, *ends), max(interval.estimate, *ends)], [y, y], color=colour, linewidth=1.4)
    if interval.high == np.inf:  # the data do not bound it
        axes.annotate("", (1.0, y), (interval.estimate, y), xycoords=("axes fraction", "data"),
                      textcoords="data", arrowprops={"arrowstyle": "->", "color": colour})  # fmt: skip


def _draw_profiles(axes: Any, c: "Comparison", looks: dict[str, dict[str, Any]]) -> None:
    x, of = _thresholds(c), {sample.name: sample.pooled for sample in c.samples}
    sign = 1.0 if c.measure.lower else -1.0
    for i, standing in enumerate(c.standings):
        look = looks[standing.agent]
        profile = performance_profile(sign * of[standing.agent], sign * x, c.level)
        axes.step(x, profile.share, where="post", color=look["color"], linestyle=LINES[i % len(LINES)],
                  label=standing.agent, linewidth=1.5)  # fmt: skip
        axes.fill_between(x, profile.low, profile.high, step="post", color=look["color"], alpha=0.12, linewidth=0)
    axes.set(xlabel=_what(c), ylabel="share of runs", ylim=(-0.02, 1.02))
    axes.set_title("share of runs at least as good", fontsize=8)
    axes.legend(frameon=False, fontsize=7)


def _draw_pairs(axes: Any, c: "Comparison", pairs: list[tuple[str, Interval, bool]]) -> None:
    for i, (_, interval, sure) in enumerate(pairs):
        _whisker(axes, i, interval, COLOURS[0] if sure else "0.55", "o")
    axes.axvline(0.5, color="0.5", linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(pairs)), [name for name, _, _ in pairs])
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("probability of improvement")
    axes.set_title(f"blue: {'times' if c.measure.censored else 'means'} told apart by the test", fontsize=8)


def _pairs(c: "Comparison") -> list[tuple[str, Interval, bool]]:
    """Those of the best, or of the agent that all were compared with, first; seen from the better one."""
    focus = c.against or c.standings[0].agent
    ranked = sorted(c.pairs, key=lambda pair: focus not in (pair.a, pair.b))
    drawn = []
    for pair in ranked[:MOST_PAIRS]:
        turned = pair.b == pair.ahead
        p, low, high = pair.improvement
        interval = Interval(1.0 - p, 1.0 - high, 1.0 - low) if turned else pair.improvement
        name = f"{pair.b} > {pair.a}" if turned else f"{pair.a} > {pair.b}"
        drawn.append((name, interval, pair.adjusted <= 1.0 - c.level))
    return drawn


def _thresholds(c: "Comparison", points: int = 200) -> Floats:
    """Where performance profiles are drawn: over all that the agents reached."""
    x = np.concatenate([sample.pooled for sample in c.samples])
    finite = x[np.isfinite(x)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    return np.geomspace(low, high, points) if _is_wide(c) else np.linspace(low, high, points)
