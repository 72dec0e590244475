"""Records that somebody made to do harm: names and checksums are right, and what they say is odd."""

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from klearning.lab.experiments.results import facts
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import Spec, make_spec, match_spec
from klearning.lab.experiments.store import Store, page, provenance
from klearning.numerics.files import arrays_to_bytes, checksum

Data = dict[str, Any]

ESCAPES = "\x1b[2J\x1b]0;owned\x07"
SCRIPT = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
FORMULAS = ("=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1")

ODD: dict[str, Any] = {
    "nothing": None,
    "a table": {},
    "a table in a table": {"name": {"name": {}}},
    "a list": [],
    "a list of tables": [{}],
    "a deep list": [[[[[[[[[[[[1]]]]]]]]]]]],
    "a long list": list(range(5000)),
    "true": True,
    "zero": 0,
    "minus one": -1,
    "10**25": 10**25,
    "-10**25": -(10**25),
    "10**18": 10**18,
    "half": 0.5,
    "1e308": 1e308,
    "5e-324": 5e-324,
    "no text": "",
    "a long text": "x" * 100_000,
    "escapes": ESCAPES,
    "lines": "a\nb\r\nc\x85d\u2028e",
    "a script": SCRIPT,
    "directions": "\u202etxt.exe\u202c",
    "half a sign": "\ud800",
    "a null": "a\x00b",
    "markup": "[red]a[/red][link=http://x]b[/link]",
    "braces": "{0}{x}%s%n$x${y}",
    "a path": "../../../etc/passwd",
    **{f"formula {i}": text for i, text in enumerate(FORMULAS)},
}


AGENTS: list[Data] = [{"name": "KLearning"}, {"name": "Random"}]


def base(agent: Data, depth: int = 3, seed: int = 0) -> Spec:
    """A run that a report shows in all its figures and films."""
    world = {"name": "deep_sea", "depth": depth}
    return make_spec(world, agent, episodes=40, seeds=[seed], snapshots=[10, 40])


def played(path: Path) -> Store:
    """A store of a few small runs, and of a match."""
    store = Store(path)
    for agent in AGENTS:
        for depth in (3, 4):
            execute(base(agent, depth), store)
    execute(base(AGENTS[0], seed=1), store)
    game = {"name": "rock_paper_scissors"}
    execute(match_spec(game, {"name": "KLearning"}, opponent="best_response", episodes=40, snapshots=[10, 40]), store)
    return store


def sound() -> Data:
    return dict(json.loads(base(AGENTS[0]).canonical))


def changed(data: Data, path: tuple[str, ...], value: Any) -> Data:
    """The data with another value in one place."""
    other = copy.deepcopy(data)
    inner = other
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return other


