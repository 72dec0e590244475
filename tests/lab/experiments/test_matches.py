"""Matches in specs, sweeps and the store: names, resumption to the same bytes, rows, your own code, bad input."""

import importlib.util
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import klearning as kl
from klearning import games
from klearning.games.registry import GAMES, PLAYERS
from klearning.lab.experiments.checkpoints import Stopped
from klearning.lab.experiments.jobs import Job, do
from klearning.lab.experiments.runnables import runnable
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import make_spec, match_spec, spec_from_json, sweep_from_toml
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import summarise
from klearning.lab.experiments.sweep import sweep
from klearning.lab.experiments.transfer import pack, unpack
from klearning.lab.report import settings
from klearning.numerics.registry import REGISTRIES
from klearning.simulators.codec import NotRegistered

ROCK, SEA = {"name": "rock_paper_scissors"}, {"name": "guarded_sea", "depth": 3}
OWN = """
from dataclasses import dataclass

import numpy as np

from klearning import games


@games.register_game
def pennies(stake: float = 1.0):
    return games.Game([[stake, -stake], [-stake, stake]], 0.5, "pennies")


@games.register_player
@dataclass(frozen=True)
class Shy(games.Player):
    '''Nearly an equilibrium of the means, and a draw that must be resumed too.'''

    epsilon: float = 0.1

    def policy(self, view, other, t, draws):
        n = view.means.shape[1]
        best = games.saddle(view.means + 0.01 * draws.standard_normal(view.means.shape)).policy
        return (1 - self.epsilon) * best + self.epsilon / n


@games.register_player
@dataclass(frozen=True)
class Punisher(games.Player):
    def policy(self, view, other, t, draws):
        return 0 if other is None else int(np.argmax(view.payoffs.T @ other))
"""


def spec_of(world=ROCK, agent=None, opponent="best_response", episodes=12, **others):
    return match_spec(world, agent or {"name": "KLearning"}, opponent=opponent, episodes=episodes, **others)


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "pennies_file.py"
    path.write_text(OWN)
    loader = importlib.util.spec_from_file_location("pennies_file", path)
    sys.modules["pennies_file"] = module = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(module)
    yield module
    sys.modules.pop("pennies_file")
    for kind in ("game", "player"):
        for name in list(REGISTRIES[kind].origins):
            REGISTRIES[kind].pop(name, None)
            REGISTRIES[kind].origins.pop(name)


# Data


def test_a_match_is_data():
    spec = spec_of(seeds=[3])
    assert json.loads(spec.canonical) == {
        "agent": {"name": "KLearning"}, "opponent": {"name": "BestResponse"},
        "world": {"name": "rock_paper_scissors", "noise": 1.0},
        "prior": {"reward": {"kind": "gaussian", "mean": 0.0, "noise": 1.0, "sd": 1.0}},
        "episodes": 12, "evaluate_every": 1, "protocol": "", "seed": 3, "snapshots": [], "stop": "never", "version": 1,
    }  # fmt: skip
    assert spec_from_json(spec.canonical).name == spec.name
    with pytest.raises(ValueError, match="spec opponent=None is not a table"):
        spec_from_json(spec.canonical.replace('{"name":"BestResponse"}', "null"))
    assert "opponent" not in make_spec({"name": "deep_sea"}, {"name": "PSRL"}, episodes=1).canonical


def test_words_players_and_data_are_the_same_opponent():
    same = [spec_of(opponent=x).name for x in ("exp3", games.EXP3(), {"name": "EXP3"}, {"name": "EXP3", "unit": 1.0})]
    assert len(set(same)) == 1
    assert spec_of(agent=games.UCB(2.0), opponent="self_play").opponent == {"name": "UCB", "scale": 2.0}
    assert spec_of(prior=kl.Gaussian(0.0, 1.0, 1.0)).name == spec_of(prior={"reward": {"noise": 1.0}}).name
    assert spec_of(prior={"reward": {"sd": 2.0}}).prior["reward"]["noise"] == 1.0  # the game's
    assert spec_of(SEA).prior == {
        "reward": {"kind": "gaussian", "mean": 0.0, "noise": 0.05, "sd": 1.0},
        "transitions": {"kind": "dirichlet", "mass": 1.0}, "span": None,
    }  # fmt: skip


SWEEP = """
[[sweep]]
world = {name = "random_game", rows = 2, seed = [0, 1]}
agent = [{name = "KLearning"}, {name = "UCB", scale = [0.5, 1.0]}]
opponent = ["best_response", "self_play", {name = "EXP3", unit = [1.0, 2.0]}]
episodes = 5
seeds = 2
"""


