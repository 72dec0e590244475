"""How much is to be played: so many episodes, or so many steps of the environment, whichever comes first."""

from math import inf
from typing import NamedTuple

from klearning.numerics import checks

EPISODES = 1000  # where nobody says how many


class Limit(NamedTuple):
    """No episode begins once either is reached; those under way are played to their end."""

    episodes: float
    steps: float = inf

    def leaves(self, begun: int, steps: int) -> bool:
        """Whether another episode may begin, after so many of them and so many steps."""
        return begun < self.episodes and steps < self.steps


def limit(episodes: int | None, steps: int | None) -> Limit:
    """Of what is given; with neither, `EPISODES`."""
    most = inf if steps is None else checks.whole("steps", steps)
    if episodes is None:
        return Limit(EPISODES if steps is None else inf, most)
    return Limit(checks.whole("episodes", episodes), most)
