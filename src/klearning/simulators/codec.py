"""Agents, worlds, priors and spaces as plain data, and back: one form in specs, sweep files and saved learners.

    {"name": "KLearning", "temperature": "optimal", …}         every parameter, defaults included, but for those that an
                                                               agent says came later (`since`)
    {"name": "BestOfK", "k": 3, "code": "4f0c…", "module": "best_of_k"}       and, of what was registered, its code
    {"reward": {"kind": "gaussian", "mean": 0.0, …}, "transitions": {"kind": "dirichlet", "mass": 0.3}, "span": null}

A Dirichlet's "support", and "transitions" of kind "known", are one nested list per layer, or "world": that world's own.
Reading data imports nothing: a name that is not registered is an error that says what to import.
"""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from gymnasium import spaces

import klearning.tabular.agents.registry  # noqa: F401  of whose names data may speak
from klearning.numerics import checks
from klearning.numerics.registry import REGISTRIES, RESERVED
from klearning.numerics.types import Arrays, Floats
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import FAMILIES
from klearning.tabular.beliefs.transitions import Dirichlet, Known
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.agent import Agent
from klearning.tabular.worlds.registry import WORLDS

TRANSITIONS = {"dirichlet": ("mass", "support"), "known": ("transitions",)}  # parameters by kind; the last are blocks
WORLD = "world"  # in place of blocks: those of the world that the prior is for
BESIDE = "arrays"  # in place of blocks: those that lie beside the data
MOST_PARTS = 1_000_000  # of a space
MOST_ENTRIES = 10_000  # of blocks within data


@runtime_checkable
class Record(Protocol):
    """A setting with parts, such as a `Calibration`, that knows itself as data."""

    def data(self) -> dict[str, Any]: ...


class Declared(NamedTuple):
    """What a class says of its parameters. A function, or a class of a user, may say nothing."""

    choices: Mapping[str, Iterable[str]] = {}  # the words that an option accepts
    records: Mapping[str, Mapping[str, Any]] = {}  # the classes of a parameter that is given as a table, by kind
    since: Sequence[str] = ()  # parameters that are left out at their defaults, so that names of before stay
    paper: str = ""


def declared(maker: Any) -> Declared:
    return Declared(**{name: getattr(maker, name) for name in Declared._fields if hasattr(maker, name)})


class NotRegistered(ValueError):
    """The data name an agent or a world that is not known here, or not with this code."""


# Agents and worlds


def agent_data(agent: Agent | Mapping[str, Any]) -> dict[str, Any]:
    """An agent as data, from itself or from some of its data."""
    return instance_data("agent", agent)


def instance_data(kind: str, thing: Any) -> dict[str, Any]:
    """An instance of a class of this kind, such as an agent or a player, as data; or from some of its data."""
    if isinstance(thing, Mapping):
        return call_data(kind, thing)
    one = f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
    if isinstance(thing, str):
        raise ValueError(f"{kind}={thing!r} is a name: give {{'name': {thing!r}}}, or {one}, {thing}()")
    if isinstance(thing, type):
        raise ValueError(f"{kind}={thing!r} is a class: give {one}, {thing.__name__}()")
    name, registry = type(thing).__name__, REGISTRIES[kind]
    if registry.get(name) is not type(thing):
        raise NotRegistered(f"{kind}={thing!r} is not registered: call {registry.room}.register_{kind}({name}) first")
    return call_data(kind, {"name": name, **_settings(thing)})


