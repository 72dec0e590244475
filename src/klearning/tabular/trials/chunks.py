"""Play that may stop after any episode and continue to the same bytes: a trial in a world, or a match in a game."""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.records.fields import leaves
from klearning.numerics.records.validation import fill, restore_memory
from klearning.numerics.types import Arrays
from klearning.tabular.trials.streams import set_states, states_of

CHUNK_SECONDS = 0.1  # about how long a kernel runs before Python may show progress or stop


class Chunked(ABC):
    """A number of episodes, played in chunks."""

    purpose = "a run"  # what its kernels are compiled for
    memory: Any  # of all who learn
    streams: Iterable[np.random.Generator]

    def __init__(self, episodes: int) -> None:
        self.episodes, self.played = episodes, 0

    @property
    def done(self) -> bool:
        return self.played == self.episodes

    @abstractmethod
    def advance(self, count: int) -> None:
        """Play ``count`` more episodes."""

    @abstractmethod
    def log_until(self, t: int | None) -> Arrays:
        """Views of the log's first ``t`` episodes, by name."""

    @abstractmethod
    def fresh_memory(self) -> Any:
        """The memory before the first episode."""

    @abstractmethod
    def check(self, memory: Any, fresh: Any, played: int) -> None:
        """Raise ValueError if a memory from a file, or the log of its episodes, cannot be this one's."""

    def state(self) -> Arrays:
        """Everything needed to continue: the memory by the names of its parts, the log, the random streams."""
        log = {f"log.{name}": x for name, x in self.log_until(self.played).items()}
        arrays = leaves(self.memory) | log | {"streams": states_of(self.streams)}
        return {name: x.copy() for name, x in arrays.items()}

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Continue from the state of play like this; ValueError if it is another's, which leaves this one unusable."""
        try:
            fresh = self.fresh_memory()
            memory = restore_memory(fresh, {name: x.copy() for name, x in arrays.items()})
            played = len(arrays["log.values"])
            fill({f"log.{name}": x for name, x in self.log_until(played).items()}, arrays)
            self.check(memory, fresh, played)
            set_states(self.streams, arrays["streams"])
        except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"this is not the state of such a {type(self).__name__.lower()}: {error}") from None
        self.memory, self.played = memory, played

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
