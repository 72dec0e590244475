"""VAPOR with the least optimism that suffices for K-learning.

For episode t = 1, 2, …:

    v_t  an estimate of E V* by posterior draws (`calibrated`)
    κ_t  the least with which K-learning's bound, c = ½ s², is v_t or more (+ z standard errors of v_t), or 1
    λ_t  the maximiser of Σ λ (m + √κ_t s √(−2 ln λ))
    follow π_l(a|s) = λ_l(s,a) / Σ_a' λ_l(s,a'); in a fraction of the episodes, the best policy of a draw
    condition on the episode

The regret of an episode is known for every κ, as for K-learning (docs/reference/agents/vapor.md). The least κ whose
VAPOR value is v_t is smaller, because that value also pays for surprise at states. It is too small: measured there.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.loops import copy_table
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.agents.calibrated import (
    DIAGNOSTICS,
    CalibratedAgent,
    Progress,
    Rule,
    Workspace,
    end_plan,
    estimate_value,
    first_progress,
    next_progress,
)
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, learn
from klearning.tabular.models.soft import Soft, soft_arrays
from klearning.tabular.optimism.calibration import Calibrated, calibrate
from klearning.tabular.optimism.vapor.newton import occupy
from klearning.tabular.optimism.vapor.occupancy import Flows, flow_arrays
from klearning.tabular.optimism.vapor.variances import VarianceNumbers, fill_sds, variance_rule
from klearning.tabular.trials.task import Streams, Task, play


@field_roles(finite=("V",), probabilities=("solution", "policy"))
class Memory(NamedTuple):
    """State of the agent from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    variance: VarianceNumbers  # of the whole variance, κ = 1
    V: Floats
    solution: Floats  # λ/Σλ of the last solve, where the next one begins, also after a Thompson episode
    progress: Progress
    policy: Floats
    work: Flows
    workspace: Workspace
    soft: Soft


@kernel
def plan(
    memory: Memory, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator, log: Floats
) -> Calibrated:
    """Draw, choose κ and λ, write the policy, and log a number per diagnostic."""
    p, c, work, last = memory.posterior, memory.workspace.c, memory.work, memory.progress
    estimate = estimate_value(memory, rule, rewards, rows)
    fill_sds(memory.variance, p, work.stated)
    for a in range(c.shape[0]):
        for i in range(c.shape[1]):
            c[a, i] = 0.5 * work.stated[a, i] ** 2
    found = calibrate(
        p.model, c, estimate.target, last.optimism, last.warm, rule.tolerance, memory.policy, work.feasible, memory.soft
    )
    for a in range(c.shape[0]):
        for i in range(c.shape[1]):
            work.stated[a, i] *= np.sqrt(found.optimism)
    best = occupy(p.model, p.discount, rule.tolerance, work, memory.V, memory.solution)
    copy_table(memory.solution, memory.policy)
    log[0], log[1], log[2], log[3] = best.bound, best.gap, best.steps, best.sweeps
    end_plan(memory, rule, found, estimate, best.bound, rewards, log[4:9])
    return found


@kernel
def update(memory: Memory, progress: Progress, episode: Episode) -> Memory:
    """Condition on one episode."""
    m, p = memory, learn(memory.posterior, episode)
    return Memory(p, m.variance, m.V, m.solution, progress, m.policy, m.work, m.workspace, m.soft)


@kernel
def episodes(memory: Memory, rule: Rule, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        found = plan(memory, rule, task.reward_stream, task.row_stream, task.log.diagnostics[:, t])
        play(task, memory.policy, t)
        memory = update(memory, next_progress(memory.progress, found, rule.draws), task.episode)
    return memory


@dataclass(frozen=True)
class CalibratedVAPOR(CalibratedAgent[Memory]):
    """`VAPOR` with calibrated ``optimism``."""

    diagnostics: ClassVar[tuple[str, ...]] = ("bound", "gap", "steps", "sweeps", *DIAGNOSTICS)

    def begin(self, belief: Belief) -> Memory:
        numbers, shape = variance_rule(self.bonus).numbers(belief, 1.0), (belief.actions, belief.states)
        even, work = np.full(shape, 1.0 / belief.actions), flow_arrays(*shape)
        # the draws and K-learning's search are over before the solve fills these arrays: they can share them
        workspace = Workspace(work.u, work.trial, np.zeros(shape), work.spread, work.occupancy)
        return Memory(
            belief.posterior(), numbers, np.zeros(belief.states), even, first_progress(self.calibration),
            even.copy(), work, workspace, soft_arrays(belief.layers, belief.actions),
        )  # fmt: skip

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.rule(), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        found = plan(memory, self.rule(), streams.reward, streams.row, diagnostics)
        return memory._replace(progress=next_progress(memory.progress, found, self.calibration.draws))

    def refreshed(self, memory: Memory) -> Memory:
        """The old draws and their κ are of another belief."""
        return memory._replace(progress=memory.progress._replace(drawn=0, optimism=1.0, warm=0.0))
