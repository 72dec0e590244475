"""A run as one row of a table: every setting a column of its own, then how it went; and what tells runs apart.

    name, protocol, world, world.depth, …, agent, agent.bonus, …, opponent, …, prior.reward, prior.reward.sd, …,
    prior.transitions, prior.transitions.mass, prior.span, prior.stationary, episodes, stop, evaluate_every, snapshots,
    seed, ran, first_hit, solved, regret

A column with a dot is a parameter of what stands before the dot; a run that has no such parameter has None.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from klearning.experiments.spec import Spec
from klearning.storage.files import checksum

Row = dict[str, Any]

RESULTS = ("ran", "first_hit", "solved", "regret")
FIRST, LAST = ("name", "protocol"), ("episodes", "stop", "evaluate_every", "snapshots", "seed", *RESULTS)
NO_SETTINGS = ("name", "seed", *RESULTS)  # by these runs of one experiment differ
KINDS = ("world", "agent", "opponent", "prior")
LONGEST = 200  # characters of a list that is written out


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
        "snapshots": _cell(list(spec.snapshots)),
        "seed": spec.seed,
    }


def row_of(spec: Spec, facts: Mapping[str, Any]) -> Row:
    """What is listed of a run."""
    return {"name": spec.name, **settings(spec), **{key: facts[key] for key in RESULTS}}


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
    if not isinstance(value, list):
        return value
    text = json.dumps(value)
    return text if len(text) <= LONGEST else f"{len(value)} entries, sha256 {checksum(text.encode())[:12]}"


def column_names(rows: Iterable[Row]) -> list[str]:
    """The columns of all rows, parameters beside what they belong to."""
    names = {name for row in rows for name in row} | {*FIRST, *LAST, "world", "agent"}
    inner = [name for kind in KINDS for name in sorted(names) if name.partition(".")[0] == kind]
    return [*FIRST, *inner, *LAST]


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


def order_of(names: Sequence[str], row: Row) -> tuple[Any, ...]:
    """By protocol, world, agent and their parameters, then the rest, the seed last; numbers as numbers."""
    first = ("protocol", "world", "agent")
    others = [name for name in names if name not in (*first, *NO_SETTINGS)]
    return tuple(_place(row.get(name)) for name in (*first, *others, "seed"))


def _place(value: Any) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def experiment(row: Row) -> Row:
    """A row without what differs from seed to seed."""
    return {name: value for name, value in row.items() if name not in NO_SETTINGS}


def differences(rows: Sequence[Row]) -> list[Row]:
    """Of each row the settings that tell it from others of its kind, and no more.

    A parameter is compared with that of rows which have the same world, agent or family before its dot: what only
    another agent has tells nothing.
    """
    return [{name: row[name] for name in row if _differs(name, row, rows)} for row in rows]


def _differs(name: str, row: Row, rows: Sequence[Row]) -> bool:
    whole = name.rpartition(".")[0]
    peers = [other for other in rows if other.get(whole) == row.get(whole)]
    return any(other.get(name) != row[name] for other in peers)
