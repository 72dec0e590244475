"""`learn`: an agent in a Gymnasium environment, from the first episode to the last."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from klearning.arrays import checks
from klearning.beliefs.belief import Prior
from klearning.environments.callbacks import guarded
from klearning.environments.learner import Learner
from klearning.models.mdp import MDP, evaluate, optimal
from klearning.models.tabular import read_horizon
from klearning.trials.agent import Agent
from klearning.trials.streams import whole_number


@dataclass(frozen=True)
class Report:
    """One episode, as callbacks see it."""

    episode: int  # 1, 2, …
    collected: float  # the return
    steps: int
    terminated: bool
    diagnostics: dict[str, float]  # what the agent said of its plan
    value: float | None = None  # the exact value of the policy, where the model is known and this episode was evaluated
    regret: float | None = None  # what the optimum is above that

    def numbers(self) -> dict[str, float]:
        """Everything that is a number, by name."""
        known = {"value": self.value, "regret": self.regret}
        rest = {name: float(x) for name, x in known.items() if x is not None}
        return {"return": self.collected, "steps": float(self.steps), **self.diagnostics, **rest}


Callback = Callable[[Report], Any]


def learn(
    agent: Agent | Learner,
    env: gymnasium.Env[Any, Any],
    *,
    episodes: int = 1000,
    seed: int | None = None,
    horizon: int | None = None,
    prior: Prior | None = None,
    discover: bool = True,
    callbacks: Sequence[Callback] = (),
    evaluate_every: int = 0,
) -> Learner:
    """Let an agent learn in an environment; returns the `Learner`, with ``returns`` and ``predict``.

    ``horizon`` is the most steps of an episode, by default that of the environment's time limit; ``prior`` and
    ``discover`` are those of `Learner`. Give a learner in
    place of the agent to go on with it: ``episodes`` more. Episode t resets the environment with a seed made of
    ``seed`` (by default 0, or the learner's) and t, so that what happens does not depend on where learning was
    interrupted: an episode that was is given up, and played again by the next call. Where the environment
    tells its transitions, every ``evaluate_every`` episodes the policy is evaluated exactly for the callbacks, which
    are called after each episode and whose failures are warnings.
    """
    count, every = checks.whole("episodes", episodes), checks.whole("evaluate_every", evaluate_every, 0)
    if isinstance(agent, Learner):
        learner = agent
        if horizon is not None or prior is not None:
            raise ValueError("horizon and prior belong to the learner: give them only with an agent")
        _check_same(learner, env)
        if learner.under_way:
            raise ValueError("an episode is under way: finish it, or call learner.end_episode() or abandon_episode()")
    else:
        spaces = env.observation_space, env.action_space
        number = 0 if seed is None else seed
        learner = Learner(agent, *spaces, read_horizon(env, horizon), prior=prior, seed=number, discover=discover)
    root = learner.seed if seed is None else checks.whole("seed", seed, 0)
    model = _model(learner, env) if every else None
    watchers = [guarded(callback) for callback in callbacks]
    for _ in range(count):
        due = every > 0 and learner.episode % every == 0
        try:
            terminated, value = _play(learner, env, root, model if due else None)
            steps = learner.step
            learner.end_episode()
        except BaseException:
            learner.abandon_episode()  # where it has ended, nothing is left to abandon
            raise
        if watchers:
            numbers = (value, model[1] - value) if model is not None and value is not None else (None, None)
            report = Report(learner.episode, learner.returns[-1], steps, terminated, learner.diagnostics, *numbers)
            for watch in watchers:
                watch(report)
    return learner


def _play(
    learner: Learner, env: gymnasium.Env[Any, Any], seed: int, model: tuple[MDP, float] | None
) -> tuple[bool, float | None]:
    """One episode: whether it terminated, and the exact value of its policy where a model is given."""
    value, terminated = None, False
    observation, _ = env.reset(seed=whole_number(seed, "environment", number=learner.episode))
    while not learner.over:
        action = learner.act(observation)
        if model is not None and value is None:
            value = evaluate(model[0], learner.by_point(learner.memory.policy).T).value
        observation, reward, terminated, truncated, _ = env.step(action)
        learner.observe(reward, observation, terminated, truncated)  # type: ignore[arg-type]
    return bool(terminated), value


def _check_same(learner: Learner, env: gymnasium.Env[Any, Any]) -> None:
    for numbering, space in ((learner.observations, env.observation_space), (learner.actions, env.action_space)):
        if numbering.space != space:
            raise ValueError(f"{numbering.field} space {space} is not the learner's, {numbering.space}: give its own")


def _model(learner: Learner, env: gymnasium.Env[Any, Any]) -> tuple[MDP, float]:
    """The environment's own model, and its optimal value."""
    if not hasattr(env.unwrapped, "P"):
        raise ValueError(f"evaluate_every needs a model and {env} tells none: leave it at 0")
    mdp = MDP.from_gymnasium(env, horizon=learner.horizon)
    return mdp, optimal(mdp).value