def call_data(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """{"name": …}, every parameter of that maker, given or default, and if it is not ours its code."""
    if "name" not in table(kind, given):
        raise ValueError(f"{kind}={dict(given)!r} has no name: give one of " + ", ".join(map(repr, REGISTRIES[kind])))
    name = registered_name(kind, given)
    defaults = _defaults(kind, name)
    for key in given:
        if key not in RESERVED:
            checks.choice(f"{kind} parameter", key, defaults)
    values = {**defaults, **{key: value for key, value in given.items() if key in defaults}}
    for key, value in values.items():
        if value is inspect.Parameter.empty:
            raise ValueError(f"{kind} parameter {key!r} of {name} has no default: give it")
    late = declared(REGISTRIES[kind][name]).since
    parameters = {key: plain(f"{kind} parameter {key}", value) for key, value in values.items()}
    parameters = {key: x for key, x in parameters.items() if key not in late or x != defaults[key]}
    return {"name": name, **parameters, **REGISTRIES[kind].origin(name)}


def build(kind: str, data: Mapping[str, Any]) -> Any:
    """The inverse of `call_data`."""
    maker = REGISTRIES[kind][registered_name(kind, data)]
    return maker(**{key: build_record(maker, key, value) for key, value in _parameters(data).items()})


def build_record(maker: Any, key: str, value: Any) -> Any:
    """A parameter; one that is given as a table is a record, of a kind that its class declares."""
    if not isinstance(value, Mapping):
        return value
    kinds, settings = declared(maker).records.get(key, {}), dict(value)
    record = kinds[checks.choice(f"{key} kind", settings.pop("kind", None), kinds)]
    for name in settings:
        checks.choice(f"{key} parameter", name, inspect.signature(record).parameters)
    return record(**settings)


def build_agent(data: Mapping[str, Any]) -> Agent:
    """The agent."""
    agent: Agent = build("agent", data)
    return agent


def build_world(data: Mapping[str, Any], prior: Prior | None = None) -> MDP:
    """The world; one that `takes_prior` is drawn from ``prior``."""
    name = registered_name("world", data)
    world = WORLDS[name](**_parameters(data), **({"prior": prior} if takes_prior(data) else {}))
    if not isinstance(world, MDP):
        raise ValueError(f"world={name!r} made a {type(world).__name__}: let its function return an MDP")
    return world


def takes_prior(world: Mapping[str, Any]) -> bool:
    """Whether a world is drawn from the run's own prior."""
    return "prior" in inspect.signature(WORLDS[registered_name("world", world)]).parameters


def registered_name(kind: str, data: Mapping[str, Any]) -> str:
    """The name of something that is known here, with the code that the data say."""
    registry, name, module = REGISTRIES[kind], data["name"], data.get("module")
    if not isinstance(name, str) or name not in registry:
        if name in registry.elsewhere:
            place = registry.elsewhere[name].__name__
            raise ValueError(f"{kind}={name!r} of {place} learns in environments alone: kl.learn, or `klearning learn`")
        if module is not None:
            raise NotRegistered(
                f"{kind}={name!r} is not registered: import {module}, where it was defined (on the command line: "
                f"--import), and let it call {registry.room}.register_{kind}({name})"
            )
        try:
            return checks.choice(kind, name, registry)
        except ValueError as error:
            raise NotRegistered(f"{error} (one of your own: --import the file that registers it)") from None
    code = registry.origin(name).get("code", "")
    if data.get("code", code) != code:
        here = f"code {code} here" if code else "klearning's own here"
        raise NotRegistered(
            f"{kind}={name!r} is {here} and was code {data['code']} of {module}: import that, or begin again without it"
        )
    return name


def _defaults(kind: str, name: str) -> dict[str, Any]:
    parameters = inspect.signature(REGISTRIES[kind][name]).parameters.values()
    return {p.name: p.default for p in parameters if not (kind == "world" and p.name == "prior")}


def _parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in RESERVED}


def _settings(thing: Any) -> dict[str, Any]:
    """Its parameters: an attribute for each parameter of its class."""
    return {name: getattr(thing, name) for name in inspect.signature(type(thing)).parameters}


# Priors


def prior_data(prior: Mapping[str, Any] | Prior, beside: Arrays | None = None) -> dict[str, Any]:
    """A prior as data, from itself or from some of its data; its blocks go ``beside`` as arrays if that is given."""
    given = _of_prior(prior) if isinstance(prior, Prior) else table("prior", prior)
    for key in given:
        checks.choice("prior parameter", key, ["reward", "transitions", "span", "stationary"])
    stationary = given.get("stationary", False)
    if not isinstance(stationary, bool | np.bool_):
        raise ValueError(f"prior stationary={stationary!r} is neither true nor false: give one of them")
    return {
        "reward": _reward_data(given.get("reward", {})),
        "transitions": _transitions_data(given.get("transitions", {}), beside),
        "span": plain("prior span", given.get("span")),
        **({"stationary": True} if stationary else {}),  # left out if not: the names of older runs stay
    }


