"""`learn`: an agent in a Gymnasium environment, from the first episode to the last."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, TypeVar, overload

import gymnasium
from gymnasium.vector import VectorEnv
from typing_extensions import Unpack

from klearning.numerics import checks
from klearning.simulators.actor import Actor, MakesLearner, tabulated
from klearning.simulators.adapters.binned import spaces_of
from klearning.simulators.adapters.vector import play_side_by_side
from klearning.simulators.autosave import autosave
from klearning.simulators.callbacks import LiveView
from klearning.simulators.environments import (
    Environment,
    check_environment,
    checked_step,
    opened_environment,
    reset,
    single_horizon,
)
from klearning.simulators.episode_report import Callback, EpisodeReport, guarded
from klearning.simulators.horizons import compare_with_limit, effective_horizon
from klearning.simulators.learner import Learner
from klearning.simulators.limit import Limit, limit
from klearning.simulators.saving import load_matching
from klearning.simulators.space_index import SpaceIndex
from klearning.simulators.suggest_prior import suggest_prior
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import LEARNS, Agent, as_agent, check_methods
from klearning.tabular.trials.streams import whole_number

SUGGEST = "suggest"

L = TypeVar("L", bound=Actor)
Watchers = Sequence[Callable[[EpisodeReport], bool]]


@dataclass(frozen=True)
class LearnSettings:
    """Rarely needed settings of `learn`.

    The first five are those of `Learner`. Actions that ``info["action_mask"]`` of the environment does not allow are
    never taken, unless ``action_masks`` is False. If the environment states its transitions, the policy is evaluated
    exactly every ``evaluate_every`` episodes (0: never), for callbacks.
    """

    discount: float = 1.0
    continuing: bool = False
    decay: float = 1.0
    grow_states: bool = True
    replan_every: int = 1
    action_masks: bool = True
    evaluate_every: int = 0

    def of_learner(self) -> dict[str, Any]:
        """Those that a learner keeps."""
        names = ("discount", "continuing", "decay", "grow_states", "replan_every")
        return {name: value for name, value in asdict(self).items() if name in names}

    def changed(self) -> dict[str, Any]:
        """Those of a learner that are not the defaults."""
        usual = LearnSettings().of_learner()
        return {name: value for name, value in self.of_learner().items() if value != usual[name]}


USUAL = LearnSettings()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `learn`: ``learner`` is what has learned so far, ready to go on."""

    def __init__(self, learner: Actor, path: str | Path | None = None) -> None:
        kept = "nothing is lost" if path is None else f"saved: {path}"
        super().__init__(
            f"stopped after {learner.episodes_done} episodes; {kept}: learner = sys.last_value.learner, "
            "or in a script: except KeyboardInterrupt as stop: learner = stop.learner"
        )
        self.learner = learner


class Keywords(TypedDict, total=False):
    """The keywords of `learn`."""

    episodes: float | None
    steps: float | None
    seed: int | None
    horizon: int | None
    prior: Prior | str | None
    settings: LearnSettings
    callbacks: Sequence[Callback]
    progress: bool
    save: str | Path | None
    resume: str | Path | None


@overload
def learn(agent: MakesLearner[L], env: Environment | str, **keywords: Unpack[Keywords]) -> L: ...


@overload
def learn(agent: L, env: Environment | str, **keywords: Unpack[Keywords]) -> L: ...


@overload
def learn(agent: Agent, env: Environment | str, **keywords: Unpack[Keywords]) -> Learner: ...


