"""Environments as they come: by name, of Gymnasium's kind, or of a shape that gets one clear line."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.spaces import Space
from gymnasium.vector import VectorEnv

from klearning.numerics import checks
from klearning.tabular.models.mdp import MDP
from klearning.tabular.models.tabular import read_horizon

Environment = gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]

OLD_GYM = "wrap a simulator of the old Gym, shimmy.GymV21CompatibilityV0(env=env), or change its reset and step"


@contextmanager
def opened_environment(env: Environment | str) -> Iterator[Environment]:
    """The environment, or the one that Gymnasium makes by this name, which is closed at the end."""
    if not isinstance(env, str):
        check_environment(env)
        yield env
        return
    made = make_environment(env, {})
    try:
        yield made
    finally:
        made.close()


def make_environment(name: str, options: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Gymnasium's environment of this name."""
    with named_in_errors(name):
        return gymnasium.make(name, **options)


@contextmanager
def named_in_errors(name: str) -> Iterator[None]:
    """Errors of making an environment are ValueErrors that name it, and offer the nearest name."""
    try:
        yield
    except gymnasium.error.Error as error:
        checks.choice("environment", name, gymnasium.registry)
        raise ValueError(f"environment={name!r} cannot be made: {' '.join(str(error).split())}") from None
    except (TypeError, KeyError, AttributeError, AssertionError) as error:
        raise ValueError(f"environment={name!r} does not take these options: {error!r}") from None


def check_environment(env: Any) -> None:
    """ValueError for what people give in place of an environment."""
    if isinstance(env, str):
        raise ValueError(f"env={env!r} is a name: give the environment, gymnasium.make({env!r})")
    if isinstance(env, MDP):
        raise ValueError(f"env={env!r} is a world: give kl.WorldEnv(world), or let the agent run: kl.run(agent, world)")
    if isinstance(env, type):
        raise ValueError(f"env={env!r} is a class: give an environment, {env.__name__}()")
    for part in ("reset", "step", "observation_space", "action_space"):
        if not hasattr(env, part):
            raise ValueError(f"env={env!r} is not a Gymnasium environment: it needs reset(), step() and spaces")
    for space in (env.observation_space, env.action_space):
        if not isinstance(space, Space):
            raise ValueError(f"env={env!r} has the space {space!r}, which is not one of Gymnasium's: {OLD_GYM}")


def reset(env: Any, seed: int | None) -> tuple[Any, Mapping[str, Any]]:
    """The first observation of an episode, and info."""
    try:
        answer = env.reset(seed=seed)
    except TypeError as error:
        if "unexpected keyword argument 'seed'" not in str(error):
            raise
        raise ValueError(f"reset() of {env!r} takes no seed=, as Gymnasium's does: {OLD_GYM}") from None
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[1], Mapping):
        raise ValueError(f"reset() returned {answer!r}, and Gymnasium's returns (observation, info): {OLD_GYM}")
    return answer


def step(env: Any, action: Any) -> tuple[Any, Any, Any, Any, Mapping[str, Any]]:
    """Observation, reward, terminated, truncated and info after an action."""
    return checked_step(env.step(action))


def checked_step(answer: Any) -> tuple[Any, Any, Any, Any, Mapping[str, Any]]:
    """The answer of an environment's `step`, if it is of Gymnasium's form."""
    if not isinstance(answer, tuple) or len(answer) != 5 or not isinstance(answer[4], Mapping):
        raise ValueError(
            f"step() returned {answer!r}, and Gymnasium's returns (observation, reward, terminated, truncated, info): "
            f"{OLD_GYM}"
        )
    return answer


def single_horizon(env: Environment, horizon: int | None) -> int:
    """The argument, or the time limit of an environment or of those in a vector."""
    if horizon is not None or not isinstance(env, VectorEnv) or env.spec is not None:
        return read_horizon(env, horizon)
    bare: Any = env.unwrapped
    if getattr(bare, "envs", None):  # in this process
        return read_horizon(bare.envs[0], None)
    spec = bare.get_attr("spec")[0] if hasattr(bare, "get_attr") else None
    return read_horizon(env, getattr(spec, "max_episode_steps", None))
