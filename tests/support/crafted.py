"""Files that somebody made to do harm: a sound one with one thing changed, and its checksum repaired."""

import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import klearning as kl
from klearning.numerics.files import arrays_to_bytes
from klearning.numerics.types import Arrays
from klearning.simulators import learner_file
from klearning.simulators.saving import arrays_of, settings_of
from klearning.tabular.trials.trial import Trial
from klearning.version import __version__
from tests.support.make_corpus import begun

LEARNERS = ("KLearning_schedule_layered", "KLearning", "PSRL_support", "UCRL2", "UCFH", "BEB", "QLearning")
EPISODES = 30
TRIALS: dict[str, tuple[Any, kl.Prior]] = {
    "KLearning": (kl.KLearning(bonus="sharp"), kl.Prior()),
    "split": (kl.KLearning(bonus="split"), kl.Prior()),
    "PSRL": (kl.PSRL(), kl.Prior(kl.Beta())),
    "UCRL2": (kl.UCRL2(0.05), kl.Prior(stationary=True)),
    "OptimisticQLearning": (kl.OptimisticQLearning("bernstein"), kl.Prior()),
}

Header = dict[str, Any]


def _fitted(x: Any, number: float) -> Any:
    """The number as one of the array's kind, or the largest that there is."""
    if x.dtype.kind == "i":
        number = min(number, np.iinfo(x.dtype).max)
    with np.errstate(over="ignore"):
        return np.asarray(number).astype(x.dtype)


def _filled(x: Any, number: float) -> Any:
    return np.full_like(x, _fitted(x, number))


def _one(x: Any, number: float) -> Any:
    changed = x.copy()
    changed.reshape(-1)[-1:] = _fitted(x, number)
    return changed


MUTATIONS: dict[str, Callable[[Any], Any]] = {
    "huge": lambda x: _filled(x, 1e300 if x.dtype.kind == "f" else 10**9),
    "one huge": lambda x: _one(x, 1e300 if x.dtype.kind == "f" else 10**13),
    "negative": lambda x: _filled(x, -7),
    "one negative": lambda x: _one(x, -1000),
    "nan": lambda x: _filled(x, np.nan if x.dtype.kind == "f" else 3),
    "shorter": lambda x: x[..., :-1] if x.ndim else x.reshape(1)[:0],
    "emptied": lambda x: x.reshape(-1)[:0].reshape((*x.shape[:-1], 0)) if x.ndim > 1 else x.reshape(-1)[:0],
    "swapped": lambda x: x.reshape(-1)[::-1].reshape(x.shape),
    "another type": lambda x: x.astype(np.float32),
}


