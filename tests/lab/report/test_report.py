"""The report as a file: whole, small, safe, the same twice, from any store. `test_report_browser` looks at it."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from klearning.lab.comparison import compare
from klearning.lab.experiments.results import runs_of
from klearning.lab.experiments.spec import Spec, make_spec, sweep_from_toml
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary, together
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers import command_of
from klearning.lab.papers.odonoghue2021.bayes_regret import BayesRegret, is_drawn_here
from klearning.lab.papers.odonoghue2021.figure2 import LearningTime, complete, times_of
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.lab.report import LIMIT, as_json, build, films, ranking, regret_curves, sections, summarise, write
from klearning.lab.report.proofs import bound_label
from klearning.lab.report.settings import sweep_file
from klearning.numerics.display.markup import element, number, safe
from klearning.numerics.files import arrays_to_bytes, checksum
from klearning.numerics.statistics import mean_interval, median_time
from tests.support.commands import klearning
from tests.support.papers import PAPER, TINY, figure, tiny_store

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'`"
SEA = {"name": "deep_sea", "depth": 4}
STATIONARY = {"stationary": True}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    return tiny_store(tmp_path_factory)


@pytest.fixture(scope="module")
def page(filled):
    return build(summarise(filled))


def own(path, **changes):
    """A small store of somebody's own."""
    store = Store(path)
    specs = [
        make_spec(world, {"name": agent}, episodes=30, seeds=[seed], snapshots=(1, 5, 30), **changes)
        for world in (SEA, {"name": "river_swim", "horizon": 4})
        for agent in ("KLearning", "PSRL")
        for seed in (0, 1)
    ]
    assert not sweep(specs, store).failed
    return store


