"""Information-directed sampling for MDPs (after Russo and Van Roy, 2014), with a regret bound of K-learning's order.

For episode t = 0, 1, …, by the posterior, its prior widened if rewards contradict it (`beliefs/widening.py`):

    v_t  J of the best policy of the mean model plus its mean optimality gap in the last draws: an estimate of E V*
    in a fraction t / (t + patience · pairs) of the episodes: the best policy of a draw from the posterior with its
         counts doubled
    otherwise: the mixture of policies with the least (v − J)² / I, I the information that an episode is expected to
         give (`optimism/value_of_information.py`), v an estimate with the gap times 2 + log10(1 + t/100)
    if v_t plus the surplus exceeds J + √(Ψ C̄) of that policy, Ψ = 4 L log A: the mixture of policies with the most
         J + √(Ψ C̄) instead; what v_t is above even that is the surplus, which the next episodes add

The last line makes the bound (docs/evidence/calibrated.md). It is left out if no proof covers the belief.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.loops import copy_table
from klearning.numerics.random.generator import uniform
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import refuse
from klearning.numerics.types import Floats
from klearning.tabular.agents.calibrated import optimality_gap_along_path
from klearning.tabular.agents.psrl import CONCENTRATIONS
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, learn
from klearning.tabular.beliefs.sampling import draw_concentrated, draw_optimal
from klearning.tabular.beliefs.widening import widened
from klearning.tabular.models.sweeps import Model, greedy, hard_sweep, occupancy_sweep, policy_sweep
from klearning.tabular.optimism.bonuses import BonusNumbers, fill, half_variance
from klearning.tabular.optimism.frontier import Edge, Point, best_on_frontier, edge
from klearning.tabular.optimism.program import program
from klearning.tabular.optimism.value_of_information import Variances, fill_information, variances
from klearning.tabular.trials.agent import Agent, settings_text
from klearning.tabular.trials.task import Streams, Task, play

EVERY = 16  # episodes that follow a draw add a gap this often; the others always do


class Rule(NamedTuple):
    """The agent's settings as the kernels read them."""

    concentration: float
    patience: float


@field_roles(scratch=True)
class Workspace(NamedTuple):
    """Arrays for one plan; axes (action, state)."""

    drawn: Floats  # Q of a draw
    V: Floats
    scratch: Floats  # one per state of the widest layer
    path: Floats  # an occupancy
    information: Floats
    variances: Variances
    edge: Edge
    c: Floats
    reward: Floats  # of a posterior with a wider prior, a column per row of the tables
    variance: Floats


@field_roles(counts=("drawn", "plans", "eta", "surplus"), finite=("gaps",))
class Progress(NamedTuple):
    """State of the agent from plan to plan, besides its posterior and policy."""

    gaps: Floats  # in the last draws; the oldest is overwritten first
    drawn: int  # how many draws, since something other than an episode changed the posterior
    plans: int
    eta: float  # the search's last one
    surplus: float


