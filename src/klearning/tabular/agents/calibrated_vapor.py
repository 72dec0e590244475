"""VAPOR with the least optimism that is enough for K-learning.

For episode t = 1, 2, …:

    draw MDPs from the posterior; v_t, their estimate of E V*, with those of the last plans (`calibrated_optimism`)
    κ_t  the least with which K-learning's bound, c = ½ s², is v_t or more (+ z standard errors of v_t), or 1
    λ_t  the maximiser of Σ λ (m + √κ_t s √(−2 ln λ))
    follow π_l(a|s) = λ_l(s,a) / Σ_a' λ_l(s,a'); with a share of `thompson`, the best policy of a draw
    condition on what was seen

Why: what an episode costs is known for every κ, as for K-learning (docs/reference/agents/vapor.md). The least that is
enough for VAPOR's own value is smaller, since that pays for surprise at states too, and too small: measured there.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.compiled import kernel
from klearning.numerics.loops import copy_table
from klearning.numerics.tree_checks import refuse
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats
from klearning.tabular.agents.calibrated_optimism import Room, Rule, draw_rule, estimate_value, follows_draw
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, check_derived, learn
from klearning.tabular.models.soft import Soft, soft_arrays
from klearning.tabular.optimism.calibration import calibrate
from klearning.tabular.optimism.vapor.doubts import DoubtNumbers, doubt_named, fill_doubts
from klearning.tabular.optimism.vapor.newton import occupy
from klearning.tabular.optimism.vapor.occupancy import Flows, flow_arrays
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play


@marked(
    counts=("drawn", "plans", "warm"),
    finite=("V",),
    grows=("values",),
    since=("warm", "soft"),
    chances=("solution", "policy"),
)
class Memory(NamedTuple):
    """What the agent carries from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    doubt: DoubtNumbers  # of the whole variance, κ = 1
    V: Floats
    solution: Floats  # λ/Σλ of the last solve, where the next one begins, also behind a Thompson episode
    optimism: float  # κ of the last plan
    values: Floats  # what was missed by the last draws, or their optimal values; oldest overwritten first
    drawn: int  # of them, since something other than an episode changed what is believed
    plans: int  # so far
    policy: Floats
    work: Flows
    room: Room
    warm: float  # K-learning's temperature, for its next search
    soft: Soft

    def check(self, fresh: "Memory", name: str) -> None:
        check_derived(self.posterior, fresh.posterior, f"{name}.posterior")
        refuse(f"{name}.optimism", "is no share of a bonus", np.array(not 0.0 < self.optimism <= 1.0), self.optimism)
        # as many as the learner began with, whatever is the default by now
        refuse(f"{name}.values", "is empty", np.array(self.values.size == 0), self.values.size)
        refuse(f"{name}.values", "is not finite", ~np.isfinite(self.values), self.values)


class Answer(NamedTuple):
    """A plan in numbers: what came out, and what it came from."""

    bound: float
    gap: float
    steps: int
    sweeps: int
    optimism: float
    estimate: float  # of E V*
    error: float  # its standard error
    thompson: bool  # whether the policy is that of a draw
    warm: float


@kernel
def plan(memory: Memory, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator) -> Answer:
    """Draw, choose κ and λ, and write the policy."""
    p, c, work = memory.posterior, memory.room.c, memory.work
    estimate, error = estimate_value(memory, rule.draws, rewards, rows)
    target = estimate + rule.margin * error if rule.margin > 0.0 else estimate
    fill_doubts(memory.doubt, p, work.stated)
    for a in range(c.shape[0]):
        for i in range(c.shape[1]):
            c[a, i] = 0.5 * work.stated[a, i] ** 2
    enough = calibrate(
        p.model, c, target, memory.optimism, memory.warm, rule.tolerance, memory.policy, work.feasible, memory.soft
    )
    for a in range(c.shape[0]):
        for i in range(c.shape[1]):
            work.stated[a, i] *= np.sqrt(enough.optimism)
    best = occupy(p.model, p.discount, rule.tolerance, work, memory.V, memory.solution)
    copy_table(memory.solution, memory.policy)
    thompson = follows_draw(memory, rule.thompson, estimate, rewards)
    if thompson:
        copy_table(memory.room.policy, memory.policy)
    return Answer(
        best.bound, best.gap, best.steps, best.sweeps, enough.optimism, estimate, error, thompson,
        enough.temperature.warm,
    )  # fmt: skip


@kernel
def with_answer(memory: Memory, answer: Answer, draws: int) -> Memory:
    """The next search begins where this one ended."""
    m = memory
    return Memory(
        m.posterior, m.doubt, m.V, m.solution, answer.optimism, m.values, m.drawn + draws, m.plans + 1,
        m.policy, m.work, m.room, answer.warm, m.soft,
    )  # fmt: skip


@kernel
def update(memory: Memory, episode: Episode) -> Memory:
    """Condition on one episode."""
    m = memory
    p = learn(m.posterior, episode)
    return Memory(
        p, m.doubt, m.V, m.solution, m.optimism, m.values, m.drawn, m.plans, m.policy, m.work, m.room, m.warm, m.soft
    )


@kernel
def note(answer: Answer, log: Floats) -> None:
    """The diagnostics."""
    log[0], log[1], log[2], log[3] = answer.bound, answer.gap, answer.steps, answer.sweeps
    log[4], log[5], log[6] = answer.optimism, answer.estimate, answer.error
    log[7], log[8] = max(answer.estimate - answer.bound, 0.0), answer.thompson


@kernel
def episodes(memory: Memory, rule: Rule, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        answer = plan(memory, rule, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = update(with_answer(memory, answer, rule.draws), task.episode)
        note(answer, task.log.diagnostics[:, t])
    return memory


@dataclass(frozen=True)
class CalibratedVAPOR(Agent[Memory]):
    """`VAPOR` where ``optimism`` is "calibrated"."""

    bonus: str
    tolerance: float
    draws: int
    window: int
    margin: float
    thompson: str | float

    diagnostics: ClassVar[tuple[str, ...]] = (
        "bound", "gap", "steps", "sweeps", "optimism", "estimate", "error", "shortfall", "thompson",
    )  # fmt: skip

    def rule(self) -> Rule:
        return draw_rule(self.draws, self.margin, self.thompson, self.tolerance)

    def begin(self, belief: Belief) -> Memory:
        numbers, shape = doubt_named(self.bonus).numbers(belief, 1.0), (belief.actions, belief.states)
        even, values = np.full(shape, 1.0 / belief.actions), np.zeros(self.draws * self.window)
        work = flow_arrays(*shape)
        # draws and K-learning's search are done with when the solve begins, which fills its arrays anew: room for all
        room = Room(work.u, work.trial, np.zeros(shape), work.spread, work.occupancy)
        return Memory(
            belief.posterior(), numbers, np.zeros(belief.states), even, 1.0, values, 0, 0,
            even.copy(), work, room, 0.0, soft_arrays(belief.layers, belief.actions),
        )  # fmt: skip

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.rule(), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        answer = plan(memory, self.rule(), streams.reward, streams.row)
        note(answer, diagnostics)
        return with_answer(memory, answer, int(self.draws))

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        return update(memory, episode)

    def refreshed(self, memory: Memory) -> Memory:
        """Draws from a belief that no episode led away from say nothing of this one, and nothing does its κ."""
        return memory._replace(drawn=0, optimism=1.0, warm=0.0)
