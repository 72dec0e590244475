"""`certify`: what the next episode of anybody's policy costs, by proof and by draws.

E V*, the expected optimal value, does not depend on the policy. So with f a proved bound on it, f − E V^π bounds the
Bayes regret E[V* − V^π] of every π. Where layers are independent E V^π is J(π), the value of π in the mean model; where
they share a table it is not, and the bonus `visits` bounds it too, as the value of rewards −μ. For any belief the mean
of V* − V^π over MDPs drawn from it has that expectation, both values from the same draw.
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from klearning.numerics import checks
from klearning.numerics.announcing import compiling_for
from klearning.numerics.cards import digits, html_card
from klearning.numerics.compiled import kernel
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.layers import from_layers
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.beliefs.sampling import draw_whole, drawn_whole, sample_rewards, sample_values
from klearning.tabular.beliefs.sticks import new_sticks, shares_of_unseen
from klearning.tabular.models.sweeps import FORBIDDEN, at_start, hard_sweep, maximum, policy_sweep
from klearning.tabular.optimism.plan import solve
from klearning.tabular.optimism.program import program
from klearning.tabular.optimism.proof import layers_depend
from klearning.tabular.optimism.visits import PRECISION, visits_arrays, visits_search


@dataclass(frozen=True, repr=False)
class Certificate:
    """The next episode's Bayes regret of a policy.

    ``bound`` is proved, and infinite where nothing is. ``regret`` is an estimate without bias, ``error`` its standard
    error.
    """

    bound: float
    regret: float
    error: float
    draws: int

    def __repr__(self) -> str:
        bound, regret, error = (digits(x) for x in (self.bound, self.regret, self.error))
        return f"Certificate(bound={bound}, regret={regret} ± {error}, draws={self.draws})"

    def _repr_html_(self) -> str:
        facts = {
            "an episode costs at most": digits(self.bound) if self.bound < inf else "nothing is proved for this belief",
            "and about": f"{digits(self.regret)} ± {digits(self.error)}, by {self.draws} draws",
        }
        return html_card("Certificate", facts)


@uninterrupted  # once, not for each of its kernels
@compiling_for("kl.certify")
def certify(belief: Belief, policy: Floats | Layers, draws: int = 200, seed: int = 0) -> Certificate:
    """How much less than the best a policy returns in an episode, on average over what is believed.

    The policy is (S_l, A) arrays or one (S, A) table, and anybody's: of a plan, of an agent, by hand.
    """
    if not isinstance(belief, Belief):
        raise ValueError(f"belief={belief!r} is no Belief: give one, for example Belief.before(prior, world)")
    table = from_layers("policy", policy, belief.layers, belief.actions, checks.distributions)
    told, p = (
        by_draws(belief, table, checks.whole("draws", draws, 2), checks.whole("seed", seed, 0)),
        belief.posterior(),
    )
    most = most_value(belief)
    return replace(told, bound=most - least_value(belief, p, table)) if most < inf else told


def by_draws(belief: Belief, policy: Floats, draws: int, seed: int) -> Certificate:
    """What draws say of a policy (A, S), with no proof looked for."""
    regrets = np.zeros(draws)
    draw_regrets(belief.posterior(), policy, *_streams(seed), regrets)
    return Certificate(inf, float(regrets.mean()), float(regrets.std(ddof=1) / np.sqrt(draws)), draws)


def most_value(belief: Belief) -> float:
    """A proved bound on E V*; infinite where there is none. `split` is the better one of what it is proved for."""
    bonus = "visits" if layers_depend(belief) else "split"
    return solve(belief, bonus=bonus).bound if program(belief, bonus).proved else inf  # a search may be long


def least_value(belief: Belief, p: Posterior, policy: Floats) -> float:
    """What a policy, (A, S), is expected to return, at least: exactly that where layers are independent."""
    if not layers_depend(belief):
        return policy_sweep(p.model, p.model.reward, policy, np.zeros(belief.states), np.zeros(belief.states))
    allowed = p.model.reward > FORBIDDEN
    if (policy[~np.tile(allowed, belief.horizon)] > 0.0).any():
        return -inf
    losses = p.model._replace(reward=np.where(allowed, -p.model.reward, 0.0))
    room, c = visits_arrays(belief, p, policy), program(belief, "visits").c
    return -visits_search(losses, c, 1.0, True, PRECISION, policy.copy(), room).bound


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
    Q, V, V_policy, got = np.zeros((A, S)), np.zeros(S), np.zeros(S), np.zeros(S)
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
                sample_values(p, l, a, V_policy, shares, same, got[low:high])
                for s in range(low, high):
                    Q[a, s] += reward[a, s]
                    V_policy[s] += policy[a, s] * (reward[a, s] + got[s])
            maximum(p.model, l, Q, V)
        out[i] = at_start(p.model, V) - at_start(p.model, V_policy)
