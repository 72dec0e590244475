"""Everything the paper shows, by one call: run what the store lacks, draw the figures, check the claims."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from klearning.experiments.batch import Batch
from klearning.experiments.spec import Spec
from klearning.experiments.store import Store
from klearning.experiments.sweep import Outcome, Tally, run_batches, sweep
from klearning.figures.canvas import save
from klearning.papers.odonoghue2021 import (
    bayes_regret,
    figure1,
    figure2,
    heatmaps,
    knowledge,
    misspecified,
    planning_cost,
    study,
    study_report,
    watching,
)
from klearning.papers.odonoghue2021.claims import Claim, markdown
from klearning.papers.odonoghue2021.protocols import PROTOCOLS, Protocol
from klearning.storage.files import write_whole

FIGURES = ("figure1", "figure2", "figure3", "figure4", "watching", "bayes_regret", "planning_cost")
STUDIES = ("study", "misspecification", "knowledge")  # longer, and run only where they are asked for by name


@dataclass(frozen=True)
class Extent:
    """How much is run."""

    seeds: int = 5
    cap: int = figure2.CAP
    depths: dict[str, Sequence[int]] = field(default_factory=lambda: dict(figure2.DEPTHS))
    worlds: int = 30
    episodes: int = bayes_regret.EPISODES
    protocols: tuple[str, ...] = tuple(PROTOCOLS)
    figures: tuple[str, ...] = FIGURES
    left_out: bool = True  # also the algorithms that the paper ran but did not show
    bayes: study.Study = field(default_factory=study.Study)
    study_seeds: int = misspecified.SEEDS
    command: str = "make reproduce"


QUICK = Extent(
    seeds=3, cap=3000, depths={"text": (4, 6, 8, 10, 20), "printed": (4, 6)}, worlds=10, episodes=200,
    left_out=False, bayes=study.QUICK, study_seeds=3, command="make reproduce QUICK=1",
)  # fmt: skip


def chosen_protocols(extent: Extent) -> list[Protocol]:
    return [PROTOCOLS[name] for name in extent.protocols]


def specs(extent: Extent) -> list[Spec]:
    """All runs that the chosen figures need, the slowest kinds last."""
    wanted: list[Spec] = []
    for name in ("figure3", "figure4"):
        if name in extent.figures:
            wanted += [heatmaps.spec(name, protocol) for protocol in chosen_protocols(extent)]
    if "watching" in extent.figures:
        wanted += watching.specs()
    if "bayes_regret" in extent.figures:
        wanted += bayes_regret.specs(extent.worlds, extent.episodes, extent.left_out)
    if "planning_cost" in extent.figures:
        wanted += planning_cost.specs()
    if "figure2" in extent.figures:
        for protocol in chosen_protocols(extent):
            depths = extent.depths[protocol.name]
            wanted += figure2.specs(protocol, extent.seeds, depths, extent.cap, extent.left_out)
    return wanted


def batches(extent: Extent) -> list[Batch]:
    """What the chosen studies need: many small runs a file."""
    wanted: list[Batch] = []
    if "study" in extent.figures:
        wanted += study.batches(extent.bayes)
    if "misspecification" in extent.figures:
        wanted += misspecified.batches(extent.study_seeds)
    if "knowledge" in extent.figures:
        wanted += knowledge.batches(extent.study_seeds)
    return wanted


def run(
    extent: Extent,
    store: Store,
    progress: Callable[[int], None] = lambda episodes: None,
    finished: Callable[[Outcome], None] = lambda outcome: None,
) -> Tally:
    run_batches(batches(extent), store)
    return sweep(specs(extent), store, progress=progress, finished=finished)


def draw(extent: Extent, store: Store) -> Iterator[tuple[str, Any, list[Claim]]]:
    """Every chosen figure with its claims, from the store alone."""
    command = extent.command
    if "figure1" in extent.figures:
        yield "figure1", figure1.draw(), []
    for protocol in chosen_protocols(extent):
        if "figure2" in extent.figures:
            depths = extent.depths[protocol.name]
            times = figure2.read(store, protocol, extent.seeds, depths, extent.cap, extent.left_out)
            picture = figure2.draw(times, protocol, extent.cap, command)
            yield f"figure2_{protocol.name}", picture, figure2.claims(times, protocol)
        for name, check in (("figure3", heatmaps.claims_k_learning), ("figure4", heatmaps.claims_soft)):
            if name in extent.figures:
                record = heatmaps.read(store, name, protocol)
                yield f"{name}_{protocol.name}", heatmaps.draw(record, name, protocol, command), check(record)
    if "watching" in extent.figures:
        yield "watching", watching.draw(watching.read(store), command), []
    if "bayes_regret" in extent.figures:
        regret = bayes_regret.read(store, extent.worlds, extent.episodes, extent.left_out)
        yield "bayes_regret", bayes_regret.draw(regret, command), bayes_regret.claims(regret)
    if "planning_cost" in extent.figures:
        sweeps = planning_cost.read(store)
        yield "planning_cost", planning_cost.draw(sweeps, planning_cost.DEPTHS, command), []
    if "study" in extent.figures:
        found = study.read(store, extent.bayes)
        yield "study", study_report.draw(found, command), study.claims(found)
    if "misspecification" in extent.figures:
        wrong = misspecified.read(store, extent.study_seeds)
        yield "misspecification", misspecified.draw(wrong, command), []


def tables(extent: Extent, store: Store) -> Iterator[tuple[str, str]]:
    """The numbers of every chosen study in Markdown, from the store alone."""
    if "study" in extent.figures:
        yield "study", study_report.tables(study.read(store, extent.bayes))
    if "misspecification" in extent.figures:
        yield "misspecification", misspecified.table(misspecified.read(store, extent.study_seeds))
    if "knowledge" in extent.figures:
        yield "knowledge", knowledge.table(store, extent.study_seeds)


def publish(extent: Extent, store: Store, out: Path) -> dict[str, list[Claim]]:
    """Draw into ``out``, and write the claims beside the figures; returns the claims by figure."""
    found = {}
    for name, picture, claims in draw(extent, store):
        save(picture, out / f"{name}.png")
        if claims:
            found[name] = claims
    for name, numbers in tables(extent, store):
        write_whole(out / f"{name}.md", f"Command: `{extent.command}`\n\n{numbers}".encode())
    text = "# Claims of the paper, checked\n\n" + f"Command: `{extent.command}`\n\n"
    text += "\n".join(markdown(claims, name) for name, claims in found.items())
    write_whole(out / "claims.md", text.encode())
    data = {name: [{**c._asdict(), "mark": c.mark} for c in claims] for name, claims in found.items()}
    write_whole(out / "claims.json", (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())
    return found
