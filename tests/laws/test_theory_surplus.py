"""The guard's regret bound: the sum of bonuses, the surplus, and what an agent measures."""

import numpy as np
import pytest

import klearning as kl
from klearning.lab.theory.surplus import Layered, guarded_regret_bound, last_surplus, most_bonus
from klearning.tabular.optimism.bonuses import bonus_named


def collected(size, visits):
    """Σ of c over ``visits`` of every pair, c of `sharp` computed from beliefs."""
    prior = kl.Prior(kl.Beta(size.reward_mass / 2.0, size.reward_mass / 2.0), kl.Dirichlet(size.row_mass))
    belief = kl.Belief.empty(prior, [size.S] * size.L, size.A, np.full(size.S, 1.0 / size.S))
    p, bonus = belief.posterior(), bonus_named("sharp")
    c, total = np.zeros((size.A, size.L * size.S)), 0.0
    for n in range(visits):
        weight = size.reward_mass + n
        p.moves[:], p.variance[:] = n, 0.25 / (weight + 1.0)
        bonus.write_c(bonus.numbers(belief), p, c)
        total += c.sum()
    return total


@pytest.mark.parametrize("size", [Layered(1, 1, 2), Layered(4, 3, 2), Layered(3, 2, 2, 0.2, 0.1)], ids=str)
def test_no_more_bonus_than_the_sum(size):
    """The sum is concave in the visits of each pair, so that it is most if all have the same number."""
    for visits in (1, 10, 3000):
        got, most = collected(size, visits), most_bonus(size, visits * size.S * size.A)
        assert got <= most
    assert got > 0.9 * most  # a constant that is a tenth smaller would be wrong


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_a_surplus_grows_as_the_root_of_the_variance(scale):
    """E S_N ≤ 4 √(Σ Var). For fair coins it is near √(2N/π): 400 walks, far from the limit by 60 standard errors."""
    walks = scale * (2.0 * np.random.default_rng(0).integers(2, size=(400, 500)) - 1.0)
    mean = np.mean([last_surplus(walk) for walk in walks])
    assert mean == pytest.approx(scale * np.sqrt(2.0 * 500 / np.pi), rel=0.15)  # a fifth off: five standard errors
    assert mean < 4.0 * scale * np.sqrt(500)


def test_measured_regret_is_below_the_bound():
    size = Layered(3, 2, 2)
    prior = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0))
    regret = [kl.run(kl.InformationDirected(), kl.random_mdp(2, 2, 3, prior, seed=k), prior=prior, episodes=200,
                     seeds=[k]).last_regret[0] for k in range(10)]  # fmt: skip
    assert np.mean(regret) < guarded_regret_bound(size, 200) < 40.0 * np.sqrt(200 * np.log(200)) * size.L**2
