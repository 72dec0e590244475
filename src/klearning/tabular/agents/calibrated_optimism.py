"""K-learning with the least optimism that is enough.

For episode t = 1, 2, …:

    draw MDPs from the posterior; v_t = J of the best policy of the mean model, and what it misses by these draws and
    those of the last plans, on average (of tied layers: the mean of their optimal values)
    κ_t  the least with min_τ f_κ(τ) ≥ v_t (+ z standard errors of v_t), or 1, and τ_t the minimiser
    ν_t  with the bonus `split`, where κ_t = 1 is too little: the least share of its price of transitions that is not
    follow π_l(a|s) ∝ exp(K_l(s,a)/τ_t) of K-learning with bonus κ_t c/τ_t; now and then the best policy of a draw
    condition on what was seen

Why: Bayes regret of the episode is at most f_κ − J + (E V* − f_κ)₊, where v_t estimates E V*, without bias or, by draws
of earlier plans, on the side of optimism (docs/evidence/calibrated.md, section 3).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compiled import kernel
from klearning.numerics.draws import uniform
from klearning.numerics.lanes import rounded
from klearning.numerics.loops import copy_table
from klearning.numerics.tree_checks import differs, refuse
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, check_derived, learn
from klearning.tabular.beliefs.sampling import draw_optimal
from klearning.tabular.models.soft import Soft, soft_values
from klearning.tabular.models.sweeps import greedy, hard_sweep, occupancy_sweep, shared
from klearning.tabular.optimism.bonuses import BONUSES, BonusNumbers, fill, refresh
from klearning.tabular.optimism.calibration import calibrated
from klearning.tabular.optimism.information import informed_share
from klearning.tabular.optimism.program import program, soft_part
from klearning.tabular.optimism.split.blended_sweep import Blended, blended_arrays
from klearning.tabular.optimism.split.priced_sweep import Priced
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play

CALIBRATED = "calibrated"
RISING, INFORMED = -1.0, -2.0  # in the place of a share
RULES = {"rising": RISING, "informed": INFORMED}


class Rule(NamedTuple):
    """How κ is chosen: draws per plan, standard errors above their mean, and how often a draw itself is acted on.

    That is a share, or `RISING` or `INFORMED`.
    """

    draws: int
    margin: float
    thompson: float
    tolerance: float


def check_draws(draws: int, window: int, margin: float, thompson: str | float) -> None:
    """The settings of whoever calibrates."""
    checks.whole("draws", draws)
    checks.whole("window", window)
    checks.number("margin", margin, 0.0)
    if isinstance(thompson, str):
        checks.choice("thompson", thompson, RULES)
    else:
        checks.number("thompson", thompson, 0.0, 1.0)


def draw_rule(draws: int, margin: float, thompson: str | float, tolerance: float) -> Rule:
    share = RULES[thompson] if isinstance(thompson, str) else float(thompson)
    return Rule(int(draws), float(margin), share, float(tolerance))


@marked(scratch=True)
class Room(NamedTuple):
    """For drawing an MDP and solving it, and for the bonus with or without κ."""

    Q: Floats
    V: Floats
    policy: Floats
    path: Floats  # where the best policy of the mean model goes
    c: Floats


@marked(counts=("c", "warm", "drawn", "plans"), finite=("values",), chances=("policy",), tied=("c",))
class Memory(NamedTuple):
    """What the agent carries from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    bonus: BonusNumbers
    c: Floats  # of the whole bonus, κ = 1
    warm: float
    optimism: float  # κ of the last plan
    values: Floats  # what was missed by the last draws, or their optimal values; oldest overwritten first
    drawn: int  # of them, since something other than an episode changed what is believed
    plans: int  # so far
    policy: Floats
    work: Soft | Blended
    room: Room

    def check(self, fresh: "Memory", name: str) -> None:
        check_derived(self.posterior, fresh.posterior, f"{name}.posterior")
        refuse(f"{name}.optimism", "is no share of a bonus", np.array(not 0.0 < self.optimism <= 1.0), self.optimism)
        if list(BONUSES.values())[fresh.bonus.version].fill is None:
            c = np.zeros_like(self.c)
            fill(fresh.bonus, self.posterior, c)
            refuse(f"{name}.c", "does not follow from its posterior", differs(self.c, c), self.c)