def mutated(arrays: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Each array changed in each way that it can be; what comes out the same is left out."""
    for name, x in arrays.items():
        for how, change in MUTATIONS.items():
            if x.dtype.kind in "bu" and how not in ("shorter", "emptied", "swapped", "another type"):
                continue
            y = change(x)
            if y.dtype != x.dtype or y.shape != x.shape or not np.array_equal(x, y, equal_nan=x.dtype.kind == "f"):
                yield f"{name} {how}", {**arrays, name: y}


def learner_parts(case: str) -> tuple[Header, Arrays]:
    learner, _ = begun(case)
    arrays = arrays_of(learner)
    settings = json.loads(json.dumps(settings_of(learner, arrays)))
    return {
        "format": learner_file.FORMAT,
        "version": learner_file.VERSION,
        "klearning": __version__,
        **settings,
    }, arrays


def learner_bytes(header: Header, arrays: Arrays) -> bytes:
    """As `learner.save` writes it."""
    header = {name: value for name, value in header.items() if name != "checksum"}
    header["checksum"] = learner_file._checksum(header, arrays)
    return archive({**members_of(arrays), learner_file.HEADER: json.dumps(header).encode()})


def members_of(arrays: Arrays) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(arrays_to_bytes(arrays))) as file:
        return {name: file.read(name) for name in file.namelist()}


def archive(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def _space(n: Any) -> Header:
    return {"kind": "Discrete", "n": n, "start": 0}


def _deep(depth: int) -> Header:
    space = _space(2)
    for _ in range(depth):
        space = {"kind": "Tuple", "spaces": [space]}
    return space


def _stream(i: int, **inner: Any) -> Callable[[Header], Header]:
    def change(header: Header) -> Header:
        streams = json.loads(json.dumps(header["streams"]))
        streams[i]["state"].update(inner)
        return {**header, "streams": streams}

    return change


HEADERS: dict[str, Callable[[Header], Header]] = {
    "horizon of a billion": lambda h: {**h, "horizon": 10**9},
    "horizon of 2**70": lambda h: {**h, "horizon": 2**70},
    "horizon below zero": lambda h: {**h, "horizon": -1},
    "horizon one less": lambda h: {**h, "horizon": h["horizon"] - 1},
    "a million actions": lambda h: {**h, "action_space": _space(10**6)},
    "no action": lambda h: {**h, "action_space": _space(0)},
    "2**70 observations": lambda h: {**h, "observation_space": _space(2**70)},
    "a billion bits": lambda h: {**h, "observation_space": {"kind": "MultiBinary", "n": 10**9}},
    "a space of another kind": lambda h: {**h, "observation_space": {"kind": "Box"}},
    "a space of nothing": lambda h: {**h, "observation_space": None},
    "a space of objects": lambda h: {
        **h,
        "observation_space": {"kind": "MultiDiscrete", "nvec": [4], "start": [0], "dtype": "object"},
    },
    "step beyond the horizon": lambda h: {**h, "step": 10**6},
    "step below zero": lambda h: {**h, "step": -3},
    "step as text": lambda h: {**h, "step": "1"},
    "step one more": lambda h: {**h, "step": h["step"] + 1},
    "more episodes than returns": lambda h: {**h, "episodes_done": h["episodes_done"] + 1},
    "2**70 episodes": lambda h: {**h, "episodes_done": 2**70},
    "waiting as a number": lambda h: {**h, "waiting": 3},
    "over as a list": lambda h: {**h, "over": [1]},
    "grow_states as text": lambda h: {**h, "grow_states": "yes"},
    "bins of nothing": lambda h: {**h, "bins": [[["x"], [[0.5]]]]},
    "bins as text": lambda h: {**h, "bins": "ten"},
    "bins that fall": lambda h: {**h, "bins": [[[], [[0.5, 0.1]]]]},
    "the other way to number states": lambda h: {**h, "grow_states": not h["grow_states"]},
    "seed below zero": lambda h: {**h, "seed": -1},
    "a stream of 2**4000": _stream(0, state=2**4000),
    "a stream below zero": _stream(1, state=-1),
    "a stream that stands still": _stream(2, inc=0),
    "a stream of text": _stream(3, state="x"),
    "three streams": lambda h: {**h, "streams": h["streams"][:3]},
    "streams of another kind": lambda h: {**h, "streams": [{"bit_generator": "MT19937"}] * 4},
    "streams of numbers": lambda h: {**h, "streams": [1, 2, 3, 4]},
    "no prior": lambda h: {**h, "prior": None},
    "a prior of nothing": lambda h: {**h, "prior": {}},
    "mass below zero": lambda h: {**h, "prior": {**h["prior"], "transitions": {"kind": "dirichlet", "mass": -1.0}}},
    "another mass": lambda h: {**h, "prior": {**h["prior"], "transitions": {"kind": "dirichlet", "mass": 7.0}}},
    "the other kind of layers": lambda h: {
        **h,
        "prior": {**h["prior"], "stationary": not h["prior"].get("stationary", False)},
    },
    "span of text": lambda h: {**h, "prior": {**h["prior"], "span": "x"}},
    "another agent": lambda h: {**h, "agent": {"name": "PSRL" if h["agent"]["name"] != "PSRL" else "UCRL2"}},
    "no agent": lambda h: {**h, "agent": [1]},
    "a million bits": lambda h: {**h, "observation_space": {"kind": "MultiBinary", "n": 10**6}},
    "a million bits of action": lambda h: {**h, "action_space": {"kind": "MultiBinary", "n": 10**6}},
    "a wide box": lambda h: {
        **h,
        "observation_space": {"kind": "Box", "low": 0, "high": 9, "shape": [10**6], "dtype": "int64"},
    },
    "a long tuple": lambda h: {**h, "observation_space": {"kind": "Tuple", "spaces": [_space(2)] * 50_000}},
    "a deep tuple": lambda h: {**h, "observation_space": _deep(300)},
    "a long list of sizes": lambda h: {
        **h,
        "observation_space": {"kind": "MultiDiscrete", "nvec": [2] * 10**5, "start": [0] * 10**5, "dtype": "int64"},
    },
    "horizon times 1000": lambda h: {**h, "horizon": 1000 * h["horizon"]},
    "actions times 1000": lambda h: {**h, "action_space": _space(1000 * h["action_space"].get("n", 1))},
}


def _declared(shape: str, header: str = "") -> Callable[[Header, Arrays], bytes]:
    """The array `starts` with a header that says another shape."""

    def make(settings: Header, arrays: Arrays) -> bytes:
        text = header or f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(64)
        members = {**members_of(arrays), learner_file.HEADER: json.dumps(settings).encode(), "starts.npy": member}
        return archive(members)

    return make


def _with_header(data: bytes, how: int = zipfile.ZIP_DEFLATED) -> Callable[[Header, Arrays], bytes]:
    return lambda settings, arrays: archive({**members_of(arrays), learner_file.HEADER: data}, how)


def _bomb(settings: Header, arrays: Arrays) -> bytes:
    """Half a gigabyte of zeros in half a megabyte, packed bit by bit, so that it need not be made."""
    size, piece = 2**29, bytes(2**20)
    packer, packed, crc = zlib.compressobj(9, zlib.DEFLATED, -15), [], 0
    for _ in range(size // 2**20):
        packed.append(packer.compress(piece))
        crc = zlib.crc32(piece, crc)
    body = b"".join(packed) + packer.flush()
    sound = archive({learner_file.HEADER: json.dumps(settings).encode()})
    return _appended(sound, b"memory.policy.npy", body, crc, size)


def _lying_bomb(settings: Header, arrays: Arrays) -> bytes:
    """Says that it holds ten bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(bytes(300 * 2**20)) + packer.flush()
    return _appended(archive({learner_file.HEADER: b"{}"}), b"memory.policy.npy", body, 0, 10)


def _appended(sound: bytes, name: bytes, body: bytes, crc: int, size: int) -> bytes:
    """An archive with one member more, whatever it says of itself."""
    end = sound.rindex(b"PK\x05\x06")
    (count, length, start) = struct.unpack("<HII", sound[end + 10 : end + 20])
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(body), size, len(name), 0)
    local = b"PK\x03\x04" + fields + name + body
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, start) + name
    directory = sound[start : start + length] + entry
    tail = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count + 1, count + 1, len(directory), start + len(local), 0)
    return sound[:start] + local + directory + tail


