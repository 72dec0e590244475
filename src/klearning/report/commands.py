"""Which command of ours made these runs; none where they are somebody's own."""

import json
from collections.abc import Sequence

from klearning.papers.odonoghue2021 import bayes_regret, figure2, heatmaps, planning_cost, watching
from klearning.papers.odonoghue2021.protocols import PROTOCOLS
from klearning.papers.odonoghue2021.reproduce import QUICK, Extent
from klearning.report.gather import Trial
from klearning.report.labels import paper_labels
from klearning.storage.codec import prior_data, world_data


def of_scaling(group: Sequence[Trial], depths: Sequence[int]) -> str:
    """Figure 2's, where world, prior and agents are those of its protocol."""
    spec = group[0].spec
    ours = spec.stop == "solved" and spec.evaluate_every == 1000 and spec.episodes in (figure2.CAP, QUICK.cap)
    if not (ours and _of_protocol(group)):
        return ""
    seeds = max(trial.spec.seed for trial in group) + 1
    quick = " --quick" if spec.episodes == QUICK.cap else ""
    grid = ",".join(map(str, depths))
    return f"klearning reproduce figure2 --seeds {seeds} --depths {grid} --protocol {spec.protocol}{quick}"


def of_regret(group: Sequence[Trial]) -> str:
    spec = group[0].spec
    names = {trial.spec.name for trial in group}
    if is_bayes(group):
        for extent, option in ((Extent(), ""), (QUICK, " --quick")):
            ours = bayes_regret.specs(extent.worlds, extent.episodes, extent.left_out)
            if spec.episodes == extent.episodes and names <= {wanted.name for wanted in ours}:
                return f"klearning reproduce bayes_regret{option}"
    if not _of_protocol(group):
        return ""
    if names <= {wanted.name for wanted in watching.specs()}:
        return "klearning reproduce watching"
    protocol = PROTOCOLS[spec.protocol]
    figures = [figure for figure in heatmaps.LABELS if heatmaps.spec(figure, protocol).name in names]
    if len(figures) == len(names):
        return f"klearning reproduce {' '.join(figures)} --protocol {protocol.name}"
    return ""


def of_planning(group: Sequence[Trial]) -> str:
    ours = {trial.spec.name for trial in group} <= {spec.name for spec in planning_cost.specs()}
    return "klearning reproduce planning_cost" if ours else ""


def is_bayes(group: Sequence[Trial]) -> bool:
    """Whether these are the worlds of which `bayes_regret` states the bound, drawn from its prior."""
    world = {"states": bayes_regret.STATES, "actions": bayes_regret.ACTIONS, "horizon": bayes_regret.HORIZON}
    return all(
        trial.spec.world == {"name": "random_mdp", **world, "seed": trial.spec.seed}
        and trial.spec.prior == prior_data(bayes_regret.PRIOR)
        for trial in group
    )


def _of_protocol(group: Sequence[Trial]) -> bool:
    """Whether world, prior and agents are those of the protocol that the runs name."""
    spec = group[0].spec
    if spec.protocol not in PROTOCOLS:
        return False
    protocol = PROTOCOLS[spec.protocol]
    if spec.prior != prior_data(protocol.prior) or any(t.agent not in paper_labels(protocol.name) for t in group):
        return False
    worlds = {json.dumps(trial.spec.world, sort_keys=True): trial.spec.world for trial in group}
    return all(
        world["name"] == "deep_sea" and world == world_data(protocol.world_data(world["depth"]))
        for world in worlds.values()
    )