class Sampled(Protocol):
    """What drawing from a belief takes of a memory."""

    @property
    def posterior(self) -> Posterior: ...
    @property
    def values(self) -> Floats: ...
    @property
    def drawn(self) -> int: ...
    @property
    def plans(self) -> int: ...
    @property
    def policy(self) -> Floats: ...
    @property
    def room(self) -> Room: ...


class Answer(NamedTuple):
    """A plan in numbers: what was found, and what it was found from."""

    tau: float
    bound: float
    gap: float
    sweeps: int
    warm: float
    optimism: float
    estimate: float  # of E V*
    error: float  # its standard error
    thompson: bool  # whether the policy is that of a draw
    price: float  # ν


@kernel
def draw_value(memory: Sampled, rewards: np.random.Generator, rows: np.random.Generator) -> float:
    """V* of one MDP from the posterior, drawn and solved as PSRL does; its policy is in the room."""
    value = draw_optimal(memory.posterior, rewards, rows, memory.room.Q, memory.room.V)
    greedy(memory.room.Q, memory.room.policy)
    return value


@kernel
def mean_and_error(values: Floats) -> tuple[float, float]:
    """Of one value nothing says how far off it is."""
    n, total, squares = values.size, 0.0, 0.0
    for i in range(n):
        total += values[i]
    mean = total / n
    for i in range(n):
        squares += rounded((values[i] - mean) * (values[i] - mean))
    return mean, np.sqrt(squares / (n * (n - 1))) if n > 1 else np.inf


@kernel
def missed(Q: Floats, path: Floats) -> float:
    """Σ λ(s,a) (max_b Q(s,b) − Q(s,a)), λ the path of a policy."""
    total = 0.0
    for s in range(Q.shape[1]):
        best = Q[0, s]
        for a in range(1, Q.shape[0]):
            best = max(best, Q[a, s])
        for a in range(Q.shape[0]):
            total += path[a, s] * (best - Q[a, s])
    return total


@kernel
def estimate_value(
    memory: Sampled, draws: int, rewards: np.random.Generator, rows: np.random.Generator
) -> tuple[float, float]:
    """Of E V*, by new draws and the last ones; and its standard error.

    Where layers are independent E V* = J(π) + E Σ λ (max Q* − Q*), λ the path of π in the mean model, any π: most of
    what makes V* vary from draw to draw is the same for all policies, and left out.
    """
    values, drawn, model, room = memory.values, memory.drawn, memory.posterior.model, memory.room
    by_path, known = not shared(model), 0.0
    if by_path:
        known = hard_sweep(model, model.reward, room.Q, room.V)
        greedy(room.Q, room.policy)
        occupancy_sweep(model, room.policy, room.path)
    for i in range(draws):
        value = draw_value(memory, rewards, rows)
        values[(drawn + i) % values.size] = missed(room.Q, room.path) if by_path else value
    mean, error = mean_and_error(values[: min(drawn + draws, values.size)])
    return known + mean, error


@kernel
def follows_draw(memory: Sampled, share: float, estimate: float, rng: np.random.Generator) -> bool:
    """Whether this plan is the best policy of the last draw, not the Boltzmann policy."""
    t = memory.plans
    if share >= 0.0:  # evenly spread: 0.1 is every tenth plan
        return np.floor((t + 1) * share) > np.floor(t * share)
    if share == RISING:  # fitted: late on a Boltzmann policy hardly tries again what once looked worse
        return uniform(rng) < 0.05 + 0.2 * np.log10(1.0 + t / 100.0)
    return uniform(rng) < informed_share(memory.posterior, estimate, memory.policy, memory.room.policy)


