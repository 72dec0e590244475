"""`klearning learn`: an agent in a Gymnasium environment, for one seed or several."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource

from klearning.cli.certificate import certificate_data, certificate_line, certificate_of
from klearning.cli.completing import (
    ENVIRONMENT,
    ENVIRONMENT_OPTION,
    LEARNING_AGENT,
    agent_options,
    as_json,
    prior_options,
)
from klearning.cli.display import is_lively, progress, say, show_json, show_table
from klearning.cli.doors import find_learning_agent
from klearning.cli.environment import binned, copies, make_environment
from klearning.cli.options import build, build_prior, parse
from klearning.cli.task import Stops, task_options
from klearning.cli.teaching import Command
from klearning.numerics import checks
from klearning.numerics.files import check_writable, is_stdout
from klearning.numerics.interrupts import uninterrupted
from klearning.simulators.adapters.limit import EPISODES, Limit, limit
from klearning.simulators.codec import prior_data
from klearning.tabular.beliefs.belief import Prior

EXAMPLES = (
    "klearning learn FrozenLake-v1 --episodes 500",
    "klearning learn CliffWalking-v1 --horizon 100 -p sd=20 -p mass=0.01 --evaluate-every 10 --episodes 100",
    "klearning learn klearning/DeepSea-v0 PSRL -e depth=20 --save out/diver.npz",
    "klearning learn FrozenLake-v1 -e is_slippery=false --csv lake.csv --json --episodes 100",
    "klearning learn simulator.py:Tank -e leak=0.8 --horizon 30 --bins level=10 --episodes 100",
    "klearning learn CartPole-v1 --bins 1,1,6,6 --quantiles -p mass=0.1 --episodes 30",
    "klearning learn CartPole-v1 DeepKLearning --steps 500 --save out/pole.npz",
    "klearning learn FrozenLake-v1 PSRL --seeds 3 --save out/lake_{seed}.npz --episodes 100",
    "klearning learn simulator.py:Tank PSRL --envs 2 --horizon 30 --bins level=10 --episodes 100",
    "klearning learn CliffWalking-v1 PSRL --discount 0.9 -p sd=20 -p mass=0.01 --steps 2000 --stop-at-return -20",
)
LATE = 100  # episodes, at the end, whose mean return is told apart
SEED = "{seed}"  # in the name of a file
SECONDS = 30.0  # between two times that a learner is saved
TIMES = 20.0  # as long as the last one took, at least: large learners take long

Callback = Callable[[Any], Any]


@click.command(cls=Command, short_help="Let an agent learn in a Gymnasium environment.", examples=EXAMPLES)
@click.argument("environment", type=ENVIRONMENT)
@click.argument("agent", default="KLearning", type=LEARNING_AGENT)
@click.option(
    "-e", "--env-option", "env_options", multiple=True, type=ENVIRONMENT_OPTION, metavar="NAME=VALUE",
    help="of the environment, e.g. map_name=8x8",
)  # fmt: skip
@agent_options
@prior_options
@click.option(
    "-n", "--episodes", type=int,
    help=f"in all, those before --resume among them; default: {EPISODES}, or no limit with --steps",
)  # fmt: skip
@click.option("--steps", type=int, help="of the environment, in all; the episode under way then is played to its end")
@click.option("-s", "--seed", default=0, show_default=True)
@click.option(
    "--seeds",
    help="several in place of one: how many, or which: 0,3,7; {seed} in the name of a file stands for each of them",
)  # fmt: skip
@click.option(
    "--bins", multiple=True, metavar="N | NAME=N",
    help="cut observed numbers into so many bins: one number, one per dimension (8,4), or by name (arm.angle=8)",
)  # fmt: skip
@click.option("--quantiles", is_flag=True, help="bins that random play fills evenly, not equal ones; they need no ends")
@click.option(
    "--envs", type=int, default=1, show_default=True, metavar="N",
    help="so many environments at once, in processes of their own, for one learner: where a step of one is slow",
)  # fmt: skip
@click.option(
    "--horizon", type=int,
    help="most steps of an episode; default: the environment's time limit, or as long as --discount lets it matter",
)  # fmt: skip
@click.option(
    "--replan-every", type=int, default=1, show_default=True, metavar="EPISODES",
    help="plan for every so many episodes, where planning takes long; each is learnt from",
)  # fmt: skip
@task_options
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False),
    help="write the learner here, for --resume and kl.load: now and then, at the end and on Ctrl-C",
)  # fmt: skip
@click.option(
    "--resume", type=click.Path(path_type=Path, dir_okay=False),
    help="go on with the learner of this file, to the same end as if it had never stopped; saved there again",
)  # fmt: skip
@click.option(
    "--csv", "csv_path", type=click.Path(path_type=Path, dir_okay=False),
    help="write a line per episode here, - for stdout",
)  # fmt: skip
@click.option("--tensorboard", type=click.Path(path_type=Path), help="write scalars for TensorBoard into this folder")
@click.option(
    "--film", type=click.Path(path_type=Path, dir_okay=False),
    help="write a page here, a film of what networks think of the first two observed numbers",
)  # fmt: skip
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
    episodes: int | None,
    steps: int | None,
    seed: int,
    envs: int,
    horizon: int | None,
    replan_every: int,
    discount: float,
    continuing: bool,
    forget: float,
    action_masks: bool,
    stop_when_sure: float | None,
    stop_at_return: float | None,
    save: Path | None,
    resume: Path | None,
    csv_path: Path | None,
    tensorboard: Path | None,
    film: Path | None,
    evaluate_every: int,
    seeds: str | None,
    bins: Sequence[str],
    quantiles: bool,
    as_json: bool,
) -> None:
    """Let AGENT learn in a Gymnasium ENVIRONMENT, and watch it.

    Both may be your own: file.py:Name, or module:Name; an environment's class, or a function that makes one.

    Where no prior is given, 20 episodes of random play suggest one, and it is told. The prior is stationary, because
    the rules of a simulator seldom change with the step; -p stationary=no learns each step apart. With --resume the
    agent, its prior, horizon, seed, --replan-every, --discount, --continuing and --forget are those of the file.
    """
    from klearning.simulators import learn as training
    from klearning.simulators.horizons import effective_horizon
    from klearning.tabular.trials.agent import LEARNS, check_methods

    extent = limit(episodes, steps)
    task = training.Task(discount, continuing, forget)
    stops = Stops(stop_when_sure, stop_at_return)
    chosen = build(find_learning_agent(agent), "agent", agent_options)
    typed = None  # no prior: random play suggests one
    own = hasattr(chosen, "actor")  # it makes its learner itself
    if not own:
        check_methods(chosen, LEARNS)  # before anything is played
    if prior_options or (own and getattr(chosen, "takes_prior", True)):
        typed = build_prior(["stationary=yes", *prior_options])  # the last one counts
    check_copies(envs, evaluate_every)
    numbers = several_seeds(context, seeds) if seeds is not None else (seed,)
    files = Files(save, resume, csv_path, tensorboard, film)
    files.check(numbers)
    learners: list[Any] = []
    with ExitStack() as stack:
        advance: Callable[[int], None] | None = None
        if len(numbers) > 1:
            advance = stack.enter_context(progress(*told_by(extent, len(numbers))))
        for number in numbers:
            mine = files.of(number)
            ahead = effective_horizon(discount) if horizon is None and 0.0 < discount < 1.0 else horizon
            env = binned(make_environment(environment, env_options), bins, quantiles, ahead)
            if mine.resume is None or (len(numbers) > 1 and not mine.resume.exists()):
                check_length(chosen, env, ahead)  # before anything is played
                prior = suggested(env, number, ahead) if typed is None and not own else typed
                every = given(context, replan_every=replan_every)  # not every actor plans
                learner: Any = training.actor_for(
                    chosen, env, seed=number, horizon=horizon, prior=prior, task=task, **every
                )
            else:
                settings = {"agent": chosen, "prior": typed, "seed": number, "horizon": horizon, **task._asdict()}
                learner = resumed(mine.resume, given(context, **settings, replan_every=replan_every))
            check_side_by_side(envs, learner)
            learners.append(learner)
            with copies(env, envs, environment, env_options, bins, quantiles) as place:
                play(learner, place, extent, mine, evaluate_every, action_masks, stops, quiet=as_json, advance=advance)
    if len(numbers) > 1:
        show_several(environment, learners, files, as_json)
    else:
        show_one(environment, learners[0], files.of(numbers[0]).target, as_json)


def check_side_by_side(envs: int, learner: Any) -> None:
    from klearning.simulators.actor import SideBySide

    if envs > 1 and not isinstance(learner, SideBySide):
        raise ValueError(f"--envs {envs}: {learner} plays one environment at a time: leave --envs out")


def check_copies(envs: int, evaluate_every: int) -> None:
    if checks.whole("envs", envs) > 1 and evaluate_every:
        raise ValueError(f"--evaluate-every {evaluate_every} follows one environment, not --envs {envs}: leave one out")


class Files(NamedTuple):
    """What is read and written for a learner; ``{seed}`` in a name stands for its seed."""

    save: Path | None
    resume: Path | None
    csv: Path | None
    tensorboard: Path | None
    film: Path | None

    @property
    def target(self) -> Path | None:
        """Where the learner is saved."""
        return self.save or self.resume

    def of(self, seed: int) -> "Files":
        return Files(*(path and Path(str(path).replace(SEED, str(seed))) for path in self))

    def check(self, seeds: Sequence[int]) -> None:
        """Several learners need several files, and all of them must be files; only a CSV may go to stdout."""
        for option, path in self._asdict().items():
            if len(seeds) > 1 and path is not None and SEED not in str(path):
                better = path.with_name(f"{path.stem}_{SEED}{path.suffix}")
                raise ValueError(
                    f"--{option} {path} is one name for {len(seeds)} seeds: write {SEED} into it, {better}"
                )
        for mine in map(self.of, seeds):
            written = [mine.target, mine.film, None if mine.csv is None or is_stdout(mine.csv) else mine.csv]
            for path in filter(None, written):
                check_writable(path)


def several_seeds(context: click.Context, text: str) -> tuple[int, ...]:
    from klearning.tabular.trials.run import seed_list

    if context.get_parameter_source("seed") != ParameterSource.DEFAULT:
        raise ValueError(f"--seed and --seeds {text} are both there: give one of them")
    return seed_list(parse(text))


def told_by(extent: Limit, learners: int = 1) -> tuple[str, int]:
    """What progress counts, and up to how many of it."""
    name = "episodes" if extent.steps == inf else "steps"
    return name, max(int(getattr(extent, name)), 0) * learners


def steps_of(learner: Any) -> int:
    """Those of its episodes; not every actor counts them."""
    return int(getattr(learner, "steps", 0))


def play(
    learner: Any,
    env: Any,
    extent: Limit,
    files: Files,
    evaluate_every: int,
    action_masks: bool,
    stops: Stops,
    quiet: bool,
    advance: Callable[[int], None] | None,
) -> None:
    """Up to so much in all, watched and saved; ``advance`` is who follows where there are several learners."""
    from klearning.simulators import learn as training

    steps = steps_of(learner)
    rules, film = stops.of(learner), filmed(learner, files.film)
    if advance is not None and learner.episode:
        advance(learner.episode if extent.steps == inf else steps)
    left = Limit(extent.episodes - learner.episode, extent.steps - steps)
    more_episodes, more_steps = (None if number == inf else int(number) for number in left)
    try:
        with watchers(left, files, quiet, advance) as callbacks, saved(learner, files.target) as savers:
            if extent.leaves(learner.episode, steps):
                training.learn(
                    learner, env, episodes=more_episodes, steps=more_steps,
                    callbacks=[*callbacks, *film, *rules, *savers], evaluate_every=evaluate_every,
                    action_masks=action_masks,
                )  # fmt: skip
            else:
                name, count = ("episodes", learner.episode) if left.episodes <= 0 else ("steps", steps)
                say(f"{files.resume} has {count} {name} already: give --{name} for more", err=True)
                return
    except KeyboardInterrupt:
        advice = f"go on with --resume {files.target}" if files.target else "--save FILE would have kept them"
        of = "" if advance is None else f" of seed {learner.seed}"
        say(f"{learner.episode} episodes{of} done: {advice}", err=True)
        raise
    if rules and extent.leaves(learner.episode, steps_of(learner)):
        of = "" if advance is None else f"seed {learner.seed}: "
        say(f"{of}stopped after {learner.episode} episodes; {'; '.join(map(str, rules))}", err=True)


def show_one(environment: str, learner: Any, target: Path | None, as_json: bool) -> None:
    whole, late = mean_returns(learner)
    certificate = certificate_of(learner)
    if as_json:
        show_json({
            "environment": environment, "agent": str(learner.agent), "episodes": learner.episode,
            "steps": steps_of(learner), "seed": learner.seed,
            "mean_return": whole, "late_return": late, "certificate": certificate_data(certificate),
            "saved": None if target is None else str(target),
        })  # fmt: skip
        return
    say(
        f"{learner.agent} in {environment}: mean return {whole:.4g} over {learner.episode} episodes, "
        f"{late:.4g} over the last {min(LATE, learner.episode)}"
    )
    for line in filter(None, (bound_line(learner), certificate_line(certificate))):
        say(line)
    if target is not None:
        say(f"saved: {target}")


def mean_returns(learner: Any) -> tuple[float, float]:
    """Over all episodes, and over the last."""
    whole, late = (float(np.mean(returns)) for returns in (learner.returns, learner.returns[-LATE:]))
    return whole, late


def show_several(environment: str, learners: Sequence[Any], files: Files, as_json: bool) -> None:
    """One line per seed, their mean, and how well the seeds tell it."""
    from klearning.numerics.statistics import FEWEST, mean_interval

    first, count = learners[0], len(learners)
    columns = np.array([mean_returns(learner) for learner in learners]).T
    whole, late = (mean_interval(column) for column in columns)
    if as_json:
        show_json({
            "environment": environment, "agent": str(first.agent),
            "seeds": [learner.seed for learner in learners],
            "episodes": [learner.episode for learner in learners],
            "steps": [steps_of(learner) for learner in learners],
            "mean_return": columns[0].tolist(), "late_return": columns[1].tolist(),
            "mean": {"mean_return": whole._asdict(), "late_return": late._asdict()},
            "certificate": [certificate_data(certificate_of(learner)) for learner in learners],
            "saved": [str(files.of(learner.seed).target) for learner in learners] if files.target else None,
        })  # fmt: skip
        return
    names = ("mean return", f"of the last {LATE}")[: 1 + any(learner.episode > LATE for learner in learners)]
    ranges = [f"{x.low:.4g} to {x.high:.4g}" if np.isfinite(x.low) else "none" for x in (whole, late)[: len(names)]]
    show_table(
        [
            {"seed": learner.seed, "episodes": learner.episode, **dict(zip(names, row.tolist()))}
            for learner, row in zip(learners, columns.T)
        ],
        title=f"{first.agent} in {environment}",
        caption=f"95% intervals of the means, over {count} seeds: {' and '.join(ranges)}" if count >= FEWEST
        else f"an interval of the mean needs {FEWEST} seeds",
        last={
            "seed": "mean", "episodes": float(np.mean([learner.episode for learner in learners])),
            **dict(zip(names, (whole.estimate, late.estimate))),
        },
    )  # fmt: skip
    if files.target is not None:
        say(f"saved: {files.target}")


def bound_line(learner: Any) -> str:
    """What the agent's own bound is worth; empty where it states none, or is no K-learning."""
    from klearning.tabular.agents.k_learning import KLearning
    from klearning.tabular.optimism.program import program

    bound, agent = learner.diagnostics.get("bound"), learner.agent
    if bound is None or not isinstance(agent, KLearning):
        return ""
    stated = f"it states that no policy returns more than {bound:.4g} on average"
    if agent.optimism != 1.0:
        return f"{stated}; not proved, because it uses a share of its bonus (docs/evidence/calibrated.md)"
    if program(learner.belief, agent.bonus).proved:
        return f"{stated}; by proof, of the states met so far"
    if learner.prior.stationary and agent.bonus != "visits":
        return f"{stated}; not proved: with a stationary prior only -a bonus=visits is (docs/evidence/visits.md)"
    return f"{stated}; not proved for this prior and bonus"


