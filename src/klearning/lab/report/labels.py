"""Names, colours and line styles, the same everywhere in the report."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from klearning.games import display_info as game_info
from klearning.games.registry import PLAYERS
from klearning.lab.experiments.columns import Row, differences, settings
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.summaries import agent_key
from klearning.lab.papers import PAPERS
from klearning.lab.papers.figure import Protocol
from klearning.numerics.registry import Origin
from klearning.simulators.codec import call_data, prior_data
from klearning.tabular.agents import AGENTS
from klearning.tabular.worlds import display_info as world_info
from klearning.tabular.worlds.display_info import DisplayInfo

COLOURS = 16  # of the page; an agent's class has one, so that it looks the same in every figure
LINES = 4  # by which variants of one class differ
DISPLAY_INFO = {"world": world_info.DISPLAY_INFO, "game": game_info.DISPLAY_INFO}  # by the kind of a spec


def paper_labels(protocol: str) -> dict[str, str]:
    """The name of an agent by its data, in the paper that has this protocol; empty if none has it."""
    return next((labels for paper in PAPERS.values() if (labels := paper.labels(protocol))), {})


def protocol_of(name: str) -> Protocol | None:
    return next((paper.protocols[name] for paper in PAPERS.values() if name in paper.protocols), None)


def agent_label(spec: Spec) -> str:
    """As its paper calls it; else as papers write its name, with the parameters that are not at their defaults."""
    return paper_labels(spec.protocol).get(agent_key(spec)) or _agent_words(spec.agent, spec.registries["agent"])


def _agent_words(agent: Mapping[str, Any], registry: str) -> str:
    name = re.sub(r"([KQ])Learning$", r" \1-learning", str(agent["name"])).strip()
    return ", ".join([name, *(f"{key} {value}" for key, value in _given(registry, agent).items())])


def contestant_labels(specs: Sequence[Spec]) -> list[str]:
    """Agents that are shown together; where one name is there with several priors, with what differs in these."""
    names = [agent_label(spec) for spec in specs]
    priors = [{name: x for name, x in settings(spec).items() if name.startswith("prior")} for spec in specs]
    return [
        ", ".join([name, *_words(own)]) if names.count(name) > 1 else name
        for name, own in zip(names, differences(priors), strict=True)
    ]


def _words(row: Row) -> list[str]:
    """reward sd 3, transitions mass 1."""
    return [f"{name.removeprefix('prior.').replace('.', ' ')} {_short(value)}" for name, value in row.items()]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def unlike_titles(titles: Sequence[str], specs: Sequence[Spec]) -> list[str]:
    """Titles, each with what tells it from others that read the same: other lengths, other settings of the world."""
    told = []
    for title, spec in zip(titles, specs, strict=True):
        alike = [_frame(other) for name, other in zip(titles, specs, strict=True) if name == title]
        own = _frame(spec)
        words = _words(differences([own, *alike])[0])
        told.append(", ".join([title, *words]))
    return told


def _frame(spec: Spec) -> Row:
    """The settings that a comparison has in common."""
    hidden = ("agent", "opponent", "seed", "snapshots")
    return {name: value for name, value in settings(spec).items() if name.partition(".")[0] not in hidden}


def agent_order(spec: Spec) -> tuple[Any, ...]:
    """Classes in the order of the registry, within one the paper's order, then by name."""
    names = list(paper_labels(spec.protocol).values())
    label = agent_label(spec)
    return _rank(spec.agent["name"]), names.index(label) if label in names else len(names), label


def looks(families: Sequence[str]) -> list[tuple[int, int]]:
    """Colour and line of agents that are drawn together, by the names of their classes."""
    used: dict[int, int] = {}
    shown = []
    for family in families:
        colour = _rank(family) % COLOURS
        shown.append((colour, used.get(colour, 0) % LINES))
        used[colour] = used.get(colour, 0) + 1
    return shown


def _rank(family: str) -> int:
    """The place of an agent's class in the registries; after all of them if it is not registered here.

    A player has that of the agent of its name, or of its kin: one idea has one colour.
    """
    names, name = list(dict.fromkeys([*AGENTS, *PLAYERS])), game_info.SAME_IDEA.get(family, family)
    return names.index(name) if name in names else len(names)


def display_info_of(spec: Spec) -> DisplayInfo:
    """How the world of a run is shown, or its game."""
    return DISPLAY_INFO[spec.kind].get(spec.world["name"], DisplayInfo())


def world_label(spec: Spec, *free: str) -> str:
    """DeepSea of depth 20; anything else as it would be called. ``free`` are the parameters that vary.

    Of a game against whom it is played, too.
    """
    rest = {key: value for key, value in spec.world.items() if key not in free}
    place = display_info_of(spec).title(rest) or call_label(spec.registries["world"], rest)
    return place if spec.opponent is None else f"{place}, against {opponent_label(spec)}"


def opponent_label(spec: Spec) -> str:
    """In the words of `games.play` if there are such."""
    assert spec.opponent is not None
    if spec.opponent == spec.agent:
        return "itself"
    words = _agent_words(spec.opponent, spec.registries["opponent"])
    return game_info.OPPONENTS.get(spec.opponent["name"], words)


def free_parameters(spec: Spec) -> list[str]:
    """The parameter that varies if every seed has its own world."""
    parameter = display_info_of(spec).drawn_by
    return [parameter] if parameter else []


def protocol_label(name: str) -> str:
    protocol = protocol_of(name)
    return f"{name} ({protocol.note})" if protocol else name or "none named"


def protocol_word(name: str) -> str:
    """One word on where settings come from; none if agents are the paper's but there are no settings to choose."""
    if protocol := protocol_of(name):
        return protocol.word
    return "" if paper_labels(name) else name


def prior_label(prior: Mapping[str, Any]) -> str:
    try:
        prior_data(prior)
        reward = dict(prior["reward"])
        kind = reward.pop("kind")
        shown = ", ".join(f"{key} {value:g}" for key, value in reward.items())
        if "transitions" not in prior:  # of a matrix game
            return f"{kind} payoffs ({shown})"
        rows = prior["transitions"]
        support = " over a known support" if "support" in rows else ""
        known = "known transitions" if rows["kind"] == "known" else f"Dirichlet transitions of mass {rows['mass']:g}"
        return f"{kind} rewards ({shown}), {known}{support}"
    except (ValueError, TypeError, KeyError):
        return json.dumps(prior, sort_keys=True)


def call_label(kind: str, data: Mapping[str, Any]) -> str:
    """name(parameter=value, …) without what is at its default."""
    given = ", ".join(f"{key}={value}" for key, value in _given(kind, data).items())
    return f"{data['name']}({given})" if given else str(data["name"])


def _given(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that are not at their defaults."""
    rest = {key: value for key, value in data.items() if key not in ("name", *Origin._fields)}
    try:
        defaults = call_data(kind, {"name": data["name"]})
    except (ValueError, TypeError):
        defaults = {}
    return {key: value for key, value in rest.items() if key not in defaults or defaults[key] != value}