def _twice(settings: Header, arrays: Arrays) -> bytes:
    buffer = io.BytesIO(learner_bytes(settings, arrays))
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("starts.npy", members_of({"starts": arrays["starts"] + 1.0})["starts.npy"])
    return buffer.getvalue()


def _typed(descr: str) -> Callable[[Header, Arrays], bytes]:
    """The array `starts` of another type, with as many bytes as its shape would have in eights."""
    return _declared("", f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (8,), }}")


def _long_text(settings: Header, arrays: Arrays) -> bytes:
    """A header of 120 MB, most of it lists of nothing, in less than a megabyte."""
    text = json.dumps(settings)[:-1] + ', "more": [' + "[]," * 40_000_000 + "0]}"
    return archive({**members_of(arrays), learner_file.HEADER: text.encode()})


def _many_members(settings: Header, arrays: Arrays) -> bytes:
    """More members than any learner has, of nothing each."""
    empty = {f"x{i}.npy": b"" for i in range(60_000)}
    return archive({**members_of(arrays), learner_file.HEADER: json.dumps(settings).encode(), **empty})


TYPES = (
    "<q9", "<f3", "<i3", "|b2", "<c3", "<M8", "<m8[ns]", "|V8", "|O8", "<u9", "<f8,<f8", "=f8", "a8", "<U0", "|S0", "?",
    "<e2", "<g16", "<f16", "<c32", "<i8888", "<f9999", "object", "float", "<x8", "|T16", ">f8", "<i-8", "<f8 ",
    "<S9999",
)  # fmt: skip

