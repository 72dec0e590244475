"""`learn`: an agent in a Gymnasium environment, from the first episode to the last."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium

from klearning.arrays import checks
from klearning.beliefs.belief import Prior
from klearning.environments.actor import Actor, tabulated
from klearning.environments.callbacks import Callback, EpisodeReport, guarded
from klearning.environments.learner import Learner
from klearning.environments.numbering import Numbering
from klearning.models.mdp import MDP, optimal_value
from klearning.models.tabular import read_horizon
from klearning.trials.agent import Agent
from klearning.trials.streams import whole_number


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `learn`: ``learner`` is what has learnt so far, ready to go on."""

    def __init__(self, learner: Actor) -> None:
        super().__init__(
            f"stopped after {learner.episode} episodes; nothing is lost: learner = sys.last_value.learner, "
            "or in a script: except KeyboardInterrupt as stop: learner = stop.learner"
        )
        self.learner = learner


class Exact(NamedTuple):
    """An environment's own model: its optimal value, and what is seen in its states."""

    mdp: MDP
    optimum: float
    observations: list[Any]


def learn(
    agent: Agent | Actor,
    env: gymnasium.Env[Any, Any],
    *,
    episodes: int = 1000,
    seed: int | None = None,
    horizon: int | None = None,
    prior: Prior | None = None,
    discover: bool = True,
    callbacks: Sequence[Callback] = (),
    evaluate_every: int = 0,
) -> Any:
    """Let an agent learn in an environment; returns the `Learner`, with ``returns`` and ``predict``.

    ``horizon`` is the most steps of an episode, by default that of the environment's time limit; ``prior`` and
    ``discover`` are those of `Learner`. Give a learner in place of the agent to go on with it: ``episodes`` more.

    Episode t resets the environment with a seed made of ``seed`` (by default 0, or the learner's) and t, so that what
    happens does not depend on where learning was interrupted: the episode under way is given up, and played again by
    the next call. Ctrl-C raises a KeyboardInterrupt that holds the learner, as its message says.

    Callbacks are called after each episode. One that returns False, or raises StopIteration, stops learning; any other
    failure of one is a warning. Where the environment tells its transitions, every ``evaluate_every`` episodes the
    policy is evaluated exactly for them.
    """
    count, every = checks.whole("episodes", episodes), checks.whole("evaluate_every", evaluate_every, 0)
    actor = actor_for(agent, env, seed=seed, horizon=horizon, prior=prior, discover=discover)
    root = actor.seed if seed is None else checks.whole("seed", seed, 0)
    model = _model(actor, env) if every else None
    watchers = [guarded(callback) for callback in callbacks]
    try:  # around a call: Python 3.12 and 3.13 let an interrupt at the end of a loop's body pass the loop's own handler
        _play_episodes(actor, env, count, root, model, every, watchers)
    except BaseException as error:
        actor.abandon_episode()  # where it has ended, nothing is left to abandon
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(actor).with_traceback(error.__traceback__) from None
        raise
    return actor


def _play_episodes(
    actor: Actor,
    env: gymnasium.Env[Any, Any],
    count: int,
    seed: int,
    model: Exact | None,
    every: int,
    watchers: Sequence[Callable[[EpisodeReport], bool]],
) -> None:
    """Episode by episode, until all are played or a watcher answers no."""
    for _ in range(count):
        due = every > 0 and actor.episode % every == 0
        terminated, value = _play(actor, env, seed, model if due else None)
        steps = actor.step
        actor.end_episode()
        if watchers:
            numbers = (value, model.optimum - value) if model is not None and value is not None else (None, None)
            report = EpisodeReport(actor.episode, actor.returns[-1], steps, terminated, actor.diagnostics, *numbers)
            answers = [watch(report) for watch in watchers]
            if not all(answers):
                return


def actor_for(
    agent: Agent | Actor,
    env: gymnasium.Env[Any, Any],
    *,
    seed: int | None = None,
    horizon: int | None = None,
    prior: Prior | None = None,
    discover: bool = True,
) -> Actor:
    """What is given, where it is an actor; else what the agent's method ``actor`` makes, or a `Learner`."""
    check_environment(env)
    spaces = env.observation_space, env.action_space
    if isinstance(agent, Actor):
        if horizon is not None or prior is not None:
            raise ValueError("horizon and prior belong to the learner: give them only with an agent")
        agent.check_spaces(*spaces)
        if agent.under_way:
            raise ValueError("an episode is under way: finish it, or call learner.end_episode() or abandon_episode()")
        return agent
    steps, number = read_horizon(env, horizon), 0 if seed is None else seed
    if hasattr(agent, "actor") and not isinstance(agent, type):
        own: Actor = agent.actor(*spaces, steps, prior=prior, seed=number)
        return own
    return Learner(agent, *spaces, steps, prior=prior, seed=number, discover=discover)


def check_environment(env: Any) -> None:
    """What people give in place of an environment."""
    if isinstance(env, str):
        raise ValueError(f"env={env!r} is a name: give the environment, gymnasium.make({env!r})")
    if isinstance(env, MDP):
        raise ValueError(f"env={env!r} is a world: give kl.WorldEnv(world), or let the agent run: kl.run(agent, world)")
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise ValueError(f"env={env!r} is a vector of {env.num_envs} environments: give one, gymnasium.make(…)")
    for part in ("reset", "step", "observation_space", "action_space"):
        if isinstance(env, type) or not hasattr(env, part):
            raise ValueError(
                f"env={env!r} is no environment: give one of Gymnasium's kind, with reset, step and spaces"
            )


def _play(actor: Actor, env: gymnasium.Env[Any, Any], seed: int, model: Exact | None) -> tuple[bool, float | None]:
    """One episode: whether it terminated, and the exact value of its policy where a model is given."""
    value, terminated = None, False
    observation, _ = env.reset(seed=whole_number(seed, "environment", number=actor.episode))
    while not actor.over:
        action = actor.act(observation)
        if model is not None and value is None:
            value = model.mdp.value(tabulated(actor, model.mdp, model.observations))
        observation, reward, terminated, truncated, _ = env.step(action)
        actor.observe(reward, observation, terminated, truncated)  # type: ignore[arg-type]
    return bool(terminated), value


def _model(actor: Actor, env: gymnasium.Env[Any, Any]) -> Exact:
    if not hasattr(env.unwrapped, "P"):
        raise ValueError(f"evaluate_every needs a model and {env} tells none: leave it at 0")
    mdp = MDP.from_gymnasium(env, horizon=actor.horizon)
    return Exact(mdp, optimal_value(mdp), Numbering("observation", env.observation_space, False).all_points())
