"""VBOS: variational Bayesian optimistic sampling (O'Donoghue and Lattimore, 2021), for one bandit.

`mixture.py` has the program and its dual, `arms.py` what a Gaussian and a Beta arm answer, `budget.py` the constraint.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics import checks
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.summaries import format_value, html_summary
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.sweeps import FORBIDDEN
from klearning.tabular.optimism.bandits.arms import NO_MASSES, Arms, new_workspace
from klearning.tabular.optimism.bandits.budget import within_budget
from klearning.tabular.optimism.bandits.mixture import best_mixture


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """How often to play each arm.

    ``value`` is the upper bound on the expected reward of the best arm (with costs: of the best mixture within the
    budget), and ``gap`` how far at most that of ``policy`` is below it. ``temperatures`` are τ of every arm: 0 if an
    arm is certain, infinite if there is no other. ``multiplier`` is what a unit of budget is worth.
    """

    policy: Floats
    value: float
    temperatures: Floats
    gap: float
    multiplier: float = 0.0

    def __repr__(self) -> str:
        price = f", multiplier={format_value(self.multiplier)}" if self.multiplier else ""
        return (
            f"Mixture(value={format_value(self.value)}, gap={format_value(self.gap)}, arms={self.policy.size}{price})"
        )

    def _repr_html_(self) -> str:
        likely = int(self.policy.argmax())
        facts: dict[str, Any] = {
            "arms": self.policy.size,
            "likeliest": f"arm {likely}, {self.policy[likely]:.1%}",
            "bound on the best arm's reward": self.value,
            "gap": self.gap,
        }
        return html_summary(
            "Mixture", facts | ({"a unit of budget is worth": self.multiplier} if self.multiplier else {})
        )


@compiling_for("kl.solve_vbos")
def solve_vbos(
    means: ArrayLike | Belief,
    sds: ArrayLike | None = None,
    *,
    costs: ArrayLike | None = None,
    budget: float | None = None,
) -> Mixture:
    """How often to play each arm of a bandit, given a belief.

    Mean rewards are independent and Gaussian, with these means and standard deviations; or what a belief with one state
    says of them, Gaussian or Beta, exactly. With ``costs``, a number per arm, and a ``budget``, the mixture costs no
    more than the budget on average.
    """
    arms = _believed(means, sds) if isinstance(means, Belief) else _gaussian(means, sds)
    count = arms.means.size
    if costs is not None or budget is not None:
        return _within(arms, checks.array("costs", _given("costs", costs), (count,)), _given("budget", budget))
    policy, work = np.zeros(count), new_workspace(count)
    optimum = best_mixture(arms, np.zeros(count), policy, work)
    return Mixture(policy, optimum.value, work.tau, optimum.gap)


def _gaussian(means: ArrayLike, sds: ArrayLike | None) -> Arms:
    m = checks.array("means", means, (None,))
    if m.size == 0:
        raise ValueError("means has no entries: give a number per arm")
    s = checks.array("sds", _given("sds", sds), m.shape)
    for field, x, low in (("means", m, -checks.LARGEST), ("sds", s, 0.0)):
        outside = (x < low) | (x > checks.LARGEST)
        if outside.any():
            a = int(outside.argmax())
            raise ValueError(f"{field}[{a}]={x[a]:g} is out of range: give numbers from {low:g} to {checks.LARGEST:g}")
    return Arms(m, s, NO_MASSES)


def _believed(belief: Belief, sds: ArrayLike | None) -> Arms:
    if sds is not None:
        raise ValueError("sds are given beside a belief, which has its own: give the belief alone, or means and sds")
    if belief.states > 1:
        raise ValueError(f"belief has {belief.states} states: VBOS is for bandits, one state and one step; use VAPOR")
    x, reward = belief.mean_rewards(), belief.prior.reward
    if reward.learns_noise:
        raise ValueError(f"reward={reward!r} has no cumulants: use a Gaussian, or give means and standard deviations")
    masses = NO_MASSES
    if reward.numbers().shift:  # the Beta of coin flips
        masses = reward.numbers().strength + x.visits[:, 0]
    return Arms(x.mean[:, 0].copy(), np.sqrt(reward.variance(x)[:, 0]), masses)


def _given(field: str, value: Any) -> Any:
    if value is None:
        together = {"sds": "means and sds", "costs": "costs and budget", "budget": "costs and budget"}[field]
        raise ValueError(f"{field} is missing: give {together} together")
    return value


def _within(arms: Arms, costs: Floats, budget: Any) -> Mixture:
    limit = checks.number("budget", budget, -np.inf)
    allowed = arms.means > FORBIDDEN
    least = float(costs[allowed].min())
    if least > limit:
        raise ValueError(f"budget={budget!r} is below all costs: give at least {least!r}, that of the cheapest arm")
    if least == limit:
        return _cheapest(arms, allowed & (costs == least))
    over = costs - limit
    span = float(np.ptp(arms.means[allowed]) + arms.sds.max())
    policy, work = np.zeros(costs.size), new_workspace(costs.size)
    best = within_budget(arms, over, (span if span > 0.0 else 1.0) / float(np.abs(over).max()), policy, work)
    return Mixture(policy, best.value, work.tau, best.gap, best.multiplier)


def _cheapest(arms: Arms, cheap: Any) -> Mixture:
    """The budget is that of the cheapest arms: no price is high enough to say so."""
    some = Arms(arms.means[cheap], arms.sds[cheap], arms.masses[cheap] if arms.masses.size else NO_MASSES)
    policy, tau = np.zeros(cheap.size), np.zeros(cheap.size)
    work, inside = new_workspace(some.means.size), np.zeros(some.means.size)
    optimum = best_mixture(some, np.zeros(inside.size), inside, work)
    policy[cheap], tau[cheap] = inside, work.tau
    multiplier = 0.0 if cheap.all() else np.inf
    return Mixture(policy, optimum.value, tau, optimum.gap, multiplier)
