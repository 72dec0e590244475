"""What objects show of themselves: short, escaped, self-contained; pictures and frames that say what they should."""

import re
import sys
from dataclasses import dataclass, replace
from html.parser import HTMLParser

import gymnasium as gym
import matplotlib
import numpy as np
import pytest

import klearning as kl

matplotlib.use("Agg")
WORLD = kl.deep_sea(20)


@pytest.fixture(scope="module")
def runs():
    return kl.run(kl.PSRL(), kl.deep_sea(4), episodes=30, seeds=[3, 1])


LAKE = gym.make("FrozenLake-v1")
THINGS = {
    "world": lambda: WORLD,
    "solution": lambda: kl.optimal(WORLD),
    "belief": lambda: kl.Belief.before(kl.Prior(), WORLD),
    "plan": lambda: kl.solve(kl.Belief.before(kl.Prior(), WORLD)),
    "prior": kl.Prior,
    "support": lambda: kl.Prior(transitions=kl.Dirichlet(0.3, support=[np.ones((3, 2, 3))] * 40)),
    "known": lambda: kl.Prior(transitions=kl.Known([np.full((3, 2, 3), 1 / 3)] * 40)),
    "fresh learner": lambda: kl.Learner(kl.PSRL(), LAKE.observation_space, LAKE.action_space, 5),
    "learner": lambda: kl.learn(kl.PSRL(), LAKE, episodes=3, horizon=5),
    "runs": lambda: kl.run(kl.PSRL(), WORLD, episodes=50, seeds=12),
}


