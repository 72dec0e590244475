"""The report's story, one function a section: what DeepSea is, learning watched, regret, depth, claims, runs."""

import json

from klearning.papers.odonoghue2021 import heatmaps
from klearning.papers.odonoghue2021.protocols import PROTOCOLS
from klearning.report import commands, films, paper, regret_curves, scaling
from klearning.report.exhibits import Exhibit, gallery
from klearning.report.films import Reel
from klearning.report.gather import Gathered, by_agent, together
from klearning.report.labels import agent_label, protocol_label, protocol_word, world_label
from klearning.report.markup import Html, element, folded, number, paragraph, table
from klearning.report.pictures import sketch, strip
from klearning.report.settings import behind, seeds_label

MOST_ROWS = 200
MILESTONES = 8


def section(name: str, title: str, *children: object) -> Html:
    return element("section", element("h2", title), *children, id=name, aria_label=title)


def deep_sea(gathered: Gathered) -> Html:
    if not any(trial.spec.world["name"] == "deep_sea" for trial in gathered.trials):
        return Html("")
    words = [
        paragraph(
            "A diver sinks one row a step and swims left or right. Right costs a little; left is free. Only the diver "
            "who goes right ", element("em", "every time"), " finds the treasure, worth 1, in the last corner."
        ),
        paragraph(
            "Somebody who flips coins finds it once in 2", element("sup", "L"), " dives, L being the depth: at 20, "
            "once in a million. Trying at random is hopeless; one has to explore on purpose."
        ),
        element("p", class_="dive", hidden=True),
    ]  # fmt: skip
    return section(
        "deep-sea",
        "A treasure that chance does not find",
        element("div", sketch(), element("div", *words), class_="beside"),
    )


def watching(gathered: Gathered, reel: Reel) -> Html:
    title = "Watch them learn"
    if not reel.films:
        why = "No run of this store kept snapshots that can be shown; a sweep file asks for them with ‘snapshots’."
        return section("watch", title, paragraph("; ".join(reel.unknown) or why, class_="absent"))
    lead = paragraph(
        "Press play. The stronger a cell’s colour, the more it is worth in the agent’s own eyes (or the more often "
        "it was visited); arrows show where the agent would go. ", _first_hits(reel), class_="see",
    )  # fmt: skip
    left = (
        f" {reel.left_out} further runs with snapshots are left out to keep this file small." if reel.left_out else ""
    ) + "".join(f" Without a film: {why}." for why in reel.unknown)
    caption = (
        "Every frame has its own scale, as in the paper’s figures 3 and 4. Values are the agent’s own: those of "
        "K-learning include the worth of exploring; Thompson sampling’s are those of the world it drew." + left
    )
    shown = [reel.trials[i] for i in films.opening(reel.films)]
    player = element("div", class_="films", id="films")
    tables = folded("The numbers as a table", *_film_tables(reel), class_="numbers")
    inner = [lead, player, element("figcaption", caption), tables, behind(shown, commands.of_regret(shown))]
    return section("watch", title, element("figure", *inner, class_="exhibit"), _strips(gathered))


def _first_hits(reel: Reel) -> str:
    chosen = [reel.films[i] for i in films.opening(reel.films)]
    if any(film["found"] is None for film in chosen):
        return ""
    last = chosen[0]["t"][-1]
    said = [
        f"{film['label']} first finds the treasure in episode {film['first']:,}" if film["first"]
        else f"{film['label']} does not find it in {last:,} episodes"
        for film in chosen
    ]  # fmt: skip
    return "; ".join(said) + "."


def _film_tables(reel: Reel) -> list[Html]:
    found = []
    for film in reel.films:
        at = sorted({round(i * (len(film["t"]) - 1) / (MILESTONES - 1)) for i in range(MILESTONES)})
        rows = [
            [f"{film['t'][i]:,}", *([film["found"][i]] if film["found"] else []), number(film["regret"][i]),
             f"{number(film['low'][i])} to {number(film['high'][i])}"]
            for i in at
        ]  # fmt: skip
        title = f"{film['label']}, seed {film['seed']}, {reel.stages[film['stage']]['title']}"
        heads = ["episode", *(["times found"] if film["found"] else []), "regret", "its values"]
        found.append(table(title, heads, rows))
    return found


