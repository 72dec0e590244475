"""A store, read once: of every run the few numbers that pages and claims need, with what could not be read named."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Record, Store
from klearning.numerics.types import Floats, Ints

POINTS = 50  # of a curve, spaced evenly, and as many spaced evenly by ratio


def agent_key(spec: Spec) -> str:
    """An agent with its parameters, as one text."""
    return json.dumps(spec.agent, sort_keys=True)


@dataclass(frozen=True, eq=False)
class RunSummary:
    """One run in a few numbers; its arrays stay in the folder."""

    spec: Spec
    folder: Path
    ran: int
    first_hit: float
    solved: float
    regret: Floats  # cumulative, at `moments`; empty where the run was cut short or policies were hardly evaluated
    sweeps: float  # mean a planning step, nan where the agent does not say

    @property
    def agent(self) -> str:
        return agent_key(self.spec)

    @property
    def contestant(self) -> str:
        """An agent and its prior."""
        return f"{self.agent} {json.dumps(self.spec.prior, sort_keys=True)}"


@dataclass(frozen=True, eq=False)
class StoreSummary:
    """What a store holds."""

    store: Store
    runs: list[RunSummary]
    unreadable: list[str]


def moments(episodes: int) -> Ints:
    """The episodes at which curves are drawn."""
    even, by_ratio = np.linspace(1, episodes, POINTS), np.geomspace(1, episodes, POINTS)
    return np.unique(np.round(np.concatenate([even, by_ratio]))).astype(np.int64)


def summarise(store: Store) -> StoreSummary:
    runs, unreadable = [], []
    for folder in store.folders():
        try:
            runs.append(_summary(store.read(folder), folder))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            unreadable.append(str(error) if "broken" in str(error) else f"run {folder.name[:12]} is odd: {error}")
    return StoreSummary(store, runs, unreadable)


def _summary(record: Record, folder: Path) -> RunSummary:
    spec, hits, values = record.spec, record.arrays["hits"], record.arrays["values"]
    if not (hits.ndim == values.ndim == 1 and len(hits) == len(values) > 0 and np.isfinite(values).all()):
        raise ValueError("its hits and values are not one number an episode")
    for kind in ("world", "agent"):
        if not isinstance(getattr(spec, kind)["name"], str):
            raise ValueError(f"its {kind} has no name")
    if not isinstance(spec.protocol, str) or not isinstance(spec.prior, dict):
        raise ValueError("its protocol or prior is no such thing")
    whole = spec.stop == "never" and len(values) == spec.episodes and spec.evaluate_every * 20 <= spec.episodes
    regret = record.regret[moments(spec.episodes) - 1] if whole or spec.episodes == len(values) == 1 else np.empty(0)
    sweeps = record.arrays.get("diagnostic_sweeps")
    return RunSummary(
        spec, folder, record.ran, record.first_hit, record.solved, regret,
        float(sweeps.mean()) if sweeps is not None and sweeps.size else float("nan"),
    )  # fmt: skip


def setting(run: RunSummary, *free: str, any_prior: bool = False) -> str:
    """All of a spec that must be equal for two runs to be compared.

    ``free`` are parameters of the world that vary; ``any_prior`` lets what agents know vary, too.
    """
    data = run.spec.data()
    for key in ("agent", "seed", "snapshots", *(["prior"] if any_prior else [])):
        del data[key]
    data["world"] = {key: value for key, value in data["world"].items() if key not in free}
    return json.dumps(data, sort_keys=True)


def together(runs: Iterable[RunSummary], *free: str, any_prior: bool = False) -> list[list[RunSummary]]:
    """Runs that can be compared, the largest company first."""
    groups: dict[str, list[RunSummary]] = {}
    for run in runs:
        groups.setdefault(setting(run, *free, any_prior=any_prior), []).append(run)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [sorted(members, key=lambda run: (run.contestant, run.spec.seed)) for _, members in ranked]


def by_contestant(runs: Iterable[RunSummary]) -> list[list[RunSummary]]:
    """Runs by agent and by what it knows."""
    companies: dict[str, list[RunSummary]] = {}
    for run in runs:
        companies.setdefault(run.contestant, []).append(run)
    return list(companies.values())
