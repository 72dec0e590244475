"""Short summaries of objects, names with values, as text or as HTML for a notebook."""

import html
from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Any]

# no colours or fonts, so that it suits light and dark pages
CELL = "text-align:left;vertical-align:top;padding:0.1em 1em 0.1em 0"


def format_value(x: Any) -> str:
    """A float with four digits; anything else as it prints."""
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def text_summary(title: str, facts: Facts) -> str:
    """The title, and a line per fact, in two columns."""
    width = max(map(len, facts), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {format_value(value)}" for name, value in facts.items())])


def html_summary(title: str, facts: Facts) -> str:
    """The same as a table, without external style sheets."""
    rows = "".join(
        f'<tr><th style="{CELL};font-weight:normal;opacity:0.75">{html.escape(name)}</th>'
        f'<td style="{CELL}">{html.escape(format_value(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div><strong>{html.escape(title)}</strong><table style="margin:0.2em 0">{rows}</table></div>'


def html_table(columns: Mapping[str, list[Any]]) -> str:
    """A table of columns with headings."""
    head = "".join(f'<th style="{CELL}">{html.escape(name)}</th>' for name in columns)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{html.escape(format_value(x))}</td>' for x in line) + "</tr>"
        for line in zip(*columns.values(), strict=True)
    )
    return f'<table style="margin:0.2em 0"><tr>{head}</tr>{lines}</table>'


def text_table(columns: Mapping[str, list[Any]]) -> str:
    """The same table as text."""
    cells = [[name, *map(format_value, column)] for name, column in columns.items()]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in cells]
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True))
