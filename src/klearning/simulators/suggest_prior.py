"""`suggest_prior`: what random play tells of a simulator, as a prior and in words.

Rewards and next observations are gathered for every pair of observation and action. Then

    mean    the average over pairs of their mean rewards
    sd      √(half the range of rewards × the sd of the pairs' mean rewards): the range alone lets one extreme reward
            set the hope of every pair, and the means alone hope for nothing that random play seldom meets
    noise   √((guess² + Σ (r − r̄)²) / (1 + Σ (n − 1))) over pairs that were met again, where the guess is `FIRST_NOISE`
            of the sd, and no less than `LEAST_NOISE` of it: there may be pairs that nobody has met yet
    mass    its posterior mean, by logarithms, if any size from 0.01 to 10 is as likely as another: a pair that led to k
            different states in n visits has probability ∝ α^k Γ(α)/Γ(α + n) under a Dirichlet of mass α over many
            states (Ewens' formula)

Noise is learned pair by pair from there on (`UnknownNoise`), and the guess is worth one visit. The rules are
equivariant: rewards times ten give ten times mean, sd and noise.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import gymnasium
import numpy as np

from klearning.numerics.types import Floats
from klearning.simulators.environments import opened_environment
from klearning.simulators.random_play import random_play
from klearning.simulators.space_index import SpaceIndex
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import UnknownNoise
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.models.tabular import END, read_horizon

FIRST_NOISE, LEAST_NOISE = 0.3, 0.1  # of the sd: if nothing was met twice, and if nothing ever varied
MASSES = np.geomspace(0.01, 10.0, 61)  # a smaller one than the first takes one visit for certainty


@dataclass(frozen=True, eq=False, repr=False)
class SuggestedPrior(Prior):
    """A `Prior`, and why it is so; `print` shows both."""

    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        plain = Prior(self.reward, self.transitions, self.span, self.stationary)
        return "\n".join([repr(plain), *(f"  {reason}" for reason in self.reasons)])


@dataclass
class Pair:
    """Rewards and next observations of one action in one observation."""

    rewards: list[float] = field(default_factory=list)
    successors: Counter[int] = field(default_factory=Counter)


@dataclass
class Play:
    """Some episodes of random actions."""

    pairs: dict[tuple[int, int], Pair]
    lengths: list[int]  # steps of each episode
    horizon: int

    @property
    def rewards(self) -> Floats:
        return np.concatenate([pair.rewards for pair in self.pairs.values()])


def suggest_prior(
    env: gymnasium.Env[Any, Any] | str, episodes: int = 20, seed: int = 0, *, horizon: int | None = None
) -> SuggestedPrior:
    """A stationary prior for an environment, from ``episodes`` of random play, with its ``reasons`` as text.

    ``env`` is an environment or the name of one. It is reset for every episode and left as the last one ended; it is
    neither closed nor copied, so that a simulator that counts its episodes counts these. ``horizon`` is as in `learn`.
    Random play knows nothing of what it never meets, such as a rare and large reward: state what you know of it
    instead.
    """
    with opened_environment(env) as place:
        if isinstance(place, gymnasium.vector.VectorEnv):
            raise ValueError(
                f"env={env!r} is a vector of {place.num_envs} environments: give one of them, gymnasium.make(…)"
            )
        play = look_at(place, episodes, seed, horizon)
    mean, sd, of_rewards = size_of_rewards(play)
    noise, of_noise = noise_of_rewards(play, sd)
    mass, of_mass = mass_of_rows(play)
    steps = sum(play.lengths)
    seen = (
        f"random play: {len(play.lengths)} episodes, {steps} steps, {len(play.pairs)} pairs of observation and action; "
        f"episodes took {min(play.lengths)} to {max(play.lengths)} of at most {play.horizon} steps"
    )
    reward = UnknownNoise(mean, sd, noise, strength=1.0)
    reasons = (seen, of_rewards, of_noise, of_mass)
    return SuggestedPrior(reward, Dirichlet(mass), stationary=True, reasons=reasons)


def look_at(env: gymnasium.Env[Any, Any], episodes: int, seed: int, horizon: int | None) -> Play:
    """Results of random play."""
    observations = SpaceIndex("observation", env.observation_space, grows=True)
    play, s = Play(defaultdict(Pair), [], read_horizon(env, horizon)), END
    for step in random_play(env, "suggest_prior", episodes, seed, horizon):
        after = END if step.terminated else observations.number(step.observation) + 1
        if step.action < 0:
            play.lengths.append(0)
        else:
            play.lengths[-1] += 1
            pair = play.pairs[s, step.action]
            pair.rewards.append(step.reward)
            pair.successors[after] += 1
        s = after
    return play


def size_of_rewards(play: Play) -> tuple[float, float, str]:
    """Mean and sd of mean rewards, and why."""
    low, high = float(play.rewards.min()), float(play.rewards.max())
    means = np.array([np.mean(pair.rewards) for pair in play.pairs.values()])
    mean = _rounded(float(means.mean()))
    if low < high:
        half, spread = (high - low) / 2.0, float(means.std())
        sd = _rounded(sqrt(half * spread) if spread > 0.0 else half)
        why = f"rewards were {low:g} to {high:g}, and the means of pairs spread by {spread:.2g}; sd is between the two"
        return mean, sd, f"mean={mean:g}, sd={sd:g}: {why}"
    if low == 0.0:
        return 0.0, 1.0, "mean=0, sd=1: nothing was ever paid, so that sd is a guess; give one if you know the rewards"
    return mean, abs(mean), f"mean={mean:g}, sd={abs(mean):g}: every reward was {low:g}"


def noise_of_rewards(play: Play, sd: float) -> tuple[float, str]:
    """The suggested noise, and why."""
    again = [np.asarray(pair.rewards) for pair in play.pairs.values() if len(pair.rewards) > 1]
    spread = sum(float(((r - r.mean()) ** 2).sum()) for r in again)
    pooled = sqrt(((FIRST_NOISE * sd) ** 2 + spread) / (1 + sum(len(r) - 1 for r in again)))
    least = LEAST_NOISE * sd
    noise = _rounded(max(pooled, least))
    varied = sum(bool(np.ptp(r) > 0.0) for r in again)
    told = (
        f"noise={noise:g}, worth one visit: of {len(again)} pairs met again {varied} paid another reward at some time"
    )
    return noise, told if pooled > least else f"{told}; it is {LEAST_NOISE:g} of the sd at least"


def mass_of_rows(play: Play) -> tuple[float, str]:
    """The suggested mass of a Dirichlet row, and why."""
    again = [(len(pair.successors), n) for pair in play.pairs.values() if (n := pair.successors.total()) > 1]
    different, most = sum(k for k, _ in again), max((n for _, n in again), default=0)
    # log Γ(α + n)/Γ(α), for n = 0, 1, …
    rising = np.cumsum([np.zeros_like(MASSES), *(np.log(MASSES + i) for i in range(most))], axis=0)
    likelihood = different * np.log(MASSES) - rising[[n for _, n in again]].sum(axis=0)
    chance = np.exp(likelihood - likelihood.max())
    mass = _rounded(float(np.exp(chance @ np.log(MASSES) / chance.sum())))
    elsewhere = sum(k > 1 for k, _ in again)
    return mass, f"mass={mass:g}: of {len(again)} pairs met again {elsewhere} led elsewhere at some time"


def _rounded(x: float) -> float:
    """To two digits: no more is known."""
    return float(f"{x:.2g}")