def embedded(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


class Outline(HTMLParser):
    """What is in a page: tags with attributes, and whether they nest."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.headings = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_tags_nest_and_names_are_unique(page):
    outline = Outline(page)
    assert outline.open == []
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    known = set(ids)
    for _, attributes in outline.tags:
        for key in ("aria-labelledby", "aria-describedby"):
            assert set(attributes.get(key, "").split()) <= known
    assert [a["id"] for a in outline.of("section")] == [
        "deep-sea", "watch", "regret", "ranking", "depth", "claims", "runs",
    ]  # fmt: skip


def test_nothing_is_loaded_and_nothing_inline_is_allowed_but_by_its_hash(page):
    outline = Outline(page)
    policy = next(a["content"] for a in outline.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for kind, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        (inline,) = re.findall(pattern, page, re.S)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    for tag, attributes in outline.tags:
        assert "style" not in attributes
        assert not any(key.startswith("on") for key in attributes)
        for key in ("src", "href"):
            assert attributes.get(key, "#").startswith(("#", "data:")), f"{tag} loads {attributes[key]}"
    assert not re.search(r"\b(fetch|XMLHttpRequest|eval|innerHTML|insertAdjacentHTML|document\.write)\b", page)


@pytest.mark.slow
def test_it_is_small_and_the_same_twice(filled, page, tmp_path):
    assert len(page.encode()) < LIMIT
    for name in ("one.html", "two.html"):
        assert write(filled, tmp_path / "new" / name) == len(list(filled.folders()))
    one, two = ((tmp_path / "new" / name).read_bytes() for name in ("one.html", "two.html"))
    assert one == two == page.encode()


def test_regret_curves_are_those_of_the_store(filled, page):
    charts = embedded(page)["charts"]
    spec = next(iter(figure("watching").runs().values()))
    members = [filled.get(s) for s in figure("watching").runs().values() if s.agent == spec.agent]
    paths = np.concatenate([runs.regret for runs in members])
    curve = next(s for s in charts["regret-0"]["series"] if s["label"] == "K-learning, optimal τ")
    for x, y, low, high in zip(curve["x"], curve["y"], curve["low"], curve["high"], strict=True):
        assert y == pytest.approx(paths[:, x - 1].mean(), rel=1e-5)
        if low is not None:
            interval = mean_interval(paths[:, x - 1])
            assert (low, high) == pytest.approx((max(0.0, interval.low), interval.high), rel=1e-5)
    assert curve["x"][-1] == 1000
    assert f"{number(paths[:, -1].mean())} [" in page


def test_times_to_solve_are_those_of_the_store(filled, page):
    chart = embedded(page)["charts"]["scaling-0"]
    times = LearningTime(depths=(4, 5), seeds=2, cap=60, left_out=False).read(filled)
    for series in chart["series"]:
        medians = [median_time(t) for t in times[series["label"]].values()]
        assert series["y"] == [None if np.isnan(m) else pytest.approx(m) for m in medians]


def test_claims_are_those_of_the_paper(filled, page):
    shown = {(c.sentence, c.mark, c.numbers) for verdict in PAPER.verdicts(summarise(filled)) for c in verdict.claims}
    made = {(c.sentence, c.mark, c.numbers) for f in TINY.figures for c in f.claims(f.read(filled))}
    assert shown == made
    for sentence, mark, _ in made:
        assert str(safe(sentence)) in page
        assert mark in page


def test_frames_hold_values_visits_and_policy(filled, page):
    data = embedded(page)
    film = next(f for f in data["films"] if f["label"] == "Thompson sampling")
    spec = next(s for s in figure("watching").runs().values() if s.agent["name"] == "PSRL" and s.snapshots)
    record = filled.get(spec)
    assert film["t"] == list(spec.snapshots)
    assert film["found"] == np.cumsum(record.hits[0])[np.array(spec.snapshots) - 1].tolist()
    S, k = 210, 20
    raw = base64.b64decode(film["data"])[k * 7 * S : (k + 1) * 7 * S]
    share = np.frombuffer(raw, "<u2", S) / 65535
    values = film["low"][k] + share * (film["high"][k] - film["low"][k])
    np.testing.assert_allclose(values, record.snapshots["values"][0, k], atol=1e-4)
    visits = np.frombuffer(raw, "<u2", 2 * S, 2 * S).reshape(2, S)
    np.testing.assert_array_equal(visits, record.snapshots["visits"][0, k])
    right = np.frombuffer(raw, np.uint8, S, 6 * S) / 255
    np.testing.assert_allclose(right, record.snapshots["policy"][0, k][1], atol=1 / 500)


def test_arrows_point_where_actions_lead(page):
    """DeepSea's cell (row 2, column 1): left to column 0, right to column 2; nothing below the last row."""
    stage = embedded(page)["stages"][0]
    assert [stage["next"][a][4] for a in (0, 1)] == [0, 2]
    assert stage["next"][0][-20:] == [-1] * 20
    assert stage["goal"] == 209


def test_the_page_opens_with_k_learning_soft_q_learning_and_psrl(page):
    data = embedded(page)
    families = [data["films"][i]["family"] for i in data["opening"]]
    assert families == ["KLearning", "SoftQLearning", "PSRL"]


def test_runs_from_before_policies_were_kept(tmp_path):
    store = own(tmp_path)
    spec = next(record.spec for record in store.results() if record.spec.world["name"] == "deep_sea")
    arrays = store.arrays(spec)
    del arrays["snapshot_policy"]
    other = make_spec(spec.world, spec.agent, episodes=30, seeds=[7], snapshots=(1, 5, 30))
    store.put(other, arrays)
    old = next(f for f in films.reel(summarise(store)).films if f["seed"] == 7)
    assert not old["policy"]
    assert len(base64.b64decode(old["data"])) == 3 * 10 * 6


def test_somebodys_own_store(tmp_path):
    page = build(summarise(own(tmp_path)))
    data = embedded(page)
    assert {s["title"] for s in data["stages"]} == {"DeepSea of depth 4", "river_swim(horizon=4)"}
    assert len(data["films"]) == 8
    assert len(data["charts"]) == 2
    assert sections_of(page) == ["watch", "regret", "ranking", "runs"]  # no toy, no depth, no claims
    assert f"<h1>Runs in {tmp_path.name}</h1>" in page
    assert "<h1>Seas &amp; rivers</h1>" in build(summarise(Store(tmp_path)), "Seas & rivers")


def sections_of(page):
    return re.findall(r'<section [^>]*id="([^"]*)"', page)


def test_a_world_without_a_goal_is_not_unsolved(tmp_path):
    store = Store(tmp_path)
    swim = {"name": "bandit", "means": [0.1, 0.9]}
    specs = [make_spec(world, {"name": "PSRL"}, episodes=3) for world in (swim, SEA)]
    assert not sweep(specs, store).failed
    page = build(summarise(store))
    assert page.count("<td>no goal</td>") == 1
    assert page.count("<td>0 of 1</td>") + page.count("<td>1 of 1</td>") == 1


def test_two_priors_are_two_contestants_of_one_chart(tmp_path):
    """By what differs, and only that; the film of one and the list of runs tell them apart, too."""
    store = Store(tmp_path)
    wide = {"reward": {"kind": "gaussian", "sd": 3.0}}
    specs = [
        make_spec(SEA, {"name": "KLearning"}, prior, episodes=episodes, seeds=[seed], snapshots=(1, 30))
        for prior in (None, wide)
        for episodes in (30, 40)
        for seed in range(3)
    ]
    assert not sweep(specs, store).failed
    page = build(summarise(store))
    charts = embedded(page)["charts"]
    assert len(charts) == 2  # of two lengths
    for chart in charts.values():
        assert [s["label"] for s in chart["series"]] == ["K-learning, reward sd 1", "K-learning, reward sd 3"]
        assert len({(s["colour"], s["line"]) for s in chart["series"]}) == 2
    stages = {stage["title"] for stage in embedded(page)["stages"]}
    assert len(stages) == 4
    assert "DeepSea of depth 4, reward sd 3, episodes 40" in stages
    options = re.findall(r'<option value="regret-\d">(.*?)</option>', page)
    assert sorted(options) == ["DeepSea of depth 4, episodes 30", "DeepSea of depth 4, episodes 40"]
    assert "prior.reward.sd 3.0" in page
    assert "; or gaussian rewards (mean 0" in page


def test_worlds_drawn_from_two_priors_are_two_comparisons(tmp_path):
    store = Store(tmp_path)
    world = {"name": "random_mdp", "states": 2, "actions": 2, "horizon": 2}
    specs = [
        make_spec({**world, "seed": k}, {"name": name}, {"transitions": {"mass": mass}}, episodes=20, seeds=[k])
        for mass in (0.3, 1.0)
        for name in ("KLearning", "PSRL")
        for k in range(3)
    ]
    assert not sweep(specs, store).failed
    groups = [ranking.compare_group("here", group) for group in regret_curves.groups(summarise(store))]
    assert [len(group.standings) for group in groups] == [2, 2]
    assert {pair.test for group in groups for pair in group.pairs} == {"sign flips, paired by world"}


def test_the_ranking_is_that_of_the_tests(tmp_path):
    """Places, p-values and the sentence are those of `compare` on the same runs."""
    store = Store(tmp_path)
    specs = {
        name: [make_spec(SEA, {"name": name}, episodes=40, seeds=[seed]) for seed in range(10)]
        for name in ("KLearning", "PSRL", "Random")
    }
    assert not sweep([spec for own in specs.values() for spec in own], store).failed
    page = build(summarise(store))
    (group,) = regret_curves.groups(summarise(store))
    shown = ranking.compare_group("DeepSea of depth 4", group)
    labels = {"KLearning": "K-learning"}
    direct = compare({labels.get(name, name): store.runs(own) for name, own in specs.items()})
    assert [(s.agent, s.first, s.last) for s in shown.standings] == [
        (s.agent, s.first, s.last) for s in direct.standings
    ]
    assert {(p.a, p.b): p.adjusted for p in shown.pairs} == pytest.approx(
        {(p.a, p.b): p.adjusted for p in direct.pairs}
    )
    assert str(safe(shown.sentence)) in page
    assert "lost least" not in page


def test_an_empty_store(tmp_path):
    page = build(summarise(Store(tmp_path)))
    assert Outline(page).open == []
    assert sections_of(page) == ["runs"]
    assert embedded(page) == {"charts": {}, "films": [], "stages": [], "opening": []}


def test_broken_runs_are_named_and_left_out(tmp_path):
    store = own(tmp_path)
    folders = list(store.folders())
    (folders[0] / "arrays.npz").write_bytes(b"no archive")
    (folders[1] / "spec.json").write_text("{}")
    found = summarise(store)
    assert len(found.runs) == len(folders) - 2
    page = build(found)
    assert "2 runs could not be read" in page
    assert folders[0].name[:12] in page


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "change",
    [
        {"values": np.zeros((3, 3))},
        {"hits": np.zeros(0, bool), "values": np.zeros(0)},
        {"values": np.full(30, np.nan)},
        {"snapshot_values": np.zeros((3, 9))},
        {"snapshot_values": np.full((3, 10), np.inf)},
        {"snapshot_visits": np.zeros((3, 3, 10))},
        {"snapshot_policy": np.zeros((1, 2, 10))},
        {"snapshot_values": np.zeros(3)},
        {"diagnostic_sweeps": np.zeros(0)},
    ],
    ids=lambda change: "-".join(f"{key}{np.shape(value)}" for key, value in change.items()),
)
def test_odd_arrays_break_nothing(change, tmp_path):
    store = own(tmp_path)
    spec = make_spec(SEA, {"name": "KLearning"}, episodes=30, seeds=[5], snapshots=(1, 5, 30))
    arrays = store.arrays(replace(spec, seed=0))
    store.put(spec, arrays)
    data = arrays_to_bytes(arrays | change)  # by somebody else's hand: `put` refuses the oddest of them
    (store.folder(spec.name) / "arrays.npz").write_bytes(data)
    (store.folder(spec.name) / "meta.json").write_text(json.dumps({"arrays_sha256": checksum(data)}))
    assert Outline(build(summarise(store))).open == []


