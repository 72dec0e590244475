"""Actor: whatever acts in an environment and learns from it, an episode at a time. `Learner` is the one with tables."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from gymnasium.spaces import Space

from klearning.numerics.types import Floats
from klearning.simulators.numbering import Numbering
from klearning.simulators.walk import Walk
from klearning.tabular.models.mdp import MDP


@runtime_checkable
class Actor(Protocol):
    """What `learn` needs. Episodes are learnt from whole or not at all, whenever an interrupt comes."""

    horizon: int  # the most steps of an episode
    seed: int
    episode: int  # episodes finished
    step: int  # steps of the episode under way
    over: bool  # nothing more can happen in this episode
    returns: list[float]  # of the episodes finished

    @property
    def under_way(self) -> bool:
        """Whether an episode has begun that `end_episode` has not ended."""

    @property
    def diagnostics(self) -> dict[str, float]:
        """What there is to say of this episode's plan, by name."""

    def check_spaces(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        """ValueError where these are not the spaces that the actor was made for."""

    def act(self, observation: Any, action_mask: Any = None) -> Any:
        """The action for an observation; one that the mask, a 0 or 1 per action, allows."""

    def observe(self, reward: float, observation: Any, terminated: bool = False, truncated: bool = False) -> None:
        """What the last action led to."""

    def end_episode(self) -> None:
        """Learn from the episode, however it ended."""

    def abandon_episode(self) -> None:
        """Forget the episode under way, as if it had not begun; does nothing where there is none."""

    def predict(self, observation: Any, step: int = 0, how: str = "greedy") -> Any:
        """The action in deployment: "greedy" without exploration, "soft" drawn from the policy that explores."""

    def policies(self, observations: Sequence[Any], how: str = "soft") -> Floats:
        """The probabilities of all actions, (horizon, observations, actions)."""

    def save(self, path: str | Path) -> None:
        """Write everything to one file."""


@runtime_checkable
class SideBySide(Actor, Protocol):
    """What a vector of environments needs besides: episodes that run side by side, and are learnt from one by one."""

    actions: Numbering
    continuing: bool  # the next episode begins where the last one ended

    def set_aside(self) -> Any:
        """The episode under way as an actor of its own, so that another may begin."""

    def take_back(self, aside: Any) -> None:
        """An episode that was set aside is over: `end_episode` learns from it."""

    def drop(self, aside: Any) -> None:
        """Forget an episode that was set aside."""


LARGEST = 1e15  # of rewards: sums of their squares are finite, in 32 bits too


def read_reward(reward: Any, step: int) -> float:
    """A reward as a number; ValueError if it is not one, or is too large to be added up."""
    try:
        r = float(reward)
    except (TypeError, ValueError):
        several = "; for a vector of environments let kl.learn(agent, envs) play" if np.ndim(reward) else ""
        raise ValueError(f"reward={reward!r} of step {step} is not a number: give a float{several}") from None
    if not isfinite(r):
        raise ValueError(f"reward={reward!r} of step {step} is not finite: fix the simulator, or clip its rewards")
    if abs(r) > LARGEST:
        raise ValueError(f"reward={reward!r} of step {step} is beyond {LARGEST:g}: give rewards in larger units")
    return r


def misuse(called: str, actor: Actor, waiting: bool) -> str:
    """What to call instead of a method that is not due; ``waiting``: the last action's outcome has not been said."""
    if waiting:
        return f"{called}() before observe(): say first what the last action led to"
    if actor.over:
        return f"{called}() after the episode's end at step {actor.step}: call end_episode() first"
    return f"{called}() before act(): ask for an action first"


def tabulated(actor: Actor, mdp: MDP, observations: Sequence[Any] | None = None, how: str = "soft") -> Floats:
    """An actor's policy in every state of a finite world, (A, S): ``mdp.value(tabulated(actor, mdp))`` is exact.

    ``observations`` are what is seen in the states, in their order, without END; by default their numbers, as
    `WorldEnv` and Gymnasium's own tabular environments count them.
    """
    if actor.horizon < mdp.horizon:
        raise ValueError(f"mdp={mdp!r} is longer than the actor's horizon of {actor.horizon}: give one as long")
    layer = np.repeat(np.arange(mdp.horizon), mdp.widths)
    number = np.arange(mdp.states)
    if mdp.end is not None:
        number -= mdp.layers[layer]
        number -= number > mdp.end  # what is done in END is of no consequence
    elif Walk(mdp).within:
        number -= mdp.layers[layer]
    seen = range(int(number.max()) + 1) if observations is None else observations
    return np.ascontiguousarray(actor.policies(seen, how)[layer, number].T)
