"""The report: one HTML file that shows what a store holds. It needs no network, and runs nothing."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from klearning.experiments.store import Store
from klearning.experiments.summaries import StoreSummary, summarise
from klearning.figures.markup import Html, join
from klearning.report import films, mixtures, sections
from klearning.storage.files import write_whole
from klearning.version import __version__

SCRIPTS = ("drawing.js", "chart.js", "films.js", "simplex.js", "page.js")
LIMIT = 3_000_000  # bytes


def write(store: Store, path: Path) -> int:
    """Build the report of a store and write it whole; returns the number of runs in it."""
    summary = summarise(store)
    page = build(summary).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None
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
    return _page(join(body), [words.script for words in introductions], data, len(summary.runs))


def _projection(reel: films.Reel) -> dict[str, object]:
    """What the script plays."""
    return {
        "films": reel.films,
        "stages": reel.stages,
        "opening": films.opening(reel.films) if reel.films else [],
    }


def _page(body: Html, scripts: Sequence[str], data: Mapping[str, object], runs: int) -> str:
    style = _part("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join([*map(_part, SCRIPTS), *scripts]) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_part("report.html")).substitute(
        policy=policy, style=style, script=script, body=body, data=as_json(data), version=__version__, runs=f"{runs:,}"
    )


def _part(name: str) -> str:
    return (files("klearning.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def as_json(data: object) -> str:
    """JSON that may stand within a script element: no text can end it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


__all__ = ["LIMIT", "build", "summarise", "write"]
