"""What things are called, and which colour and line they have, everywhere in the report."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from klearning.agents import AGENTS
from klearning.experiments.spec import Spec, agent_data, call_data, prior_data
from klearning.papers.odonoghue2021 import bayes_regret
from klearning.papers.odonoghue2021.protocols import PROTOCOLS
from klearning.worlds import WORLDS

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
    return {json.dumps(call_data("agent", agent_data(a), AGENTS), sort_keys=True): label for label, a in known.items()}


def agent_label(spec: Spec) -> str:
    known = paper_labels(spec.protocol).get(json.dumps(spec.agent, sort_keys=True))
    return known or _call(spec.agent, AGENTS)


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
    return _call(rest, WORLDS)


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
        reward, mass = dict(prior["reward"]), prior["transitions"]["mass"]
        kind = reward.pop("kind")
        shown = ", ".join(f"{key} {value:g}" for key, value in reward.items())
        return f"{kind} rewards ({shown}), Dirichlet transitions of mass {mass:g}"
    except (ValueError, TypeError, KeyError):
        return json.dumps(prior, sort_keys=True)


def _call(data: Mapping[str, Any], makers: Mapping[str, Any]) -> str:
    """name(parameter=value, …) without what is at its default."""
    rest = {key: value for key, value in data.items() if key != "name"}
    try:
        defaults = call_data("thing", {"name": data["name"]}, makers, leave_out=("prior",))
    except (ValueError, TypeError):
        defaults = {}
    given = ", ".join(f"{key}={value}" for key, value in rest.items() if key not in defaults or defaults[key] != value)
    return f"{data['name']}({given})" if given else str(data["name"])
