"""Sentences of the paper that can be checked, and whether they hold in what was run."""

from typing import NamedTuple


class Claim(NamedTuple):
    """A sentence, its place, whether it holds, and the numbers behind that. None: not enough was run to tell."""

    place: str
    sentence: str
    holds: bool | None
    numbers: str

    @property
    def mark(self) -> str:
        return {True: "✓", False: "✗", None: "?"}[self.holds]


def markdown(claims: list[Claim], title: str) -> str:
    lines = [f"## {title}", "", "| | claim | where | numbers |", "|---|---|---|---|"]
    lines += [f"| {c.mark} | {c.sentence} | {c.place} | {c.numbers} |" for c in claims]
    return "\n".join(lines) + "\n"
