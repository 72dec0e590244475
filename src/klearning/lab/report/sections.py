"""The report's story, one function a section: learning watched, regret, places, depth, claims, runs."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from klearning.lab.experiments.columns import Row, differences, settings
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.summaries import StoreSummary, by_contestant, together
from klearning.lab.papers import PAPERS, command_line
from klearning.lab.papers.claims import Verdict
from klearning.lab.papers.figure import Figure, Introduction, Protocol
from klearning.lab.papers.paper import Paper
from klearning.lab.report import films, paper_charts, regret_curves, scaling
from klearning.lab.report import ranking as ranking_tables
from klearning.lab.report.exhibits import Exhibit, gallery
from klearning.lab.report.films import Reel
from klearning.lab.report.labels import (
    agent_label,
    free_parameters,
    paper_labels,
    protocol_label,
    protocol_of,
    world_label,
)
from klearning.lab.report.settings import behind, seeds_label
from klearning.numerics.display.markup import Html, element, folded, number, paragraph, section, table

MOST_ROWS = 200


def introductions(summary: StoreSummary) -> list[Introduction]:
    """The papers' remarks on the worlds in this store, if it holds runs of a paper."""
    if not is_of_paper(summary):
        return []
    figures = [figure for paper in PAPERS.values() for figure in paper.figures]
    return [words for figure in figures if (words := figure.introduction(summary)) is not None]


def is_of_paper(summary: StoreSummary) -> bool:
    """Whether any run has a protocol of a paper; your own stores have none."""
    protocols = {run.spec.protocol for run in summary.runs}
    return any(protocol_of(name) or paper_labels(name) for name in protocols)


def watching(summary: StoreSummary, reel: Reel) -> Html:
    """Films, and the figures of papers; a section with nothing to show is left out, here and below."""
    title = "Watch them learn"
    if not reel.films:
        why, figures = films.left_out(reel), _papers(summary)
        parts = [*([paragraph(why.strip(), class_="absent")] if why else []), *([figures] if figures else [])]
        return section("watch", title, *parts) if parts else Html("")
    lead = paragraph(
        "Press play. The stronger a cell’s colour, the more it is worth in the agent’s own eyes (or the more often "
        "it was visited); arrows show where the agent would go. ", _first_hits(reel), class_="see",
    )  # fmt: skip
    caption = (
        "Every frame has its own scale. Values are the agent’s own: those of K-learning include the worth of "
        "exploring; Thompson sampling’s are those of the world it drew." + films.left_out(reel)
    )
    shown = [reel.runs[i] for i in films.opening(reel.films)]
    player = element("div", class_="films", id="films")
    tables = folded("The numbers as a table", *_film_tables(reel), class_="numbers")
    inner = [lead, player, element("figcaption", caption), tables, behind(shown)]
    return section("watch", title, element("figure", *inner, class_="exhibit"), _papers(summary))


def _first_hits(reel: Reel) -> str:
    chosen = [reel.films[i] for i in films.opening(reel.films)]
    if any(film["found"] is None for film in chosen):
        return ""
    last, prize = chosen[0]["t"][-1], reel.stages[chosen[0]["stage"]]["prize"]
    sentences = [
        f"{film['label']} first finds the {prize} in episode {film['first']:,}" if film["first"]
        else f"{film['label']} does not find it in {last:,} episodes"
        for film in chosen
    ]  # fmt: skip
    return "; ".join(sentences) + "."


def _film_tables(reel: Reel) -> list[Html]:
    tables = []
    for film in reel.films:
        rows = [
            [f"{film['t'][i]:,}", *([film["found"][i]] if film["found"] else []), number(film["regret"][i]),
             f"{number(film['low'][i])} to {number(film['high'][i])}"]
            for i in films.milestones(len(film["t"]))
        ]  # fmt: skip
        title = f"{film['label']}, seed {film['seed']}, {reel.stages[film['stage']]['title']}"
        heads = ["episode", *(["times found"] if film["found"] else []), "regret", "its values"]
        tables.append(table(title, heads, rows))
    return tables


