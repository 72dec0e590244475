"""A run as plain data. Its canonical JSON is its identity, and the SHA-256 of that its name.

    {"world": {"name": "deep_sea", "depth": 10, …}, "agent": {"name": "KLearning", …},
     "prior": {"reward": {"kind": "gaussian", …}, "transitions": {"kind": "dirichlet", …}, "span": null},
     "episodes": 1000, "seed": 0, "protocol": "text", "stop": "never", "evaluate_every": 1, "snapshots": [],
     "version": 1}

Every parameter is written out, defaults included: when a default changes, so does the name.
"""

import hashlib
import inspect
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from klearning.agents import AGENTS
from klearning.arrays import checks
from klearning.beliefs.belief import Prior
from klearning.beliefs.rewards import Beta, Gaussian
from klearning.beliefs.transitions import Dirichlet
from klearning.models.mdp import MDP
from klearning.trials.agent import Agent
from klearning.worlds import WORLDS

VERSION = 1
STOPS = ("never", "solved")
REWARDS: dict[str, Any] = {"gaussian": Gaussian, "beta": Beta}


@dataclass(frozen=True, eq=False)
class Spec:
    """One run: one world, one agent, one prior, one seed."""

    world: dict[str, Any]
    agent: dict[str, Any]
    prior: dict[str, Any]
    episodes: int
    seed: int
    protocol: str = ""
    stop: str = "never"  # or "solved": at the first episode by which the world counts as solved
    evaluate_every: int = 1
    snapshots: tuple[int, ...] = ()  # after how many episodes to keep the agent's values, policy and visits
    version: int = VERSION

    @property
    def canonical(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def name(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()


def make_spec(
    world: Mapping[str, Any],
    agent: Mapping[str, Any] | Agent,
    prior: Mapping[str, Any] | Prior | None = None,
    *,
    episodes: int,
    seed: int = 0,
    protocol: str = "",
    stop: str = "never",
    evaluate_every: int = 1,
    snapshots: Sequence[int] = (),
) -> Spec:
    """A checked spec with every parameter written out. ``world`` and ``agent`` are {"name": …, parameter: value}."""
    spec = Spec(
        world=call_data("world", world, WORLDS, leave_out=("prior",)),
        agent=call_data("agent", agent if isinstance(agent, Mapping) else agent_data(agent), AGENTS),
        prior=prior_data(prior if prior is not None else Prior()),
        episodes=checks.whole("episodes", episodes),
        seed=checks.whole("seed", seed, 0),
        protocol=_text("protocol", protocol),
        stop=checks.choice("stop", stop, STOPS),
        evaluate_every=checks.whole("evaluate_every", evaluate_every),
        snapshots=_rising("snapshots", snapshots),
    )
    build_world(spec)
    build_agent(spec)
    return spec


def call_data(
    kind: str, given: Mapping[str, Any], makers: Mapping[str, Any], leave_out: Sequence[str] = ()
) -> dict[str, Any]:
    """{"name": …} and every parameter of that maker, given or default; unknown ones are errors."""
    if "name" not in _table(kind, given):
        raise ValueError(f"{kind}={dict(given)!r} has no name: give one of " + ", ".join(map(repr, makers)))
    name = checks.choice(kind, given["name"], makers)
    known = {p.name: p.default for p in inspect.signature(makers[name]).parameters.values()}
    known = {key: value for key, value in known.items() if key not in leave_out}
    for key in given:
        if key != "name":
            checks.choice(f"{kind} parameter", key, known)
    return {"name": name, **{key: _plain(given.get(key, default)) for key, default in known.items()}}


def agent_data(agent: Agent) -> dict[str, Any]:
    return {"name": type(agent).__name__, **asdict(agent)}  # type: ignore[call-overload]


def prior_data(prior: Mapping[str, Any] | Prior) -> dict[str, Any]:
    """A prior as data; what depends on a particular world (a support, known transitions) has no such form."""
    if isinstance(prior, Prior):
        if not isinstance(prior.transitions, Dirichlet) or prior.transitions.support is not None:
            raise ValueError("transitions of a spec's prior must be Dirichlet(mass) without a support")
        return {
            "reward": {"kind": type(prior.reward).__name__.lower(), **asdict(prior.reward)},
            "transitions": {"kind": "dirichlet", "mass": float(prior.transitions.mass)},
            "span": _plain(prior.span),
            **({"stationary": True} if prior.stationary else {}),  # left out if not: the names of older runs stay
        }
    for key in _table("prior", prior):
        checks.choice("prior parameter", key, ["reward", "transitions", "span", "stationary"])
    reward = dict(_table("prior reward", prior.get("reward", {})))
    kind = REWARDS[checks.choice("prior reward kind", reward.pop("kind", "gaussian"), REWARDS)]
    for key in reward:
        checks.choice("prior reward parameter", key, inspect.signature(kind).parameters)
    transitions = dict(_table("prior transitions", prior.get("transitions", {})))
    checks.choice("prior transitions kind", transitions.pop("kind", "dirichlet"), ["dirichlet"])
    for key in transitions:
        checks.choice("prior transitions parameter", key, ["mass"])
    return prior_data(Prior(kind(**reward), Dirichlet(**transitions), prior.get("span"), _flag(prior)))


def _table(field: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{field}={value!r} is no table: give its parameters by name")
    return value


def _flag(prior: Mapping[str, Any]) -> bool:
    stationary = prior.get("stationary", False)
    if not isinstance(stationary, bool):
        raise ValueError(f"prior stationary={stationary!r} is neither true nor false: give one of them")
    return stationary


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field}={value!r} is no text: put it in quotes")
    return value


def _rising(field: str, values: Any) -> tuple[int, ...]:
    """Whole numbers, each above the last."""
    if not isinstance(values, Sequence | np.ndarray | range) or isinstance(values, str):
        raise ValueError(f"{field}={values!r} is no list: give numbers of episodes, each above the last")
    numbers = tuple(checks.whole(field, t) for t in values)
    if any(b <= a for a, b in itertools.pairwise(numbers)):
        raise ValueError(f"{field}={list(numbers)} does not rise: give each number once, in order")
    return numbers


def _plain(value: Any) -> Any:
    """Lists for tuples and arrays, Python's numbers for NumPy's."""
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def build_prior(spec: Spec) -> Prior:
    reward = dict(spec.prior["reward"])
    kind = REWARDS[reward.pop("kind")]
    rows = Dirichlet(mass=spec.prior["transitions"]["mass"])
    return Prior(kind(**reward), rows, spec.prior["span"], spec.prior.get("stationary", False))


def build_world(spec: Spec) -> MDP:
    """The world; a random MDP is drawn from the spec's own prior."""
    parameters = {key: value for key, value in spec.world.items() if key != "name"}
    if spec.world["name"] == "random_mdp":
        parameters["prior"] = build_prior(spec)
    return WORLDS[spec.world["name"]](**parameters)


def build_agent(spec: Spec) -> Agent:
    agent: Agent = AGENTS[spec.agent["name"]](**{key: value for key, value in spec.agent.items() if key != "name"})
    return agent


def spec_from_json(text: str) -> Spec:
    """Read a spec back; anything but what `Spec.canonical` writes is an error."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise ValueError(f"spec is not of version {VERSION}: it was written by another version of klearning")
    names = list(Spec.__dataclass_fields__)
    for key in data:
        checks.choice("spec field", key, names)
    if missing := [name for name in names if name not in data]:
        raise ValueError(f"spec has no {missing[0]!r}: it is not one of ours, or not whole")
    spec = Spec(**{**data, "snapshots": tuple(data["snapshots"])})
    if spec.canonical != text.strip():
        raise ValueError("spec is not in canonical form: it was edited")
    return spec


def sweep_from_toml(path: Path) -> list[Spec]:
    """The specs of a sweep file: a [[sweep]] table is a grid; a list within world or agent is a set of alternatives.

    \b
    [[sweep]]
    world = {name = "deep_sea", depth = [10, 20]}
    agent = [{name = "KLearning"}, {name = "UCBVI", scale = [1.0, 0.01]}]
    episodes = 1000
    seeds = 5                    # how many, or a list
    prior = {reward = {kind = "gaussian", sd = 1.0, noise = 0.05}, transitions = {mass = 0.3}}
    """
    try:
        data = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    for key in data:
        checks.choice(f"table of {path}", key, ["sweep"])
    tables = data.get("sweep", [])
    if not isinstance(tables, list):
        raise ValueError(f"{path} has one table [sweep]: write [[sweep]], for there may be several")
    specs = [spec for table in tables for spec in _expand(table)]
    if not specs:
        raise ValueError(f"{path} has no [[sweep]] table: nothing to run")
    return specs


def _expand(table: dict[str, Any]) -> Iterator[Spec]:
    known = ["world", "agent", "prior", "episodes", "seeds", "protocol", "stop", "evaluate_every", "snapshots"]
    for key in table:
        checks.choice("sweep key", key, known)
    for key in ("world", "agent", "episodes"):
        if key not in table:
            raise ValueError(f"sweep has no {key!r}: every sweep needs world, agent and episodes")
    rest = {key: value for key, value in table.items() if key not in ("world", "agent", "seeds")}
    seeds = table.get("seeds", 5)
    numbers = seeds if isinstance(seeds, list) else range(checks.whole("seeds", seeds))
    if not numbers:
        raise ValueError("seeds=[] is empty: give how many, or which")
    for world, agent, seed in itertools.product(
        _grid("world", table["world"]), _grid("agent", table["agent"]), numbers
    ):
        yield make_spec(world, agent, seed=seed, **rest)


def _grid(kind: str, entry: Any) -> Iterator[dict[str, Any]]:
    for one in entry if isinstance(entry, list) else [entry]:
        values = [value if isinstance(value, list) else [value] for value in _table(kind, one).values()]
        for choice in itertools.product(*values):
            yield dict(zip(one, choice, strict=True))
