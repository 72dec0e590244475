"""Numbers of a page of docs/evidence: a measurement writes them into a JSON file beside the page, and into its table.

The page has a line `<!-- table: NAME -->`, and the table below it. A row that is measured again
is replaced; others stay.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence"


def record(page: str, name: str, headings: Sequence[str], rows: Mapping[str, Sequence[Any]]) -> None:
    """Keep these rows of a table. A row is found by its first cell, its key here."""
    path, text = EVIDENCE / f"{page}.json", EVIDENCE / f"{page}.md"
    tables = json.loads(path.read_text()) if path.exists() else {}
    before = tables.get(name, {})
    kept = before.get("rows", {}) if before.get("headings") == list(headings) else {}
    tables[name] = {"headings": list(headings), "rows": kept | {key: list(row) for key, row in rows.items()}}
    path.write_text(json.dumps(tables, indent=1, ensure_ascii=False) + "\n")
    text.write_text(with_table(text.read_text(), name, tables[name]))


def with_table(text: str, name: str, table: Mapping[str, Any]) -> str:
    """A page with this table in its place."""
    place = re.compile(rf"(?<=<!-- table: {re.escape(name)} -->\n)(\|.*\n)*")
    if not place.search(text):
        raise ValueError(f"the page has no line <!-- table: {name} -->")
    return place.sub(lambda _: markdown(table), text, count=1)


def markdown(table: Mapping[str, Any]) -> str:
    headings = table["headings"]
    lines = [headings, ["---"] * len(headings), *([key, *row] for key, row in table["rows"].items())]
    return (
        "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
        .replace("| --- ", "|---")
        .replace("--- |", "---|")
    )
