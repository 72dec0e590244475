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
from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from klearning.arrays import checks
from klearning.arrays.compiled import announce_compilation
from klearning.arrays.interrupts import uninterrupted
from klearning.arrays.trees import widen
from klearning.arrays.types import Flags, Floats
from klearning.beliefs.belief import Belief, Prior
from klearning.beliefs.posterior import Episode, Posterior
from klearning.environments.horizons import effective_horizon, tail
from klearning.environments.masks import Masks, forbidden_in, restricted
from klearning.environments.numbering import Numbering
from klearning.models.sweeps import hard_sweep
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
        discount: float = 1.0,
        continuing: bool = False,
        forget: float = 1.0,
    ) -> None:
        self.discount = checks.number("discount", discount, 0.0, 1.0, above=True)
        self.forget = checks.number("forget", forget, 0.0, 1.0, above=True)
        if not isinstance(continuing, bool):
            raise ValueError(f"continuing={continuing!r} is neither True nor False")
        self.continuing = continuing
        check_methods(agent, LEARNS if self.forget == 1.0 else (*LEARNS, "forget"))
        if horizon is None:
            if self.discount == 1.0:
                raise ValueError("horizon is missing: give the most steps of an episode, or a discount below 1")
            horizon = effective_horizon(self.discount)
        if not isinstance(prior, Prior | None):
            raise ValueError(f"prior={prior!r} is no Prior: give kl.Prior(reward=…, transitions=…, stationary=True)")
        self.agent, self.horizon, self.seed = agent, checks.whole("horizon", horizon), checks.whole("seed", seed, 0)
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
        self._warned = False  # that rewards are far from the prior
        self.returns: list[float] = []
        self.said = np.zeros(len(agent.diagnostics))
        self.starts = np.zeros(1 + (1 if self.observations.discovers else self.observations.count))
        announce_compilation()
        self.memory: Any = self._fresh_memory()
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

    def _belief(self) -> Belief:
        """Before anything was seen, in layers as wide as they are now."""
        width = len(self.starts)
        uniform = np.full(width, 1.0 / width)
        return Belief.empty(self.prior, [width] * self.horizon, self.actions.count, uniform, END, self.discount)

    def _posterior(self) -> Posterior | None:
        """What the agent believes, where it does."""
        if hasattr(self.agent, "posterior"):
            return self.agent.posterior(self.memory)
        return getattr(self.memory, "posterior", None)  # an agent that is no child of ours

    @property
    def belief(self) -> Belief:
        """What is believed now, of an agent that believes something; states are numbered as in `policy`."""
        posterior = self._posterior()
        if posterior is None:
            raise ValueError(f"agent={self.agent!r} holds no belief: it learns values or policies directly")
        initial, forgets = posterior.model.initial.copy(), self.forget < 1.0
        return replace(self._belief().after(posterior), initial=initial, forgets=forgets)

    def _fresh_memory(self) -> Any:
        """The agent's, with an even policy wherever it has yet to plan one."""
        memory = self.agent.begin(self._belief())
        memory.policy[:, ~memory.policy.any(axis=0)] = 1.0 / self.actions.count
        return memory

    def _new_episode(self) -> None:
        self.step = 0
        self.over = False  # nothing more can happen in this episode
        self._waiting = False  # for what an action leads to
        self._states, self._chosen = np.zeros(self.horizon + 1, np.int64), np.zeros(self.horizon, np.int64)
        self._rewards = np.zeros(self.horizon)
        self._uniforms: list[float] = []
        self._allowed: Flags | None = None  # at this step
        self._best: Floats | None = None
        self._before: Any = None  # the episode: what `abandon_episode` goes back to
        # looked up once, not at every step; whoever was warned is not told again
        self._doubt = no_doubt if self._warned else self.prior.reward.doubt

    @property
    def policy(self) -> Floats:
        """π_l(a|s) of this episode as (horizon, states, actions); state 0 is the end, others are numbered from 1."""
        return self._by_step(self.masks.restrict(self.memory.policy, len(self.starts)))

    def policies(self, observations: Sequence[Any], how: str = "soft") -> Floats:
        """π_l(a|o) for all steps and these observations, (horizon, observations, actions); ``how`` as in `predict`."""
        checks.choice("how", how, WAYS)
        table = self.memory.policy if how == "soft" else self.agent.exploit(self.memory)
        columns = [self._column(observation) for observation in observations]
        return self._by_step(self.masks.restrict(table, len(self.starts)))[:, columns]

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
        """(actions, states of all steps) as (horizon, states, actions): what is done at each step."""
        by_layer = table.T.reshape(self.horizon, -1, self.actions.count)
        return np.broadcast_to(by_layer[0], by_layer.shape) if self._steady else by_layer

    def _column(self, observation: Any) -> int:
        """Where a layer has the policy for an observation; the last column is for all that have none of their own."""
        last = len(self.starts) - 1
        return min(self.observations.number(observation) + 1, last) if self.observations.knows(observation) else last

    @property
    def diagnostics(self) -> dict[str, float]:
        """What the agent said of this episode's plan."""
        return dict(zip(self.agent.diagnostics, self.said.tolist(), strict=True))

    def act(self, observation: Any, action_mask: Any = None) -> Any:
        """The action for an observation, drawn from this episode's policy.

        ``action_mask``, a 0 or 1 per action, says which are allowed: no other is taken, nor is any optimism placed in
        it. Without one it is the mask that the observation had before, if it had one.
        """
        if self._waiting or self.over:
            raise RuntimeError(self._misuse("act"))
        allowed = None if action_mask is None else self.masks.read(action_mask, observation)
        if self.step == 0:  # an episode begins, and is planned for, whole or not at all
            with uninterrupted:
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
        self._allowed = self.masks.at(s) if allowed is None else allowed
        width = len(self.starts)
        column = self._layer(l) * width + (s if s < width else width - 1)  # the last is for new ones
        a = self._draw(column, self._allowed, self._uniforms[l])
        self._chosen[l], self._waiting = a, True
        return self.actions.point(a)

    def _layer(self, step: int) -> int:
        """Which layer of the plan is followed at a step."""
        return 0 if self._steady else step

    def _draw(self, column: int, allowed: Flags | None, u: float) -> int:
        """The action that a uniform u falls on, among those that are allowed."""
        policy = self.memory.policy
        if allowed is None:
            return draw_action(policy, column, u)
        return draw_action(restricted(policy[:, column], allowed).reshape(-1, 1), 0, u)

    def _begin(self, s: int, met: int) -> None:
        """The first state of an episode is known: count it, and plan."""
        states = [stream.bit_generator.state for stream in self.streams[:3]]
        self._before = self.memory, states, met, self.starts.copy()
        self.starts[s] += 1.0
        self._set_starts()
        self._states[0] = s
        self._uniforms = self.streams[0].random(self.horizon).tolist()
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
        if self.forget < 1.0:
            self.memory = self.agent.forget(self.memory, self.forget)
        if self.masks.news:
            self._learn_masks()
        self.returns.append(float(self._rewards[:k].sum()))
        self.episode += 1
        self._new_episode()

    def _learn_masks(self) -> None:
        """Let plans know what is not allowed. What was done once, before there was a mask, had been allowed."""
        news, p = self.masks.news, self._posterior()
        if p is not None:
            for s in news:
                visits = p.visits[:, s :: len(self.starts)]
                news[s] = news[s] | ((visits > 0.0) & np.isfinite(visits)).any(axis=1)
        self.memory = self._forbidding(self.memory, news)
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
                self.memory, states, met, self.starts = self._before
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
        self.starts = np.concatenate([self.starts, np.zeros(after - before)])
        self.memory = widen(self.memory, self._fresh_memory(), before, after)
        self._set_starts()

    def predict(self, observation: Any, step: int = 0, how: str = "greedy", action_mask: Any = None) -> Any:
        """The action for an observation, in deployment: nothing is learnt and the episode under way is left alone.

        "greedy" is best on average over what is believed so far, with no exploration; "soft" draws from the policy
        that explores. ``step`` counts from 0; the horizon matters little far from its end, and with a discount, or in
        a continuing task, not at all. ``action_mask`` is as in `act`.
        """
        checks.choice("how", how, WAYS)
        l = self._layer(checks.whole("step", step, 0))
        if l >= self.horizon:
            raise ValueError(f"step={step} is not below the horizon of {self.horizon}: give a smaller one")
        allowed = None
        if action_mask is not None:
            allowed = self.masks.read(action_mask, observation)
        elif self.observations.knows(observation):
            allowed = self.masks.at(1 + self.observations.number(observation))
        column = l * len(self.starts) + self._column(observation)
        if how == "soft":
            a = self._draw(column, allowed, self.streams[3].random())
        else:
            if self._best is None:
                self._best = self.agent.exploit(self.memory)
            best = self._best[:, column]
            a = int((best if allowed is None else self._best_allowed(best, allowed, column)).argmax())
        return self.actions.point(a)

    def _best_allowed(self, best: Floats, allowed: Flags, column: int) -> Floats:
        """The best actions among these; by their values where none of the best is among them."""
        if not (best * allowed).any() and (p := self._posterior()) is not None:
            Q = np.zeros((self.actions.count, int(p.model.layers[-1])))
            hard_sweep(p.model, p.model.reward, Q, np.zeros(Q.shape[1]))
            return np.where(allowed, Q[:, column], -np.inf)
        return restricted(best, allowed)

    def _misuse(self, called: str) -> str:
        if self._waiting:
            return f"{called}() before observe(): say first what the last action led to"
        if self.over:
            return f"{called}() after the episode's end at step {self.step}: call end_episode() first"
        return f"{called}() before act(): ask for an action first"

    @property
    def tail(self) -> float:
        """γ^H / (1 − γ): how far at most the values of plans are off, in units of the largest reward, by ending at H.

        0 without a discount where episodes end by themselves, infinite where they do not.
        """
        if self.discount < 1.0:
            return tail(self.discount, self.horizon)
        return inf if self.continuing else 0.0

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
        task = f"horizon={self.horizon}"
        if self.discount < 1.0:
            task += f", discount={self.discount:g} (plans leave out at most {self.tail:.3g} of the largest reward)"
        task += (", continuing=True" if self.continuing else "") + (f", forget={self.forget:g}" * (self.forget < 1.0))
        return f"Learner({self.agent!r}, {task}, episodes={self.episode})"
