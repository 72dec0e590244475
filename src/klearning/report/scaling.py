"""Time to solve against depth, and what planning costs: one exhibit a setting."""

import numpy as np

from klearning.arrays.types import Floats
from klearning.experiments.statistics import FEWEST, median_interval
from klearning.report import commands
from klearning.report.charts import MOST_SERIES, Chart, Series, ordered, plain
from klearning.report.exhibits import MOST, Exhibit
from klearning.report.gather import Gathered, Trial, by_agent, together
from klearning.report.labels import protocol_word, world_label
from klearning.report.markup import Html, number, table
from klearning.report.settings import behind


def exhibits(gathered: Gathered) -> tuple[list[Exhibit], int]:
    """Worlds with a depth, at two depths or more. Where runs were made to stop when solved, these alone."""
    deep = [t for t in gathered.trials if isinstance(t.spec.world.get("depth"), int)]
    stopped = [trial for trial in deep if trial.spec.stop == "solved"]
    groups = [g for g in together(stopped or deep, "depth") if len(_depths(g)) > 1]
    return [_exhibit(f"scaling-{i}", group) for i, group in enumerate(groups[:MOST])], len(groups)


def _depths(group: list[Trial]) -> list[int]:
    return sorted({trial.spec.world["depth"] for trial in group})


def _times(trials: list[Trial], depths: list[int]) -> list[Floats]:
    return [np.array([trial.solved for trial in trials if trial.spec.world["depth"] == depth]) for depth in depths]


def _exhibit(name: str, group: list[Trial]) -> Exhibit:
    companies = sorted(by_agent(group).values(), key=lambda trials: -sum(np.isfinite(t.solved) for t in trials))
    kept = ordered(companies[:MOST_SERIES])
    depths, spec = _depths(group), group[0].spec
    times = {label: _times(trials, depths) for label, _, _, trials in kept}
    series = [_series(label, colour, line, depths, times[label]) for label, colour, line, _ in kept]
    x = np.array(depths, float)
    coin = 2.0 ** (x - 1)
    references = [
        Series("2^(L−1)", 0, 1, plain(x), plain(np.where(coin <= spec.episodes, coin, np.nan))),
        Series("cap", 0, 2, plain(x), plain(np.full_like(x, spec.episodes))),
    ]
    word = protocol_word(spec.protocol)
    title = f"{world_label(spec.world, 'depth')}{f', {word}' if word else ''}, up to {spec.episodes:,} episodes"
    return Exhibit(
        Chart(name, "depth L", "episodes until solved (median)", series, references, y_log=True),
        title,
        _see(series, depths, times),
        _caption([len(t) for found in times.values() for t in found if len(t)], len(companies) - len(kept)),
        _table(depths, times),
        behind(group, commands.of_scaling(group, depths)),
    )


def _series(label: str, colour: int, line: int, depths: list[int], times: list[Floats]) -> Series:
    medians = [median_interval(t) if len(t) else None for t in times]
    solved = [f"{np.isfinite(t).sum()} of {len(t)} seeds solved" for t in times]
    banded = any(len(t) >= FEWEST for t in times)
    low = plain([m.low if m else np.nan for m in medians])
    high = plain([m.high if m else np.nan for m in medians])
    middle = plain([m.estimate if m else np.nan for m in medians])
    return Series(label, colour, line, plain(depths), middle, low if banded else None, high if banded else None, solved)


def _see(series: list[Series], depths: list[int], times: dict[str, list[Floats]]) -> str:
    reached = [s for s in series if s.y[-1] is not None]
    said = f"No agent solves depth {depths[-1]} in half of its seeds."
    if reached:
        best = min(reached, key=lambda s: s.y[-1] or 0.0)
        said = (
            f"At depth {depths[-1]} {best.label} is first, after a median of {number(best.y[-1])} episodes; "
            f"{len(reached)} of {len(series)} agents solve it in half of their seeds."
        )
    ends: dict[int, list[str]] = {}
    for s in series:
        solved = [d for d, y in zip(depths, s.y) if y is not None]
        if len(solved) < len(depths) and solved:
            ends.setdefault(solved[-1], []).append(s.label)
    if ends:
        shallow = min(ends)
        said += f" The first to fall behind: {', '.join(ends[shallow])}, beyond depth {shallow}."
    return said


def _caption(counts: list[int], dropped: int) -> str:
    size = f"{max(counts)}" if max(counts) == min(counts) else f"{min(counts)} to {max(counts)}"
    bands = f"bands, where there are {FEWEST} or more: 95% intervals of the median"
    if max(counts) < FEWEST:
        bands = f"no intervals, for these need {FEWEST} or more"
    left = f" The {dropped} agents that solved least are left out." if dropped else ""
    return (
        f"Solved: the first episode by which a tenth of all so far reached the treasure. Median over {size} seeds, "
        f"those unsolved counted as longer than the cap; a curve ends where half of the seeds fail; {bands}.{left}"
    )


def _table(depths: list[int], times: dict[str, list[Floats]]) -> Html:
    rows = [[label, *map(_cell, found)] for label, found in times.items()]
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


def planning(gathered: Gathered) -> Exhibit | None:
    """Backups of a state and action an episode: the sweeps that agents report, times states and actions of DeepSea."""
    known = [t for t in gathered.trials if t.spec.world["name"] == "deep_sea" and np.isfinite(t.sweeps)]
    groups = together((t for t in known if t.spec.stop == "never"), "depth")
    group = max(groups, key=lambda g: len(_depths(g)), default=[])
    depths = _depths(group)
    if len(depths) < 2:
        return None
    L = np.array(depths, float)
    whole = [trials for trials in by_agent(group).values() if _depths(trials) == depths]
    kept = ordered(whole[:MOST_SERIES])
    if not kept:
        return None
    sweeps = {label: _sweeps(trials, depths) for label, _, _, trials in kept}
    series = [
        Series(
            label, c, l, plain(L), plain(sweeps[label] * L * (L + 1)), note=[f"{s:.1f} sweeps" for s in sweeps[label]]
        )
        for label, c, l, _ in kept
    ]
    one = Series("one sweep: L(L+1)", 0, 1, plain(L), plain(L * (L + 1)))
    chart = Chart("planning", "depth L", "backups an episode", series, [one], x_log=True, y_log=True)
    last = "; ".join(f"{label} {found[-1]:.1f}" for label, found in sweeps.items())
    rows = [[label, *(f"{s:.2f}" for s in found)] for label, found in sweeps.items()]
    return Exhibit(
        chart, "What planning costs", f"Sweeps through all states an episode at depth {depths[-1]}: {last}.",
        f"Counted, not timed: mean over {group[0].spec.episodes:,} episodes of every run.",
        table("Mean sweeps an episode", ["agent", *(f"L = {d}" for d in depths)], rows),
        behind(group, commands.of_planning(group)),
    )  # fmt: skip


def _sweeps(trials: list[Trial], depths: list[int]) -> Floats:
    found = [[t.sweeps for t in trials if t.spec.world["depth"] == d] for d in depths]
    return np.array([np.mean(x) if x else np.nan for x in found])
