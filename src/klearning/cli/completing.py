"""What may stand in a place of the command line, for the shell to complete: names, and NAME=VALUE options."""

import inspect
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from klearning.cli.options import PRIOR_OPTIONS, option_names
from klearning.games.matches import OPPONENTS
from klearning.games.registry import GAMES, PLAYERS
from klearning.simulators.codec import WORLD as WORLDS_OWN
from klearning.tabular.agents import AGENTS
from klearning.tabular.beliefs.rewards import FAMILIES
from klearning.tabular.worlds import WORLDS

# words that options of worlds and priors take besides numbers; those of an agent are its own `choices`
VALUES: dict[str, tuple[str, ...]] = {
    "noise": ("bernoulli",),
    "reward": tuple(FAMILIES),
    "stationary": ("yes", "no"),
    "support": (WORLDS_OWN,),
    "transitions": (WORLDS_OWN,),
}


class Name(click.ParamType):  # type: ignore[type-arg]  # generic since Click 8.4
    """One of some names, found when they are asked for; a wrong one is refused where it is used."""

    name = "name"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]


class Pair(click.ParamType):  # type: ignore[type-arg]  # generic since Click 8.4
    """NAME=VALUE, where the names depend on what else was typed."""

    name = "NAME=VALUE"

    def __init__(self, names: Callable[[click.Context], Iterable[str]]) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        name, equals, value = incomplete.partition("=")
        if equals:
            agent = AGENTS.get(typed(ctx, "agent") or "KLearning")
            words = {**VALUES, **getattr(agent, "choices", {})}.get(name, ())
            return [CompletionItem(f"{name}={word}") for word in words if word.startswith(value)]
        return [CompletionItem(f"{known}=") for known in self.names(ctx) if known.startswith(name)]


class Entrant(Name):
    """An agent; a player where the world that is named on the line is a game."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in contenders(ctx) if name.startswith(incomplete)]


class Contestant(Entrant):
    """An agent or player, and after commas NAME=VALUE options of its own: KLearning,bonus=sharp."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        name, *options = incomplete.split(",")
        if not options:
            return super().shell_complete(ctx, param, incomplete)
        agent, before = contenders(ctx).get(name), ",".join([name, *options[:-1]])
        option, equals, _ = options[-1].partition("=")
        if equals:
            words = [f"{option}={word}" for word in getattr(agent, "choices", {}).get(option, ())]
        else:
            words = [f"{known}=" for known in (option_names(agent) if agent is not None else ())]
        return [CompletionItem(f"{before},{word}") for word in words if word.startswith(options[-1])]


def typed(ctx: click.Context, place: str) -> str:
    """The word that stands for an argument; after an option without its value Click has not given them out yet."""
    places = [parameter.name for parameter in ctx.command.params if isinstance(parameter, click.Argument)]
    waiting = dict(zip(places, ctx.args))
    return str(waiting.get(place) or ctx.params.get(place) or "")


def contenders(ctx: click.Context) -> Mapping[str, Any]:
    """Who may stand where an agent does."""
    return PLAYERS if typed(ctx, "world") in GAMES else AGENTS


def options_of(
    kind: str, things: Callable[[click.Context], Mapping[str, Any]], default: str
) -> Callable[[click.Context], Iterable[str]]:
    """The parameters of the world or agent that is named on the line, or of the default."""

    def names(ctx: click.Context) -> Iterable[str]:
        thing = things(ctx).get(typed(ctx, kind) or default)
        return option_names(thing) if thing is not None else ()

    return names


def environment_names() -> list[str]:
    """What Gymnasium knows, ours among it, without the variants that it needs JAX for."""
    import gymnasium

    return [name for name in gymnasium.registry if not name.startswith(("phys2d", "tabular"))]


def environment_options(ctx: click.Context) -> Iterable[str]:
    """The parameters of the environment that is named on the line; those of the world behind one of ours."""
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


def experiment_names() -> Iterable[str]:
    from klearning.lab.benchmarks.bsuite.sweep import EXPERIMENTS

    return EXPERIMENTS


def problem_names() -> Iterable[str]:
    from klearning.lab.benchmarks.gymnasium.toy_text import PROBLEMS

    return PROBLEMS


def control_names() -> Iterable[str]:
    from klearning.lab.benchmarks.gymnasium.control import PROBLEMS

    return PROBLEMS


AGENT, WORLD = Name(lambda: AGENTS), Name(lambda: WORLDS)
PLACE = Name(lambda: [*WORLDS, *GAMES])
ENTRANT = Entrant(lambda: AGENTS)
OPPONENT = Name(lambda: [*OPPONENTS, *PLAYERS])
LEARNING_AGENT = Name(lambda: [*AGENTS, *AGENTS.elsewhere])
CONTESTANT = Contestant(lambda: AGENTS)
EXPERIMENT, PROBLEM, ENVIRONMENT = Name(experiment_names), Name(problem_names), Name(environment_names)
CONTROL = Name(control_names)
AGENT_OPTION = Pair(options_of("agent", contenders, "KLearning"))
WORLD_OPTION = Pair(options_of("world", lambda ctx: ChainMap(WORLDS, GAMES), "deep_sea"))
ENVIRONMENT_OPTION = Pair(environment_options)
PRIOR_OPTION = Pair(lambda ctx: PRIOR_OPTIONS)

agent_options = click.option(
    "-a", "--agent-option", "agent_options", multiple=True, type=AGENT_OPTION, metavar="NAME=VALUE",
    help="of the agent, e.g. bonus=sharp; `klearning agents` lists them",
)  # fmt: skip
prior_options = click.option(
    "-p", "--prior-option", "prior_options", multiple=True, type=PRIOR_OPTION, metavar="NAME=VALUE",
    help="what the agent knows: reward=gaussian (mean, sd, noise), reward=unknown_noise (strength, too) or "
    "reward=beta (a, b); mass; support=world; transitions=world; span; stationary=yes",
)  # fmt: skip
opponent_option = click.option(
    "--opponent", type=OPPONENT, metavar="NAME",
    help="in a game: " + ", ".join(OPPONENTS) + ", or a player, its options after commas; default: best_response",
)  # fmt: skip
as_json = click.option("--json", "as_json", is_flag=True, help="print JSON, for programs, instead of text")
