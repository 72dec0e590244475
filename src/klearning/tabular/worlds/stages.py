"""How worlds are shown: their names in words, what their actions and goals are called. A world without an entry is
shown by its call, its actions by their numbers."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Parameters = Mapping[str, Any]  # a world's, by name


class Stage(NamedTuple):
    """What is said of a world where it is shown."""

    title: Callable[[Parameters], str] = lambda parameters: ""  # of those that are fixed; empty: as it is called
    actions: Callable[[Parameters], tuple[str, ...]] = lambda parameters: ()
    goal: str = "goal"
    drawn_by: str = ""  # the parameter of which every value is another world of one kind
    states: Callable[[Parameters], int] | None = None  # how many, where that is known before the world is built


def left_and_right(parameters: Parameters) -> tuple[str, ...]:
    """None where a mapping shuffles them."""
    return ("left", "right") if parameters.get("mapping_seed") is None else ()


def _deep_sea(parameters: Parameters) -> str:
    return f"DeepSea of depth {parameters['depth']}" if "depth" in parameters else "DeepSea"


STAGES = {
    "deep_sea": Stage(_deep_sea, left_and_right, "treasure", states=lambda p: p["depth"] * (p["depth"] + 1) // 2),
    "river_swim": Stage(actions=left_and_right),
    "random_mdp": Stage(lambda p: "" if "seed" in p else "MDPs drawn from the prior", drawn_by="seed"),
}


def stage_of(name: str) -> Stage:
    return STAGES.get(name, Stage())
