"""Play that may be left after any episode: a trial in a world, or a match in a game."""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable

from klearning.numerics.compile.notices import compiling_for

CHUNK_SECONDS = 0.1  # about how long a kernel runs before Python may show progress or stop


class Chunked(ABC):
    """A number of episodes, played in chunks."""

    purpose = "a run"  # what its kernels are compiled for

    def __init__(self, episodes: int) -> None:
        self.episodes, self.played = episodes, 0

    @property
    def done(self) -> bool:
        return self.played == self.episodes

    @abstractmethod
    def advance(self, count: int) -> None:
        """Play ``count`` more episodes."""

    def chunks(self, stops: Iterable[int] = (), size: int = 1, growth: int = 2) -> Generator[int, None, None]:
        """Play to the end; after every chunk its number of episodes is yielded, and the caller may look, or leave.

        From ``size`` episodes on, each chunk is ``growth`` times the one before, until they take about `CHUNK_SECONDS`.
        One ends at each of ``stops``.
        """
        for stop in sorted({min(t, self.episodes) for t in (*stops, self.episodes)}):
            while self.played < stop:
                count, began = min(size, stop - self.played), time.perf_counter()
                with compiling_for(self.purpose):
                    self.advance(count)
                if count == size and growth * (time.perf_counter() - began) < CHUNK_SECONDS:
                    size *= growth
                yield count
