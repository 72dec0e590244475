"""Learner: any agent, step by step, in a simulator of the reader's own.

    learner = Learner(KLearning(), env.observation_space, env.action_space, horizon=100)
    action = learner.act(observation)
    learner.observe(reward, next_observation, terminated, truncated)
    learner.end_episode()

Layers have one state more than there are observations: state 0 is where an episode is over. `terminated` leads there,
which is a fact about the world. `truncated` does not: the episode was merely cut short, and what was seen until then
is learnt from.

With a discount, or in a task that never ends, no step is nearer to the end than another: every step is acted in by the
first layer of the plan, the one that looks furthest ahead (agents without a belief act by the layer they are in).
"""

import warnings
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space

from klearning.numerics import checks
from klearning.numerics.announcing import compiling_for
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.trees import layer_and_state, mark_of, widen
from klearning.numerics.types import Flags, Floats
from klearning.simulators.actor import misuse, read_reward
from klearning.simulators.adapters.masks import Masks, draw_allowed, forbidden_in
from klearning.simulators.horizons import effective_horizon
from klearning.simulators.insight import Insight
from klearning.simulators.knowledge import Knowledge
from klearning.simulators.numbering import Numbering
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.models.tabular import END
from klearning.tabular.trials.agent import LEARNS, Agent, check_methods, set_start
from klearning.tabular.trials.streams import streams
from klearning.tabular.trials.task import Streams, draw_action

# what an episode is
UNDER_WAY = ("step", "over", "_waiting", "_states", "_chosen", "_rewards", "_uniforms", "_allowed", "said")


def no_doubt(reward: float) -> str | None:
    return None


class PriorWarning(UserWarning):
    """What was seen is hardly possible under the prior."""


class Commitment(NamedTuple):
    """What an episode beside others follows to its end: the plan that it began with."""

    policy: Floats


