"""`klearning learn`: an agent in a Gymnasium environment, for one seed or several."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource

from klearning.cli.display import is_lively, progress, say, show_json, show_table
from klearning.cli.environment import binned, copies, make_environment
from klearning.cli.help import Command
from klearning.cli.options import build, build_prior, parse
from klearning.cli.param_types import (
    COUNT,
    ENVIRONMENT,
    ENVIRONMENT_OPTION,
    LEARNING_AGENT,
    agent_options,
    as_json,
    prior_options,
)
from klearning.cli.task import SETTINGS, stopping_rules, task_options
from klearning.cli.user_imports import find_learning_agent
from klearning.numerics import checks
from klearning.numerics.files import check_writable, is_stdout
from klearning.numerics.statistics import FEWEST, mean_interval
from klearning.simulators.actor import MakesLearner, SimulatorLearner
from klearning.simulators.callbacks import CSVWriter, TensorBoardWriter
from klearning.simulators.codec import prior_data
from klearning.simulators.deployment import Deployment, deployment
from klearning.simulators.horizons import effective_horizon
from klearning.simulators.learn import SUGGEST, LearnSettings, learner_for
from klearning.simulators.learn import learn as let_learn
from klearning.simulators.limit import EPISODES, Limit, limit
from klearning.simulators.saving import load_matching
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.trials.agent import LEARNS, check_methods
from klearning.tabular.trials.runs import seed_list

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

Advance = Callable[[int], None]
FILE = click.Path(path_type=Path, dir_okay=False)


class Files(NamedTuple):
    """Files to read and write for a learner; ``{seed}`` in a name stands for its seed."""

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


@dataclass(frozen=True)
class Line:
    """The arguments of the command."""

    context: click.Context
    environment: str
    agent: Any
    options: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    def typed(self, *names: str) -> bool:
        """Whether any of these options was typed."""
        return any(self.context.get_parameter_source(name) != ParameterSource.DEFAULT for name in names)

    def seeds(self) -> tuple[int, ...]:
        if self["seeds"] is None:
            return (self["seed"],)
        if self.typed("seed"):
            raise ValueError(f"--seed and --seeds {self['seeds']} are both there: give one of them")
        return seed_list(parse(self["seeds"]))

    def prior(self) -> Prior | None:
        """Stationary unless the line says otherwise: the last one counts."""
        return build_prior(["stationary=yes", *self["prior_options"]]) if self["prior_options"] else None

    def stated(self, seed: int) -> dict[str, Any]:
        """The settings of a learner that were typed, which must be those of a file that is resumed."""
        own = {"agent": ("agent", "agent_options"), "prior": ("prior_options",), "seed": ("seed", "seeds")}
        values = {"agent": self.agent, "prior": self.prior(), "seed": seed, "horizon": self["horizon"]}
        values |= {name: self[name] for name in ("discount", "continuing", "decay", "replan_every")}
        return {name: value for name, value in values.items() if self.typed(*own.get(name, (name,)))}


@click.command(cls=Command, short_help="Let an agent learn in a Gymnasium environment.", examples=EXAMPLES)
@click.argument("environment", type=ENVIRONMENT)
@click.argument("agent", default="KLearning", type=LEARNING_AGENT)
@click.option(
    "-e", "--env-option", "env_options", multiple=True, type=ENVIRONMENT_OPTION, metavar="NAME=VALUE",
    help="set a parameter of the environment, e.g. map_name=8x8; may be repeated",
)  # fmt: skip
@agent_options
@prior_options
@click.option(
    "-n", "--episodes", type=COUNT,
    help=f"total number of episodes, including those before --resume; default: {EPISODES}, or no limit with --steps",
)  # fmt: skip
@click.option("--steps", type=COUNT, help="total number of environment steps; the last episode is played to its end")
@click.option("-s", "--seed", default=0, show_default=True)
@click.option(
    "--seeds",
    help="number of seeds, or a list: 0,3,7; {seed} in file names is replaced by each of them",
)  # fmt: skip
@click.option(
    "--bins", multiple=True, metavar="N | NAME=N",
    help="discretise observations into N bins: one number, one per dimension (8,4), or by name (arm.angle=8)",
)  # fmt: skip
@click.option(
    "--quantiles",
    is_flag=True,
    help="bins that random play fills evenly, not of equal width; needs no bounds",
)
@click.option(
    "--envs", type=int, default=1, show_default=True, metavar="N",
    help="run N environment copies in subprocesses, for one learner (useful if a step is slow)",
)  # fmt: skip
@click.option(
    "--horizon", type=int,
    help="most steps of an episode; default: the environment's time limit, or the effective horizon of --discount",
)  # fmt: skip
@task_options
@click.option(
    "--save",
    type=FILE,
    help="save the learner to this file regularly, at the end and on Ctrl-C, for --resume and kl.load",
)
@click.option(
    "--resume", type=FILE,
    help="continue the learner of this file, exactly as if it had not stopped, and save it there again",
)  # fmt: skip
@click.option("--csv", type=FILE, help="write one row per episode to this file, or - for stdout")
@click.option("--tensorboard", type=click.Path(path_type=Path), help="write TensorBoard scalars to this folder")
@click.option(
    "--film", type=FILE, help="write an HTML animation of what networks learn about the first two observed numbers"
)
@click.option(
    "--greedy-episodes", type=click.IntRange(0), default=20, show_default=True, metavar="N",
    help="play N greedy episodes at the end and report their returns",
)  # fmt: skip
@as_json
@click.pass_context
def learn(context: click.Context, /, environment: str, agent: str, as_json: bool, **options: Any) -> None:
    """Let AGENT learn in a Gymnasium ENVIRONMENT, with a live view.

    Both may be your own: file.py:Name or module:Name, for an environment its class or a function that makes one.

    If no prior is given, 20 episodes of random play suggest one, which is shown. The prior is stationary, because the
    rules of a simulator seldom change with the step; -p stationary=no learns each step separately. With --resume the
    agent, prior, bins, horizon, seed, --replan-every, --discount, --continuing and --decay come from the file.
    """
    chosen = build(find_learning_agent(agent), "agent", options["agent_options"])
    line = Line(context, environment, chosen, options)
    extent, seeds, several = limit(line["episodes"], line["steps"]), line.seeds(), len(line.seeds()) > 1
    files = Files(*(line[name] for name in Files._fields))
    check_line(line)
    files.check(seeds)
    with ExitStack() as stack:
        what, count = extent.counted()
        advance = stack.enter_context(progress(what, count * len(seeds))) if several else None
        outcomes = [learn_one(line, seed, extent, files.of(seed), as_json, advance) for seed in seeds]
    show = show_several if several else show_one
    show(environment, outcomes, files, as_json)


def check_line(line: Line) -> None:
    """Checks before anything is played."""
    if not isinstance(line.agent, MakesLearner):
        check_methods(line.agent, LEARNS)
    if checks.whole("envs", line["envs"]) > 1 and line["evaluate_every"]:
        raise ValueError(
            f"--evaluate-every {line['evaluate_every']} follows one environment, not --envs {line['envs']}: "
            "leave one out"
        )


class Outcome(NamedTuple):
    """A learner that has learned, and what is known of its greedy policy."""

    learner: SimulatorLearner
    deployment: Deployment

    def mean_returns(self) -> tuple[float, float]:
        """Over all episodes, and over the last."""
        whole, late = (float(np.mean(returns)) for returns in (self.learner.returns, self.learner.returns[-LATE:]))
        return whole, late


def learn_one(line: Line, seed: int, extent: Limit, files: Files, quiet: bool, advance: Advance | None) -> Outcome:
    """One seed: its environment, its learner, and all that is played."""
    ahead = line["horizon"]
    if ahead is None and 0.0 < line["discount"] < 1.0:
        ahead = effective_horizon(line["discount"])
    env = binned(make_environment(line.environment, line["env_options"]), line["bins"], line["quantiles"], ahead)
    learner = learner_of(line, env, seed, files.resume, several=advance is not None)
    with copies(env, line["envs"], line.environment, line["env_options"]) as place:
        play(line, learner, place, extent, files, quiet, advance)
    return Outcome(learner, deployment(learner, env, line["greedy_episodes"]))


def learner_of(line: Line, env: Any, seed: int, resume: Path | None, several: bool) -> SimulatorLearner:
    """A new learner, or the one of the file that is resumed; of several seeds some may have none yet."""
    if resume is not None and (resume.exists() or not several):
        saved = load_matching(resume, line.stated(seed))
        learner_for(saved, env)  # or an error, if the environment is not the learner's
        return saved
    prior = line.prior()
    suggests = prior is None and not isinstance(line.agent, MakesLearner)
    settings = LearnSettings(**{name: line[name] for name in SETTINGS})
    learner: Any = learner_for(
        line.agent, env, seed=seed, horizon=line["horizon"], prior=SUGGEST if suggests else prior, settings=settings
    )
    if suggests:
        tell_prior(learner.made_with["prior"])
    return learner


def tell_prior(prior: Prior) -> None:
    """A prior in words that could have been typed."""
    data = prior_data(prior)
    reward = data["reward"].pop("kind")
    options = {"reward": reward, **data["reward"], "mass": data["transitions"]["mass"]}
    words = " ".join(f"-p {name}={value}" for name, value in options.items())
    say(f"no prior is given; random play suggests {words}", err=True)
    say("  kl.suggest_prior explains why; any -p of yours replaces all of these", err=True)


def play(line: Line, learner: Any, env: Any, extent: Limit, files: Files, quiet: bool, advance: Advance | None) -> None:
    """Up to this much in all, watched and saved; ``advance`` is who follows if there are several learners."""
    rules = stopping_rules(learner, line["stop_when_sure"], line["stop_at_return"])
    film, left = filmed(learner, files.film), extent.after(learner.episodes_done, learner.steps)
    if advance is not None and learner.episodes_done:
        advance(learner.episodes_done if extent.steps == inf else learner.steps)
    if not left.leaves(0, 0):
        what = "episodes" if left.episodes <= 0 else "steps"
        done = {"episodes": learner.episodes_done, "steps": learner.steps}[what]
        say(f"{files.resume} has {done} {what} already: give --{what} for more", err=True)
        return
    lively = advance is None and is_lively(sys.stdout) and not quiet
    of = "" if advance is None else f" of seed {learner.seed}"
    try:
        with watchers(left, files, lively, advance) as callbacks:
            let_learn(
                learner, env, episodes=None if left.episodes == inf else left.episodes,
                steps=None if left.steps == inf else left.steps, callbacks=[*callbacks, *film, *rules],
                progress=lively, save=files.target,
                settings=LearnSettings(action_masks=line["action_masks"], evaluate_every=line["evaluate_every"]),
            )  # fmt: skip
    except KeyboardInterrupt:
        advice = f"continue with --resume {files.target}" if files.target else "--save FILE would have kept them"
        say(f"{learner.episodes_done} episodes{of} done: {advice}", err=True)
        raise
    if rules and extent.leaves(learner.episodes_done, learner.steps):
        of = "" if advance is None else f"seed {learner.seed}: "
        say(f"{of}stopped after {learner.episodes_done} episodes; {'; '.join(map(str, rules))}", err=True)


@contextmanager
def watchers(left: Limit, files: Files, lively: bool, advance: Advance | None) -> Iterator[list[Any]]:
    """Callbacks: writers of files, and a progress counter if there is no live table."""
    what, most = left.counted()
    with ExitStack() as stack:
        callbacks: list[Any] = []
        if files.csv is not None:
            files.csv.parent.mkdir(parents=True, exist_ok=True)
            callbacks.append(CSVWriter(files.csv))
        if files.tensorboard is not None:
            board = TensorBoardWriter(files.tensorboard)
            stack.callback(board.close)
            callbacks.append(board)
        if not lively:
            follow = advance or stack.enter_context(progress(what, most))
            callbacks.append(lambda report: follow(report.steps if what == "steps" else 1))
        yield callbacks


def filmed(learner: Any, path: Path | None) -> list[Any]:
    """The callback that films a learner; ValueError, before anything is played, if nothing can be filmed."""
    if path is None:
        return []
    from klearning.lab.report import PlaneFilm

    film = PlaneFilm(path, title=type(learner.agent).__name__)
    film.prepare(learner)
    return [film]


def show_one(environment: str, outcomes: Sequence[Outcome], files: Files, as_json: bool) -> None:
    [outcome] = outcomes
    learner, (whole, late) = outcome.learner, outcome.mean_returns()
    target = files.of(learner.seed).target
    if as_json:
        show_json({
            "environment": environment, "agent": str(learner.agent), "episodes": learner.episodes_done,
            "steps": learner.steps, "seed": learner.seed, "mean_return": whole, "late_return": late,
            **outcome.deployment.data(), "saved": None if target is None else str(target),
        })  # fmt: skip
        return
    say(
        f"{learner.agent} in {environment}: mean return {whole:.4g} over {learner.episodes_done} episodes, "
        f"{late:.4g} over the last {min(LATE, learner.episodes_done)}"
    )
    for line in outcome.deployment.lines():
        say(line)
    if target is not None:
        say(f"saved: {target}")


def show_several(environment: str, outcomes: Sequence[Outcome], files: Files, as_json: bool) -> None:
    """One line per seed, their mean, and how well the seeds tell it."""
    learners, count = [outcome.learner for outcome in outcomes], len(outcomes)
    played = bool(outcomes[0].deployment.returns)
    names = ["mean return", *([f"of the last {LATE}"] if any(x.episodes_done > LATE for x in learners) else [])]
    means = np.array([outcome.mean_returns() for outcome in outcomes]).T
    whole, late = (mean_interval(column) for column in means)
    if as_json:
        show_json({
            "environment": environment, "agent": str(learners[0].agent),
            "seeds": [x.seed for x in learners],
            "episodes": [x.episodes_done for x in learners], "steps": [x.steps for x in learners],
            "mean_return": means[0].tolist(), "late_return": means[1].tolist(),
            "mean": {"mean_return": whole._asdict(), "late_return": late._asdict()},
            **{name: [outcome.deployment.data()[name] for outcome in outcomes] for name in ("greedy", "certificate")},
            "saved": [str(files.of(x.seed).target) for x in learners] if files.target else None,
        })  # fmt: skip
        return
    columns = dict(zip(names, means.tolist()))
    if played:
        columns["greedy play"] = [outcome.deployment.mean for outcome in outcomes]
    intervals = [mean_interval(np.array(column)) for column in columns.values()]
    ranges = [f"{x.low:.4g} to {x.high:.4g}" if np.isfinite(x.low) else "none" for x in intervals]
    show_table(
        [
            {"seed": x.seed, "episodes": x.episodes_done, **{name: column[i] for name, column in columns.items()}}
            for i, x in enumerate(learners)
        ],
        title=f"{learners[0].agent} in {environment}",
        caption=f"95% intervals of the means, over {count} seeds: {' and '.join(ranges)}" if count >= FEWEST
        else f"an interval of the mean needs {FEWEST} seeds",
        last={
            "seed": "mean", "episodes": float(np.mean([x.episodes_done for x in learners])),
            **{name: interval.estimate for name, interval in zip(columns, intervals)},
        },
    )  # fmt: skip
    if files.target is not None:
        say(f"saved: {files.target}")
