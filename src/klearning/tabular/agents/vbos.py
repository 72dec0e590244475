"""VBOS (O'Donoghue and Lattimore, 2021): every arm has a temperature of its own.

For round t = 1, 2, …, in a bandit of which N(m_a, s_a²), or Beta, is believed after what was seen:

    V is the root of   Σ_a π_a(V) = 1,      π_a = exp(−u_a²/2),   u_a = (z_a + √(z_a² + 4))/2,   z_a = (V − m_a)/s_a
    play a ~ π                         and say that the best arm pays at most V + Σ_a π_a τ_a,    τ_a = s_a/u_a
    condition m, s on the reward

K-learning is the same with one temperature for all arms. A Beta's π_a and τ_a are those of its own cumulants
(`optimism/bandits/arms.py`), a Student's those of a Gaussian of the same mean and variance, of which nothing is proved.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, learn
from klearning.tabular.beliefs.rewards import is_beta
from klearning.tabular.optimism.bandits.arms import Arms, Workspace, new_workspace
from klearning.tabular.optimism.bandits.mixture import best_mixture
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play


@field_roles(scratch=True)
class Bench(NamedTuple):
    """A workspace for one state's arms: what is believed of them, that they have no price, and what they answer."""

    arms: Arms
    price: Floats
    policy: Floats
    work: Workspace


@field_roles(finite=("V",), probabilities=("policy",))
class Memory(NamedTuple):
    """State of the agent from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    V: Floats  # the bound, by state
    policy: Floats
    bench: Bench


@kernel
def believed(p: Posterior, s: int, arms: Arms) -> Arms:
    """The arms of a state."""
    coins = is_beta(p.prior)
    for a in range(arms.means.size):
        mean, mass = p.model.reward[a, s], p.prior.strength + p.visits[a, s]
        variance = p.variance[a, s]
        if coins and variance > 0.0:  # a proxy
            variance = mean * (1.0 - mean) / (mass + 1.0)
        arms.means[a], arms.sds[a], arms.masses[a] = mean, np.sqrt(variance), mass
    return arms if coins else Arms(arms.means, arms.sds, arms.masses[:0])


@kernel
def plan(memory: Memory) -> tuple[float, float]:
    """The bound and the gap, both by where episodes begin; the policy goes to the memory."""
    p, bench = memory.posterior, memory.bench
    bound, gap = 0.0, 0.0
    for s in range(memory.policy.shape[1]):
        best = best_mixture(believed(p, s, bench.arms), bench.price, bench.policy, bench.work)
        memory.V[s] = best.value
        for a in range(memory.policy.shape[0]):
            memory.policy[a, s] = bench.policy[a]
        bound += p.model.initial[s] * best.value
        gap += p.model.initial[s] * best.gap
    return bound, gap


@kernel
def update(memory: Memory, episode: Episode) -> Memory:
    """Condition on one episode."""
    return Memory(learn(memory.posterior, episode), memory.V, memory.policy, memory.bench)


@kernel
def episodes(memory: Memory, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        bound, gap = plan(memory)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
        task.log.diagnostics[0, t], task.log.diagnostics[1, t] = bound, gap
    return memory


@dataclass(frozen=True)
class VBOS(Agent[Memory]):
    """Variational Bayesian optimistic sampling, for bandits: one step per episode, in each state by itself."""

    diagnostics: ClassVar[tuple[str, ...]] = ("bound", "gap")
    longest_horizon: ClassVar[int | None] = 1
    paper: ClassVar[str] = "O'Donoghue and Lattimore (2021), Variational Bayesian optimistic sampling"

    def begin(self, belief: Belief) -> Memory:
        if belief.horizon > 1:
            raise ValueError(f"belief has horizon={belief.horizon}: VBOS is for bandits, one step; use VAPOR()")
        count = belief.actions
        arms = Arms(*np.zeros((3, count)))
        bench = Bench(arms, np.zeros(count), np.zeros(count), new_workspace(count))
        return Memory(belief.posterior(), np.zeros(belief.states), np.zeros((count, belief.states)), bench)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        diagnostics[:] = plan(memory)
        return memory
