"""The report: one HTML file that shows what a store holds. It needs no network, and runs nothing."""

from pathlib import Path

from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary, summarise
from klearning.lab.report import films, mixtures, sections
from klearning.lab.report.charts import chart_data
from klearning.lab.report.document import LIMIT, TITLE, as_json, document
from klearning.lab.report.labels import agent_label, world_label
from klearning.lab.report.plane import PlaneFilm
from klearning.numerics.display.markup import join
from klearning.numerics.files import write_file


def write(store: Store, path: Path, title: str = "") -> int:
    """Build the report of a store and write it whole; returns the number of runs in it."""
    summary = summarise(store)
    write_file(path, build(summary, title).encode(), parents=True)
    return len(summary.runs)


def build(summary: StoreSummary, title: str = "") -> str:
    """The page. The same store gives the same bytes. Without a ``title`` one's own store is called by its folder."""
    reel, matches = films.reel(summary), films.reel(summary, "game", mixtures.match_film)
    regret, regret_exhibits = sections.regret(summary)
    depth, depth_exhibits = sections.depth(summary)
    papers, paper_exhibits = sections.papers(summary)
    introductions = sections.introductions(summary)
    body = [
        *(words.markup for words in introductions),
        sections.watching(summary, reel),
        mixtures.playing(matches),
        regret,
        sections.ranking(summary),
        depth,
        papers,
        sections.claims(summary),
        sections.runs(summary),
    ]
    shown = [*regret_exhibits, *depth_exhibits, *paper_exhibits]
    data = {
        "charts": {exhibit.name: chart_data(exhibit.plot) for exhibit in shown if exhibit.plot},
        **_projection(reel),
        **({"matches": _projection(matches)} if matches.films else {}),
    }
    lead = f"This page shows {len(summary.runs):,} stored runs: every result below is read from the store."
    name = title or f"Runs in {summary.store.path.resolve().name}"
    if not title and sections.is_of_paper(summary):
        name = TITLE
        lead = f"K-learning values not only what an action pays but also what is still to be found out by it. {lead}"
    return document(join(body), [words.script for words in introductions], data, lead, "klearning report", name)


def film(summary: StoreSummary) -> str:
    """A page with films alone, of the runs of a store that kept snapshots; ValueError if there are none."""
    reel, matches = films.reel(summary), films.reel(summary, "game", mixtures.match_film)
    if not (reel.films or matches.films):
        why = ", ".join([*reel.left_out, *matches.left_out]) or "of a single episode"
        raise ValueError(f"there are no films of runs {why}: leave --film out")
    body = [sections.watching(summary, reel), mixtures.playing(matches)]
    data = {"charts": {}, **_projection(reel), **({"matches": _projection(matches)} if matches.films else {})}
    spec = (reel.runs or matches.runs)[0].spec
    title, unit = f"{agent_label(spec)} in {world_label(spec)}", "episodes" if reel.films else "rounds"
    return document(join(body), [], data, f"Seed {spec.seed}, {spec.episodes:,} {unit}.", "klearning run --film", title)


def _projection(reel: films.Reel) -> dict[str, object]:
    """The films that the script plays."""
    return {
        "films": reel.films,
        "stages": reel.stages,
        "opening": films.opening(reel.films) if reel.films else [],
    }


__all__ = ["LIMIT", "TITLE", "PlaneFilm", "as_json", "build", "film", "summarise", "write"]
