"""A store, read once: of every run the few numbers that pages and claims need, with what could not be read named."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.numerics.types import Ints
from klearning.tabular.trials.runs import Runs

POINTS = 50  # of a curve, spaced evenly, and as many spaced evenly by ratio


def agent_key(spec: Spec) -> str:
    """An agent with its parameters, as one text."""
    return json.dumps(spec.agent, sort_keys=True)


def contestant_key(spec: Spec) -> str:
    """An agent and its prior."""
    return f"{agent_key(spec)} {json.dumps(spec.prior, sort_keys=True)}"


@dataclass(frozen=True, eq=False)
class StoreSummary:
    """A summary of a store.

    ``runs`` are of one seed each. Of those that have curves the regret is kept at `moments`; the others were cut short,
    or their policies were hardly evaluated, and have no points. Specs that keep some episodes belong to studies of
    papers, which read them. ``goalless`` are the names of runs whose world has no goal.
    """

    store: Store
    runs: list[Runs]
    unreadable: list[str]
    goalless: frozenset[str] = frozenset()


def moments(episodes: int) -> Ints:
    """The episodes at which curves are drawn."""
    even, by_ratio = np.linspace(1, episodes, POINTS), np.geomspace(1, episodes, POINTS)
    return np.unique(np.round(np.concatenate([even, by_ratio]))).astype(np.int64)


def summarise(store: Store) -> StoreSummary:
    runs, unreadable, goalless = [], [], set()
    for folder in store.folders():
        try:
            result = store.read(folder)
            if not result.spec.keep and result.spec.device == "cpu":
                runs.append(_summary(result))
                if not store.has_goal(folder):
                    goalless.add(result.spec.name)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            unreadable.append(str(error) if "broken" in str(error) else f"run {folder.name[:12]} is odd: {error}")
    return StoreSummary(store, runs, unreadable, frozenset(goalless))


def _summary(runs: Runs) -> Runs:
    spec, length = runs.spec, len(runs.points)
    if not np.isfinite(runs.values).all():
        raise ValueError("its hits and values are not one number an episode")
    whole = spec.stop == "never" and length == spec.episodes and spec.evaluate_every * 20 <= spec.episodes
    few = runs.at(moments(spec.episodes) if whole or spec.episodes == length == 1 else ())
    return replace(few, visits=None, snapshots={})  # read again by those who show them


def setting(run: Runs, *free: str, any_prior: bool = False) -> str:
    """All of a spec that must be equal for two runs to be compared.

    ``free`` are parameters of the world that vary; ``any_prior`` lets what agents know vary, too.
    """
    data = run.spec.data()
    for key in ("agent", "seed", "snapshots", *(["prior"] if any_prior else [])):
        del data[key]
    data["world"] = {key: value for key, value in data["world"].items() if key not in free}
    return json.dumps(data, sort_keys=True)


def together(runs: Iterable[Runs], *free: str, any_prior: bool = False) -> list[list[Runs]]:
    """Runs that can be compared, the largest company first."""
    groups: dict[str, list[Runs]] = {}
    for run in runs:
        groups.setdefault(setting(run, *free, any_prior=any_prior), []).append(run)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [sorted(members, key=lambda run: (contestant_key(run.spec), run.spec.seed)) for _, members in ranked]


def by_contestant(runs: Iterable[Runs]) -> list[list[Runs]]:
    """Runs by agent and by what it knows."""
    companies: dict[str, list[Runs]] = {}
    for run in runs:
        companies.setdefault(contestant_key(run.spec), []).append(run)
    return list(companies.values())
