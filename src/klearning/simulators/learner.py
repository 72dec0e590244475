"""Learner: any agent, step by step, in a simulator of the reader's own.

    learner = Learner(KLearning(), env.observation_space, env.action_space, horizon=100)
    action = learner.act(observation)
    learner.observe(reward, next_observation, terminated, truncated)
    learner.end_episode()

Layers have one state more than there are observations: state 0 is where an episode is over. `terminated` leads there,
which is a fact about the world. `truncated` does not: the episode was merely cut short, and what was seen until then
is learned from.

With a discount, or in a task that never ends, no step is nearer to the end than another: every step is acted in by the
first layer of the plan, the one that looks furthest ahead (agents without a belief act by the layer they are in).
"""

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space

from klearning.numerics import checks
from klearning.numerics.compile.kernels import entry
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.summaries import format_value, html_summary
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.records.fields import layer_and_state, role_of, widen
from klearning.numerics.types import Flags, Floats
from klearning.simulators import explanations, policy_export
from klearning.simulators.actor import WAYS, Spaces, misuse, read_reward, way_to_act
from klearning.simulators.adapters.masks import Masks, draw_allowed, forbidden_in
from klearning.simulators.bins import Bins
from klearning.simulators.explanations import StateSummary
from klearning.simulators.horizons import effective_horizon, tail
from klearning.simulators.space_index import SpaceIndex
from klearning.simulators.view import LearnerView
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.models.tabular import END
from klearning.tabular.trials.agent import LEARNS, Agent, Memory, as_agent, check_methods
from klearning.tabular.trials.streams import streams
from klearning.tabular.trials.task import Streams, draw_action

if TYPE_CHECKING:
    from pandas import DataFrame

STEP_BYTES = 64  # at least, of every step of an episode
RECENT = 100  # episodes whose mean return is shown

# what an episode is
UNDER_WAY = ("step", "over", "_waiting", "_states", "_chosen", "_rewards", "_uniforms", "_allowed", "plan_diagnostics")


def no_doubt(reward: float) -> str | None:
    return None


class PriorWarning(UserWarning):
    """An observation is hardly possible under the prior."""


class Commitment(NamedTuple):
    """The plan that an episode began with, and follows to its end beside other episodes."""

    policy: Floats


