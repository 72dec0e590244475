"""Parts that calibrated agents share: an estimate of E V* by posterior draws, and episodes that follow a draw.

For every plan t = 0, 1, …:

    draw MDPs from the posterior and solve them
    v_t  J of the best policy of the mean model, plus its mean optimality gap in these draws and those of the last
         plans (if layers share a table: the mean of the draws' optimal values)
    follow the best policy of the last draw instead of the agent's own in a fraction of the episodes

`calibrated_optimism` and `calibrated_vapor` choose the least κ whose bound is v_t or more.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.loops import copy_table
from klearning.numerics.random.generator import uniform
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import refuse
from klearning.numerics.simd.operations import rounded
from klearning.numerics.types import Floats
from klearning.tabular.agents.delegate import Delegate
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.beliefs.sampling import draw_optimal
from klearning.tabular.models.sweeps import greedy, hard_sweep, occupancy_sweep, shared
from klearning.tabular.optimism.calibration import Calibrated
from klearning.tabular.optimism.information import informed_share
from klearning.tabular.trials.agent import Agent, M

CALIBRATED = "calibrated"
CONSTANT, LOG, INFORMED = range(3)  # how the fraction of Thompson episodes is found
FractionRule = Literal["log", "informed"]
FRACTIONS: dict[FractionRule, int] = {"log": LOG, "informed": INFORMED}
DIAGNOSTICS = ("optimism", "estimate", "error", "shortfall", "thompson")


class Rule(NamedTuple):
    """`Calibration` and a tolerance as the kernels read them."""

    draws: int
    margin: float
    thompson: int  # CONSTANT, LOG or INFORMED
    fraction: float  # of Thompson episodes if that is CONSTANT
    tolerance: float


@dataclass(frozen=True)
class Calibration:
    """How the optimism κ is calibrated: the least whose bound is no less than an estimate of E V*.

    ``draws`` MDPs are drawn from the posterior per plan; the estimate uses those of the last ``window`` plans, and adds
    ``margin`` of its standard errors. ``thompson_fraction`` of the episodes follow the best policy of a draw, as
    `PSRL` does: a number; "log", which grows with the logarithm of time (fitted); or "informed", which minimises the
    information ratio.
    """

    draws: int = 1
    window: int = 10
    margin: float = 0.0
    thompson_fraction: FractionRule | float = "log"

    def __post_init__(self) -> None:
        checks.whole("draws", self.draws)
        checks.whole("window", self.window)
        checks.number("margin", self.margin, 0.0)
        if isinstance(self.thompson_fraction, str):
            checks.choice("thompson_fraction", self.thompson_fraction, FRACTIONS)
        else:
            checks.number("thompson_fraction", self.thompson_fraction, 0.0, 1.0)

    def rule(self, tolerance: float) -> Rule:
        if isinstance(self.thompson_fraction, str):
            thompson, fraction = FRACTIONS[self.thompson_fraction], 0.0
        else:
            thompson, fraction = CONSTANT, float(self.thompson_fraction)
        return Rule(int(self.draws), float(self.margin), thompson, fraction, float(tolerance))

    def data(self) -> dict[str, Any]:
        """The record as specs, sweep files and saved learners have it."""
        return {"kind": CALIBRATED, **asdict(self)}


Optimism = float | Literal["calibrated"] | Calibration


def check_optimism(optimism: Optimism) -> None:
    """That this is a share κ of a bonus, or says how to calibrate one."""
    if isinstance(optimism, str):
        checks.choice("optimism", optimism, (CALIBRATED,))
    elif not isinstance(optimism, Calibration):
        checks.number("optimism", optimism, 0.0, 1.0, above=True)


@field_roles(scratch=True)
class Workspace(NamedTuple):
    """Arrays for drawing an MDP and solving it, and for κ c."""

    Q: Floats
    V: Floats
    policy: Floats  # the best one of the last draw
    path: Floats  # the occupancy of the best policy of the mean model
    c: Floats


@field_roles(counts=("drawn", "plans", "warm"), finite=("values",))
class Progress(NamedTuple):
    """State of a calibrated agent from plan to plan, besides its posterior and policy."""

    values: Floats  # optimality gaps in the last draws, or their optimal values; the oldest is overwritten first
    drawn: int  # how many of them, since something other than an episode changed the posterior
    plans: int
    optimism: float  # κ of the last plan
    warm: float  # the temperature that the next search begins with

    def check(self, fresh: "Progress", name: str) -> None:
        wrong = np.array(not 0.0 < self.optimism <= 1.0)
        refuse(f"{name}.optimism", "is not a share of a bonus", wrong, self.optimism)


def first_progress(calibration: Calibration) -> Progress:
    return Progress(np.zeros(calibration.draws * calibration.window), 0, 0, 1.0, 0.0)


class Memory(Protocol):
    """The part of an agent's memory that the kernels below read."""

    @property
    def posterior(self) -> Posterior: ...
    @property
    def progress(self) -> Progress: ...
    @property
    def policy(self) -> Floats: ...
    @property
    def workspace(self) -> Workspace: ...


