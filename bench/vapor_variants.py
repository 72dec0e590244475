"""What was tried for VAPOR's calibration: other settings, given shares, and the share that is enough for VAPOR itself.

`bench.calibrated_study run vapor_variants` plays them, and docs/reference/agents/vapor.md says what came of it.

The share κ of the variances s² at which VAPOR's own value is a given number:

    g(κ) = max_λ J(λ) + √κ Ω(λ),   J = Σ λ m,   Ω = Σ λ s √(−2 ln λ)        dg / d√κ = Ω(λ*)   (the envelope)

is a maximum of straight lines in √κ, as K-learning's is (`optimism/calibration.py`), so Newton's steps in √κ are as
good here. Each is a solve that begins where the last one ended.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import klearning as kl
from klearning.numerics.compiled import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.calibrated_optimism import Rule, estimate_value, follows_draw
from klearning.tabular.agents.calibrated_vapor import Answer, CalibratedVAPOR, Memory, note, update, with_answer
from klearning.tabular.models.sweeps import Model
from klearning.tabular.optimism.calibration import LEAST, MOST_STEPS, PRECISION
from klearning.tabular.optimism.vapor.doubts import fill_doubts
from klearning.tabular.optimism.vapor.newton import Occupied, occupy
from klearning.tabular.optimism.vapor.occupancy import Flows
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Task, play


class OwnShare(NamedTuple):
    """κ, and the solution with it."""

    optimism: float
    occupied: Occupied


@kernel
def own_share(
    model: Model, discount: float, s: Floats, target: float, optimism: float, tolerance: float,
    W: Flows, V: Floats, policy: Floats,
) -> OwnShare:  # fmt: skip
    """The least κ in [`LEAST`, 1] with g(κ) ≥ ``target``, and 1 where none is; begins at ``optimism``, V and a policy.

    V and the policy at κ are written.
    """
    root = np.sqrt(min(max(optimism, LEAST), 1.0))
    for step in range(MOST_STEPS):
        W.stated[:] = root * s
        best = occupy(model, discount, tolerance, W, V, policy)
        pull, short = best.optimism, target - best.bound  # pull: dg / d log √κ
        if abs(short) <= PRECISION * pull or pull == 0.0:  # or nothing is uncertain
            break
        better = min(max(root * (1.0 + short / pull), np.sqrt(LEAST)), 1.0)
        if better == root:
            break
        if step + 1 < MOST_STEPS:
            root = better
    return OwnShare(root * root, best)


@kernel
def plan(memory: Memory, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator) -> Answer:
    """As `calibrated_vapor.plan`, but the share is the least that is enough for VAPOR's own value."""
    p, s = memory.posterior, np.empty_like(memory.policy)
    estimate, error = estimate_value(memory, rule.draws, rewards, rows)
    target = estimate + rule.margin * error if rule.margin > 0.0 else estimate
    fill_doubts(memory.doubt, p, s)
    share = own_share(
        p.model, p.discount, s, target, memory.optimism, rule.tolerance, memory.work, memory.V, memory.solution
    )
    memory.policy[:] = memory.solution
    thompson = follows_draw(memory, rule.thompson, estimate, rewards)
    if thompson:
        memory.policy[:] = memory.room.policy
    best = share.occupied
    return Answer(best.bound, best.gap, best.steps, best.sweeps, share.optimism, estimate, error, thompson, 0.0)


@kernel
def episodes(memory: Memory, rule: Rule, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        answer = plan(memory, rule, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = update(with_answer(memory, answer, rule.draws), task.episode)
        note(answer, task.log.diagnostics[:, t])
    return memory


@dataclass(frozen=True)
class EnoughForVAPOR(CalibratedVAPOR):
    """Calibrated VAPOR with a share of its own; in `kl.run` alone."""

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.rule(), task, first, count)


AS_IS = kl.VAPOR(optimism="calibrated")
OWN = EnoughForVAPOR("reward", 1e-6, draws=1, window=10, margin=0.0, thompson="rising")
OWN_ALONE = replace(OWN, window=30, thompson=0.0)
VAPOR_VARIANTS: dict[str, Agent] = {
    "VAPOR, calibrated": AS_IS,
    "VAPOR, window 10": replace(AS_IS, window=10),
    "VAPOR, window 100": replace(AS_IS, window=100),
    "VAPOR, margin 3": replace(AS_IS, margin=3.0),
    "VAPOR, one in ten": replace(AS_IS, thompson=0.1),
    "VAPOR, window 10, one in ten": replace(AS_IS, window=10, thompson=0.1),
    "VAPOR, window 10, rising": replace(AS_IS, window=10, thompson="rising"),
    "VAPOR, bonus sharp": replace(AS_IS, bonus="sharp"),
    "VAPOR, own κ": OWN,
    "VAPOR, own κ, no Thompson episodes": replace(OWN, thompson=0.0),
    "VAPOR, own κ, one in ten": replace(OWN, thompson=0.1),
    "VAPOR, own κ, by the information ratio": replace(OWN, thompson="informed"),
    "VAPOR, own κ, bonus sharp": replace(OWN, bonus="sharp"),
    "VAPOR, own κ, margin 1": replace(OWN, margin=1.0),
    "VAPOR, own κ, margin 3": replace(OWN, margin=3.0),
    "VAPOR, own κ, margin 3, no Thompson episodes": replace(OWN, margin=3.0, thompson=0.0),
    "VAPOR, own κ, 5 draws, window 5": replace(OWN, draws=5, window=5),
    "VAPOR, own κ, window 30": replace(OWN, window=30),
    "VAPOR, own κ, window 30, margin 3": replace(OWN, window=30, margin=3.0),
    "VAPOR, own κ, window 30, no Thompson episodes": OWN_ALONE,
    "VAPOR, own κ, window 30, margin 1, no Thompson episodes": replace(OWN_ALONE, margin=1.0),
    "VAPOR, own κ, window 30, margin 3, no Thompson episodes": replace(OWN_ALONE, margin=3.0),
    "VAPOR, own κ, window 30, margin 5, no Thompson episodes": replace(OWN_ALONE, margin=5.0),
    "VAPOR, own κ, window 100, no Thompson episodes": replace(OWN_ALONE, window=100),
    "VAPOR, own κ, window 100, margin 3, no Thompson episodes": replace(OWN_ALONE, window=100, margin=3.0),
    "VAPOR, own κ, window 100, margin 10, no Thompson episodes": replace(OWN_ALONE, window=100, margin=10.0),
    "VAPOR, own κ, window 300, no Thompson episodes": replace(OWN_ALONE, window=300),
    "VAPOR, κ = 0.25": kl.VAPOR(optimism=0.25),
    "VAPOR, κ = 0.1": kl.VAPOR(optimism=0.1),
    "VAPOR, κ = 1": kl.VAPOR(),
}
