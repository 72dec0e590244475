"""Figures 3 and 4: one agent's value and log visits of every cell at depth 50, at t = 5, 50, 100, 300, 1000."""

from typing import Any

import numpy as np

from klearning.arrays.types import Floats
from klearning.experiments.spec import Spec, make_spec
from klearning.experiments.store import Record, Store
from klearning.figures.canvas import new_grid, styled
from klearning.papers.odonoghue2021.claims import Claim
from klearning.papers.odonoghue2021.protocols import K_OPTIMAL, SOFT, Protocol

DEPTH = 50
TIMES = (5, 50, 100, 300, 1000)
SEED = 0
LABELS = {"figure3": K_OPTIMAL, "figure4": SOFT}


def spec(figure: str, protocol: Protocol, depth: int = DEPTH, times: tuple[int, ...] = TIMES) -> Spec:
    agent = protocol.contestants()[LABELS[figure]]
    return make_spec(
        protocol.world_data(depth), agent, protocol.prior, episodes=times[-1], seed=SEED, protocol=protocol.name,
        snapshots=times,
    )  # fmt: skip


def read(store: Store, figure: str, protocol: Protocol) -> Record:
    return store.get(spec(figure, protocol))


def grid(by_state: Floats, depth: int) -> Floats:
    """Numbers of the reachable cells as a picture, row by row; nan elsewhere."""
    picture = np.full((depth, depth), np.nan)
    picture[np.tril_indices(depth)] = by_state
    return picture


@styled
def draw(record: Record, figure_name: str, protocol: Protocol, command: str) -> Any:
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
    figure.suptitle(f"{LABELS[figure_name]} on DeepSea of depth {depth}: darker is larger", fontsize=10)
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
    return [
        Claim("figure 3", "at t = 300 the rewarding state has not been visited", bool(goal_visits == 0),
              f"visits of the goal by t = 300: {goal_visits:.0f}"),
        Claim("figure 3", "at t = 300 the value is very high in that region", rank >= 0.9,
              f"the goal's cell is worth more than {rank:.0%} of its row"),
        Claim("figure 3", "shortly after t = 300 it reaches the reward for the first time", 300 < first <= 400,
              f"first hit at t = {first:.0f}"),
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
