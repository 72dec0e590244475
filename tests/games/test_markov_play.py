"""Play in Markov games: best responses, regret by a plain replay, determinism, limits, wrong arguments."""

from typing import Any

import numpy as np
import pytest

import klearning as kl
from klearning import games
from klearning.tabular.trials.streams import streams

AGENTS = (games.KLearning(), games.UCB(), games.Thompson(), games.Equilibrium())
OPPONENTS = ("best_response", "equilibrium", "self_play")
SEA = games.guarded_sea(3)


def named(agent):
    return type(agent).__name__


def per_layer(game, table):
    return np.split(table, np.cumsum([len(A) for A in game.payoffs])[:-1])


def least_value(game, policy):
    """What our policy, (S, columns), is sure of, in plain NumPy."""
    V = np.zeros(0)
    for l in range(len(game.payoffs) - 1, -1, -1):
        after = game.transitions[l] @ V if l < len(game.transitions) else 0.0
        Q = game.payoffs[l] + after
        V = np.einsum("sij,sj->si", Q, per_layer(game, policy)[l]).min(axis=1)
    return game.initial @ V


def replay(game, rounds, seed):
    """K-learning against the equilibrium, in plain NumPy with `solve_markov`: the plans of all episodes."""
    names = game.name, "KLearning", "Equilibrium"
    noise, ours, theirs, _, _ = streams(seed, *names, uses=5)
    visits, sums = ([np.zeros_like(A) for A in game.payoffs] for _ in range(2))
    alphas = [np.full(P.shape, 1.0 / P.shape[-1]) for P in game.transitions]
    plans = []

    def drawn(p, u):
        return min(int(np.searchsorted(np.cumsum(p), u, side="right")), len(p) - 1)

    for _ in range(rounds):
        precision = [1.0 + v / game.noise**2 for v in visits]
        means = [s / game.noise**2 / p for s, p in zip(sums, precision, strict=True)]
        masses = [a.sum(axis=-1) for a in alphas] + [np.ones_like(visits[-1])]
        rows = [a / a.sum(axis=-1, keepdims=True) for a in alphas]
        plan = games.solve_markov(means, [1.0 / np.sqrt(p) for p in precision], rows, game.initial, masses)
        plans.append(plan)
        s = drawn(game.initial, noise.random())
        for l, A in enumerate(game.payoffs):
            i = drawn(game.equilibrium.opponent[l][s], theirs.random())
            j = drawn(plan.policy[l][s], ours.random())
            payoff = A[s, i, j] + game.noise * noise.standard_normal()
            visits[l][s, i, j] += 1.0
            sums[l][s, i, j] += payoff
            if l < len(alphas):
                after = drawn(game.transitions[l][s, i, j], noise.random())
                alphas[l][s, i, j, after] += 1.0
                s = after
    return plans


def test_k_learning_is_that_of_a_plain_replay():
    """Searches from other temperatures end at others, by a hundredth: policies nearly agree, moves must."""
    game = games.random_markov_game(3, 2, seed=1)
    matches = games.play(games.KLearning(), game, "equilibrium", rounds=12, seeds=[4], keep_policies=True)
    for t, plan in enumerate(replay(game, 12, 4)):
        np.testing.assert_allclose(matches.policies[0, t], np.concatenate(plan.policy), atol=0.03)


@pytest.mark.parametrize("agent", AGENTS, ids=named)
def test_a_best_response_is_one_to_the_whole_policy(agent):
    game = games.random_markov_game(3, 2, 3, 2, seed=2)
    matches = games.play(agent, game, rounds=15, seeds=2, keep_policies=True)
    for k, t in np.ndindex(2, 15):
        assert matches.values[k, t] == pytest.approx(least_value(game, matches.policies[k, t]), abs=1e-12)
    assert (np.diff(matches.regret, axis=1) >= -1e-12).all()
    assert matches.opponents.shape == (2, 15, 6, 3)


@pytest.mark.thin(3)
@pytest.mark.parametrize("agent", AGENTS, ids=named)
@pytest.mark.parametrize("opponent", OPPONENTS)
def test_results_depend_on_the_seed_alone(agent, opponent):
    matches = games.play(agent, SEA, opponent, rounds=15, seeds=4)
    other = games.play(agent, SEA, opponent, rounds=20, seeds=[3, 1], threads=1)
    assert matches.values[[3, 1]].tobytes() == other.values[:, :15].copy().tobytes()
    assert matches.returns[[3, 1]].tobytes() == other.returns[:, :15].copy().tobytes()
    assert len({row.tobytes() for row in matches.returns}) == 4


def test_who_plays_the_equilibrium_has_no_regret():
    for game in (SEA, games.random_markov_game()):
        for opponent in OPPONENTS:
            assert games.play(games.Equilibrium(), game, opponent, rounds=5, seeds=2).regret.max() <= 1e-11


def test_k_learning_learns_the_guarded_sea_and_thompson_sampling_does_not():
    """Regret per episode of the last fifty of 250, six seeds."""
    late = {
        type(agent): games.play(agent, SEA, rounds=250, seeds=6).regret[:, [199, 249]] @ [-0.02, 0.02]
        for agent in (games.KLearning(), games.Thompson())
    }
    assert late[games.KLearning].max() < 0.03
    assert late[games.Thompson].mean() > 0.1


