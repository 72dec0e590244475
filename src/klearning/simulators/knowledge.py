"""What a learner answers: its policy and what that is worth, what is believed, what to do in deployment.

Nothing here changes what is learnt; `learner.Learner` is what does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Space

from klearning.numerics import checks
from klearning.numerics.cards import digits, html_card
from klearning.numerics.types import Flags, Floats
from klearning.simulators import accounts, policy_file
from klearning.simulators.accounts import Account
from klearning.simulators.adapters.masks import Masks, draw_allowed, restricted
from klearning.simulators.horizons import tail
from klearning.simulators.insight import Insight
from klearning.simulators.numbering import Numbering
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.sweeps import hard_sweep
from klearning.tabular.models.tabular import END
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import draw_action

if TYPE_CHECKING:
    from pandas import DataFrame

WAYS = ("greedy", "soft")
RECENT = 100  # episodes whose mean return is shown


class Knowledge:
    """Of an agent that has numbered observations and actions, and plans over ``horizon`` steps."""

    agent: Agent
    prior: Prior
    horizon: int
    discount: float
    continuing: bool
    forget: float
    observations: Numbering
    actions: Numbering
    masks: Masks
    streams: list[np.random.Generator]  # the last one is for predictions
    starts: Floats  # how often episodes began in each state of a layer
    memory: Any
    insight: Insight
    said: Floats
    returns: list[float]
    episode: int
    _steady: bool  # whether every step is acted in by the first layer

    @property
    def belief(self) -> Belief:
        """What is believed now, of an agent that believes something; states are numbered as in `policy`."""
        posterior = self._posterior()
        if posterior is None:
            raise ValueError(f"agent={self.agent!r} holds no belief: it learns values or policies directly")
        initial, forgets = posterior.model.initial.copy(), self.forget < 1.0
        return replace(self._belief().after(posterior), initial=initial, forgets=forgets)

    @property
    def diagnostics(self) -> dict[str, float]:
        """What the agent said of this episode's plan."""
        return dict(zip(self.agent.diagnostics, self.said.tolist(), strict=True))

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

    def met(self, observation: Any) -> bool | None:
        """Whether an observation has come up so far.

        Where all points are numbered from the beginning (``discover=False``): whether an action was tried there, or
        None of an agent that keeps no count.
        """
        if self.observations.discovers:
            return self.observations.knows(observation)
        tried = self.insight.tried([self._column(observation)])
        return None if tried is None else bool(tried[0])

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
            u, policy = self.streams[3].random(), self.memory.policy
            a = draw_action(policy, column, u) if allowed is None else draw_allowed(policy, column, allowed, u)
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

    def _best_allowed(self, best: Floats, allowed: Flags, column: int) -> Floats:
        """The best actions among these; by their values where none of the best is among them."""
        if not (best * allowed).any() and (p := self._posterior()) is not None:
            Q = np.zeros((self.actions.count, int(p.model.layers[-1])))
            hard_sweep(p.model, p.model.reward, Q, np.zeros(Q.shape[1]))
            return np.where(allowed, Q[:, column], -np.inf)
        return restricted(best, allowed)

    def export(self, path: str | Path) -> None:
        """Write the greedy policy as a table that needs no klearning to be read: ``.npz`` (NumPy) or ``.json``."""
        policy_file.export(self, path)

    @property
    def tail(self) -> float:
        """γ^H / (1 − γ): how far at most the values of plans are off, in units of the largest reward, by ending at H.

        0 without a discount where episodes end by themselves, infinite where they do not.
        """
        if self.discount < 1.0:
            return tail(self.discount, self.horizon)
        return inf if self.continuing else 0.0

    def check_spaces(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        """ValueError where these are not the spaces that the learner was made for."""
        for numbering, space in ((self.observations, observation_space), (self.actions, action_space)):
            if numbering.space != space:
                raise ValueError(
                    f"{numbering.field} space {space} is not the learner's, {numbering.space}: give its own"
                )

    def _belief(self, width: int | None = None) -> Belief:
        """Before anything was seen, in layers as wide as they are now, or of this ``width``."""
        width = len(self.starts) if width is None else width
        uniform = np.full(width, 1.0 / width)
        return Belief.empty(self.prior, [width] * self.horizon, self.actions.count, uniform, END, self.discount)

    def _posterior(self) -> Posterior | None:
        """What the agent believes, where it does."""
        if hasattr(self.agent, "posterior"):
            return self.agent.posterior(self.memory)
        return getattr(self.memory, "posterior", None)  # an agent that is no child of ours

    def _layer(self, step: int) -> int:
        """Which layer of the plan is followed at a step."""
        l = checks.whole("step", step, 0)
        if self._steady:
            return 0
        if l >= self.horizon:
            raise ValueError(f"step={step} is not below the horizon of {self.horizon}: give a smaller one")
        return l

    def _columns(self, observations: Sequence[Any]) -> list[int]:
        if not isinstance(observations, Iterable) or isinstance(observations, Mapping):
            raise ValueError(f"observations={observations!r} is one: give a list, [{observations!r}]")
        return [self._column(observation) for observation in observations]

    def _column(self, observation: Any) -> int:
        """Where a layer has the policy for an observation; the last column is for all that have none of their own."""
        last = len(self.starts) - 1
        return min(self.observations.number(observation) + 1, last) if self.observations.knows(observation) else last

    def _by_step(self, table: Floats) -> Floats:
        """(actions, states of all steps) as (horizon, states, actions): what is done at each step."""
        by_layer = table.T.reshape(self.horizon, -1, self.actions.count)
        return np.broadcast_to(by_layer[0], by_layer.shape) if self._steady else by_layer

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
