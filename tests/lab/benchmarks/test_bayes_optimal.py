"""The least Bayes regret by dynamic programming: against all policies, against beliefs of the package, and agents."""

from itertools import product

import numpy as np
import pytest

import klearning as kl
from bench import calibrated_study as study
from klearning.lab.benchmarks.bandits.bayes_optimal import (
    BEST_OF_TWO,
    COINS,
    bandit_value,
    least_bandit_regret,
    least_regret_of_two_layers,
    two_layer_optimum,
)


@pytest.mark.parametrize(("rounds", "regret"), [(50, 1.34), (100, 1.75), (200, 2.24)])
def test_two_arms(rounds, regret):
    assert least_bandit_regret(rounds) == pytest.approx(regret, abs=0.005)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_no_policy_of_a_bandit_is_better(rounds):
    """All that choose an arm by what was paid before, each valued by integrals over both means, which are exact."""
    x, weight = np.polynomial.legendre.leggauss(4)
    x, weight = (x + 1.0) / 2.0, weight / 2.0
    arms = np.stack(np.meshgrid(x, x, indexing="ij"))  # means of both arms, (2, 4, 4)
    histories = [paid for t in range(rounds) for paid in product((0, 1), repeat=t)]
    values = []
    for choice in product((0, 1), repeat=len(histories)):
        arm = dict(zip(histories, choice))
        value = np.zeros(arms.shape[1:])
        for paid in product((0, 1), repeat=rounds):
            chances = (arms[arm[paid[:t]]] for t in range(rounds))
            value += sum(paid) * np.prod([p if r else 1.0 - p for p, r in zip(chances, paid)], axis=0)
        values.append(weight @ value @ weight)
    assert bandit_value(rounds) == pytest.approx(max(values), abs=1e-12)


def test_one_round_is_a_guess():
    assert least_bandit_regret(1) == pytest.approx(BEST_OF_TWO - 0.5)


def test_the_optimum_of_two_layers():
    rng = np.random.default_rng(0)
    best = rng.random((200_000, 2, 2)).max(axis=1)
    P, rewards = rng.beta(0.5, 0.5, (200_000, 2)), rng.random((200_000, 2))
    drawn = (rewards + P * best[:, :1] + (1.0 - P) * best[:, 1:]).max(axis=1)
    error = drawn.std() / np.sqrt(len(drawn))
    assert abs(two_layer_optimum() - drawn.mean()) < 4.0 * error
    assert two_layer_optimum(16) == pytest.approx(two_layer_optimum(), abs=1e-4)
    worlds = [kl.optimal(kl.random_mdp([1, 2], 2, None, COINS, seed)).value for seed in range(400)]
    assert abs(two_layer_optimum() - np.mean(worlds)) < 4.0 * np.std(worlds) / 20.0


def with_beliefs(belief, left):
    """The value of the last episodes by `Belief.update` for everything that may happen, and no other arithmetic."""
    if left == 0:
        return 0.0
    (first, second), (roads,) = belief.reward_means, belief.transition_means
    values = []
    for a in (0, 1):
        value = 0.0
        for r, s in product((0, 1), (0, 1)):
            chance = (first[0, a] if r else 1.0 - first[0, a]) * roads[0, a, s]
            actions = []
            for b in (0, 1):
                mean = second[s, b]
                after = [with_beliefs(belief.update([0, 1 + s], [a, b], [r, q]), left - 1) for q in (0, 1)]
                actions.append(mean * (1.0 + after[1]) + (1.0 - mean) * after[0])
            value += chance * (r + max(actions))
        values.append(value)
    return max(values)


@pytest.mark.parametrize("episodes", [1, 2])
def test_two_layers_by_beliefs(episodes):
    belief = kl.Belief.empty(COINS, [1, 2], 2, [1.0])
    least = episodes * two_layer_optimum() - with_beliefs(belief, episodes)
    assert least_regret_of_two_layers(episodes) == pytest.approx(least, abs=1e-12)


def test_thompson_sampling_is_not_better():
    """150 worlds of each family."""
    for shape, horizon, rounds, least in (
        (1, 1, 20, least_bandit_regret(20)),
        ([1, 2], None, 5, least_regret_of_two_layers(5)),
    ):
        worlds = {seed: kl.random_mdp(shape, 2, horizon, COINS, seed) for seed in range(150)}
        regret = [study.regret(kl.PSRL(), world, COINS, (rounds,), seed) for seed, world in worlds.items()]
        assert np.mean(regret) > 1.1 * least


def test_what_would_take_too_long_is_refused():
    with pytest.raises(ValueError, match="episodes=11 is too large"):
        least_regret_of_two_layers(11)
