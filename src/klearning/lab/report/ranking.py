"""Who is ahead, by tests: regret at the end of comparable runs, one table of places per comparison."""

import json

import numpy as np

from klearning.lab.comparison import Comparison, Sample, contest
from klearning.lab.comparison.text import agent_table, pair_table
from klearning.lab.experiments.summaries import StoreSummary, by_contestant
from klearning.lab.report import regret_curves
from klearning.lab.report.charts import MOST_SERIES, ordered
from klearning.lab.report.exhibits import MOST, Exhibit
from klearning.lab.report.labels import free_parameters
from klearning.numerics.display.markup import folded, table
from klearning.tabular.trials.runs import Runs

CAPTION = (
    "Place: from one behind all that are surely better to one before all that are surely worse, for all agents at "
    "once; what lies between, the tests leave open. Middle half (IQM): the mean without the best and the worst quarter "
    "of the runs. Intervals are of 95%."
)


def exhibits(summary: StoreSummary) -> list[Exhibit]:
    """Those of the regret curves that have two contestants with two runs or more."""
    groups = regret_curves.groups(summary)[:MOST]
    shown: list[Exhibit] = []
    for where, group in zip(regret_curves.titles(groups), groups, strict=True):
        comparison = compare_group(where, group)
        if comparison is not None:
            shown.append(_exhibit(f"ranking-{len(shown)}", where, comparison))
    return shown


def compare_group(where: str, group: list[Runs]) -> Comparison | None:
    """The tests between the contestants of a group; None if there is nothing to test."""
    companies = [runs for runs in by_contestant(group) if len(runs) > 1]
    kept = ordered(sorted(companies, key=lambda runs: float(np.mean(_ends(runs))))[:MOST_SERIES])
    if len(kept) < 2:
        return None
    return contest([sample(label, where, runs, _ends(runs)) for label, runs in kept])


def sample(label: str, where: str, runs: list[Runs], numbers: list[float]) -> Sample:
    """A contestant's runs with a number for each, and the chances that they met."""
    free = free_parameters(runs[0].spec)
    chances = json.dumps([[run.spec.seed, *(run.spec.world[name] for name in free)] for run in runs])
    # worlds that are drawn are the same for all; in one world only variants of one class meet the same chances
    shared = f"world:{chances}" if free else f"seed:{runs[0].spec.agent['name']}:{chances}"
    return Sample(label, {where: np.array(numbers)}, {where: shared}, runs[0].spec.episodes)


def _ends(runs: list[Runs]) -> list[float]:
    return [float(run.regret[0, -1].round(9)) for run in runs]


def _exhibit(name: str, where: str, comparison: Comparison) -> Exhibit:
    pairs = folded(f"All {len(comparison.pairs)} pairs", table("Pairs", *pair_table(comparison)), class_="numbers")
    numbers = table("Places, by cumulative regret at the end", *agent_table(comparison))
    return Exhibit(name, where, comparison.sentence, numbers, CAPTION, pairs)