class Estimate(NamedTuple):
    """Of E V*."""

    value: float
    error: float  # its standard error
    target: float  # the value, plus a margin


@kernel
def draw_value(memory: Memory, rewards: np.random.Generator, rows: np.random.Generator) -> float:
    """V* of one MDP from the posterior, drawn and solved as PSRL does; its policy is in the workspace."""
    value = draw_optimal(memory.posterior, rewards, rows, memory.workspace.Q, memory.workspace.V)
    greedy(memory.workspace.Q, memory.workspace.policy)
    return value


@kernel
def mean_and_error(values: Floats) -> tuple[float, float]:
    """The mean and its standard error, which is infinite for a single value."""
    n, total, squares = values.size, 0.0, 0.0
    for i in range(n):
        total += values[i]
    mean = total / n
    for i in range(n):
        squares += rounded((values[i] - mean) * (values[i] - mean))
    return mean, np.sqrt(squares / (n * (n - 1))) if n > 1 else np.inf


@kernel
def optimality_gap_along_path(Q: Floats, path: Floats) -> float:
    """Σ λ(s,a) (max_b Q(s,b) − Q(s,a)), λ the occupancy of a policy."""
    total = 0.0
    for s in range(Q.shape[1]):
        best = Q[0, s]
        for a in range(1, Q.shape[0]):
            best = max(best, Q[a, s])
        for a in range(Q.shape[0]):
            total += path[a, s] * (best - Q[a, s])
    return total


@kernel
def estimate_value(memory: Memory, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator) -> Estimate:
    """An estimate of E V* by new draws and the last ones.

    If layers are independent, E V* = J(π) + E Σ λ (max Q* − Q*) for any π, λ its occupancy in the mean model. Most of
    what makes V* vary from draw to draw is the same for all policies, and drops out.
    """
    values, drawn, model, work = memory.progress.values, memory.progress.drawn, memory.posterior.model, memory.workspace
    by_path, best = not shared(model), 0.0
    if by_path:
        best = hard_sweep(model, model.reward, work.Q, work.V)
        greedy(work.Q, work.policy)
        occupancy_sweep(model, work.policy, work.path)
    for i in range(rule.draws):
        value = draw_value(memory, rewards, rows)
        values[(drawn + i) % values.size] = optimality_gap_along_path(work.Q, work.path) if by_path else value
    mean, error = mean_and_error(values[: min(drawn + rule.draws, values.size)])
    value = best + mean
    return Estimate(value, error, value + rule.margin * error if rule.margin > 0.0 else value)


@kernel
def use_posterior_draw(memory: Memory, rule: Rule, estimate: float, rng: np.random.Generator) -> bool:
    """Whether this plan is the best policy of the last draw; if so, the memory's policy is overwritten with it."""
    t, fraction = memory.progress.plans, rule.fraction
    if rule.thompson == CONSTANT:  # evenly spread: 0.1 is every tenth plan
        use = np.floor((t + 1) * fraction) > np.floor(t * fraction)
    elif rule.thompson == LOG:  # fitted: late on a Boltzmann policy hardly tries again what once looked worse
        use = uniform(rng) < 0.05 + 0.2 * np.log10(1.0 + t / 100.0)
    else:
        use = uniform(rng) < informed_share(memory.posterior, estimate, memory.policy, memory.workspace.policy)
    if use:
        copy_table(memory.workspace.policy, memory.policy)
    return use


@kernel
def end_plan(
    memory: Memory, rule: Rule, found: Calibrated, estimate: Estimate, bound: float, rng: np.random.Generator,
    log: Floats,
) -> None:  # fmt: skip
    """Follow a draw or not, and log a number per name of `DIAGNOSTICS`."""
    thompson = use_posterior_draw(memory, rule, estimate.value, rng)
    log[0], log[1], log[2] = found.optimism, estimate.value, estimate.error
    log[3], log[4] = max(estimate.value - bound, 0.0), thompson


@kernel
def next_progress(progress: Progress, found: Calibrated, draws: int) -> Progress:
    """The next search begins at the κ and temperature of this one."""
    p = progress
    return Progress(p.values, p.drawn + draws, p.plans + 1, found.optimism, found.temperature.warm)


@dataclass(frozen=True)
class CalibratedAgent(Agent[M]):
    """The settings of a calibrated algorithm."""

    bonus: str
    tolerance: float
    calibration: Calibration

    def rule(self) -> Rule:
        return self.calibration.rule(self.tolerance)


class Optimistic(Delegate[M]):
    """An agent whose ``optimism`` is a number κ, or calibrated: each is an algorithm of its own."""

    optimism: Optimism
    default: ClassVar[Calibration]  # the meaning of "calibrated"
    records: ClassVar[Mapping[str, Mapping[str, type]]] = {"optimism": {CALIBRATED: Calibration}}  # by kind, in data

    @property
    def calibration(self) -> Calibration | None:
        """How κ is calibrated, or None if it is a number."""
        if isinstance(self.optimism, str):
            return self.default
        return self.optimism if isinstance(self.optimism, Calibration) else None
