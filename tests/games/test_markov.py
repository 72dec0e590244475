"""Markov games: values against all pure policies, MDPs as special cases, and K-learning's bound against draws."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import hyp1f1, logsumexp

import klearning as kl
from klearning import games


def value_of(game, ours, theirs):
    """What two policies, lists of (S_l, moves), are paid, forwards: by the chances to be in every state."""
    here, total = game.initial, 0.0
    for l, A in enumerate(game.payoffs):
        joint = here[:, None, None] * theirs[l][:, :, None] * ours[l][:, None, :]
        total += (joint * A).sum()
        if l < len(game.transitions):
            here = np.einsum("sij,sijk->k", joint, game.transitions[l])
    return total


def pure_policies(widths, moves):
    for choice in product(range(moves), repeat=sum(widths)):
        yield np.split(np.eye(moves)[list(choice)], np.cumsum(widths)[:-1])


def uneven_game(rng, m=2, n=2, widths=(1, 2, 2)):
    payoffs = [rng.normal(size=(w, m, n)) for w in widths]
    transitions = [rng.dirichlet(np.ones(b), (a, m, n)) for a, b in pairwise(widths)]
    return games.MarkovGame(payoffs, transitions, rng.dirichlet(np.ones(widths[0])))


def test_values_are_those_of_the_game_of_all_pure_policies():
    rng = np.random.default_rng(0)
    for widths in ((1, 2), (2, 1), (1, 2, 1)):
        game = uneven_game(rng, widths=widths)
        ours = list(pure_policies(widths, 2))
        normal = [[value_of(game, x, y) for x in ours] for y in ours]
        assert game.value == pytest.approx(games.saddle(normal).value, abs=1e-12)
        assert value_of(game, game.equilibrium.policy, game.equilibrium.opponent) == pytest.approx(game.value)
        assert min(value_of(game, game.equilibrium.policy, y) for y in ours) == pytest.approx(game.value)
        assert max(value_of(game, x, game.equilibrium.opponent) for x in ours) == pytest.approx(game.value)


@pytest.mark.parametrize(("depth", "toll"), [(1, 1.0), (4, 1.0), (7, 3.0)])
def test_the_guarded_sea_has_a_value_in_one_line(depth, toll):
    assert games.guarded_sea(depth, toll=toll, cost=0.0).value == pytest.approx(1.0 / (1.0 + depth / toll))


@pytest.mark.slow
def test_against_an_opponent_without_choice_it_is_an_mdp():
    rng = np.random.default_rng(1)
    game = uneven_game(rng, m=1, n=3, widths=(2, 3, 2))
    rewards, transitions = [A[:, 0] for A in game.payoffs], [P[:, 0] for P in game.transitions]
    assert game.value == pytest.approx(kl.optimal(kl.MDP.from_layers(rewards, transitions, game.initial)).value)
    turned = games.MarkovGame(
        [-A.transpose(0, 2, 1) for A in game.payoffs], [P.transpose(0, 2, 1, 3) for P in game.transitions], game.initial
    )
    assert turned.value == pytest.approx(-game.value)  # and with none of ours the opponent's MDP


def test_against_an_opponent_without_choice_k_learning_is_that_of_mdps():
    """Where transitions are known; if they are not, its doubt is not a bonus of MDPs."""
    rng = np.random.default_rng(2)
    widths, n = (2, 3, 2), 3
    transitions = [rng.dirichlet(np.ones(b), (a, n)) for a, b in pairwise(widths)]
    visits = [rng.integers(0, 5, (w, n)).astype(float) for w in widths]
    sums = [v * rng.normal(size=v.shape) for v in visits]
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.7), kl.Known(transitions))
    counts = [v[:, :, None] * P for v, P in zip(visits, transitions, strict=False)]
    belief = kl.Belief.from_counts(prior, visits, sums, counts, [0.5, 0.5])
    precision = [1.0 + v / 0.49 for v in visits]
    means = [(s / 0.49 / p)[:, None] for s, p in zip(sums, precision, strict=True)]
    sds = [(1.0 / np.sqrt(p))[:, None] for p in precision]
    for tau in (0.1, 0.7, 5.0):
        plan, ours = kl.solve(belief, tau), games.solve_markov(
            means, sds, [P[:, None] for P in transitions], [0.5, 0.5], temperature=tau
        )  # fmt: skip
        assert ours.bound == pytest.approx(plan.bound, rel=1e-10)
        for one, other in zip(ours.policy, plan.policy, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-10)
    least = games.solve_markov(means, sds, [P[:, None] for P in transitions], [0.5, 0.5])
    best = kl.solve(belief)
    assert 0.0 <= least.bound - best.bound + 1e-10 <= 1e-4 * best.bound
    assert least.temperature == pytest.approx(best.temperature, rel=0.05)


def test_of_one_state_it_is_the_matrix_program():
    rng = np.random.default_rng(3)
    for size in (1.0, 0.1, 0.01):
        for _ in range(10):
            m, n = rng.integers(1, 6), rng.integers(2, 6)
            means, sds = rng.normal(size=(m, n)), size * rng.uniform(0.2, 1.0, (m, n))
            matrix, markov = games.solve(means, sds), games.solve_markov([means[None]], [sds[None]])
            assert -1e-8 <= markov.bound - matrix.bound <= 1e-4
            assert markov.gap <= 1e-8


def test_a_state_is_solved_to_its_gap():
    """Against the least of F over y, by a search in one dimension, and for three rows below F at any y."""
    rng = np.random.default_rng(4)

    def F(means, sds, y, tau):
        return tau * logsumexp((y @ means + y**2 @ sds**2 / (2.0 * tau)) / tau)

    for tau in (0.01, 0.1, 1.0, 10.0):
        for m in (2, 3):
            for _ in range(5):
                means, sds = rng.normal(size=(m, 3)), rng.uniform(0.0, 1.0, (m, 3))
                plan = games.solve_markov([means[None]], [sds[None]], temperature=tau)
                assert plan.gap <= 1e-8 * max(1.0, tau)
                y = plan.opponent[0][0]
                assert plan.bound == pytest.approx(F(means, sds, y, tau), abs=1e-9)
                for other in rng.dirichlet(np.full(m, 0.5), 50):
                    assert plan.bound - plan.gap <= F(means, sds, other, tau) + 1e-12
                if m == 2:
                    found = minimize_scalar(
                        lambda p, A=means, s=sds, tau=tau: F(A, s, np.array([p, 1.0 - p]), tau),
                        bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10},
                    )  # fmt: skip
                    assert plan.bound == pytest.approx(found.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_above_the_mean_value_of_draws(seed):
    """At any temperature. At 4.5 standard errors: where it holds with equality, a false alarm in 10⁵."""
    rng = np.random.default_rng(seed)
    widths, m, n, draws = ((1, 2, 2), (2, 2), (1, 3, 2), (1, 3))[seed], 2, 2 + seed % 2, 400
    means = [rng.normal(size=(w, m, n)) for w in widths]
    sds = [rng.uniform(0.1, 1.0, (w, m, n)) for w in widths]
    alphas = [rng.uniform(0.05, 1.5, (a, m, n, b)) for a, b in pairwise(widths)]
    masses = [a.sum(axis=-1) for a in alphas] + [np.ones((widths[-1], m, n))]
    P = [a / a.sum(axis=-1, keepdims=True) for a in alphas]
    values = []
    for _ in range(draws):
        payoffs = [mu + s * rng.normal(size=mu.shape) for mu, s in zip(means, sds, strict=True)]
        rows = [rng.standard_gamma(a) + 1e-300 for a in alphas]
        values.append(games.MarkovGame(payoffs, [r / r.sum(axis=-1, keepdims=True) for r in rows]).value)
    lower = np.mean(values) - 4.5 * np.std(values) / np.sqrt(draws)
    least = games.solve_markov(means, sds, P, masses=masses)
    assert least.bound >= lower
    for tau in (0.3, 1.0, 3.0):
        plan = games.solve_markov(means, sds, P, masses=masses, temperature=tau)
        assert plan.bound >= max(lower, least.bound - 1e-9)


def test_temperatures_of_ones_own_in_every_state_are_no_bound():
    """Two known moves to states with one N(0, 1) payoff each: 1/√π is expected of the better one."""
    below = games.solve([[0.0]], [[1.0]])
    above = games.solve([[below.bound, below.bound]], [[0.0, 0.0]])
    assert above.bound == pytest.approx(0.0, abs=1e-8)
    known = np.array([[[[1.0, 0.0], [0.0, 1.0]]]])
    never = np.tile([0.0, -50.0], (2, 1, 1)), np.tile([1.0, 0.0], (2, 1, 1))  # a second move that is as good as none
    plan = games.solve_markov([np.zeros((1, 1, 2)), never[0]], [np.zeros((1, 1, 2)), never[1]], [known])
    assert plan.bound >= 1.0 / np.sqrt(np.pi)


def test_a_dirichlet_mean_is_below_the_gaussian_of_its_doubt():
    """Moments of P·U: of a Beta by Kummer's function, which is the worst of its mass and mean, and of a draw's mean."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        alpha, U, w = rng.uniform(0.02, 2.0, 3), rng.normal(size=3), rng.uniform(-6.0, 6.0)
        mass, low, span = alpha.sum(), U.min(), np.ptp(U)
        a = alpha @ (U - low) / span
        beta = w * low + np.log(hyp1f1(a, mass, w * span))
        assert beta <= w * (alpha @ U) / mass + w * w * span**2 / (8.0 * (mass + 1.0)) + 1e-12
        draws = rng.dirichlet(alpha, 2000) @ U
        moments = np.exp(w * draws)
        assert np.log(max(moments.mean() - 5.0 * moments.std() / np.sqrt(2000), 1e-300)) <= beta + 1e-9
