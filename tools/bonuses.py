"""The table of bonuses on the pages, made from `klearning.tabular.optimism.bonuses`: wherever a page has the two marks.

python -m tools.bonuses
"""

from collections.abc import Sequence
from pathlib import Path

from klearning.tabular.optimism.bonuses import BONUSES, Bonus

ROOT = Path(__file__).parents[1]
BEGIN = "<!-- bonuses: made by python -m tools.bonuses -->"
END = "<!-- end of bonuses -->"

HEAD = ("`bonus`", "c(s,a)", "what it is", "`bound` is an upper bound by proof", "needs a span", "schedule")


def main() -> None:
    for page in pages():
        page.write_text(rewritten(page.read_text()))


def pages() -> list[Path]:
    """Those that have the marks."""
    return [page for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]) if BEGIN in page.read_text()]


def rewritten(text: str) -> str:
    """A page with the table of today between its marks."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def table() -> str:
    return "\n".join(line(cells) for cells in (HEAD, ("---",) * len(HEAD), *map(row, BONUSES.values())))


def row(bonus: Bonus) -> tuple[str, ...]:
    marks = ("yes" if fact else "no" for fact in (bonus.needs_span, bonus.schedule))
    return f"`{bonus.name}`", bonus.c, bonus.meaning, bonus.proved, *marks


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
