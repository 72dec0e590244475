"""`learn`: an agent in a Gymnasium environment, from the first episode to the last."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
from gymnasium.vector import VectorEnv

from klearning.numerics import checks
from klearning.simulators.actor import Actor, tabulated
from klearning.simulators.adapters.limit import Limit, limit
from klearning.simulators.adapters.vector import Environment, play_side_by_side, single_horizon, single_spaces
from klearning.simulators.callbacks import Callback, EpisodeReport, guarded
from klearning.simulators.horizons import compare_with_limit
from klearning.simulators.learner import Learner
from klearning.simulators.numbering import Numbering
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.streams import whole_number


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `learn`: ``learner`` is what has learnt so far, ready to go on."""

    def __init__(self, learner: Actor) -> None:
        super().__init__(
            f"stopped after {learner.episode} episodes; nothing is lost: learner = sys.last_value.learner, "
            "or in a script: except KeyboardInterrupt as stop: learner = stop.learner"
        )
        self.learner = learner


class Task(NamedTuple):
    """What of a task its environment does not say: see `Learner`."""

    discount: float = 1.0
    continuing: bool = False
    forget: float = 1.0


class Exact(NamedTuple):
    """An environment's own model: its optimal value, and what is seen in its states."""

    mdp: MDP
    optimum: float
    observations: list[Any]


def learn(
    agent: Agent | Actor,
    env: Environment,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
    horizon: int | None = None,
    prior: Prior | None = None,
    discover: bool = True,
    replan_every: int | None = None,
    discount: float = 1.0,
    continuing: bool = False,
    forget: float = 1.0,
    action_masks: bool = True,
    callbacks: Sequence[Callback] = (),
    evaluate_every: int = 0,
) -> Any:
    """Let an agent learn in an environment; returns the `Learner`, with ``returns`` and ``predict``.

    No episode begins after so many ``episodes`` (1000 where neither is given), nor once so many ``steps`` of the
    environment were played: the one under way is played to its end, so that every episode is whole.

    ``env`` may be a vector of environments, `gymnasium.make_vec` or `SyncVectorEnv`: their episodes run side by side,
    each with the plan that it began with, and are learnt from one by one, as they end.

    ``horizon`` is the most steps of an episode, by default that of the environment's time limit, or as long as a
    ``discount`` lets it matter; ``prior``, ``discover``, ``replan_every``, ``discount``, ``continuing`` and ``forget``
    are those of `Learner`. Give a learner in place of the agent to go on with it: so many
    more.

    Actions that ``info["action_mask"]`` of the environment does not allow are never taken (``action_masks=False``: it
    is not looked at). A ``continuing`` task is reset only where the environment says that it has ended: an episode is
    a window of ``horizon`` steps.

    Episode t resets the environment with a seed made of ``seed`` (by default 0, or the learner's) and t, so that what
    happens does not depend on where learning was interrupted: the episode under way is given up, and played again by
    the next call (a continuing task begins anew with it). A vector that resets by itself is seeded when learning
    begins, and all its episodes under way are given up. Ctrl-C raises a KeyboardInterrupt that holds the learner, as
    its message says.

    Callbacks are called after each episode. One that returns False, or raises StopIteration, stops learning; any other
    failure of one is a warning. Where the environment tells its transitions, every ``evaluate_every`` episodes the
    policy is evaluated exactly for them.
    """
    extent, every = limit(episodes, steps), checks.whole("evaluate_every", evaluate_every, 0)
    task = Task(discount, continuing, forget)
    actor = actor_for(
        agent, env, seed=seed, horizon=horizon, prior=prior, discover=discover, replan_every=replan_every, task=task
    )
    if actor.episode == 0:
        compare_with_limit(env, actor.horizon, *_endless(actor))
    root = actor.seed if seed is None else checks.whole("seed", seed, 0)
    model = _model(actor, env) if every else None
    if callable(callbacks):
        raise ValueError(f"callbacks={callbacks!r} is one: give a list, [callback]")
    watchers = [guarded(callback) for callback in callbacks]
    try:  # around a call: Python 3.12 and 3.13 let an interrupt at the end of a loop's body pass the loop's own handler
        if isinstance(env, VectorEnv):
            play_side_by_side(actor, env, extent, root, watchers, action_masks)
        else:
            _play_episodes(actor, env, extent, root, model, every, watchers, action_masks)
    except BaseException as error:
        actor.abandon_episode()  # where it has ended, nothing is left to abandon
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(actor).with_traceback(error.__traceback__) from None
        raise
    return actor


