"""`klearning learn`: an agent in any discrete Gymnasium environment."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from klearning.arrays import checks
from klearning.arrays.interrupts import uninterrupted
from klearning.beliefs.belief import Prior
from klearning.cli.completing import (
    AGENT,
    ENVIRONMENT,
    ENVIRONMENT_OPTION,
    agent_options,
    as_json,
    environment_names,
    prior_options,
)
from klearning.cli.display import is_lively, progress, say, show_json
from klearning.cli.doors import bring_in, find, find_agent
from klearning.cli.options import build, build_prior, parse
from klearning.cli.teaching import Command
from klearning.storage.codec import prior_data

EXAMPLES = (
    "klearning learn FrozenLake-v1 --episodes 500",
    "klearning learn CliffWalking-v1 --horizon 100 -p sd=20 -p mass=0.01 --evaluate-every 10 --episodes 100",
    "klearning learn klearning/DeepSea-v0 PSRL -e depth=20 --save out/diver.npz",
    "klearning learn FrozenLake-v1 -e is_slippery=false --csv lake.csv --json --episodes 100",
)
LATE = 100  # episodes, at the end, whose mean return is told apart
SECONDS = 30.0  # between two times that a learner is saved

Callback = Callable[[Any], Any]


@click.command(cls=Command, short_help="Let an agent learn in a Gymnasium environment.", examples=EXAMPLES)
@click.argument("environment", type=ENVIRONMENT)
@click.argument("agent", default="KLearning", type=AGENT)
@click.option(
    "-e", "--env-option", "env_options", multiple=True, type=ENVIRONMENT_OPTION, metavar="NAME=VALUE",
    help="of the environment, e.g. map_name=8x8",
)  # fmt: skip
@agent_options
@prior_options
@click.option("-n", "--episodes", default=1000, show_default=True, help="in all, those before --resume among them")
@click.option("-s", "--seed", default=0, show_default=True)
@click.option("--horizon", type=int, help="most steps of an episode; default: the environment's time limit")
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False),
    help="write the learner here, for --resume and kl.load: now and then, at the end and on Ctrl-C",
)  # fmt: skip
@click.option(
    "--resume", type=click.Path(path_type=Path, dir_okay=False),
    help="go on with the learner of this file, to the same end as if it had never stopped; saved there again",
)  # fmt: skip
@click.option(
    "--csv", "csv_path", type=click.Path(path_type=Path, dir_okay=False), help="write a line per episode here"
)  # fmt: skip
@click.option("--tensorboard", type=click.Path(path_type=Path), help="write scalars for TensorBoard into this folder")
@click.option("--evaluate-every", default=0, help="exact regret every so many episodes, where the model is known")
@as_json
@click.pass_context
def learn(
    context: click.Context,
    environment: str,
    agent: str,
    env_options: Sequence[str],
    agent_options: Sequence[str],
    prior_options: Sequence[str],
    episodes: int,
    seed: int,
    horizon: int | None,
    save: Path | None,
    resume: Path | None,
    csv_path: Path | None,
    tensorboard: Path | None,
    evaluate_every: int,
    as_json: bool,
) -> None:
    """Let AGENT learn in a Gymnasium ENVIRONMENT, and watch it.

    Both may be your own: file.py:Name, or module:Name; an environment's class, or a function that makes one.

    Where no prior is given, 20 episodes of random play suggest one, and it is told. The prior is stationary, because
    the rules of a simulator seldom change with the step; -p stationary=no learns each step apart. With --resume the
    agent, its prior, horizon and seed are those of the file.
    """
    from klearning.environments import learn as training

    env = make_environment(environment, env_options)
    chosen = build(find_agent(agent), "agent", agent_options)
    if prior_options or resume is not None or hasattr(chosen, "actor"):
        prior = build_prior(["stationary=yes", *prior_options])  # the last one counts
    else:
        prior = suggested(env, seed, horizon)
    learner: Any
    if resume is None:
        learner = training.actor_for(chosen, env, seed=seed, horizon=horizon, prior=prior)
    else:
        learner = resumed(resume, given(context, agent=chosen, prior=prior, seed=seed, horizon=horizon))
        save = save or resume
    left = max(checks.whole("episodes", episodes) - learner.episode, 0)
    try:
        with watchers(left, csv_path, tensorboard, quiet=as_json) as callbacks, saved(learner, save) as savers:
            if left:
                callbacks = [*callbacks, *savers]
                training.learn(learner, env, episodes=left, callbacks=callbacks, evaluate_every=evaluate_every)
            else:
                say(f"{resume} has {learner.episode} episodes already: give --episodes for more", err=True)
    except KeyboardInterrupt:
        advice = "--save FILE would have kept them" if save is None else f"go on with --resume {save}"
        say(f"{learner.episode} episodes done: {advice}", err=True)
        raise
    whole, late = (float(np.mean(returns)) for returns in (learner.returns, learner.returns[-LATE:]))
    if as_json:
        show_json({
            "environment": environment, "agent": str(learner.agent), "episodes": learner.episode, "seed": learner.seed,
            "mean_return": whole, "late_return": late, "saved": None if save is None else str(save),
        })  # fmt: skip
        return
    say(
        f"{learner.agent} in {environment}: mean return {whole:.4g} over {learner.episode} episodes, "
        f"{late:.4g} over the last {min(LATE, learner.episode)}"
    )
    if line := bound_line(learner):
        say(line)
    if save is not None:
        say(f"saved: {save}")


def bound_line(learner: Any) -> str:
    """What the agent's own bound is worth; empty where it states none, or not by a bonus of ours."""
    from klearning.optimism.bonuses import BONUSES
    from klearning.optimism.program import program

    bound, bonus = learner.diagnostics.get("bound"), getattr(learner.agent, "bonus", None)
    if bound is None or bonus not in BONUSES:
        return ""
    stated = f"it states that no policy returns more than {bound:.4g} on average"
    if learner.prior.stationary:
        return f"{stated}; not proved, because with a stationary prior no bonus is (docs/reference/theory.md)"
    proved = program(learner.belief, bonus).proved
    return f"{stated}; {'by proof, of the states met so far' if proved else 'not proved for this prior and bonus'}"