@kernel
def plan(memory: Memory, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator) -> Answer:
    """Draw, choose κ and τ, and write the policy."""
    estimate, error = estimate_value(memory, rule.draws, rewards, rows)
    target = estimate + rule.margin * error if rule.margin > 0.0 else estimate
    found = calibrated(
        memory.posterior.model, memory.c, target, memory.optimism, memory.warm, rule.tolerance,
        memory.policy, memory.room.c, memory.work,
    )  # fmt: skip
    thompson = follows_draw(memory, rule.thompson, estimate, rewards)
    if thompson:
        copy_table(memory.room.policy, memory.policy)
    best = found.temperature
    return Answer(
        best.tau, best.bound, best.gap, found.sweeps, best.warm, found.optimism, estimate, error, thompson,
        found.price,
    )  # fmt: skip


@kernel
def with_answer(memory: Memory, answer: Answer, draws: int) -> Memory:
    """The next search begins where this one ended."""
    m = memory
    return Memory(
        m.posterior, m.bonus, m.c, answer.warm, answer.optimism, m.values, m.drawn + draws, m.plans + 1,
        m.policy, m.work, m.room,
    )  # fmt: skip


@kernel
def update(memory: Memory, episode: Episode) -> Memory:
    """Condition on one episode."""
    m = memory
    p = learn(m.posterior, episode)
    refresh(m.bonus, p, episode, m.c)
    return Memory(p, m.bonus, m.c, m.warm, m.optimism, m.values, m.drawn, m.plans, m.policy, m.work, m.room)


@kernel
def note(answer: Answer, log: Floats) -> None:
    """The diagnostics."""
    log[0], log[1], log[2], log[3] = answer.tau, answer.bound, answer.gap, answer.sweeps
    log[4], log[5], log[6] = answer.optimism, answer.estimate, answer.error
    log[7], log[8], log[9] = max(answer.estimate - answer.bound, 0.0), answer.thompson, answer.price


@kernel
def episodes(memory: Memory, rule: Rule, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        answer = plan(memory, rule, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = update(with_answer(memory, answer, rule.draws), task.episode)
        note(answer, task.log.diagnostics[:, t])
    return memory


@dataclass(frozen=True)
class CalibratedOptimism(Agent[Memory]):
    """`KLearning` where ``optimism`` is "calibrated"."""

    bonus: str
    tolerance: float
    draws: int
    window: int
    margin: float
    thompson: str | float

    diagnostics: ClassVar[tuple[str, ...]] = (
        "temperature", "bound", "gap", "sweeps", "optimism", "estimate", "error", "shortfall", "thompson",
        "price",
    )  # fmt: skip

    def rule(self) -> Rule:
        return draw_rule(self.draws, self.margin, self.thompson, self.tolerance)

    def begin(self, belief: Belief) -> Memory:
        ready = program(belief, self.bonus, tied=True)
        policy = np.zeros((belief.actions, belief.states))
        values = np.zeros(self.draws * self.window)
        Q, V, drawn, path = np.zeros_like(policy), np.zeros(belief.states), np.zeros_like(policy), np.zeros_like(policy)
        room = Room(Q, V, drawn, path, np.zeros_like(ready.c))
        work = blended_arrays(belief, ready.posterior) if isinstance(ready.work, Priced) else soft_part(ready.work)
        return Memory(ready.posterior, ready.numbers, ready.c, 0.0, 1.0, values, 0, 0, policy, work, room)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        if BONUSES[self.bonus].fill is None:
            return episodes(memory, self.rule(), task, first, count)
        return Agent.advance(self, memory, task, first, count)  # c is filled in Python

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        answer = plan(memory, self.rule(), streams.reward, streams.row)
        note(answer, diagnostics)
        return with_answer(memory, answer, int(self.draws))

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        own = BONUSES[self.bonus].fill
        if own is None:
            return update(memory, episode)
        p = learn(memory.posterior, episode)
        own(memory.bonus, p, memory.c)
        return memory._replace(posterior=p)

    def refreshed(self, memory: Memory) -> Memory:
        (BONUSES[self.bonus].fill or fill)(memory.bonus, memory.posterior, memory.c)
        return memory._replace(drawn=0)  # draws from a belief that no episode led away from say nothing of this one

    def values(self, memory: Memory) -> Floats:
        work = memory.work.soft if isinstance(memory.work, Blended) else memory.work
        return soft_values(memory.posterior.model.layers, work)
