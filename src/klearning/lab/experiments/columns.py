"""A run as one row of a table: every setting a column of its own, then how it went; and what tells runs apart.

    name, protocol, world, world.depth, …, agent, agent.bonus, …, opponent, …, prior.reward, prior.reward.sd, …,
    prior.transitions, prior.transitions.mass, prior.span, prior.stationary, episodes, stop, evaluate_every, snapshots,
    keep, hint, device, seed, seeds, ran, first_hit, solved, solved_seeds, regret

A row is one run, or a part of a spec of which some episodes are kept: its times are medians, its regret is a mean.
A column with a dot is a parameter of what stands before the dot; a run that has no such parameter has None.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any

from klearning.lab.experiments.spec import Spec
from klearning.numerics.files import checksum

Row = dict[str, Any]

RESULTS = ("ran", "first_hit", "solved", "solved_seeds", "regret")
FIRST, LAST = ("name", "protocol"), ("seed", "seeds", *RESULTS)
LENGTH, RARE = ("episodes", "stop", "evaluate_every", "snapshots"), ("keep", "hint", "device")
NO_SETTINGS = ("name", "seed", "seeds", *RESULTS)  # by these runs of one experiment differ
KINDS = ("world", "agent", "opponent", "prior")
LONGEST = 200  # characters of a list that is written out
MOST_COLUMNS = 500
SCALARS = {str, float, int, bool, type(None)}
KINDS_OF: dict[str, tuple[type, ...]] = {  # what is in the columns that every row has
    **dict.fromkeys(("name", "protocol", "world", "agent", "stop", "snapshots"), (str,)),
    **dict.fromkeys(("episodes", "evaluate_every", "seed", "seeds", "ran"), (int,)),
    "solved_seeds": (int, type(None)),  # None if the world has no goal
    **dict.fromkeys(("first_hit", "solved", "regret"), (float, type(None))),
}


def settings(spec: Spec) -> Row:
    """Every setting of a run, flat."""
    prior = {"stationary": False, **spec.prior} if isinstance(spec.prior, Mapping) else spec.prior
    return {
        "protocol": spec.protocol,
        **_flat("world", spec.world),
        **_flat("agent", spec.agent),
        **(_flat("opponent", spec.opponent) if spec.opponent is not None else {}),
        **_flat("prior", prior),
        "episodes": spec.episodes,
        "stop": spec.stop,
        "evaluate_every": spec.evaluate_every,
        "snapshots": _cell(spec.snapshots),
        **{name: _cell(value) for name, value in spec.data().items() if name in RARE},
        "seed": spec.seed,
        "seeds": spec.seeds,
    }


def row_of(spec: Spec, facts: Mapping[str, Any]) -> Row:
    """The row of a run in listings."""
    return {"name": spec.name, **settings(spec), **{key: facts[key] for key in RESULTS}}


def is_row(row: Any) -> bool:
    """Whether this can be a result of `row_of`, whatever wrote it."""
    if not isinstance(row, dict) or len(row) > MOST_COLUMNS or not SCALARS.issuperset(map(type, row.values())):
        return False
    return _are_kinds(tuple(type(row.get(name, ...)) for name in KINDS_OF))


@cache
def _are_kinds(types: tuple[type, ...]) -> bool:
    return all(kind in kinds for kind, kinds in zip(types, KINDS_OF.values(), strict=True))


def _flat(column: str, data: Any) -> Row:
    """A table as columns: what it is called (its name or kind) under its own name, its parameters behind a dot."""
    if not isinstance(data, Mapping):
        return {column: _cell(data)}
    called = next((key for key in ("name", "kind") if key in data), None)
    row = {column: _cell(data[called])} if called else {}
    for key in sorted(set(data) - {called}):
        row |= _flat(f"{column}.{key}", data[key])
    return row


def _cell(value: Any) -> Any:
    """A number or text as it is; a list as JSON, or if that is long as its checksum."""
    if not isinstance(value, list | tuple):
        return value
    text = json.dumps(value)
    return text if len(text) <= LONGEST else f"{len(value)} entries, sha256 {checksum(text.encode())[:12]}"


def column_names(rows: Iterable[Row]) -> list[str]:
    """The columns of all rows, parameters beside what they belong to."""
    names = {name for row in rows for name in row} | {*FIRST, *LAST, "world", "agent"}
    inner = [name for kind in KINDS for name in sorted(names) if name.partition(".")[0] == kind]
    return [*FIRST, *inner, *LENGTH, *(name for name in RARE if name in names), *LAST]


def columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """A table of one type per column: where numbers and words meet in one, all of it is text."""
    return {name: _one_type([row.get(name) for row in rows]) for name in column_names(rows)}


def _one_type(values: list[Any]) -> list[Any]:
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) <= 1 and "large" not in kinds:
        return values
    return [None if value is None else str(value) for value in values]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "large" if isinstance(value, int) and abs(value) >= 2**63 else "number"
    return "text"


def in_order(rows: Collection[Row]) -> list[Row]:
    """By protocol, world, agent and their parameters, then the rest, the seed last; numbers as numbers."""
    first = ("protocol", "world", "agent")
    others = [name for name in column_names(rows) if name not in (*first, *NO_SETTINGS)]
    names = [name for name in (*first, *others, "seed") if _varies(name, rows)]
    return sorted(rows, key=lambda row: [_place(row.get(name)) for name in names])


def _varies(name: str, rows: Collection[Row]) -> bool:
    """Whether a column holds more than one value; 1, 1.0 and True are three."""
    values = list(map(dict.get, rows, repeat(name)))
    return len(set(values)) > 1 or len(set(map(type, values))) > 1


def _place(value: Any) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def experiment(row: Row) -> Row:
    """A row without what differs from seed to seed."""
    return {name: value for name, value in row.items() if name not in NO_SETTINGS}


def experiments(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that differ from seed to seed alone, together, in the order in which they come."""
    names = [name for name in column_names(rows) if name not in NO_SETTINGS and _varies(name, rows)]
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(map(row.get, names))
        groups.setdefault((values, tuple(map(type, values))), []).append(row)
    return list(groups.values())


def differences(rows: Sequence[Row]) -> list[Row]:
    """Of each row the settings that tell it from others of its kind, and no more.

    A parameter is compared with that of rows which have the same world, agent or family before its dot: what only
    another agent has tells nothing.
    """
    names = {name for row in rows for name in row}
    found = {name: _values(name, rows) for name in names}
    return [{name: row[name] for name in row if len(found[name][row.get(_whole(name))]) > 1} for row in rows]


def _whole(name: str) -> str:
    """The owner of a parameter."""
    return name.rpartition(".")[0]


def _values(name: str, rows: Sequence[Row]) -> dict[Any, set[Any]]:
    """The values in a column, by the value of what it belongs to."""
    values: dict[Any, set[Any]] = {}
    for row in rows:
        values.setdefault(row.get(_whole(name)), set()).add(row.get(name))
    return values
