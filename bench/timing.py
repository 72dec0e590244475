"""How long a call takes: CPU seconds, the least of many rounds, so that other work on the machine does not count."""

import time
from collections.abc import Callable

ROUNDS = 30


def least_seconds(action: Callable[[], object], rounds: int = ROUNDS, calls: int = 1) -> float:
    """Of one call, after one that is not counted; a round is ``calls`` of them."""
    action()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            action()
        times.append((time.process_time() - start) / calls)
    return min(times)