class Strict(HTMLParser):
    """Tags must nest, and nothing is loaded, linked or run."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        assert tag in {"div", "strong", "table", "tr", "th", "td"}
        assert {name for name, _ in attributes} <= {"style"}
        assert not re.search(
            r"color|font-family|url", " ".join(value for _, value in attributes)
        )  # neither light nor dark
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", THINGS)
def test_objects_are_short(name):
    thing = THINGS[name]()
    assert len(repr(thing).splitlines()) == 1
    assert len(repr(thing)) < 400
    page = thing._repr_html_()
    assert len(page) < 5000
    reader = Strict()
    reader.feed(page)
    assert not reader.open


def test_what_is_shown_is_escaped(runs):
    named = replace(runs, setting=runs.setting._replace(world=replace(runs.world, name="<script>alert(1)</script>")))
    assert "<script" not in named._repr_html_()
    assert "&lt;script&gt;" in named._repr_html_()


def test_a_frame_is_tidy(runs):
    frame = runs.frame()
    assert list(frame) == ["seed", "episode", "value", "regret", "return", "hit"]
    assert len(frame) == 60
    one = frame[frame["seed"] == 1].set_index("episode")
    assert one["regret"].tolist() == runs.regret[1].tolist()
    assert one["return"].tolist() == runs.returns[1].tolist()
    assert one.loc[30, "hit"] == runs.hits[1, -1]
    assert "temperature" in kl.run(kl.KLearning(), kl.deep_sea(3), episodes=2, seeds=1).frame()


def test_a_summary_has_intervals_where_there_are_seeds_enough(runs):
    few = runs.summary()
    assert "none below 10 seeds" in few
    assert "[" not in re.search(r"regret after.*", few)[0]
    many = kl.run(kl.PSRL(), kl.deep_sea(4), episodes=30, seeds=12)
    estimate, low, high = map(
        float, re.search(r"regret after 30 +([\d.]+) \[([\d.]+), ([\d.]+)\]", many.summary()).groups()
    )
    assert low < estimate < high
    assert estimate == pytest.approx(many.regret[:, -1].mean(), rel=1e-3)
    assert len(many.summary().splitlines()) <= 10
    never = kl.run(kl.QLearning(), WORLD, episodes=5, seeds=11).summary()
    assert "by fewer than half; 0 of 11 seeds" in never


def test_runs_draw_themselves(runs):
    ax = runs.plot()
    other = kl.run(kl.Random(), kl.deep_sea(4), episodes=30, seeds=2)
    assert other.plot(ax, label="chance") is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["PSRL, mean of 2", "first hit of a seed", "chance, mean of 2"]
    mean = next(line for line in ax.get_lines() if line.get_label().startswith("PSRL"))
    assert mean.get_ydata().tolist() == runs.regret.mean(axis=0).tolist()
    assert runs.plot(what="return").get_ylabel() == "return"
    with pytest.raises(ValueError, match=r"what='regrets'.*did you mean 'regret'"):
        runs.plot(what="regrets")
    matplotlib.pyplot.close("all")


def test_plans_draw_themselves():
    belief = kl.Belief.before(kl.Prior(), kl.deep_sea(5))
    plan = kl.solve(belief)
    image = plan.plot().get_images()[0].get_array()
    assert image.shape == (5, 5)
    assert image.mask.sum() == 10  # the sea is a triangle
    np.testing.assert_array_equal(image[4].compressed(), plan.values[4])
    image = plan.plot(what="policy", action=0).get_images()[0].get_array()
    np.testing.assert_array_equal(image[3].compressed(), plan.policy[3][:, 0])
    image = kl.optimal(kl.deep_sea(5)).plot(what="occupancy").get_images()[0].get_array()
    np.testing.assert_allclose(image.sum(axis=1), 1.0)
    bars = kl.solve(kl.Belief.before(kl.Prior(), kl.bandit([0.1, 0.5]))).plot(what="policy").patches
    assert [bar.get_height() for bar in bars] == [0.5, 0.5]
    for wrong in ({"what": "colour"}, {"what": "policy", "action": 2}, {"what": "policy", "action": -1}):
        with pytest.raises(ValueError, match=r"what='colour'|action="):
            plan.plot(**wrong)
    matplotlib.pyplot.close("all")


def test_curves_have_the_interval_of_the_summary():
    runs = kl.run(kl.PSRL(), kl.deep_sea(4), episodes=30, seeds=12)
    ax = runs.plot()
    assert ax.get_legend().get_texts()[0].get_text() == "PSRL, mean of 12, 95% interval"
    band = ax.collections[0].get_paths()[0].vertices
    ends = sorted({y for x, y in band if x == 30})
    assert f"[{ends[0]:.4g}, {ends[-1]:.4g}]" in runs.summary()
    assert not kl.run(kl.PSRL(), kl.deep_sea(4), episodes=30, seeds=9).plot().collections
    matplotlib.pyplot.close("all")


def test_pyplot_shows_the_figure_of_a_comparison(runs):
    other = kl.run(kl.Random(), kl.deep_sea(4), episodes=30, seeds=[3, 1])
    figure = kl.compare({"PSRL": runs, "chance": other}).plot()
    assert matplotlib.pyplot.fignum_exists(figure.number)
    figure.show()  # AttributeError for a figure that pyplot does not manage
    matplotlib.pyplot.close("all")


def test_without_matplotlib_or_pandas_one_line_says_what_to_do(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    plan = kl.solve(kl.Belief.before(kl.Prior(), kl.deep_sea(3)))
    for call, name in ((runs.plot, "matplotlib"), (plan.plot, "matplotlib"), (runs.frame, "pandas")):
        with pytest.raises(ImportError, match=f"pip install {name}"):
            call()
    assert runs.summary()


def test_progress_is_a_bar_or_a_function(capsys):
    counts = []
    kl.run(kl.PSRL(), kl.deep_sea(3), episodes=20, seeds=2, progress=counts.append)
    assert sum(counts) == 40
    kl.run(kl.PSRL(), kl.deep_sea(3), episodes=20, seeds=2, progress=True)
    assert "40/40" in capsys.readouterr().out
    kl.run(kl.PSRL(), kl.deep_sea(3), episodes=20, seeds=2, progress=False)
    assert not capsys.readouterr().out


def test_an_agent_of_anybodys_is_shown():
    @dataclass(frozen=True)
    class Mine(kl.PSRL):
        """Somebody's own."""

    runs = kl.run(Mine(), kl.deep_sea(3), episodes=3, seeds=1)
    assert "Mine(" in repr(runs)
    assert "Mine" in runs.plot().get_legend().get_texts()[0].get_text()
    matplotlib.pyplot.close("all")
