"""What a person sees: progress, tables that fit the terminal, headings; and JSON, for programs.

Progress is a bar on a terminal and a plain line now and then elsewhere; on stderr, so that a pipe gets results alone.
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
from klearning.lab.figures import canvas
from klearning.simulators.pace import Pace

SECONDS = 10.0  # between two plain lines
WIDE = 200  # columns of what is no terminal
A_SECOND = 4  # drawings of the bar: few enough for a slow line


def is_lively(stream: Any) -> bool:
    """Whether what is drawn there may be drawn over: a terminal, and not a dumb one."""
    return bool(stream.isatty()) and os.environ.get("TERM", "") not in ("dumb", "unknown")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function to be told how many more are done."""
    if is_lively(sys.stderr) and total:
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True, refresh_per_second=A_SECOND) as bar:
            job = bar.add_task("", total=total)
            yield lambda count: bar.advance(job, count)
        return
    told, pace = time.monotonic(), Pace(total)

    def line(count: int) -> None:
        nonlocal told
        pace.advance(count)
        if time.monotonic() - told > SECONDS:
            told = time.monotonic()
            print(", ".join([f"{pace.done:,} of {total:,} {what}", *pace.words()]), file=sys.stderr)

    yield line


def say(text: str = "", err: bool = False) -> None:
    """Print lines in the encoding that was asked for: `click.echo` writes UTF-8 where Python was told ASCII.

    What steers a terminal is escaped; a text of a file goes through `visible` first, so that it is one line.
    """
    print("\n".join(map(visible, text.split("\n"))), file=sys.stderr if err else sys.stdout)


def save_picture(draw: Callable[[], Any], out: Path, err: bool) -> None:
    """Draw and write, or say why there is no picture: the runs are worth more than it."""
    try:
        canvas.need_matplotlib()
    except ImportError as error:
        say(f"no picture was drawn: {error}", err=True)
        return
    canvas.save(draw(), out)
    say(f"drawn: {out}", err=err)


def width() -> int:
    """Columns to write in: those of the terminal, or plenty."""
    return Console().width if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE


def show_json(data: Any) -> None:
    """What is not finite is null, for JSON has no such numbers."""
    say(json.dumps(plain(data), indent=2, allow_nan=False))


def plain(data: Any) -> Any:
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
    """A value as a person reads it: four digits, and a dash for what is not there."""
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    if isinstance(value, float):
        return f"{value:.4g}" if isfinite(value) else "–"
    return "–" if value is None else visible(str(value))


def show_table(
    rows: Sequence[Mapping[str, Any]], title: str = "", caption: str = "", last: Mapping[str, Any] | None = None
) -> None:
    """One line a row, and perhaps a ``last`` one below a rule; where that is too wide, one line a value."""
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
