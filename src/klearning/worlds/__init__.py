"""The worlds, one function per file; each returns an MDP."""

from collections.abc import Callable

from klearning.models.mdp import MDP
from klearning.worlds.admission_queue import admission_queue
from klearning.worlds.bandit import bandit
from klearning.worlds.deep_sea import deep_sea
from klearning.worlds.dose_finding import dose_finding
from klearning.worlds.inventory import inventory
from klearning.worlds.random_mdp import random_mdp
from klearning.worlds.river_swim import river_swim

WORLDS: dict[str, Callable[..., MDP]] = {
    f.__name__: f for f in (deep_sea, river_swim, bandit, random_mdp, inventory, admission_queue, dose_finding)
}

SOURCES = {
    "deep_sea": "Osband, Russo, Wen and Van Roy (2017), Deep exploration via randomized value functions",
    "river_swim": "Strehl and Littman (2008), An analysis of model-based interval estimation for MDPs",
    "bandit": "the paper's own example of a certainty equivalent",
    "random_mdp": "drawn from the agent's own prior, so that Bayes regret is meaningful",
    "inventory": "Arrow, Harris and Marschak (1951), Optimal inventory policy; Scarf (1960), for the (s, S) rules",
    "admission_queue": "Naor (1969), The regulation of queue size by levying tolls; Stidham (1985), for the thresholds",
    "dose_finding": "after Zhao, Kosorok and Zeng (2009), Reinforcement learning design for cancer clinical trials",
}

__all__ = [
    "SOURCES",
    "WORLDS",
    "admission_queue",
    "bandit",
    "deep_sea",
    "dose_finding",
    "inventory",
    "random_mdp",
    "river_swim",
]
