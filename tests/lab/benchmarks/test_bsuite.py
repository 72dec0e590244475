"""bsuite's own code beside ours: environments step for step, scores on the same tables, sweeps."""

import importlib
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from bsuite import sweep
from bsuite.environments import bandit as their_bandit
from bsuite.environments import deep_sea as their_deep_sea
from bsuite.experiments.bandit import analysis as bandit_analysis
from bsuite.experiments.bandit import sweep as bandit_sweep
from bsuite.experiments.deep_sea import analysis as deep_sea_analysis
from bsuite.experiments.deep_sea import sweep as deep_sea_sweep
from bsuite.experiments.deep_sea_stochastic import analysis as stochastic_analysis
from bsuite.experiments.deep_sea_stochastic import sweep as stochastic_sweep
from bsuite.utils import wrappers

import klearning as kl
from klearning.lab.benchmarks.bsuite import scores as bsuite_scores
from klearning.lab.benchmarks.bsuite import worlds as bsuite
from klearning.lab.benchmarks.bsuite.dm_env import Bandit, DeepSea
from klearning.lab.benchmarks.bsuite.environments import DeepSeaEnv
from klearning.lab.benchmarks.bsuite.scores import TAGS, by_tag
from klearning.lab.benchmarks.bsuite.sweep import EXPERIMENTS
from tests.support.commands import klearning

SIZES = range(1, 21)