def places(data: Data, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every place in nested tables, and one that is not there yet in each table."""
    for key, value in data.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from places(value, (*path, key))
    if path:
        yield (*path, "odd")


def crafted_specs() -> Iterator[tuple[str, Data]]:
    """Specs by what is odd about them."""
    data = sound()
    for path in places(data):
        for name, value in ODD.items():
            yield f"{'.'.join(path)}: {name}", changed(data, path, value)
        if len(path) > 1:
            other = copy.deepcopy(data)
            inner = other
            for key in path[:-1]:
                inner = inner[key]
            inner.pop(path[-1], None)
            yield f"{'.'.join(path)}: missing", other
    for key in ODD.values():
        if isinstance(key, str):
            for field in ("world", "agent", "prior"):
                yield f"{field} has a key {key[:20]!r}", changed(data, (field, key), 1.0)
    opponents: list[Any] = [
        None,
        {},
        {"name": ESCAPES},
        {"name": "KLearning", "bonus": {}},
        {"name": "best_response"},
        {"name": {}},
        [],
        3,
    ]
    for opponent in opponents:
        yield f"opponent {opponent!r}", {**data, "opponent": opponent}
    many = {f"p{i}": i for i in range(5000)}
    yield "many parameters", {**data, "agent": {"name": "KLearning", **many}}
    yield "a huge world", {**data, "world": {"name": "deep_sea", "depth": 10**9}}
    sizes = {"states": 1000, "actions": 1000, "horizon": 1000, "seed": 0}
    for agent in ({"name": "KLearning", "bonus": "reward"}, {"name": "KLearning", "bonus": "split"}):
        yield f"a wide world, {agent['bonus']}", {**data, "world": {"name": "random_mdp", **sizes}, "agent": agent}
        yield f"a tall world, {agent['bonus']}", {**data, "world": {"name": "deep_sea", "depth": 1000}, "agent": agent}


def crafted_facts() -> Iterator[tuple[str, Data]]:
    """What a page says of a run, by what is odd about it."""
    sound = facts(base(AGENTS[0]), arrays())
    for key in sound:
        for name, value in ODD.items():
            yield f"facts {key}: {name}", {**sound, key: value}
        yield f"facts without {key}", {other: value for other, value in sound.items() if other != key}
    yield "facts of nothing", {}


@cache
def arrays() -> dict[str, Any]:
    """Those of the sound run."""
    with TemporaryDirectory() as folder:
        store = Store(folder)
        execute(base(AGENTS[0]), store)
        return store.arrays(base(AGENTS[0]))


def write_record(store: Store, data: Data, told: Any = None, own: dict[str, Any] | None = None) -> str | None:
    """A record whose name and checksums are right; its name, or None if no such text can be."""
    try:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
        name = hashlib.sha256(text.encode()).hexdigest()
    except (ValueError, TypeError):
        return None
    x = arrays() if own is None else own
    archive = arrays_to_bytes(x)
    said = facts(base(AGENTS[0]), arrays()) if told is None else told
    content = {**provenance(archive), "facts": said}
    folder = store.folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(f"{text}\n")
    (folder / "arrays.npz").write_bytes(archive)
    (folder / "meta.json").write_bytes(page(content))
    return name


def crafted_arrays() -> Iterator[tuple[str, dict[str, Any]]]:
    """Arrays of a run that are of another kind, or very long."""
    sound = arrays()
    for key in sound:
        for name, value in {
            "text": np.array(["a"] * 40), "bytes": np.array([b"a"] * 40), "complex": np.ones(40, complex),
            "empty": np.zeros(0), "one": np.asarray(1.0), "flat": np.ones((40, 1)), "long": np.zeros(10**6),
            "whole": np.arange(40), "flags": np.ones(40, bool), "nan": np.full_like(sound[key], np.nan, float),
            "infinite": np.full_like(sound[key], np.inf, float), "huge": np.full_like(sound[key], 1e308, float),
            "negative": np.full_like(sound[key], -3), "turned": np.atleast_1d(sound[key]).T[..., :1],
        }.items():  # fmt: skip
            yield f"array {key}: {name}", {**sound, key: value}
        yield f"no array {key}", {other: x for other, x in sound.items() if other != key}
    for name in ("diagnostic_sweeps", "snapshot_values", "snapshot_policy", "../../x", ESCAPES, "snapshot_"):
        yield f"more: {name!r}", {**sound, name: np.full((3, 2), np.nan)}


def crafted_records() -> Iterator[tuple[str, Callable[[Store], str | None]]]:
    """All of these, by name: a function that writes one into a store."""
    for name, data in crafted_specs():
        yield f"spec {name}", partial(write_record, data=data)
    for name, told in crafted_facts():
        yield name, partial(write_record, data=sound(), told=told)
    for name, own in crafted_arrays():
        yield name, partial(write_record, data=sound(), own=own)


def index_line(row: Any) -> bytes:
    """A line of the index with its checksum."""
    text = json.dumps(row).encode()
    return checksum(text).encode() + b" " + text + b"\n"


def crafted_indices(whole: bytes, flips: int = 300) -> Iterator[tuple[str, bytes]]:
    """Files in the place of a sound index."""
    rows = [json.loads(line[65:]) for line in whole.splitlines()]
    for key in (*rows[0], "odd"):
        for name, value in ODD.items():
            try:
                yield f"{key}: {name}", b"".join(index_line({**row, key: value}) for row in rows)
            except UnicodeEncodeError:
                continue
        yield f"without {key}", b"".join(index_line({k: v for k, v in row.items() if k != key}) for row in rows)
    for name, value in ODD.items():
        yield f"rows of {name}", index_line(value) * 3
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(whole), flips):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << (place % 8)
        yield f"bit {place} flipped", bytes(flipped)
    for length in range(0, len(whole), max(len(whole) // 20, 1)):
        yield f"cut at {length}", whole[:length]
    yield "a long line", b"0" * 10**7
    yield "many lines", b"\n" * 10**7
    yield "many rows", index_line({**rows[0], "name": "0" * 64}) * 50_000
    yield "deep", b"0" * 64 + b" " + b"[" * 60_000 + b"\n"
    yield "not UTF-8", b"\xff" * 10_000
