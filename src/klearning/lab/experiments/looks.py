"""No more seeds where they would tell nothing: runs that end when solved, watched while their seeds go on.

An experiment is specs that differ in their seed alone. Its first seeds are run, up to a look; then those up to the
next. It ends at a look at which the 95% interval of the share of runs that solved their world (Wilson's) lies below one
half: none of 5, at most 1 of 10, at most 5 of 20. The median time is then longer than the cap, and further seeds would
for the most part be further runs to the cap. Where one run in two solves, that is said wrongly in 5.03% of cases, where
three in five do in 1.2%.

How far an experiment is run depends on its own first seeds alone: not on the executor, on the order of runs, or on what
else is in the store.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.numerics.statistics import fraction_interval

LOOKS = (5, 10, 20)  # after how many seeds; the first are the five of the paper's figure


def most_fail(solved: int, seeds: int) -> bool:
    """Whether fewer than half of all runs solve their world, at a level of 95%."""
    return fraction_interval(solved, seeds).high < 0.5


def within_looks(specs: Iterable[Spec], store: Store, looks: Sequence[int] = LOOKS) -> list[Spec]:
    """Those that are to be in the store: of every experiment the seeds up to the look that is next, or was its last.

    As long as it grows once all of it is there, more is to be run. Runs that do not end when solved are always in it.
    """
    experiments: dict[str, list[Spec]] = {}
    for spec in {spec.name: spec for spec in specs}.values():
        experiments.setdefault(replace(spec, seed=0).canonical, []).append(spec)
    solved = {row["name"]: row["solved"] is not None for row in store.rows()} if looks else {}
    return [spec for seeds in experiments.values() for spec in _so_far(seeds, solved, looks)]


def _so_far(seeds: list[Spec], solved: dict[str, bool], looks: Sequence[int]) -> list[Spec]:
    ordered = sorted(seeds, key=lambda spec: spec.seed)
    if ordered[0].stop != "solved":
        return ordered
    for look in (look for look in looks if look < len(ordered)):
        known = [solved[spec.name] for spec in ordered[:look] if spec.name in solved]
        if len(known) < look or most_fail(sum(known), look):
            return ordered[:look]
    return ordered