def _play_episodes(
    actor: Actor,
    env: gymnasium.Env[Any, Any],
    extent: Limit,
    seed: int,
    model: Exact | None,
    every: int,
    watchers: Sequence[Callable[[EpisodeReport], bool]],
    masks: bool,
) -> None:
    """Episode by episode, until all are played or a watcher answers no."""
    here: Moment | None = None
    first, played = actor.episode, 0
    while extent.leaves(actor.episode - first, played):
        due = every > 0 and actor.episode % every == 0
        here, value = _play(actor, env, seed, model if due else None, here, masks)
        steps, terminated = actor.step, here.terminated
        played += steps
        if here.terminated or here.truncated or not getattr(actor, "continuing", False):
            here = None
        actor.end_episode()
        if watchers:
            regret = None if model is None or value is None else model.optimum - value
            collected, plan = actor.returns[-1], actor.diagnostics
            report = EpisodeReport(actor.episode, collected, steps, terminated, plan, value, regret, actor)
            answers = [watch(report) for watch in watchers]
            if not all(answers):
                return


def actor_for(
    agent: Agent | Actor,
    env: Environment,
    *,
    seed: int | None = None,
    horizon: int | None = None,
    prior: Prior | None = None,
    discover: bool = True,
    replan_every: int | None = None,
    task: Task = Task(),  # noqa: B008
) -> Actor:
    """What is given, where it is an actor; else what the agent's method ``actor`` makes, or a `Learner`."""
    check_environment(env)
    spaces = single_spaces(env)
    if isinstance(agent, Actor):
        if any(setting is not None for setting in (horizon, prior, replan_every)) or task != Task():
            raise ValueError(
                "horizon, prior, replan_every, discount, continuing and forget belong to the learner: give them only "
                "with an agent"
            )
        agent.check_spaces(*spaces)
        if agent.under_way:
            raise ValueError("an episode is under way: finish it, or call learner.end_episode() or abandon_episode()")
        return agent
    number = 0 if seed is None else seed
    if hasattr(agent, "actor") and not isinstance(agent, type):
        if replan_every is not None or task != Task():
            raise ValueError(
                f"replan_every, discount, continuing and forget are none of {agent!r}'s settings: leave them out"
            )
        own: Actor = agent.actor(*spaces, single_horizon(env, horizon), prior=prior, seed=number)
        return own
    discounts = checks.number("discount", task.discount, 0.0, 1.0, above=True) < 1.0
    steps = None if horizon is None and discounts else single_horizon(env, horizon)
    return Learner(
        agent, *spaces, steps, prior=prior, seed=number, discover=discover,
        replan_every=1 if replan_every is None else replan_every, **task._asdict(),
    )  # fmt: skip


def _endless(actor: Actor) -> tuple[bool, bool]:
    """Whether an actor discounts what is to come, and whether its task goes on for ever."""
    return getattr(actor, "discount", 1.0) < 1.0, getattr(actor, "continuing", False)


def check_environment(env: Any) -> None:
    """What people give in place of an environment."""
    if isinstance(env, str):
        raise ValueError(f"env={env!r} is a name: give the environment, gymnasium.make({env!r})")
    if isinstance(env, MDP):
        raise ValueError(f"env={env!r} is a world: give kl.WorldEnv(world), or let the agent run: kl.run(agent, world)")
    for part in ("reset", "step", "observation_space", "action_space"):
        if isinstance(env, type) or not hasattr(env, part):
            raise ValueError(
                f"env={env!r} is no environment: give one of Gymnasium's kind, with reset, step and spaces"
            )


class Moment(NamedTuple):
    """What an environment said last."""

    observation: Any
    info: Any
    terminated: bool = False
    truncated: bool = False


def _play(
    actor: Actor, env: gymnasium.Env[Any, Any], seed: int, model: Exact | None, here: Moment | None, masks: bool
) -> tuple[Moment, float | None]:
    """One episode, from a reset or from here: its last moment, and its policy's exact value where a model is given."""
    value = None
    if here is None:
        here = Moment(*env.reset(seed=whole_number(seed, "environment", number=actor.episode)))
    observation, info, terminated, truncated = here
    while not actor.over:
        mask = info.get("action_mask") if masks and isinstance(info, dict) else None
        action = actor.act(observation) if mask is None else actor.act(observation, action_mask=mask)
        if model is not None and value is None:
            value = model.mdp.value(tabulated(actor, model.mdp, model.observations))
        observation, reward, terminated, truncated, info = env.step(action)
        actor.observe(reward, observation, terminated, truncated)  # type: ignore[arg-type]
    return Moment(observation, info, bool(terminated), bool(truncated)), value


def _model(actor: Actor, env: Any) -> Exact:
    if not hasattr(env.unwrapped, "P"):
        raise ValueError(f"evaluate_every needs a model and {env} tells none: leave it at 0")
    if any(_endless(actor)):
        raise ValueError("evaluate_every values whole episodes: leave it at 0 with a discount or in a continuing task")
    mdp = MDP.from_gymnasium(env, horizon=actor.horizon)
    return Exact(mdp, optimal_value(mdp), Numbering("observation", env.observation_space, False).all_points())
