"""`klearning agents`, `klearning worlds` and `klearning games`."""

import inspect
from typing import Any

import click

from klearning.cli.display import show_heading, show_json, show_paragraph
from klearning.cli.help import Command
from klearning.cli.param_types import as_json
from klearning.games.registry import GAMES, PLAYERS
from klearning.simulators.codec import declared
from klearning.tabular.agents import AGENTS
from klearning.tabular.worlds import SOURCES, WORLDS


@click.command(cls=Command, short_help="List the agents.", examples=["klearning agents", "klearning agents --json"])
@as_json
def agents(as_json: bool) -> None:
    """List the agents, with their papers and parameters (for -a NAME=VALUE)."""
    show_list("agent", {name: (cls, declared(cls).paper) for name, cls in AGENTS.items()}, as_json)


@click.command(cls=Command, short_help="List the worlds.", examples=["klearning worlds", "klearning worlds --json"])
@as_json
def worlds(as_json: bool) -> None:
    """List the worlds, with their sources and parameters (for -w NAME=VALUE)."""
    show_list("world", {name: (make, SOURCES[name]) for name, make in WORLDS.items()}, as_json)


@click.command(
    cls=Command, short_help="List the games and players.", examples=["klearning games", "klearning games --json"]
)
@as_json
def games(as_json: bool) -> None:
    """List the games (options: -w NAME=VALUE) and the players, usable as agent (-a NAME=VALUE) or opponent."""
    things = {"game": {name: (make, "") for name, make in GAMES.items()}}
    things["player"] = {name: (cls, cls.paper) for name, cls in PLAYERS.items()}
    if as_json:
        show_json([entry for kind, entries in things.items() for entry in list_entries(kind, entries)])
        return
    for kind, entries in things.items():
        show_list(kind, entries, as_json)


def list_entries(kind: str, entries: dict[str, tuple[Any, str]]) -> list[dict[str, Any]]:
    """Name, summary, source, and parameters with defaults."""
    return [
        {
            kind: name,
            "what": (inspect.getdoc(thing) or "").split("\n")[0].replace("``", ""),
            "source": source,
            "parameters": {
                name: str(p.default) for name, p in inspect.signature(thing).parameters.items() if name != "prior"
            },
        }
        for name, (thing, source) in entries.items()
    ]


def show_list(kind: str, entries: dict[str, tuple[Any, str]], as_json: bool) -> None:
    """Print a few lines per entry."""
    listed = list_entries(kind, entries)
    if as_json:
        show_json(listed)
        return
    for entry in listed:
        parameters = ", ".join(f"{name}={default}" for name, default in entry["parameters"].items())
        show_heading(entry[kind])
        for line in (entry["what"], entry["source"], parameters and f"parameters: {parameters}"):
            if line:
                show_paragraph(line)
