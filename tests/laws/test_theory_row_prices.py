"""Exact prices of unknown rows: no more than those of `split`, and their sum is no more than that of `sharp`."""

import numpy as np
import pytest
from hypothesis import given

import klearning as kl
from klearning.lab.theory.optimistic import soft_maximum
from klearning.lab.theory.row_prices import priced_episode, priced_k_values
from tests.support.cases import modest
from tests.support.theory_cases import enumerable, temperatures


@modest
@given(enumerable(("sharp",)), temperatures)
def test_the_sum_of_prices(example, tau):
    """f − J(π) ≤ τH̄ + C̄/τ, and f bounds E V*, by enumeration."""
    case, posterior, _ = example
    belief = case.belief()
    if not belief.transitions.learns:
        return
    law = priced_episode(belief, tau)
    assert law.holds()
    f = belief.initial @ soft_maximum(priced_k_values(belief, tau)[0], tau)
    best = posterior.at_start(posterior.q_values[0].max(axis=2))[0]
    assert best <= f + 1e-9


def test_the_sum_is_nearly_reached():
    """One row that leads to 0 or to 1 with even chances, for certain: at high τ its price is a variance."""
    prior = kl.Prior(kl.Gaussian(0.0, 1e-6, 1.0), kl.Dirichlet(1e-6), span=1.0)
    n, pays = 1e16, np.array([[0.0], [1.0]])  # rewards are known
    sums = [np.zeros((1, 1)), pays * n * (1.0 + 1e12 / n)]
    visits = [np.zeros((1, 1)), np.full((2, 1), n)]
    belief = kl.Belief.from_counts(prior, visits, sums, [np.zeros((1, 1, 2))], [1.0])
    law = priced_episode(belief, 50.0)
    assert law.holds()
    assert law.lower == pytest.approx(law.upper, rel=1e-3)


def test_it_costs_no_more_than_split():
    """`split` is an upper bound of the exact price, so its K-values are at least these."""
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0), span=None)
    belief = kl.Belief.empty(prior, [1, 3, 3], 2, [1.0])
    for tau in (0.1, 0.5, 2.0):
        exact = priced_k_values(belief, tau)
        assert all((k <= s + 1e-9).all() for k, s in zip(exact, kl.solve(belief, tau, "split").k_values, strict=True))