@pytest.mark.thin(4)
@pytest.mark.parametrize("field", ["world", "agent", "protocol", "prior"])
def test_names_cannot_inject(field, tmp_path):
    """A store may come from anywhere: its names are text, whatever they hold."""
    store = own(tmp_path, protocol=HOSTILE if field == "protocol" else "")
    good = next(iter(store.results()))
    changed = {"name": HOSTILE, HOSTILE: HOSTILE} if field in ("world", "agent") else {HOSTILE: HOSTILE}
    if field != "protocol":
        parts = {key: getattr(good.spec, key) for key in Spec.__dataclass_fields__} | {field: changed}
        store.put(Spec(**parts), store.arrays(good.spec))
    page = build(summarise(store))
    outline = Outline(page)
    assert outline.open == []
    assert len(outline.of("script")) == 2
    assert "<img src=x" not in page
    assert "alert(1)" in page  # it is there, as text
    embedded(page)


def test_markup_is_escaped_unless_made_here():
    assert element("p", "<b>", element("i", "&"), title='"') == '<p title="&quot;">&lt;b&gt;<i>&amp;</i></p>'
    assert element("option", hidden=True, selected=False, class_="a") == '<option hidden class="a"></option>'
    assert "<" not in as_json({"a": "</script>"})
    assert json.loads(as_json({"a": "</script>&\u2028"})) == {"a": "</script>&\u2028"}