class Learner:
    """An agent that learns in a simulator. Episodes have at most ``horizon`` steps.

    Numbers that are observed are cut into ``bins``, which belong to the learner: `act`, `observe`, `predict` and all
    questions take observations as the simulator shows them.

    The ``prior`` is stationary by default: an observation at one step counts at all steps. Observations are numbered
    as they appear, so their number need not be known, and those that never appear cost nothing. Without
    ``grow_states``, all points of the space are numbered from the beginning.

    The learner learns from each episode when it ends. If planning is slow, plan only every ``replan_every`` episodes:
    those in between follow the last plan, in which all states that are new since then count as one.

    Plans weigh the next step's value by ``discount``. Below 1, the ``horizon`` may be left out, and is the effective
    one. If the task is ``continuing``, an episode is a window of ``horizon`` steps, and the next one begins where it
    ended. After each episode all counts are multiplied by ``decay``: a heuristic for simulators that change, which
    remembers about 1/(1 − decay) episodes.
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
        grow_states: bool = True,
        replan_every: int = 1,
        discount: float = 1.0,
        continuing: bool = False,
        decay: float = 1.0,
        bins: Bins | None = None,
    ) -> None:
        self.discount = checks.number("discount", discount, 0.0, 1.0, above=True)
        self.decay = checks.number("decay", decay, 0.0, 1.0, above=True)
        self.continuing = checks.flag("continuing", continuing)
        check_methods(agent, LEARNS if self.decay == 1.0 else (*LEARNS, "forget"))
        if horizon is None:
            if self.discount == 1.0:
                raise ValueError("horizon is missing: give the most steps of an episode, or a discount below 1")
            horizon = effective_horizon(self.discount)
        if not isinstance(prior, Prior | None):
            raise ValueError(f"prior={prior!r} is not a Prior: give kl.Prior(reward=…, transitions=…, stationary=True)")
        self.methods = as_agent(agent)  # with all methods of `Agent`, even if the agent does not inherit from it
        self.agent, self.horizon, self.seed = agent, checks.whole("horizon", horizon), checks.whole("seed", seed, 0)
        checks.fits("horizon", horizon, STEP_BYTES * self.horizon)
        self.replan_every = checks.whole("replan_every", replan_every)
        self.prior = Prior(stationary=True) if prior is None else prior
        self.observations = SpaceIndex("observation", observation_space, grow_states, bins)
        self.actions = SpaceIndex("action", action_space, grows=False)
        if self.observations.grows and self.prior.transitions.blocks:
            raise ValueError(
                "grow_states=True with a prior of known transitions, or with a support: they need the number of "
                "states, give grow_states=False or leave them out"
            )
        self._check_task()
        self._begin_learning()

    def _begin_learning(self) -> None:
        """Nothing has been seen yet."""
        agent = self.agent
        self.masks = Masks(self.actions.count)
        # actions, the agent's rewards and rows, predictions
        self.streams = streams(self.seed, "learner", type(agent).__name__, uses=4)
        self.episodes_done = 0  # episodes finished
        self.steps = 0  # in all of them
        self._warned = False  # that rewards are far from the prior
        self.returns: list[float] = []
        self.plan_diagnostics = np.zeros(len(agent.diagnostics))
        self.starts = np.zeros(1 + (1 if self.observations.grows else self.observations.count))
        self._spare = self.starts  # what `starts` is a part of
        with compiling_for(type(agent).__name__):
            self.memory = self.methods.begin(self.empty_belief())
            self._fill_policy(0)
        # whether tables may be wider than they need be: then they are made wider seldom, and not in every episode;
        # an agent of somebody's own, though it be a child of ours, may ask how wide they are
        ours = type(agent).__module__.startswith("klearning.tabular.agents.")
        self._roomy = ours and self.replan_every == 1 and bool(role_of(self._memory, "roomy"))
        # whether every step is acted in by the first layer
        self.is_steady = (self.continuing or self.discount < 1.0) and self.posterior is not None
        self._new_episode()

    def _check_task(self) -> None:
        """Settings that do not go together."""
        if (self.continuing or self.discount < 1.0) and not self.prior.stationary:
            raise ValueError(
                f"discount={self.discount:g}, continuing={self.continuing} with a prior that changes with the step: "
                "give one with stationary=True"
            )
        if self.decay < 1.0 and self.prior.transitions.blocks:
            raise ValueError(
                f"decay={self.decay:g} with a prior of known transitions, or with a support: leave one of them out"
            )

    @property
    def memory(self) -> Memory:
        """The agent's memory. Its layers have as many states as `starts`, and no spare ones."""
        if self._width != len(self.starts):
            self._resize(len(self.starts))
        return self._memory

    @memory.setter
    def memory(self, memory: Memory) -> None:
        self._memory, self._width = memory, len(self.starts)

    def _resize(self, width: int) -> None:
        """Let layers have this many states."""
        self._memory = widen(self._memory, self.methods.begin(self.empty_belief(width)), self._width, width)
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
        self.view = LearnerView(self)
        self._allowed: Flags | None = None  # at this step
        self._before: Any = None  # the episode: what `abandon_episode` goes back to
        # looked up once, not at every step; a doubt is told once
        self._doubt = no_doubt if self._warned else self.prior.reward.doubt
        self._draw = entry(draw_action)

    def act(self, observation: Any, action_mask: Any = None) -> Any:
        """The action for an observation, drawn from this episode's policy.

        ``action_mask``, a 0 or 1 per action, says which are allowed. No other is taken, and plans place no optimism in
        it. Without this argument, the last mask of that observation is used, if there is one.
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
            self.observations.truncate(met)
            raise ValueError(f"observation={observation!r} is not the one that observe() was given last: pass that one")
        if allowed is not None:
            self.masks.tell(s, allowed, observation)
        elif self.masks:
            allowed = self.masks.at(s)
        self._allowed = allowed
        known = len(self.starts)
        column = (0 if self.is_steady else l) * self._width + (
            s if s < known else known - 1
        )  # the last is for new ones
        u, policy = self._uniforms[l], self._memory.policy
        a = self._draw(policy, column, u) if allowed is None else draw_allowed(policy, column, allowed, u)
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
        if self.episodes_done % self.replan_every == 0:
            streams = Streams(*self.streams[1:3])
            with compiling_for(type(self.agent).__name__):
                self._memory = self.methods.plan(self._memory, streams, self.episodes_done, self.plan_diagnostics)

    def _set_starts(self) -> None:
        """ρ is how often each state was the first so far."""
        if self._roomy:  # nobody asks: nothing is planned
            return
        total, width = self.starts.sum(), len(self.starts)
        rho = self.starts / total if total > 0.0 else np.full(width, 1.0 / width)
        self.methods.set_start(self._memory, rho)

    def observe(
        self,
        reward: float,
        observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        action: Any = None,
    ) -> None:
        """Report the outcome of the last action. ``action`` is the action taken, if not the one from `act`."""
        if not self._waiting:
            raise RuntimeError(misuse("observe", self, self._waiting))
        l = self.step
        r = read_reward(reward, l)
        doubt = self._doubt(r)
        if doubt is not None and not self._warned:
            self._warned, self._doubt = True, no_doubt
            advice = "or let random play suggest a prior: prior=kl.suggest_prior(env)"
            warnings.warn(f"{doubt}, {advice}", PriorWarning, stacklevel=2)
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
        """Learn from the episode, however it ended. Does nothing if none has begun."""
        if self._waiting:
            raise RuntimeError(misuse("end_episode", self, self._waiting))
        if self.step > 0:
            with uninterrupted, compiling_for(type(self.agent).__name__):  # learned from once, or not at all
                self._learn()

    def _learn(self) -> None:
        k = self.step
        self._make_room()
        # the state behind the last layer is known, but of use only where layers share one table
        seen = k + 1 if k < self.horizon or self.prior.stationary else k
        numbers = self._states[:seen] + np.arange(seen) * self._width
        episode = Episode(numbers, self._chosen[:k], self._rewards[:k])
        self._memory = self.methods.update(self._memory, episode, self.episodes_done)
        if self.decay < 1.0:
            self._memory = self.methods.forget(self._memory, self.decay)
        if self.masks.news:
            self._learn_masks()
        self.returns.append(float(self._rewards[:k].sum()))
        self.episodes_done += 1
        self.steps += k
        self._new_episode()

    def fork_episode(self) -> "Learner":
        """The episode under way as a learner of its own, so that another may begin.

        `rejoin_episode` learns from it, `discard_episode` forgets it.

        It goes on by `act` and `observe`, with the plan that it began with, whatever is learned in the meantime.
        """
        with uninterrupted:
            aside = copy(self)
            aside._memory, aside.plan_diagnostics = Commitment(self._memory.policy.copy()), self.plan_diagnostics.copy()
            self._new_episode()
        return aside

    def rejoin_episode(self, aside: "Learner") -> None:
        """Return a forked episode that is over, or is to end here: `end_episode` learns from it."""
        if self.under_way:
            raise RuntimeError(
                "rejoin_episode() while another episode is under way: call end_episode() or fork_episode() first"
            )
        with uninterrupted:
            vars(self).update({name: vars(aside)[name] for name in UNDER_WAY})
            self._warned |= aside._warned

    def discard_episode(self, aside: "Learner") -> None:
        """Forget an episode that was set aside; states that it met and what others learned are kept."""
        with uninterrupted:
            self.starts[aside._states[0]] -= 1.0
            self._set_starts()

    def learn_together(self, forks: Sequence["Learner"]) -> None:
        """Nothing: episodes are learned from when they end."""

    def act_together(self, forks: Sequence["Learner"], observations: Sequence[Any], masks: Sequence[Any]) -> list[Any]:
        """The next action of each forked episode, by the plan that it began with."""
        return [fork.act(seen, action_mask=mask) for fork, seen, mask in zip(forks, observations, masks, strict=True)]

    def _learn_masks(self) -> None:
        """Tell plans which actions are forbidden. An action taken before there was a mask had been allowed."""
        news, p = self.masks.news, None if self._roomy else self.posterior
        if p is not None:
            for s in news:
                visits = p.visits[:, s :: len(self.starts)]
                news[s] = news[s] | ((visits > 0.0) & np.isfinite(visits)).any(axis=1)
        self._memory = self.forbidding(self._memory, news)
        self.masks.settle()

    def forbidding(self, memory: Memory, masks: dict[int, Flags]) -> Memory:
        """The memory of an agent that plans with no other actions than these in their states."""
        return self.methods.forbid(memory, *forbidden_in(masks.items())) if masks else memory

    def abandon_episode(self) -> None:
        """Forget the episode under way, as if it had not begun: if the simulator failed, or was interrupted.

        A learner loaded in the middle of an episode forgets its steps, but not that it had begun.
        """
        with uninterrupted:
            if self._before is not None:
                self._memory, self._width, states, met, s = self._before
                self.starts[s] -= 1.0
                for stream, state in zip(self.streams, states, strict=False):
                    stream.bit_generator.state = state
                self.observations.truncate(met)
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
        if not self.observations.grows or after <= before:
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

    @property
    def made_with(self) -> dict[str, Any]:
        """Its settings by name."""
        return {
            "agent": self.agent, "horizon": self.horizon, "prior": self.prior, "seed": self.seed,
            "grow_states": self.observations.grows, "replan_every": self.replan_every, "discount": self.discount,
            "continuing": self.continuing, "decay": self.decay,
        }  # fmt: skip

    # Questions, which change nothing that is learned: `view` answers them

    @property
    def posterior(self) -> Posterior | None:
        """The agent's posterior, if it has one; learning changes its arrays."""
        return self.methods.posterior(self.memory)

    @property
    def belief(self) -> Belief:
        """The current belief of an agent that has one; states are numbered as in `policy`."""
        posterior = self.posterior
        if posterior is None:
            raise ValueError(f"agent={self.agent!r} holds no belief: it learns values or policies directly")
        initial, forgets = posterior.model.initial.copy(), self.decay < 1.0
        return replace(self.empty_belief().after(posterior), initial=initial, forgets=forgets)

    def deployed(self) -> tuple[Belief, Floats]:
        """The belief, and the greedy policy as a table (S, A), for `kl.certify`."""
        return self.belief, self.view.greedy.T

    def empty_belief(self, width: int | None = None) -> Belief:
        """Before anything was seen, in layers as wide as they are now, or of this ``width``."""
        width = len(self.starts) if width is None else width
        uniform = np.full(width, 1.0 / width)
        return Belief.empty(self.prior, [width] * self.horizon, self.actions.count, uniform, END, self.discount)

    @property
    def diagnostics(self) -> dict[str, float]:
        """The agent's diagnostics of this episode's plan."""
        return dict(zip(self.agent.diagnostics, self.plan_diagnostics.tolist(), strict=True))

    @property
    def policy(self) -> Floats:
        """π_l(a|s) of this episode as (horizon, states, actions); state 0 is the end, others are numbered from 1."""
        return self.view.by_step(self.masks.restrict(self.memory.policy, len(self.starts)))

    def policies(self, observations: Sequence[Any], how: str = "soft") -> Floats:
        """π_l(a|o) for all steps and these observations, (horizon, observations, actions); ``how`` as in `predict`."""
        table = self.memory.policy if checks.choice("how", how, WAYS) == "soft" else self.methods.exploit(self.memory)
        return self.view.by_step(self.masks.restrict(table, len(self.starts)))[:, self.view.columns(observations)]

    def by_point(self, policy: Floats) -> Floats:
        """A policy with its states renumbered: END, then all points of the observation space in order.

        This is how `MDP.from_gymnasium` numbers them. Unmet points have the policy of unmet states. Give it as
        `policy` is, or as (actions, states of all steps); the answer is of the same form.
        """
        A, H, width = self.actions.count, self.horizon, len(self.starts)
        if policy.shape == (A, H * width):
            return np.ascontiguousarray(self.by_point(self.view.by_step(policy)).reshape(-1, A).T)
        if policy.shape != (H, width, A):
            raise ValueError(
                f"policy has shape {policy.shape}: give learner.policy, {(H, width, A)}, or {(A, H * width)}"
            )
        if not self.observations.grows:
            return policy
        columns = np.full(1 + self.observations.points, width - 1)
        columns[END] = END
        for key, k in self.observations.known.items():
            columns[1 + self.observations.mixed(key)] = min(1 + k, width - 1)
        return policy[:, columns]

    def values(self, observations: Sequence[Any]) -> Floats:
        """Values of the greedy policy from these observations on, at all steps: (horizon, observations).

        In the mean of the belief; the agent's own estimate if it has no belief.
        """
        return self.view.values.reshape(self.horizon, -1)[:, self.view.columns(observations)]

    def action_values(self, observations: Sequence[Any]) -> Floats:
        """Values by first action, with greedy actions afterwards: (horizon, observations, actions)."""
        Q = self.view.action_values()
        if Q is None:
            raise ValueError(f"agent={self.agent!r} has no values of actions: ask for `policies` or `values`")
        return self.view.by_step(Q)[:, self.view.columns(observations)]

    def met(self, observation: Any) -> bool | None:
        """Whether an observation has come up so far.

        If all points are numbered from the beginning (``grow_states=False``): whether an action was tried there, or
        None of an agent that keeps no count.
        """
        if self.observations.grows:
            return self.observations.knows(observation)
        tried = self.view.tried([self.view.column(observation)])
        return None if tried is None else bool(tried[0])

    def table(self, step: int = 0, by: str = "observation", draws: int = 30, seed: int = 0) -> "DataFrame":
        """A pandas data frame with a row for every observation met: best action, value, uncertainty, visits.

        ``value`` is that of `values` at this ``step``, and ``uncertainty`` how much it varies (standard deviation) over
        ``draws`` worlds drawn from the belief, which takes at most as long as N episodes of PSRL. With 0 draws it is
        left out, and it is nan if the agent has no prior. ``visits`` are those at this step, or at all steps if they
        share one table. An observation or action of several parts has a column for each; bins are intervals. If all
        points are numbered from the beginning (``grow_states=False``) there is a row for each, and ``met`` tells which
        were met.

        With ``by="action"`` there is a row for every observation and action: value, uncertainty, posterior mean and
        standard deviation of the mean reward, visits, the exploring policy's probability, whether it is the best.
        Actions that are not allowed have no value.
        """
        with compiling_for("learner.table"):
            return explanations.table(self.view, self._layer(step), by, draws, seed)

    def about(self, observation: Any, step: int = 0) -> StateSummary:
        """The belief about one observation: by action its value, reward, visits and successors."""
        return explanations.state_summary(self.view, observation, self._layer(step))

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
        """The action for an observation, in deployment: nothing is learned and the episode under way is left alone.

        "greedy" is best on average over the belief, without exploration; "soft" draws from the policy
        that explores. ``deterministic=True`` and ``False`` say the same, as in Stable-Baselines3. ``step`` counts from
        0; the horizon matters little far from its end, and not at all with a discount or in a continuing task.
        ``action_mask`` is as in `act`.

        With ``info`` the answer is (action, dict): whether the observation was ``met``, how many ``visits`` it had
        (None if nobody counts), the ``value`` of the greedy policy from there on, ``probability`` of the action.
        """
        l, how = self._layer(step), way_to_act(how, deterministic)
        a = self.view.predicted(observation, l, how, action_mask)
        action = self.actions.point(a)
        return (action, self.view.info(observation, l, how, a)) if info else action

    def export(self, path: str | Path) -> None:
        """Write the greedy policy as a table that needs no klearning to be read: ``.npz`` (NumPy) or ``.json``."""
        policy_export.export(self, path)

    @property
    def tail(self) -> float:
        """γ^H / (1 − γ): how far at most the values of plans are off, in units of the largest reward, by ending at H.

        0 without a discount if episodes end by themselves, infinite if they do not.
        """
        if self.discount < 1.0:
            return tail(self.discount, self.horizon)
        return inf if self.continuing else 0.0

    def check_spaces(self, spaces: Spaces) -> None:
        """ValueError if these are not the spaces, or not the bins, that the learner was made for."""
        spaces.check(self.observations.space, self.observations.bins, self.actions)

    def _layer(self, step: int) -> int:
        """Which layer of the plan is followed at a step."""
        l = checks.whole("step", step, 0)
        if self.is_steady:
            return 0
        if l >= self.horizon:
            raise ValueError(f"step={step} is not below the horizon of {self.horizon}: give a smaller one")
        return l

    def save(self, path: str | Path) -> None:
        """Write everything to one file; `kl.load` continues from there, bit for bit."""
        from klearning.simulators.saving import save

        save(self, path)

    def __repr__(self) -> str:
        task = f"horizon={self.horizon}"
        if self.discount < 1.0:
            task += f", discount={self.discount:g} (plans leave out at most {self.tail:.3g} of the largest reward)"
        task += (", continuing=True" if self.continuing else "") + (f", decay={self.decay:g}" * (self.decay < 1.0))
        return f"Learner({self.agent!r}, {task}, episodes={self.episodes_done})"

    def _repr_html_(self) -> str:
        facts = {
            **episode_facts(self.episodes_done, self.horizon, self.returns),
            "observations": f"{self.observations.count:,} of {self.observations.space}",
            "actions": f"{self.actions.count} of {self.actions.space}",
            **{name: x for name, x in self.diagnostics.items() if self.episodes_done},
            "prior": repr(self.prior),
        }
        return html_summary(f"Learner: {self.agent!r}", facts)


def episode_facts(episodes: int, horizon: int, returns: Sequence[float]) -> dict[str, str]:
    """For a learner's table in a notebook."""
    recent = returns[-RECENT:]
    return {
        "episodes": f"{episodes:,} of at most {horizon} steps",
        "return": f"{format_value(float(np.mean(recent)))}, mean of the last {len(recent)}" if recent else "–",
    }
