"""New: what planning costs as DeepSea grows, in backups of a state and action an episode: exact, not timed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from klearning.arrays.types import Floats
from klearning.experiments.spec import Spec, make_spec
from klearning.experiments.store import Store
from klearning.figures.canvas import COLOURS, new_figure, styled
from klearning.papers.odonoghue2021.protocols import K_OPTIMAL, K_SCHEDULE, TEXT

DEPTHS = (10, 20, 50, 100, 200)
EPISODES = 300
LABELS = (K_OPTIMAL, K_SCHEDULE)


def specs(depths: Sequence[int] = DEPTHS, episodes: int = EPISODES) -> list[Spec]:
    return [
        make_spec(TEXT.world_data(depth), TEXT.contestants()[label], TEXT.prior, episodes=episodes, protocol="text",
                  evaluate_every=episodes)
        for label in LABELS
        for depth in depths
    ]  # fmt: skip


def read(store: Store, depths: Sequence[int] = DEPTHS, episodes: int = EPISODES) -> dict[str, Floats]:
    """Mean sweeps an episode by label, a depth a column."""
    wanted = iter(specs(depths, episodes))
    return {
        label: np.array([store.get(next(wanted)).arrays["diagnostic_sweeps"].mean() for _ in depths])
        for label in LABELS
    }


@styled
def draw(sweeps: dict[str, Floats], depths: Sequence[int], command: str) -> Any:
    figure, axes = new_figure(width=6.0, height=3.8)
    L = np.array(depths, dtype=float)
    pairs = L * (L + 1.0)  # states times two actions
    for i, (label, counts) in enumerate(sweeps.items()):
        axes.plot(
            L, counts * pairs, "o-", color=COLOURS[i], label=f"{label} ({counts[-1]:.1f} sweeps at L = {L[-1]:.0f})"
        )
    axes.plot(L, pairs, "--", color="grey", label="one sweep: $L(L+1)$")
    axes.set(
        xscale="log", yscale="log", xlabel="depth $L$", ylabel="backups an episode", title="Planning cost on DeepSea"
    )
    axes.legend(frameon=False, fontsize=7)
    figure.supxlabel(f"protocol `text`, mean over {EPISODES} episodes of seed 0; {command}", fontsize=6)
    return figure