ARCHIVES: dict[str, Callable[[Header, Arrays], bytes]] = {
    **{f"type {descr}": _typed(descr) for descr in TYPES},
    "a long header": _long_text,
    "many members": _many_members,
    "shape of 10**12": _declared("(1000000000000,)"),
    "shape of 2**70": _declared(f"({2**70},)"),
    "shape below zero": _declared("(-8,)"),
    "shape in expressions": _declared("(2**3,)"),
    "header of parentheses": _declared("", "(" * 64),
    "deep header": _declared("", "{'descr': " + "[" * 5000),
    "header of code": _declared("", "__import__('os').getpid()"),
    "header of objects": _declared("", "{'descr': '|O', 'fortran_order': False, 'shape': (8,), }"),
    "deep JSON": _with_header(b"[" * 100_000),
    "deep JSON, closed": _with_header(b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"),
    "JSON of 10**5 digits": _with_header(b'{"version": ' + b"9" * 100_000 + b"}"),
    "JSON of another encoding": _with_header(b'{"format": "\xff\xfe"}'),
    "LZMA": _with_header(b"{}", zipfile.ZIP_LZMA),
    "bzip2": _with_header(b"{}", zipfile.ZIP_BZIP2),
    "a bomb": _bomb,
    "a bomb that lies": _lying_bomb,
    "two members of one name": _twice,
    "a member more": lambda settings, arrays: learner_bytes(settings, {**arrays, "memory.more": np.zeros(3)}),
    "a member less": lambda settings, arrays: learner_bytes(
        settings, {k: x for k, x in arrays.items() if k != "memory.policy"}
    ),
}


def crafted_learners(case: str) -> Iterator[tuple[str, bytes]]:
    """Files by what was done to them."""
    header, arrays = learner_parts(case)
    for name, changed in mutated(arrays):
        yield name, learner_bytes(header, changed)
    for name, change in HEADERS.items():
        yield name, learner_bytes(change(header), arrays)


def changed_learners(case: str) -> Iterator[tuple[str, bytes]]:
    """The same changes by somebody who leaves the checksum as it was."""
    header, arrays = learner_parts(case)
    header["checksum"] = learner_file._checksum(header, arrays)
    for name, changed in mutated(arrays):
        yield name, archive({**members_of(changed), learner_file.HEADER: json.dumps(header).encode()})
    for name, change in HEADERS.items():
        yield name, archive({**members_of(arrays), learner_file.HEADER: json.dumps(change(header)).encode()})


def flipped_learners(case: str, flips: int = 300) -> Iterator[tuple[str, bytes]]:
    """Single bits flipped, and files cut short."""
    sound, rng = learner_bytes(*learner_parts(case)), np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(sound), flips):
        flipped = bytearray(sound)
        flipped[place // 8] ^= 1 << (place % 8)
        yield f"bit {place} flipped", bytes(flipped)
    for length in range(0, len(sound), len(sound) // 100):
        yield f"cut at {length}", sound[:length]


def crafted_archives(case: str) -> Iterator[tuple[str, bytes]]:
    header, arrays = learner_parts(case)
    for name, make in ARCHIVES.items():
        yield name, make(header, arrays)


def trial_of(case: str) -> Trial:
    agent, prior = TRIALS[case]
    return Trial(agent, kl.river_swim(4, 5), prior, 0, EPISODES)


def trial_parts(case: str) -> Arrays:
    trial = trial_of(case)
    trial.advance(EPISODES // 2)
    return trial.state()


def crafted_trials(case: str) -> Iterator[tuple[str, Arrays]]:
    """States of a trial in its middle, by what was done to them."""
    arrays = trial_parts(case)
    yield from mutated(arrays)
    for name, text in {"deep": b"[" * 100_000, "huge": b'[{"state": ' + b"9" * 4000 + b"}]", "none": b"null"}.items():
        yield f"streams {name}", {**arrays, "streams": np.frombuffer(text, np.uint8)}