@field_roles(finite=("Q", "V"), probabilities=("policy",), fixed=("psi",))
class Memory(NamedTuple):
    """State of the agent from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    bonus: BonusNumbers  # valid by proof, if Ψ is not 0
    psi: float  # Ψ; 0 if no proof covers the belief
    pairs: float  # of states and actions that there is something to learn about
    progress: Progress
    Q: Floats  # of the mean model
    V: Floats
    policy: Floats
    workspace: Workspace

    def check(self, fresh: "Memory", name: str) -> None:
        refuse(f"{name}.pairs", "is not a number of pairs", np.array(not self.pairs >= 0.0), self.pairs)


class Answer(NamedTuple):
    """A plan in numbers."""

    estimate: float  # v
    expected: float  # J of the policy
    thompson: bool
    guarded: bool  # whether the policy is the one with the most J + √(Ψ C̄)
    sweeps: int
    fresh: bool  # whether a new gap was drawn
    eta: float
    surplus: float


@kernel
def follow_draw(
    memory: Memory, p: Posterior, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator
) -> None:
    """The policy is best in a draw from the posterior with more counts."""
    work = memory.workspace
    draw_concentrated(p, rule.concentration, rewards, rows, work.drawn, work.V)
    greedy(work.drawn, memory.policy)


@kernel
def follow_edge(
    memory: Memory, model: Model, gain: Floats, by_ratio: bool, aim: float, warm: float, rng: np.random.Generator
) -> tuple[float, float, float, int]:
    """The policy is one of the two of the best mixture, by its chance; returns J of the mixture, C, η and sweeps."""
    work = memory.workspace.edge
    best = best_on_frontier(model, gain, by_ratio, aim, warm, work)
    q = best.share
    copy_table(work.high if uniform(rng) < q else work.low, memory.policy)
    return (1.0 - q) * best.low.J + q * best.high.J, (1.0 - q) * best.low.C + q * best.high.C, best.eta, best.sweeps


@kernel
def collected(memory: Memory, p: Posterior) -> Point:
    """J by this posterior and C by the stated one, of the policy; every layer has rows of its own."""
    layers, path, J, C = p.model.layers, memory.workspace.path, 0.0, 0.0
    occupancy_sweep(p.model, memory.policy, path)
    for l in range(layers.size - 1):
        for a in range(path.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                if path[a, s] > 0.0:
                    J += path[a, s] * p.model.reward[a, s]
                    C += path[a, s] * half_variance(memory.bonus, memory.posterior, l, a, s)
    return Point(J, C)


@kernel
def mean_gap(
    memory: Memory, p: Posterior, fresh: bool, rewards: np.random.Generator, rows: np.random.Generator
) -> float:
    """Of the best policy of the mean model in the last draws, one of them new if ``fresh``."""
    work, gaps, drawn = memory.workspace, memory.progress.gaps, memory.progress.drawn
    if fresh:
        greedy(memory.Q, memory.policy)
        occupancy_sweep(p.model, memory.policy, work.path)
        draw_optimal(p, rewards, rows, work.drawn, work.V)
        gaps[drawn % gaps.size] = optimality_gap_along_path(work.drawn, work.path)
        drawn += 1
    total, count = 0.0, min(drawn, gaps.size)
    for i in range(count):
        total += gaps[i]
    return total / count


@kernel
def plan(memory: Memory, rule: Rule, rewards: np.random.Generator, rows: np.random.Generator) -> Answer:
    """Estimate E V*, choose a policy and write it."""
    last, work = memory.progress, memory.workspace
    p = widened(memory.posterior, work.reward, work.variance)
    t, eta, sweeps, guarded, surplus = last.plans, last.eta, 0, False, last.surplus
    best = hard_sweep(p.model, p.model.reward, memory.Q, memory.V)
    thompson = uniform(rewards) * (t + rule.patience * memory.pairs) < t
    fresh = not thompson or t % EVERY == 0 or last.drawn == 0
    gap = mean_gap(memory, p, fresh, rewards, rows)
    if thompson:
        follow_draw(memory, p, rule, rewards, rows)
    else:
        fill_information(p, memory.Q, memory.V, work.variances, work.information)
        aim = best + (2.0 + np.log10(1.0 + t / 100.0)) * gap
        _, _, eta, sweeps = follow_edge(memory, p.model, work.information, True, aim, last.eta, rewards)
    if memory.psi == 0.0:
        expected = policy_sweep(p.model, p.model.reward, memory.policy, work.V, work.scratch)
    else:
        target = best + gap + surplus
        expected, C = collected(memory, p)
        guarded, surplus = target - expected > np.sqrt(memory.psi * C), 0.0
        if guarded:
            fill(memory.bonus, memory.posterior, work.c)
            expected, C, _, more = follow_edge(memory, p.model, work.c, False, memory.psi, 0.0, rewards)
            sweeps += more
            surplus = max(target - expected - np.sqrt(memory.psi * C), 0.0)
    return Answer(best + gap, expected, thompson, guarded, sweeps, fresh, eta, surplus)


@kernel
def with_answer(memory: Memory, answer: Answer) -> Memory:
    """The memory, ready for the next plan."""
    m, last = memory, memory.progress
    drawn = last.drawn + 1 if answer.fresh else last.drawn
    progress = Progress(last.gaps, drawn, last.plans + 1, answer.eta, answer.surplus)
    return Memory(m.posterior, m.bonus, m.psi, m.pairs, progress, m.Q, m.V, m.policy, m.workspace)


@kernel
def update(memory: Memory, episode: Episode) -> Memory:
    """Condition on one episode."""
    m = memory
    return Memory(learn(m.posterior, episode), m.bonus, m.psi, m.pairs, m.progress, m.Q, m.V, m.policy, m.workspace)


@kernel
def log_diagnostics(answer: Answer, log: Floats) -> None:
    log[0], log[1], log[2] = answer.estimate, answer.expected, answer.thompson
    log[3], log[4], log[5] = answer.guarded, answer.surplus, answer.sweeps


@kernel
def episodes(memory: Memory, rule: Rule, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        answer = plan(memory, rule, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = update(with_answer(memory, answer), task.episode)
        log_diagnostics(answer, task.log.diagnostics[:, t])
    return memory


@dataclass(frozen=True, repr=False)
class InformationDirected(Agent[Memory]):
    """The policy with the least squared regret per information, by the belief; later on, Thompson sampling.

    The regret is measured by the optimality gap in the last ``window`` draws. Episodes that follow a draw from the
    posterior with ``concentration`` times its counts become half of all after ``patience`` episodes per state and
    action. If rewards differ more than their Gaussian prior says, the agent plans as if its deviation were larger.
    """

    window: int = 10
    concentration: float = 2.0
    patience: float = 30.0

    diagnostics: ClassVar[tuple[str, ...]] = ("estimate", "expected", "thompson", "guarded", "surplus", "sweeps")
    paper: ClassVar[str] = "Russo and Van Roy (2014), Learning to optimize via information-directed sampling"

    def __post_init__(self) -> None:
        checks.whole("window", self.window)
        checks.number("concentration", self.concentration, *CONCENTRATIONS)
        checks.number("patience", self.patience, 0.0)

    def __repr__(self) -> str:
        return settings_text(self)

    def rule(self) -> Rule:
        return Rule(float(self.concentration), float(self.patience))

    def begin(self, belief: Belief) -> Memory:
        bounded = belief.transitions.learns and belief.prior.reward.bounds is not None
        ready = program(belief, "sharp" if bounded else "reward")
        psi = 4.0 * belief.horizon * float(np.log(belief.actions)) if ready.proved else 0.0
        p, A, S = ready.posterior, belief.actions, belief.states
        Q, policy, drawn, path, information = (np.zeros((A, S)) for _ in range(5))
        scratch = np.zeros(int(np.diff(belief.layers).max()))
        c, (reward, variance) = np.zeros((A, S)), np.zeros((2, *p.visits.shape))
        work = Workspace(
            drawn, np.zeros(S), scratch, path, information, variances(A, S), edge(A, S), c, reward, variance
        )
        progress = Progress(np.zeros(int(self.window)), 0, 0, 0.0, 0.0)
        pairs = float(np.isfinite(p.visits).sum())
        return Memory(p, ready.numbers, psi, pairs, progress, Q, np.zeros(S), policy, work)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.rule(), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        answer = plan(memory, self.rule(), streams.reward, streams.row)
        log_diagnostics(answer, diagnostics)
        return with_answer(memory, answer)

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        return update(memory, episode)

    def refreshed(self, memory: Memory) -> Memory:
        progress = memory.progress._replace(drawn=0)  # the old draws are of another belief
        return memory._replace(progress=progress, pairs=float(np.isfinite(memory.posterior.visits).sum()))
