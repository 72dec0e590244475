"""NAME=VALUE options, turned into worlds, agents and priors."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from klearning.cli.user_imports import find_maker
from klearning.numerics import checks
from klearning.simulators import codec
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import FAMILIES
from klearning.tabular.models.mdp import MDP

DEEPEST = 10_000  # DeepSea of this depth has 50 million states
TRANSITION_OPTIONS = tuple(name for names in codec.TRANSITIONS.values() for name in names)
REWARD_OPTIONS = dict.fromkeys(name for family in FAMILIES.values() for name in inspect.signature(family).parameters)
PRIOR_OPTIONS = ("reward", *REWARD_OPTIONS, *TRANSITION_OPTIONS, "span", "stationary")


def option_names(maker: Callable[..., Any]) -> list[str]:
    """Parameters that the command line can set, parts of a record after a dot; a prior has its own option."""
    records = codec.declared(maker).records
    parts = [f"{name}.{part}" for name, kinds in records.items() for part in _parts(kinds)]
    return [name for name in inspect.signature(maker).parameters if name != "prior"] + parts


def _parts(kinds: Mapping[str, Any]) -> dict[str, None]:
    return dict.fromkeys(part for record in kinds.values() for part in inspect.signature(record).parameters)


def build(maker: Callable[..., Any], kind: str, options: Sequence[str]) -> Any:
    """Call a world or agent with NAME=VALUE options; an unknown name is an error with a suggestion."""
    given = option_values(maker, kind, options)
    try:
        return maker(**given)
    except (TypeError, IndexError) as error:  # a value of the wrong type, which the maker did not check
        raise ValueError(f"{kind} options {', '.join(options)} have a wrong type: {error}") from None


def option_values(maker: Callable[..., Any], kind: str, options: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE options as a dictionary."""
    names = option_names(maker)
    given = dict(split_option(kind, option, names) for option in options)
    for name in {option.partition(".")[0] for option in given if "." in option}:
        kinds = codec.declared(maker).records[name]
        parts = {part: given.pop(f"{name}.{part}") for part in _parts(kinds) if f"{name}.{part}" in given}
        given[name] = codec.build_record(maker, name, {"kind": given.get(name, next(iter(kinds))), **parts})
    return given


def call_from_words(kind: str, word: str, options: Sequence[str]) -> dict[str, Any]:
    """A world, agent, game or player with NAME=VALUE options, as a spec has it."""
    maker = find_maker(kind, word)
    return {"name": maker.__name__, **option_values(maker, kind, options)}


def read_agent(word: str) -> Any:
    """An agent from its name and options: KLearning,bonus=sharp."""
    name, *options = word.split(",")
    return build(find_maker("agent", name), "agent", options)


def build_prior(options: Sequence[str], world: MDP | None = None) -> Prior:
    """A prior from NAME=VALUE options, for a world if one is given."""
    return codec.build_prior(prior_data(options), world)


def prior_data(options: Sequence[str]) -> dict[str, Any]:
    """A prior from NAME=VALUE options, as data."""
    return codec.prior_data(prior_table(options))


def prior_table(options: Sequence[str]) -> dict[str, Any]:
    """The options as tables: rewards always, the rest if given."""
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
    """A number, a list of numbers, or the word itself. The caller checks which it must be."""
    if "," in text:
        return [parse(part) for part in text.split(",") if part]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def depth_list(text: str) -> list[int]:
    """Depths from a list, 10,20,50, or a range, FROM:TO:STEP with TO included."""
    grid = _depths(text)
    if not grid:
        raise ValueError(f"depths={text!r} is empty: give numbers, or FROM:TO:STEP with FROM at most TO")
    if max(grid) > DEEPEST:
        raise ValueError(f"depths={text!r} has {max(grid)}: give depths of at most {DEEPEST}")
    return grid


def _depths(text: str) -> list[int]:
    parts = text.split(":")
    numbers = text.split(",") if len(parts) == 1 else parts
    if len(parts) > 3 or not all(part.isdecimal() and int(part) > 0 for part in numbers):
        raise ValueError(f"depths={text!r} is not a list or range of depths: write 4,6 or FROM:TO:STEP, as 4:6:2")
    if len(parts) == 1:
        return [int(part) for part in numbers]
    low, high, step = (*map(int, parts), 1)[:3]
    return list(range(low, min(high, max(low, DEEPEST + step)) + 1, step))
