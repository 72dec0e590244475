"""Progress: a bar on a terminal, a plain line now and then elsewhere; on stderr, so that a pipe gets results alone."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

SECONDS = 10.0  # between two plain lines


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function to be told how many more are done."""
    console = Console(stderr=True)
    if console.is_terminal and total:
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            job = bar.add_task("", total=total)
            yield lambda count: bar.advance(job, count)
        return
    began = said = time.monotonic()
    done = 0

    def line(count: int) -> None:
        nonlocal done, said
        done += count
        now = time.monotonic()
        if now - said > SECONDS:
            said = now
            rate = done / (now - began)
            left = (total - done) / rate
            print(f"{done:,} of {total:,} {what}, {rate:,.1f} a second, {left:.0f} s left", file=sys.stderr)

    yield line
