"""Learners in environments: the protocol that `learn` needs, and the one that our learners share."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from gymnasium.spaces import Space

from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.simulators.bins import Bins
from klearning.simulators.space_index import SpaceIndex
from klearning.simulators.walk import Walk
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP

if TYPE_CHECKING:
    from pandas import DataFrame

WAYS = ("greedy", "soft")


class Spaces(NamedTuple):
    """An environment's observation and action spaces, and the bins of its numbers, if any."""

    observation: Space[Any]
    action: Space[Any]
    bins: Bins | None = None

    @property
    def uncut(self) -> Space[Any]:
        """Of observations before they are cut."""
        return self.observation if self.bins is None else self.bins.space

    def check(self, space: Space[Any], bins: Bins | None, actions: SpaceIndex) -> None:
        """ValueError if a learner was made for observations of another space, for other bins, or other actions."""
        if bins is not None and self.bins is not None:
            bins.check_same(self.bins)
        own = (space,) if bins is None else (bins.binned_space, space)
        shown = self.uncut if bins is not None else self.observation
        for name, given, possible in (("observation", shown, own), ("action", self.action, (actions.space,))):
            if given not in possible:
                raise ValueError(f"{name} space {given} is not the learner's, {possible[-1]}: give its own")


@runtime_checkable
class Actor(Protocol):
    """The interface that `learn` needs. Episodes are learned from whole or not at all, whenever an interrupt comes."""

    horizon: int  # the most steps of an episode
    seed: int
    episodes_done: int  # episodes finished
    step: int  # steps of the episode under way
    over: bool  # nothing more can happen in this episode
    returns: list[float]  # of the episodes finished
    continuing: bool  # the next episode begins where the last one ended
    discount: float  # by which its plans weigh what comes a step later

    @property
    def under_way(self) -> bool:
        """Whether an episode has begun that `end_episode` has not ended."""

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of this episode's plan, by name."""

    def check_spaces(self, spaces: Spaces) -> None:
        """ValueError if these are not the spaces that the actor was made for."""

    def act(self, observation: Any, action_mask: Any = None) -> Any:
        """The action for an observation; one that the mask, a 0 or 1 per action, allows."""

    def observe(self, reward: float, observation: Any, terminated: bool = False, truncated: bool = False) -> None:
        """Report the outcome of the last action."""

    def end_episode(self) -> None:
        """Learn from the episode, however it ended."""

    def abandon_episode(self) -> None:
        """Forget the episode under way, as if it had not begun; does nothing if there is none."""

    def predict(self, observation: Any, step: int = 0, how: str = "greedy") -> Any:
        """The action in deployment: "greedy" without exploration, "soft" drawn from the policy that explores."""

    def policies(self, observations: Sequence[Any], how: str = "soft") -> Floats:
        """The probabilities of all actions, (horizon, observations, actions)."""

    def save(self, path: str | Path) -> None:
        """Write everything to one file."""


@runtime_checkable
class SideBySide(Actor, Protocol):
    """Extra methods for vector environments: episodes that run side by side, each a fork of the learner."""

    actions: SpaceIndex

    def fork_episode(self) -> Any:
        """The episode under way as an actor of its own, so that another may begin."""

    def rejoin_episode(self, fork: Any) -> None:
        """A forked episode is over: `end_episode` learns from it."""

    def discard_episode(self, fork: Any) -> None:
        """Forget a forked episode."""

    def learn_together(self, forks: Sequence[Any]) -> None:
        """Learn from forked episodes before they end, if the learner does so."""

    def act_together(self, forks: Sequence[Any], observations: Sequence[Any], masks: Sequence[Any]) -> list[Any]:
        """The next action of each forked episode. A mask may be None."""


@runtime_checkable
class SimulatorLearner(SideBySide, Protocol):
    """The interface of all our learners, with tables or with networks: `kl.load` returns one."""

    agent: Any
    steps: int  # of the episodes finished

    @property
    def made_with(self) -> dict[str, Any]:
        """Its settings by name: the agent, horizon, seed and all others."""

    def predict(
        self,
        observation: Any,
        step: int = 0,
        how: str = "greedy",
        action_mask: Any = None,
        *,
        deterministic: bool | None = None,
        info: bool = False,
    ) -> Any:
        """The action in deployment; with ``info`` a dict besides: met, visits, value, probability."""

    def values(self, observations: Sequence[Any]) -> Floats:
        """Values of the greedy policy from these observations on, (horizon, observations)."""

    def action_values(self, observations: Sequence[Any]) -> Floats:
        """The same by action, (horizon, observations, actions)."""

    def table(self, step: int = 0, by: str = "observation", draws: int = 30, seed: int = 0) -> "DataFrame":
        """A data frame with a row for every observation met, or for every action in it."""

    def export(self, path: str | Path) -> None:
        """Write the greedy policy to a file that needs no klearning to be read."""

    def _repr_html_(self) -> str: ...


L_co = TypeVar("L_co", bound=Actor, covariant=True)


@runtime_checkable
class MakesLearner(Protocol[L_co]):
    """An agent that brings a learner of its own, such as those of `klearning.deep`."""

    def make_learner(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        horizon: int,
        *,
        bins: Bins | None = None,
        prior: Prior | None = None,
        seed: int = 0,
    ) -> L_co:
        """The learner that `learn` lets act."""


def way_to_act(how: str, deterministic: bool | None) -> str:
    """ "greedy" or "soft", from either argument of `predict`."""
    if deterministic is None:
        return checks.choice("how", how, WAYS)
    return "greedy" if checks.flag("deterministic", deterministic) else "soft"


LARGEST = 1e15  # of rewards: sums of their squares are finite, in 32 bits too


def read_reward(reward: Any, step: int) -> float:
    """A reward as a number; ValueError if it is not one, or is too large to be added up."""
    try:
        r = float(reward)
    except (TypeError, ValueError):
        several = "; for a vector of environments let kl.learn(agent, envs) play" if np.ndim(reward) else ""
        raise ValueError(f"reward={reward!r} of step {step} is not a number: give a float{several}") from None
    if -LARGEST <= r <= LARGEST:
        return r
    if not isfinite(r):
        raise ValueError(f"reward={reward!r} of step {step} is not finite: fix the simulator, or clip its rewards")
    raise ValueError(f"reward={reward!r} of step {step} is beyond {LARGEST:g}: give rewards in larger units")


def misuse(called: str, actor: Actor, waiting: bool) -> str:
    """The method to call instead; ``waiting``: the outcome of the last action was not reported."""
    if waiting:
        return f"{called}() before observe(): report the outcome of the last action first"
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