def learn(
    agent: Agent | MakesLearner[Any] | Actor,
    env: Environment | str,
    *,
    episodes: float | None = None,
    steps: float | None = None,
    seed: int | None = None,
    horizon: int | None = None,
    prior: Prior | str | None = None,
    settings: LearnSettings = USUAL,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
    save: str | Path | None = None,
    resume: str | Path | None = None,
) -> Actor:
    """Let an agent learn in an environment; returns the `Learner`, with ``returns`` and ``predict``.

    ``env`` is an environment or the name of one, ``"FrozenLake-v1"``. It may be a vector of environments,
    `gymnasium.make_vec` or `SyncVectorEnv`: their episodes run side by side, each with the plan that it began with, and
    are learned from one by one, as they end.

    No episode begins after N ``episodes`` (1000 if neither is given), nor once N ``steps`` of the environment were
    played: the one under way is played to its end, so that every episode is whole.

    ``horizon`` is the most steps of an episode, by default that of the environment's time limit, or as long as a
    discount lets it matter. ``prior="suggest"`` lets random play suggest the prior, as `suggest_prior` does.
    ``settings`` are discount, continuing tasks, decay, masks and the like: see `LearnSettings`.

    Pass a learner instead of an agent to continue training; limits then count additional episodes.

    Episode t resets the environment with a seed made of ``seed`` (by default 0, or the learner's) and t, so that
    interruptions do not change the result: the episode in progress is discarded, and played again by the next call
    (a continuing task begins again with it). A vector that resets by itself is seeded when learning
    begins, and all its episodes under way are given up. Ctrl-C raises a KeyboardInterrupt that holds the learner, as
    its message says.

    Callbacks are called after each episode. One that returns False, or raises StopIteration, stops learning; any other
    failure of one is a warning. ``progress=True`` shows a table that follows learning.

    ``save`` writes the learner to this file now and then, at the end and on an interrupt. ``resume`` does so too, and
    continues with the learner of that file if there is one: limits then count all its episodes, and the given
    agent, prior, seed, horizon and settings must match the file.
    """
    if not isinstance(settings, LearnSettings):
        raise ValueError(f"settings={settings!r} is not LearnSettings: give for example kl.LearnSettings(discount=0.9)")
    extent, target = limit(episodes, steps), None
    for field, path in (("resume", resume), ("save", save)):
        target = target if path is None else checks.file_path(field, path)
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise ValueError(f"callbacks={callbacks!r} is not a list of functions: give a list, [callback]")
    with opened_environment(env) as place:
        if resume is not None and Path(resume).exists():
            saved = load_matching(resume, _stated(agent, seed, horizon, prior, settings))
            extent = extent.after(saved.episodes_done, saved.steps)
            learner = learner_for(saved, place)
        else:
            learner = learner_for(agent, place, seed=seed, horizon=horizon, prior=prior, settings=settings)
        root = learner.seed if seed is None else checks.whole("seed", seed, 0)
        with autosave(learner, target) as savers, _followed(progress, extent) as views:
            watchers = [guarded(callback) for callback in [*callbacks, *views, *savers]]
            try:  # around a call: Python 3.12 and 3.13 let an interrupt at a loop's end pass the loop's own handler
                _play_all(learner, place, extent, root, settings, watchers)
            except BaseException as error:
                learner.abandon_episode()  # if it has ended, nothing is left to abandon
                if isinstance(error, KeyboardInterrupt):
                    raise Interrupted(learner, target).with_traceback(error.__traceback__) from None
                raise
    return learner


def _stated(
    agent: Any, seed: int | None, horizon: int | None, prior: Prior | str | None, settings: LearnSettings
) -> dict[str, Any]:
    """Arguments of `learn` that make its learner."""
    if isinstance(agent, Actor):
        raise ValueError(f"resume= continues the learner of a file, and agent={agent!r} is one already: leave one out")
    own_prior = None if prior == SUGGEST else prior
    given = {"agent": agent, "seed": seed, "horizon": horizon, "prior": own_prior, **settings.changed()}
    return {name: value for name, value in given.items() if value is not None}


@contextmanager
def _followed(progress: bool, extent: Limit) -> Iterator[list[Callback]]:
    """A table that follows learning, if there is to be one."""
    if not checks.flag("progress", progress):
        yield []
        return
    what, count = extent.counted()
    with LiveView(**{what: count}) as view:
        yield [view]


def learner_for(
    agent: Agent | MakesLearner[Any] | Actor,
    env: Environment,
    *,
    seed: int | None = None,
    horizon: int | None = None,
    prior: Prior | str | None = None,
    settings: LearnSettings = USUAL,
) -> Actor:
    """The given learner, or one made by the agent's `make_learner`, or a `Learner`."""
    check_environment(env)
    if isinstance(agent, Actor):
        given = {"horizon": horizon, "prior": prior, **settings.changed()}
        if stated := [f"{name}={value!r}" for name, value in given.items() if value is not None]:
            raise ValueError(f"{', '.join(stated)} belongs to the learner: give it only with an agent")
        agent.check_spaces(spaces_of(env))
        if agent.under_way:
            raise ValueError("an episode is under way: finish it, or call learner.end_episode() or abandon_episode()")
        return agent
    number = 0 if seed is None else checks.whole("seed", seed, 0)
    if not isinstance(agent, type) and isinstance(agent, MakesLearner):
        return _own_learner(agent, env, number, horizon, prior, settings)
    return _tabular_learner(agent, env, number, horizon, prior, settings)


def _own_learner(
    agent: MakesLearner[Any], env: Environment, seed: int, horizon: int | None, prior: Any, settings: LearnSettings
) -> Actor:
    """A learner that an agent makes itself."""
    given = settings.changed() | ({"prior": prior} if prior == SUGGEST else {})
    if wrong := [f"{name}={value!r}" for name, value in given.items()]:
        name = type(agent).__name__
        raise ValueError(f"{', '.join(wrong)} does not apply to {name}, which has its own settings: leave it out")
    spaces, most = spaces_of(env), single_horizon(env, horizon)
    own: Actor = agent.make_learner(spaces.uncut, spaces.action, most, bins=spaces.bins, prior=prior, seed=seed)
    return own