def suggested(env: Any, seed: int, horizon: int | None) -> Prior:
    """The prior that random play suggests, told in words that could have been typed."""
    from klearning.environments.suggest_prior import suggest_prior

    prior = suggest_prior(env, seed=seed, horizon=horizon)
    data = prior_data(prior)
    reward = data["reward"].pop("kind")
    options = {"reward": reward, **data["reward"], "mass": data["transitions"]["mass"]}
    line = " ".join(f"-p {name}={value}" for name, value in options.items())
    say(f"no prior is given; random play suggests {line}", err=True)
    say("  kl.suggest_prior tells why; any -p of yours takes the place of all of these", err=True)
    return prior


def given(context: click.Context, **settings: Any) -> dict[str, Any]:
    """The settings of a learner that stand on the line."""
    options = {"agent": ("agent", "agent_options"), "prior": ("prior_options",)}
    return {
        name: value
        for name, value in settings.items()
        if any(context.get_parameter_source(o) != ParameterSource.DEFAULT for o in options.get(name, (name,)))
    }


def resumed(path: Path, settings: Mapping[str, Any]) -> Any:
    """The learner of a file; what the line says of it besides must be true."""
    from klearning.environments.learner_state import load

    learner = load(path)
    for name, value in settings.items():
        own = getattr(learner, name)
        if repr(value) != repr(own):
            raise ValueError(
                f"{name}={value!r} is not that of {path}, {own!r}: leave it out, or learn without --resume"
            )
    return learner


@contextmanager
def saved(learner: Any, path: Path | None) -> Iterator[list[Callback]]:
    """A callback that saves now and then; saves at the end, too, however it comes."""
    if path is None:
        yield []
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    last = time.monotonic()

    def save_at_times(report: Any) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS:
            learner.save(path)
            last = time.monotonic()

    try:
        yield [save_at_times]
    finally:
        with uninterrupted:
            if learner.episode > 0:
                learner.save(path)


@contextmanager
def watchers(episodes: int, csv_path: Path | None, tensorboard: Path | None, quiet: bool) -> Iterator[list[Callback]]:
    """Callbacks: the files that were asked for, and a live table where there is a terminal to draw it on."""
    from klearning.environments.callbacks import CSVWriter, LiveView, TensorBoardWriter

    with ExitStack() as stack:
        found: list[Callback] = []
        if csv_path is not None:
            csv_path.parent.mkdir(parents=True, exist_ok=True)
            found.append(CSVWriter(csv_path))
        if tensorboard is not None:
            board = TensorBoardWriter(tensorboard)
            stack.callback(board.close)
            found.append(board)
        if is_lively(sys.stdout) and not quiet:
            found.append(stack.enter_context(LiveView()))
        else:
            advance = stack.enter_context(progress("episodes", episodes))
            found.append(lambda report: advance(1))
        yield found


def make_environment(name: str, options: Sequence[str]) -> Any:
    import gymnasium

    given: dict[str, Any] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise ValueError(f"environment option {option!r} has no value: write NAME=VALUE")
        given[key] = {"true": True, "false": False}.get(value.lower(), parse(value))
    try:
        return own_environment(name, given) if ":" in name else gymnasium.make(name, **given)
    except gymnasium.error.Error as error:
        checks.choice("environment", name, environment_names())
        raise ValueError(f"environment={name!r} cannot be made: {' '.join(str(error).split())}") from None
    except (TypeError, KeyError, AttributeError, AssertionError) as error:
        raise ValueError(f"environment={name!r} does not take these options: {error!r}") from None


def own_environment(word: str, given: dict[str, Any]) -> Any:
    """What file.py:Name or module:Name makes, or Gymnasium's own module:Name-v0."""
    import gymnasium

    place, _, name = word.rpartition(":")
    bring_in(place)
    if name in gymnasium.registry:
        return gymnasium.make(name, **given)
    maker = find(word)
    env = maker(**given) if callable(maker) else maker
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"environment={word!r} made a {type(env).__name__}: give a gymnasium.Env, or what makes one")
    return env
