"""Figures 3 and 4: one agent's value and log visits of every cell at depth 50, at t = 5, 50, 100, 300, 1000."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Record, Store
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.figures.canvas import new_grid, styled
from klearning.lab.figures.heat_image import heat_image
from klearning.lab.figures.markup import Html, element, join
from klearning.lab.papers.claims import Claim, Verdict
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, PROTOCOLS, SOFT, TEXT, DeepSeaProtocol
from klearning.numerics.types import Floats

DEPTH = 50
TIMES = (5, 50, 100, 300, 1000)
SEED = 0


@dataclass(frozen=True, eq=False)
class Heatmaps(Figure[Record]):
    """One run with snapshots, a protocol each."""

    name: str
    protocol: DeepSeaProtocol = TEXT

    label: ClassVar[str]
    who: ClassVar[str]
    caption: ClassVar[str] = f"seed {SEED}; each panel has its own scale."

    @property
    def spec(self) -> Spec:
        return make_spec(
            self.protocol.world_data(DEPTH), self.protocol.contestants()[self.label], self.protocol.prior,
            episodes=TIMES[-1], seed=SEED, protocol=self.protocol.name, snapshots=TIMES,
        )  # fmt: skip

    def runs(self) -> dict[str, Spec]:
        return {self.label: self.spec}

    def read(self, store: Store) -> Record:
        return store.get(self.runs()[self.label])

    def draw(self, results: Record, command: str) -> Any:
        return draw(results, self.label, self.protocol, command)

    def words_of(self, specs: Sequence[Spec]) -> str:
        """Both figures at once where the runs are of both."""
        names = {spec.name for spec in specs}
        figures = [figure.name for figure in FIGURES if figure.protocol is self.protocol and figure.spec.name in names]
        return f"{' '.join(figures)} --protocol {self.protocol.name}" if len(figures) == len(names) else ""

    def find(self, summary: StoreSummary) -> Record | None:
        """Its run, where the store has it with the snapshots."""
        name = self.spec.name
        run = next((run for run in summary.runs if run.spec.name == name), None)
        record = summary.store.read(run.folder) if run else None
        return record if record and "snapshot_values" in record.arrays else None

    def section(self, summary: StoreSummary) -> Html | None:
        if (record := self.find(summary)) is None:
            return None
        title = f"Figure {self.name[-1]}: {self.who} at depth {record.spec.world['depth']}"
        return join([element("h3", title), strip(record)])

    def verdict(self, summary: StoreSummary) -> Verdict | None:
        if (record := self.find(summary)) is None:
            return None
        return Verdict(f"Figure {self.name[-1]}, {self.protocol.heading}", f"seed {SEED}", self.claims(record))


@dataclass(frozen=True, eq=False)
class KLearningHeatmaps(Heatmaps):
    """Figure 3."""

    name: str = "figure3"
    label: ClassVar[str] = K_OPTIMAL
    who: ClassVar[str] = "K-learning"

    def claims(self, results: Record) -> list[Claim]:
        return claims_k_learning(results)


@dataclass(frozen=True, eq=False)
class SoftHeatmaps(Heatmaps):
    """Figure 4."""

    name: str = "figure4"
    label: ClassVar[str] = SOFT
    who: ClassVar[str] = "soft Q-learning"

    def claims(self, results: Record) -> list[Claim]:
        return claims_soft(results)


FIGURES: tuple[Heatmaps, ...] = tuple(
    kind(protocol=protocol) for protocol in PROTOCOLS.values() for kind in (KLearningHeatmaps, SoftHeatmaps)
)


def grid(by_state: Floats, depth: int) -> Floats:
    """Numbers of the reachable cells as a picture, row by row; nan elsewhere."""
    picture = np.full((depth, depth), np.nan)
    picture[np.tril_indices(depth)] = by_state
    return picture


@styled
def draw(record: Record, label: str, protocol: DeepSeaProtocol, command: str) -> Any:
    depth, times = record.spec.world["depth"], record.spec.snapshots
    values = record.arrays["snapshot_values"]
    visits = record.arrays["snapshot_visits"].sum(axis=1)
    figure, axes = new_grid(2, len(times), width=9.0, height=3.9)
    for row, (pictures, name) in enumerate(((values, "value"), (np.log1p(visits), "log(1 + visits)"))):
        for column, t in enumerate(times):
            panel = axes[row, column]
            shown = panel.imshow(grid(pictures[column], depth), cmap="Blues", interpolation="nearest")
            bar = figure.colorbar(shown, ax=panel, shrink=0.75, pad=0.02)
            bar.ax.tick_params(labelsize=5)
            panel.set(xticks=[], yticks=[])
            panel.grid(visible=False)
            panel.set_title(f"$t = {t}$" if row == 0 else "", fontsize=8)
            for spine in panel.spines.values():
                spine.set_visible(False)
        axes[row, 0].set_ylabel(name, fontsize=8)
    figure.suptitle(f"{label} on DeepSea of depth {depth}: darker is larger", fontsize=10)
    note = f"protocol `{protocol.name}` ({protocol.note}); seed {record.spec.seed}, scales differ by panel; {command}"
    figure.supxlabel(note, fontsize=6)
    return figure


def claims_k_learning(record: Record) -> list[Claim]:
    """The paper's sentences on Figure 3, for its single seed."""
    hits, times = record.arrays["hits"], record.spec.snapshots
    at = times.index(300)
    goal_visits = record.arrays["snapshot_visits"][at][1, -1]
    value = record.arrays["snapshot_values"][at]
    depth = record.spec.world["depth"]
    last_row = value[-depth:]
    rank = float((last_row < last_row[-1]).mean())
    first, late = record.first_hit, int(hits[900:1000].sum())
    reached = f"first hit at t = {first:.0f}" if np.isfinite(first) else f"not reached in {record.ran} episodes"
    return [
        Claim("figure 3", "at t = 300 the rewarding state has not been visited", bool(goal_visits == 0),
              f"visits of the goal by t = 300: {goal_visits:.0f}"),
        Claim("figure 3", "at t = 300 the value is very high in that region", rank >= 0.9,
              f"the goal's cell is worth more than {rank:.0%} of its row"),
        Claim("figure 3", "shortly after t = 300 it reaches the reward for the first time", 300 < first <= 400,
              reached),
        Claim("figure 3", "by t = 1000 it travels along the diagonal consistently", late >= 90,
              f"{late} of episodes 901–1000 reach the goal"),
    ]  # fmt: skip


