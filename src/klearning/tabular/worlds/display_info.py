"""How worlds are displayed: titles, and the names of actions and goals.

A world without an entry is displayed by its call, its actions by their numbers.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Parameters = Mapping[str, Any]  # a world's, by name


class DisplayInfo(NamedTuple):
    """How a world is displayed."""

    title: Callable[[Parameters], str] = lambda parameters: ""  # from the parameters that are fixed; empty: its call
    actions: Callable[[Parameters], tuple[str, ...]] = lambda parameters: ()
    goal: str = "goal"
    drawn_by: str = ""  # the parameter whose every value draws another world
    states: Callable[[Parameters], int] | None = None  # how many, if known before the world is built


def left_and_right(parameters: Parameters) -> tuple[str, ...]:
    """None if a mapping shuffles them."""
    return ("left", "right") if parameters.get("mapping_seed") is None else ()


def _deep_sea(parameters: Parameters) -> str:
    return f"DeepSea of depth {parameters['depth']}" if "depth" in parameters else "DeepSea"


DISPLAY_INFO = {
    "deep_sea": DisplayInfo(_deep_sea, left_and_right, "treasure", states=lambda p: p["depth"] * (p["depth"] + 1) // 2),
    "river_swim": DisplayInfo(actions=left_and_right),
    "random_mdp": DisplayInfo(lambda p: "" if "seed" in p else "MDPs drawn from the prior", drawn_by="seed"),
}


def display_info_of(name: str) -> DisplayInfo:
    return DISPLAY_INFO.get(name, DisplayInfo())
