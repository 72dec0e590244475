"""How fast something goes, and how long the rest of it will take."""

import time
from collections import deque

SAMPLES = 60  # of the last minute or more: what goes slower and slower is told as it is now
APART = 1.0  # seconds between two of them


class Pace:
    """Counts what is done of a ``total``, if there is one.

    The clock starts when the first is done: in it kernels are compiled, which says nothing about the others.
    """

    def __init__(self, total: int | None = None) -> None:
        self.total, self.done = total, 0
        self._samples: deque[tuple[float, int]] = deque(maxlen=SAMPLES)

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self.done += count
        now = time.monotonic()
        if not self._samples or now - self._samples[-1][0] > APART:
            self._samples.append((now, self.done))

    @property
    def rate(self) -> float | None:
        """How many a second; None where nobody can know yet."""
        if not self._samples:
            return None
        began, before = self._samples[0]
        seconds, count = time.monotonic() - began, self.done - before
        return count / seconds if count > 0 and seconds > 0.0 else None

    def words(self) -> list[str]:
        """The rate and, with a total, the time that is left: ["12.5 a second", "3 min left"], or nothing yet."""
        rate = self.rate
        if rate is None:
            return []
        speed = f"{rate:,.1f} a second" if rate >= 1.0 else f"{1.0 / rate:.0f} s each"
        if self.total is None or self.done >= self.total:
            return [speed]
        return [speed, f"{duration((self.total - self.done) / rate)} left"]


def duration(seconds: float) -> str:
    """As a person says it: 40 s, 12 min, 3 h 20 min."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"
