"""How much is to be played: N episodes, or N steps of the environment, whichever comes first."""

from math import inf
from typing import Any, NamedTuple

from klearning.numerics import checks

EPISODES = 1000  # if neither is given


class Limit(NamedTuple):
    """No episode begins once either is reached; those under way are played to their end."""

    episodes: float
    steps: float = inf

    def leaves(self, begun: int, steps: int) -> bool:
        """Whether another episode may begin, after this many of them and this many steps."""
        return begun < self.episodes and steps < self.steps

    def after(self, begun: int, steps: int) -> "Limit":
        """The rest after this many episodes and steps."""
        return Limit(max(self.episodes - begun, 0), max(self.steps - steps, 0))

    def counted(self) -> tuple[str, int]:
        """The unit that progress counts, and its total."""
        return ("episodes", int(self.episodes)) if self.steps == inf else ("steps", int(self.steps))


def limit(episodes: Any, steps: Any) -> Limit:
    """Of what is given; with neither, `EPISODES`. Floats that are whole will do: 1e5."""
    most = inf if steps is None else checks.count("steps", steps)
    if episodes is None:
        return Limit(EPISODES if steps is None else inf, most)
    return Limit(checks.count("episodes", episodes), most)
