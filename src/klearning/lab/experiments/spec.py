"""A run as plain data. Its canonical JSON is its identity, and the SHA-256 of that its name.

    {"world": {"name": "deep_sea", "depth": 10, …}, "agent": {"name": "KLearning", …},
     "prior": {"reward": {"kind": "gaussian", …}, "transitions": {"kind": "dirichlet", …}, "span": null},
     "episodes": 1000, "seed": 0, "protocol": "text", "stop": "never", "evaluate_every": 1, "snapshots": [],
     "version": 1}

A spec with an "opponent" is of a match: its "world" is a game, its "agent" a player of `klearning.games`, and its
episodes are rounds.

Every parameter is written out, defaults included: when a default changes, so does the name.
"""

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from klearning.games.player import Player
from klearning.games.registry import GAMES
from klearning.lab.experiments import match_data
from klearning.lab.experiments.match_data import Pairing
from klearning.numerics import checks
from klearning.numerics.files import json_from
from klearning.simulators import codec
from klearning.simulators.codec import TRANSITIONS
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.agent import Agent
from klearning.tabular.worlds.registry import WORLDS

VERSION = 1
STOPS = ("never", "solved")
MOST_PARAMETERS = 100  # of a world, an agent or a part of a prior
DEEPEST = 8  # lists within lists of a parameter
REGISTRIES_OF = {
    "world": {"world": "world", "agent": "agent"},
    "game": {"world": "game", "agent": "player", "opponent": "player"},
}