class Learner(Knowledge):
    """An agent that learns in a simulator. Episodes have at most ``horizon`` steps.

    The ``prior`` is stationary unless one says otherwise: what is seen at one step is known of all. Observations are
    numbered as they come, so that how many there are need not be known, and none that never comes costs anything;
    without ``discover`` all points of the space are there from the beginning.

    Each episode is learnt from at once. It is planned for only every ``replan_every`` episodes, where planning takes
    long: those between follow the last plan, in which all states that were new to it are one.

    Plans weigh what comes a step later by ``discount``; below 1 the ``horizon`` may be left out, and is as long as it
    matters. Where the task is ``continuing``, an episode is a window of ``horizon`` steps, and the next one begins
    where it ended. After each episode all that was ever seen counts ``forget`` times as much: a heuristic for
    simulators that change, which remembers some 1/(1 − forget) episodes.
    """

    def __init__(
        self,
        agent: Agent,
        observation_space: Space[Any],
        action_space: Space[Any],
        horizon: int | None = None,
        *,
        prior: Prior | None = None,
        seed: int = 0,
        discover: bool = True,
        replan_every: int = 1,
        discount: float = 1.0,
        continuing: bool = False,
        forget: float = 1.0,
    ) -> None:
        self.discount = checks.number("discount", discount, 0.0, 1.0, above=True)
        self.forget = checks.number("forget", forget, 0.0, 1.0, above=True)
        self.continuing = checks.flag("continuing", continuing)
        check_methods(agent, LEARNS if self.forget == 1.0 else (*LEARNS, "forget"))
        if horizon is None:
            if self.discount == 1.0:
                raise ValueError("horizon is missing: give the most steps of an episode, or a discount below 1")
            horizon = effective_horizon(self.discount)
        if not isinstance(prior, Prior | None):
            raise ValueError(f"prior={prior!r} is no Prior: give kl.Prior(reward=…, transitions=…, stationary=True)")
        self.agent, self.horizon, self.seed = agent, checks.whole("horizon", horizon), checks.whole("seed", seed, 0)
        self.replan_every = checks.whole("replan_every", replan_every)
        self.prior = Prior(stationary=True) if prior is None else prior
        self.observations = Numbering("observation", observation_space, discover)
        self.actions = Numbering("action", action_space, discover=False)
        if self.observations.discovers and self.prior.transitions.blocks:
            raise ValueError(
                "discover=True with a prior of known transitions, or with a support: they need the number of states, "
                "give discover=False or leave them out"
            )
        self._check_task()
        self.masks = Masks(self.actions.count)
        # actions, the agent's rewards and rows, predictions
        self.streams = streams(seed, "learner", type(agent).__name__, uses=4)
        self.episode = 0  # episodes finished
        self.steps = 0  # in all of them
        self._warned = False  # that rewards are far from the prior
        self.returns: list[float] = []
        self.said = np.zeros(len(agent.diagnostics))
        self.starts = np.zeros(1 + (1 if self.observations.discovers else self.observations.count))
        self._spare = self.starts  # what `starts` is a part of
        with compiling_for(type(agent).__name__):
            self.memory = self.agent.begin(self._belief())
            self._fill_policy(0)
        # whether tables may be wider than they need be: then they are made wider seldom, and not in every episode;
        # an agent of somebody's own, though it be a child of ours, may ask how wide they are
        ours = type(agent).__module__.startswith("klearning.tabular.agents.")
        self._roomy = ours and self.replan_every == 1 and mark_of(self._memory, "ROOMY", False)
        # whether every step is acted in by the first layer
        self._steady = (self.continuing or self.discount < 1.0) and self._posterior() is not None
        self._new_episode()

    def _check_task(self) -> None:
        """Settings that do not go together."""
        if (self.continuing or self.discount < 1.0) and not self.prior.stationary:
            raise ValueError(
                f"discount={self.discount:g}, continuing={self.continuing} with a prior that changes with the step: "
                "give one with stationary=True"
            )
        if self.forget < 1.0 and self.prior.transitions.blocks:
            raise ValueError(
                f"forget={self.forget:g} with a prior of known transitions, or with a support: leave one of them out"
            )

    @property
    def memory(self) -> Any:
        """What the agent knows. Its layers have as many states as `starts`: none to spare."""
        if self._width != len(self.starts):
            self._resize(len(self.starts))
        return self._memory

    @memory.setter
    def memory(self, memory: Any) -> None:
        self._memory, self._width = memory, len(self.starts)

    def _resize(self, width: int) -> None:
        """Let layers have this many states."""
        self._memory = widen(self._memory, self.agent.begin(self._belief(width)), self._width, width)
        self._width = width

    def _fill_policy(self, first: int) -> None:
        """An even policy wherever the agent has yet to plan one, for the states of each layer from ``first`` on."""
        policy = layer_and_state(self._memory.policy, self._width)[..., first:]
        policy[:, ~policy.any(axis=0)] = 1.0 / self.actions.count

    def _new_episode(self) -> None:
        self.step = 0
        self.over = False  # nothing more can happen in this episode
        self._waiting = False  # for what an action leads to
        self._states, self._chosen = np.zeros(self.horizon + 1, np.int64), np.zeros(self.horizon, np.int64)
        self._rewards = np.zeros(self.horizon)
        self._uniforms: list[float] = []
        self.insight = Insight(self)
        self._allowed: Flags | None = None  # at this step
        self._before: Any = None  # the episode: what `abandon_episode` goes back to
        # looked up once, not at every step; whoever was warned is not told again
        self._doubt = no_doubt if self._warned else self.prior.reward.doubt

    def act(self, observation: Any, action_mask: Any = None) -> Any:
        """The action for an observation, drawn from this episode's policy.

        ``action_mask``, a 0 or 1 per action, says which are allowed: no other is taken, nor is any optimism placed in
        it. Without one it is the mask that the observation had before, if it had one.
        """
        if self._waiting or self.over:
            raise RuntimeError(misuse("act", self, self._waiting))
        allowed = None if action_mask is None else self.masks.read(action_mask, observation)
        if self.step == 0:  # an episode begins, and is planned for, whole or not at all
            with uninterrupted:
                self._make_room()  # for what episodes have met that were set aside
                return self._act(observation, allowed)
        return self._act(observation, allowed)

    def _act(self, observation: Any, allowed: Flags | None) -> Any:
        l, met = self.step, self.observations.count
        s = self.observations.number(observation) + 1
        if l == 0:
            self._begin(s, met)
        elif s != self._states[l]:
            self.observations.forget(met)
            raise ValueError(f"observation={observation!r} is not the one that observe() was given last: pass that one")
        if allowed is not None:
            self.masks.tell(s, allowed, observation)
        elif self.masks:
            allowed = self.masks.at(s)
        self._allowed = allowed
        known = len(self.starts)
        column = (0 if self._steady else l) * self._width + (s if s < known else known - 1)  # the last is for new ones
        u, policy = self._uniforms[l], self._memory.policy
        a = draw_action(policy, column, u) if allowed is None else draw_allowed(policy, column, allowed, u)
        self._chosen[l], self._waiting = a, True
        return self.actions.point(a)

    def _begin(self, s: int, met: int) -> None:
        """The first state of an episode is known: count it, and plan if it is time to."""
        states = [stream.bit_generator.state for stream in self.streams[:3]]
        self._before = self._memory, self._width, states, met, s
        self.starts[s] += 1.0
        self._set_starts()
        self._states[0] = s
        self._uniforms = self.streams[0].random(self.horizon).tolist()
        if self.episode % self.replan_every == 0:
            self._memory = self.agent.plan(self._memory, Streams(*self.streams[1:3]), self.episode, self.said)

    def _set_starts(self) -> None:
        """ρ is how often each state was the first so far."""
        if self._roomy:  # nobody asks: nothing is planned
            return
        total, width = self.starts.sum(), len(self.starts)
        rho = self.starts / total if total > 0.0 else np.full(width, 1.0 / width)
        if hasattr(self.agent, "set_start"):
            self.agent.set_start(self._memory, rho)
        else:  # an agent that is no child of ours
            set_start(getattr(self._memory, "posterior", None), rho)

    def observe(
        self,
        reward: float,
        observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        action: Any = None,
    ) -> None:
        """What the last action led to. ``action`` is what was done, where that is not what `act` said."""
        if not self._waiting:
            raise RuntimeError(misuse("observe", self, self._waiting))
        l = self.step
        r = read_reward(reward, l)
        doubt = self._doubt(r)
        if doubt is not None and not self._warned:
            self._warned, self._doubt = True, no_doubt
            warnings.warn(doubt, PriorWarning, stacklevel=2)
        a = None if action is None else self.actions.number(action)
        if a is not None and self._allowed is not None and not self._allowed[a]:
            raise ValueError(f"action={action!r} is not allowed by the action_mask of step {l}: say what was done")
        s = END if terminated else self.observations.number(observation) + 1
        self._rewards[l] = r
        if a is not None:
            self._chosen[l] = a
        self.step = l = l + 1
        self._states[l] = s
        self._waiting = False
        self.over = terminated or truncated or l == self.horizon

    def end_episode(self) -> None:
        """Learn from the episode, however it ended. Does nothing where none has begun."""
        if self._waiting:
            raise RuntimeError(misuse("end_episode", self, self._waiting))
        if self.step > 0:
            with uninterrupted, compiling_for(type(self.agent).__name__):  # learnt from once, or not at all
                self._learn()

    def _learn(self) -> None:
        k = self.step
        self._make_room()
        # the state behind the last layer is known, but of use only where layers share one table
        seen = k + 1 if k < self.horizon or self.prior.stationary else k
        numbers = self._states[:seen] + np.arange(seen) * self._width
        episode = Episode(numbers, self._chosen[:k], self._rewards[:k])
        self._memory = self.agent.update(self._memory, episode, self.episode)
        if self.forget < 1.0:
            self._memory = self.agent.forget(self._memory, self.forget)
        if self.masks.news:
            self._learn_masks()
        self.returns.append(float(self._rewards[:k].sum()))
        self.episode += 1
        self.steps += k
        self._new_episode()

    def set_aside(self) -> "Learner":
        """The episode under way as a learner of its own, so that another may begin; see `take_back` and `drop`.

        It goes on by `act` and `observe`, with the plan that it began with, whatever is learnt in the meantime.
        """
        with uninterrupted:
            aside = copy(self)
            aside._memory, aside.said = Commitment(self._memory.policy.copy()), self.said.copy()
            self._new_episode()
        return aside

    def take_back(self, aside: "Learner") -> None:
        """An episode that was set aside is over, or is to end where it is: `end_episode` learns from it."""
        if self.under_way:
            raise RuntimeError(
                "take_back() while another episode is under way: call end_episode() or set_aside() first"
            )
        with uninterrupted:
            for name in UNDER_WAY:
                setattr(self, name, getattr(aside, name))
            self._warned |= aside._warned

    def drop(self, aside: "Learner") -> None:
        """Forget an episode that was set aside; what others learnt beside it is kept, and so are states that it met."""
        with uninterrupted:
            self.starts[aside._states[0]] -= 1.0
            self._set_starts()

    def _learn_masks(self) -> None:
        """Let plans know what is not allowed. What was done once, before there was a mask, had been allowed."""
        news, p = self.masks.news, None if self._roomy else self._posterior()
        if p is not None:
            for s in news:
                visits = p.visits[:, s :: len(self.starts)]
                news[s] = news[s] | ((visits > 0.0) & np.isfinite(visits)).any(axis=1)
        self._memory = self._forbidding(self._memory, news)
        self.masks.settle()

    def _forbidding(self, memory: Any, masks: dict[int, Flags]) -> Any:
        """The memory of an agent that plans with no other actions than these in their states."""
        if not masks or not hasattr(self.agent, "forbid"):  # of an agent that is no child of ours
            return memory
        return self.agent.forbid(memory, *forbidden_in(masks.items()))

    def abandon_episode(self) -> None:
        """Forget the episode under way, as if it had not begun: where the simulator failed, or was interrupted.

        A learner that was loaded in the middle of one forgets what was seen, but not that it had begun.
        """
        with uninterrupted:
            if self._before is not None:
                self._memory, self._width, states, met, s = self._before
                self.starts[s] -= 1.0
                for stream, state in zip(self.streams, states, strict=False):
                    stream.bit_generator.state = state
                self.observations.forget(met)
                self._set_starts()
            else:
                self._make_room()
            self.masks.forget_news()
            self._new_episode()

    def _make_room(self) -> None:
        """Wider tables where new states were met, with room for just one that is yet to come.

        No more than one: a prior spread over many states that nobody has met would be optimistic about all of them.
        """
        before, after = len(self.starts), self.observations.count + 2
        if not self.observations.discovers or after <= before:
            return
        self._lengthen_starts(after)
        if after <= self._width:
            return
        self._resize(after + after // 2 if self._roomy else after)
        if self.replan_every == 1:
            self._fill_policy(before)
        else:  # they may be met again before the next plan, and to the last one they are all the same
            policy = layer_and_state(self._memory.policy, after)
            policy[..., before:] = policy[..., before - 1 : before]
        self._set_starts()

    def _lengthen_starts(self, after: int) -> None:
        """Room for more states, of which there is some to spare behind the end."""
        if self.starts.base is not self._spare or len(self._spare) < after:
            self._spare = np.zeros(after + after // 2)
            self._spare[: len(self.starts)] = self.starts
        self.starts = self._spare[:after]

    @property
    def under_way(self) -> bool:
        """Whether an episode has begun that `end_episode` has not ended."""
        return self._waiting or self.step > 0

    def save(self, path: str | Path) -> None:
        """Write everything to one file; `kl.load` goes on from there, bit for bit."""
        from klearning.simulators.learner_state import save

        save(self, path)
