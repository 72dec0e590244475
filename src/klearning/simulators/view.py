"""A learner's knowledge as arrays: its greedy policy and values, belief and visits.

A value is what the greedy policy (that of `predict`) earns from a state on, by the mean of what is believed. Of an
agent that holds no belief it is the agent's own estimate. The bonus that an agent explores by is not counted here.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from klearning.numerics.types import Flags, Floats
from klearning.simulators.adapters.masks import draw_allowed, restricted
from klearning.tabular.beliefs.posterior import Posterior, mean_rewards
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.beliefs.value_draws import Spread, value_spread
from klearning.tabular.models.sweeps import all_action_values, hard_sweep, policy_sweep
from klearning.tabular.trials.agent import Memory
from klearning.tabular.trials.task import draw_action

if TYPE_CHECKING:
    from klearning.simulators.learner import Learner


class LearnerView:
    """Answers about a learner between two episodes. Arrays have axes (action, state), states as in its memory."""

    def __init__(self, learner: "Learner") -> None:
        self.learner = learner

    # Arrays

    @property
    def memory(self) -> Memory:
        return self.learner.memory

    @property
    def posterior(self) -> Posterior | None:
        """The agent's posterior, if it has one."""
        return self.learner.posterior

    @property
    def width(self) -> int:
        """States of a layer: END, one per observation that has a number, and one for all others."""
        return self.memory.policy.shape[1] // self.learner.horizon

    @cached_property
    def greedy(self) -> Floats:
        """The policy of deployment."""
        return self.learner.masks.restrict(self.learner.methods.exploit(self.memory), self.width)

    @cached_property
    def values(self) -> Floats:
        """The value of the greedy policy in every state."""
        p = self.posterior
        if p is None:
            return self.learner.methods.values(self.memory)
        V = np.zeros(self.greedy.shape[1])
        policy_sweep(p.model, p.model.reward, self.greedy, V, np.zeros(self.width))
        return V

    def action_values(self) -> Floats | None:
        """The value of every action, greedy afterwards; None if the agent has no values."""
        p = self.posterior
        if p is None:
            Q = getattr(self.memory, "Q", None)
            return Q if Q is None or Q.shape == self.greedy.shape else np.tile(Q, (1, self.learner.horizon))
        Q = np.zeros_like(self.greedy)
        all_action_values(p.model, p.model.reward, self.values, Q)
        return Q

    def visits(self) -> Floats | None:
        """How often every action was taken, a column per row of the tables; None if the agent keeps no count."""
        p = self.posterior
        visits = getattr(self.memory, "visits", None if p is None else p.visits)
        return None if visits is None else np.where(np.isinf(visits), 0.0, visits)  # what is a fact was not tried

    def tried(self, columns: Any) -> Flags | None:
        """Whether, at any step, an action was taken in the states of these columns of a layer."""
        visits = self.visits()
        return None if visits is None else np.any(visits.reshape(-1, self.width)[:, columns], axis=0)

    def allowed(self, s: int) -> Flags:
        """Which actions the simulator allows in state s of a layer, as far as it has said."""
        known = self.learner.masks.known.get(s)
        return np.ones(self.learner.actions.count, np.bool_) if known is None else known

    def reward_sd(self) -> Floats | None:
        """Of the mean rewards; None if the agent has no prior."""
        if not self.is_bayesian or self.posterior is None:
            return None
        sd: Floats = np.sqrt(self.learner.prior.reward.variance(mean_rewards(self.posterior)))
        return sd

    def spread(self, step: int, draws: int, seed: int, by_action: bool) -> Spread | None:
        """How much the values of a step vary over what is believed; None if the agent has no prior."""
        if not self.is_bayesian or self.posterior is None or draws == 0:
            return None
        states = slice(step * self.width, (step + 1) * self.width)
        # of equals `predict` takes the first: a policy that mixes them would need draws of all their rows
        best = (self.greedy.argmax(axis=0) == np.arange(len(self.greedy))[:, None]).astype(np.float64)
        return value_spread(self.posterior, best, states, draws, seed, by_action)

    @property
    def is_bayesian(self) -> bool:
        """Whether the agent began with the learner's prior: others count frequencies, which are not a distribution."""
        p, prior, rows = self.posterior, self.learner.prior, self.learner.prior.transitions
        if p is None:
            return False
        same = all(np.array_equal(x, y) for x, y in zip(p.prior, prior.reward.numbers(), strict=True))
        return same and p.total == (rows.mass if isinstance(rows, Dirichlet) else 1.0)

    def at_step(self, table: Floats, step: int) -> Floats:
        """The columns of one step, of an array with one for every state or for every row of the tables."""
        first = 0 if table.shape[-1] == self.width else step * self.width
        return table[..., first : first + self.width]

    def by_step(self, table: Floats) -> Floats:
        """(actions, states of all steps) as (horizon, states, actions): what is done at each step."""
        by_layer = table.T.reshape(self.learner.horizon, -1, self.learner.actions.count)
        return np.broadcast_to(by_layer[0], by_layer.shape) if self.learner.is_steady else by_layer

    # Observations

    def column(self, observation: Any) -> int:
        """Where a layer has the policy for an observation; the last column is for all that have none of their own."""
        observations, last = self.learner.observations, len(self.learner.starts) - 1
        return min(observations.number(observation) + 1, last) if observations.knows(observation) else last

    def columns(self, observations: Sequence[Any]) -> list[int]:
        if not isinstance(observations, Iterable) or isinstance(observations, Mapping):
            raise ValueError(f"observations={observations!r} is one: give a list, [{observations!r}]")
        return [self.column(observation) for observation in observations]

    # Actions

    def predicted(self, observation: Any, l: int, how: str, action_mask: Any) -> int:
        """The number of the action in deployment, in layer l."""
        learner, allowed = self.learner, None
        if action_mask is not None:
            allowed = learner.masks.read(action_mask, observation)
        elif learner.observations.knows(observation):
            allowed = learner.masks.at(1 + learner.observations.number(observation))
        column = l * len(learner.starts) + self.column(observation)
        if how == "soft":
            u, policy = learner.streams[3].random(), self.memory.policy
            return draw_action(policy, column, u) if allowed is None else draw_allowed(policy, column, allowed, u)
        best = self.greedy[:, column]
        return int((best if allowed is None else self._best_allowed(best, allowed, column)).argmax())

    def _best_allowed(self, best: Floats, allowed: Flags, column: int) -> Floats:
        """The best actions among these; by their values if none of the best is among them."""
        if not (best * allowed).any() and (p := self.posterior) is not None:
            Q = np.zeros((self.learner.actions.count, int(p.model.layers[-1])))
            hard_sweep(p.model, p.model.reward, Q, np.zeros(Q.shape[1]))
            return np.where(allowed, Q[:, column], -np.inf)
        return restricted(best, allowed)

    def info(self, observation: Any, l: int, how: str, a: int) -> dict[str, Any]:
        """The info that `predict` returns with its action."""
        column, visits = self.column(observation), self.visits()
        tried = None if visits is None else float(self.at_step(visits, l)[:, column].sum())
        value = float(self.at_step(self.values, l)[column])
        probability = 1.0 if how == "greedy" else float(self.at_step(self.memory.policy, l)[a, column])
        return {"met": self.learner.met(observation), "visits": tried, "value": value, "probability": probability}