@pytest.mark.parametrize(
    ("x", "shown"),
    [(None, "–"), (float("nan"), "–"), (float("inf"), "–"), (1234.5, "1,234"), (98.6612, "98.66"), (0.5, "0.5"),
     (-0.0301234, "-0.03012"), (0.0, "0"), (1e6, "1,000,000")],
)  # fmt: skip
def test_numbers(x, shown):
    assert number(x) == shown


@pytest.mark.parametrize(
    ("agent", "prior", "words"),
    [
        ({"name": "KLearning"}, None, "bonus reward: not proved to be an upper bound"),
        ({"name": "KLearning", "bonus": "split"}, None, "bonus split: an upper bound .* by proof"),
        ({"name": "KLearning", "bonus": "split"}, STATIONARY, "bonus split: not proved"),
        ({"name": "KLearning", "bonus": "sharp"}, {"reward": {"kind": "beta"}}, "bonus sharp: an upper .* proof"),
        ({"name": "UCBVI"}, None, ""),  # a bonus, and none of ours
        ({"name": "PSRL"}, None, ""),
    ],
    ids=["reward", "split", "stationary", "sharp", "UCBVI", "PSRL"],
)
def test_the_settings_say_where_a_bound_is_proved(agent, prior, words):
    spec = make_spec({"name": "bandit", "means": [0.2, 0.8]}, agent, prior, episodes=5)
    swim = make_spec({"name": "river_swim", "horizon": 3}, agent, prior, episodes=5)
    assert re.match(words, bound_label([swim]))
    assert bool(bound_label([swim])) == bool(words)
    if agent.get("bonus") == "split" and prior is STATIONARY:  # of one layer there is nothing to share
        assert "for some of these worlds and priors" in bound_label([spec, swim])


