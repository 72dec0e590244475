"""NAME=VALUE options, turned into worlds, agents and priors."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from klearning import checks
from klearning.beliefs import Beta, Dirichlet, Gaussian, Prior


def build(maker: Callable[..., Any], kind: str, options: Sequence[str]) -> Any:
    """Call a world or agent with NAME=VALUE options; unknown names are errors with the nearest valid one."""
    names = list(inspect.signature(maker).parameters)
    return maker(**dict(split_option(kind, option, names) for option in options))


def build_prior(options: Sequence[str]) -> Prior:
    names = ["reward", "mean", "sd", "noise", "a", "b", "mass", "span", "stationary"]
    given = dict(split_option("prior", option, names) for option in options)
    kinds: dict[str, Callable[..., Gaussian | Beta]] = {"gaussian": Gaussian, "beta": Beta}
    kind = checks.choice("prior option reward", given.pop("reward", "gaussian"), kinds)
    own = list(inspect.signature(kinds[kind]).parameters)
    span = given.pop("span", None)
    stationary = checks.choice("prior option stationary", given.pop("stationary", "no"), ["yes", "no"]) == "yes"
    transitions = Dirichlet(**{name: given.pop(name) for name in list(given) if name == "mass"})
    for name in given:
        checks.choice(f"option of a {kind} prior", name, own)
    return Prior(kinds[kind](**given), transitions, span, stationary)


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
    parts = [parse(part) for part in text.split(":")]
    if len(parts) == 1:
        return [checks.whole("depths", depth) for depth in (parts[0] if isinstance(parts[0], list) else parts)]
    if len(parts) > 3:
        raise ValueError(f"depths={text!r} is no range: write FROM:TO:STEP")
    low, high = checks.whole("depths", parts[0]), checks.whole("depths", parts[1])
    step = checks.whole("depths", parts[2]) if len(parts) == 3 else 1
    grid = list(range(low, high + 1, step))
    if not grid:
        raise ValueError(f"depths={text!r} is empty: FROM must not be above TO")
    return grid
