"""The field's benchmarks: the models they rest on, and what they must show."""

import gymnasium as gym
import numpy as np
import pytest

import klearning as kl
from klearning.lab.benchmarks.bsuite import sweep as bsuite_sweep
from klearning.lab.benchmarks.bsuite.environments import DeepSeaEnv
from klearning.lab.benchmarks.gymnasium import textbook, toy_text
from klearning.lab.benchmarks.gymnasium.blackjack import Model, add, blackjack, dealer, number
from tests.support.commands import klearning

# -- bsuite ------------------------------------------------------------------------------------------------------------


def test_a_learner_in_bsuites_own_deep_sea_does_what_it_does_in_ours():
    """Both worlds are deterministic, so every return, and bsuite's own counts, must be equal."""
    from bsuite.environments.deep_sea import DeepSea

    size, prior = 7, bsuite_sweep.EXPERIMENTS["deep_sea"].prior
    ours = DeepSeaEnv(size, 42)
    here = kl.learn(kl.KLearning(), ours, episodes=60, prior=prior)
    theirs = DeepSea(size, mapping_seed=42)
    there = kl.Learner(kl.KLearning(), ours.observation_space, ours.action_space, size, prior=prior)
    for _ in range(60):
        step = theirs.reset()
        while not step.last():
            row, column = np.argwhere(step.observation == 1.0)[0]
            action = there.act(row * (row + 1) // 2 + column)
            step = theirs.step(action)
            seen = np.argwhere(step.observation == 1.0)
            cell = 0 if step.last() else seen[0][0] * (seen[0][0] + 1) // 2 + seen[0][1]
            there.observe(step.reward, cell, terminated=step.last())
        there.end_episode()
    np.testing.assert_allclose(here.returns, there.returns, atol=1e-12)
    assert ours.bsuite_info() == theirs.bsuite_info()


@pytest.mark.parametrize("size", [10, 20])
def test_k_learning_solves_bsuites_deep_sea(size):
    setting = {"size": size, "mapping_seed": 42}
    result = bsuite_sweep.run_setting("deep_sea", setting, kl.KLearning(tolerance=1e-3), episodes=400)
    assert bsuite_sweep.score("deep_sea", [result]) == 1.0
    assert result.totals[-1] < 0.6 * 400  # bad episodes


@pytest.mark.slow
def test_k_learning_solves_the_largest_deep_sea():
    setting = {"size": 50, "mapping_seed": 42}
    result = bsuite_sweep.run_setting("deep_sea", setting, kl.KLearning(tolerance=1e-3), episodes=2000)
    assert bsuite_sweep.score("deep_sea", [result]) == 1.0


def test_a_random_agent_does_not_score():
    settings = bsuite_sweep.EXPERIMENTS["deep_sea"].settings[:2]
    results = [bsuite_sweep.run_setting("deep_sea", setting, kl.Random(), episodes=100) for setting in settings]
    assert bsuite_sweep.score("deep_sea", results) == 0.0


def test_bandit():
    result = bsuite_sweep.run_setting("bandit", {"mapping_seed": 3}, kl.KLearning(), episodes=200)
    assert bsuite_sweep.score("bandit", [result]) > 0.8
    assert (np.diff(result.totals) >= -1e-9).all()
    flat = bsuite_sweep.run_setting("bandit", {"mapping_seed": 3}, kl.Random(), episodes=200)
    assert bsuite_sweep.score("bandit", [flat]) < 0.3


def test_stochastic_deep_sea_is_scored_by_its_own_rule():
    setting = {"size": 6, "mapping_seed": 42}
    result = bsuite_sweep.run_setting("deep_sea_stochastic", setting, kl.PSRL(), episodes=300)
    assert bsuite_sweep.score("deep_sea_stochastic", [result]) == 1.0


# -- Blackjack ---------------------------------------------------------------------------------------------------------


def test_hands():
    assert add((10, False), 1) == (21, True)
    assert add((16, True), 8) == (14, False)
    assert add((11, True), 1) == (12, True)
    assert add((20, False), 5) == (25, False)
    assert dealer((20, False)) == {20: 1.0}
    assert sum(dealer((2, False)).values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_blackjack_is_gymnasiums_by_its_frequencies():
    """60,000 episodes of random play: rewards and successors of the commonest (s, a) against the model.

    Every cell of every (s, a) met 300 times or more is within 5.5 standard errors: some 400 cells, so a false alarm
    in well under one run of 1,000; the seed is fixed.
    """
    env, P, rng = gym.make("Blackjack-v1"), Model().P, np.random.default_rng(0)
    met: dict[tuple[int, int], dict[tuple[int, float, bool], int]] = {}
    env.reset(seed=1)
    for _ in range(60_000):
        observation, _ = env.reset()
        over = False
        while not over:
            s, a = number(*map(int, observation)), int(rng.random() < 0.6)
            observation, reward, over, _, _ = env.step(a)
            what = (s if over else number(*map(int, observation)), float(reward), bool(over))
            cell = met.setdefault((s, a), {})
            cell[what] = cell.get(what, 0) + 1
    cells = 0
    for (s, a), counts in met.items():
        n = sum(counts.values())
        if n < 300:
            continue
        chances: dict[tuple[int, float, bool], float] = {}
        for p, y, r, over in P[s][a]:
            chances[(y, r, over)] = chances.get((y, r, over), 0.0) + p
        assert set(counts) <= {what for what, p in chances.items() if p > 0}
        for what, p in chances.items():
            error = np.sqrt(p * (1 - p) / n) + 1e-9
            assert abs(counts.get(what, 0) / n - p) < 5.5 * error
            cells += 1
    assert cells > 300


def test_the_optimum_of_blackjack():
    """Basic strategy of this game: hit hard 16 against a 10, stick on hard 17 and on 13 against a 6; −0.0466 a game."""
    solution = kl.optimal(blackjack())
    assert solution.value == pytest.approx(-0.0466, abs=5e-4)
    best = {
        key: solution.policy[0][1 + number(*key)].argmax() for key in [(16, 10, 0), (17, 10, 0), (13, 6, 0), (18, 9, 1)]
    }
    assert list(best.values()) == [1, 0, 0, 1]


# -- Gymnasium's small problems ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_textbook_q_learning_by_hand():
    """Two states and END: 1 → 2 → END pays 0 and 1; with step ½ and γ = 0.9 three episodes, worked out."""
    P = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 1.0, True)]}}
    x, Q = textbook.read_outcomes(P, [1.0, 0.0]), np.zeros((3, 1))
    for t in range(3):
        textbook.episode(x, Q, textbook.Setting(0.0, 0.5, 0.9, np.inf), t, 10, np.random.default_rng(0))
    first = [0.0, 0.5 * 0.9 * 0.5, 0.0]
    first[2] = first[1] + 0.5 * (0.9 * 0.75 - first[1])
    np.testing.assert_allclose(Q[:, 0], [0.0, first[2], 0.875])