def test_an_opponent_of_ones_own():
    def even(policy, t, stream):
        assert policy.shape == (6, 2)
        return np.full((6, 2), 0.5)

    assert np.isfinite(games.play(games.UCB(), SEA, even, rounds=5, seeds=2).regret).all()
    with pytest.raises(ValueError, match="opponent's policy has shape"):
        games.play(games.UCB(), SEA, lambda x, t, s: 0, rounds=5, seeds=1)


@pytest.mark.parametrize("agent", AGENTS, ids=named)
@pytest.mark.parametrize(
    "game",
    [
        games.MarkovGame([[[[0.3]]], [[[0.1]]]], [[[[[1.0]]]]], noise=0.0),
        games.MarkovGame([[[[0.3], [-0.1]]]]),
        games.MarkovGame([[[[0.3, 0.2, -1.0]]]]),
        games.MarkovGame([np.ones((2, 2, 2))] * 2, [np.full((2, 2, 2, 2), 0.5)], noise=0.0),
    ],
    ids=["1x1", "one column", "one row", "constant"],
)
def test_small_and_degenerate_games(agent, game):
    matches = games.play(agent, game, rounds=60, seeds=2)
    assert np.isfinite(matches.regret).all()
    assert (matches.values <= game.value + 1e-12).all()


def test_what_it_shows():
    matches = games.play(games.KLearning(), SEA, rounds=20, seeds=2)
    assert "KLearning() in guarded_sea(3) against BestResponse: 2 seeds × 20 rounds" in repr(matches)
    assert len(matches.frame()) == 40
    plan = games.solve_markov([np.zeros((1, 2, 2))], [np.ones((1, 2, 2))])
    for thing in (SEA, SEA.equilibrium, plan):
        assert len(repr(thing)) < 120
        assert "<table" in thing._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        SEA.payoffs[0][:] = 1.0


def test_an_interrupt_ends_it():
    def interrupt(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        games.play(games.UCB(), SEA, rounds=10**7, seeds=2, progress=interrupt)


ANYTHING: Any = games  # what a reader without types may hand in
ONE = np.zeros((1, 2, 2))
HALF = np.full((1, 2, 2, 2), 0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ANYTHING.MarkovGame([]), "payoffs is not a list of layers"),
        (lambda: ANYTHING.MarkovGame(3), "payoffs is not a list of layers"),
        (lambda: ANYTHING.MarkovGame([[[0.0]]]), r"payoffs\[0\] has shape"),
        (lambda: ANYTHING.MarkovGame([np.zeros((0, 2, 2))]), "at least one state"),
        (lambda: ANYTHING.MarkovGame([[[[np.nan]]]]), r"payoffs\[0\]\[0, 0, 0\]=nan"),
        (lambda: ANYTHING.MarkovGame([[[[1e60]]]]), "size 1e[+]60"),
        (lambda: ANYTHING.MarkovGame([ONE, np.zeros((2, 3, 2))], [HALF]), r"payoffs\[1\] has shape"),
        (lambda: ANYTHING.MarkovGame([ONE, ONE]), "transitions has 0 entries: give 1"),
        (lambda: ANYTHING.MarkovGame([ONE, ONE], [HALF]), r"transitions\[0\] has shape"),
        (lambda: ANYTHING.MarkovGame([ONE, ONE], [HALF[..., :1]]), "sums to 0.5"),
        (lambda: ANYTHING.MarkovGame([ONE], initial=[0.5]), "initial sums to 0.5"),
        (lambda: ANYTHING.MarkovGame([ONE], noise=-1.0), "noise=-1.0"),
        (lambda: ANYTHING.MarkovGame([ONE], name=""), "name=''"),
        (lambda: ANYTHING.guarded_sea(0), "depth=0"),
        (lambda: ANYTHING.guarded_sea(3, toll=-1.0), "toll=-1.0"),
        (lambda: ANYTHING.random_markov_game(states=0), "states=0"),
        (lambda: ANYTHING.solve_markov([ONE], [ONE, ONE]), "sds has 2 entries"),
        (lambda: ANYTHING.solve_markov([ONE], [ONE - 1.0]), r"sds\[0\]\[0, 0, 0\]=-1 is negative"),
        (lambda: ANYTHING.solve_markov([ONE], [ONE], masses=[ONE - 1.0]), r"masses\[0\]\[0, 0, 0\]=-1"),
        (lambda: ANYTHING.solve_markov([ONE], [ONE], temperature=0.0), "temperature=0.0"),
        (lambda: ANYTHING.play(games.EXP3(), SEA), "agent=EXP3.* plays matrix games only"),
        (lambda: ANYTHING.play(games.UCB(), SEA, "exp3"), "opponent=EXP3.* plays matrix games only"),
        (lambda: ANYTHING.play(games.UCB(), SEA, prior=kl.Gaussian()), "klearning.Prior"),
        (lambda: ANYTHING.play(games.UCB(), SEA, prior=kl.Prior(kl.Beta())), "klearning.Prior"),
        (lambda: ANYTHING.play(games.UCB(), SEA, prior=kl.Prior(stationary=True)), "without support"),
    ],
)
def test_wrong_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()