def build_prior(data: Mapping[str, Any], world: MDP | None = None, beside: Arrays | None = None) -> Prior:
    """The inverse of `prior_data`; ``world`` is whose transitions are meant if the data say "world"."""
    reward, transitions = dict(data["reward"]), dict(data["transitions"])
    family = FAMILIES[checks.choice("prior reward kind", reward.pop("kind"), FAMILIES)]
    kind = checks.choice("prior transitions kind", transitions.pop("kind"), TRANSITIONS)
    field = TRANSITIONS[kind][-1]
    if field in transitions:
        transitions[field] = _find_blocks(field, transitions[field], world, beside)
    rows = Dirichlet(**transitions) if kind == "dirichlet" else Known(**transitions)
    return Prior(family(**reward), rows, data["span"], data.get("stationary", False))


def asks_for_world(data: Mapping[str, Any]) -> bool:
    """Whether a prior's data mean the transitions of the world that it is for."""
    return WORLD in (data["transitions"].get("support"), data["transitions"].get("transitions"))


def _of_prior(prior: Prior) -> dict[str, Any]:
    rows = prior.transitions
    # an MDP that is the support of a stationary prior is meant by its first step
    blocks = rows.blocks[:1] if prior.stationary else rows.blocks
    if isinstance(rows, Known):
        transitions: dict[str, Any] = {"kind": "known", "transitions": blocks}
    else:
        transitions = {"kind": "dirichlet", "mass": rows.mass, **({"support": blocks} if blocks else {})}
    return {
        "reward": {"kind": _family_name(prior.reward), **_settings(prior.reward)},
        "transitions": transitions,
        "span": prior.span,
        "stationary": prior.stationary,
    }


def _family_name(reward: Any) -> str:
    for name, family in FAMILIES.items():
        if family is type(reward):
            return name
    raise ValueError(f"reward={reward!r} is of no known family: put its class into beliefs.rewards.FAMILIES")


def _reward_data(given: Any) -> dict[str, Any]:
    reward = dict(table("prior reward", given))
    kind = checks.choice("prior reward kind", reward.pop("kind", "gaussian"), FAMILIES)
    for key in reward:
        checks.choice("prior reward parameter", key, inspect.signature(FAMILIES[kind]).parameters)
    settings = _settings(FAMILIES[kind](**reward))
    return {"kind": kind, **{key: plain(f"prior reward {key}", value) for key, value in settings.items()}}


def _transitions_data(given: Any, beside: Arrays | None) -> dict[str, Any]:
    rows = dict(table("prior transitions", given))
    kind = checks.choice("prior transitions kind", rows.pop("kind", "dirichlet"), TRANSITIONS)
    for key in rows:
        checks.choice("prior transitions parameter", key, TRANSITIONS[kind])
    if kind == "known":
        if "transitions" not in rows:
            raise ValueError('prior transitions of kind "known" are not given: give transitions = "world", or lists')
        return {"kind": kind, "transitions": _blocks_data("transitions", rows["transitions"], beside)}
    mass = float(Dirichlet(**{key: value for key, value in rows.items() if key == "mass"}).mass)
    if rows.get("support") is None:
        return {"kind": kind, "mass": mass}
    return {"kind": kind, "mass": mass, "support": _blocks_data("support", rows["support"], beside)}


def _blocks_data(field: str, given: Any, beside: Arrays | None) -> str | list[Any]:
    """Blocks (S_l, A, S_{l+1}) as nested lists, or as a word that says where they are."""
    if isinstance(given, str):
        return checks.choice(f"prior {field}", given, [WORLD])
    if not isinstance(given, list | tuple):
        raise ValueError(f'prior {field}={given!r} is not a list: give "world", or one array (S, A, S) per layer')
    blocks = [checks.array(f"prior {field}[{l}]", block, (None, None, None)) for l, block in enumerate(given)]
    if beside is not None:
        beside |= {_block_name(l): block for l, block in enumerate(blocks)}
        return BESIDE
    if (size := sum(block.size for block in blocks)) > MOST_ENTRIES:
        raise ValueError(f'prior {field} has {size:,} entries, above {MOST_ENTRIES:,}: give "world" in their place')
    return [block.tolist() for block in blocks]