def _papers(summary: StoreSummary) -> Html:
    """The figures that papers show on a page, if the store has them: one exhibit a protocol."""
    exhibits, options = [], []
    for paper in PAPERS.values():
        for protocol in (*paper.protocols.values(), None):
            own = [figure for figure in paper.figures if figure.protocol is protocol]
            parts = [(figure, part) for figure in own if (part := figure.section(summary)) is not None]
            if parts:
                name = f"figures-{paper.name}-{protocol.name if protocol else 'others'}"
                caption = element("figcaption", *_behind_figures(paper, protocol, [figure for figure, _ in parts]))
                exhibits.append(element("figure", *(part for _, part in parts), caption, id=name, class_="exhibit"))
                options.append(element("option", protocol.word if protocol else paper.title, value=name))
    if not exhibits:
        return Html("")
    chooser = element(
        "p", element("label", "The paper’s figures, ", element("select", *options)), class_="chooser", hidden=True
    )
    return element("div", chooser if len(options) > 1 else "", *exhibits, class_="gallery")


def _behind_figures(paper: Paper, protocol: Protocol | None, figures: list[Figure[Any]]) -> list[Html | str]:
    """Settings, what figures say of themselves, and the command that makes them."""
    captions = list(dict.fromkeys(figure.caption for figure in figures if figure.caption))
    notes = "; ".join([*([f"Protocol {protocol_label(protocol.name)}"] if protocol else []), *captions])
    words = " ".join(figure.name for figure in figures) + (f" --protocol {protocol.name}" if protocol else "")
    return [f"{notes} " if notes else "", element("code", command_line(paper, words))]


def regret(summary: StoreSummary) -> tuple[Html, list[Exhibit]]:
    title, (shown, total) = "What learning costs", regret_curves.exhibits(summary)
    if not shown:
        return Html(""), []
    words = paragraph(
        "Regret is what was lost by not knowing the world: the best possible value minus that of the policy followed, "
        "exact, summed over episodes."
    )
    return section("regret", title, words, gallery("regret", "Where:", shown), _more(len(shown), total)), shown


def papers(summary: StoreSummary) -> tuple[Html, list[Exhibit]]:
    """Studies of papers that keep many small runs as one; nothing if the store has none."""
    shown = paper_charts.exhibits(summary)
    if not shown:
        return Html(""), []
    return section("papers", "What papers compare", gallery("papers", "Figure:", shown)), shown


def ranking(summary: StoreSummary) -> Html:
    """Places by tests: nothing is ranked by its mean alone."""
    name, shown = "Who is ahead, and how sure that is", ranking_tables.exhibits(summary)
    if not shown:
        return Html("")
    words = paragraph(
        "The best mean of several is partly luck. Two agents are told apart if a test says so, after a correction "
        "for the number of tests (Holm’s rule); if none does, both ranks stay open."
    )
    return section("ranking", name, words, gallery("ranking", "Where:", shown))


def depth(summary: StoreSummary) -> tuple[Html, list[Exhibit]]:
    title, (shown, total) = "When the sea gets deeper", scaling.exhibits(summary)
    cost = scaling.planning(summary)
    parts: list[object] = [gallery("depth", "Settings:", shown), _more(len(shown), total)] if shown else []
    drawn = [*shown, *([cost] if cost else [])]
    return section("depth", title, *parts, cost.html() if cost else "") if drawn else Html(""), drawn


def _more(shown: int, total: int) -> Html:
    return paragraph(f"{total - shown} smaller comparisons are in the list of runs.") if total > shown else Html("")


def claims(summary: StoreSummary) -> Html:
    title = "Which of the paper’s sentences hold"
    verdicts = {paper: list(paper.verdicts(summary)) for paper in PAPERS.values()}
    told = {paper: listed for paper, listed in verdicts.items() if listed}
    if not told:
        return Html("")
    parts = [
        part for paper, listed in told.items() for part in _paper_claims(paper, listed, heading=len(told) > 1)
    ]  # fmt: skip
    return section("claims", title, *parts)