def test_a_grid_of_matches(tmp_path):
    (tmp_path / "x.toml").write_text(SWEEP)
    specs = sweep_from_toml(tmp_path / "x.toml")
    assert len({spec.name for spec in specs}) == len(specs) == 2 * 3 * 4 * 2
    (tmp_path / "y.toml").write_text(settings.sweep_file(specs, most=99))
    assert {spec.name for spec in sweep_from_toml(tmp_path / "y.toml")} == {spec.name for spec in specs}


def test_a_game_needs_an_opponent():
    with pytest.raises(ValueError, match="is a game: give an opponent"):
        make_spec(ROCK, {"name": "KLearning"}, episodes=3)


WRONG = {
    "a world": ({"world": {"name": "deep_sea"}}, r"game='deep_sea' is not a game: leave the opponent out"),
    "no such game": ({"world": {"name": "rock"}}, r"game='rock' is unknown"),
    "no such parameter": ({"world": {**ROCK, "nois": 1}}, r"did you mean 'noise'\?"),
    "an agent of worlds": ({"agent": {"name": "PSRL"}}, r"player='PSRL' is unknown: give one of 'KLearning'"),
    "an agent itself": ({"agent": kl.KLearning()}, r"does not play games: give games\.KLearning\(\)"),
    "a class": ({"agent": games.UCB}, r"is a class: give a player, UCB\(\)"),
    "who sees the mixture": ({"agent": games.BestResponse()}, r"can only be the opponent"),
    "a wrong word": ({"opponent": "best"}, r"opponent='best' is unknown"),
    "a number": ({"opponent": 3}, r"opponent=3 is not data"),
    "EXP3 among layers": ({"world": SEA, "opponent": "exp3"}, r"EXP3\(\) plays matrix games only"),
    "transitions": ({"prior": {"transitions": {}}}, r"'transitions' means nothing in a matrix game"),
    "a prior of worlds": ({"prior": kl.Prior()}, r"is not a Gaussian"),
    "coins": ({"prior": {"reward": {"kind": "beta"}}}, r"is not a Gaussian"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_one_line_says_what_is_wrong(case):
    arguments, words = WRONG[case]
    with pytest.raises(ValueError, match=words) as caught:
        spec_of(**arguments)
    assert "\n" not in str(caught.value)


# Runs


def in_pieces(spec, store):
    """Stopped and taken up after every chunk."""
    stops = 0
    while spec not in store:
        try:
            execute(spec, store, should_stop=lambda: True)
        except Stopped:
            stops += 1
    return stops


CASES = {
    **{name: (ROCK, {"name": name}, "best_response") for name in ("KLearning", "UCB", "Thompson", "EXP3")},
    "self_play": ({"name": "random_game", "rows": 4, "columns": 2}, {"name": "KLearning"}, "self_play"),
    "layers": (SEA, {"name": "KLearning"}, "best_response"),
    "layers, drawn": (SEA, {"name": "Thompson"}, "self_play"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_match_in_pieces_gives_the_same_bytes(case, tmp_path):
    world, agent, opponent = CASES[case]
    spec = spec_of(world, agent, opponent, seeds=[2], snapshots=[1, 5, 12])
    whole, pieces = Store(tmp_path / "whole"), Store(tmp_path / "pieces")
    execute(spec, whole)
    assert in_pieces(spec, pieces) > 5
    assert pieces.files(spec.name) == whole.files(spec.name)
    place = GAMES[world["name"]](**{key: x for key, x in world.items() if key != "name"})
    played = games.play(PLAYERS[agent["name"]](), place, opponent, 12, [2], keep_policies=True)
    kept = whole.get(spec)
    assert np.array_equal(kept.regret, played.regret)
    assert np.array_equal(kept.snapshots["policy"][0], played.policies[0, [0, 4, 11]])
    assert np.array_equal(kept.snapshots["opponent"][0], played.opponents[0, [0, 4, 11]])
    assert kept.snapshots["visits"].shape[1] == 3
    matches = whole.runs([spec])
    assert np.array_equal(matches.returns, played.returns)
    assert matches.seeds == (2,)
    assert " s\n" not in matches.summary()


def test_a_state_of_another_match_is_refused():
    spec = spec_of(seeds=[1])
    begun = runnable(spec)
    next(chunks := begun.chunks())
    next(chunks)
    state = begun.state()
    fresh = runnable(spec)
    fresh.restore(state)
    assert fresh.played == begun.played == 3
    crafted = {
        "memory.us.side.visits": lambda x: -x - 1.0,
        "memory.us.side.truth.means": lambda x: x + 1.0,
        "memory.them.side.layered": lambda x: ~x,
        "memory.us.side.belief.means": lambda x: x * np.nan,
        "memory.us.side.policy": lambda x: x + 1.0,
        "log.values": lambda x: x * np.nan,
        "log.returns": lambda x: x[:1],
        "streams": lambda x: x[:-1],
    }
    for name, change in crafted.items():
        with pytest.raises(ValueError, match="not the state of such a match"):
            runnable(spec).restore({**state, name: change(state[name])})


def test_rows_and_reading(tmp_path):
    store = Store(tmp_path / "store")
    specs = [spec_of(opponent=x, seeds=[seed]) for x in ("best_response", "exp3") for seed in (0, 1)]
    world = make_spec({"name": "deep_sea", "depth": 3}, {"name": "Random"}, episodes=5)
    assert sweep([*specs, world], store).done == 5
    assert sweep([*specs, world], store).skipped == 5
    rows = store.rows()
    assert {row.get("opponent") for row in rows} == {None, "BestResponse", "EXP3"}
    assert all(row["solved"] is None and row["ran"] == 12 for row in rows if row.get("opponent"))
    assert store.export(tmp_path / "x.csv") == 5
    assert "opponent,opponent.unit,prior.reward" in (tmp_path / "x.csv").read_text().splitlines()[0]
    assert store.verify() == []
    assert store.runs(specs[:2]).regret.shape == (2, 12)
    with pytest.raises(ValueError, match="in more than its seed"):
        store.runs(specs)
    assert len(summarise(store).runs) == 5


def test_a_job_of_a_match_is_text_and_its_result_files(tmp_path):
    """What executors of other processes and machines carry: the job there, files or a checkpoint back."""
    spec, here, there = spec_of(SEA, seeds=[5]), Store(tmp_path / "here"), Store(tmp_path / "there")
    job = Job(**json.loads(json.dumps(Job(spec.canonical, str(there.path))._asdict())))
    assert job.name == spec.name
    assert do(job, should_stop=lambda: True).end == "stopped"
    unpack(pack(job, job.name), here)
    assert here.checkpoint(spec.name).read_bytes() == there.checkpoint(spec.name).read_bytes()
    assert do(job).end == "done"
    assert do(job._replace(store=str(here.path))).end == "done"  # from the checkpoint that was sent
    assert here.files(spec.name) == there.files(spec.name)
    assert pack(job, job.name).files == there.files(spec.name)


# Your own code


def test_own_games_and_players(own, tmp_path):
    spec = spec_of({"name": "pennies"}, own.Shy(0.2), own.Punisher(), seeds=[1])
    assert spec.agent["module"] == "pennies_file"
    assert spec.world["code"] == spec.opponent["code"]
    whole, pieces = Store(tmp_path / "whole"), Store(tmp_path / "pieces")
    execute(spec, whole)
    assert in_pieces(spec, pieces) > 1
    assert pieces.files(spec.name) == whole.files(spec.name)
    played = games.play(own.Shy(0.2), own.pennies(), own.Punisher(), 12, [1])
    assert np.array_equal(whole.get(spec).regret, played.regret)
    best = games.play(own.Shy(0.2), own.pennies(), "best_response", 12, [1])
    assert played.values.max() <= best.values.max() + 1e-12  # an own best response is one
    PLAYERS.pop("Shy")
    with pytest.raises(NotRegistered, match=r"import pennies_file.*klearning\.games\.register_player\(Shy\)"):
        execute(replace(spec, seed=2), whole)


def test_what_cannot_be_registered(own):
    for register, thing, words in (
        (games.register_game, 3, "is not a function"),
        (games.register_player, games.UCB(), "is not a class of players"),
        (games.register_player, type("Empty", (games.Player,), {}), "has no method 'policy'"),
    ):
        with pytest.raises(ValueError, match=words):
            register(thing)

    def rock_paper_scissors():
        return 0

    with pytest.raises(ValueError, match="is built in"):
        games.register_game(rock_paper_scissors)
    with pytest.raises(ValueError, match="has no method 'policy'"):
        games.play(type("Empty", (games.Player,), {})(), own.pennies(), rounds=1, seeds=1)
    with pytest.raises(ValueError, match="plays matrix games only"):
        spec_of(SEA, own.Shy())