def test_every_figure_says_whether_its_bound_is_proved(tmp_path):
    page = build(summarise(own(tmp_path)))
    assert page.count("<dt>the plans&#x27; bound</dt><dd>bonus reward: not proved to be an upper bound") >= 2
    gone = replace(make_spec(SEA, {"name": "KLearning"}, episodes=5), world={"name": "no_such_world"})
    assert bound_label([gone]) == ""
    vast = replace(gone, world={"name": "deep_sea", "depth": 10**9})
    assert bound_label([vast]) == ""  # at once


def test_the_sweep_file_behind_a_figure_makes_the_same_runs(tmp_path):
    store = own(tmp_path / "store", protocol='mine "quoted"', prior={"transitions": {"mass": 0.7}})
    bandit = make_spec({"name": "bandit", "means": [0.1, 0.9]}, {"name": "PSRL"}, episodes=30, seeds=[3])
    assert not sweep([bandit], store).failed
    specs = [record.spec for record in store.results()]
    file = tmp_path / "again.toml"
    file.write_text(sweep_file(specs, most=100))
    assert {spec.name for spec in sweep_from_toml(file)} == {spec.name for spec in specs}


def commands(groups):
    return {command_of([run.spec for run in group]) for group in groups}


@pytest.mark.slow
def test_the_command_behind_a_figure_is_said_only_where_it_is_true(filled, tmp_path):
    runs = summarise(filled).runs
    said = commands(together(run for run in runs if run.regret.size))
    assert {"klearning reproduce watching", "klearning reproduce figure3 figure4 --protocol printed"} <= said
    sweeping = [run for run in runs if run.spec.name in {s.name for s in figure("planning_cost").runs().values()}]
    assert commands([sweeping]) == {"klearning reproduce planning_cost"}
    mine = summarise(own(tmp_path)).runs
    assert commands(together(mine)) == commands(together(mine, "depth")) == commands([mine]) == {""}
    quick = LearningTime(depths=[4, 6, 8], seeds=2).small()
    group = list(replace(quick, depths=[4, 6, 8], seeds=2).runs().values())
    expected = "klearning reproduce figure2 --seeds 2 --depths 4,6,8 --protocol text --quick"
    assert command_of(group) == expected


def test_the_command_of_figure_2_and_of_the_bayes_regret():
    assert command_of(list(LearningTime(depths=[4, 6], seeds=1, cap=777, left_out=False).runs().values())) == ""
    quick = [part for spec in replace(BayesRegret().small(), worlds=2).runs().values() for part in spec.parts]
    assert command_of(quick) == "klearning reproduce bayes_regret --quick"
    mine = make_spec(quick[0].world, {"name": "Random"}, quick[0].prior, episodes=200, protocol="bayes")
    assert is_drawn_here([mine])
    assert command_of([*quick, mine]) == ""
    elsewhere = make_spec({**mine.world, "states": 3}, mine.agent, mine.prior, episodes=200, protocol="bayes")
    assert not is_drawn_here([elsewhere])


def test_claims_are_checked_at_the_greatest_cap():
    runs = [
        unsolved(spec)
        for cap in (60, 90)
        for spec in LearningTime(depths=[4], seeds=1, cap=cap, left_out=False).runs().values()
    ]
    times = complete(times_of(runs, TEXT, 90), TEXT)
    assert list(times) == list(TEXT.contestants(left_out=False))
    assert {len(t) for by_depth in times.values() for t in by_depth.values()} == {1}
    few = [run for run in runs if run.spec.agent["name"] != "RLSVI"]
    assert complete(times_of(few, TEXT, 90), TEXT) == {}
    assert LearningTime().verdict(StoreSummary(None, runs, [])).extent == "1 seeds, cap 90"
    assert LearningTime().verdict(StoreSummary(None, few, [])) is None


def unsolved(spec):
    none = np.zeros(1)
    return runs_of(spec, {"values": none, "returns": none, "hits": none > 0.0, "optimal_value": np.asarray(1.0)})


