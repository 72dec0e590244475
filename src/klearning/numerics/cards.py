"""What an object shows of itself in a few lines: names and values, as text or as HTML for a notebook."""

import html
from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Any]

# neither colours nor fonts of our own: a card looks right on light and on dark pages
CELL = "text-align:left;vertical-align:top;padding:0.1em 1em 0.1em 0"


def digits(x: Any) -> str:
    """A number as a person reads it, four digits; anything else as it prints."""
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def text_card(title: str, facts: Facts) -> str:
    """The title, and a line per fact, in two columns."""
    width = max(map(len, facts), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {digits(value)}" for name, value in facts.items())])


def html_card(title: str, facts: Facts) -> str:
    """The same as a table that needs nothing from anywhere."""
    rows = "".join(
        f'<tr><th style="{CELL};font-weight:normal;opacity:0.75">{html.escape(name)}</th>'
        f'<td style="{CELL}">{html.escape(digits(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div><strong>{html.escape(title)}</strong><table style="margin:0.2em 0">{rows}</table></div>'


def html_table(columns: Mapping[str, list[Any]]) -> str:
    """Columns with a heading each."""
    head = "".join(f'<th style="{CELL}">{html.escape(name)}</th>' for name in columns)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{html.escape(digits(x))}</td>' for x in line) + "</tr>"
        for line in zip(*columns.values(), strict=True)
    )
    return f'<table style="margin:0.2em 0"><tr>{head}</tr>{lines}</table>'


def text_table(columns: Mapping[str, list[Any]]) -> str:
    """The same as text."""
    cells = [[name, *map(digits, column)] for name, column in columns.items()]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in cells]
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True))
