"""The paper's sentences, checked in what the store holds, whatever extent was run."""

from collections.abc import Iterator

import numpy as np

from klearning.experiments.store import Record
from klearning.papers.odonoghue2021 import bayes_regret, figure2, heatmaps
from klearning.papers.odonoghue2021.claims import Claim
from klearning.papers.odonoghue2021.protocols import PROTOCOLS, Protocol
from klearning.report.gather import Gathered, Trial
from klearning.report.labels import agent_label, paper_labels
from klearning.storage.codec import prior_data, world_data


def claims(gathered: Gathered) -> Iterator[tuple[str, str, list[Claim]]]:
    """Title, extent and claims of each of the paper's figures that the store can tell about."""
    for protocol in PROTOCOLS.values():
        found = times(gathered.trials, protocol)
        if found is not None:
            grid, cap, seeds = found
            yield f"Figure 2, {_word(protocol)}", f"{seeds} seeds, cap {cap:,}", figure2.claims(grid, protocol)
        for figure, check in (("figure3", heatmaps.claims_k_learning), ("figure4", heatmaps.claims_soft)):
            if (record := heat_record(gathered, figure, protocol)) is not None:
                yield f"Figure {figure[-1]}, {_word(protocol)}", f"seed {record.spec.seed}", check(record)
    regret = bayes(gathered)
    if regret is not None:
        worlds, episodes = next(iter(regret.values())).shape
        yield "Bayes regret", f"{worlds} worlds, {episodes:,} episodes", bayes_regret.claims(regret)


def _word(protocol: Protocol) -> str:
    return {"text": "fitted settings (text)", "printed": "as printed (printed)"}[protocol.name]


def times(trials: list[Trial], protocol: Protocol) -> tuple[figure2.Times, int, str] | None:
    """What figure 2 is drawn from, at the greatest cap and at those depths at which every one of its agents was run."""
    known, prior = paper_labels(protocol.name), prior_data(protocol.prior)
    ours = [
        t for t in trials
        if t.spec.protocol == protocol.name and t.spec.stop == "solved" and t.agent in known and t.spec.prior == prior
        and t.spec.world == world_data(protocol.world_data(t.spec.world.get("depth", 1)))
    ]  # fmt: skip
    for cap in sorted({t.spec.episodes for t in ours}, reverse=True):
        by: dict[tuple[str, int], list[float]] = {}
        for t in sorted((t for t in ours if t.spec.episodes == cap), key=lambda t: t.spec.seed):
            by.setdefault((agent_label(t.spec), t.spec.world["depth"]), []).append(t.solved)
        shown = list(protocol.contestants(left_out=False))
        depths = sorted({d for _, d in by if all((label, d) in by for label in shown)})
        extra = [label for label in protocol.left_out() if all((label, d) in by for d in depths)]
        if depths:
            grid = {label: {d: np.array(by[label, d]) for d in depths} for label in [*shown, *extra]}
            counts = {len(x) for row in grid.values() for x in row.values()}
            return grid, cap, f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return None


def heat_record(gathered: Gathered, figure: str, protocol: Protocol) -> Record | None:
    name = heatmaps.spec(figure, protocol).name
    trial = next((t for t in gathered.trials if t.spec.name == name), None)
    return gathered.store.read(trial.folder) if trial else None


def bayes(gathered: Gathered) -> dict[str, np.ndarray] | None:
    """What `bayes_regret` reads, at the most episodes and worlds for which the store has every one of its agents."""
    have = {t.spec.name for t in gathered.trials}
    lengths = {t.spec.episodes for t in gathered.trials if t.spec.protocol == "bayes"}
    seeds = [t.spec.seed for t in gathered.trials if t.spec.protocol == "bayes"]
    for episodes in sorted(lengths, reverse=True):
        for left_out in (True, False):
            agents = bayes_regret.contestants(left_out)
            wanted = bayes_regret.specs(max(seeds) + 1, episodes, left_out)
            worlds = 0
            while worlds <= max(seeds) and all(
                wanted[i * (max(seeds) + 1) + worlds].name in have for i in range(len(agents))
            ):
                worlds += 1
            if worlds > 1:
                return bayes_regret.read(gathered.store, worlds, episodes, left_out)
    return None