def test_many_large_films_stay_within_the_budget():
    assert films.thinned(5, 100) == [0, 1, 2, 3, 4]
    most = films.MOST_OF_ONE * 3 // 4
    kept = films.thinned(1000, most // 10)
    assert kept[0] == 0
    assert kept[-1] == 999
    assert len(kept) <= 10
    assert films.thinned(5, most) == []


def test_a_store_with_more_than_fits(tmp_path):
    """Twenty runs of DeepSea(30) with 60 frames would be 5 MB: some are left out, and the page says so."""
    store = Store(tmp_path)
    times = tuple(range(1, 61))
    for seed in range(20):
        spec = make_spec(
            {"name": "deep_sea", "depth": 30}, {"name": "PSRL"}, episodes=60, seeds=[seed], snapshots=times
        )
        rng = np.random.default_rng(seed)
        parts = {"values": rng.random((60, 465)), "visits": rng.integers(0, 9, (60, 2, 465)).astype(float)}
        arrays = {
            "optimal_value": np.float64(1.0),
            "values": np.zeros(60),
            "returns": np.zeros(60),
            "hits": np.zeros(60, bool),
        }
        store.put(spec, arrays | {f"snapshot_{key}": x for key, x in parts.items()})
    found = summarise(store)
    page = build(found)
    assert len(page.encode()) < LIMIT
    left = films.reel(found).left_out
    assert list(left) == [films.NO_ROOM]
    count = left[films.NO_ROOM]
    assert f"{count} further runs with snapshots are left out: {count} to keep this file small." in page


def test_why_a_run_has_no_film(tmp_path):
    """Each reason is said with its own count."""
    store = Store(tmp_path)
    worlds = {
        films.MISSHAPEN: ({**SEA, "depth": 5}, 10),
        films.UNKNOWN: ({"name": "sold_out"}, 10),
        films.NO_CHOICE: ({"name": "bandit", "means": [0.5]}, 1),
    }
    good = make_spec(SEA, {"name": "PSRL"}, episodes=3, snapshots=(1, 3))
    for world, states in [*worlds.values(), worlds[films.UNKNOWN]]:
        seed = len(list(store.folders()))
        parts = {key: getattr(good, key) for key in Spec.__dataclass_fields__}
        spec = Spec(**parts | {"world": world if world["name"] == "sold_out" else make_spec(
            world, {"name": "PSRL"}, episodes=3).world, "seed": seed})  # fmt: skip
        numbers = {"values": np.zeros((2, states)), "visits": np.zeros((2, 2 if states > 1 else 1, states))}
        whole = {"optimal_value": np.float64(1.0), "values": np.zeros(3), "returns": np.zeros(3)}
        arrays = whole | {"hits": np.zeros(3, bool)} | {f"snapshot_{key}": x for key, x in numbers.items()}
        store.put(spec, arrays)
    summary = summarise(store)
    left_out = films.reel(summary).left_out
    unknown = next(why for why in left_out if why.startswith(films.UNKNOWN))
    assert "sold_out" in unknown
    assert left_out == {films.MISSHAPEN: 1, unknown: 2, films.NO_CHOICE: 1}
    assert "4 further runs with snapshots are left out: 2 of worlds that cannot be built here" in build(summary)


def test_what_a_section_says_without_data(tmp_path):
    empty = summarise(Store(tmp_path))
    assert sections.introductions(empty) == []
    assert sections.claims(empty) == sections.ranking(empty) == sections.depth(empty)[0] == ""


def test_the_command_writes_it(tmp_path):
    own(tmp_path / "store")
    target = tmp_path / "new" / "mine.html"
    done = klearning("report", str(tmp_path / "store"), "--output", str(target))
    assert done.returncode == 0, done.stderr
    assert "8 runs" in done.stdout
    assert target.read_text() == build(summarise(Store(tmp_path / "store")))


@pytest.mark.parametrize(
    ("args", "message"),
    [(["nowhere"], "is not a store"), (["store", "--output", "store/runs/x/y.html"], "cannot write")],
    ids=["no store", "no folder to write to"],
)
def test_what_goes_wrong_is_one_line(args, message, tmp_path):
    Store(tmp_path / "store")
    (tmp_path / "store" / "runs" / "x").write_text("in the way")
    done = klearning("report", *args, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
