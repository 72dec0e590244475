"""Play in matrix games: regret by a plain replay, determinism, opponents, growth of regret, wrong arguments."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import klearning as kl
from klearning import games
from klearning.tabular.trials.streams import streams

AGENTS = (games.KLearning(), games.UCB(), games.Thompson(), games.EXP3(), games.Equilibrium())


def named(agent):
    return type(agent).__name__


def replay(agent, game, rounds, seed):
    """One seed against the best response, in plain NumPy: values of all rounds."""
    A, (m, n) = game.payoffs, game.payoffs.shape
    names = game.name, type(agent).__name__, "BestResponse"
    noise, ours, theirs, draws, _ = streams(seed, *names, uses=5)
    visits, sums, gains, values = np.zeros((m, n)), np.zeros((m, n)), np.zeros(n), []
    for t in range(1, rounds + 1):
        precision = 1.0 + visits / game.noise**2
        means, sds = sums / game.noise**2 / precision, 1.0 / np.sqrt(precision)
        if isinstance(agent, games.KLearning):
            x = games.solve(means, sds).policy
        elif isinstance(agent, games.UCB):
            x = games.saddle(means + np.sqrt(2.0 * np.log(1.0 + t)) * sds).policy
        elif isinstance(agent, games.Thompson):
            x = games.saddle(means + sds * draws.standard_normal((m, n))).policy
        elif isinstance(agent, games.EXP3):
            share = min(1.0, np.sqrt(n * np.log(n) / t))
            x = np.exp(share / n * (gains - gains.max()))
            x = (1.0 - share) * x / x.sum() + share / n
        else:
            x = game.equilibrium.policy
        i = int(np.argmin(A @ x))
        theirs.random()
        j = min(int(np.searchsorted(np.cumsum(x), ours.random(), side="right")), n - 1)
        payoff = A[i, j] + game.noise * noise.standard_normal()
        values.append(A[i] @ x)
        visits[i, j] += 1.0
        sums[i, j] += payoff
        gains[j] += payoff / x[j]
    return np.array(values)


@pytest.mark.parametrize("agent", AGENTS, ids=named)
def test_regret_is_that_of_a_plain_replay(agent):
    game = games.random_game(4, 3, seed=1, noise=0.5)
    matches = games.play(agent, game, rounds=60, seeds=[3, 8])
    tolerance = 1e-3 if isinstance(agent, games.KLearning) else 1e-9  # a policy is as good as the root of its gap
    for k, seed in enumerate((3, 8)):
        expected = np.cumsum(game.value - replay(agent, game, 60, seed))
        np.testing.assert_allclose(matches.regret[k], expected, atol=tolerance)


@pytest.mark.thin(3)
@pytest.mark.parametrize("agent", AGENTS, ids=named)
@pytest.mark.parametrize("opponent", ["best_response", "equilibrium", "exp3", "self_play"])
def test_results_depend_on_the_seed_alone(agent, opponent):
    game = games.rock_paper_scissors()
    matches = games.play(agent, game, opponent, rounds=50, seeds=4)
    other = games.play(agent, game, opponent, rounds=80, seeds=[3, 1], threads=1, keep_policies=True)
    assert matches.values[[3, 1]].tobytes() == other.values[:, :50].copy().tobytes()
    assert matches.returns[[3, 1]].tobytes() == other.returns[:, :50].copy().tobytes()
    assert len({row.tobytes() for row in matches.returns}) == 4
    assert matches.policies is None
    values = np.einsum("sti,ij,stj->st", other.opponents, game.payoffs, other.policies)
    np.testing.assert_allclose(values, other.values, atol=1e-14)


def test_an_opponent_of_ones_own():
    game = games.random_game(4, 3, seed=2)

    def BestResponse(policy, t, stream):  # by the name of ours, and so with the same streams
        return int(np.argmin(game.payoffs @ policy))

    def mixture(policy, t, stream):
        return np.eye(4)[BestResponse(policy, t, stream)]

    mixture.__name__ = "BestResponse"
    ours = games.play(games.UCB(), game, rounds=40, seeds=2)
    for function in (BestResponse, mixture):
        assert games.play(games.UCB(), game, function, rounds=40, seeds=2).values.tobytes() == ours.values.tobytes()
    same = games.play(games.UCB(), game, games.BestResponse(), rounds=40, seeds=2)
    assert same.values.tobytes() == ours.values.tobytes()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (7, "not one of 3 rows"),
        (0.5, "not a whole number"),
        ([0.5, 0.6, 0.0], "sums to 1.1"),
        ([1.0], "shape"),
        (None, "not"),
    ],
)
def test_an_answer_that_is_none(answer, words):
    with pytest.raises(ValueError, match=words):
        games.play(games.UCB(), games.rock_paper_scissors(), lambda x, t, s: answer, rounds=5, seeds=1)


def test_who_plays_the_equilibrium_has_no_regret():
    for game in (games.rock_paper_scissors(), games.random_game(6, 4), games.inspection_game()):
        best = games.play(games.Equilibrium(), game, rounds=20, seeds=2)
        assert np.abs(best.regret).max() <= 1e-12
        for opponent in ("exp3", "self_play", lambda x, t, s: t % 3):
            assert games.play(games.Equilibrium(), game, opponent, rounds=20, seeds=2).regret.max() <= 1e-12


def test_chairs_are_alike():
    """In rock-paper-scissors nobody gains by the chair: at 4.5 standard errors, a false alarm in 10⁵ runs of three."""
    for agent in (games.EXP3(), games.Thompson(), games.KLearning()):
        last = games.play(agent, games.rock_paper_scissors(), "self_play", rounds=100, seeds=100).regret[:, -1]
        assert abs(last.mean()) <= 4.5 * last.std() / 10.0


def test_regret_grows_as_the_paper_says():
    """30 seeds, 2,000 rounds, the opponent answers best. Standard errors of the means are below 0.03."""
    for game in (games.rock_paper_scissors(), games.idle_threat()):
        assert games.play(games.KLearning(), game, rounds=2000, seeds=30).powers().mean() < 0.75
    assert games.play(games.Thompson(), games.idle_threat(), rounds=2000, seeds=30).powers().mean() > 0.9


def test_powers():
    matches = games.play(games.UCB(), games.rock_paper_scissors(), rounds=1000, seeds=2)
    t = np.arange(1, 1001)
    for power in (0.5, 1.0):
        grown = replace(matches, regret=np.vstack([t, 2 * t]) ** power)
        np.testing.assert_allclose(grown.powers(), power, atol=1e-9)
        np.testing.assert_allclose(grown.powers(first=10), power, atol=1e-9)
    with pytest.raises(ValueError, match="first=1000"):
        matches.powers(first=1000)


@pytest.mark.parametrize(
    ("payoffs", "noise"),
    [
        ([[0.3]], 1.0),
        ([[0.3], [-0.1]], 1.0),
        ([[0.3, 0.2, -1.0]], 1.0),
        ([[1.0, -1.0], [-1.0, 1.0]], 0.0),
        (np.ones((3, 4)), 0.0),
    ],
    ids=["1x1", "one column", "one row", "no noise", "constant"],
)
@pytest.mark.parametrize("agent", AGENTS, ids=named)
def test_small_and_degenerate_games(agent, payoffs, noise):
    game = games.Game(payoffs, noise)
    matches = games.play(agent, game, rounds=200, seeds=2)
    assert np.isfinite(matches.regret).all()
    assert (matches.values <= game.value + 1e-12).all()
    if game.payoffs.shape[1] == 1 or np.ptp(game.payoffs) == 0.0:
        np.testing.assert_allclose(matches.regret, 0.0, atol=1e-10)


def test_a_prior_of_ones_own():
    game = games.Game([[10.0, 9.0], [9.5, 10.0]], noise=0.1)
    told = games.play(games.KLearning(), game, rounds=300, seeds=3, prior=kl.Gaussian(9.5, 1.0, 0.1))
    assert told.regret[:, -1].mean() < games.play(games.KLearning(), game, rounds=300, seeds=3).regret[:, -1].mean()


def test_what_matches_show(tmp_path):
    matches = games.play(games.KLearning(), games.rock_paper_scissors(), rounds=100, seeds=3)
    assert "KLearning() in rock_paper_scissors against BestResponse: 3 seeds × 100 rounds" in repr(matches)
    assert "regret after 100" in matches.summary()
    assert "<table" in matches._repr_html_()
    frame = matches.frame()
    assert list(frame.columns) == ["seed", "episode", "value", "regret", "return"]
    assert len(frame) == 300
    axes = matches.plot()
    assert axes.get_xlabel() == "round"
    with pytest.raises(ValueError, match="what='regrets'"):
        matches.plot(what="regrets")
    for thing in (matches.world, matches.world.equilibrium, games.solve(np.zeros((2, 2)), np.ones((2, 2)))):
        assert len(repr(thing)) < 100
        assert "<table" in thing._repr_html_()


def test_an_interrupt_ends_it():
    def interrupt(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        games.play(games.UCB(), games.rock_paper_scissors(), rounds=10**7, seeds=2, progress=interrupt)


ANYTHING: Any = games  # what a reader without types may hand in


@cache
def a_game():
    """Not made before it is asked for: to make it is to compile."""
    return games.rock_paper_scissors()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ANYTHING.Game([[1.0, np.nan]]), r"payoffs\[0, 1\]=nan is not finite"),
        (lambda: ANYTHING.Game([1.0, 2.0]), "payoffs has shape"),
        (lambda: ANYTHING.Game(np.zeros((0, 2))), "at least one row"),
        (lambda: ANYTHING.Game([[1e60]]), "payoffs has a number of size 1e[+]60"),
        (lambda: ANYTHING.Game([["a"]]), "payoffs is not an array of numbers"),
        (lambda: ANYTHING.Game([[1.0]], noise=-1.0), "noise=-1.0"),
        (lambda: ANYTHING.Game([[1.0]], name=""), "name=''"),
        (lambda: ANYTHING.Game([[1.0]], moves=(("a", "b"), ())), "2 words for rows: give 1"),
        (lambda: ANYTHING.Game([[1.0]], moves=3), "moves=3 is not a pair"),
        (lambda: ANYTHING.solve([[0.0, 1.0]], [[1.0]]), "sds has shape"),
        (lambda: ANYTHING.solve([[0.0, 1.0]], [[1.0, -1.0]]), r"sds\[0, 1\]=-1 is negative"),
        (lambda: ANYTHING.solve([[0.0, np.inf]], [[1.0, 1.0]]), r"means\[0, 1\]=inf"),
        (lambda: ANYTHING.solve([[0.0]], [[1.0]], tolerance=0.0), "tolerance=0.0"),
        (lambda: ANYTHING.saddle([[np.nan]]), r"payoffs\[0, 0\]=nan"),
        (lambda: ANYTHING.play(kl.KLearning(), a_game()), "does not play games: give games.KLearning"),
        (lambda: ANYTHING.play(games.KLearning, a_game()), r"is a class: call it, games.KLearning\(\)"),
        (lambda: ANYTHING.play(games.BestResponse(), a_game()), "can only be the opponent"),
        (lambda: ANYTHING.play(games.UCB(), a_game().payoffs), "is not a game"),
        (lambda: ANYTHING.play(games.UCB(), a_game(), "best_respnse"), "did you mean 'best_response'"),
        (lambda: ANYTHING.play(games.UCB(), a_game(), games.EXP3), "is a class"),
        (lambda: ANYTHING.play(games.UCB(), a_game(), 3), "opponent=3"),
        (lambda: ANYTHING.play(games.UCB(), a_game(), rounds=0), "rounds=0"),
        (lambda: ANYTHING.play(games.UCB(), a_game(), seeds=[1, 1]), "seeds"),
        (lambda: ANYTHING.play(games.UCB(), a_game(), prior=kl.Beta()), "is not a Gaussian"),
        (lambda: ANYTHING.play(games.UCB(), a_game(), threads=0), "threads=0"),
        (lambda: ANYTHING.UCB(scale=-1.0), "scale=-1.0"),
        (lambda: ANYTHING.EXP3(unit=0.0), "unit=0.0"),
        (lambda: ANYTHING.random_game(0, 3), "rows=0"),
        (lambda: ANYTHING.inspection_game(1), "sites=1"),
    ],
)
def test_wrong_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_matches_are_compared():
    """Thompson sampling's regret in the idle threat is linear: far behind within 200 rounds of ten seeds, as fixed."""
    game = games.idle_threat()
    matches = {named(agent): games.play(agent, game, rounds=200, seeds=10) for agent in AGENTS[1:3]}
    told = kl.compare(matches)
    assert "after 200 rounds in idle_threat" in str(told)
    assert told.sentence.startswith("In idle_threat against BestResponse UCB loses less than Thompson")
    numbers = [standing.mean.estimate for standing in told.standings]
    assert sorted(numbers) == pytest.approx(sorted(m.regret[:, -1].mean() for m in matches.values()))
    assert kl.compare(matches, "return").pairs
    with pytest.raises(ValueError, match="is a game: compare by metric='regret'"):
        kl.compare(matches, "solved")
    elsewhere = games.play(games.UCB(), game, "equilibrium", rounds=200, seeds=10)
    with pytest.raises(ValueError, match="the same worlds"):
        kl.compare({**matches, "elsewhere": elsewhere})
