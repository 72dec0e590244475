"""`certify`: what the next episode of anybody's policy costs, by proof and by draws.

E V*, the expected optimal value, does not depend on the policy. So with f a proved bound on it, f − E V^π bounds the
Bayes regret E[V* − V^π] of every π. If layers are independent, E V^π is J(π), the value of π in the mean model; if
they share a table it is not, and the bonus `visits` bounds it too, as the value of rewards −μ. For any belief the mean
of V* − V^π over MDPs drawn from it has that expectation, both values from the same draw.
"""

from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Protocol, runtime_checkable

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.summaries import format_value, html_summary
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.layers import from_layers
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior, forbid
from klearning.tabular.beliefs.sampling import draw_whole, drawn_whole, sample_rewards, sample_values
from klearning.tabular.beliefs.stick_breaking import new_sticks, shares_of_unseen
from klearning.tabular.models.sweeps import FORBIDDEN, at_start, hard_sweep, maximum, policy_sweep, shared
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.optimism.plan import solve
from klearning.tabular.optimism.program import check_belief, program
from klearning.tabular.optimism.proof import layers_depend
from klearning.tabular.optimism.visits import PRECISION, visits_arrays, visits_search


@dataclass(frozen=True, repr=False)
class Certificate:
    """The next episode's Bayes regret of a policy.

    Both numbers are expectations under the belief, given the states met. ``bound`` is proved, and infinite if nothing
    is. ``regret`` is an estimate without bias, ``error`` its standard error. ``tried`` is what ``regret`` would be if
    actions that were never tried were not allowed: the rest of it is what the prior hopes of them. It is nan if layers
    do not share a table.
    """

    bound: float
    regret: float
    error: float
    draws: int
    tried: float = nan

    @property
    def is_mostly_prior(self) -> bool:
        """Whether more than half of ``regret`` is about actions that were never tried."""
        return self.tried < 0.5 * self.regret

    def __repr__(self) -> str:
        bound, regret, error = (format_value(x) for x in (self.bound, self.regret, self.error))
        return f"Certificate(bound={bound}, regret={regret} ± {error}, draws={self.draws})"

    def _repr_html_(self) -> str:
        facts = {
            "an episode costs at most": format_value(self.bound)
            if self.bound < inf
            else "nothing is proved for this belief",
            "and about": f"{format_value(self.regret)} ± {format_value(self.error)}, by {self.draws} draws",
            **({} if isnan(self.tried) else {"without actions never tried": format_value(self.tried)}),
        }
        return html_summary("Certificate", facts)


@runtime_checkable
class Deployable(Protocol):
    """An object with a belief and a policy, such as a learner."""

    def deployed(self) -> tuple[Belief, Floats]:
        """The belief, and the greedy policy (S, A)."""


@uninterrupted  # once, not for each of its kernels
@compiling_for("kl.certify")
def certify(
    belief: Belief | Deployable, policy: Floats | Layers | None = None, draws: int = 200, seed: int = 0
) -> Certificate:
    """Bound and estimate how much less than the optimum a policy returns in an episode, on average over the belief.

    The policy is (S_l, A) arrays or one (S, A) table, from anywhere: a plan, an agent, a rule of thumb. Pass only a
    learner, ``certify(learner)``, to certify its greedy policy.
    """
    if isinstance(belief, Deployable):
        if policy is not None:
            raise ValueError(
                "policy beside a learner, whose greedy policy is certified: give certify(learner.belief, policy)"
            )
        belief, policy = belief.deployed()
    check_belief(belief)
    if policy is None:
        raise ValueError("policy is missing: give certify(belief, policy), or certify(learner)")
    table = from_layers("policy", policy, belief.layers, belief.actions, checks.distributions)
    estimate = by_draws(belief, table, checks.whole("draws", draws, 2), checks.whole("seed", seed, 0))
    upper = most_value(belief)
    return replace(estimate, bound=upper - least_value(belief, belief.posterior(), table)) if upper < inf else estimate


