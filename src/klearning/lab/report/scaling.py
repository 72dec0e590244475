"""Time to solve against depth, and what planning costs: one exhibit a setting."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from klearning.lab.comparison import contest
from klearning.lab.experiments.spec import Spec, build_world
from klearning.lab.experiments.summaries import StoreSummary, by_contestant, together
from klearning.lab.papers.figure import Curve, Plot
from klearning.lab.report.charts import MOST_SERIES, ordered, references
from klearning.lab.report.exhibits import MOST, Exhibit
from klearning.lab.report.labels import display_info_of, protocol_word, unlike_titles, world_label
from klearning.lab.report.ranking import sample
from klearning.lab.report.settings import behind
from klearning.numerics.display.markup import Html, number, table
from klearning.numerics.statistics import FEWEST, median_interval, median_time
from klearning.numerics.types import Floats
from klearning.tabular.trials.runs import Runs


def exhibits(summary: StoreSummary) -> tuple[list[Exhibit], int]:
    """Worlds with a depth, at two depths or more. Where runs were made to stop when solved, these alone."""
    deep = [run for run in summary.runs if _has_depth(run) and run.spec.name not in summary.goalless]
    stopped = [run for run in deep if run.spec.stop == "solved"]
    groups = [g for g in together(stopped or deep, "depth", any_prior=True) if len(_depths(g)) > 1]
    shown = groups[:MOST]
    return [_exhibit(f"scaling-{i}", *item) for i, item in enumerate(zip(_titles(shown), shown))], len(groups)


def _has_depth(run: Runs) -> bool:
    """A game is never solved, however deep."""
    return run.spec.kind == "world" and isinstance(run.spec.world.get("depth"), int)


def _titles(groups: list[list[Runs]]) -> list[str]:
    specs = [group[0].spec for group in groups]
    words = [(world_label(spec, "depth"), protocol_word(spec.protocol)) for spec in specs]
    places = [", ".join(filter(None, pair)) for pair in words]
    whole = [f"{place}, up to {spec.episodes:,} episodes" for place, spec in zip(places, specs, strict=True)]
    return unlike_titles(whole, [_shared(spec) for spec in specs])


def _shared(spec: Spec) -> Spec:
    """Without what varies within a group."""
    return replace(spec, world={name: value for name, value in spec.world.items() if name != "depth"}, prior={})


def _depths(group: list[Runs]) -> list[int]:
    return sorted({run.spec.world["depth"] for run in group})


def _times(runs: list[Runs], depths: list[int]) -> list[Floats]:
    return [np.array([run.solved[0] for run in runs if run.spec.world["depth"] == depth]) for depth in depths]


def _exhibit(name: str, title: str, group: list[Runs]) -> Exhibit:
    companies = sorted(by_contestant(group), key=lambda runs: -sum(np.isfinite(run.solved[0]) for run in runs))
    kept = ordered(companies[:MOST_SERIES])
    depths, spec = _depths(group), group[0].spec
    x, times = np.array(depths, float), {label: _times(runs, depths) for label, runs in kept}
    curves = [_curve(label, runs[0].spec.agent["name"], x, times[label]) for label, runs in kept]
    cap = Curve("cap", "", x, np.full(len(x), float(spec.episodes)), line=2)
    others = [*references([run.spec for run in group], "depth", x), cap]
    counts = [len(t) for by_depth in times.values() for t in by_depth if len(t)]
    caption = _caption(counts, len(companies) - len(kept), display_info_of(spec).goal)
    plot = Plot(title, "depth L", "episodes until solved (median)", [*curves, *others], caption, y_log=True)
    see = _see(curves, depths, times, _ahead(kept, depths[-1]))
    return Exhibit.of_plot(name, plot, see, _table(depths, times), behind(group))


def _curve(label: str, family: str, depths: Floats, times: list[Floats]) -> Curve:
    nothing = np.full(3, np.nan)
    middle, low, high = np.array([median_interval(t) if len(t) else nothing for t in times]).T
    solved = [f"{np.isfinite(t).sum()} of {len(t)} seeds solved" for t in times]
    banded = any(len(t) >= FEWEST for t in times)
    return Curve(label, family, depths, middle, low if banded else None, high if banded else None, solved)


def _see(curves: list[Curve], depths: list[int], times: dict[str, list[Floats]], ahead: str) -> str:
    tried = [curve for curve in curves if len(times[curve.label][-1])]
    reached = [curve.label for curve in tried if np.isfinite(curve.y[-1])]
    said = f"No agent solves depth {depths[-1]} in half of its seeds."
    if reached:
        said = f"{len(reached)} of {len(tried)} agents solve depth {depths[-1]} in half of their seeds. {ahead}".strip()
    ends: dict[int, list[str]] = {}
    for curve in curves:
        solved = np.flatnonzero(np.isfinite(curve.y))
        if solved.size and any(len(t) for t in times[curve.label][solved[-1] + 1 :]):
            ends.setdefault(depths[solved[-1]], []).append(curve.label)
    if ends:
        shallow = min(ends)
        said += f" The first to fall behind: {', '.join(ends[shallow])}, beyond depth {shallow}."
    return said


def _ahead(kept: Sequence[tuple[str, list[Runs]]], depth: int) -> str:
    """Who solves the deepest soonest, by tests, of those that do; nothing if there is nobody to compare with."""
    there = {label: [run for run in runs if run.spec.world["depth"] == depth] for label, runs in kept}
    able = {label: runs for label, runs in there.items() if len(runs) > 1 and np.isfinite(_median(runs))}
    if len(able) < 2:
        return ""
    where = world_label(next(iter(able.values()))[0].spec)
    samples = [sample(label, where, runs, [float(run.solved[0]) for run in runs]) for label, runs in able.items()]
    return contest(samples, "solved").sentence


def _median(runs: list[Runs]) -> float:
    return median_time(np.array([run.solved[0] for run in runs]))


def _caption(counts: list[int], dropped: int, goal: str) -> str:
    size = f"{max(counts)}" if max(counts) == min(counts) else f"{min(counts)} to {max(counts)}"
    bands = f"bands, if there are {FEWEST} or more: 95% intervals of the median"
    if max(counts) < FEWEST:
        bands = f"no intervals, for these need {FEWEST} or more"
    left = f" The {dropped} agents that solved least are left out." if dropped else ""
    return (
        f"Solved: the first episode by which a tenth of all so far reached the {goal}. Median over {size} seeds, "
        f"those unsolved counted as longer than the cap; a curve ends where half of the seeds fail; {bands}.{left}"
    )


def _table(depths: list[int], times: dict[str, list[Floats]]) -> Html:
    rows = [[label, *map(_cell, by_depth)] for label, by_depth in times.items()]
    return table("Median episodes until solved", ["agent", *(f"L = {d}" for d in depths)], rows)


def _cell(times: Floats) -> str:
    if not len(times):
        return ""
    m = median_interval(times)
    solved = f"({np.isfinite(times).sum()}/{len(times)} solved)"
    if len(times) < FEWEST:
        return f"{number(m.estimate)} {solved}"
    high = number(m.high) if np.isfinite(m.high) else "cap"
    return f"{number(m.estimate)} [{number(m.low)}, {high}] {solved}"


def planning(summary: StoreSummary) -> Exhibit | None:
    """Backups of a state and action an episode: the sweeps that agents report, times the pairs that each backs up."""
    counted = [run for run in summary.runs if _has_depth(run) and "sweeps" in run.diagnostics]
    groups = together((run for run in counted if run.spec.stop == "never"), "depth", any_prior=True)
    group = max(groups, key=lambda g: len(_depths(g)), default=[])
    depths = _depths(group)
    whole = [runs for runs in by_contestant(group) if _depths(runs) == depths]
    pairs = _pairs(group)
    if len(depths) < 2 or not whole or not pairs:
        return None
    kept = ordered(whole[:MOST_SERIES])
    x, one = np.array(depths, float), np.array([pairs[depth] for depth in depths], float)
    sweeps = {label: _sweeps(summary, runs, depths) for label, runs in kept}
    notes = {label: [f"{s:.1f} sweeps" for s in counts] for label, counts in sweeps.items()}
    curves = [
        Curve(label, runs[0].spec.agent["name"], x, sweeps[label] * one, note=notes[label]) for label, runs in kept
    ]
    caption = f"Counted, not timed: mean over {group[0].spec.episodes:,} episodes of every run."
    plot = Plot(
        "What planning costs", "depth L", "backups an episode", [*curves, Curve("one sweep", "", x, one)], caption,
        x_log=True, y_log=True,
    )  # fmt: skip
    last = "; ".join(f"{counts[-1]:.1f} ({label})" for label, counts in sweeps.items())
    rows = [[label, *(f"{s:.2f}" for s in counts)] for label, counts in sweeps.items()]
    numbers = table("Mean sweeps an episode", ["agent", *(f"L = {d}" for d in depths)], rows)
    see = f"Sweeps through all states an episode at depth {depths[-1]}: {last}."
    return Exhibit.of_plot("planning", plot, see, numbers, behind(group))


def _pairs(group: list[Runs]) -> dict[int, int]:
    """States times actions by depth; empty if a world is not one of those known here."""
    try:
        worlds = {run.spec.world["depth"]: run.spec for run in group}
        return {depth: build_world(spec).reward.size for depth, spec in worlds.items()}
    except (ValueError, TypeError, KeyError, MemoryError, OverflowError):
        return {}


def _sweeps(summary: StoreSummary, runs: list[Runs], depths: list[int]) -> Floats:
    whole = {run.spec.name: summary.store.get(run.spec).diagnostics["sweeps"].mean() for run in runs}
    counts = [[whole[run.spec.name] for run in runs if run.spec.world["depth"] == depth] for depth in depths]
    return np.array([np.mean(x) if x else np.nan for x in counts])
