"""A film of a plane: which point a cell is of, what a frame holds, how many are kept, and what cannot be filmed."""

import base64
import json
import re
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

import klearning as kl
from klearning.deep import DQN, DeepKLearning
from klearning.lab.report import PlaneFilm
from klearning.lab.report.plane import MOST
from klearning.simulators.episode_report import EpisodeReport

SMALL: dict[str, Any] = {"hidden": (4,), "batch": 8, "updates": 1, "capacity": 600}


class Slope:
    """A learner whose value is x + 10 y whatever is done, and who goes right where x > 0."""

    agent = actions = SimpleNamespace(count=3)
    seed = 7
    observation_space = gymnasium.spaces.Box(
        np.array([-1.0, -2.0, 0.0]), np.array([1.0, 2.0, np.inf]), dtype=np.float64
    )

    def values(self, points):
        assert (points[:, 2] == 0.0).all()  # no end, so in no middle
        return (points[:, 0] + 10.0 * points[:, 1])[None]

    def visits(self, points):
        return np.ones((len(points), 3)) * [0.0, 1.0, 2.0]

    def policies(self, points):
        return np.where(points[:, :1] > 0, [0.0, 0.0, 1.0], [0.0, 1.0, 0.0])[None]


def told(episode, learner, collected=1.5):
    return EpisodeReport(episode, collected, 10, False, {}, learner=learner)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_a_cell_is_of_its_point(tmp_path):
    film = PlaneFilm(tmp_path / "a" / "film.html", cells=4, names=("x", "y"), actions=("left", "stay", "right"))
    film(told(1, Slope()))
    data = data_of((tmp_path / "a" / "film.html").read_text())
    (shown,), (stage,) = data["films"], data["stages"]
    assert stage["rows"] == [4] * 4
    assert stage["actions"] == ["left", "stay", "right"]
    assert [axis["name"] for axis in stage["axes"]] == ["x", "y"]
    raw = base64.b64decode(shown["data"])
    values = shown["low"][0] + np.frombuffer(raw[:32], "<u2").reshape(4, 4) / 65535 * (
        shown["high"][0] - shown["low"][0]
    )
    x, y = [-0.75, -0.25, 0.25, 0.75], [1.5, 0.5, -0.5, -1.5]  # the highest row on top
    np.testing.assert_allclose(values, np.add.outer(10.0 * np.array(y), x), atol=1e-3)
    np.testing.assert_array_equal(np.frombuffer(raw[32:128], "<u2").reshape(3, 16), [[0] * 16, [1] * 16, [2] * 16])
    right = np.frombuffer(raw[144:], np.uint8).reshape(4, 4)
    np.testing.assert_array_equal(right, [[0, 0, 255, 255]] * 4)
    assert shown["regret"] == [1.5]
    assert shown["seed"] == 7
    assert shown["measure"] == "return"


def test_frames_are_thinned_and_the_first_one_stays(tmp_path):
    film = PlaneFilm(tmp_path / "film.html", cells=2)
    for episode in range(1, 4 * MOST):
        film(told(episode, Slope()))
    times = [frame.episode for frame in film.frames]
    assert times[0] == 1
    assert MOST // 2 <= len(times) <= MOST
    assert len(set(np.diff(times))) == 1
    assert times[-1] > 3.8 * MOST


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"axes": (0, 2)}, "axis 2 .* give low= and high="),
        ({"axes": (0, 3)}, "must name two of the 3 numbers"),
        ({"axes": (1, 1)}, "must name two of the 3 numbers"),
        ({"actions": ("left",)}, "not names of 3 actions"),
        ({"low": (1.0, 0.0)}, "axis 0 .* from 1 to 1"),
    ],
)
def test_what_is_no_plane(given, message):
    with pytest.raises(ValueError, match=message):
        PlaneFilm("film.html", **given).prepare(Slope())


def test_ends_of_ones_own_and_pairs_that_are_none():
    film = PlaneFilm("film.html", axes=(0, 2), low=(-1.0, 0.0), high=(1.0, 5.0))
    film.prepare(Slope())
    assert film.bounds.tolist() == [[-1.0, 0.0], [1.0, 5.0]]
    for name in ("axes", "low", "names"):
        with pytest.raises(ValueError, match=f"{name}="):
            PlaneFilm("film.html", **{name: (1, 2, 3)})


def test_tables_have_no_plane():
    learner = kl.Learner(kl.KLearning(), gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2), horizon=2)
    with pytest.raises(ValueError, match=r"KLearning has no values .* klearning\.deep"):
        PlaneFilm("film.html").prepare(learner)


@pytest.mark.slow
@pytest.mark.parametrize("agent", [DeepKLearning(**SMALL), DQN(**SMALL)], ids=lambda a: type(a).__name__)
def test_a_frame_is_what_the_learner_thinks(agent, tmp_path):
    film = PlaneFilm(tmp_path / "film.html", cells=8)
    learner = kl.learn(agent, gymnasium.make("MountainCar-v0"), episodes=2, horizon=30, callbacks=[film])
    points, last = film._points, film.frames[-1]
    best = [learner.predict(point) for point in points]
    np.testing.assert_array_equal(learner.action_values(points)[0].argmax(axis=1), best)
    np.testing.assert_allclose(last.values, learner.values(points)[0])
    np.testing.assert_allclose(last.policy.sum(axis=0), 1.0, atol=1e-6)
    counted = isinstance(agent, DeepKLearning)
    assert (last.visits.sum() > 0) == counted
    if counted:  # every step is in one tile of each tiling; where the car starts it was often
        assert learner.visits([np.array([-0.5, 0.0], np.float32)]).sum() > 3.0
    assert film.page() == (tmp_path / "film.html").read_text()