def by_draws(belief: Belief, policy: Floats, draws: int, seed: int) -> Certificate:
    """A certificate of a policy (A, S) from posterior draws, without a proof."""
    regrets = np.zeros(draws)
    draw_regrets(belief.posterior(), policy, *_streams(seed), regrets)
    mean, error = float(regrets.mean()), float(regrets.std(ddof=1) / np.sqrt(draws))
    tried = tried_alone(belief, policy)
    if tried is None:
        return Certificate(inf, mean, error, draws)
    draw_regrets(tried, policy, *_streams(seed), regrets)
    return Certificate(inf, mean, error, draws, float(regrets.mean()))


def tried_alone(belief: Belief, policy: Floats) -> Posterior | None:
    """The belief, with actions forbidden that were neither tried nor are the policy's; None without one table."""
    p = belief.posterior()
    if not shared(p.model):
        return None
    chosen = policy.reshape(belief.actions, -1, p.visits.shape[1]).any(axis=1)
    untried = (p.visits == 0.0) & ~chosen
    states = np.flatnonzero(untried.any(axis=0))
    forbid(p, states, np.ascontiguousarray((untried | np.isinf(p.visits))[:, states]))
    return p


def most_value(belief: Belief) -> float:
    """A proved bound on E V*; infinite if there is none. `split` is the better one of what it is proved for."""
    bonus: BonusName = "visits" if layers_depend(belief) else "split"
    return solve(belief, bonus=bonus).bound if program(belief, bonus).proved else inf  # a search may be long


def least_value(belief: Belief, p: Posterior, policy: Floats) -> float:
    """A lower bound on the expected return of a policy (A, S); exact if layers are independent."""
    if not layers_depend(belief):
        return policy_sweep(p.model, p.model.reward, policy, np.zeros(belief.states), np.zeros(belief.states))
    allowed = p.model.reward > FORBIDDEN
    if (policy[~np.tile(allowed, belief.horizon)] > 0.0).any():
        return -inf
    losses = p.model._replace(reward=np.where(allowed, -p.model.reward, 0.0))
    work, c = visits_arrays(belief, p, policy), program(belief, "visits").c
    return -visits_search(losses, c, 1.0, True, PRECISION, policy.copy(), work).bound


def _streams(seed: int) -> tuple[np.random.Generator, np.random.Generator, np.random.Generator]:
    """For rewards, for rows, and once more for the same rows."""
    rewards, rows = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(rewards), np.random.default_rng(rows), np.random.default_rng(rows)


@kernel
def draw_regrets(
    p: Posterior, policy: Floats, rewards: np.random.Generator, rows: np.random.Generator, twin: np.random.Generator,
    out: Floats,
) -> None:  # fmt: skip
    """V* − V^π at the start, in an MDP from the posterior for each place of ``out``."""
    layers, (A, S) = p.model.layers, policy.shape
    Q, V, V_policy, next_values = np.zeros((A, S)), np.zeros(S), np.zeros(S), np.zeros(S)
    for i in range(out.size):
        if drawn_whole(p):
            drawn = draw_whole(p, rewards, rows)
            best = hard_sweep(drawn, drawn.reward, Q, V)
            out[i] = best - policy_sweep(drawn, drawn.reward, policy, V_policy, np.zeros(S))
            continue
        sticks, same = new_sticks(p, rows), new_sticks(p, twin)
        shares = shares_of_unseen(sticks, p.moves.ravel()).reshape(p.moves.shape)
        shares_of_unseen(same, p.moves.ravel())
        reward = sample_rewards(p, rewards)
        for l in range(layers.size - 2, -1, -1):
            low, high = layers[l], layers[l + 1]
            V_policy[low:high] = 0.0
            for a in range(A):
                sample_values(p, l, a, V, shares, sticks, Q[a][low:high])
                # twin streams draw the same rows: those of V*, priced at V^π
                sample_values(p, l, a, V_policy, shares, same, next_values[low:high])
                for s in range(low, high):
                    Q[a, s] += reward[a, s]
                    V_policy[s] += policy[a, s] * (reward[a, s] + next_values[s])
            maximum(p.model, l, Q, V)
        out[i] = at_start(p.model, V) - at_start(p.model, V_policy)