def _find_blocks(field: str, given: Any, world: MDP | None, beside: Arrays | None) -> list[Floats] | MDP:
    if given == WORLD:
        if world is None:
            raise ValueError(f'prior {field}="world" needs one of our worlds: give one array per layer')
        return world
    if given == BESIDE:
        arrays: Arrays = beside or {}
        blocks: list[Floats] = []
        while (name := _block_name(len(blocks))) in arrays:
            blocks.append(arrays[name])
        return blocks
    return [np.asarray(block, np.float64) for block in given]


def _block_name(l: int) -> str:
    return f"prior_{l:03}"


# Plain data


def plain(field: str, value: Any) -> Any:
    """Lists for tuples and arrays, tables for records, Python's numbers for NumPy's; anything else is an error."""
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(field, v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {name: plain(f"{field} {name}", part) for name, part in value.items()}
    if isinstance(value, Record):
        return plain(field, value.data())
    raise ValueError(f"{field}={value!r} is not plain data: give numbers, text, or lists of them")


def table(field: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{field}={value!r} is not a table: give its parameters by name")
    return value


# Spaces


def space_data(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space as data."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        sizes = {"nvec": space.nvec.tolist(), "start": space.start.tolist()}
        return {"kind": "MultiDiscrete", **sizes, "dtype": np.dtype(space.dtype).name}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "MultiBinary", "n": space.n if isinstance(space.n, int) else list(space.shape)}
    if isinstance(space, spaces.Box):
        ends = {"low": _end(space.low), "high": _end(space.high)}
        return {"kind": "Box", **ends, "shape": list(space.shape), "dtype": np.dtype(space.dtype).name}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "spaces": [space_data(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        # pairs, because points are numbered in this order and names need not be strings
        return {"kind": "Dict", "spaces": [[name, space_data(part)] for name, part in space.spaces.items()]}
    kind = type(space).__name__
    raise ValueError(f"space {space} cannot be written as data: {kind} is not one of Gymnasium's plain spaces")


def build_space(data: dict[str, Any]) -> spaces.Space[Any]:
    """The inverse of `space_data`."""
    match data["kind"]:
        case "Discrete":
            return spaces.Discrete(data["n"], start=data["start"])
        case "MultiDiscrete":
            dtype = np.dtype(data["dtype"]).type
            return spaces.MultiDiscrete(np.array(data["nvec"]), dtype=dtype, start=np.array(data["start"]))
        case "MultiBinary":
            if math.prod(np.atleast_1d(data["n"]).tolist()) > MOST_PARTS:
                raise ValueError(f"MultiBinary space of {data['n']} parts: at most {MOST_PARTS:,} are read")
            return spaces.MultiBinary(data["n"])
        case "Box":
            return _build_box(data["low"], data["high"], tuple(data["shape"]), np.dtype(data["dtype"]))
        case "Tuple":
            return spaces.Tuple([build_space(part) for part in data["spaces"]])
        case "Dict":
            return spaces.Dict([(name, build_space(part)) for name, part in data["spaces"]])
    raise ValueError(f"space of kind {data['kind']!r} is unknown")


def _end(array: Any) -> Any:
    """One side of a box: a number where it is the same everywhere. JSON has no infinity: it is a word."""
    nested = _words(array.tolist())
    flat = _words(array.ravel().tolist())
    return flat[0] if flat and flat.count(flat[0]) == len(flat) else nested


def _words(part: Any) -> Any:
    if isinstance(part, list):
        return [_words(inner) for inner in part]
    return str(part) if isinstance(part, float) and math.isinf(part) else part


def _build_box(low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> spaces.Space[Any]:
    if dtype.kind not in "biuf" or math.prod(shape) > MOST_PARTS or min(shape, default=1) < 0:
        raise ValueError(f"Box space of shape {shape} and {dtype}: numbers are read, at most {MOST_PARTS:,}")
    ends = [np.array(np.broadcast_to(np.array(end, dtype), shape)) for end in (low, high)]
    if not (ends[0] <= ends[1]).all():
        raise ValueError("Box space with a low above its high")
    return spaces.Box(ends[0], ends[1], shape=shape, dtype=dtype.type)
