"""K-learning with the least optimism that suffices.

For episode t = 1, 2, …:

    v_t  an estimate of E V* by posterior draws (`calibrated`)
    κ_t  the least with min_τ f_κ(τ) ≥ v_t (+ z standard errors of v_t), or 1, and τ_t the minimiser
    ν_t  with the bonus `split`, if κ_t = 1 is too little: the least share of its price of transitions that suffices
    follow π_l(a|s) ∝ exp(K_l(s,a)/τ_t) of K-learning with bonus κ_t c/τ_t; now and then the best policy of a draw
    condition on the episode

The Bayes regret of the episode is at most f_κ − J + (E V* − f_κ)₊. v_t estimates E V* without bias, or, by draws of
earlier plans, on the side of optimism (docs/evidence/calibrated.md, section 3).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
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
from klearning.tabular.models.soft import Soft, soft_values
from klearning.tabular.optimism.bonuses import BonusNumbers, bonus_named, check_c, refresh
from klearning.tabular.optimism.calibration import Calibrated, calibrated
from klearning.tabular.optimism.program import program, soft_part
from klearning.tabular.optimism.split.blended_sweep import Blended, blended_arrays
from klearning.tabular.optimism.split.priced_sweep import Priced
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play


@field_roles(counts=("c",), probabilities=("policy",))
class Memory(NamedTuple):
    """State of the agent from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    bonus: BonusNumbers
    c: Floats  # of the whole bonus, κ = 1
    progress: Progress
    policy: Floats
    work: Soft | Blended
    workspace: Workspace

    def check(self, fresh: "Memory", name: str) -> None:
        check_c(fresh.bonus, self.posterior, self.c, f"{name}.c")


@kernel
def plan(
    memory: Memory, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator, log: Floats
) -> Calibrated:
    """Draw, choose κ and τ, write the policy, and log a number per diagnostic."""
    estimate, last = estimate_value(memory, rule, rewards, rows), memory.progress
    found = calibrated(
        memory.posterior.model, memory.c, estimate.target, last.optimism, last.warm, rule.tolerance,
        memory.policy, memory.workspace.c, memory.work,
    )  # fmt: skip
    best = found.temperature
    log[0], log[1], log[2], log[3], log[9] = best.tau, best.bound, best.gap, found.sweeps, found.price
    end_plan(memory, rule, found, estimate, best.bound, rewards, log[4:9])
    return found


@kernel
def update(memory: Memory, progress: Progress, episode: Episode) -> Memory:
    """Condition on one episode."""
    m = memory
    p = learn(m.posterior, episode)
    refresh(m.bonus, p, episode, m.c)
    return Memory(p, m.bonus, m.c, progress, m.policy, m.work, m.workspace)


@kernel
def episodes(memory: Memory, rule: Rule, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        found = plan(memory, rule, task.reward_stream, task.row_stream, task.log.diagnostics[:, t])
        play(task, memory.policy, t)
        memory = update(memory, next_progress(memory.progress, found, rule.draws), task.episode)
    return memory


@dataclass(frozen=True)
class CalibratedOptimism(CalibratedAgent[Memory]):
    """`KLearning` with calibrated ``optimism``."""

    diagnostics: ClassVar[tuple[str, ...]] = ("temperature", "bound", "gap", "sweeps", *DIAGNOSTICS, "price")

    def begin(self, belief: Belief) -> Memory:
        ready = program(belief, self.bonus, tied=True)
        policy, Q, drawn, path = (np.zeros((belief.actions, belief.states)) for _ in range(4))
        workspace = Workspace(Q, np.zeros(belief.states), drawn, path, np.zeros_like(ready.c))
        work = blended_arrays(belief, ready.posterior) if isinstance(ready.work, Priced) else soft_part(ready.work)
        progress = first_progress(self.calibration)
        return Memory(ready.posterior, ready.numbers, ready.c, progress, policy, work, workspace)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        if bonus_named(self.bonus).compiled:
            return episodes(memory, self.rule(), task, first, count)
        return Agent.advance(self, memory, task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        found = plan(memory, self.rule(), streams.reward, streams.row, diagnostics)
        return memory._replace(progress=next_progress(memory.progress, found, self.calibration.draws))

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        bonus = bonus_named(self.bonus)
        if bonus.compiled:
            return update(memory, memory.progress, episode)
        p = learn(memory.posterior, episode)
        bonus.write_c(memory.bonus, p, memory.c)
        return memory._replace(posterior=p)

    def refreshed(self, memory: Memory) -> Memory:
        bonus_named(self.bonus).write_c(memory.bonus, memory.posterior, memory.c)
        return memory._replace(progress=memory.progress._replace(drawn=0))  # the old draws are of another belief

    def values(self, memory: Memory) -> Floats:
        work = memory.work.soft if isinstance(memory.work, Blended) else memory.work
        return soft_values(memory.posterior.model.layers, work)
