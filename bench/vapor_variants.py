"""What was tried for VAPOR's calibration: settings of its own, given shares, and K-learning's κ with VAPOR's policy.

`bench.calibrated_study run vapor_variants` plays them, and docs/reference/agents/vapor.md says what came of it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import klearning as kl
from klearning.agents.calibrated_optimism import CalibratedOptimism, Memory, Rule, note, plan, update, with_answer
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief
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
    "VAPOR, κ of K-learning, window 30, no Thompson episodes": KappaOfKLearning(K_STEADY),
    "VAPOR, κ of K-learning, window 100, no Thompson episodes": KappaOfKLearning(replace(K_STEADY, window=100)),
    "VAPOR, κ of K-learning, window 30, margin 3, no Thompson episodes": KappaOfKLearning(
        replace(K_STEADY, margin=3.0)
    ),
    "VAPOR, κ = 0.25": kl.VAPOR(optimism=0.25),
    "VAPOR, κ = 0.1": kl.VAPOR(optimism=0.1),
    "VAPOR, κ = 1": kl.VAPOR(),
}
