"""Soft Q-learning (Haarnoja et al., 2017): a Boltzmann policy of fixed temperature and no bonus, for comparison.

With V(s) = τ log Σ_a exp(Q(s,a)/τ), and π(a|s) ∝ exp(Q(s,a)/τ) followed in either form:

    td:     Q_l(s,a) ← Q_l(s,a) + α_n (r + V_{l+1}(s') − Q_l(s,a)) after each step, all Q = 0 to begin with
    model:  Q_l(s,a) = m(s,a) + Σ_s' P̄(s'|s,a) V_{l+1}(s') on the posterior mean, before each episode

The second is K-learning's sweep with c = 0 and τ held fixed: what distinguishes the two is the bonus and the
choice of τ.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from klearning.agents.step_sizes import STEPS, step_number, step_size
from klearning.agents.value_iteration import exploit
from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.elementary import exp_negative
from klearning.arrays.types import Floats, Ints
from klearning.beliefs.belief import Belief
from klearning.beliefs.posterior import Episode, Posterior, learn
from klearning.models.soft import Soft, boltzmann, soft_arrays, soft_sweep, soft_values
from klearning.models.sweeps import greedy
from klearning.trials.task import Streams, Task, play


class Settings(NamedTuple):
    tau: float
    step: float


class ValueMemory(NamedTuple):
    layers: Ints
    end: int  # the state of every layer where an episode is over, or -1
    Q: Floats
    V: Floats
    visits: Floats
    policy: Floats


@kernel(inline=True)
def soft_maximum_at(Q: Floats, tau: float, s: int, V: Floats, policy: Floats) -> None:
    """V(s) and π(·|s) of one state."""
    actions = Q.shape[0]
    best, total = Q[0, s], 0.0
    for a in range(1, actions):
        best = max(best, Q[a, s])
    for a in range(actions):
        policy[a, s] = exp_negative((Q[a, s] - best) / tau)
        total += policy[a, s]
    for a in range(actions):
        policy[a, s] /= total
    V[s] = best + tau * np.log(total)


@kernel
def update(memory: ValueMemory, settings: Settings, episode: Episode) -> None:
    """Learn from one episode, and bring values and policy up to date where it passed."""
    L = memory.layers.size - 1
    for l in range(episode.actions.size):
        s, a = episode.states[l], episode.actions[l]
        if s - memory.layers[l] == memory.end:
            break
        memory.visits[a, s] += 1.0
        inside = l + 1 < min(L, episode.states.size)
        target = episode.rewards[l] + (memory.V[episode.states[l + 1]] if inside else 0.0)
        memory.Q[a, s] += step_size(settings.step, L, memory.visits[a, s]) * (target - memory.Q[a, s])
        soft_maximum_at(memory.Q, settings.tau, s, memory.V, memory.policy)


@kernel
def value_episodes(memory: ValueMemory, settings: Settings, task: Task, first: int, count: int) -> ValueMemory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
        update(memory, settings, task.episode)
    return memory


class ModelMemory(NamedTuple):
    posterior: Posterior
    nothing: Floats  # c = 0
    policy: Floats
    work: Soft


@kernel
def plan(memory: ModelMemory, settings: Settings) -> None:
    soft_sweep(memory.posterior.model, memory.nothing, settings.tau, memory.work)
    boltzmann(memory.posterior.model.layers, memory.work, memory.policy)


@kernel
def condition(memory: ModelMemory, episode: Episode) -> ModelMemory:
    return ModelMemory(learn(memory.posterior, episode), memory.nothing, memory.policy, memory.work)


@kernel
def model_episodes(memory: ModelMemory, settings: Settings, task: Task, first: int, count: int) -> ModelMemory:
    for t in range(first, first + count):
        plan(memory, settings)
        play(task, memory.policy, t)
        memory = condition(memory, task.episode)
    return memory


@dataclass(frozen=True)
class SoftQLearning:
    """Soft Q-learning at a fixed ``temperature``, in the form "td" or "model"; ``step`` is for the former."""

    temperature: float = 0.05
    form: str = "td"
    step: str | float = "falling"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"form": ("td", "model"), "step": STEPS}
    diagnostics: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[str] = "Haarnoja, Tang, Abbeel and Levine (2017), RL with deep energy-based policies"

    def __post_init__(self) -> None:
        checks.number("temperature", self.temperature, 0.0, above=True)
        checks.choice("form", self.form, self.choices["form"])
        step_number(self.step)

    def begin(self, belief: Belief) -> ValueMemory | ModelMemory:
        shape = (belief.actions, belief.states)
        if self.form == "model":
            work = soft_arrays(belief.layers, belief.actions)
            return ModelMemory(belief.posterior(), np.zeros(shape), np.zeros(shape), work)
        V = np.full(shape[1], self.temperature * np.log(shape[0]))
        if belief.end >= 0:  # nothing is left to choose there
            V[belief.layers[:-1] + belief.end] = 0.0
        uniform = np.full(shape, 1.0 / shape[0])
        return ValueMemory(belief.layers, belief.end, np.zeros(shape), V, np.zeros(shape), uniform)

    def settings(self) -> Settings:
        return Settings(float(self.temperature), step_number(self.step))

    def advance(self, memory: Any, task: Task, first: int, count: int) -> Any:
        if self.form == "model":
            return model_episodes(memory, self.settings(), task, first, count)
        return value_episodes(memory, self.settings(), task, first, count)

    def plan(self, memory: Any, streams: Streams, t: int, said: Floats) -> Any:
        if self.form == "model":
            plan(memory, self.settings())
        return memory

    def update(self, memory: Any, episode: Episode, t: int) -> Any:
        if self.form == "model":
            return condition(memory, episode)
        update(memory, self.settings(), episode)
        return memory

    def exploit(self, memory: Any) -> Floats:
        if self.form == "model":
            return exploit(memory.posterior)
        policy = np.zeros_like(memory.policy)
        greedy(memory.Q, policy)
        return policy

    def values(self, memory: Any) -> Floats:
        if self.form == "model":
            return soft_values(memory.posterior.model.layers, memory.work)
        return np.array(memory.V)
