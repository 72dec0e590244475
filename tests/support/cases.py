"""Random beliefs for the tests: ragged layers, any prior, counts from none to many.

A `Case` holds the raw numbers. `belief` hands them to the package; `mean_model` and `half_variance`
say what theory makes of them, in dense arrays and without the package.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import klearning as kl
from klearning.numerics.types import Layers
from klearning.tabular.optimism import bonuses
from tests.support import oracles

BONUSES = tuple(name for name, facts in bonuses.BONUSES.items() if not facts.prices)  # those that are their c
REWARDS = ("gaussian", "beta")
TRANSITIONS = ("even", "support", "known")

thorough = settings(deadline=None, derandomize=True, max_examples=20)
modest = settings(deadline=None, derandomize=True, max_examples=10)


@dataclass(frozen=True)
class Case:
    reward: kl.Gaussian | kl.Beta
    transitions: kl.Dirichlet | kl.Known
    prior_alpha: Layers  # Dirichlet parameters of the prior; the probabilities if they are known
    visits: Layers
    reward_sums: Layers
    counts: Layers
    initial: np.ndarray
    span: float | None = None

    @property
    def known(self):
        return isinstance(self.transitions, kl.Known)

    @property
    def horizon(self):
        return len(self.visits)

    @property
    def widths(self):
        return [len(n) for n in self.visits]

    @property
    def actions(self):
        return self.visits[0].shape[1]

    @property
    def prior(self):
        return kl.Prior(self.reward, self.transitions, span=self.span)

    def belief(self):
        return kl.Belief.from_counts(self.prior, self.visits, self.reward_sums, self.counts, self.initial)

    def alpha(self):
        """Posterior Dirichlet parameters."""
        return [alpha + n for alpha, n in zip(self.prior_alpha, self.counts)]

    def rewards(self):
        """Posterior means and variances of the mean rewards, a layer at a time."""
        r = self.reward
        for n, total in zip(self.visits, self.reward_sums):
            if isinstance(r, kl.Gaussian):
                yield oracles.gaussian_posterior(r.mean, r.sd, r.noise, n, total)
            else:
                yield oracles.beta_posterior(r.a, r.b, n, total)

    def mean_model(self):
        """m, P̄ and ρ."""
        P = self.prior_alpha if self.known else [oracles.normalised(alpha) for alpha in self.alpha()]
        return [mean for mean, _ in self.rewards()], P, self.initial

    def half_variance(self, bonus):
        """c(s,a) of theory.md's table."""
        r = self.reward
        c = []
        for l, (n, (_, variance)) in enumerate(zip(self.visits, self.rewards())):
            left = self.horizon - 1 - l
            if isinstance(r, kl.Beta):
                variance = 1 / (4 * (r.a + r.b + n + 1))
            if bonus == "paper":
                noise = r.noise if isinstance(r, kl.Gaussian) else 0.5
                c.append((noise**2 + left**2) / (2 * np.maximum(n, 1)))
            elif bonus == "sharp" and left > 0 and not self.known:
                span = left if self.span is None else self.span
                mass = self.alpha()[l].sum(axis=-1)
                c.append((variance + span**2 / (4 * (mass + 1))) / 2)
            else:
                c.append(variance / 2)
        return c


def random_case(rng, widths, actions, reward="gaussian", transitions="even", most=30, span=None):
    """A case of this shape; two fifths of the (s, a) unvisited, the others up to ``most`` times."""
    shapes = [(n, actions) for n in widths]
    visits = [np.where(rng.random(s) < 0.4, 0, rng.integers(1, most + 1, s)).astype(float) for s in shapes]
    prior, reward_sums = _random_rewards(rng, reward, visits)
    rows = [rng.dirichlet(np.ones(y), size=(x, actions)) for x, y in pairwise(widths)]
    mass = float(np.exp(rng.uniform(np.log(0.1), np.log(5.0))))
    supports = [np.ones(p.shape, bool) for p in rows]
    if transitions == "support":
        supports = [rng.random(p.shape) < 0.5 for p in rows]
        for support in supports:
            first = rng.integers(support.shape[-1], size=support.shape[:-1])
            np.put_along_axis(support, first[..., None], True, axis=-1)
        rows = [oracles.normalised(p * support) for p, support in zip(rows, supports)]
    counts = [rng.multinomial(n.astype(int), p).astype(float) for n, p in zip(visits, rows)]
    alpha = [mass * oracles.normalised(support.astype(float)) for support in supports]
    if transitions == "even":
        learnt = kl.Dirichlet(mass)
    elif transitions == "support":
        learnt = kl.Dirichlet(mass, support=supports)
    else:
        learnt, alpha = kl.Known(rows), rows
    initial = rng.dirichlet(np.ones(widths[0]))
    return Case(prior, learnt, alpha, visits, reward_sums, counts, initial, span)


def _random_rewards(rng, kind, visits):
    if kind == "gaussian":
        mean, sd, noise = rng.uniform(-1, 1), np.exp(rng.uniform(-2, 1)), np.exp(rng.uniform(-3, 0))
        truth = [rng.normal(mean, sd, n.shape) for n in visits]
        sums = [n * mu + noise * np.sqrt(n) * rng.standard_normal(n.shape) for n, mu in zip(visits, truth)]
        return kl.Gaussian(float(mean), float(sd), float(noise)), sums
    a, b = np.exp(rng.uniform(-1, 1.5, 2))
    sums = [rng.binomial(n.astype(int), rng.beta(a, b, n.shape)).astype(float) for n in visits]
    return kl.Beta(float(a), float(b)), sums


several, any_number = st.integers(2, 4), st.integers(1, 4)


@st.composite
def cases(draw, actions=several, rewards=REWARDS):
    """Any shape, any prior. The numbers come from a drawn seed."""
    widths = draw(st.lists(st.integers(1, 10), min_size=1, max_size=4))
    reward, transitions = draw(st.sampled_from(rewards)), draw(st.sampled_from(TRANSITIONS))
    span = draw(st.sampled_from([None, 0.5, 2.0]))
    seed = draw(st.integers(0, 2**32 - 1))
    return random_case(np.random.default_rng(seed), widths, draw(actions), reward, transitions, span=span)


def certain_case(m, P, initial):
    """Nothing is uncertain: P is known, and every reward was seen once without noise."""
    visits = [np.ones(r.shape) for r in m]
    return Case(kl.Gaussian(noise=0.0), kl.Known(P), P, visits, m, P, np.asarray(initial))