def _paper_claims(paper: Paper, verdicts: list[Verdict], heading: bool) -> Iterator[Html]:
    if heading:
        yield element("h3", paper.title)
    marks = [claim.mark for verdict in verdicts for claim in verdict.claims]
    held, failed, open_ = (marks.count(mark) for mark in "✓✗?")
    lead = f"{held} hold in what was run, {failed} do not" + (f", {open_} cannot be told from it." if open_ else ".")
    yield paragraph(" ".join(filter(None, (lead, paper.remark))), class_="see")
    for name, extent, listed in verdicts:
        rows = [[claim.sentence, _mark(claim.holds), claim.place, claim.numbers or "–"] for claim in listed]
        heads = ["the paper says", "holds", "where", "numbers"]
        yield table(f"{name} – {extent}", heads, rows, class_="claims")
    notes = [paragraph(element("strong", p.name), ": ", p.note) for p in paper.protocols.values()]
    command = paragraph("Command: ", element("code", command_line(paper)))
    yield folded("Settings and command", *notes, command)


def _mark(holds: bool | None) -> Html:
    sign, word, kind = {
        True: ("✓", "holds", "yes"),
        False: ("✗", "does not hold", "no"),
        None: ("?", "cannot be told", "open"),
    }[holds]
    return element(
        "span",
        element("span", sign, aria_hidden="true"),
        " ",
        element("span", word, class_="word"),
        class_=f"mark {kind}",
    )


def runs(summary: StoreSummary) -> Html:
    """Everything in the store, so that nothing that the figures leave out is hidden."""
    companies = [members for group in together(summary.runs, "seed") for members in by_contestant(group)]
    rows = []
    for members, own in zip(companies, _own_settings([runs[0].spec for runs in companies]), strict=True):
        spec = members[0].spec
        solved = f"{sum(np.isfinite(run.solved[0]) for run in members)} of {len(members)}"
        seeds = seeds_label([run.spec.seed for run in members])
        where = world_label(spec, *free_parameters(spec))
        length = f"{spec.episodes:,}{' or solved' if spec.stop == 'solved' else ''}"
        name = spec.protocol or "–"
        found = "no goal" if spec.name in summary.goalless else solved
        rows.append([where, agent_label(spec), name, own or "–", length, seeds, found])
    rows.sort(key=lambda row: json.dumps(row))
    heads = ["world", "agent", "protocol", "prior and other settings that differ", "episodes", "seeds", "solved"]
    if all(row[3] == "–" for row in rows):
        heads, rows = [*heads[:3], *heads[4:]], [[*row[:3], *row[4:]] for row in rows]
    parts: list[object] = [
        folded(
            f"All {len(summary.runs):,} runs", table("Runs of this store", heads, rows[:MOST_ROWS]), class_="numbers"
        )
    ]
    if len(rows) > MOST_ROWS:
        parts.append(paragraph(f"The first {MOST_ROWS} of {len(rows)} lines; klearning store ls lists them all."))
    if summary.unreadable:
        count = len(summary.unreadable)
        lead = (
            f"{count} runs could not be read and are left out:"
            if count > 1
            else "One run could not be read and is left out:"
        )
        listed = element("ul", *(element("li", line) for line in summary.unreadable[:20]))
        parts += [element("div", paragraph(lead), listed, class_="absent")]
    return section("runs", "What is in this store", *parts)


def _own_settings(specs: list[Spec]) -> list[str]:
    """Settings that tell runs of one agent in one world apart, besides those with their own column."""
    hidden = ("episodes", "stop", "protocol", "seed", "snapshots")
    kept = [{name: value for name, value in settings(spec).items() if name not in hidden} for spec in specs]
    keys = [json.dumps([spec.world, spec.agent], sort_keys=True) for spec in specs]
    groups: dict[str, list[Row]] = {}
    for key, row in zip(keys, kept, strict=True):
        groups.setdefault(key, []).append(row)
    return [
        ", ".join(f"{name} {value}" for name, value in differences([row, *groups[key]])[0].items())
        for key, row in zip(keys, kept, strict=True)
    ]