def check_length(agent: Any, env: Any, horizon: int | None) -> None:
    """ValueError where episodes are longer than the agent plans for."""
    from klearning.simulators.adapters.vector import single_horizon

    most = getattr(agent, "longest_horizon", None)
    if most is not None and (steps := single_horizon(env, horizon)) > most:
        raise ValueError(f"agent={agent!r} plans for episodes of at most {most} steps, and these have {steps}")


def suggested(env: Any, seed: int, horizon: int | None) -> Prior:
    """The prior that random play suggests, told in words that could have been typed."""
    from klearning.simulators.suggest_prior import suggest_prior

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
    options = {"agent": ("agent", "agent_options"), "prior": ("prior_options",), "seed": ("seed", "seeds")}
    return {
        name: value
        for name, value in settings.items()
        if any(context.get_parameter_source(o) != ParameterSource.DEFAULT for o in options.get(name, (name,)))
    }


def resumed(path: Path, settings: Mapping[str, Any]) -> Any:
    """The learner of a file; what the line says of it besides must be true."""
    from klearning.simulators.learner_state import load

    learner = load(path)
    for name, value in settings.items():
        own = getattr(learner, name, None)
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
    last, pause = time.monotonic(), SECONDS

    def save_at_times(report: Any) -> None:
        nonlocal last, pause
        start = time.monotonic()
        if start - last > pause:
            learner.save(path)
            last = time.monotonic()
            pause = max(SECONDS, TIMES * (last - start))

    try:
        yield [save_at_times]
    finally:
        with uninterrupted:
            if learner.episode > 0:
                learner.save(path)


