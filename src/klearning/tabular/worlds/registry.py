"""The worlds by name: ours, each with its source, and those that were registered."""

from collections.abc import Callable
from typing import TypeVar

from klearning.numerics.registry import Registry
from klearning.tabular.models.mdp import MDP
from klearning.tabular.worlds.admission_queue import admission_queue
from klearning.tabular.worlds.bandit import bandit
from klearning.tabular.worlds.deep_sea import deep_sea
from klearning.tabular.worlds.dose_finding import dose_finding
from klearning.tabular.worlds.inventory import inventory
from klearning.tabular.worlds.random_mdp import random_mdp
from klearning.tabular.worlds.river_swim import river_swim

OURS: dict[Callable[..., MDP], str] = {
    deep_sea: "Osband, Russo, Wen and Van Roy (2017), Deep exploration via randomized value functions",
    river_swim: "Strehl and Littman (2008), An analysis of model-based interval estimation for MDPs",
    bandit: "the paper's own example of a certainty equivalent",
    random_mdp: "drawn from the agent's own prior, so that Bayes regret is meaningful",
    inventory: "Arrow, Harris and Marschak (1951), Optimal inventory policy; Scarf (1960), for the (s, S) rules",
    admission_queue: "Naor (1969), The regulation of queue size by levying tolls; Stidham (1985), for the thresholds",
    dose_finding: "after Zhao, Kosorok and Zeng (2009), Reinforcement learning design for cancer clinical trials",
}
WORLDS = Registry("world", OURS)
SOURCES = {world.__name__: source for world, source in OURS.items()}

World = TypeVar("World", bound=Callable[..., MDP])


def register_world(world: World) -> World:
    """Make a function that returns an `MDP` known by its name: to sweeps, the report and the command line.

    A call, or a decorator. Its parameters must be plain data (numbers, text, lists of them), except one called
    ``prior``, which is the run's own: such a world is drawn from it. The hash of the source file is part of its runs'
    names.
    """
    if not callable(world) or isinstance(world, type) or not hasattr(world, "__name__"):
        raise ValueError(f"world={world!r} is not a function: register one that returns an MDP")
    WORLDS.register(world)
    if origin := WORLDS.origins.get(world.__name__):
        SOURCES[world.__name__] = f"registered by {origin.module}"
    return world
