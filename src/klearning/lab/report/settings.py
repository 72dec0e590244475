"""The settings behind a figure, as words and as a sweep file that runs it again."""

import json
from collections.abc import Sequence
from typing import Any

from klearning.lab.experiments.spec import Spec
from klearning.lab.papers import command_of
from klearning.lab.report.labels import prior_label, protocol_label
from klearning.lab.report.proofs import bound_label
from klearning.numerics.display.markup import Html, element, folded, paragraph
from klearning.tabular.trials.runs import Runs

MOST_TABLES = 6  # of a sweep file that are printed


def behind(runs: Sequence[Runs]) -> Html:
    """The fold below a figure: protocol, prior, seeds, and the command or sweep file that makes these runs."""
    specs = [run.spec for run in runs]
    spec = specs[0]
    facts = {
        "protocol": protocol_label(spec.protocol),
        "prior": "; or ".join(dict.fromkeys(prior_label(other.prior) for other in specs)),
        "episodes": f"{spec.episodes:,}" + (", or until solved" if spec.stop == "solved" else ""),
        "seeds": seeds_label([spec.seed for spec in specs]),
        "runs": f"{len(runs):,}",
    }
    if bound := bound_label(specs):
        facts["the plans' bound"] = bound
    if spec.evaluate_every > 1:
        facts["policies evaluated"] = f"every {spec.evaluate_every} episodes"
    terms = [(element("dt", key), element("dd", value)) for key, value in facts.items()]
    parts = [element("dl", *(part for term in terms for part in term))]
    if command := command_of(specs):
        parts += [paragraph("Command:"), element("pre", element("code", command))]
    else:
        parts += [paragraph("Sweep file, for ", element("code", "klearning sweep FILE"), ":")]
        parts += [element("pre", element("code", sweep_file(specs)))]
    return folded("Settings and command", *parts, class_="settings")


def seeds_label(seeds: Sequence[int]) -> str:
    """0–9 (10), or the numbers themselves."""
    chosen = sorted(set(seeds))
    if len(chosen) > 2 and chosen[-1] - chosen[0] == len(chosen) - 1:
        return f"{chosen[0]}–{chosen[-1]} ({len(chosen)})"
    return ", ".join(map(str, chosen[:20])) + (f", … ({len(chosen)})" if len(chosen) > 20 else "")


def sweep_file(specs: Sequence[Spec], most: int = MOST_TABLES) -> str:
    """A TOML file whose specs are these."""
    tables = _tables(specs)
    shown = "\n".join(tables[:most])
    return shown + (f"\n# … and {len(tables) - most} more tables of this form\n" if len(tables) > most else "")


def _tables(specs: Sequence[Spec]) -> list[str]:
    """One table for all that differ in agent and seed alone, if every agent has the same seeds."""
    groups: dict[str, dict[str, list[int]]] = {}
    for spec in specs:
        data = json.loads(spec.canonical)
        agent, seed = data.pop("agent"), data.pop("seed")
        groups.setdefault(json.dumps(data), {}).setdefault(json.dumps(agent), []).append(seed)
    tables = []
    for shared, agents in groups.items():
        by_seeds: dict[tuple[int, ...], list[str]] = {}
        for agent, seeds in agents.items():
            by_seeds.setdefault(tuple(sorted(seeds)), []).append(agent)
        tables += [_table(json.loads(shared), list(map(json.loads, a)), seeds) for seeds, a in by_seeds.items()]
    return tables


def _table(shared: dict[str, Any], agents: list[dict[str, Any]], seeds: tuple[int, ...]) -> str:
    whole = seeds == tuple(range(len(seeds)))
    lines = ["[[sweep]]", f"world = {_inline(shared['world'], alternatives=True)}"]
    lines += ["agent = [", *(f"  {_inline(agent, alternatives=True)}," for agent in agents), "]"]
    if "opponent" in shared:
        lines += [f"opponent = {_inline(shared['opponent'], alternatives=True)}"]
    lines += [f"prior = {_inline(shared['prior'])}"]
    lines += [f"seeds = {len(seeds) if whole else list(seeds)}"]
    of_worlds = () if "opponent" in shared else ("stop", "evaluate_every")
    lines += [f"{key} = {_value(shared[key])}" for key in ("episodes", "protocol", *of_worlds, "snapshots")]
    return "\n".join(lines) + "\n"


def _inline(data: dict[str, Any], alternatives: bool = False) -> str:
    """An inline table; in worlds and agents a list means alternatives, so that a list is an alternative of its own."""
    shown = {k: [v] if alternatives and isinstance(v, list) else v for k, v in data.items() if v is not None}
    return "{" + ", ".join(f"{key} = {_value(value)}" for key, value in shown.items()) + "}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return _inline(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)
