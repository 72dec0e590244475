"""What is asked of an agent, and what is the same for most of them: a class to inherit from, or to be like.

An agent is a frozen dataclass of hyper-parameters. `run` has it begin with a belief and advance through episodes of a
world; a `Learner`, whose simulator is none of ours, has it plan before every episode and update after it.
"""

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from typing_extensions import TypeVar

from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, forbid, forget, learn
from klearning.tabular.models.sweeps import FORBIDDEN, greedy, hard_sweep
from klearning.tabular.trials.task import Streams, Task, play


class Memory(Protocol):
    """All that an agent carries from episode to episode: a NamedTuple of arrays, numbers and other such records.

    Besides, as fields or properties, it may have ``posterior``, what it believes, and ``V``, values of its last plan;
    and for whoever looks inside a learner ``visits`` and ``Q``, (A, S) or a column per row of the tables.
    """

    @property
    def policy(self) -> Floats:
        """(A, S): in every column the probabilities of the actions in one state, states numbered through all layers."""


M = TypeVar("M", bound=Memory, default=Any)


class Agent(Protocol[M]):
    """An agent with a memory of type M. Only `begin` has to be written; the others do what most agents do.

    The default `update` conditions ``memory.posterior`` on the episode; `values` are ``memory.V``, `exploit` is best on
    the posterior mean, and `advance` is plan, play, update in Python. A class that is no child of this one will do too.
    """

    diagnostics: ClassVar[tuple[str, ...]] = ()  # names of what it logs of every episode
    longest_horizon: ClassVar[int | None] = None  # the most steps of an episode that it plans for; None: any number
    paper: ClassVar[str] = ""

    @abstractmethod
    def begin(self, belief: Belief) -> M:
        """The memory before the first episode. The belief is only looked at."""

    def plan(self, memory: M, streams: Streams, t: int, diagnostics: Floats) -> M:
        """Write the policy of episode t = 0, 1, … into the memory, and a number per name of `diagnostics` into that."""
        return memory

    def update(self, memory: M, episode: Episode, t: int) -> M:
        """Learn from episode t."""
        posterior = self.posterior(memory)
        if posterior is None:
            return memory
        return cast(Any, memory)._replace(posterior=learn(posterior, episode))

    def advance(self, memory: M, task: Task, first: int, count: int) -> M:
        """Play and learn from ``count`` episodes, the first of them number ``first`` = 0, 1, …"""
        streams = Streams(task.reward_stream, task.row_stream)
        for t in range(first, first + count):
            memory = self.plan(memory, streams, t, task.log.diagnostics[:, t])
            play(task, memory.policy, t)
            states, actions, rewards = task.episode
            episode = Episode(states.copy(), actions.copy(), rewards.copy())  # the next one overwrites the buffers
            memory = self.update(memory, episode, t)
        return memory

    def values(self, memory: M) -> Floats:
        """The agent's own value of every state when it made its last policy; zeros where it has none."""
        return planned_values(memory)

    def exploit(self, memory: M) -> Floats:
        """The policy (A, S) to use once exploring is over; where nothing is believed, the one that explores."""
        posterior = self.posterior(memory)
        return memory.policy.copy() if posterior is None else exploit(posterior)

    def posterior(self, memory: M) -> Posterior | None:
        """What it believes, where it does."""
        return getattr(memory, "posterior", None)

    def set_start(self, memory: M, initial: Floats) -> None:
        """From now on episodes begin with these probabilities in the states of the first layer."""
        set_start(self.posterior(memory), initial)

    def forbid(self, memory: M, states: Ints, forbidden: Flags) -> M:
        """From now on these actions, (A, n), are not allowed in n states, counted within a layer; the others are."""
        posterior = self.posterior(memory)
        if posterior is not None:
            forbid(posterior, states, forbidden)
        return self.refreshed(memory)

    def forget(self, memory: M, factor: float) -> M:
        """Let all that was seen count ``factor`` times as much: a heuristic for worlds that change."""
        posterior = self.posterior(memory)
        if posterior is not None:
            forget(posterior, factor)
        return self.refreshed(memory)

    def refreshed(self, memory: M) -> M:
        """The memory, with whatever it makes of its posterior and keeps made anew: that was changed in place."""
        return memory


Stepwise = Agent  # its name where `Learner` asked for more than `run`


def planned_values(memory: Memory) -> Floats:
    """V of the last plan; zeros where there is none."""
    V = getattr(memory, "V", None)
    return np.zeros(memory.policy.shape[1]) if V is None else np.array(V)


def exploit(p: Posterior) -> Floats:
    """The policy that is best on average over what is believed: to be used once exploring is over."""
    Q = np.zeros((p.visits.shape[0], int(p.model.layers[-1])))
    policy = np.zeros_like(Q)
    hard_sweep(p.model, p.model.reward, Q, np.zeros(Q.shape[1]))
    greedy(Q, policy)
    return policy


def set_start(posterior: Posterior | None, initial: Floats) -> None:
    """Let episodes begin so in what is believed."""
    if posterior is not None:
        posterior.model.initial[:] = initial


def forbid_values(Q: Floats, columns: Ints, forbidden: Flags, before: float) -> None:
    """In some columns of Q, what is not allowed is worth `FORBIDDEN`, and what is again, as much as ``before``."""
    allowed = np.where(Q[:, columns] <= FORBIDDEN, before, Q[:, columns])
    Q[:, columns] = np.where(forbidden, FORBIDDEN, allowed)


PLAYS = ("begin", "advance", "values")  # what `run` asks for
LEARNS = (*PLAYS, "plan", "update", "exploit")  # what a `Learner` does


def check_methods(agent: Any, methods: tuple[str, ...] = PLAYS) -> None:
    """Refuse what is no agent, or none that has all of these methods. One that is None is not there."""
    if isinstance(agent, type):
        raise ValueError(f"agent={agent!r} is a class: give an agent, {agent.__name__}()")
    if isinstance(agent, str):
        raise ValueError(f"agent={agent!r} is a text: give an agent, for example KLearning()")
    for method in methods:
        if not callable(getattr(agent, method, None)):
            why = "" if method in PLAYS else "it cannot learn step by step; "
            fix = "inherit from klearning.Agent and write `begin`"
            raise ValueError(f"agent={agent!r} has no method {method!r}: {why}{fix}")
    names = getattr(agent, "diagnostics", None)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
        raise ValueError(
            f"agent={agent!r} has diagnostics={names!r}: give a tuple of different names, () where it logs nothing"
        )
