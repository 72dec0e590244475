"""The worlds, one function a file; each returns an MDP."""

from collections.abc import Callable

from klearning.mdp import MDP
from klearning.worlds.bandit import bandit
from klearning.worlds.deep_sea import deep_sea
from klearning.worlds.random_mdp import random_mdp
from klearning.worlds.river_swim import river_swim

WORLDS: dict[str, Callable[..., MDP]] = {f.__name__: f for f in (deep_sea, river_swim, bandit, random_mdp)}

SOURCES = {
    "deep_sea": "Osband, Russo, Wen and Van Roy (2017), Deep exploration via randomized value functions",
    "river_swim": "Strehl and Littman (2008), An analysis of model-based interval estimation for MDPs",
    "bandit": "the paper's own example of a certainty equivalent",
    "random_mdp": "drawn from the agent's own prior, so that Bayes regret is meaningful",
}

__all__ = ["SOURCES", "WORLDS", "bandit", "deep_sea", "random_mdp", "river_swim"]
