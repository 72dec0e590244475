"""Fill the tables of the pages from data files: `make pages`.

A page names a table by two comments, and what stands between them is written by this tool:

    <!-- table: performance.first_calls -->
    <!-- end -->

The numbers are in docs/evidence/data/performance.first_calls.json, which the measuring command writes (`bench.record`).
A page may show a part of a file, or arrange it by two of its columns:

    <!-- table: protocols.text: agent; L = 10; L = 20 -->
    <!-- table: games.prior: rows size; columns agent; cells 2,000 -->

A page that only links to a file shows it too: `[data](data/games.regret.json)`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import bonuses

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "evidence" / "data"
MARKS = re.compile(r"^<!-- table: ([\w.]+)(?:: ([^\n]+))? -->\n.*?<!-- end -->", re.S | re.M)
LINKS = re.compile(r"\]\((?:\.\./)*(?:[\w/]+/)?data/([\w.]+)\.json\)")
ARRANGED = re.compile(r"rows (.+); columns (.+); cells (.+)")
FIELDS = ("command", "machine", "commit", "date", "headings", "rows")


def main() -> None:
    bonuses.main()
    for page in pages():
        page.write_text(rendered(page.read_text()))


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])


def tables(text: str) -> list[str]:
    """Names of the tables that a page shows or links to."""
    return [match[1] for match in (*MARKS.finditer(text), *LINKS.finditer(text))]


def rendered(text: str) -> str:
    """The page with today's numbers in every table."""
    return MARKS.sub(filled, text)


def filled(found: re.Match[str]) -> str:
    """One table between its two comments."""
    first = found[0].partition("\n")[0]
    return f"{first}\n\n{markdown(part(load(found[1]), found[2]))}\n<!-- end -->"


def part(table: dict[str, Any], chosen: str | None) -> dict[str, Any]:
    """The whole table, the columns of these headings alone, or the table arranged by two of them."""
    if chosen is None:
        return table
    arranged = ARRANGED.fullmatch(chosen)
    return arrange(table, *arranged.groups()) if arranged else columns(table, chosen)


def columns(table: dict[str, Any], chosen: str) -> dict[str, Any]:
    headings = chosen.split("; ")
    if unknown := [heading for heading in headings if heading not in table["headings"]]:
        raise ValueError(f"a table has no columns {unknown}: choose from {table['headings']}")
    places = [table["headings"].index(heading) for heading in headings]
    return {**table, "headings": headings, "rows": [[row[i] for i in places] for row in table["rows"]]}


def arrange(table: dict[str, Any], rows: str, across: str, cells: str) -> dict[str, Any]:
    """A row for each combination of `rows`, and a column for each value of `across`; a dash if there is no cell."""
    found = columns(table, f"{rows}; {across}; {cells}")["rows"]
    by_key = {(tuple(key), value): cell for *key, value, cell in found}
    if len(by_key) < len(found):
        raise ValueError(f"rows {rows} and columns {across} do not tell all rows of the table apart")
    keys, values = (list(dict.fromkeys(place[i] for place in by_key)) for i in (0, 1))
    arranged = [[*key, *(by_key.get((key, value), "–") for value in values)] for key in keys]
    return {**table, "headings": [*rows.split("; "), *values], "rows": arranged}


def load(name: str) -> dict[str, Any]:
    path = DATA / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(
            f"table {name!r}: docs/evidence/data has no {path.name}; run the command that writes it"
        )
    table: dict[str, Any] = json.loads(path.read_text())
    if missing := [field for field in FIELDS if field not in table]:
        raise ValueError(f"{path.name} has no {missing}: a table needs {list(FIELDS)}")
    if len(set(table["headings"])) < len(table["headings"]):
        raise ValueError(f"{path.name}: two columns have the same heading, of {table['headings']}")
    if uneven := [row for row in table["rows"] if len(row) != len(table["headings"])]:
        raise ValueError(f"{path.name}: row {uneven[0]} does not fit the headings {table['headings']}")
    return table


def markdown(table: Mapping[str, Any]) -> str:
    lines = [line(table["headings"]), "|" + "---|" * len(table["headings"]), *map(line, table["rows"])]
    return "\n".join(lines) + f"\n\n{source(table)}\n"


def line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def source(table: Mapping[str, Any]) -> str:
    """Command, commit and machine in one line."""
    return f"*`{table['command']}`, commit {table['commit']}, {table['date']}. {table['machine']}.*"


def text_of(table: Mapping[str, Any]) -> str:
    """The data file: one line per row, so that a change can be read."""
    parts = [f" {json.dumps(key)}: {compact(table[key])}" for key in FIELDS[:-1]]
    rows = ",\n".join(f"  {compact(row)}" for row in table["rows"])
    return "{\n" + ",\n".join(parts) + f',\n "rows": [\n{rows}\n ]\n}}\n'


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
