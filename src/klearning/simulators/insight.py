"""What a learner knows, as arrays: its greedy policy, what that is worth, what is believed, what was tried.

A value is what the greedy policy (that of `predict`) earns from a state on, by the mean of what is believed; where an
agent believes nothing it is the agent's own estimate. What an agent hopes for while it explores is more, and is not
counted here.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from klearning.numerics.types import Flags, Floats
from klearning.tabular.beliefs.posterior import Posterior, mean_rewards
from klearning.tabular.beliefs.value_draws import Spread, value_spread
from klearning.tabular.models.sweeps import all_action_values, policy_sweep

if TYPE_CHECKING:
    from klearning.simulators.knowledge import Knowledge


class Insight:
    """Of a learner between two episodes. Arrays have axes (action, state), states as in the agent's memory."""

    def __init__(self, learner: "Knowledge") -> None:
        self._learner = learner

    @property
    def _memory(self) -> Any:
        return self._learner.memory

    @property
    def posterior(self) -> Posterior | None:
        """What the agent believes, where it does."""
        agent = self._learner.agent
        if hasattr(agent, "posterior"):
            return agent.posterior(self._memory)
        return getattr(self._memory, "posterior", None)  # an agent that is no child of ours

    @cached_property
    def greedy(self) -> Floats:
        """The policy of deployment."""
        return self._learner.masks.restrict(self._learner.agent.exploit(self._memory), self.width)

    @cached_property
    def values(self) -> Floats:
        """What the greedy policy is worth in every state."""
        p = self.posterior
        if p is None:
            return self._learner.agent.values(self._memory)
        V = np.zeros(self.greedy.shape[1])
        policy_sweep(p.model, p.model.reward, self.greedy, V, np.zeros(self.width))
        return V

    def action_values(self) -> Floats | None:
        """What every action is worth, greedy after it; None where the agent does not know."""
        p = self.posterior
        if p is None:
            Q = getattr(self._memory, "Q", None)
            return None if Q is None else self._in_all_layers(Q)
        Q = np.zeros_like(self.greedy)
        all_action_values(p.model, p.model.reward, self.values, Q)
        return Q

    def visits(self) -> Floats | None:
        """How often every action was taken, a column per row of the tables; None where the agent keeps no count."""
        p = self.posterior
        visits = getattr(self._memory, "visits", None if p is None else p.visits)
        return None if visits is None else np.where(np.isinf(visits), 0.0, visits)  # what is a fact was not tried

    def tried(self, columns: Any) -> Flags | None:
        """Whether, at any step, an action was taken in the states of these columns of a layer."""
        visits = self.visits()
        return None if visits is None else np.any(visits.reshape(-1, self.width)[:, columns], axis=0)

    def reward_sd(self) -> Floats | None:
        """Of the mean rewards; None where what is believed has no spread."""
        if not self.is_bayesian or self.posterior is None:
            return None
        sd: Floats = np.sqrt(self._learner.prior.reward.variance(mean_rewards(self.posterior)))
        return sd

    def spread(self, step: int, draws: int, seed: int, by_action: bool) -> Spread | None:
        """How much the values of a step vary over what is believed; None where that has no spread."""
        if not self.is_bayesian or self.posterior is None or draws == 0:
            return None
        states = slice(step * self.width, (step + 1) * self.width)
        # of equals `predict` takes the first: a policy that mixes them would need draws of all their rows
        best = (self.greedy.argmax(axis=0) == np.arange(len(self.greedy))[:, None]).astype(np.float64)
        return value_spread(self.posterior, best, states, draws, seed, by_action)

    @property
    def is_bayesian(self) -> bool:
        """Whether the agent began with the learner's prior: others count frequencies, which are no distribution."""
        p, prior = self.posterior, self._learner.prior
        if p is None:
            return False
        same = all(np.array_equal(x, y) for x, y in zip(p.prior, prior.reward.numbers(), strict=True))
        return same and p.total == getattr(prior.transitions, "mass", 1.0)

    @property
    def width(self) -> int:
        """States of a layer: END, one per observation that has a number, and one for all others."""
        return self._memory.policy.shape[1] // self._learner.horizon

    def at_step(self, table: Floats, step: int) -> Floats:
        """The columns of one step, of an array with one for every state or for every row of the tables."""
        first = 0 if table.shape[-1] == self.width else step * self.width
        return table[..., first : first + self.width]

    def _in_all_layers(self, table: Floats) -> Floats:
        return table if table.shape == self.greedy.shape else np.tile(table, (1, self._learner.horizon))
