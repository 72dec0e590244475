"""K-learning with a fixed share κ of its optimism: 1 is the paper's (O'Donoghue, 2021, algorithm a-klearning).

For episode t = 1, 2, …:

    τ_t  by the schedule (e-betat), or the minimiser of the convex program (e-cvx-opt-prob)
    K_l(s,a) = m(s,a) + κ c(s,a)/τ_t + Σ_s' P̄(s'|s,a) τ_t log Σ_a' exp(K_{l+1}(s',a')/τ_t)     (e-bellmanop)
    follow π_l(a|s) ∝ exp(K_l(s,a)/τ_t)                                                      (e-policy)
    condition m, c, P̄ on the episode
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, learn
from klearning.tabular.models.soft import Soft, soft_values
from klearning.tabular.optimism.bonuses import BonusNumbers, bonus_named, check_c, refresh
from klearning.tabular.optimism.program import program, soft_part, solve_at, solve_best
from klearning.tabular.optimism.split.priced_sweep import Priced
from klearning.tabular.optimism.temperature import Temperature, scheduled
from klearning.tabular.optimism.visits import Visits
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play

OPTIMAL, SCHEDULE, FIXED = range(3)


class Rule(NamedTuple):
    """How τ is chosen: by which rule, to what tolerance, or which number; and κ."""

    kind: int
    tolerance: float
    tau: float
    optimism: float


@field_roles(counts=("c", "warm"), probabilities=("policy",))
class Memory(NamedTuple):
    """State of the agent from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    bonus: BonusNumbers
    c: Floats  # a column per state; or per row of the tables, if layers share them and c is the same in all layers
    warm: float
    policy: Floats
    work: Soft | Priced | Visits

    def check(self, fresh: "Memory", name: str) -> None:
        check_c(fresh.bonus, self.posterior, self.c, f"{name}.c")


@kernel
def plan(memory: Memory, rule: Rule, t: int) -> Temperature:
    """Choose τ_t, solve for K, and write the policy of episode t = 0, 1, …"""
    return plan_with(memory, memory.c, rule, t) if rule.optimism == 1.0 else plan_with_less(memory, rule, t)


@kernel(lazy=True)
def plan_with_less(memory: Memory, rule: Rule, t: int) -> Temperature:
    """The plan if κ is below 1."""
    return plan_with(memory, rule.optimism * memory.c, rule, t)


@kernel
def plan_with(memory: Memory, c: Floats, rule: Rule, t: int) -> Temperature:
    """The plan with κ times the memory's c."""
    p, policy, work = memory.posterior, memory.policy, memory.work
    tau = rule.tau
    if rule.kind == SCHEDULE:  # τ_t² is in proportion to the bonus
        tau = np.sqrt(rule.optimism) * scheduled(memory.bonus, p, memory.c, t + 1)
    if rule.kind == OPTIMAL:
        return solve_best(p.model, c, memory.warm, rule.tolerance, policy, work)
    return solve_at(p.model, c, tau, policy, work)


@kernel
def update(memory: Memory, warm: float, episode: Episode) -> Memory:
    """Condition on one episode; the next search for τ begins at ``warm``."""
    p = learn(memory.posterior, episode)
    refresh(memory.bonus, p, episode, memory.c)
    return Memory(p, memory.bonus, memory.c, warm, memory.policy, memory.work)


@kernel
def episodes(memory: Memory, rule: Rule, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        found = plan(memory, rule, t)
        play(task, memory.policy, t)
        memory = update(memory, found.warm, task.episode)
        log = task.log.diagnostics
        log[0, t], log[1, t], log[2, t], log[3, t] = found.tau, found.bound, found.gap, found.sweeps
    return memory


@dataclass(frozen=True)
class FixedOptimism(Agent[Memory]):
    """`KLearning` whose ``optimism`` is a number, κ."""

    temperature: str | float
    bonus: str
    tolerance: float
    optimism: float

    diagnostics: ClassVar[tuple[str, ...]] = ("temperature", "bound", "gap", "sweeps")

    def rule(self) -> Rule:
        kinds = {"optimal": OPTIMAL, "schedule": SCHEDULE}
        if isinstance(self.temperature, str):
            return Rule(kinds[self.temperature], self.tolerance, 0.0, float(self.optimism))
        return Rule(FIXED, self.tolerance, float(self.temperature), float(self.optimism))

    def begin(self, belief: Belief) -> Memory:
        ready = program(belief, self.bonus, tied=True)
        policy = np.zeros((belief.actions, belief.states))
        return Memory(ready.posterior, ready.numbers, ready.c, 0.0, policy, ready.work)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        if bonus_named(self.bonus).compiled:
            return episodes(memory, self.rule(), task, first, count)
        return Agent.advance(self, memory, task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        found = plan(memory, self.rule(), t)
        diagnostics[:] = found.tau, found.bound, found.gap, found.sweeps
        return memory._replace(warm=found.warm)

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        bonus = bonus_named(self.bonus)
        if bonus.compiled:
            return update(memory, memory.warm, episode)
        p = learn(memory.posterior, episode)
        bonus.write_c(memory.bonus, p, memory.c)
        return memory._replace(posterior=p)

    def refreshed(self, memory: Memory) -> Memory:
        bonus_named(self.bonus).write_c(memory.bonus, memory.posterior, memory.c)
        return memory

    def values(self, memory: Memory) -> Floats:
        return soft_values(memory.posterior.model.layers, soft_part(memory.work))
