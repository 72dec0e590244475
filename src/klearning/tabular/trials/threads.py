"""One pool of threads for all who have many runs to play: kernels hold no lock, so threads are enough."""

import os
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from typing import TypeVar

from klearning.numerics.interrupts import uninterrupted

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def on_threads(
    work: Callable[[Item, Callable[[], bool]], Answer], items: Iterable[Item], threads: int | None = None
) -> Generator[tuple[Item, Answer], None, None]:
    """``work(item, should_stop)`` for every item, on all cores or that many threads; yields pairs as they come.

    If one raises, or an interrupt arrives, or the generator is closed, waiting items are dropped, those under way are
    told by its ``should_stop`` and waited for.
    """
    with uninterrupted:  # before there are threads: of two that import Numba at once, by different doors, neither can
        import_module("klearning.numerics.compile.linking")
    stop = threading.Event()
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        try:
            futures = {pool.submit(work, item, stop.is_set): item for item in items}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