def filmed(learner: Any, path: Path | None) -> list[Callback]:
    """Whoever makes a film of it; ValueError, before anything is played, where there is nothing to be seen."""
    if path is None:
        return []
    from klearning.lab.report import PlaneFilm

    film = PlaneFilm(path, title=type(learner.agent).__name__)
    film.prepare(learner)
    return [film]


@contextmanager
def watchers(left: Limit, files: Files, quiet: bool, advance: Callable[[int], None] | None) -> Iterator[list[Callback]]:
    """Callbacks: the files that were asked for, and whoever follows: a live table, where a terminal can show it."""
    from klearning.simulators.callbacks import CSVWriter, LiveView, TensorBoardWriter

    name, most = told_by(left)
    with ExitStack() as stack:
        callbacks: list[Callback] = []
        if files.csv is not None:
            files.csv.parent.mkdir(parents=True, exist_ok=True)
            callbacks.append(CSVWriter(files.csv))
        if files.tensorboard is not None:
            board = TensorBoardWriter(files.tensorboard)
            stack.callback(board.close)
            callbacks.append(board)
        if advance is None and is_lively(sys.stdout) and not quiet:
            callbacks.append(stack.enter_context(LiveView(**{name: most})))
        else:
            follow = advance or stack.enter_context(progress(name, most))
            callbacks.append(lambda report: follow(report.steps if name == "steps" else 1))
        yield callbacks