def _strips(gathered: Gathered) -> Html:
    """The paper's figures 3 and 4, where the store has them: one exhibit a protocol."""
    exhibits, options = [], []
    for protocol in PROTOCOLS.values():
        rows = []
        for figure, who in (("figure3", "K-learning"), ("figure4", "soft Q-learning")):
            record = paper.heat_record(gathered, figure, protocol)
            if record is not None and "snapshot_values" in record.arrays:
                rows += [
                    element("h3", f"Figure {figure[-1]}: {who} at depth {record.spec.world['depth']}"),
                    strip(record),
                ]
        if rows:
            note = f"Protocol {protocol_label(protocol.name)}; seed {heatmaps.SEED}; each panel has its own scale. "
            command = element("code", f"klearning reproduce figure3 figure4 --protocol {protocol.name}")
            name = f"strips-{protocol.name}"
            exhibits.append(element("figure", *rows, element("figcaption", note, command), id=name, class_="exhibit"))
            options.append(element("option", protocol_word(protocol.name), value=name))
    if not exhibits:
        return Html("")
    chooser = element(
        "p", element("label", "The paper’s figures, ", element("select", *options)), class_="chooser", hidden=True
    )
    return element("div", chooser if len(options) > 1 else "", *exhibits, class_="gallery")


def regret(gathered: Gathered) -> tuple[Html, list[Exhibit]]:
    title, (found, total) = "What learning costs", regret_curves.exhibits(gathered)
    if not found:
        why = (
            "No run of this store went on to its last episode with its policies evaluated: there is no regret to draw."
        )
        return section("regret", title, paragraph(why, class_="absent")), []
    words = paragraph(
        "Regret is what was lost by not knowing the world: the best possible value minus that of the policy followed, "
        "exact, summed over episodes."
    )
    return section("regret", title, words, gallery("regret", "Where:", found), _more(len(found), total)), found


def depth(gathered: Gathered) -> tuple[Html, list[Exhibit]]:
    title, (found, total) = "When the sea gets deeper", scaling.exhibits(gathered)
    cost = scaling.planning(gathered)
    parts: list[object] = [gallery("depth", "Settings:", found), _more(len(found), total)]
    if not found:
        parts = [paragraph("This store has no runs at two depths or more that can be compared.", class_="absent")]
    shown = [*found, *([cost] if cost else [])]
    return section("depth", title, *parts, cost.html() if cost else ""), shown


def _more(shown: int, total: int) -> Html:
    return paragraph(f"{total - shown} smaller comparisons are in the list of runs.") if total > shown else Html("")


def claims(gathered: Gathered) -> Html:
    title, found = "Which of the paper’s sentences hold", list(paper.claims(gathered))
    if not found:
        why = "This store does not hold the paper’s experiments, so none of its claims can be checked here."
        return section("claims", title, paragraph(why, class_="absent"))
    marks = [claim.mark for _, _, listed in found for claim in listed]
    held, failed, told = (marks.count(mark) for mark in "✓✗?")
    lead = (
        f"{held} hold in what was run, {failed} do not" + (f", {told} cannot be told from it." if told else ".")
        + " ‘Fitted’ settings were tried until the paper’s sentences on depth 50 came true; "
        "neither setting is known to be the author’s."
    )  # fmt: skip
    tables = []
    for name, extent, listed in found:
        rows = [[claim.sentence, _mark(claim.holds), claim.place, claim.numbers or "–"] for claim in listed]
        tables.append(
            table(f"{name} – {extent}", ["the paper says", "holds", "where", "numbers"], rows, class_="claims")
        )
    notes = [paragraph(element("strong", p.name), ": ", p.note) for p in PROTOCOLS.values()]
    command = paragraph("Command: ", element("code", "klearning reproduce"))
    return section(
        "claims", title, paragraph(lead, class_="see"), *tables, folded("Settings and command", *notes, command)
    )


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


def runs(gathered: Gathered) -> Html:
    """Everything in the store, so that nothing that the figures leave out is hidden."""
    groups = together(gathered.trials, "seed")
    rows = []
    for group in groups:
        for members in by_agent(group).values():
            spec = members[0].spec
            solved = sum(t.solved == t.solved for t in members)
            seeds = seeds_label([t.spec.seed for t in members])
            where = world_label(spec.world, *(["seed"] if spec.world["name"] == "random_mdp" else []))
            length = f"{spec.episodes:,}{' or solved' if spec.stop == 'solved' else ''}"
            name = spec.protocol or "–"
            rows.append([where, agent_label(spec), name, length, seeds, f"{solved} of {len(members)}"])
    rows.sort(key=lambda row: json.dumps(row))
    heads = ["world", "agent", "protocol", "episodes", "seeds", "solved"]
    parts: list[object] = [
        folded(
            f"All {len(gathered.trials):,} runs", table("Runs of this store", heads, rows[:MOST_ROWS]), class_="numbers"
        )
    ]
    if len(rows) > MOST_ROWS:
        parts.append(paragraph(f"The first {MOST_ROWS} of {len(rows)} lines; klearning store ls lists them all."))
    if gathered.unreadable:
        count = len(gathered.unreadable)
        said = (
            f"{count} runs could not be read and are left out:"
            if count > 1
            else "One run could not be read and is left out:"
        )
        listed = element("ul", *(element("li", line) for line in gathered.unreadable[:20]))
        parts += [element("div", paragraph(said), listed, class_="absent")]
    return section("runs", "What is in this store", *parts)
