"""No more seeds if they would tell nothing: runs that end when solved, watched while their seeds go on.

An experiment is specs that differ in their seeds alone. Its first seeds are run, up to a look; then those up to the
next. It ends at a look at which the 95% interval of the share of runs that solved their world (Wilson's) lies below one
half: none of 5, at most 1 of 10, at most 5 of 20. The median time is then longer than the cap, and further seeds would
for the most part be further runs to the cap. If one run in two solves, that is said wrongly in 5.03% of cases, if
three in five do in 1.2%.

How far an experiment is run depends on its own first seeds alone: not on the executor, on the order of runs, or on what
else is in the store.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.numerics.statistics import fraction_interval

LOOKS = (5, 10, 20)  # after how many seeds; the first are the five of the paper's figure


def most_fail(solved: int, seeds: int) -> bool:
    """Whether fewer than half of all runs solve their world, at a level of 95%."""
    return fraction_interval(solved, seeds).high < 0.5


def seeds_to_run(specs: Iterable[Spec], store: Store, looks: Sequence[int] = LOOKS) -> list[Spec]:
    """Their parts that are to be in the store: of every experiment the seeds up to the look that is next, or its last.

    As long as it grows once all of it is there, more is to be run. Runs that do not end when solved are always in it.
    """
    experiments: dict[str, list[Spec]] = {}
    for part in {part.name: part for spec in specs for part in spec.parts}.values():
        experiments.setdefault(replace(part, seed=0, seeds=1).canonical, []).append(part)
    solved = {row["name"]: row["solved_seeds"] or 0 for row in store.rows()} if looks else {}
    return [part for parts in experiments.values() for part in _so_far(parts, solved, looks)]


def _so_far(parts: list[Spec], solved: Mapping[str, int], looks: Sequence[int]) -> list[Spec]:
    ordered = sorted(parts, key=lambda part: part.seed)
    if ordered[0].stop != "solved":
        return ordered
    total = sum(part.seeds for part in ordered)
    for look in (look for look in looks if look < total):
        first = [part for i, part in enumerate(ordered) if sum(p.seeds for p in ordered[: i + 1]) <= look]
        counts = [solved[part.name] for part in first if part.name in solved]
        if len(counts) < len(first) or most_fail(sum(counts), sum(part.seeds for part in first)):
            return first
    return ordered
