"""What was tried for VAPOR's calibration: settings of its own, given shares, and K-learning's κ with VAPOR's policy.

`bench.calibrated_study run vapor_variants` plays them, and docs/reference/agents/vapor.md says what came of it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import klearning as kl
from klearning.agents import calibrated_vapor
from klearning.agents.calibrated_optimism import (
    CalibratedOptimism,
    Memory,
    Rule,
    estimate_value,
    mean_and_error,
    note,
    plan,
    update,
    with_answer,
)
from klearning.agents.calibrated_vapor import CalibratedVAPOR
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief
from klearning.optimism.calibrated_occupancy import calibrate_occupancy
from klearning.optimism.doubts import DoubtNumbers, doubt_named, fill_doubts
from klearning.optimism.occupancy import Flows, flow_arrays
from klearning.optimism.occupancy_newton import occupy
from klearning.trials.agent import Agent
from klearning.trials.task import Task, play

K_CALIBRATED = CalibratedOptimism("reward", 1e-6, draws=1, window=10, margin=0.0, thompson="rising")
K_STEADY = replace(K_CALIBRATED, window=30, thompson=0.0)


class WithFlows(NamedTuple):
    """Calibrated K-learning's memory, and VAPOR's beside it."""

    calibrated: Memory
    doubt: DoubtNumbers
    V: Floats
    solution: Floats
    policy: Floats
    work: Flows


@kernel
def vapor_episodes(memory: WithFlows, rule: Rule, task: Task, first: int, count: int) -> WithFlows:
    """κ is K-learning's, and the policy VAPOR's."""
    m = memory
    theirs, W = m.calibrated, m.work
    for t in range(first, first + count):
        answer = plan(theirs, rule, task.reward_stream, task.row_stream)
        p = theirs.posterior
        fill_doubts(m.doubt, p, W.stated)
        W.stated[:] *= np.sqrt(answer.optimism)
        occupy(p.model, p.discount, rule.tolerance, W, m.V, m.solution)
        m.policy[:] = theirs.policy if answer.thompson else m.solution
        play(task, m.policy, t)
        theirs = update(with_answer(theirs, answer, rule.draws), task.episode)
        note(answer, task.log.diagnostics[:, t])
    return WithFlows(theirs, m.doubt, m.V, m.solution, m.policy, W)


@dataclass(frozen=True)
class KappaOfKLearning(Agent[WithFlows]):
    """VAPOR with the share of calibrated K-learning."""

    calibrated: CalibratedOptimism

    diagnostics = CalibratedOptimism.diagnostics

    def begin(self, belief: Belief) -> WithFlows:
        shape = (belief.actions, belief.states)
        even, doubt = np.full(shape, 1.0 / belief.actions), doubt_named(self.calibrated.bonus).numbers(belief, 1.0)
        theirs = self.calibrated.begin(belief)
        return WithFlows(theirs, doubt, np.zeros(belief.states), even, even.copy(), flow_arrays(*shape))

    def advance(self, memory: WithFlows, task: Task, first: int, count: int) -> WithFlows:
        return vapor_episodes(memory, self.calibrated.rule(), task, first, count)


@kernel
def growing_plan(
    memory: calibrated_vapor.Memory, rule: Rule, share: float, rewards: np.random.Generator, rows: np.random.Generator
) -> calibrated_vapor.Answer:
    """As `calibrated_vapor.plan` without Thompson episodes, but the window is a share of all plans so far."""
    p, values, room = memory.posterior, memory.values, memory.room
    estimate, _ = estimate_value(memory, rule.draws, rewards, rows)
    size, drawn = values.size, memory.drawn + rule.draws
    known = estimate - values[: min(drawn, size)].mean()
    recent = np.empty(min(drawn, size, max(10, int(share * drawn))))
    for i in range(recent.size):
        recent[i] = values[(drawn - 1 - i) % size]
    mean, error = mean_and_error(recent)
    target = known + mean + (rule.margin * error if rule.margin > 0.0 else 0.0)
    fill_doubts(memory.doubt, p, room.c)
    best = calibrate_occupancy(
        p.model, p.discount, room.c, target, memory.optimism, rule.tolerance, memory.work, memory.V, memory.solution
    )
    memory.policy[:] = memory.solution
    bound, gap = best.occupied.bound, best.occupied.gap
    return calibrated_vapor.Answer(
        bound, gap, best.steps, best.sweeps, best.optimism, known + mean, error, thompson=False
    )


@kernel
def growing_episodes(
    memory: calibrated_vapor.Memory, rule: Rule, share: float, task: Task, first: int, count: int
) -> calibrated_vapor.Memory:
    for t in range(first, first + count):
        answer = growing_plan(memory, rule, share, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = calibrated_vapor.update(calibrated_vapor.with_answer(memory, answer, rule.draws), task.episode)
        calibrated_vapor.note(answer, task.log.diagnostics[:, t])
    return memory


@dataclass(frozen=True)
class GrowingWindow(CalibratedVAPOR):
    """Draws of the last ``share`` of all plans, ten at least and ``window`` at most; in `kl.run` alone."""

    share: float = 0.1

    def advance(self, memory: calibrated_vapor.Memory, task: Task, first: int, count: int) -> calibrated_vapor.Memory:
        return growing_episodes(memory, self.rule(), self.share, task, first, count)


def growing(share: float, margin: float = 0.0) -> GrowingWindow:
    return GrowingWindow("reward", 1e-6, draws=1, window=10_000, margin=margin, thompson=0.0, share=share)


CALIBRATED_VAPOR = kl.VAPOR(optimism="calibrated")
STEADY = replace(CALIBRATED_VAPOR, window=30, thompson=0.0)
VAPOR_VARIANTS: dict[str, Agent] = {
    "VAPOR, calibrated": CALIBRATED_VAPOR,
    "VAPOR, no Thompson episodes": replace(CALIBRATED_VAPOR, thompson=0.0),
    "VAPOR, one in ten": replace(CALIBRATED_VAPOR, thompson=0.1),
    "VAPOR, by the information ratio": replace(CALIBRATED_VAPOR, thompson="informed"),
    "VAPOR, bonus sharp": replace(CALIBRATED_VAPOR, bonus="sharp"),
    "VAPOR, margin 1": replace(CALIBRATED_VAPOR, margin=1.0),
    "VAPOR, margin 3": replace(CALIBRATED_VAPOR, margin=3.0),
    "VAPOR, 5 draws, window 5": replace(CALIBRATED_VAPOR, draws=5, window=5),
    "VAPOR, κ of K-learning": KappaOfKLearning(K_CALIBRATED),
    "VAPOR, κ of K-learning, one in ten": KappaOfKLearning(replace(K_CALIBRATED, thompson=0.1)),
    "VAPOR, κ of K-learning, no Thompson episodes": KappaOfKLearning(replace(K_CALIBRATED, thompson=0.0)),
    "VAPOR, window 30, no Thompson episodes": STEADY,
    "VAPOR, window 30, margin 1, no Thompson episodes": replace(STEADY, margin=1.0),
    "VAPOR, window 30, margin 3, no Thompson episodes": replace(STEADY, margin=3.0),
    "VAPOR, window 30, margin 5, no Thompson episodes": replace(STEADY, margin=5.0),
    "VAPOR, margin 3, no Thompson episodes": replace(STEADY, window=10, margin=3.0),
    "VAPOR, window 100, no Thompson episodes": replace(STEADY, window=100),
    "VAPOR, window 100, margin 3, no Thompson episodes": replace(STEADY, window=100, margin=3.0),
    "VAPOR, window 100, margin 10, no Thompson episodes": replace(STEADY, window=100, margin=10.0),
    "VAPOR, window 300, no Thompson episodes": replace(STEADY, window=300),
    "VAPOR, window 30": replace(STEADY, thompson="rising"),
    "VAPOR, window 30, margin 3": replace(STEADY, margin=3.0, thompson="rising"),
    "VAPOR, window t/10": growing(0.1),
    "VAPOR, window t/3": growing(1 / 3),
    "VAPOR, window t/10, margin 3": growing(0.1, 3.0),
    "VAPOR, κ of K-learning, window 30, no Thompson episodes": KappaOfKLearning(K_STEADY),
    "VAPOR, κ of K-learning, window 100, no Thompson episodes": KappaOfKLearning(replace(K_STEADY, window=100)),
    "VAPOR, κ of K-learning, window 30, margin 3, no Thompson episodes": KappaOfKLearning(
        replace(K_STEADY, margin=3.0)
    ),
    "VAPOR, κ = 0.25": kl.VAPOR(optimism=0.25),
    "VAPOR, κ = 0.1": kl.VAPOR(optimism=0.1),
    "VAPOR, κ = 1": kl.VAPOR(),
}
