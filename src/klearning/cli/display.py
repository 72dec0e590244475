"""Output: progress, tables that fit the terminal, headings, and JSON.

Progress goes to stderr, so that a pipe gets results alone: a bar on a terminal, a line every few seconds elsewhere.
"""

import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from klearning.cli.streams import visible
from klearning.numerics.display import canvas
from klearning.numerics.display.progress import hidden_progress, pace

SECONDS = 10.0  # between two plain lines
WIDE = 200  # columns if the output is not a terminal
PER_SECOND = 4  # drawings of the bar


def is_lively(stream: Any) -> bool:
    """Whether a stream is a terminal that can be drawn over."""
    return bool(stream.isatty()) and os.environ.get("TERM", "") not in ("dumb", "unknown")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that advances the progress by a count."""
    if is_lively(sys.stderr) and total:
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True, refresh_per_second=PER_SECOND) as bar:
            job = bar.add_task("", total=total)
            yield lambda count: bar.advance(job, count)
        return
    printed, counter = time.monotonic(), hidden_progress()
    job = counter.add_task("", total=total)

    def advance(count: int) -> None:
        nonlocal printed
        counter.advance(job, count)
        if time.monotonic() - printed > SECONDS:
            printed, task = time.monotonic(), counter.tasks[0]
            print(", ".join([f"{task.completed:,.0f} of {total:,} {what}", *pace(task)]), file=sys.stderr)

    yield advance


def say(text: str = "", err: bool = False) -> None:
    """Print lines in the encoding of the stream, which `click.echo` would ignore.

    Control characters are escaped. Pass text from a file through `visible` first, so that it stays one line.
    """
    print("\n".join(map(visible, text.split("\n"))), file=sys.stderr if err else sys.stdout)


def save_picture(draw: Callable[[], Any], out: Path, err: bool) -> None:
    """Draw and write a figure, or say why there is none: a missing library must not lose the runs."""
    try:
        canvas.need_matplotlib()
    except ImportError as error:
        say(f"no figure was drawn: {error}", err=True)
        return
    canvas.save(draw(), out)
    say(f"drawn: {out}", err=err)


def width() -> int:
    """Columns of the terminal, or `WIDE`."""
    return Console().width if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE


def show_json(data: Any) -> None:
    """Print JSON; numbers that are not finite become null."""
    say(json.dumps(plain(data), indent=2, allow_nan=False))


def plain(data: object) -> object:
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    return None if isinstance(data, float) and not isfinite(data) else data


def show_heading(text: str) -> None:
    fancy = is_lively(sys.stdout) and not os.environ.get("NO_COLOR")
    print(click.style(visible(text), bold=True)) if fancy else say(text)


def show_paragraph(text: str, indent: str = "    ") -> None:
    """Wrapped to the terminal."""
    say(textwrap.fill(text, max(width(), 20), initial_indent=indent, subsequent_indent=indent))


def cell(value: Any) -> str:
    """A value as text: four digits, a dash if missing."""
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    if isinstance(value, float):
        return f"{value:.4g}" if isfinite(value) else "–"
    return "–" if value is None else visible(str(value))


def show_table(
    rows: Sequence[Mapping[str, Any]], title: str = "", caption: str = "", last: Mapping[str, Any] | None = None
) -> None:
    """A table, with ``last`` as a separate last row; one line per value if it is too wide for the terminal."""
    shown = [{name: cell(value) for name, value in row.items()} for row in [*rows, *([last] if last else [])]]
    columns = list(rows[0]) if rows else []
    least = sum(max(_longest(name), *(len(row[name]) for row in shown)) + 3 for name in columns) + 1
    if least > width():
        _show_records(shown, title, caption)
        return
    table = Table()
    for name in columns:
        table.add_column(name, justify="right" if all(_is_number(row[name]) for row in shown) else "left")
    for i, row in enumerate(shown):
        if last and i == len(rows):
            table.add_section()
        table.add_row(*row.values())
    title, caption = visible(title), visible(caption)
    console = Console(width=width(), markup=False, emoji=False)
    with console.capture() as capture:
        room = console.measure(table).maximum
        table.title, table.caption = (text if 0 < len(text) <= room else None for text in (title, caption))
        console.print(table)
    if len(title) > room:  # which would be broken into a column of words
        show_paragraph(title, "")
    print(capture.get().rstrip("\n"))  # with colours, perhaps
    if len(caption) > room:
        show_paragraph(caption, "")


def _show_records(rows: Sequence[Mapping[str, str]], title: str, caption: str) -> None:
    for text in filter(None, (title, caption)):
        show_paragraph(text, "")
    for row in rows:
        for i, (name, value) in enumerate(row.items()):
            show_paragraph(f"{name}: {value}", "  " if i else "")


def _longest(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _is_number(text: str) -> bool:
    return text in ("–", "mean") or all(part.replace(",", "").lstrip("-+")[:1].isdigit() for part in text.split())
