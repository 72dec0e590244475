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
from copy import copy
from dataclasses import replace
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space

from klearning.arrays import checks
from klearning.arrays.cards import digits, html_card
from klearning.arrays.compiled import announce_compilation
from klearning.arrays.interrupts import uninterrupted
from klearning.arrays.trees import layer_and_state, widen
from klearning.arrays.types import Flags, Floats
from klearning.beliefs.belief import Belief, Prior
from klearning.beliefs.posterior import Episode, Posterior
from klearning.environments import accounts, policy_file
from klearning.environments.accounts import Account
from klearning.environments.horizons import effective_horizon, tail
from klearning.environments.insight import Insight
from klearning.environments.masks import Masks, forbidden_in, restricted
from klearning.environments.numbering import Numbering
from klearning.models.sweeps import hard_sweep
from klearning.models.tabular import END
from klearning.trials.agent import LEARNS, Agent, check_methods, set_start
from klearning.trials.streams import streams
from klearning.trials.task import Streams, draw_action

if TYPE_CHECKING:
    from pandas import DataFrame

WAYS = ("greedy", "soft")
# what an episode is
UNDER_WAY = ("step", "over", "_waiting", "_states", "_chosen", "_rewards", "_uniforms", "_allowed", "said")
RECENT = 100  # episodes whose mean return is shown


def no_doubt(reward: float) -> str | None:
    return None


class PriorWarning(UserWarning):
    """What was seen is hardly possible under the prior."""


class Commitment(NamedTuple):
    """What an episode beside others follows to its end: the plan that it began with."""

    policy: Floats


