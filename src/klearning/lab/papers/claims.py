"""Sentences of a paper that can be checked, and whether they hold in what was run."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from klearning.numerics.statistics import Interval


class Claim(NamedTuple):
    """A sentence, its place, whether it holds, and the numbers behind that. None: not enough was run to tell."""

    place: str
    sentence: str
    holds: bool | None
    numbers: str

    @property
    def mark(self) -> str:
        return {True: "✓", False: "✗", None: "?"}[self.holds]

    def data(self) -> dict[str, str | bool | None]:
        """As JSON has it; NumPy's truth is Python's there."""
        return {**self._asdict(), "holds": None if self.holds is None else bool(self.holds)}


class Verdict(NamedTuple):
    """The claims of one figure, and what they were checked in."""

    title: str
    extent: str
    claims: list[Claim]


def claims_page(claims: Sequence[Claim], title: str) -> str:
    """A heading and a table, in Markdown."""
    rows = [(c.mark, c.sentence, c.place, c.numbers) for c in claims]
    return f"## {title}\n\n{table(('', 'claim', 'where', 'numbers'), rows)}"


def interval_text(x: Interval, form: str = ".0f") -> str:
    """12 [10, 14]."""
    return f"{x.estimate:{form}} [{x.low:{form}}, {x.high:{form}}]"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown; the first column has no name where its head is empty."""
    lines = [f"| {' | '.join(heads)} |" if heads[0] else f"| | {' | '.join(heads[1:])} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
