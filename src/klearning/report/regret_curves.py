"""Cumulative regret against episodes: means of comparable runs, with intervals where there are seeds enough."""

import numpy as np

from klearning.arrays.types import Ints
from klearning.experiments.summaries import RunSummary, StoreSummary, by_agent, moments, together
from klearning.figures.markup import Html, number, table
from klearning.report.charts import MOST_SERIES, Chart, Series, ordered, plain, references
from klearning.report.exhibits import MOST, Exhibit
from klearning.report.labels import free_parameters, protocol_word, world_label
from klearning.report.settings import behind
from klearning.statistics import FEWEST, mean_interval

SHOWN = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)  # columns of the table


def exhibits(summary: StoreSummary) -> tuple[list[Exhibit], int]:
    """The largest comparisons, and how many there are in all."""
    kinds: dict[tuple[str, ...], list[RunSummary]] = {}  # by what varies with the seed: nothing first
    for run in summary.runs:
        if run.regret.size:
            kinds.setdefault(tuple(free_parameters(run.spec.world)), []).append(run)
    groups = [group for free, runs in sorted(kinds.items()) for group in together(runs, *free)]
    groups.sort(key=_interest)
    return [_exhibit(f"regret-{i}", group) for i, group in enumerate(groups[:MOST])], len(groups)


def _interest(group: list[RunSummary]) -> tuple[int, int]:
    """What the reader has just watched before the rest; within these many agents, then many seeds."""
    agents = len(by_agent(group))
    watched = agents > 2 and any(run.spec.snapshots for run in group)
    return (0 if watched else 1, -agents * len(group))


def _exhibit(name: str, group: list[RunSummary]) -> Exhibit:
    companies = sorted(by_agent(group).values(), key=_last)
    kept = ordered(companies[:MOST_SERIES])
    spec, t = group[0].spec, moments(group[0].spec.episodes)
    series = [_series(label, colour, line, runs, t) for label, colour, line, runs in kept]
    free = free_parameters(spec.world)
    word = protocol_word(spec.protocol)
    bounds = references([run.spec for run in group], "episode", t)
    chart = Chart(name, "episode", "mean cumulative regret", series, bounds, x_log=bool(free), y_log=bool(free))
    return Exhibit(
        chart,
        f"{world_label(spec.world, *free)}{f', {word}' if word else ''}",
        _see(series, spec.episodes, bool(free)),
        _caption([len(runs) for *_, runs in kept], len(companies) - len(kept), bool(free)),
        _table(series, t),
        behind(group),
    )


def _last(runs: list[RunSummary]) -> float:
    return float(np.mean([run.regret[-1] for run in runs]))


def _series(label: str, colour: int, line: int, runs: list[RunSummary], t: Ints) -> Series:
    paths = np.stack([run.regret for run in runs])
    ends = [mean_interval(column.round(9)) for column in paths.T]
    banded = len(runs) >= FEWEST
    return Series(
        label, colour, line, plain(t), plain(paths.mean(axis=0)),
        plain([e.low for e in ends]) if banded else None, plain([e.high for e in ends]) if banded else None,
    )  # fmt: skip


def _see(series: list[Series], episodes: int, drawn: bool) -> str:
    ranked = sorted(series, key=lambda s: s.y[-1] or 0.0)
    if len(ranked) == 1:
        return f"{ranked[0].label} has lost {number(ranked[0].y[-1])} after {episodes:,} episodes."
    best, second, worst = ranked[0], ranked[1], ranked[-1]
    behind_all = [s.label for s in ranked[2:] if (s.y[-1] or 0.0) > 0.99 * (worst.y[-1] or 0.0)]
    last = f"{worst.label} has lost most ({number(worst.y[-1])})."
    if len(behind_all) > 1:
        named = f"{', '.join(behind_all[:-1])} and {behind_all[-1]}"
        last = f"{named} have lost most ({number(worst.y[-1])}, their curves one upon another)."
    middle = f", then {second.label} ({number(second.y[-1])})" if len(ranked) > 2 else ""
    said = f"After {episodes:,} episodes {best.label} has lost least ({number(best.y[-1])}){middle}; {last}"
    return said if drawn else f"{said} A curve that turns flat has learnt; one that stays straight has not."


def _caption(counts: list[int], dropped: int, drawn: bool) -> str:
    what = "worlds, a seed each" if drawn else "seeds"
    most, fewest = max(counts), min(counts)
    size = f"{most}" if most == fewest else f"{fewest} to {most}"
    bands = "bands: 95% intervals of the mean (bootstrap-t), where the runs differ"
    if most < FEWEST:
        bands = f"no intervals, for these need {FEWEST} or more"
    elif fewest < FEWEST:
        bands += f", where there are {FEWEST} or more"
    left = f" The {dropped} agents with the most regret are left out." if dropped else ""
    return f"Exact regret, mean over {size} {what}; {bands}.{left}"


def _table(series: list[Series], t: Ints) -> Html:
    columns = sorted({int(np.abs(t - at).argmin()) for at in SHOWN if at <= t[-1]} | {len(t) - 1})
    rows = [[s.label, *(_cell(s, i) for i in columns)] for s in series]
    return table("Mean cumulative regret", ["agent", *(f"t = {t[i]:,}" for i in columns)], rows)


def _cell(s: Series, i: int) -> str:
    mean = number(s.y[i])
    return f"{mean} [{number(s.low[i])}, {number(s.high[i])}]" if s.low and s.high else mean
