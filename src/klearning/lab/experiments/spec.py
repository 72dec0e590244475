"""A run as plain data. Its canonical JSON is its identity, and the SHA-256 of that its name.

    {"world": {"name": "deep_sea", "depth": 10, …}, "agent": {"name": "KLearning", …},
     "prior": {"reward": {"kind": "gaussian", …}, "transitions": {"kind": "dirichlet", …}, "span": null},
     "episodes": 1000, "seed": 0, "protocol": "text", "stop": "never", "evaluate_every": 1, "snapshots": [],
     "version": 1}

A spec with an "opponent" is of a match: its "world" is a game, its "agent" a player of `klearning.games`, and its
episodes are rounds. A spec of several "seeds" is as many runs: seed k of it is `Spec.single`, a spec of one seed, and
if its world is drawn (it has a parameter `seed`) every seed has a world of its own. "keep" lists the episodes that are
kept of every run. What `OPTIONAL` lists is left out at its default.

Every other parameter is written out, defaults included: when a default changes, so does the name.
"""

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from klearning.games.player import Player
from klearning.games.registry import GAMES
from klearning.lab.experiments import match_data
from klearning.numerics import checks
from klearning.numerics.files import json_from
from klearning.simulators import codec
from klearning.simulators.codec import TRANSITIONS
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.runs import Meeting, points_to_keep
from klearning.tabular.worlds.registry import WORLDS

VERSION = 1
STOPS = ("never", "solved")
HINTS = ("nothing", "support", "transitions")
DEVICES = ("cpu", "gpu")
PART = 64  # runs that are kept in one file, if some of their episodes are
MOST_PARAMETERS = 100  # of a world, an agent or a part of a prior
DEEPEST = 8  # lists within lists of a parameter
REGISTRIES_OF = {
    "world": {"world": "world", "agent": "agent"},
    "game": {"world": "game", "agent": "player", "opponent": "player"},
}


