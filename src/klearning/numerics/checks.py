"""Checks of arguments. Each error names the field, the value and the fix."""

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from string import digits
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics.types import Floats

MOST_NAMES = 40  # that an error lists
TOLERANCE = 1e-8  # how far probabilities may be from summing to one
SMALLEST, LARGEST = 1e-50, 1e50  # of numbers whose products must be floats: the cube of a temperature is the worst


def number(field: str, value: Any, low: float, high: float = np.inf, *, above: bool = False) -> float:
    """A finite float in [low, high], or in (low, high] if ``above``."""
    try:
        x = float("text" if isinstance(value, str | bytes | bool) else value)
    except (TypeError, ValueError):
        raise ValueError(f"{field}={value!r} is not a number: give a float") from None
    if not isfinite(x) or x < low or x > high or (above and x == low):
        limits = [f"{'above' if above else 'at least'} {low:g}"] if low > -np.inf else []
        limits += [f"at most {high:g}"] if high < np.inf else []
        bound = " ".join(["a finite number", " and ".join(limits)]).strip()
        raise ValueError(f"{field}={value!r} is out of range: give {bound}")
    return x


def moderate(field: str, value: Any, low: float = -np.inf, *, above: bool = False) -> float:
    """Zero, or a number of a size such that products of a few stay within the range of floats."""
    x = number(field, value, low, above=above)
    if x != 0.0 and not SMALLEST <= abs(x) <= LARGEST:
        zero = "" if above else "0, or "
        raise ValueError(f"{field}={value!r} is out of range: give {zero}a number from {SMALLEST:g} to {LARGEST:g}")
    return x


def whole(field: str, value: Any, low: int = 1, high: int | None = None) -> int:
    """An integer of at least ``low``, and at most ``high`` if given."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{field}={value!r} is not a whole number: give an integer of at least {low}")
    if value < low:
        raise ValueError(f"{field}={value!r} is too small: give an integer of at least {low}")
    if high is not None and value > high:
        raise ValueError(f"{field}={value!r} is too large: give an integer of at most {high}")
    return int(value)


def count(field: str, value: Any) -> int:
    """A positive integer, also as a float that is whole: 1e5."""
    return whole(field, int(value) if isinstance(value, float) and value.is_integer() else value)


def flag(field: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{field}={value!r} is neither True nor False: give one of them")
    return bool(value)


def choice(field: str, value: Any, names: Iterable[str]) -> str:
    """One of ``names``; the error suggests the nearest."""
    names = list(names)
    if isinstance(value, str) and value in names:
        return value
    near, stem = get_close_matches(str(value), names, n=1), str(value).rstrip(digits)
    # figure9 is not a misspelt figure4; a version, as of LunarLander-v2, may be
    numbered = near and near[0].rstrip(digits) == stem and not stem.endswith("-v")
    hint = f"did you mean {near[0]!r}?" if near and not numbered else f"give one of {_listed(names)}"
    raise ValueError(f"{field}={value!r} is unknown: {hint}")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(map(repr, names[:MOST_NAMES])) + (f" or one of {more} more" if more > 0 else "")


def array(field: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Floats:
    """A finite float array of this shape (None: any size)."""
    try:
        x = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{field} is not an array of numbers: give shape {_show(shape)}") from None
    if x.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, x.shape, strict=True)):
        raise ValueError(f"{field} has shape {x.shape}: give shape {_show(shape)}")
    if not np.isfinite(x).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        place = f"[{_index(where)}]" if where else ""
        raise ValueError(f"{field}{place}={x[where]} is not finite: give finite numbers")
    return x


def counts(field: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Floats:
    """An array of numbers that are not negative."""
    return _not_negative(field, array(field, value, shape), "counts")


def _not_negative(field: str, x: Floats, numbers: str) -> Floats:
    if (x < 0).any():
        where = tuple(int(i) for i in np.argwhere(x < 0)[0])
        raise ValueError(f"{field}[{_index(where)}]={x[where]:g} is negative: {numbers} are zero or more")
    return x


def distributions(field: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Floats:
    """An array whose last axis holds probabilities that sum to one."""
    x = _not_negative(field, array(field, value, shape), "probabilities")
    total = x.sum(axis=-1)
    wrong = np.abs(total - 1.0) > TOLERANCE
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        row = f"{field}[{_index(where)}]" if where else field
        raise ValueError(f"{row} sums to {total[where]:.10g}: probabilities must sum to one (divide by the sum)")
    return x


def layered(field: str, value: Any, length: int | None = None) -> list[Any]:
    """A list with one entry per layer, ``length`` of them if given."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
        raise ValueError(f"{field} is of type {type(value).__name__}: give a list with one array per layer")
    if length not in (None, len(value)):
        raise ValueError(f"{field} has {len(value)} entries: give {length}, one per layer")
    return list(value)


def file_path(field: str, value: Any) -> Path:
    """The path of a file."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ValueError(f"{field}={value!r} is not a path: give the name of a file")
    return Path(value)


def fits(field: str, value: Any, need: int) -> None:
    """ValueError if an argument asks for more bytes than this machine has."""
    most = memory_bytes()
    if 0 < most < need:
        raise ValueError(f"{field}={value!r} takes {need:,} bytes, and this machine has {most:,}: give a smaller one")


def memory_bytes() -> int:
    """The memory of this machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def _show(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def _index(where: tuple[int, ...]) -> str:
    return ", ".join(map(str, where))
