"""A comparison in words: tables as text, HTML and data, and one honest sentence."""

from typing import TYPE_CHECKING, Any

import numpy as np

from klearning.numerics.display.markup import Html, join, number, paragraph, table
from klearning.numerics.display.summaries import text_table
from klearning.numerics.statistics import FEWEST, Interval

if TYPE_CHECKING:
    from klearning.lab.comparison.compare import Comparison, Pair, Standing

MOST_PAIRS = 15  # printed
DIGITS = 3


def title(c: "Comparison") -> str:
    """The metric, the worlds, and how many runs there are of each."""
    measure, several = c.measure, len(c.worlds) > 1
    runs = [standing.runs for standing in c.standings]
    count = f"{runs[0]}" if len(set(runs)) == 1 else f"{min(runs)} to {max(runs)}"
    lengths = {sample.episodes for sample in c.samples} - {None}
    unit = f"{c.samples[0].unit}s"
    after = f"{', of' if measure.censored else ' after'} {lengths.pop():,} {unit}" if len(lengths) == 1 else ""
    where = f"{len(c.worlds)} worlds" if several else c.worlds[0]
    better = "less" if measure.lower else "more"
    what = measure.share if several else measure.words
    return f"{what}{after} in {where}, {count} runs each ({better} is better)"


def sentence(c: "Comparison") -> str:
    """Of the best, or of the one that all are compared with: whom it beats, who beats it, whom it is not told from."""
    focus = c.against or c.standings[0].agent
    own = [pair for pair in c.pairs if focus in (pair.a, pair.b)]
    risk = 1.0 - c.level
    wins: list[str] = []
    losses: list[str] = []
    open_: list[str] = []
    for pair in own:
        other = pair.b if pair.a == focus else pair.a
        if pair.adjusted > risk:
            open_.append(other)
        else:
            (wins if pair.ahead == focus else losses).append(other)
    parts = []
    if wins:
        parts.append(f"{focus} {c.measure.verb} {_list(wins)} ({_worst(own, wins)})")
    if losses:
        parts.append(
            f"{_list(losses)} {'are' if len(losses) > 1 else 'is'} better than {focus} ({_worst(own, losses)})"
        )
    if open_:
        parts.append(f"these runs do not tell {'it' if wins and not losses else focus} from {_list(open_)}")
    where = "In these worlds" if len(c.worlds) > 1 else f"In {c.worlds[0]}"
    rule = f", by Holm’s rule for {len(c.pairs)} comparisons" if len(c.pairs) > 1 else ""
    few = f" With fewer than {FEWEST} runs no interval is given." if min(s.runs for s in c.standings) < FEWEST else ""
    return f"{where} {'; '.join(parts)}. Tested at {risk:.2g}{rule}.{few}"


def _worst(pairs: list["Pair"], others: list[str]) -> str:
    """The p-value of the least sure of these pairs."""
    p = max(pair.adjusted for pair in pairs if pair.a in others or pair.b in others)
    return _p(p) if len(others) == 1 else _p(p).replace("=", "≤")


def _list(names: list[str]) -> str:
    shown = [f"‘{name}’" if "," in name and len(names) > 1 else name for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"


def shown(interval: Interval) -> str:
    """12.3 [11.1, 14.0]; – for an end that is not known."""
    estimate, low, high = interval
    if np.isnan(low) and np.isnan(high):
        return number(estimate, DIGITS)
    return f"{number(estimate, DIGITS)} [{_end(low)}, {_end(high)}]"


def _end(x: float) -> str:
    return "longer" if x == np.inf else number(x, DIGITS)


def place(standing: "Standing") -> str:
    return f"{standing.first}" if standing.first == standing.last else f"{standing.first}–{standing.last}"


def agent_table(c: "Comparison") -> tuple[list[str], list[list[str]]]:
    """Headings and rows: times have medians and shares, all else means."""
    if c.measure.censored:
        heads = ["agent", "place", "runs", "solved", *(["median"] if len(c.worlds) == 1 else [])]
        rows = [
            [s.agent, place(s), f"{s.runs}", shown(s.solved), *([shown(s.median)] if len(c.worlds) == 1 else [])]
            for s in c.standings
        ]
        return heads, rows
    gap = ["optimality gap"] if len(c.worlds) > 1 and not c.measure.lower else []  # of regret it is the mean
    heads = ["agent", "place", "runs", "mean", "middle half (IQM)", *gap]
    rows = [[s.agent, place(s), f"{s.runs}", shown(s.mean), shown(s.iqm), shown(s.gap)] for s in c.standings]
    return heads, [row[: len(heads)] for row in rows]


def pair_table(c: "Comparison") -> tuple[list[str], list[list[str]]]:
    heads = ["pair", *([] if c.measure.censored else ["difference"]), "first is better", "p (Holm)", "test"]
    rows = [
        [
            f"{pair.a} – {pair.b}",
            *([] if c.measure.censored else [shown(pair.difference)]),
            shown(pair.improvement),
            _p(pair.adjusted).removeprefix("p = ").removeprefix("p "),
            pair.test,
        ]
        for pair in c.pairs
    ]
    return heads, rows


def text(c: "Comparison") -> str:
    heads, rows = pair_table(c)
    more = [f"… and {len(rows) - MOST_PAIRS} more pairs: .frame('pairs')"] if len(rows) > MOST_PAIRS else []
    parts = [title(c), _lines(*agent_table(c)), "", _lines(heads, rows[:MOST_PAIRS]), *more, "", c.sentence]
    return "\n".join(parts)


def _lines(heads: list[str], rows: list[list[str]]) -> str:
    return text_table(dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True)))


def html(c: "Comparison") -> Html:
    """Two tables and the sentence."""
    return join([table(title(c), *agent_table(c)), table("Pairs", *pair_table(c)), paragraph(c.sentence)])


def columns(c: "Comparison", what: str) -> dict[str, list[Any]]:
    """One of the tables, a list per column."""
    if what == "runs":
        lines = [
            {"agent": sample.name, "world": world, "run": i, c.metric: float(x)}
            for sample in c.samples
            for world, numbers in sample.numbers.items()
            for i, x in enumerate(numbers)
        ]
    else:
        lines = [_flat(row._asdict()) for row in (c.standings if what == "agents" else c.pairs)]
    return {name: [line[name] for line in lines] for name in (lines[0] if lines else {})}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Interval):
            flat |= {name: value.estimate, f"{name}.low": value.low, f"{name}.high": value.high}
        else:
            flat[name] = value
    return flat


def data(c: "Comparison") -> dict[str, Any]:
    def plain(row: Any) -> dict[str, Any]:
        return {k: list(v) if isinstance(v, Interval) else v for k, v in row._asdict().items()}

    return {
        "metric": c.metric,
        "lower_is_better": c.measure.lower,
        "worlds": list(c.worlds),
        "level": c.level,
        "against": c.against,
        "agents": [plain(standing) for standing in c.standings],
        "pairs": [plain(pair) for pair in c.pairs],
        "runs": {sample.name: {w: x.tolist() for w, x in sample.numbers.items()} for sample in c.samples},
        "sentence": c.sentence,
    }
