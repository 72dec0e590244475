"""The tables of docs/evidence/calibrated.md from the study's folder: python -m bench.calibrated_tables [--tuning]

Writes docs/evidence/data/calibrated.*.json, a table for each part that was played; `make pages` shows them. Held-out
worlds by default, except for the search. Ratios are to PSRL's mean on the same worlds; brackets are 95% intervals over
resampled worlds. Numbers do not depend on the machine, apart from the cost.
"""

import argparse
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import calibrated_study as study
from bench.calibrated_study import DOUBLED, FAMILY, OURS, THOMPSON
from bench.record import record
from klearning.lab.benchmarks.bandits.bayes_optimal import least_bandit_regret, least_regret_of_two_layers
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats

RESAMPLES = 2000
OTHERS = (OURS, *(agent for agent in FAMILY if agent not in (OURS, THOMPSON)))
By = dict[str, Floats]  # agent → (worlds, numbers)
Rows = list[list[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=study.OUT, help="the study's folder; default: %(default)s")
    parser.add_argument("--tuning", action="store_true", help="worlds of tuning")
    parser.add_argument("--print", action="store_true", dest="shown", help="print the tables, and write nothing")
    given = parser.parse_args()
    results = study.read(study.folder(given.out, not given.tuning))
    if search := study.read(study.folder(given.out, False)).get("search"):
        results["search"] = search
    for name, (headings, rows, part) in tables(results, given.out).items():
        print(f"\n{name}\n\n| {' | '.join(headings)} |\n|{'---|' * len(headings)}")
        print("\n".join(f"| {' | '.join(map(str, row))} |" for row in rows), flush=True)
        if not given.shown:
            worlds = "" if given.tuning or part.startswith("search") else " --held-out"
            command = part if part in ("cost", "phases") else f"run{worlds} --only {part}"
            device = "" if part == "cost" else "Any machine"
            record(f"calibrated.{name}", f"python -m bench.calibrated_study {command}", headings, rows, device=device)


def tables(results: dict[str, dict[str, By]], folder: Path) -> dict[str, tuple[list[str], Rows, str]]:
    """Headings, rows and part of every table of which there are numbers."""
    ratios = ["L×S×A", "MDPs", THOMPSON, *OTHERS, f"{OURS} ÷ counts × 2"]
    tails = ["L×S×A", THOMPSON, *OTHERS]
    made: dict[str, tuple[list[str], Rows, str]] = {}
    for part, point in (("sizes", 1), ("long", 1), ("priors", 1)):
        if part in results:
            cases = {"sizes": study.SIZES, "long": study.SIZES, "priors": study.PRIOR_CASES}[part]
            played = [(case, results[part][case]) for case in cases if THOMPSON in results[part].get(case, {})]
            made[part] = ratios, [ratio_row(case, by, point) for case, by in played], part
            made[f"{part}_tails"] = tails, [tail_row(case, by, point) for case, by in played], part
    if "search" in results:
        made |= search_tables(results["search"])
    if "bandits" in results:
        made["bandit"] = bandit_table(results)
    if "forks" in results:
        made["forks"] = fork_table(results["forks"])
    if "deep_sea" in results:
        made["deep_sea"] = deep_sea_table(results["deep_sea"])
    if elsewhere := [part for part in ("worlds", "simulators", "bsuite") if part in results]:
        agents = [agent for agent in FAMILY if any(agent in by for part in elsewhere for by in results[part].values())]
        rows = [row for part in elsewhere for row in elsewhere_rows(part, results[part], agents)]
        made["elsewhere"] = ["case", *agents], rows, " ".join(elsewhere)
    for name, table in (("cost", cost_table), ("phases", phase_table)):
        path = folder / f"{name}.json"
        if path.exists():
            made[name] = table(json.loads(path.read_text()))
    return made


def paired(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The worlds that both played."""
    count = min(len(x), len(y))
    both = np.isfinite(x[:count]) & np.isfinite(y[:count])
    return x[:count][both], y[:count][both]


def ratio(x: Floats, y: Floats, measure: Callable[..., Any] = np.mean) -> tuple[float, float, float]:
    """measure(x) / measure(y) with a percentile interval over resampled pairs."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, x.size, (RESAMPLES, x.size))
    low, high = np.quantile(measure(x[at], axis=1) / measure(y[at], axis=1), (0.025, 0.975))
    return float(measure(x) / measure(y)), float(low), float(high)


def q95(x: Floats, axis: int | None = None) -> Any:
    return np.quantile(x, 0.95, axis=axis)


def with_interval(estimate: float, low: float, high: float) -> str:
    return f"{estimate:.3f} [{low:.3f}, {high:.3f}]"


def cells(by: By, point: int, cell: Callable[[Floats, Floats], str]) -> Iterator[str]:
    """One per agent: of the worlds that it and PSRL played, whose number is added if it is not PSRL's."""
    theirs = by[THOMPSON][:, point]
    for agent in OTHERS:
        x, y = paired(by[agent][:, point], theirs) if agent in by else (theirs[:0], theirs[:0])
        fewer = f" ({x.size:,} MDPs)" if x.size < np.isfinite(theirs).sum() else ""
        yield cell(x, y) + fewer if x.size else "–"


def ratio_row(case: str, by: By, point: int) -> list[Any]:
    theirs = by[THOMPSON][:, point]
    theirs = theirs[np.isfinite(theirs)]
    shown = cells(by, point, lambda x, y: with_interval(*ratio(x, y)))
    both = [by[agent][:, point] for agent in (OURS, DOUBLED) if agent in by]
    apart = with_interval(*ratio(*paired(*both))) if len(both) == 2 else "–"
    return [case, theirs.size, f"{theirs.mean():.4g}", *shown, apart]


def tail_row(case: str, by: By, point: int) -> list[Any]:
    """95th percentiles, as ratios to PSRL's."""
    theirs = by[THOMPSON][:, point]
    largest = f"{q95(theirs[np.isfinite(theirs)]):.4g}"
    return [case, largest, *cells(by, point, lambda x, y: with_interval(*ratio(x, y, q95)))]


def search_tables(results: dict[str, By]) -> dict[str, tuple[list[str], Rows, str]]:
    """All settings, the best of an agent first; and of each agent its default and its best setting.

    The best has the least mean of the ratios to PSRL's regret, over the sizes.
    """
    sizes = [size for size in study.SEARCH_SIZES if size in results]
    every: Rows = []
    chosen: Rows = []
    for agent, (_, tried) in study.SETTINGS.items():
        rows = [search_row(agent, settings, [results[size] for size in sizes]) for settings in tried]
        played = sorted((row for row in rows if row), key=lambda row: float(row[-1]))
        every += played
        if rows[0]:
            best = [] if played[0] is rows[0] else [[agent, f"best of {len(played)}: {played[0][1]}", *played[0][2:]]]
            label = "default" if best else f"default, best of {len(played)}"
            chosen += [[agent, f"{label}: {rows[0][1]}", *rows[0][2:]], *best]
    headings = ["agent", "setting", "MDPs", *sizes, "mean"]
    part = f"search --worlds {max(row[2] for row in every)}"
    return {"search": (headings, chosen, part), "search_settings": (headings, every, part)}


def search_row(agent: str, settings: dict[str, Any], sizes: Sequence[By]) -> list[Any]:
    """MDPs of each size, ratios to PSRL's regret after 1,000 episodes and their mean; none if a size is missing."""
    name, thompson = (study.setting_name(*of) for of in ((agent, settings), (THOMPSON, study.SETTINGS[THOMPSON][1][0])))
    if not all(name in by and thompson in by for by in sizes):
        return []
    pairs = [paired(by[name][:, 1], by[thompson][:, 1]) for by in sizes]
    ratios = [ratio(*pair) for pair in pairs]
    mean = np.mean([estimate for estimate, _, _ in ratios])
    fewest = min(x.size for x, _ in pairs)
    return [agent, name.partition(": ")[2], fewest, *(with_interval(*x) for x in ratios), f"{mean:.3f}"]


def bandit_table(results: dict[str, dict[str, By]]) -> tuple[list[str], Rows, str]:
    """Regret as a multiple of the least that is possible."""
    arms, layers = results["bandits"]["two arms"], results.get("tiny", {}).get("two layers", {})
    least = [least_bandit_regret(t) for t in study.BANDIT_POINTS]
    least_tiny = [least_regret_of_two_layers(t) for t in study.TINY_POINTS if layers]
    headings = ["agent", *(f"two arms, {t} rounds" for t in study.BANDIT_POINTS)]
    headings += [f"two layers, {t} episodes" for t in study.TINY_POINTS if layers]
    rows: Rows = [["Bayes-optimal: regret", *(f"{x:.3f}" for x in (*least, *least_tiny))]]
    for agent in sorted(arms, key=lambda name: float(np.nanmean(arms[name][:, -1]))):
        rows.append([agent, *multiples(arms[agent], least), *multiples(layers.get(agent), least_tiny)])
    return headings, rows, "bandits tiny"


def multiples(x: Floats | None, least: Sequence[float]) -> Iterator[str]:
    for i, limit in enumerate(least):
        known = x[:, i][np.isfinite(x[:, i])] if x is not None else np.zeros(0)
        told = [bound / limit for bound in mean_interval(known)] if known.size else []
        yield with_interval(*told) if told else "–"


def fork_table(results: dict[str, By]) -> tuple[list[str], Rows, str]:
    kinds = ("known rewards", "unknown rewards")
    headings = ["agent"]
    for kind in kinds:
        headings += [f"{kind}: regret after 1,000 episodes", f"{kind}: loss per episode, 501 to 1,000"]
    rows: Rows = []
    for agent in FAMILY:
        row: list[Any] = [agent]
        for kind in kinds:
            x = results.get(kind, {}).get(agent)
            row += ["–", "–"] if x is None else [f"{x[:, 1].mean():.2f}", f"{(x[:, 1] - x[:, 0]).mean() / 500:.4f}"]
        rows.append(row)
    return headings, rows, "forks"


def deep_sea_table(results: dict[str, By]) -> tuple[list[str], Rows, str]:
    """Means over the seeds that got there, and how many did not."""
    depths = [depth for depth in study.DEPTHS if depth in results]
    headings = ["agent", *(f"{depth}: {what}" for depth in depths for what in ("first hit", "solved"))]
    rows: Rows = []
    for agent in FAMILY:
        columns = [results[depth][agent][:, i] if agent in results[depth] else None for depth in depths for i in (0, 1)]
        rows.append([agent, *("–" if x is None else mean_of_finite(x) for x in columns)])
    return headings, rows, "deep_sea"


def mean_of_finite(x: Floats) -> str:
    there = x[np.isfinite(x)]
    never = f", {x.size - there.size} never" if there.size < x.size else ""
    if not there.size:
        return f"–{never}"
    told = mean_interval(there)
    return f"{told.estimate:.4g} [{told.low:.4g}, {told.high:.4g}]{never}"


def elsewhere_rows(part: str, results: dict[str, By], agents: Sequence[str]) -> Iterator[list[Any]]:
    for case, by in results.items():
        yield [f"{part}, {case}", *(mean_of_finite(by[agent][:, -1]) if agent in by else "–" for agent in agents)]


def cost_table(costs: dict[str, dict[str, list[float]]]) -> tuple[list[str], Rows, str]:
    """Medians over turns: of PSRL's µs, and of the ratios to it."""
    rows: Rows = []
    for case, by in costs.items():
        theirs = np.array(by[THOMPSON])
        shown = (f"{np.median(np.array(by[agent]) / theirs):.2f}" for agent in OTHERS)
        rows.append([case, f"{np.median(theirs):.1f}", *shown])
    return ["L×S×A", f"{THOMPSON}, µs", *OTHERS], rows, "cost"


def phase_table(phases: dict[str, list[list[float]]]) -> tuple[list[str], Rows, str]:
    """Mean regret per episode, by phase."""
    ends = [f"{first + 1:,} to {last:,}" for first, last in itertools.pairwise(study.PHASES)]
    rows: Rows = [
        [f"{case}, episodes {when}", f"{share:.2f}", f"{refused:.1e}" if refused else "0", *(f"{x:.4f}" for x in lost)]
        for case, by in phases.items()
        for when, (share, refused, *lost) in zip(ends, by, strict=True)
    ]
    headings = ["share of draws", "refused by the guard", "lost by draws", "lost by the others", DOUBLED]
    return ["L×S×A, episodes", *headings], rows, "phases"


if __name__ == "__main__":
    main()
