"""Learner: any agent, step by step, in a simulator of the reader's own.

    learner = Learner(KLearning(), env.observation_space, env.action_space, horizon=100)
    action = learner.act(observation)
    learner.observe(reward, next_observation, terminated, truncated)
    learner.end_episode()

Layers have one state more than there are observations: state 0 is where an episode is over. `terminated` leads there,
which is a fact about the world. `truncated` does not: the episode was merely cut short, and what was seen until then
is learnt from.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from klearning.arrays import checks
from klearning.arrays.compiled import announce_compilation
from klearning.arrays.interrupts import uninterrupted
from klearning.arrays.trees import layer_and_state, widen
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief, Prior
from klearning.beliefs.posterior import Episode
from klearning.environments.numbering import Numbering
from klearning.models.tabular import END
from klearning.trials.agent import LEARNS, Agent, check_methods, set_start
from klearning.trials.streams import streams
from klearning.trials.task import Streams, draw_action

WAYS = ("greedy", "soft")


def no_doubt(reward: float) -> str | None:
    return None


class PriorWarning(UserWarning):
    """What was seen is hardly possible under the prior."""


class Learner:
    """An agent that learns in a simulator. Episodes have at most ``horizon`` steps.

    The ``prior`` is stationary unless one says otherwise: what is seen at one step is known of all. Observations are
    numbered as they come, so that how many there are need not be known, and none that never comes costs anything;
    without ``discover`` all points of the space are there from the beginning.

    Each episode is learnt from at once. It is planned for only every ``replan_every`` episodes, where planning takes
    long: those between follow the last plan, in which all states that were new to it are one.
    """

    def __init__(
        self,
        agent: Agent,
        observation_space: Space[Any],
        action_space: Space[Any],
        horizon: int,
        *,
        prior: Prior | None = None,
        seed: int = 0,
        discover: bool = True,
        replan_every: int = 1,
    ) -> None:
        check_methods(agent, LEARNS)
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
        # actions, the agent's rewards and rows, predictions
        self.streams = streams(seed, "learner", type(agent).__name__, uses=4)
        self.episode = 0  # episodes finished
        self._warned = False  # that rewards are far from the prior
        self.returns: list[float] = []
        self.said = np.zeros(len(agent.diagnostics))
        self.starts = np.zeros(1 + (1 if self.observations.discovers else self.observations.count))
        announce_compilation()
        self.memory: Any = self.agent.begin(self._belief())
        self._fill_policy(0)
        self._new_episode()

    def _belief(self) -> Belief:
        """Before anything was seen, in layers as wide as they are now."""
        width = len(self.starts)
        uniform = np.full(width, 1.0 / width)
        return Belief.empty(self.prior, [width] * self.horizon, self.actions.count, uniform, END)

    @property
    def belief(self) -> Belief:
        """What is believed now, of an agent that believes something; states are numbered as in `policy`."""
        posterior = self.agent.posterior(self.memory)
        if posterior is None:
            raise ValueError(f"agent={self.agent!r} holds no belief: it learns values or policies directly")
        return replace(self._belief().after(posterior), initial=posterior.model.initial.copy())

    def _fill_policy(self, first: int) -> None:
        """An even policy wherever the agent has yet to plan one, for the states of each layer from ``first`` on."""
        policy = layer_and_state(self.memory.policy, len(self.starts))[..., first:]
        policy[:, ~policy.any(axis=0)] = 1.0 / self.actions.count

    def _new_episode(self) -> None:
        self.step = 0
        self.over = False  # nothing more can happen in this episode
        self._waiting = False  # for what an action leads to
        self._states, self._chosen = np.zeros(self.horizon + 1, np.int64), np.zeros(self.horizon, np.int64)
        self._rewards = np.zeros(self.horizon)
        self._uniforms: list[float] = []
        self._best: Floats | None = None
        self._before: Any = None  # the episode: what `abandon_episode` goes back to
        # looked up once, not at every step; whoever was warned is not told again
        self._doubt = no_doubt if self._warned else self.prior.reward.doubt

    @property
    def policy(self) -> Floats:
        """π_l(a|s) of this episode as (horizon, states, actions); state 0 is the end, others are numbered from 1."""
        return self._by_step(self.memory.policy)

    def policies(self, observations: Sequence[Any], how: str = "soft") -> Floats:
        """π_l(a|o) for all steps and these observations, (horizon, observations, actions); ``how`` as in `predict`."""
        checks.choice("how", how, WAYS)
        table = self.memory.policy if how == "soft" else self.agent.exploit(self.memory)
        return self._by_step(table)[:, [self._column(observation) for observation in observations]]

    def by_point(self, policy: Floats) -> Floats:
        """A policy with its states renumbered: END, then all points of the observation space in order.

        This is how `MDP.from_gymnasium` numbers them. Points that were never met have the policy of such. Give it as
        `policy` is, or as (actions, states of all steps); the answer is of the same form.
        """
        A, H, width = self.actions.count, self.horizon, len(self.starts)
        if policy.shape == (A, H * width):
            return np.ascontiguousarray(self.by_point(self._by_step(policy)).reshape(-1, A).T)
        if policy.shape != (H, width, A):
            raise ValueError(
                f"policy has shape {policy.shape}: give learner.policy, {(H, width, A)}, or {(A, H * width)}"
            )
        if not self.observations.discovers:
            return policy
        columns = np.full(1 + self.observations.points, width - 1)
        columns[END] = END
        for key, k in self.observations.known.items():
            columns[1 + self.observations.mixed(key)] = min(1 + k, width - 1)
        return policy[:, columns]

    def _by_step(self, table: Floats) -> Floats:
        """(actions, states of all steps) as (horizon, states, actions)."""
        return table.T.reshape(self.horizon, -1, self.actions.count)

    def _column(self, observation: Any) -> int:
        """Where a layer has the policy for an observation; the last column is for all that have none of their own."""
        last = len(self.starts) - 1
        return min(self.observations.number(observation) + 1, last) if self.observations.knows(observation) else last

    @property
    def diagnostics(self) -> dict[str, float]:
        """What the agent said of this episode's plan."""
        return dict(zip(self.agent.diagnostics, self.said.tolist(), strict=True))

    def act(self, observation: Any) -> Any:
        """The action for an observation, drawn from this episode's policy."""
        if self._waiting or self.over:
            raise RuntimeError(self._misuse("act"))
        if self.step == 0:  # an episode begins, and is planned for, whole or not at all
            with uninterrupted:
                return self._act(observation)
        return self._act(observation)

    def _act(self, observation: Any) -> Any:
        l, met = self.step, self.observations.count
        s = self.observations.number(observation) + 1
        if l == 0:
            self._begin(s, met)
        elif s != self._states[l]:
            self.observations.forget(met)
            raise ValueError(f"observation={observation!r} is not the one that observe() was given last: pass that one")
        width = len(self.starts)
        column = l * width + (s if s < width else width - 1)  # the last is for new ones
        a = draw_action(self.memory.policy, column, self._uniforms[l])
        self._chosen[l], self._waiting = a, True
        return self.actions.point(a)

    def _begin(self, s: int, met: int) -> None:
        """The first state of an episode is known: count it, and plan if it is time to."""
        states = [stream.bit_generator.state for stream in self.streams[:3]]
        self._before = self.memory, states, met, self.starts.copy()
        self.starts[s] += 1.0
        self._set_starts()
        self._states[0] = s
        self._uniforms = self.streams[0].random(self.horizon).tolist()
        if self.episode % self.replan_every == 0:
            self.memory = self.agent.plan(self.memory, Streams(*self.streams[1:3]), self.episode, self.said)

    def _set_starts(self) -> None:
        """ρ is how often each state was the first so far."""
        total, width = self.starts.sum(), len(self.starts)
        rho = self.starts / total if total > 0.0 else np.full(width, 1.0 / width)
        if hasattr(self.agent, "set_start"):
            self.agent.set_start(self.memory, rho)
        else:  # an agent that is no child of ours
            set_start(getattr(self.memory, "posterior", None), rho)

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
            raise RuntimeError(self._misuse("observe"))
        l = self.step
        try:
            r = float(reward)
        except (TypeError, ValueError):
            raise ValueError(f"reward={reward!r} of step {l} is not a number: give a float") from None
        if not isfinite(r):
            raise ValueError(f"reward={reward!r} of step {l} is not finite: fix the simulator, or clip its rewards")
        doubt = self._doubt(r)
        if doubt is not None and not self._warned:
            self._warned, self._doubt = True, no_doubt
            warnings.warn(doubt, PriorWarning, stacklevel=2)
        a = None if action is None else self.actions.number(action)
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
            raise RuntimeError(self._misuse("end_episode"))
        if self.step > 0:
            with uninterrupted:  # learnt from once, or not at all
                self._learn()

    def _learn(self) -> None:
        k = self.step
        self._make_room()
        # the state behind the last layer is known, but of use only where layers share one table
        seen = k + 1 if k < self.horizon or self.prior.stationary else k
        numbers = self._states[:seen] + np.arange(seen) * len(self.starts)
        episode = Episode(numbers, self._chosen[:k], self._rewards[:k])
        self.memory = self.agent.update(self.memory, episode, self.episode)
        self.returns.append(float(self._rewards[:k].sum()))
        self.episode += 1
        self._new_episode()

    def abandon_episode(self) -> None:
        """Forget the episode under way, as if it had not begun: where the simulator failed, or was interrupted.

        A learner that was loaded in the middle of one forgets what was seen, but not that it had begun.
        """
        with uninterrupted:
            if self._before is not None:
                self.memory, states, met, self.starts = self._before
                for stream, state in zip(self.streams, states, strict=False):
                    stream.bit_generator.state = state
                self.observations.forget(met)
                self._set_starts()
            else:
                self._make_room()
            self._new_episode()

    def _make_room(self) -> None:
        """Wider tables where new states were met, with room for just one that is yet to come.

        No more than one: a prior spread over many states that nobody has met would be optimistic about all of them.
        """
        before, after = len(self.starts), self.observations.count + 2
        if not self.observations.discovers or after <= before:
            return
        self.starts = np.concatenate([self.starts, np.zeros(after - before)])
        self.memory = widen(self.memory, self.agent.begin(self._belief()), before, after)
        if self.replan_every == 1:
            self._fill_policy(before)
        else:  # they may be met again before the next plan, and to the last one they are all the same
            policy = layer_and_state(self.memory.policy, after)
            policy[..., before:] = policy[..., before - 1 : before]
        self._set_starts()

    def predict(self, observation: Any, step: int = 0, how: str = "greedy") -> Any:
        """The action for an observation, in deployment: nothing is learnt and the episode under way is left alone.

        "greedy" is best on average over what is believed so far, with no exploration; "soft" draws from the policy
        that explores. ``step`` counts from 0; the horizon matters little far from its end.
        """
        checks.choice("how", how, WAYS)
        l = checks.whole("step", step, 0)
        if l >= self.horizon:
            raise ValueError(f"step={step} is not below the horizon of {self.horizon}: give a smaller one")
        s = l * len(self.starts) + self._column(observation)
        if how == "soft":
            a = draw_action(self.memory.policy, s, self.streams[3].random())
        else:
            if self._best is None:
                self._best = self.agent.exploit(self.memory)
            a = int(self._best[:, s].argmax())
        return self.actions.point(a)

    def _misuse(self, called: str) -> str:
        if self._waiting:
            return f"{called}() before observe(): say first what the last action led to"
        if self.over:
            return f"{called}() after the episode's end at step {self.step}: call end_episode() first"
        return f"{called}() before act(): ask for an action first"

    @property
    def under_way(self) -> bool:
        """Whether an episode has begun that `end_episode` has not ended."""
        return self._waiting or self.step > 0

    def check_spaces(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        """ValueError where these are not the spaces that the learner was made for."""
        for numbering, space in ((self.observations, observation_space), (self.actions, action_space)):
            if numbering.space != space:
                raise ValueError(
                    f"{numbering.field} space {space} is not the learner's, {numbering.space}: give its own"
                )

    def save(self, path: str | Path) -> None:
        """Write everything to one file; `kl.load` goes on from there, bit for bit."""
        from klearning.environments.learner_state import save

        save(self, path)

    def __repr__(self) -> str:
        return f"Learner({self.agent!r}, horizon={self.horizon}, episodes={self.episode})"
