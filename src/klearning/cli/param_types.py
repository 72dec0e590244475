"""Types of arguments that the shell completes, names and NAME=VALUE pairs, and the options that commands share."""

import inspect
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from klearning.cli.options import PRIOR_OPTIONS, option_names
from klearning.games.matches import OPPONENTS
from klearning.games.registry import GAMES, PLAYERS
from klearning.simulators.codec import WORLD as WORLDS_OWN
from klearning.simulators.codec import declared
from klearning.tabular.agents import AGENTS
from klearning.tabular.beliefs.rewards import FAMILIES
from klearning.tabular.worlds import WORLDS

# words that options of worlds and priors accept besides numbers; an agent lists its own in `choices`
VALUES: dict[str, tuple[str, ...]] = {
    "noise": ("bernoulli",),
    "reward": tuple(FAMILIES),
    "stationary": ("yes", "no"),
    "support": (WORLDS_OWN,),
    "transitions": (WORLDS_OWN,),
}
Names = Callable[[click.Context], Iterable[str]]


class Name(click.ParamType):  # type: ignore[type-arg]  # generic since Click 8.4
    """One of some names. They are only offered: the command itself checks what it is given."""

    name = "name"

    def __init__(self, names: Names) -> None:
        self.names = names

    def words(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        return self.names(ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.words(ctx, incomplete) if word.startswith(incomplete)]


class Count(click.ParamType):  # type: ignore[type-arg]  # generic since Click 8.4
    """A whole number, also as 1e5."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        with suppress(ValueError):
            return int(value)
        with suppress(ValueError):
            if float(value).is_integer():
                return int(float(value))
        return self.fail(f"{value!r} is not a valid integer.", param, ctx)


class Pair(Name):
    """NAME=VALUE."""

    name = "NAME=VALUE"

    def words(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        name, equals, _ = incomplete.partition("=")
        if not equals:
            return [f"{known}=" for known in self.names(ctx)]
        values = {**VALUES, **declared(AGENTS.get(typed(ctx, "agent") or "KLearning")).choices}
        return [f"{name}={value}" for value in values.get(name, ())]


class AgentWithOptions(Name):
    """An agent or player, followed by its options after commas: KLearning,bonus=sharp."""

    def words(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        name, *options = incomplete.split(",")
        if not options:
            return self.names(ctx)
        option, equals, _ = options[-1].partition("=")
        maker, before = agents_or_players(ctx).get(name), ",".join([name, *options[:-1]])
        if equals:
            words = [f"{option}={value}" for value in declared(maker).choices.get(option, ())]
        else:
            words = [f"{known}=" for known in parameters(agents_or_players(ctx), name)]
        return [f"{before},{word}" for word in words]


def typed(ctx: click.Context, argument: str) -> str:
    """The word typed for an argument; Click has not assigned words yet if the last option still lacks its value."""
    names = [parameter.name for parameter in ctx.command.params if isinstance(parameter, click.Argument)]
    waiting = dict(zip(names, ctx.args))
    return str(waiting.get(argument) or ctx.params.get(argument) or "")


def agents_or_players(ctx: click.Context) -> Mapping[str, Any]:
    """Players if the world on the line is a game, else agents."""
    return PLAYERS if typed(ctx, "world") in GAMES else AGENTS


def parameters(makers: Mapping[str, Any], name: str) -> Iterable[str]:
    return option_names(makers[name]) if name in makers else ()


def environment_names() -> Iterable[str]:
    """Every environment registered with Gymnasium, without the variants that need JAX."""
    import gymnasium

    return [name for name in gymnasium.registry if not name.startswith(("phys2d", "tabular"))]


def environment_options(ctx: click.Context) -> Iterable[str]:
    """The parameters of the environment on the line; of one of ours those of its world."""
    import gymnasium

    spec = gymnasium.registry.get(typed(ctx, "environment"))
    if spec is None or spec.entry_point is None:
        return ()
    if "world" in spec.kwargs:
        return option_names(WORLDS[spec.kwargs["world"]])
    try:
        maker = gymnasium.envs.registration.load_env_creator(spec.entry_point) if isinstance(
            spec.entry_point, str) else spec.entry_point  # fmt: skip
        return [name for name in inspect.signature(maker).parameters if name not in ("self", "render_mode", "kwargs")]
    except (ImportError, AttributeError, ValueError):
        return ()


COUNT = Count()
WORLD_OR_GAME = Name(lambda ctx: [*WORLDS, *GAMES])
AGENT_OR_PLAYER = Name(agents_or_players)
AGENT_WITH_OPTIONS = AgentWithOptions(agents_or_players)
OPPONENT = Name(lambda ctx: [*OPPONENTS, *PLAYERS])
LEARNING_AGENT = Name(lambda ctx: [*AGENTS, *AGENTS.elsewhere])
ENVIRONMENT, ENVIRONMENT_OPTION = Name(lambda ctx: environment_names()), Pair(environment_options)
AGENT_OPTION = Pair(lambda ctx: parameters(agents_or_players(ctx), typed(ctx, "agent") or "KLearning"))
WORLD_OPTION = Pair(lambda ctx: parameters(ChainMap(WORLDS, GAMES), typed(ctx, "world") or "deep_sea"))
PRIOR_OPTION = Pair(lambda ctx: PRIOR_OPTIONS)

world_options = click.option(
    "-w", "--world-option", "world_options", multiple=True, type=WORLD_OPTION, metavar="NAME=VALUE",
    help="set a parameter of the world, e.g. depth=20 (see `klearning worlds`); may be repeated",
)  # fmt: skip
agent_options = click.option(
    "-a", "--agent-option", "agent_options", multiple=True, type=AGENT_OPTION, metavar="NAME=VALUE",
    help="set a parameter of the agent, e.g. bonus=sharp (see `klearning agents`); may be repeated",
)  # fmt: skip
prior_options = click.option(
    "-p", "--prior-option", "prior_options", multiple=True, type=PRIOR_OPTION, metavar="NAME=VALUE",
    help="set a part of the prior: reward=gaussian (mean, sd, noise), reward=unknown_noise (also strength) or "
    "reward=beta (a, b); mass; support=world; transitions=world; span; stationary=yes",
)  # fmt: skip
opponent_option = click.option(
    "--opponent", type=OPPONENT, metavar="NAME",
    help="in a game: " + ", ".join(OPPONENTS) + ", or a player with options after commas; default: best_response",
)  # fmt: skip
as_json = click.option("--json", "as_json", is_flag=True, help="print JSON instead of text")
