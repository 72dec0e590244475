"""Cumulative regret against episodes: means of comparable runs, with intervals if there are seeds enough."""

from dataclasses import replace

import numpy as np

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.summaries import StoreSummary, by_contestant, moments, together
from klearning.lab.papers.figure import Curve, Plot
from klearning.lab.report.charts import MOST_SERIES, curve_table, ordered, references
from klearning.lab.report.exhibits import MOST, Exhibit
from klearning.lab.report.labels import free_parameters, protocol_word, unlike_titles, world_label
from klearning.lab.report.settings import behind
from klearning.numerics.display.markup import Html, number
from klearning.numerics.statistics import FEWEST, mean_interval
from klearning.numerics.types import Ints
from klearning.tabular.trials.runs import Runs

TIMES = {"world": "episode", "game": "round"}  # by the kind of a spec
SHOWN = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)  # columns of the table


def groups(summary: StoreSummary) -> list[list[Runs]]:
    """Runs whose regret can be compared; an agent with another prior is another contestant.

    Not where worlds are drawn from the prior: another one then means other worlds.
    """
    kinds: dict[tuple[str, ...], list[Runs]] = {}  # by what varies with the seed: nothing first
    for run in summary.runs:
        if run.regret.size:
            kinds.setdefault(tuple(free_parameters(run.spec)), []).append(run)
    every = [group for free, runs in sorted(kinds.items()) for group in together(runs, *free, any_prior=not free)]
    return sorted(every, key=_interest)


def exhibits(summary: StoreSummary) -> tuple[list[Exhibit], int]:
    """The largest comparisons, and how many there are in all."""
    every = groups(summary)
    shown = every[:MOST]
    return [_exhibit(f"regret-{i}", *item) for i, item in enumerate(zip(titles(shown), shown))], len(every)


def titles(shown: list[list[Runs]]) -> list[str]:
    """Where runs are compared, and whose settings these are; no two alike."""
    specs = [group[0].spec for group in shown]
    words = [(world_label(spec, *free_parameters(spec)), protocol_word(spec.protocol)) for spec in specs]
    alike = [spec if free_parameters(spec) else replace(spec, prior={}) for spec in specs]  # as in `groups`
    return unlike_titles([", ".join(filter(None, pair)) for pair in words], alike)


def _interest(group: list[Runs]) -> tuple[int, int]:
    """Runs that the reader has just watched come first; within these many agents, then many seeds."""
    agents = len(by_contestant(group))
    watched = agents > 2 and any(run.spec.snapshots for run in group)
    return (0 if watched else 1, -agents * len(group))


def _exhibit(name: str, title: str, group: list[Runs]) -> Exhibit:
    companies = sorted(by_contestant(group), key=_last)
    kept = ordered(companies[:MOST_SERIES])
    spec, t = group[0].spec, moments(group[0].spec.episodes)
    curves = [_curve(label, runs, t) for label, runs in kept]
    drawn = bool(free_parameters(spec))
    wide = drawn and spec.kind == "world"  # in a game regret may be below zero, and has no logarithm
    bounds = references([run.spec for run in group], "episode", t.astype(float))
    caption = _caption(spec, [len(runs) for _, runs in kept], len(companies) - len(kept), drawn)
    axes = TIMES[spec.kind], "mean cumulative regret"
    plot = Plot(title, *axes, [*curves, *bounds], caption, x_log=wide, y_log=wide)
    return Exhibit.of_plot(name, plot, _see(curves, spec, drawn), _table(curves, t), behind(group))


def _last(runs: list[Runs]) -> float:
    return float(np.mean([run.regret[0, -1] for run in runs]))


def _curve(label: str, runs: list[Runs], t: Ints) -> Curve:
    paths = np.concatenate([run.regret for run in runs]).round(9) + 0.0  # rounding is not shown, nor a zero below zero
    mean, family = paths.mean(axis=0), runs[0].spec.agent["name"]
    if len(runs) < FEWEST:
        return Curve(label, family, t.astype(float), mean)
    _, low, high = np.array([mean_interval(column) for column in paths.T]).T
    least = 0.0 if runs[0].spec.kind == "world" else -np.inf  # regret is exact: in a world it is never below zero
    return Curve(label, family, t.astype(float), mean, np.maximum(least, low) + 0.0, high + 0.0)


def _see(curves: list[Curve], spec: Spec, drawn: bool) -> str:
    """The range of what was lost. Who is ahead is a matter of tests, and of the next section."""
    ends = sorted((float(curve.y[-1]), curve.label) for curve in curves)
    length = f"{spec.episodes:,} {TIMES[spec.kind]}s"
    if len(ends) == 1:
        return f"{ends[0][1]} has lost {number(ends[0][0])} after {length}."
    (least, first), (most, last) = ends[0], ends[-1]
    said = f"After {length} means are from {number(least)} ({first}) to {number(most)} ({last})."
    return said if drawn else f"{said} A curve that turns flat has learned; one that stays straight has not."


def _caption(spec: Spec, counts: list[int], dropped: int, drawn: bool) -> str:
    what = f"{spec.kind}s, a seed each" if drawn else "seeds"
    most, fewest = max(counts), min(counts)
    size = f"{most}" if most == fewest else f"{fewest} to {most}"
    bands = "bands: 95% intervals of the mean (bootstrap-t), if the runs differ"
    if most < FEWEST:
        bands = f"no intervals, for these need {FEWEST} or more"
    elif fewest < FEWEST:
        bands += f", if there are {FEWEST} or more"
    left = f" The {dropped} agents with the most regret are left out." if dropped else ""
    whose = "Exact regret" if spec.kind == "world" else "Exact regret: the game’s value less what our mixture is paid"
    return f"{whose}, mean over {size} {what}; {bands}.{left}"


def _table(curves: list[Curve], t: Ints) -> Html:
    at = sorted({int(np.abs(t - episode).argmin()) for episode in SHOWN if episode <= t[-1]} | {len(t) - 1})
    return curve_table("Mean cumulative regret", [f"t = {t[i]:,}" for i in at], curves, at)