def theirs(size, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the mapping is off, where it is
        return their_deep_sea.DeepSea(size, **options)


def actions_of(rng, size, mapping, episode):
    """Random actions; in every third episode down the diagonal as far as a random row, so that treasures are found."""
    actions = rng.integers(2, size=size)
    if episode % 3 == 0:
        rows = int(rng.integers(size + 1))
        actions[:rows] = mapping.diagonal()[:rows]
    return actions.tolist()


@pytest.mark.thin(9)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mapped", [True, False])
def test_deep_sea_is_theirs_step_for_step(size, mapped):
    """300 episodes for each of 20 sizes, with and without a mapping: 12,000 sequences."""
    found = 0
    for seed in (42, 7) if mapped else (42,):
        options = {"mapping_seed": seed, "randomize_actions": mapped}
        real, ours = theirs(size, **options), DeepSea(size, **options)
        rng = np.random.default_rng(size)
        mapping = bsuite.action_mapping(size, seed, mapped)
        for episode in range(150 if mapped else 300):
            steps = [(real.reset(), ours.reset())]
            steps += [(real.step(a), ours.step(a)) for a in actions_of(rng, size, mapping, episode)]
            for x, y in steps:
                assert (x.step_type, x.reward, x.discount) == (y.step_type, y.reward, y.discount)
                np.testing.assert_array_equal(x.observation, y.observation)
                assert x.observation.dtype == y.observation.dtype
            assert real.bsuite_info() == ours.bsuite_info()
        found += real.bsuite_info()["denoised_return"]
        assert 0 < real.bsuite_info()["total_bad_episodes"] < 300
    assert found > 0


@pytest.mark.parametrize("size", [1, 2, 5, 11])
def test_deep_sea_env_is_theirs_in_cells(size):
    real, ours = theirs(size, mapping_seed=42), DeepSeaEnv(size)
    rng = np.random.default_rng(size)
    mapping = bsuite.action_mapping(size, 42)
    for episode in range(300):
        real.reset()
        state, _ = ours.reset(seed=episode)
        assert state == 0
        for l, a in enumerate(actions_of(rng, size, mapping, episode)):
            step, (state, reward, over, _, _) = real.step(a), ours.step(a)
            assert (step.reward, step.last()) == (reward, over)
            if not over:
                column = state - (l + 1) * (l + 2) // 2
                assert step.observation[l + 1, column] == 1.0
        assert real.bsuite_info() == ours.bsuite_info()


def test_an_unfinished_episode_is_not_counted():
    real, ours = theirs(3, mapping_seed=42), DeepSea(3)
    left = 1 - int(bsuite.action_mapping(3, 42)[0, 0])
    for env in (real, ours):
        env.reset()
        env.step(left)
        env.reset()
        for right in bsuite.action_mapping(3, 42).diagonal():
            env.step(int(right))
    assert real.bsuite_info() == ours.bsuite_info() == {"total_bad_episodes": 0, "denoised_return": 1.0}


@pytest.mark.parametrize("size", [1, 3, 10])
def test_our_own_deep_sea_differs_only_in_the_treasure(size):
    """No mapping: the same moves and rewards, but that ours pays 1 for the treasure and theirs 1 − cost/N."""
    own, real = kl.deep_sea(size, noise=0.0), bsuite.deep_sea(size, randomize_actions=False)
    difference = own.reward - real.reward
    assert difference[1, -1] == pytest.approx(0.01 / size, abs=1e-15)
    difference[1, -1] = 0.0
    assert (difference == 0.0).all()
    for x, y in zip(own.rows, real.rows):
        np.testing.assert_array_equal(x, y)
    assert kl.optimal(real).value == pytest.approx(0.99, abs=1e-12)


def stochastic_steps(env, episodes, rng, mapping):
    """(row, column, went right, reward, next column or −1 at the end) of every step; right in every second episode."""
    steps = []
    for episode in range(episodes):
        timestep = env.reset()
        for row in range(len(mapping)):
            column = int(timestep.observation[row].argmax())
            right = episode % 2 == 0 or rng.random() < 0.5
            action = int(mapping[row, column] if right else 1 - mapping[row, column])
            timestep = env.step(action)
            to = -1 if timestep.last() else int(timestep.observation[row + 1].argmax())
            steps.append((row, column, right, timestep.reward, to))
    return np.array(steps, float)


@pytest.mark.parametrize("make", [theirs, DeepSea], ids=["theirs", "ours"])
@pytest.mark.parametrize("size", [2, 5])
def test_the_stochastic_law_is_that_of_the_mdp(make, size):
    """Slips, means and spreads of 3,000 episodes within 5 standard errors, some 60 comparisons a case: 4e-5 in all."""
    env = make(size, deterministic=False, seed=1, mapping_seed=42)
    mapping, mdp = bsuite.action_mapping(size, 42), bsuite.deep_sea(size, deterministic=False)
    row, column, right, reward, to = stochastic_steps(env, 3000, np.random.default_rng(0), mapping).T
    noise = bsuite.deep_sea_noise(size)
    for l in range(size):
        for c in range(l + 1):
            for r in (0, 1):
                here = (row == l) & (column == c) & (right == r)
                n = int(here.sum())
                if n < 30:
                    continue
                s, a = int(mdp.layers[l]) + c, int(mapping[l, c] if r else 1 - mapping[l, c])
                sd = noise[a, s]
                assert abs(reward[here].mean() - mdp.reward[a, s]) <= 5 * sd / np.sqrt(n) + 1e-12
                assert abs(reward[here].std() - sd) <= 5 * sd / np.sqrt(2 * n) + 1e-12
                if l < size - 1:
                    P = mdp.transitions[l][c, a]
                    seen = np.bincount(to[here].astype(int), minlength=l + 2) / n
                    assert (np.abs(seen - P) <= 5 * np.sqrt(P * (1 - P) / n)).all()


@pytest.mark.parametrize("size", [1, 2, 6])
def test_the_stochastic_counts_are_theirs(size):
    """On the same paths: theirs is walked, ours counts."""
    env = theirs(size, deterministic=False, seed=3, mapping_seed=42)
    tally, mapping = bsuite.DeepSeaTally(size, 42), bsuite.action_mapping(size, 42)
    rng = np.random.default_rng(size)
    for episode in range(400):
        timestep = env.reset()
        tally.begin()
        for row, a in enumerate(actions_of(rng, size, mapping, episode)):
            tally.see(row, int(timestep.observation[row].argmax()), a)
            timestep = env.step(a)
        assert tally.info() == env.bsuite_info()
    assert 0 < tally.total_bad_episodes < 400


def test_the_stochastic_optimum():
    """(1 − 1/N)^(N−1), less what moving costs while it still can pay: bsuite's own figure but for the last."""
    for size in (2, 10, 50):
        value = kl.optimal(bsuite.deep_sea(size, deterministic=False)).value
        top = (1 - 1 / size) ** (size - 1)
        assert top - 0.01 <= value <= top


@pytest.mark.parametrize("seed", range(20))
def test_bandit_is_theirs(seed):
    real, ours = their_bandit.SimpleBandit(seed), Bandit(seed)
    rng = np.random.default_rng(seed)
    for a in rng.integers(11, size=200).tolist():
        x, y = (real.reset(), real.step(a)), (ours.reset(), ours.step(a))
        assert x[1].reward == y[1].reward
        assert [s.step_type for s in x] == [s.step_type for s in y]
        np.testing.assert_array_equal(x[1].observation, y[1].observation)
        assert real.bsuite_info() == ours.bsuite_info()
    assert real.observation_spec() == ours.observation_spec()
    assert real.action_spec().num_values == ours.action_spec().num_values


def test_sweeps_are_theirs():
    assert bsuite.DEEP_SEA_SWEEP == deep_sea_sweep.SETTINGS
    assert bsuite.DEEP_SEA_STOCHASTIC_SWEEP == stochastic_sweep.SETTINGS
    assert bsuite.BANDIT_SWEEP == bandit_sweep.SETTINGS
    assert [len(x) for x in (sweep.DEEP_SEA, sweep.DEEP_SEA_STOCHASTIC, sweep.BANDIT)] == [21, 21, 20]
    assert {m.NUM_EPISODES for m in (deep_sea_sweep, stochastic_sweep, bandit_sweep)} == {bsuite.EPISODES}
    logged = [t for t in range(1, 10_001) if wrappers._logarithmic_logging(t)]
    assert list(bsuite.LOGGED_EPISODES) == logged


def test_their_logging_wraps_ours():
    rows = []
    writer = type("Writer", (), {"write": lambda self, data: rows.append(data), "flush": lambda self: None})()
    env = wrappers.Logging(DeepSea(4), writer)
    for _ in range(25):
        env.reset()
        for _ in range(4):
            env.step(1)  # left at once: that is where this mapping puts it
    assert [row["episode"] for row in rows] == [t for t in bsuite.LOGGED_EPISODES if t <= 25]
    assert rows[-1]["total_bad_episodes"] == 25


# scores


@pytest.fixture
def old_pandas(monkeypatch):
    """bsuite 0.3.6 calls Series.append, which pandas 2 took away, and renames in place, which pandas 3 warns of."""
    monkeypatch.setattr(pd.Series, "append", lambda self, other: pd.concat([self, other]), raising=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=pd.errors.PerformanceWarning)
        yield


def random_table(rng, repeats):
    """Sizes with totals of bad episodes that level off at random times, or never; logged here and there."""
    rows = []
    for size in rng.choice(np.arange(1, 51), size=rng.integers(1, 12), replace=False):
        episodes = np.array(bsuite.LOGGED_EPISODES)
        if rng.random() < 0.3:
            episodes = np.concatenate([episodes, [12_000, 20_000]])
        episodes = episodes[rng.random(episodes.size) < rng.choice([0.3, 1.0])]
        solved_at = 10 ** rng.uniform(-0.5, 5)
        bad = np.minimum(
            np.minimum(episodes, solved_at) + rng.uniform(0, 1) * np.maximum(episodes - solved_at, 0), episodes
        )
        for t, b in zip(episodes, np.floor(bad)):
            copies = int(rng.integers(1, 4)) if repeats else 1
            rows += [(int(size), int(t), int(b))] * copies
    return pd.DataFrame(rows, columns=["size", "episode", "total_bad_episodes"])


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("stochastic", [False, True])
def test_deep_sea_scores_are_theirs(old_pandas, repeats, stochastic):
    rng = np.random.default_rng(1)
    analysis = stochastic_analysis if stochastic else deep_sea_analysis
    ours = bsuite_scores.deep_sea_stochastic_score if stochastic else bsuite_scores.deep_sea_score
    scores = []
    for _ in range(30):
        table = random_table(rng, repeats)
        counted = table[(table.episode <= 10_000) & (table.episode >= (100 if stochastic else 1))]
        if counted.empty:
            continue
        scores.append(ours(table["size"], table.episode, table.total_bad_episodes))
        assert scores[-1] == pytest.approx(analysis.score(table), abs=1e-12)
    assert len(scores) > 20
    assert len(np.unique(scores)) > 10


EDGES = {
    "just not": ([10], [10], [9]),  # 9 of 10 is not below 0.9
    "just": ([10], [100], [89]),
    "in time": ([10], [1000], [1]),
    "as slow as dithering": ([2], [104], [0]),  # 104 is not below 2² + 100
    "a little faster": ([2], [103], [0]),
    "largest": ([50], [10_000], [0]),
    "never": ([10, 10], [1, 10_000], [1, 10_000]),
    "too late": ([10, 10], [10_000, 10_001], [10_000, 0]),
    "stopped early": ([10, 12], [50, 10_000], [50, 10]),
    "burn-in": ([10, 10], [99, 100], [0, 80]),  # 80 of 100 is not below 0.8
    "burn-in passed": ([10, 10], [99, 100], [99, 79]),
    "size gone": ([10, 12], [20_000, 100], [0, 0]),
}


@pytest.mark.parametrize("edge", EDGES)
def test_deep_sea_scores_at_the_edges(old_pandas, edge):
    size, episode, bad = EDGES[edge]
    table = pd.DataFrame({"size": size, "episode": episode, "total_bad_episodes": bad})
    pairs = [(deep_sea_analysis, bsuite_scores.deep_sea_score)]
    if ((np.array(episode) >= 100) & (np.array(episode) <= 10_000)).any():
        pairs.append((stochastic_analysis, bsuite_scores.deep_sea_stochastic_score))
    for analysis, ours in pairs:
        assert ours(size, episode, bad) == pytest.approx(analysis.score(table), abs=1e-12)


@pytest.mark.slow
def test_bandit_scores_are_theirs():
    rng = np.random.default_rng(2)
    scores = []
    for _ in range(300):
        last = int(rng.choice([1, 7, 500, 10_000, 12_000]))
        episodes = np.unique([*(t for t in bsuite.LOGGED_EPISODES if t <= last), last])
        rate = rng.uniform(0, 0.8, size=rng.integers(1, 21))
        table = pd.DataFrame(
            [(t, t * r) for r in rate for t in episodes], columns=["episode", "total_regret"]
        )  # fmt: skip
        scores.append(bsuite_scores.regret_score("bandit", table.episode, table.total_regret))
        assert scores[-1] == pytest.approx(bandit_analysis.score(table), abs=1e-12)
    assert min(scores) == 0.0
    assert max(scores) > 0.9


def test_logged_rows_of_per_episode_totals():
    episodes, totals = bsuite_scores.logged(np.arange(1, 10_001) * 2)
    assert episodes.tolist() == list(bsuite.LOGGED_EPISODES)
    assert totals.tolist() == [2 * t for t in bsuite.LOGGED_EPISODES]
    assert bsuite_scores.logged(np.ones(3))[0].tolist() == [1, 2, 3]


def test_scores_of_runs():
    """What `run` returns has all that the deterministic scores need."""
    size = 6
    world = bsuite.deep_sea(size)
    prior = kl.Prior(reward=kl.Gaussian(noise=0.05), transitions=kl.Dirichlet(mass=0.3))
    runs = kl.run(kl.KLearning(), world, prior=prior, episodes=300, seeds=1)
    bad = np.cumsum(~runs.hits[0])
    episodes, totals = bsuite_scores.logged(bad)
    assert bsuite_scores.deep_sea_score([size] * len(episodes), episodes, totals) == 1.0


MISTAKES = {
    "lengths": (lambda: bsuite_scores.deep_sea_score([10], [1, 2], [1, 2]), "episode has 2 rows and size 1"),
    "nothing": (lambda: bsuite_scores.deep_sea_score([], [], []), "no row that counts"),
    "all late": (lambda: bsuite_scores.deep_sea_score([10], [10_001], [0]), "no row that counts"),
    "all early": (lambda: bsuite_scores.deep_sea_stochastic_score([10], [99], [0]), "no row that counts"),
    "episode 0": (lambda: bsuite_scores.deep_sea_score([10], [0], [0]), "episode=0 is too small"),
    "nan": (lambda: bsuite_scores.regret_score("bandit", [1], [np.nan]), "not finite"),
    "no end": (lambda: bsuite_scores.regret_score("bandit", [20_000], [3.0]), "no row at 10000"),
    "no rows": (lambda: bsuite_scores.regret_score("bandit", [], []), "no row at 0"),
    "size": (lambda: bsuite.deep_sea(0), "size=0 is too small"),
    "seed": (lambda: bsuite.deep_sea(3, mapping_seed=None), "mapping_seed=None is not a whole number"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named(mistake, message):
    with pytest.raises(ValueError, match=message):
        mistake()


def test_a_radar_has_the_mean_score_by_tag():
    shown = by_tag({"deep_sea": 1.0, "deep_sea_stochastic": 0.5, "bandit": 0.25, "catch": 0.75})
    assert shown == {"exploration": 0.75, "noise": 0.5, "basic": 0.5, "credit assignment": 0.75}
    assert EXPERIMENTS.keys() < TAGS.keys()


def test_tags_are_those_of_bsuite():
    for name, tags in TAGS.items():
        theirs = importlib.import_module(f"bsuite.experiments.{name}.sweep").TAGS
        assert tags == tuple(tag.replace("_", " ") for tag in theirs)


def test_the_command_draws_a_radar(tmp_path):
    scores = {"PSRL()": (0.8, 0.9), "Random()": (0.1, 0.0)}
    files = []
    for agent, (sea, arms) in scores.items():
        for experiment, score in (("deep_sea_stochastic", sea), ("bandit", arms)):
            files.append(tmp_path / f"{len(files)}.json")
            files[-1].write_text(json.dumps({"agent": agent, "experiment": experiment, "score": score, "rows": []}))
    picture = tmp_path / "radar.png"
    done = klearning("benchmark", "radar", *map(str, files), "--out", str(picture), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["PSRL()"] == {"exploration": 0.8, "noise": 0.8, "basic": 0.9}
    assert picture.read_bytes()[:4] == b"\x89PNG"
    files[0].write_text("[]")
    for chosen, why in ((files, "is not what"), (files[1:2], "give all agents the same tags")):
        done = klearning("benchmark", "radar", *map(str, chosen), "--out", str(picture))
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert why in done.stderr
