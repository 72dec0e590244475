"""What things are called, and which colour and line they have, everywhere in the report."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from klearning.experiments.spec import Spec
from klearning.papers.odonoghue2021 import bayes_regret
from klearning.papers.odonoghue2021.protocols import PROTOCOLS
from klearning.registry import Origin
from klearning.storage.codec import agent_data, call_data, prior_data

# one colour a family, so that an agent looks the same in every figure; its variants differ by the line
FAMILIES = (
    "KLearning", "PSRL", "RLSVI", "SoftQLearning", "QLearning", "UCBVI", "OptimisticQLearning", "BEB",
    "BOLT", "UCFH", "UCRL2",
)  # fmt: skip
LINES = 4


@cache
def paper_labels(protocol: str) -> dict[str, str]:
    """The paper's name of an agent by its data."""
    chosen = PROTOCOLS[protocol].contestants() if protocol in PROTOCOLS else {}
    known = bayes_regret.CONTESTANTS if protocol == "bayes" else chosen
    return {json.dumps(agent_data(a), sort_keys=True): label for label, a in known.items()}


def agent_label(spec: Spec) -> str:
    known = paper_labels(spec.protocol).get(json.dumps(spec.agent, sort_keys=True))
    return known or _call("agent", spec.agent)


def agent_order(spec: Spec) -> tuple[Any, ...]:
    """Families in their order, within one the paper's order, then by name."""
    family = spec.agent["name"]
    rank = FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)
    known = list(paper_labels(spec.protocol).values())
    label = agent_label(spec)
    return rank, known.index(label) if label in known else len(known), label


def looks(specs: Sequence[Spec]) -> list[tuple[int, int]]:
    """Colour and line of agents that are drawn together."""
    used: dict[int, int] = {}
    found = []
    for spec in specs:
        family = spec.agent["name"]
        colour = FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)
        found.append((colour, used.get(colour, 0) % LINES))
        used[colour] = used.get(colour, 0) + 1
    return found


def world_label(world: Mapping[str, Any], *free: str) -> str:
    """DeepSea of depth 20; anything else as it would be called."""
    rest = {key: value for key, value in world.items() if key not in free}
    if world["name"] == "deep_sea" and "depth" in world:
        return "DeepSea" if "depth" in free else f"DeepSea of depth {world['depth']}"
    if world["name"] == "random_mdp" and "seed" in free:
        return "MDPs drawn from the prior"
    return _call("world", rest)


def protocol_label(name: str) -> str:
    if name in PROTOCOLS:
        return f"{name} ({PROTOCOLS[name].note})"
    return name or "none named"


def protocol_word(name: str) -> str:
    """One word on where settings come from."""
    return {"text": "fitted settings", "printed": "settings as printed"}.get(name, name)


def prior_label(prior: Mapping[str, Any]) -> str:
    try:
        prior_data(prior)
        reward, rows = dict(prior["reward"]), prior["transitions"]
        kind = reward.pop("kind")
        shown = ", ".join(f"{key} {value:g}" for key, value in reward.items())
        support = " over a known support" if "support" in rows else ""
        known = "known transitions" if rows["kind"] == "known" else f"Dirichlet transitions of mass {rows['mass']:g}"
        return f"{kind} rewards ({shown}), {known}{support}"
    except (ValueError, TypeError, KeyError):
        return json.dumps(prior, sort_keys=True)


def _call(kind: str, data: Mapping[str, Any]) -> str:
    """name(parameter=value, …) without what is at its default."""
    rest = {key: value for key, value in data.items() if key not in ("name", *Origin._fields)}
    try:
        defaults = call_data(kind, {"name": data["name"]})
    except (ValueError, TypeError):
        defaults = {}
    given = ", ".join(f"{key}={value}" for key, value in rest.items() if key not in defaults or defaults[key] != value)
    return f"{data['name']}({given})" if given else str(data["name"])