def _tabular_learner(
    agent: Any, env: Any, seed: int, horizon: int | None, prior: Any, settings: LearnSettings
) -> Learner:
    """A `Learner` for any other agent."""
    check_methods(agent, LEARNS)  # before anything is played
    discounts = checks.number("discount", settings.discount, 0.0, 1.0, above=True) < 1.0
    ahead = effective_horizon(settings.discount) if horizon is None and discounts else single_horizon(env, horizon)
    if isinstance(prior, str):
        checks.choice("prior", prior, [SUGGEST])
        check_length(agent, ahead)
        prior = suggest_prior(env, seed=seed, horizon=ahead)
    spaces = spaces_of(env)
    return Learner(
        agent, spaces.uncut, spaces.action, ahead, prior=prior, seed=seed, bins=spaces.bins, **settings.of_learner()
    )


def check_length(agent: Agent, horizon: int) -> None:
    """ValueError if episodes are longer than the agent plans for."""
    most = as_agent(agent).longest_horizon
    if most is not None and horizon > most:
        raise ValueError(f"agent={agent!r} plans for episodes of at most {most} steps, and these have {horizon}")


class Exact(NamedTuple):
    """An environment's own model: its optimal value, and what is seen in its states."""

    mdp: MDP
    optimum: float
    observations: list[Any]


def _model(actor: Actor, env: Any) -> Exact:
    if not hasattr(env.unwrapped, "P"):
        raise ValueError(f"evaluate_every needs a model and {env} states none: leave it at 0")
    if actor.discount < 1.0 or actor.continuing:
        raise ValueError("evaluate_every values whole episodes: leave it at 0 with a discount or in a continuing task")
    mdp = MDP.from_gymnasium(env, horizon=actor.horizon)
    return Exact(mdp, optimal_value(mdp), SpaceIndex("observation", env.observation_space, False).all_points())


class Moment(NamedTuple):
    """The last answer of an environment."""

    observation: Any
    info: Mapping[str, Any]
    terminated: bool = False
    truncated: bool = False


def _play_all(
    actor: Actor, env: Environment, extent: Limit, seed: int, settings: LearnSettings, watchers: Watchers
) -> None:
    """Until all is played, or a watcher answers no."""
    every = checks.whole("evaluate_every", settings.evaluate_every, 0)
    checks.flag("action_masks", settings.action_masks)
    if actor.episodes_done == 0:
        compare_with_limit(env, actor.horizon, actor.discount < 1.0, actor.continuing)
    model = _model(actor, env) if every else None
    if isinstance(env, VectorEnv):
        play_side_by_side(actor, env, extent, seed, watchers, settings.action_masks)
    else:
        _play_episodes(actor, env, extent, seed, model, every, watchers, settings.action_masks)


def _play_episodes(
    actor: Actor,
    env: gymnasium.Env[Any, Any],
    extent: Limit,
    seed: int,
    model: Exact | None,
    every: int,
    watchers: Watchers,
    masks: bool,
) -> None:
    here: Moment | None = None
    first, played = actor.episodes_done, 0
    while extent.leaves(actor.episodes_done - first, played):
        due = every > 0 and actor.episodes_done % every == 0
        here, value = _play(actor, env, seed, model if due else None, here, masks)
        steps, terminated = actor.step, here.terminated
        played += steps
        if here.terminated or here.truncated or not actor.continuing:
            here = None
        actor.end_episode()
        if watchers:
            regret = None if model is None or value is None else model.optimum - value
            collected, plan = actor.returns[-1], actor.diagnostics
            report = EpisodeReport(actor.episodes_done, collected, steps, terminated, plan, value, regret, actor)
            answers = [watch(report) for watch in watchers]
            if not all(answers):
                return


def _play(
    actor: Actor, env: gymnasium.Env[Any, Any], seed: int, model: Exact | None, here: Moment | None, masks: bool
) -> tuple[Moment, float | None]:
    """One episode, from a reset or from here: its last moment, and its policy's exact value if a model is given."""
    value = None
    if here is None:
        here = Moment(*reset(env, whole_number(seed, "environment", number=actor.episodes_done)))
    observation, info, terminated, truncated = here
    while not actor.over:
        mask = info.get("action_mask") if masks else None
        action = actor.act(observation) if mask is None else actor.act(observation, action_mask=mask)
        if model is not None and value is None:
            value = model.mdp.value(tabulated(actor, model.mdp, model.observations))
        answer: Any = env.step(action)
        usual = type(answer) is tuple and len(answer) == 5 and type(answer[4]) is dict  # nearly always; a call is slow
        observation, reward, terminated, truncated, info = answer if usual else checked_step(answer)
        actor.observe(reward, observation, terminated, truncated)
    return Moment(observation, info, bool(terminated), bool(truncated)), value
