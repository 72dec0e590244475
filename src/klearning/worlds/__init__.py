"""The worlds, one function a file; each returns an MDP."""

from collections.abc import Callable

from klearning.mdp import MDP
from klearning.worlds.bandit import bandit
from klearning.worlds.deep_sea import deep_sea
from klearning.worlds.random_mdp import random_mdp
from klearning.worlds.river_swim import river_swim

WORLDS: dict[str, Callable[..., MDP]] = {f.__name__: f for f in (deep_sea, river_swim, bandit, random_mdp)}

__all__ = ["WORLDS", "bandit", "deep_sea", "random_mdp", "river_swim"]
