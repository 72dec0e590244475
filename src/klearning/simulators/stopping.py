"""Callbacks that stop learning: when no more is to be gained, by a plan's own certificate, or when returns are enough.

Let f be the bound of a plan (`Plan.bound`) and J the value, in the mean of what is believed, of the greedy policy that
`predict` follows. If f is an upper bound on the expected optimal value (`Plan.proved`), and what is unknown of
different layers is independent, so that J is what that policy is expected to collect, then

    E[V* − V^greedy | data]  ≤  f − J

is what an episode of the greedy policy loses at most, on average over all that may still be true. A prior that is
stationary, or a learner that forgets, makes both sides estimates.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from klearning.numerics import checks
from klearning.simulators.callbacks import EpisodeReport
from klearning.simulators.learner import Learner
from klearning.tabular.models.sweeps import hard_sweep
from klearning.tabular.optimism.bonuses import BONUSES, bonus_named
from klearning.tabular.optimism.plan import solve
from klearning.tabular.optimism.proof import layers_depend


@dataclass(frozen=True)
class Certificate:
    """How much better than the greedy policy any other can be expected to be."""

    bound: float  # f, of the optimal value
    value: float  # J, of the greedy policy
    proved: bool  # else an estimate

    @property
    def loss(self) -> float:
        return self.bound - self.value

    def __str__(self) -> str:
        sure = "at most" if self.proved else "an estimated"
        return (
            f"greedy episodes lose {sure} {self.loss:.3g} on average (bound {self.bound:.4g}, value {self.value:.4g})"
        )


def certify(learner: Learner, bonus: str | None = None) -> Certificate:
    """What the learner's belief says now; the bonus is the agent's own, or `split` for an agent that has none."""
    if not isinstance(learner, Learner):
        raise ValueError(f"learner={learner!r} is no Learner: nothing else has a belief to judge by")
    belief = learner.belief
    own = getattr(learner.agent, "bonus", None)
    plan = solve(belief, bonus=bonus or (own if own in BONUSES else "split"), tolerance=1e-6)
    model = belief.posterior().model
    Q = np.zeros((belief.actions, belief.states))
    value = hard_sweep(model, model.reward, Q, np.zeros(belief.states))
    # where layers share a table, the mean model does not say what the greedy policy is expected to return
    return Certificate(plan.bound, float(value), plan.proved and not layers_depend(belief))


class StopWhenSure:
    """Stop once an episode of the greedy policy is known to lose no more than ``loss`` against the best.

    It is looked at every so many episodes, costs one more plan then, and must be so ``times`` times in a row. The last
    `Certificate` is ``certificate``; it says whether this is proved or an estimate, which it is of a stationary prior.
    Needs an agent that holds a belief.
    """

    def __init__(self, loss: float, *, every: int = 10, times: int = 3, bonus: str | None = None) -> None:
        self.loss = checks.number("loss", loss, 0.0, above=True)
        self.every, self.times = checks.whole("every", every), checks.whole("times", times)
        if bonus is not None:
            bonus_named(bonus)
        self.bonus = bonus
        self.certificate: Certificate | None = None
        self._in_a_row = 0

    def __call__(self, report: EpisodeReport) -> bool | None:
        if report.episode % self.every:
            return None
        self.certificate = certify(report.learner, self.bonus)
        self._in_a_row = self._in_a_row + 1 if self.certificate.loss <= self.loss else 0
        return self._in_a_row < self.times

    def __str__(self) -> str:
        return repr(self) if self.certificate is None else str(self.certificate)

    def __repr__(self) -> str:
        return f"StopWhenSure(loss={self.loss:g}, every={self.every}, times={self.times})"


class StopAtReturn:
    """Stop once the mean return of the last ``episodes`` episodes has reached ``target``."""

    def __init__(self, target: float, episodes: int = 100) -> None:
        self.target = checks.number("target", target, -np.inf)
        self.recent: deque[float] = deque(maxlen=checks.whole("episodes", episodes))

    def __call__(self, report: EpisodeReport) -> bool:
        self.recent.append(report.collected)
        return len(self.recent) < (self.recent.maxlen or 0) or float(np.mean(self.recent)) < self.target

    def __str__(self) -> str:
        mean = f"{np.mean(self.recent):.4g}" if self.recent else "–"
        return f"the last {len(self.recent)} episodes returned {mean} on average, and {self.target:g} is asked for"

    def __repr__(self) -> str:
        return f"StopAtReturn(target={self.target:g}, episodes={self.recent.maxlen})"
