"""The report in a real browser: it loads alone, plays, toggles, and shows the numbers of the store."""

import time

import numpy as np
import pytest

from klearning.lab.experiments.spec import Spec, make_spec, match_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import sweep
from klearning.lab.report import summarise, write
from klearning.numerics.display.markup import number
from tests.lab.report.test_report import HOSTILE
from tests.support.browser import Browser, missing
from tests.support.crafted_records import SCRIPT, changed, places, played, sound, write_record
from tests.support.papers import figure, tiny_store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def browser_there():
    if why := missing():
        pytest.skip(why)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tiny_store(tmp_path_factory)


@pytest.fixture(scope="module")
def address(store, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(store, path)
    return path.as_uri()


@pytest.fixture
def page(address):
    with Browser() as browser:
        browser.open(address)
        yield browser
        assert browser.log("browser") == []  # no error, no warning, nothing that the security policy refused
        assert browser.requests() == [address]


def until(browser, script, *args):
    """Wait until a script returns something true."""
    for _ in range(100):
        if found := browser.run(script, *args):
            return found
        time.sleep(0.05)
    raise AssertionError(f"never: {script}")


def test_it_loads_with_everything_drawn(page):
    shown = page.run(
        "return [...document.querySelectorAll('.plot')].filter(p => p.offsetParent).map(p => p.dataset.chart)"
    )
    assert shown == ["regret-0", "scaling-0", "planning"]
    for chart in shown:
        assert page.run("return document.querySelectorAll(`#${arguments[0]} path.curve`).length", chart) > 1
    assert page.run("return document.querySelectorAll('.panel canvas').length") == 3
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.run("return [...document.querySelectorAll('details')].every(d => !d.open)")


def pixels(browser, panel=1):
    """The picture that a panel shows, as an address."""
    return browser.run("return document.querySelector(`.panel:nth-child(${arguments[0]}) canvas`).toDataURL()", panel)


def tip(browser, place, canvas, x, y):
    """The lines that pop up where the pointer goes; a drawing that comes late may hide them, so it goes there again."""
    for _ in range(100):
        browser.hover(f"{place} {canvas}", x, y)
        if browser.run(
            "const t = document.querySelector(`${arguments[0]} .tip`); return !t.hidden && t.innerText", place
        ):
            return browser.text(f"{place} .tip").replace("\t", " ").splitlines()
        time.sleep(0.05)
    raise AssertionError(f"never a tip in {place}")


def choose(browser, css, beginning):
    """Choose the option of a list that begins so."""
    browser.run(
        "const s = document.querySelector(arguments[0]);"
        "s.value = [...s.options].find(o => o.text.startsWith(arguments[1])).value;"
        "s.dispatchEvent(new Event('change'))",
        css,
        beginning,
    )


def test_the_film_plays_and_pauses(page):
    before = pixels(page), page.text(".player output")
    page.click(".play")
    until(page, "return Number(document.querySelector('.player input[type=range]').value) > 4")
    assert "Pause" in page.text(".play")
    page.click(".play")
    assert "Play" in page.text(".play")
    after = pixels(page), page.text(".player output")
    assert after[0] != before[0]
    assert after[1] != before[1]
    time.sleep(0.5)
    assert (pixels(page), page.text(".player output")) == after


def test_the_film_is_moved_by_keys(page):
    slider = ".player input[type=range]"
    page.press(slider, "right", "right", "right")
    assert page.text(".player output") == "episode 4"
    page.press(slider, "left")
    assert page.text(".player output") == "episode 3"
    page.press(slider, "end")
    assert page.text(".player output") == "episode 1,000"
    page.press(slider, "space")  # at the end: plays again from the beginning
    until(page, "return document.querySelector('.play').textContent.includes('Pause')")
    page.press(slider, "space")
    assert "Play" in page.text(".play")


def test_the_film_says_what_the_store_says(page, store):
    page.press(".player input[type=range]", "end")
    for panel, name in enumerate(("KLearning", "SoftQLearning", "PSRL"), 1):
        spec = next(s for s in figure("watching").runs().values() if s.agent["name"] == name and s.seed == 0)
        record = store.get(spec)
        facts = page.text(f".panel:nth-child({panel}) .facts")
        assert facts.startswith(f"{number(record.hits.sum())} time")
        assert facts.endswith(f"regret {number(float(f'{record.last_regret[0]:.6g}'))}")
    spec = next(s for s in figure("watching").runs().values() if s.agent["name"] == "KLearning" and s.seed == 0)
    arrays = store.arrays(spec)
    said = tip(page, ".panel:nth-child(1)", "canvas", 0.975, 0.975)  # the goal, the last of 20 rows and columns
    assert said[0] == "row 20, column 20"
    assert said[2] == f"visits {arrays['snapshot_visits'][-1][:, -1].sum():.0f}"
    assert float(said[1].split()[1]) == pytest.approx(arrays["snapshot_values"][-1][-1], abs=1e-3)
    assert float(said[4].split()[-1]) == pytest.approx(arrays["snapshot_policy"][-1][1, -1], abs=0.01)


def test_value_visits_arrows_and_another_run(page):
    page.press(".player input[type=range]", "end")
    value = pixels(page)
    page.click("input[value=visits]")
    visits = pixels(page)
    page.click(".options input[type=checkbox]")
    bare = pixels(page)
    assert len({value, visits, bare}) == 3
    choose(page, ".panel select", "RLSVI")
    assert pixels(page) != bare
    assert "RLSVI" in page.run("return document.querySelector('.panel canvas').getAttribute('aria-label')")


def test_a_legend_toggle_hides_a_curve_and_its_band(page):
    label = "Thompson sampling"
    curves = f"return document.querySelectorAll('#regret-0 [data-label=\"{label}\"]').length"
    bands = "return document.querySelectorAll('#regret-0 .band').length"
    assert page.run(curves) == 1
    before = page.run(bands)
    button = "#regret-0 .legend li:nth-child(3) button"
    assert page.text(button) == label
    page.click(button)
    assert page.run(curves) == 0
    assert page.run(bands) < before
    assert page.run("return document.querySelector(arguments[0]).getAttribute('aria-pressed')", button) == "false"
    page.click(button)
    assert page.run(curves) == 1
    page.click("#regret-0 .legend .all")
    assert page.run("return document.querySelectorAll('#regret-0 .curve').length") == 0


def test_hover_shows_the_numbers_of_the_store(page, store):
    lines = tip(page, "#regret-0", ".canvas", 0.995, 0.4)
    assert lines[0] == "episode 1,000"
    specs = [s for s in figure("watching").runs().values() if s.agent["name"] == "PSRL"]
    mean = np.mean(np.concatenate([store.get(spec).last_regret for spec in specs]))
    assert any("Thompson sampling" in line and f" {number(float(f'{mean:.6g}'))} [" in line for line in lines)
    assert len(lines) == 7


def test_a_chart_is_read_by_keys(page):
    page.press("#scaling-0 .canvas", "right")
    said = page.run("return document.querySelector('#scaling-0 .spoken').textContent")
    assert said.startswith("depth L 4: ")
    assert "seeds solved" in said
    assert page.text("#scaling-0 .tip").startswith("depth 4")


def test_log_and_linear(page):
    path = "return document.querySelector('#regret-0 .curve').getAttribute('d')"
    linear = page.run(path)
    for axis in ("yLog", "xLog"):
        page.click(f"#regret-0 [data-axis={axis}]")
        changed = page.run(path)
        assert changed != linear
        assert "NaN" not in changed
        page.click(f"#regret-0 [data-axis={axis}]")
        assert page.run(path) == linear


def test_other_figures_are_chosen(page):
    choose(page, "#regret-gallery select", "MDPs drawn")
    name = page.run("return document.querySelector('#regret-gallery select').value")
    assert name != "regret-0"
    until(page, "return document.querySelectorAll(`#${arguments[0]} path.curve`).length > 1", name)
    assert page.run("return document.getElementById('regret-0').hidden")


def test_the_theme_switches(page):
    paper = "return getComputedStyle(document.body).backgroundColor"
    light, drawn = page.run(paper), pixels(page)
    page.click("#theme")
    assert page.run(paper) != light
    assert pixels(page) != drawn
    page.click("#theme")
    assert (page.run(paper), pixels(page)) == (light, drawn)


def test_diving(page):
    for _ in range(6):
        page.click(".dive button:nth-child(2)")
    assert page.text(".dive .count") == "Found it! 1 dive, treasure found 1 time."
    for side in (1, 2, 2, 2, 2, 2):
        page.click(f".dive button:nth-child({side})")
    assert page.text(".dive .count") == "Nothing there. 2 dives, treasure found 1 time."


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_screenshots(address, width, height, dark, tmp_path):
    """Nothing runs off the side; and there is a picture to look at, in pytest's folder."""
    with Browser(width, height, dark) as browser:
        browser.open(address)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        paper = browser.run("return getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(20, 24, 29)") == dark
        browser.screenshot(tmp_path / "report.png", whole=True)
        assert (tmp_path / "report.png").stat().st_size > 50_000
        assert browser.log("browser") == []


def test_without_a_script_everything_is_in_tables(address):
    """Scripts are off by preference; the driver's own still run, so the page can be asked."""
    with Browser(script=False) as browser:
        browser.open(address)
        assert "JavaScript is off" in browser.text("body")
        assert browser.run("return [...document.querySelectorAll('details')].every(d => d.open)")
        assert browser.run("return [...document.querySelectorAll('.exhibit table')].every(t => t.offsetHeight > 20)")
        assert browser.run("return document.querySelectorAll('.strip img').length") == 40
        assert browser.run(
            "return [...document.querySelectorAll('.strip img')].every(i => i.naturalWidth === 50 && i.alt)"
        )


def test_hostile_names_are_text(tmp_path):
    store = Store(tmp_path / "store")
    sea = {"name": "deep_sea", "depth": 4}
    spec = make_spec(sea, {"name": "PSRL"}, episodes=30, snapshots=(1, 30), protocol=HOSTILE)
    assert not sweep([spec], store).failed
    fields = {key: getattr(spec, key) for key in Spec.__dataclass_fields__} | {"agent": {"name": HOSTILE}}
    store.put(Spec(**fields), store.arrays(spec))
    path = tmp_path / "report.html"
    write(store, path)
    with Browser() as browser:
        browser.open(path.as_uri())
        assert any(HOSTILE in line for line in tip(browser, "#regret-0", ".canvas", 0.9, 0.4))
        assert HOSTILE in browser.text("#regret-0 .legend")
        assert browser.run("return document.querySelectorAll('script').length") == 2
        assert browser.run("return document.querySelectorAll('img[src=x]').length") == 0
        assert browser.log("browser") == []
        assert browser.requests() == [path.as_uri()]


def test_no_script_of_a_record_runs_wherever_it_stands(tmp_path):
    """In every text of a spec, in names of settings, in a world, an agent, a prior and an opponent."""
    store = played(tmp_path / "store")
    spec = sound()
    written = [write_record(store, changed(spec, path, SCRIPT)) for path in places(spec)]
    written += [write_record(store, changed(spec, (part, SCRIPT), 1.0)) for part in ("world", "agent", "prior")]
    written.append(write_record(store, {**spec, "opponent": {"name": SCRIPT}}))
    path = tmp_path / "report.html"
    summary = summarise(store)
    assert len(summary.runs) > 10
    write(store, path)
    assert len([name for name in written if name]) > 20
    with Browser() as browser:
        browser.open(path.as_uri())
        title = browser.run("return document.title")
        browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
        browser.run(
            "document.querySelectorAll('select').forEach(s => [...s.options].forEach(o => {"
            "s.value = o.value; s.dispatchEvent(new Event('change', {bubbles: true})) }))"
        )
        browser.run("document.querySelectorAll('main button').forEach(b => b.click())")
        assert until(browser, "return document.body.innerText.includes(arguments[0])", SCRIPT)
        assert browser.run("return document.title") == title != "owned"
        assert browser.run("return document.querySelectorAll('script').length") == 2
        assert browser.run("return document.querySelectorAll('img[src=x]').length") == 0
        assert [entry for entry in browser.log("browser") if entry["level"] != "INFO"] == []
        assert browser.requests() == [path.as_uri()]


def test_an_empty_store(tmp_path):
    write(Store(tmp_path / "store"), tmp_path / "report.html")
    with Browser() as browser:
        browser.open((tmp_path / "report.html").as_uri())
        assert "What is in this store" in browser.text("main")
        assert browser.log("browser") == []


@pytest.fixture(scope="module")
def match_address(tmp_path_factory):
    """A report of matches in rock-paper-scissors, three agents watched."""
    folder = tmp_path_factory.mktemp("matches")
    store, game = Store(folder / "store"), {"name": "rock_paper_scissors"}
    for name in ("KLearning", "UCB", "Thompson"):
        spec = match_spec(game, {"name": name}, opponent="best_response", episodes=30, snapshots=[1, 2, 5, 30])
        sweep([spec], store)
    write(store, folder / "report.html")
    return (folder / "report.html").as_uri()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_match_is_played(match_address, width):
    with Browser(width=width) as browser:
        browser.open(match_address)
        assert browser.run("return document.querySelectorAll('#matches canvas').length") == 3
        first = pixels(browser)
        assert browser.text("#matches output") == "round 1"
        browser.click("#matches .play")
        until(browser, "return document.querySelector('#matches output').textContent === 'round 30'")
        assert pixels(browser) != first
        label = browser.run("return document.querySelector('#matches canvas').getAttribute('aria-label')")
        assert label.startswith("K-learning, rock-paper-scissors, against a best response, round 30: ours rock 0.")
        with_trail = pixels(browser)
        browser.click("#matches input[type=checkbox]")
        assert pixels(browser) != with_trail
        lines = tip(browser, "#matches .panel", "canvas", 0.5, 0.6)
        assert lines[0] == "a mixture"
        assert lines[-1].startswith("could be taken 0.")
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        assert browser.log("browser") == []
