"""NAME=VALUE options, turned into worlds, agents and priors."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from klearning.numerics import checks
from klearning.simulators import codec
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import FAMILIES
from klearning.tabular.models.mdp import MDP

DEEPEST = 10_000  # DeepSea of this depth has 50 million states
TRANSITION_OPTIONS = tuple(name for names in codec.TRANSITIONS.values() for name in names)
REWARD_OPTIONS = tuple(name for family in FAMILIES.values() for name in inspect.signature(family).parameters)
PRIOR_OPTIONS = ("reward", *REWARD_OPTIONS, *TRANSITION_OPTIONS, "span", "stationary")


def option_names(maker: Callable[..., Any]) -> list[str]:
    """Parameters that a line can give; a prior has options of its own."""
    return [name for name in inspect.signature(maker).parameters if name != "prior"]


def build(maker: Callable[..., Any], kind: str, options: Sequence[str]) -> Any:
    """Call a world or agent with NAME=VALUE options; unknown names are errors with the nearest valid one."""
    given = option_values(maker, kind, options)
    try:
        return maker(**given)
    except (TypeError, IndexError) as error:  # a value of another kind than the parameter's, which nothing checked
        raise ValueError(f"{kind} options {', '.join(options)} do not fit: {error}") from None


def option_values(maker: Callable[..., Any], kind: str, options: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE options by name; unknown ones are errors."""
    names = option_names(maker)
    return dict(split_option(kind, option, names) for option in options)


def build_prior(options: Sequence[str], world: MDP | None = None) -> Prior:
    """A prior from NAME=VALUE options, for a world of ours where there is one."""
    return codec.build_prior(prior_data(options), world)


def prior_data(options: Sequence[str]) -> dict[str, Any]:
    """The same as data."""
    return codec.prior_data(prior_table(options))


def prior_table(options: Sequence[str]) -> dict[str, Any]:
    """What was typed, as tables of data: rewards, and of the rest what is there."""
    given = dict(split_option("prior", option, PRIOR_OPTIONS) for option in options)
    data: dict[str, Any] = {}
    if "stationary" in given:
        answer = checks.choice("prior option stationary", given.pop("stationary"), ["yes", "no"])
        data["stationary"] = answer == "yes"
    if "span" in given:
        data["span"] = given.pop("span")
    if rows := {name: given.pop(name) for name in TRANSITION_OPTIONS if name in given}:
        data["transitions"] = {**rows, **({"kind": "known"} if "transitions" in rows else {})}
    return {**data, "reward": {"kind": given.pop("reward", "gaussian"), **given}}


def split_option(kind: str, option: str, names: Sequence[str]) -> tuple[str, Any]:
    name, equals, value = option.partition("=")
    if not equals:
        raise ValueError(f"{kind} option {option!r} has no value: write NAME=VALUE")
    return checks.choice(f"{kind} option", name, names), parse(value)


def parse(text: str) -> Any:
    """A number, a list of numbers, or the word itself: what it should be is checked where it is used."""
    if "," in text:
        return [parse(part) for part in text.split(",") if part]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def depth_list(text: str) -> list[int]:
    """10:50:10 is 10, 20, … 50; a list is itself."""
    grid = _depths(text)
    if not grid:
        raise ValueError(f"depths={text!r} is empty: give numbers, or FROM:TO:STEP with FROM not above TO")
    if max(grid) > DEEPEST:
        raise ValueError(f"depths={text!r} has {max(grid)}, of more states than fit: give depths of at most {DEEPEST}")
    return grid


def _depths(text: str) -> list[int]:
    parts = [parse(part) for part in text.split(":")]
    if len(parts) == 1:
        return [checks.whole("depths", depth) for depth in (parts[0] if isinstance(parts[0], list) else parts)]
    if len(parts) > 3:
        raise ValueError(f"depths={text!r} is no range: write FROM:TO:STEP")
    low, high = checks.whole("depths", parts[0]), checks.whole("depths", parts[1])
    step = checks.whole("depths", parts[2]) if len(parts) == 3 else 1
    return list(range(low, min(high, max(low, DEEPEST + step)) + 1, step))