@dataclass(frozen=True, eq=False)
class Spec:
    """One run: one world, one agent, one prior, one seed; with an opponent, one match in a game."""

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
    opponent: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        """What it is of: "world" or "game"."""
        return "world" if self.opponent is None else "game"

    @property
    def registries(self) -> dict[str, str]:
        """Which registry names are of, by the field that names them."""
        return REGISTRIES_OF[self.kind]

    def data(self) -> dict[str, Any]:
        """All of it by field; without an opponent if there is none, so that such runs keep their names."""
        return {key: getattr(self, key) for key in FIELDS if key != "opponent" or self.opponent is not None}

    @cached_property
    def canonical(self) -> str:
        return json.dumps(self.data(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def name(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()


FIELDS = tuple(field.name for field in fields(Spec))


def make_spec(
    world: Mapping[str, Any],
    agent: Mapping[str, Any] | Agent | Player,
    prior: Mapping[str, Any] | Prior | Gaussian | None = None,
    *,
    opponent: Mapping[str, Any] | Player | str | None = None,
    episodes: int,
    seed: int = 0,
    protocol: str = "",
    stop: str = "never",
    evaluate_every: int = 1,
    snapshots: Sequence[int] = (),
) -> Spec:
    """A checked spec with every parameter written out.

    ``world`` is {"name": …, parameter: value}; ``agent`` too, or an agent; ``prior`` is a `Prior`, or data of that form
    (see `storage.codec`), in which a support or known transitions may be "world": the world's own.

    With an ``opponent``, a player of `klearning.games`, its data or a word of `games.play`, the world is a game, the
    agent is a player too, and episodes are rounds.
    """
    spec = Spec(
        **_parties(world, agent, opponent, prior),
        episodes=checks.whole("episodes", episodes),
        seed=checks.whole("seed", seed, 0),
        protocol=_text("protocol", protocol),
        stop=checks.choice("stop", stop, STOPS),
        evaluate_every=checks.whole("evaluate_every", evaluate_every),
        snapshots=_rising("snapshots", snapshots),
    )
    _try_out(spec)
    return spec


def _parties(world: Any, agent: Any, opponent: Any, prior: Any) -> dict[str, Any]:
    """Who meets what, and what is believed of it, as data."""
    name = world.get("name") if isinstance(world, Mapping) else None
    if opponent is None:
        if name in GAMES and name not in WORLDS:
            raise ValueError(f'world={name!r} is a game: give an opponent, such as "best_response"')
        knows = codec.prior_data(prior if prior is not None else Prior())
        return {"world": codec.world_data(world), "agent": codec.agent_data(agent), "prior": knows}
    if name in WORLDS and name not in GAMES:
        raise ValueError(f"world={name!r} is no game: leave the opponent out, or give one of {', '.join(GAMES)}")
    game, player = codec.call_data("game", world), match_data.player_data(agent)
    other = match_data.opponent_data(opponent, player)
    return {
        "world": game,
        "agent": player,
        "opponent": other,
        "prior": match_data.prior_data(game, player, other, prior),
    }


def _try_out(spec: Spec) -> None:
    """Build all of it, so that what does not fit is an error now and not in the run."""
    if spec.kind == "game":
        if spec.stop != "never" or spec.evaluate_every != 1:
            raise ValueError("stop and evaluate_every mean nothing in a game: it has no goal, and values are exact")
        build_match(spec)
        return
    world = build_world(spec)
    build_agent(spec)
    prior = build_prior(spec, world)
    prior.spans(world.horizon)
    if TRANSITIONS[spec.prior["transitions"]["kind"]][-1] in spec.prior["transitions"]:
        Belief.before(prior, world)


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


def build_prior(spec: Spec, world: MDP | None = None) -> Prior:
    """The agent's prior; ``world``, which it may be about, is built where it is not given."""
    if world is None and codec.asks_for_world(spec.prior):
        world = build_world(spec)
    return codec.build_prior(spec.prior, world)


def build_world(spec: Spec) -> MDP:
    """The world; one that is drawn from a prior is drawn from the spec's own, with any next state possible."""
    if not codec.takes_prior(spec.world):
        return codec.build_world(spec.world)
    prior = spec.prior
    if codec.asks_for_world(prior):
        rows = prior["transitions"]
        if rows["kind"] == "known":
            raise ValueError(
                f'prior transitions="world", but {spec.world["name"]} is drawn from the prior: '
                'give kind = "dirichlet" with support = "world", or lists'
            )
        prior = {**prior, "transitions": {key: value for key, value in rows.items() if key != "support"}}
    return codec.build_world(spec.world, codec.build_prior(prior))


def build_match(spec: Spec) -> Pairing:
    """Both players, their game and what they believe; ValueError where the spec has no opponent."""
    if spec.opponent is None:
        raise ValueError(f"spec {spec.name[:12]} has no opponent: it is of a world, not of a game")
    return match_data.build_pairing(spec.world, spec.agent, spec.opponent, spec.prior)


def build_agent(spec: Spec) -> Agent:
    return codec.build_agent(spec.agent)


def spec_from_json(text: str) -> Spec:
    """Read a spec back; anything but what `Spec.canonical` writes is an error."""
    data = json_from(text)
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise ValueError(f"spec is not of version {VERSION}: it was written by another version of klearning")
    for key in data:
        checks.choice("spec field", key, FIELDS)
    if missing := [name for name in FIELDS if name not in data and name != "opponent"]:
        raise ValueError(f"spec has no {missing[0]!r}: it is not one of ours, or not whole")
    _check_fields(data)
    spec = Spec(**{**data, "snapshots": tuple(data["snapshots"])})
    if spec.canonical != text.strip():
        raise ValueError("spec is not in canonical form: it was edited")
    return spec


def _check_fields(data: Mapping[str, Any]) -> None:
    """That every field is of its kind: lists and pages rely on it. Whether it can be run is another question."""
    for kind in ("world", "agent", "opponent"):
        if kind in data:
            _check_parameters(f"spec {kind}", data[kind], deeper=0)
            _text(f"spec {kind} name", data[kind].get("name"))
    _check_parameters("spec prior", data["prior"], deeper=1)
    for field, least in (("episodes", 1), ("seed", 0), ("evaluate_every", 1)):
        checks.whole(f"spec {field}", data[field], least)
    _text("spec protocol", data["protocol"])
    checks.choice("spec stop", data["stop"], STOPS)
    _rising("spec snapshots", data["snapshots"])


def _check_parameters(field: str, value: Any, deeper: int) -> None:
    """A table of a few numbers, texts and lists of them; or of such tables, if they may go ``deeper``."""
    parameters = codec.table(field, value)
    if len(parameters) > MOST_PARAMETERS:
        raise ValueError(f"{field} has {len(parameters):,} parameters, more than {MOST_PARAMETERS}")
    for key, entry in parameters.items():
        if deeper and isinstance(entry, dict):
            _check_parameters(f"{field} {key}", entry, deeper - 1)
        else:
            _check_entry(f"{field} {key}", entry, large=key == "seed")


def _check_entry(field: str, entry: Any, large: bool, depth: int = 0) -> None:
    if isinstance(entry, dict) or depth > DEEPEST:
        raise ValueError(f"{field} is a table, or nested too deeply: give a number, a text, or a list of them")
    if isinstance(entry, list):
        for part in entry:
            _check_entry(field, part, large, depth + 1)
    elif type(entry) is int and not large and abs(entry) >= 2**63:
        raise ValueError(f"{field}={entry} is beyond 64 bits: give a smaller number")


def sweep_from_toml(path: Path) -> list[Spec]:
    """The specs of a sweep file: a [[sweep]] table is a grid; a list within world or agent is a set of alternatives.

    \b
    [[sweep]]
    world = {name = "deep_sea", depth = [10, 20]}
    agent = [{name = "KLearning"}, {name = "UCBVI", scale = [1.0, 0.01]}]
    episodes = 1000
    seeds = 5                    # how many, or a list
    prior = {reward = {kind = "gaussian", sd = 1.0, noise = 0.05}, transitions = {mass = 0.3}}

    With ``opponent = ["best_response", {name = "EXP3"}]`` the world is a game, and episodes are rounds.
    """
    try:
        data = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply: a sweep is tables and lists of them") from None
    for key in data:
        checks.choice(f"table of {path}", key, ["sweep"])
    tables = data.get("sweep", [])
    if not isinstance(tables, list):
        raise ValueError(f"{path} has one table [sweep]: write [[sweep]], because there may be several")
    specs = [spec for table in tables for spec in _expand(codec.table("sweep", table))]
    if not specs:
        raise ValueError(f"{path} has no [[sweep]] table: nothing to run")
    return specs


def _expand(table: Mapping[str, Any]) -> Iterator[Spec]:
    rest_of = ["prior", "episodes", "protocol", "stop", "evaluate_every", "snapshots"]
    known = ["world", "agent", "opponent", "seeds", *rest_of]
    for key in table:
        checks.choice("sweep key", key, known)
    for key in ("world", "agent", "episodes"):
        if key not in table:
            raise ValueError(f"sweep has no {key!r}: every sweep needs world, agent and episodes")
    rest = {key: value for key, value in table.items() if key in rest_of}
    seeds = table.get("seeds", 5)
    numbers = seeds if isinstance(seeds, list) else range(checks.whole("seeds", seeds))
    if not numbers:
        raise ValueError("seeds=[] is empty: give how many, or which")
    for world, agent, opponent, seed in itertools.product(
        _grid("world", table["world"]), _grid("agent", table["agent"]), _opponents(table.get("opponent")), numbers
    ):
        yield make_spec(world, agent, opponent=opponent, seed=seed, **rest)


def _opponents(entry: Any) -> Iterator[Any]:
    """Words, or tables as those of agents; None where there is none."""
    for one in entry if isinstance(entry, list) else [entry]:
        yield from [one] if one is None or isinstance(one, str) else _grid("opponent", one)


def _grid(kind: str, entry: Any) -> Iterator[dict[str, Any]]:
    for one in entry if isinstance(entry, list) else [entry]:
        values = [value if isinstance(value, list) else [value] for value in codec.table(kind, one).values()]
        for choice in itertools.product(*values):
            yield dict(zip(one, choice, strict=True))