class Learner:
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
        announce_compilation()
        self.memory: Any = self.agent.begin(self._belief())
        self._fill_policy(0)
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
        self.insight = Insight(self)
        self._allowed: Flags | None = None  # at this step
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
        table = self.masks.restrict(table, len(self.starts))
        return self._by_step(table)[:, self._columns(observations)]

    def values(self, observations: Sequence[Any]) -> Floats:
        """What `predict` is worth from these observations on, at all steps: (horizon, observations).

        By the mean of what is believed; of an agent that believes nothing, its own estimate.
        """
        return self.insight.values.reshape(self.horizon, -1)[:, self._columns(observations)]

    def action_values(self, observations: Sequence[Any]) -> Floats:
        """The same by action, which is taken once, and then what is best: (horizon, observations, actions)."""
        Q = self.insight.action_values()
        if Q is None:
            raise ValueError(f"agent={self.agent!r} has no values of actions: ask for `policies` or `values`")
        return self._by_step(Q)[:, self._columns(observations)]

    def table(self, step: int = 0, by: str = "observation", draws: int = 30, seed: int = 0) -> "DataFrame":
        """A pandas data frame with a row for every observation met: best action, value, uncertainty, visits.

        ``value`` is that of `values` at this ``step``, and ``uncertainty`` how much it varies (standard deviation) over
        ``draws`` worlds drawn from what is believed, which takes at most as long as so many episodes of PSRL; with 0
        it is left out, and it is nan where the agent has no prior. ``visits`` are those at this step, or at all steps
        where they share one table. An observation or action of several parts has a column for each. Where all points
        are numbered from the beginning (``discover=False``) there is a row for each, and ``met`` tells which were met.

        With ``by="action"`` there is a row for every observation and action: value, uncertainty, posterior mean and
        standard deviation of the mean reward, visits, the exploring policy's probability, whether it is the best.
        """
        return accounts.table(self, self._layer(step), by, draws, seed)

    def about(self, observation: Any, step: int = 0) -> Account:
        """All that is believed of one observation: by action its value, reward, visits, and what it leads to."""
        return accounts.about(self, observation, self._layer(step))

    def met(self, observation: Any) -> bool | None:
        """Whether an observation has come up so far.

        Where all points are numbered from the beginning (``discover=False``): whether an action was tried there, or
        None of an agent that keeps no count.
        """
        if self.observations.discovers:
            return self.observations.knows(observation)
        tried = self.insight.tried([self._column(observation)])
        return None if tried is None else bool(tried[0])

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

    def _columns(self, observations: Sequence[Any]) -> list[int]:
        return [self._column(observation) for observation in observations]

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
        self._allowed = self.masks.at(s) if allowed is None else allowed
        width = len(self.starts)
        column = (0 if self._steady else l) * width + (s if s < width else width - 1)  # the last is for new ones
        a = self._draw(column, self._allowed, self._uniforms[l])
        self._chosen[l], self._waiting = a, True
        return self.actions.point(a)

    def _draw(self, column: int, allowed: Flags | None, u: float) -> int:
        """The action that a uniform u falls on, among those that are allowed."""
        policy = self.memory.policy
        if allowed is None:
            return draw_action(policy, column, u)
        return draw_action(restricted(policy[:, column], allowed).reshape(-1, 1), 0, u)

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
            several = "; for a vector of environments let kl.learn(agent, envs) play" if np.ndim(reward) else ""
            raise ValueError(f"reward={reward!r} of step {l} is not a number: give a float{several}") from None
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
        self.steps += k
        self._new_episode()

    def set_aside(self) -> "Learner":
        """The episode under way as a learner of its own, so that another may begin; see `take_back` and `drop`.

        It goes on by `act` and `observe`, with the plan that it began with, whatever is learnt in the meantime.
        """
        with uninterrupted:
            aside = copy(self)
            aside.memory, aside.said = Commitment(self.memory.policy.copy()), self.said.copy()
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
        self.memory = widen(self.memory, self.agent.begin(self._belief()), before, after)
        if self.replan_every == 1:
            self._fill_policy(before)
        else:  # they may be met again before the next plan, and to the last one they are all the same
            policy = layer_and_state(self.memory.policy, after)
            policy[..., before:] = policy[..., before - 1 : before]
        self._set_starts()

    def predict(
        self, observation: Any, step: int = 0, how: str = "greedy", action_mask: Any = None, *, info: bool = False
    ) -> Any:
        """The action for an observation, in deployment: nothing is learnt and the episode under way is left alone.

        "greedy" is best on average over what is believed so far, with no exploration; "soft" draws from the policy
        that explores. ``step`` counts from 0; the horizon matters little far from its end, and with a discount, or in
        a continuing task, not at all. ``action_mask`` is as in `act`.

        With ``info`` the answer is (action, dict): whether the observation was ``met``, how many ``visits`` it had
        (None where nobody counts), the ``value`` of the greedy policy from there on, ``probability`` of the action.
        """
        checks.choice("how", how, WAYS)
        l, allowed = self._layer(step), None
        if action_mask is not None:
            allowed = self.masks.read(action_mask, observation)
        elif self.observations.knows(observation):
            allowed = self.masks.at(1 + self.observations.number(observation))
        column = l * len(self.starts) + self._column(observation)
        if how == "soft":
            a = self._draw(column, allowed, self.streams[3].random())
        else:
            best = self.insight.greedy[:, column]
            a = int((best if allowed is None else self._best_allowed(best, allowed, column)).argmax())
        return (self.actions.point(a), self._info(observation, l, how, a)) if info else self.actions.point(a)

    def _info(self, observation: Any, l: int, how: str, a: int) -> dict[str, Any]:
        column, visits = self._column(observation), self.insight.visits()
        tried = None if visits is None else float(self.insight.at_step(visits, l)[:, column].sum())
        value = float(self.insight.at_step(self.insight.values, l)[column])
        probability = 1.0 if how == "greedy" else float(self.insight.at_step(self.memory.policy, l)[a, column])
        return {"met": self.met(observation), "visits": tried, "value": value, "probability": probability}

    def _layer(self, step: int) -> int:
        """Which layer of the plan is followed at a step."""
        l = checks.whole("step", step, 0)
        if self._steady:
            return 0
        if l >= self.horizon:
            raise ValueError(f"step={step} is not below the horizon of {self.horizon}: give a smaller one")
        return l

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

    def export(self, path: str | Path) -> None:
        """Write the greedy policy as a table that needs no klearning to be read: ``.npz`` (NumPy) or ``.json``."""
        policy_file.export(self, path)

    def __repr__(self) -> str:
        task = f"horizon={self.horizon}"
        if self.discount < 1.0:
            task += f", discount={self.discount:g} (plans leave out at most {self.tail:.3g} of the largest reward)"
        task += (", continuing=True" if self.continuing else "") + (f", forget={self.forget:g}" * (self.forget < 1.0))
        return f"Learner({self.agent!r}, {task}, episodes={self.episode})"

    def _repr_html_(self) -> str:
        recent = self.returns[-RECENT:]
        facts = {
            "episodes": f"{self.episode:,} of at most {self.horizon} steps",
            "return": f"{digits(float(np.mean(recent)))}, mean of the last {len(recent)}" if recent else "–",
            "observations": f"{self.observations.count:,} of {self.observations.space}",
            "actions": f"{self.actions.count} of {self.actions.space}",
            **{name: x for name, x in self.diagnostics.items() if self.episode},
            "prior": repr(self.prior),
        }
        return html_card(f"Learner: {self.agent!r}", facts)