@dataclass(frozen=True, eq=False)
class Spec:
    """Runs of one agent with one prior in one world, or against one opponent in a game, and what is kept of them.

    ``hint`` is what the agent knows of the world's own transitions besides the prior: nothing, which are possible (the
    Dirichlet's mass is spread over these alone), or all of them.
    """

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
    seeds: int = 1  # how many, from `seed` on
    keep: tuple[int, ...] = ()  # after which episodes numbers are kept; after every one, if it is empty
    hint: str = "nothing"
    device: str = "cpu"

    @property
    def kind(self) -> str:
        """The kind of environment: "world" or "game"."""
        return "world" if self.opponent is None else "game"

    @property
    def registries(self) -> dict[str, str]:
        """Which registry names are of, by the field that names them."""
        return REGISTRIES_OF[self.kind]

    def data(self) -> dict[str, Any]:
        """All of it by field, without what is optional and at its default."""
        values = {key: vars(self)[key] for key in FIELDS}
        return {key: value for key, value in values.items() if key not in OPTIONAL or value != OPTIONAL[key]}

    @property
    def is_drawn(self) -> bool:
        """Whether the world is drawn: in a spec of several seeds, once for each."""
        return "seed" in self.world

    def some(self, seed: int, seeds: int) -> "Spec":
        """Some of its runs."""
        drawn = self.is_drawn and self.seeds > 1
        return replace(self, seed=seed, seeds=seeds, world={**self.world, "seed": seed} if drawn else self.world)

    def single(self, seed: int) -> "Spec":
        """One of its runs, with all episodes kept: a spec of its own."""
        return replace(self.some(seed, 1), keep=())

    @cached_property
    def parts(self) -> list["Spec"]:
        """Parts that are run as one job and kept as one file: one run, or `PART` of which some episodes are kept."""
        size = self.seeds if self.device != "cpu" else PART if self.keep else 1
        if self.seeds <= size:
            return [self]
        last = self.seed + self.seeds
        return [self.some(first, min(size, last - first)) for first in range(self.seed, last, size)]

    @cached_property
    def canonical(self) -> str:
        return json.dumps(self.data(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def name(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()


FIELDS = tuple(field.name for field in fields(Spec))
OPTIONAL = {"opponent": None, "seeds": 1, "keep": (), "hint": "nothing", "device": "cpu"}


def make_spec(
    world: Mapping[str, Any],
    agent: Mapping[str, Any] | Agent,
    prior: Mapping[str, Any] | Prior | None = None,
    *,
    episodes: int,
    seeds: int | Sequence[int] = 1,
    protocol: str = "",
    stop: str = "never",
    evaluate_every: int = 1,
    snapshots: Sequence[int] = (),
    keep: str | Sequence[int] = "all",
    hint: str = "nothing",
    device: str = "cpu",
) -> Spec:
    """A checked spec with every parameter written out.

    ``world`` is {"name": …, parameter: value}; ``agent`` too, or an agent; ``prior`` is a `Prior`, or data of that form
    (see `simulators.codec`), in which a support or known transitions may be "world": the world's own. ``seeds`` is how
    many, or which: one after another. ``keep`` is that of `klearning.run`.
    """
    name = world.get("name") if isinstance(world, Mapping) else None
    if name in GAMES and name not in WORLDS:
        raise ValueError(f"world={name!r} is a game: give an opponent, such as 'best_response', to match_spec")
    knows = codec.prior_data(prior if prior is not None else Prior())
    parties = {"world": codec.call_data("world", world), "agent": codec.agent_data(agent), "prior": knows}
    spec = Spec(
        **_with_seeds(parties, seeds),
        episodes=checks.whole("episodes", episodes),
        keep=points_to_keep(keep, episodes),
        hint=checks.choice("hint", hint, HINTS),
        device=checks.choice("device", device, DEVICES),
        protocol=_text("protocol", protocol),
        stop=checks.choice("stop", stop, STOPS),
        evaluate_every=checks.whole("evaluate_every", evaluate_every),
        snapshots=_rising("snapshots", snapshots),
    )
    _try_out(spec)
    return spec


def match_spec(
    game: Mapping[str, Any],
    agent: Mapping[str, Any] | Player,
    opponent: Mapping[str, Any] | Player | str,
    prior: Mapping[str, Any] | Gaussian | None = None,
    *,
    episodes: int,
    seeds: int | Sequence[int] = 1,
    protocol: str = "",
    snapshots: Sequence[int] = (),
    keep: str | Sequence[int] = "all",
) -> Spec:
    """As `make_spec`, of matches: agent and opponent are players of `klearning.games`, and episodes are rounds.

    ``opponent`` is a player, its data, or a word of `games.play`.
    """
    name = game.get("name") if isinstance(game, Mapping) else None
    if name in WORLDS and name not in GAMES:
        raise ValueError(f"game={name!r} is not a game: leave the opponent out, or give one of {', '.join(GAMES)}")
    place, player = codec.call_data("game", game), match_data.player_data(agent)
    other = match_data.opponent_data(opponent, player)
    knows = match_data.prior_data(place, player, other, prior)
    parties = {"world": place, "agent": player, "opponent": other, "prior": knows}
    spec = Spec(
        **_with_seeds(parties, seeds),
        episodes=checks.whole("episodes", episodes),
        keep=points_to_keep(keep, episodes),
        protocol=_text("protocol", protocol),
        snapshots=_rising("snapshots", snapshots),
    )
    _try_out(spec)
    return spec


def _with_seeds(parties: dict[str, Any], seeds: int | Sequence[int]) -> dict[str, Any]:
    """Who meets what, and the seeds: the first, and how many. A world that is drawn is that of the first seed."""
    if isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str):
        which = [checks.whole("seed", seed, 0) for seed in seeds]
        if not which or which != list(range(which[0], which[0] + len(which))):
            raise ValueError(f"seeds={list(seeds)} are not one after another: give a range, or a spec per seed")
        first, count = which[0], len(which)
    else:
        first, count = 0, checks.whole("seeds", seeds)
    world = parties["world"]
    drawn = {**world, "seed": first} if count > 1 and "seed" in world else world
    return {**parties, "world": drawn, "seed": first, "seeds": count}


def _try_out(spec: Spec) -> None:
    """Build all of it, so that what does not fit is an error now and not in the run."""
    if spec.snapshots and (spec.seeds > 1 or spec.keep):
        raise ValueError("snapshots are of single runs: leave out seeds and keep, or give a spec per seed")
    if spec.device != "cpu" and (spec.snapshots or spec.evaluate_every != 1):
        raise ValueError(f"device={spec.device!r} keeps numbers alone: leave out snapshots and evaluate_every")
    if spec.hint != "nothing" and set(spec.prior.get("transitions", ())) != {"kind", "mass"}:
        raise ValueError(f"hint={spec.hint!r}, but the prior speaks of transitions already, or has none: say it once")
    if spec.kind == "game":
        build_match(spec)
        return
    world = build_world(spec)
    build_agent(spec)
    prior = build_prior(spec, world)
    prior.spans(world.horizon)
    if spec.hint != "nothing" or TRANSITIONS[spec.prior["transitions"]["kind"]][-1] in spec.prior["transitions"]:
        Belief.before(prior, world)


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field}={value!r} is not text: put it in quotes")
    return value


def _rising(field: str, values: Any) -> tuple[int, ...]:
    """Whole numbers, each above the last."""
    if not isinstance(values, Sequence | np.ndarray | range) or isinstance(values, str):
        raise ValueError(f"{field}={values!r} is not a list: give numbers of episodes, each above the last")
    numbers = tuple(checks.whole(field, t) for t in values)
    if any(b <= a for a, b in itertools.pairwise(numbers)):
        raise ValueError(f"{field}={list(numbers)} does not rise: give each number once, in order")
    return numbers


def build_prior(spec: Spec, world: MDP | None = None) -> Prior:
    """The agent's prior, with its hint; ``world``, which it may be about, is built if it is not given."""
    rows = spec.prior["transitions"]
    if spec.hint == "support":
        rows = {**rows, "support": codec.WORLD}
    elif spec.hint == "transitions":
        rows = {"kind": "known", "transitions": codec.WORLD}
    prior = {**spec.prior, "transitions": rows}
    if world is None and codec.asks_for_world(prior):
        world = build_world(spec)
    return codec.build_prior(prior, world)


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


def build_match(spec: Spec) -> Meeting:
    """Both players, their game and what they believe; ValueError if the spec has no opponent."""
    if spec.opponent is None:
        raise ValueError(f"spec {spec.name[:12]} has no opponent: it is of a world, not of a game")
    return match_data.build_meeting(spec.world, spec.agent, spec.opponent, spec.prior)


def build_agent(spec: Spec) -> Agent:
    return codec.build_agent(spec.agent)


def spec_from_json(text: str) -> Spec:
    """Read a spec back; anything but what `Spec.canonical` writes is an error."""
    data = json_from(text)
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise ValueError(f"spec is not of version {VERSION}: it was written by another version of klearning")
    for key in data:
        checks.choice("spec field", key, FIELDS)
    if missing := [name for name in FIELDS if name not in data and name not in OPTIONAL]:
        raise ValueError(f"spec has no {missing[0]!r}: it is not one of ours, or not whole")
    _check_fields(data)
    lists = {key: tuple(data[key]) for key in ("snapshots", "keep") if key in data}
    spec = Spec(**{**data, **lists})
    if spec.canonical != text.strip():
        raise ValueError("spec is not in canonical form: it was edited")
    return spec


def _check_fields(data: Mapping[str, Any]) -> None:
    """That every field is of its kind: lists and pages rely on it. Whether it can be run is another question."""
    for kind in ("world", "agent", "opponent"):
        if kind in data:
            _check_parameters(f"spec {kind}", data[kind], deeper=1)
            _text(f"spec {kind} name", data[kind].get("name"))
    _check_parameters("spec prior", data["prior"], deeper=1)
    for field, least in (("episodes", 1), ("seed", 0), ("evaluate_every", 1), ("seeds", 1)):
        checks.whole(f"spec {field}", data.get(field, 1), least)
    _text("spec protocol", data["protocol"])
    checks.choice("spec stop", data["stop"], STOPS)
    _rising("spec snapshots", data["snapshots"])
    if "keep" in data:
        points_to_keep(_rising("spec keep", data["keep"]), data["episodes"])
    checks.choice("spec hint", data.get("hint", "nothing"), HINTS)
    checks.choice("spec device", data.get("device", "cpu"), DEVICES)


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

    With ``opponent = ["best_response", {name = "EXP3"}]`` the world is a game, and episodes are rounds. With ``keep =
    "points"`` some episodes of every run are kept, and many runs in one file.
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
    of_matches = ["prior", "episodes", "protocol", "snapshots", "keep"]
    rest_of = of_matches if "opponent" in table else [*of_matches, "stop", "evaluate_every", "hint", "device"]
    known = ["world", "agent", "opponent", "seeds", *rest_of]
    for key in table:
        checks.choice("sweep key", key, known)
    for key in ("world", "agent", "episodes"):
        if key not in table:
            raise ValueError(f"sweep has no {key!r}: every sweep needs world, agent and episodes")
    rest = {key: value for key, value in table.items() if key in rest_of}
    seeds = table.get("seeds", 5)
    together = isinstance(seeds, int) and ("keep" in table or "device" in table)  # else a spec per seed
    each = [[k] for k in (seeds if isinstance(seeds, list) else range(checks.whole("seeds", seeds)))]
    if not each:
        raise ValueError("seeds=[] is empty: give how many, or which")
    for world, agent, opponent, own in itertools.product(
        _grid("world", table["world"]), _grid("agent", table["agent"]), _opponents(table.get("opponent")),
        [seeds] if together else each,
    ):  # fmt: skip
        if opponent is None:
            yield make_spec(world, agent, seeds=own, **rest)
        else:
            yield match_spec(world, agent, opponent, seeds=own, **rest)


def _opponents(entry: Any) -> Iterator[Any]:
    """Words, or tables as those of agents; None if there is none."""
    for one in entry if isinstance(entry, list) else [entry]:
        yield from [one] if one is None or isinstance(one, str) else _grid("opponent", one)


def _grid(kind: str, entry: Any) -> Iterator[dict[str, Any]]:
    for one in entry if isinstance(entry, list) else [entry]:
        values = [value if isinstance(value, list) else [value] for value in codec.table(kind, one).values()]
        for choice in itertools.product(*values):
            yield dict(zip(one, choice, strict=True))