def test_textbook_q_learning_learns_the_cliff():
    problem = toy_text.PROBLEMS["CliffWalking"]
    env, mdp = problem.make().unwrapped, problem.model()
    x = textbook.read_outcomes(env.P, env.initial_state_distrib)
    setting = textbook.Setting(0.1, 1.0, 1.0, np.inf)
    needed = textbook.episodes_needed(x, mdp, setting, -13.65, 1000, 1, 0)
    assert needed is not None
    assert needed > 10


def test_greedy_value_is_the_value_of_the_greedy_policy():
    problem = toy_text.PROBLEMS["CliffWalking"]
    mdp = problem.model()
    best = kl.optimal(mdp)
    assert textbook.greedy_value(mdp, best.q_values[0]) == pytest.approx(best.value)
    assert textbook.greedy_value(mdp, -best.q_values[0]) < best.value


@pytest.mark.parametrize("seed", range(3))
def test_k_learning_needs_fewer_episodes_on_the_cliff_than_the_best_tuned_q_learning(seed):
    """26 is what the best of 210 settings of textbook Q-learning needs (docs/evidence/benchmarks.md)."""
    outcome = toy_text.episodes_needed(toy_text.PROBLEMS["CliffWalking"], toy_text.AGENTS["K-learning"](), seed)
    assert outcome.episodes is not None
    assert outcome.episodes <= 26
    assert outcome.optimum == -13.0


def test_k_learning_on_the_lake():
    outcome = toy_text.episodes_needed(toy_text.PROBLEMS["FrozenLake"], toy_text.AGENTS["K-learning"](), 0, most=1000)
    assert outcome.episodes is not None
    assert outcome.value >= 0.95 * outcome.optimum


@pytest.mark.slow
def test_k_learning_in_the_taxi():
    outcome = toy_text.episodes_needed(toy_text.PROBLEMS["Taxi"], toy_text.AGENTS["K-learning"](), 0, most=300)
    assert outcome.episodes is not None


def test_giving_up_says_so():
    outcome = toy_text.episodes_needed(toy_text.PROBLEMS["CliffWalking"], kl.Random(), 0, most=3)
    assert outcome.episodes is None
    assert outcome.value < outcome.optimum


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", toy_text.AGENTS)
def test_every_agent_of_the_table_runs(name):
    toy_text.episodes_needed(toy_text.PROBLEMS["CliffWalking"], toy_text.AGENTS[name](), 0, most=2)


# -- the command line --------------------------------------------------------------------------------------------------


def test_commands(tmp_path):
    done = klearning("benchmark", "gymnasium", "CliffWalking", "--agents", "K-learning", "--seeds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "K-learning" in done.stdout
    done = klearning("benchmark", "bsuite", "bandit", "--first", "1", "-n", "50", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "score" in done.stdout
    done = klearning("benchmark", "bsuite", "deep_see", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean 'deep_sea'" in done.stderr


@pytest.mark.slow
def test_learn_from_the_command_line(tmp_path):
    done = klearning(
        "learn", "CliffWalking-v1", "--horizon", "50", "-p", "sd=20", "-p", "mass=0.01", "-n", "10",
        "--save", "a/b.npz", "--csv", "log.csv", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert kl.load(tmp_path / "a" / "b.npz").episodes_done == 10
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 11
    for words, said in {
        ("CliffWalkin-v1",): "did you mean 'CliffWalking-v",
        ("CliffWalking-v1",): "no time limit",
        ("CartPole-v1",): "bin it first",
        ("FrozenLake-v1", "-e", "size=3"): "does not take these options",
    }.items():
        done = klearning("learn", *words, "-n", "2", cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
