"""Figures 3 and 4: one agent's value and log visits of every cell at depth 50, at t = 5, 50, 100, 300, 1000."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.papers.claims import Claim, Verdict
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue2021.heat_image import heat_image
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, PROTOCOLS, SOFT, TEXT, DeepSeaProtocol
from klearning.numerics.display.canvas import new_grid, styled
from klearning.numerics.display.markup import Html, element, join
from klearning.numerics.display.plots import Picture
from klearning.numerics.types import Floats
from klearning.tabular.trials.runs import Runs

DEPTH = 50
TIMES = (5, 50, 100, 300, 1000)
SEED = 0


@dataclass(frozen=True, eq=False)
class Heatmaps(Figure[Runs]):
    """One run with snapshots, a protocol each."""

    name: str
    protocol: DeepSeaProtocol = TEXT

    label: str = K_OPTIMAL  # of its agent, among the protocol's contestants
    who: str = "K-learning"
    caption: ClassVar[str] = f"seed {SEED}; each panel has its own scale."

    def runs(self) -> dict[str, Spec]:
        spec = make_spec(
            self.protocol.world_data(DEPTH), self.protocol.contestants()[self.label], self.protocol.prior,
            episodes=TIMES[-1], seeds=[SEED], protocol=self.protocol.name, snapshots=TIMES,
        )  # fmt: skip
        return {self.label: spec}

    @property
    def spec(self) -> Spec:
        return self.specs[self.label]

    def read(self, store: Store) -> Runs:
        return store.get(self.spec)

    def draw(self, results: Runs, command: str) -> Picture:
        return draw(results, self.label, self.protocol, command)

    def command_arguments(self, specs: Sequence[Spec]) -> str:
        """Both figures at once if the runs are of both."""
        names = {spec.name for spec in specs}
        figures = [figure.name for figure in FIGURES if figure.protocol is self.protocol and figure.spec.name in names]
        return f"{' '.join(figures)} --protocol {self.protocol.name}" if len(figures) == len(names) else ""

    def find(self, summary: StoreSummary) -> Runs | None:
        """Its run, if the store has it with the snapshots."""
        name = self.spec.name
        run = next((run for run in summary.runs if run.spec.name == name), None)
        whole = summary.store.get(run.spec) if run else None
        return whole if whole and "values" in whole.snapshots else None

    def section(self, summary: StoreSummary) -> Html | None:
        if (runs := self.find(summary)) is None:
            return None
        title = f"Figure {self.name[-1]}: {self.who} at depth {runs.spec.world['depth']}"
        return join([element("h3", title), strip(runs)])

    def verdict(self, summary: StoreSummary) -> Verdict | None:
        if (runs := self.find(summary)) is None:
            return None
        return Verdict(f"Figure {self.name[-1]}, {self.protocol.heading}", f"seed {SEED}", self.claims(runs))

    def claims(self, results: Runs) -> list[Claim]:
        return claims_soft(results) if self.label == SOFT else claims_k_learning(results)


FIGURES = tuple(
    figure
    for protocol in PROTOCOLS.values()
    for figure in (Heatmaps("figure3", protocol), Heatmaps("figure4", protocol, SOFT, "soft Q-learning"))
)


def grid(by_state: Floats, depth: int) -> Floats:
    """Numbers of the reachable cells as a picture, row by row; nan elsewhere."""
    picture = np.full((depth, depth), np.nan)
    picture[np.tril_indices(depth)] = by_state
    return picture


@styled
def draw(runs: Runs, label: str, protocol: DeepSeaProtocol, command: str) -> Picture:
    depth, times = runs.spec.world["depth"], runs.spec.snapshots
    values = runs.snapshots["values"][0]
    visits = runs.snapshots["visits"][0].sum(axis=1)
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
    note = f"protocol `{protocol.name}` ({protocol.note}); seed {runs.spec.seed}, scales differ by panel; {command}"
    figure.supxlabel(note, fontsize=6)
    return figure


def claims_k_learning(runs: Runs) -> list[Claim]:
    """The paper's sentences on Figure 3, for its single seed."""
    hits, times = runs.hits[0], runs.spec.snapshots
    at = times.index(300)
    goal_visits = runs.snapshots["visits"][0][at][1, -1]
    value = runs.snapshots["values"][0][at]
    depth = runs.spec.world["depth"]
    last_row = value[-depth:]
    rank = float((last_row < last_row[-1]).mean())
    first, late = runs.first_hit[0], int(hits[900:1000].sum())
    reached = f"first hit at t = {first:.0f}" if np.isfinite(first) else f"not reached in {runs.ran[0]} episodes"
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


def claims_soft(runs: Runs) -> list[Claim]:
    """The paper's sentences on Figure 4."""
    depth = runs.spec.world["depth"]
    visits = grid(runs.snapshots["visits"][0][-1].sum(axis=0), depth)
    farthest = int(np.flatnonzero(np.nansum(visits, axis=0) > 0).max()) + 1
    values = runs.snapshots["values"][0]
    start = values[:, 0]
    return [
        Claim("figure 4", "soft Q-learning is not even halfway across the grid after t = 1000", farthest <= depth / 2,
              f"farthest column visited: {farthest} of {depth}"),
        Claim("figure 4", "the soft value function barely changes", bool(np.ptp(start[1:]) < 0.1 * abs(start[0])),
              "value of the start: " + ", ".join(f"t={t} {v:.3f}" for t, v in zip(runs.spec.snapshots, start))),
    ]  # fmt: skip


def strip(runs: Runs) -> Html:
    """Value above, visits below, one column a snapshot: the layout of the paper's figures 3 and 4."""
    depth = runs.spec.world["depth"]
    values = runs.snapshots["values"][0]
    visits = runs.snapshots["visits"][0].sum(axis=1)
    cells = []
    for t, value, visit in zip(runs.spec.snapshots, values, visits):
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
