"""The report: one HTML file that shows what a store holds. It needs no network, and runs nothing."""

from pathlib import Path

from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary, summarise
from klearning.lab.figures.markup import join
from klearning.lab.report import films, mixtures, sections
from klearning.lab.report.document import LIMIT, as_json, document
from klearning.lab.report.plane import PlaneFilm
from klearning.numerics.files import write_file


def write(store: Store, path: Path) -> int:
    """Build the report of a store and write it whole; returns the number of runs in it."""
    summary = summarise(store)
    write_file(path, build(summary).encode(), parents=True)
    return len(summary.runs)


def build(summary: StoreSummary) -> str:
    """The page. The same store gives the same bytes."""
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
        "charts": {exhibit.chart.name: exhibit.chart.data() for exhibit in shown},
        **_projection(reel),
        **({"matches": _projection(matches)} if matches.films else {}),
    }
    lead = (
        "K-learning values not only what an action pays but also what is still to be found out by it. This page shows\n"
        f"what came of {len(summary.runs):,} stored runs: every result below is read from the store."
    )
    return document(join(body), [words.script for words in introductions], data, lead, "klearning report")


def _projection(reel: films.Reel) -> dict[str, object]:
    """What the script plays."""
    return {
        "films": reel.films,
        "stages": reel.stages,
        "opening": films.opening(reel.films) if reel.films else [],
    }


__all__ = ["LIMIT", "PlaneFilm", "as_json", "build", "summarise", "write"]