def claims_soft(record: Record) -> list[Claim]:
    """The paper's sentences on Figure 4."""
    depth = record.spec.world["depth"]
    visits = grid(record.arrays["snapshot_visits"][-1].sum(axis=0), depth)
    farthest = int(np.flatnonzero(np.nansum(visits, axis=0) > 0).max()) + 1
    values = record.arrays["snapshot_values"]
    start = values[:, 0]
    return [
        Claim("figure 4", "soft Q-learning is not even halfway across the grid after t = 1000", farthest <= depth / 2,
              f"farthest column visited: {farthest} of {depth}"),
        Claim("figure 4", "the soft value function barely changes", bool(np.ptp(start[1:]) < 0.1 * abs(start[0])),
              "value of the start: " + ", ".join(f"t={t} {v:.3f}" for t, v in zip(record.spec.snapshots, start))),
    ]  # fmt: skip


def strip(record: Record) -> Html:
    """Value above, visits below, one column a snapshot: the layout of the paper's figures 3 and 4."""
    depth = record.spec.world["depth"]
    values = record.arrays["snapshot_values"]
    visits = record.arrays["snapshot_visits"].sum(axis=1)
    cells = []
    for t, value, visit in zip(record.spec.snapshots, values, visits):
        reached = int(np.flatnonzero(np.nansum(grid(visit, depth), axis=0) > 0).max()) + 1
        said_value = f"Values at t = {t}: from {value.min():.3g} to {value.max():.3g}; {value[0]:.3g} at the start"
        said_visits = f"Visits until t = {t}: columns 1 to {reached} of {depth} were reached"
        shown = [
            element("img", src=heat_image(grid(picture, depth)), alt=said, title=said, width=depth, height=depth)
            for picture, said in ((value, said_value), (np.log1p(visit), said_visits))
        ]
        cells.append(element("div", element("span", f"t = {t:,}", class_="t"), *shown, class_="moment"))
    names = element(
        "div", element("span", "", class_="t"), element("span", "value"), element("span", "visits, log"), class_="names"
    )
    return element("div", names, *cells, class_="strip")
