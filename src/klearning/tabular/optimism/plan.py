"""`solve`: from a belief to a Plan."""

from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import Generic, Literal

import numpy as np
from typing_extensions import TypeVar

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.plots import Axes, draw_policy
from klearning.numerics.display.summaries import format_value, html_summary
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.layers import by_layer, size_text
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.soft import Soft
from klearning.tabular.models.sweeps import Model, all_action_values, occupancy_sweep, policy_sweep
from klearning.tabular.optimism.bonuses import BonusName, check_schedule, check_share
from klearning.tabular.optimism.program import Program, k_values, program, solve_at, solve_best
from klearning.tabular.optimism.split.priced_sweep import Priced
from klearning.tabular.optimism.temperature import Schedule, Temperature, first_guess, fixed, scheduled
from klearning.tabular.optimism.visits import Visits

Heat = TypeVar("Heat", float, Layers, default=float)


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Generic[Heat]):
    """The result of a solve; arrays as one (S_l, A) or (S_l,) per layer. So is `solve_vapor`'s ``temperature``.

    ``bound`` is f(τ), and ``gap`` how far at most it is above its minimum over τ (with `split` and a stated span, a
    local one; with `visits`, over V at the temperatures that it found, whose geometric mean is ``temperature``). If
    ``proved``, the bound is an upper bound on the expected optimal value, by proof, for this belief and bonus;
    otherwise it may lie below it.
    """

    temperature: Heat
    k_values: Layers
    values: Layers
    policy: Layers
    occupancy: Layers
    bound: float
    gap: float
    sweeps: int
    proved: bool

    def plot(self, ax: Axes | None = None, what: str = "values", action: int | None = None) -> Axes:
        """A row per layer, a square per state; returns Matplotlib's axes.

        ``what`` is "values", "occupancy" (how likely the policy comes by) or "policy": the chance of ``action``, by
        default the last one. If there is one state only, a bar per action.
        """
        return draw_policy(ax, what, action, self.values, self.k_values, self.policy, self.occupancy)

    def __repr__(self) -> str:
        numbers = {"temperature": self._heat(), "bound": self.bound, "gap": self.gap}
        text = ", ".join(f"{name}={format_value(x)}" for name, x in numbers.items())
        return f"Plan({text}, proved={self.proved}, {size_text(self.policy)})"

    def _heat(self) -> float | str:
        """The temperature, or the range of temperatures."""
        if isinstance(self.temperature, float):
            return self.temperature
        low, high = (extreme(np.concatenate(self.temperature)) for extreme in (np.min, np.max))
        return f"{format_value(float(low))} to {format_value(float(high))}"

    def _repr_html_(self) -> str:
        meaning = "by proof" if self.proved else "not proved for this belief and bonus"
        facts = {
            "temperature": self._heat(),
            "bound on the optimal value": f"{format_value(self.bound)} ({meaning})",
            "gap": self.gap,
            "sweeps": self.sweeps,
            "tables": size_text(self.policy),
        }
        return html_summary("Plan", facts)


@uninterrupted  # once, not for each of its kernels
@compiling_for("kl.solve")
def solve(
    belief: Belief,
    temperature: Literal["optimal"] | float | Schedule = "optimal",
    bonus: BonusName = "reward",
    tolerance: float = 1e-10,
    optimism: float = 1.0,
) -> Plan:
    """K-values (e-bellmanop) and the Boltzmann policy over them (e-policy).

    ``temperature`` is "optimal", a number, or ``schedule(t)``; ``bonus`` is "paper", "sharp", "reward", "split" or
    "visits". The optimum is found to a duality gap below ``tolerance`` times the optimism f − J, and times f (`visits`:
    to a thousandth of f). It is 0 if nothing is uncertain (act greedily) and infinite if there is one action.
    ``optimism``, κ in (0, 1], is the share of the bonus that is used.
    """
    tolerance = checks.number("tolerance", tolerance, 0.0, 1.0, above=True)
    full = program(belief, bonus)
    check_share(optimism, full.bonus)
    tau = temperature if isinstance(temperature, str) else _number(full, temperature, optimism)
    ready = full if optimism == 1.0 else replace(full, c=optimism * full.c)
    policy = np.zeros_like(ready.c)
    answer = _solve(ready, tau, tolerance, policy)
    K, V, occupancy = np.zeros_like(policy), np.zeros(policy.shape[1]), np.zeros_like(policy)
    complete(ready.model, ready.c, answer.tau, policy, K, V, occupancy, ready.work)
    K_l, V_l, policy_l, occupancy_l = (by_layer(x, belief.layers) for x in (K, V, policy, occupancy))
    return Plan(answer.tau, K_l, V_l, policy_l, occupancy_l, answer.bound, answer.gap, answer.sweeps, ready.proved)


def _solve(ready: Program, temperature: str | float, tolerance: float, policy: Floats) -> Temperature:
    """The policy at the temperature that was asked for, or found, is written to ``policy``."""
    if isinstance(temperature, str):
        checks.choice("temperature", temperature, ["optimal"])
        answer = solve_best(ready.model, ready.c, 0.0, tolerance, policy, ready.work)
        fix = "no temperature was found: scale the rewards and their prior, or give a temperature"
    else:
        answer = solve_at(ready.model, ready.c, temperature, policy, ready.work)
        fix = 'give one closer to the optimum (temperature="optimal")'
    if not isfinite(answer.bound):
        raise ValueError(f"temperature={answer.tau!r} gives K-values beyond the range of floats: {fix}")
    return answer


def _number(ready: Program, temperature: float | Schedule, optimism: float) -> float:
    """A temperature that the sweep can take: 0 only if nothing is uncertain, ∞ only with one action."""
    if isinstance(temperature, Schedule):
        check_schedule(ready.bonus)
        return sqrt(optimism) * scheduled(ready.numbers, ready.posterior, ready.c, temperature.t)
    if ready.belief.actions == 1 and temperature == np.inf:
        return np.inf
    if checks.number("temperature", temperature, 0.0) > 0.0:
        return fixed(temperature)
    if ready.belief.actions > 1 and (ready.priced or first_guess(ready.model, ready.c) > 0.0):
        raise ValueError(
            "temperature=0 makes the bonus c/τ infinite if something is uncertain: "
            'give a positive number, or temperature="optimal"'
        )
    return 0.0


@kernel
def complete(
    model: Model, c: Floats, tau: float, policy: Floats, K: Floats, V: Floats, occupancy: Floats,
    W: Soft | Priced | Visits,
) -> None:  # fmt: skip
    """K, V and λ of a policy, from the last sweep or in one of the limits."""
    if tau == 0.0 or np.isinf(tau):
        policy_sweep(model, model.reward, policy, V, np.empty(V.size))
        all_action_values(model, model.reward, V, K)
    else:
        k_values(model, c, tau, K, V, W)
    occupancy_sweep(model, policy, occupancy)
