"""The protocol of agents, with defaults for most of its methods: a class to inherit from, or to imitate.

An agent is a frozen dataclass of hyper-parameters. `run` has it begin with a belief and advance through episodes of a
world; a `Learner`, whose simulator is none of ours, has it plan before every episode and update after it.
"""

from abc import abstractmethod
from dataclasses import fields
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
    and for a look inside a learner ``visits`` and ``Q``, (A, S) or a column per row of the tables.
    """

    @property
    def policy(self) -> Floats:
        """(A, S): in every column the probabilities of the actions in one state, states numbered through all layers."""


M = TypeVar("M", bound=Memory, default=Any)


class Agent(Protocol[M]):
    """An agent with a memory of type M. Only `begin` has to be written; the others do what most agents do.

    The default `update` conditions ``memory.posterior`` on the episode; `values` are ``memory.V``, `exploit` is best on
    the posterior mean, and `advance` is plan, play, update in Python. A class with the same methods need not inherit.
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
        """The agent's own value of every state when it made its last policy; zeros if it has none."""
        return planned_values(memory)

    def exploit(self, memory: M) -> Floats:
        """The policy (A, S) to use once exploring is over; without a posterior, the one that explores."""
        posterior = self.posterior(memory)
        return memory.policy.copy() if posterior is None else exploit(posterior)

    def posterior(self, memory: M) -> Posterior | None:
        """Its posterior, or None if it has none."""
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
        """Multiply all counts by ``factor``: a heuristic for worlds that change."""
        posterior = self.posterior(memory)
        if posterior is not None:
            forget(posterior, factor)
        return self.refreshed(memory)

    def refreshed(self, memory: M) -> M:
        """The memory, with all that it derives from its posterior recomputed, which was changed in place."""
        return memory


class Adapted(Agent[Any]):
    """An agent whose class does not inherit from `Agent`: its own methods, and `Agent`'s for those that it lacks."""

    def __init__(self, agent: Any) -> None:
        for name in ("plan", "update", "advance", "values", "exploit", "posterior", "set_start", "forbid", "forget"):
            if callable(own := getattr(agent, name, None)):
                setattr(self, name, own)
        self._begin = agent.begin
        self.longest_horizon = getattr(agent, "longest_horizon", None)  # type: ignore[misc]

    def begin(self, belief: Belief) -> Any:
        return self._begin(belief)

    def forbid(self, memory: Any, states: Ints, forbidden: Flags) -> Any:
        """It plans as it did: masks keep what is not allowed from being taken."""
        return memory


def as_agent(agent: Any) -> Agent[Any]:
    """Anybody's agent, to be called like one of ours."""
    if Agent in type(agent).__mro__:
        ours: Agent[Any] = agent
        return ours
    return Adapted(agent)


def planned_values(memory: Memory) -> Floats:
    """V of the last plan; zeros if there is none."""
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
    """Set where episodes begin in a posterior."""
    if posterior is not None:
        posterior.model.initial[:] = initial


def forbid_values(Q: Floats, columns: Ints, forbidden: Flags, before: float) -> None:
    """In some columns of Q, what is not allowed is worth `FORBIDDEN`, and what is again, as much as ``before``."""
    allowed = np.where(Q[:, columns] <= FORBIDDEN, before, Q[:, columns])
    Q[:, columns] = np.where(forbidden, FORBIDDEN, allowed)


def settings_text(agent: Any) -> str:
    """An agent as a call; settings that its class lists in ``since`` are left out at their default."""
    since = getattr(agent, "since", ())
    listed = [f.name for f in fields(agent) if f.name not in since or getattr(agent, f.name) != f.default]
    return f"{type(agent).__name__}({', '.join(f'{name}={getattr(agent, name)!r}' for name in listed)})"


PLAYS = ("begin", "advance", "values")  # what `run` asks for
LEARNS = (*PLAYS, "plan", "update", "exploit")  # what a `Learner` does


def check_methods(agent: Any, methods: tuple[str, ...] = PLAYS) -> None:
    """Refuse an object that lacks one of these methods. A method that is None counts as missing."""
    if isinstance(agent, type):
        raise ValueError(f"agent={agent!r} is a class: give an agent, {agent.__name__}()")
    if isinstance(agent, str):
        raise ValueError(f"agent={agent!r} is a string: give an agent, for example KLearning()")
    if methods == PLAYS and callable(getattr(agent, "make_learner", None)):
        name = type(agent).__name__
        raise ValueError(f"agent={name}(…) learns in environments alone: kl.learn(agent, kl.WorldEnv(world))")
    for method in methods:
        if not callable(getattr(agent, method, None)):
            why = "" if method in PLAYS else "it cannot learn step by step; "
            fix = "inherit from klearning.Agent and write `begin`"
            raise ValueError(f"agent={agent!r} has no method {method!r}: {why}{fix}")
    names = getattr(agent, "diagnostics", None)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
        raise ValueError(
            f"agent={agent!r} has diagnostics={names!r}: give a tuple of different names, () if it logs nothing"
        )
