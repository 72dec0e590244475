"""Records by strangers: an odd one is named and skipped, or shown as it is; it hides no other and steers nothing."""

import csv
import io
import json
import shutil

import pytest

from klearning.cli.streams import visible
from klearning.lab.experiments.columns import columns, differences
from klearning.lab.experiments.spec import make_spec, spec_from_json
from klearning.lab.experiments.store import Store
from klearning.lab.report import build, summarise
from klearning.lab.report.proofs import LARGEST, _size
from klearning.lab.report.settings import seeds_label
from klearning.numerics.files import json_from
from tests.support.commands import klearning
from tests.support.crafted_records import (
    ESCAPES,
    FORMULAS,
    SCRIPT,
    changed,
    crafted_records,
    played,
    sound,
    write_record,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return played(tmp_path_factory.mktemp("played") / "store").path


@pytest.fixture
def store(whole, tmp_path):
    return Store(shutil.copytree(whole, tmp_path / "store"))


BROKEN = {
    "an agent without a name": (("agent",), {}),
    "an agent that is a list": (("agent",), ["KLearning"]),
    "a bonus that is a table of tables": (("agent", "bonus"), {"a": {}}),
    "a depth of 10**25": (("world", "depth"), 10**25),
    "a protocol that is a number": (("protocol",), 3),
    "snapshots that fall": (("snapshots",), [2, 1]),
    "half a sign": (("protocol",), "\ud800"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN)
def test_a_bad_record_is_named_and_hides_no_other(case, store, tmp_path):
    before = len(store.rows())
    name = write_record(store, changed(sound(), *BROKEN[case]))
    for words in (("ls",), ("export", str(tmp_path / "x.csv"))):
        done = klearning("store", *words, "--store", str(store.path))
        assert done.returncode == 0, done.stderr
        assert f"run {name[:12]} in {store.path} is broken: " in done.stderr
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 1 + before
    done = klearning("report", str(store.path), "-o", str(tmp_path / "x.html"), "--json")
    assert (done.returncode, json.loads(done.stdout)["runs"]) == (0, before)
    assert f"run {name[:12]} in" in done.stderr
    assert "One run could not be read" in (tmp_path / "x.html").read_text()


def test_many_bad_records_are_counted(store):
    for seed in range(25):
        write_record(store, {**sound(), "seed": seed, "agent": {}})
    done = klearning("store", "ls", "--store", str(store.path))
    assert done.stderr.count("is broken") == 20
    assert "and 5 more broken runs" in done.stderr


def test_a_list_in_the_place_of_a_bonus_is_shown(store):
    """It may be a setting of an agent that is not registered here."""
    write_record(store, changed(sound(), ("agent", "bonus"), [1, 2]))
    assert "bonus [1, 2]" in build(summarise(store))


@pytest.mark.parametrize("path", [("protocol",), ("agent", "name"), ("world", "name"), ("agent", "bonus")])
def test_escapes_reach_no_terminal(path, store):
    """Neither those of a terminal, nor lines that are none, nor letters that turn others around."""
    write_record(store, changed(sound(), path, f"{ESCAPES}\n0123abcd\r\u202e[red]x"))
    for words in (("ls",), ("ls", "--json"), ("verify",), ("gc",)):
        done = klearning("store", *words, "--store", str(store.path))
        shown = (done.stdout + done.stderr).replace("\n", "")
        assert shown.isprintable(), shown
        assert not [line for line in done.stdout.splitlines() if line.startswith("0123abcd")]
    listed = klearning("store", "ls", "--store", str(store.path)).stdout
    assert r"\x1b[2J\x1b]0;owned\x07\n0123abcd\r\u202e[red]x" in listed


def test_an_error_that_names_a_file_steers_no_terminal(tmp_path):
    done = klearning("store", "ls", "--store", f"{tmp_path}/{ESCAPES}")
    assert done.stderr.replace("\n", "").isprintable()
    (tmp_path / "set-aside").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "set-aside" / f"a\n{ESCAPES[1:4]}\x9bb").write_text("")
    removed = klearning("store", "gc", "--store", str(tmp_path)).stdout
    assert removed == r"set-aside/a\n[2J\x9bb" + "\n1 removed\n"


def test_what_is_visible_stays_as_it_is():
    for text in ("", "deep_sea(depth=3)", "✓ τ = 0.3, “naïve” – 10⁻³", "日本語"):
        assert visible(text) == text
    assert visible("a\tb\x00\x7f\u200b\ud800") == r"a\tb\x00\x7f\u200b\ud800"


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_exported_as_text(text, store, tmp_path):
    write_record(store, changed(changed(sound(), ("protocol",), text), ("agent", text), text))
    store.export(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        heads, *rows = csv.reader(file)
    cells = [cell for row in (heads, *rows) for cell in row]
    assert f"'{text}" in cells
    assert text not in cells
    assert f"agent.{text}" in heads


def test_numbers_are_exported_as_numbers(store, tmp_path):
    """A column of numbers and words is text; a number in it is one all the same."""
    for value in (-3, -0.5, "+7", "far"):
        write_record(store, changed(sound(), ("agent", "odd"), value))
    store.export(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        odd = {row["agent.odd"] for row in csv.DictReader(file)}
    assert odd == {"", "-3", "-0.5", "+7", "far"}
    regret = {row["regret"] for row in csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text()))}
    assert not [cell for cell in regret if cell.startswith("'")]


@pytest.mark.thin(9)
@pytest.mark.parametrize("first", range(8))
def test_whatever_a_record_says(first, store):
    """Some of the records that `python -m bench.crafted` tries one by one, all in one store."""
    before = {row["name"] for row in store.rows()}
    written = [write(store) for i, (_, write) in enumerate(crafted_records()) if i % 64 == 8 * first]
    listing = store.listing()
    names = {row["name"] for row in listing.rows}
    assert before - set(written) <= names
    assert len(names | {line.split()[1] for line in listing.broken}) == len(before | {*filter(None, written)})
    assert columns(listing.rows)
    summary = summarise(store)
    assert len(summary.runs) + len(summary.unreadable) == len(list(store.folders()))
    page = build(summary)
    assert SCRIPT not in page
    page.encode()


def test_a_world_is_built_for_a_line_of_text_only_if_it_is_small():
    small = make_spec({"name": "deep_sea", "depth": 50}, {"name": "KLearning"}, episodes=4)
    assert _size(small.world) < LARGEST
    for world in ({"states": 1000, "actions": 1000, "horizon": 1000}, {"depth": 10**5}, {"means": [10.0] * 9}):
        assert _size({"name": "x", "seed": 10**30, **world}) > LARGEST


def test_seeds_that_are_far_apart_are_named():
    assert seeds_label([0, 1, 2, 3]) == "0–3 (4)"
    assert seeds_label([0, 1, 10**25]) == f"0, 1, {10**25}"


def test_half_a_sign_is_no_text():
    assert json_from(r'"\ud83d\ude00"') == "😀"
    for text in (r'"\ud800"', rb'{"\uDFFF": 1}'):
        with pytest.raises(ValueError, match="surrogates"):
            json_from(text)


def test_a_list_of_many_settings_takes_little_time():
    """As many comparisons as there are cells, and not as many as there are pairs of rows."""
    rows = [{"agent": "a" if i % 2 else "b", "agent.x": i, "world": "w"} for i in range(20_000)]
    told = differences(rows)
    assert told[7] == {"agent": "a", "agent.x": 7}


def test_a_spec_says_what_is_wrong_with_it():
    text = json.dumps(changed(sound(), ("agent", "bonus"), {"a": {}}), sort_keys=True, separators=(",", ":"))
    with pytest.raises(ValueError, match="spec agent bonus a is a table, or nested too deeply"):
        spec_from_json(text)
