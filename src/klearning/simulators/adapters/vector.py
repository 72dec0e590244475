"""Several environments, one belief: the episodes of a Gymnasium vector run side by side.

With tables each follows the plan that it began with to its end, and is then learned from; the next one to begin plans
with all that is known by then. So no plan is changed half-way, plans differ where an agent draws them (PSRL), and no
episode waits for another. Networks act for all of them in one batch, and learn while they run. What Gymnasium calls
autoreset decides where the first observation of the next episode is found: no step leads from the last of one to the
first of the next.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.types import Flags
from klearning.simulators.actor import SideBySide
from klearning.simulators.episode_report import EpisodeReport
from klearning.simulators.limit import Limit
from klearning.tabular.trials.streams import whole_number

NEXT_STEP, SAME_STEP, DISABLED = "NextStep", "SameStep", "Disabled"

Envs = VectorEnv[Any, Any, Any]
Watchers = Sequence[Callable[[EpisodeReport], bool]]


def play_side_by_side(actor: Any, envs: Envs, extent: Limit, seed: int, watchers: Watchers, masks: bool = True) -> None:
    """Begin what the extent leaves, and end it; where a watcher or an error stops it, what is under way is given up."""
    if not isinstance(actor, SideBySide):
        raise ValueError(
            f"env={envs!r} is a vector of {envs.num_envs} environments, and {actor!r} plays one at a time: "
            "give one, gymnasium.make(…)"
        )
    lanes = Lanes(actor, envs, extent, seed, masks)
    try:
        lanes.play(watchers)
    finally:
        with uninterrupted:
            for episode in lanes.episodes:
                if episode is not None:
                    actor.discard_episode(episode)


class Lanes:
    """A learner's episodes in a vector of environments, at most one in each."""

    def __init__(self, learner: SideBySide, envs: Envs, extent: Limit, seed: int, masks: bool) -> None:
        self.learner, self.envs, self.extent, self.seed, self.masks = learner, envs, extent, seed, masks
        self.begun, self.steps = 0, 0  # of all lanes; idle ones do not count
        self.earlier = learner.episodes_done  # episodes that were before
        self.episodes: list[Any] = [None] * envs.num_envs
        mode = envs.metadata.get("autoreset_mode", NEXT_STEP)
        self.mode = mode.value if isinstance(mode, AutoresetMode) else str(mode)

    def play(self, watchers: Watchers) -> None:
        """Step by step, everywhere at once."""
        fresh = np.ones(self.envs.num_envs, np.bool_)  # where the first observation of an episode is seen
        resetting = ~fresh  # where it will be after the next step
        observations, infos = self.envs.reset(seed=self._seeds(fresh))
        points, masks = self._split(observations), self._masks(infos)
        while self._more or any(episode is not None for episode in self.episodes):
            observations, rewards, terminated, truncated, infos = self.envs.step(self._actions(points, fresh, masks))
            points, masks = self._split(observations), self._masks(infos)
            ended = np.asarray(terminated, np.bool_) | np.asarray(truncated, np.bool_)
            last = infos["final_obs"] if self.mode == SAME_STEP and ended.any() else points
            for i, episode in enumerate(self.episodes):
                if episode is not None:
                    self.steps += 1
                    seen = last[i] if ended[i] else points[i]
                    episode.observe(float(rewards[i]), seen, bool(terminated[i]), bool(truncated[i]))
            over = np.array([episode is not None and episode.over for episode in self.episodes])
            if not self._learn(over, ended, terminated, watchers):
                return
            if self.mode == DISABLED:
                fresh = ended if self.learner.continuing else over | ended
                if fresh.any():
                    which = {"reset_mask": fresh.copy()}
                    observations, infos = self.envs.reset(seed=self._seeds(fresh), options=which)
                    points, first = self._split(observations), self._masks(infos)
                    masks = [first[i] if fresh[i] else mask for i, mask in enumerate(masks)]
            else:
                fresh, resetting = (ended, resetting) if self.mode == SAME_STEP else (resetting, ended)
            if self.learner.continuing:
                fresh = fresh | (over & ~ended)  # the next window begins where this one ended

    @property
    def _more(self) -> bool:
        """Whether another episode may begin."""
        return self.extent.leaves(self.begun, self.steps)

    def _actions(self, points: list[Any], fresh: Flags, masks: list[Any]) -> Any:
        """Those of the episodes under way, all at once, and of those that begin."""
        going = [i for i, episode in enumerate(self.episodes) if episode is not None]
        forks = [self.episodes[i] for i in going]
        self.learner.learn_together(forks)
        chosen = self.learner.act_together(forks, [points[i] for i in going], [masks[i] for i in going])
        actions = dict(zip(going, chosen, strict=True))
        for i in range(len(self.episodes)):
            if i not in actions:
                actions[i] = self._first_action(i, points[i], bool(fresh[i]), masks[i])
        return self._join([actions[i] for i in range(len(actions))])

    def _first_action(self, i: int, point: Any, fresh: bool, mask: Any) -> Any:
        """The action in environment i, where an episode may begin."""
        if not fresh or not self._more:
            return self.learner.actions.point(0 if mask is None else int(np.argmax(mask)))  # of no consequence
        with uninterrupted:
            action = self.learner.act(point, action_mask=mask)
            self.episodes[i] = self.learner.fork_episode()
            self.begun += 1
        return action

    def _learn(self, over: Flags, ended: Flags, terminated: Any, watchers: Watchers) -> bool:
        """Learn from the episodes that are over, one by one; whether to go on."""
        if self.mode != DISABLED and not self.learner.continuing and (over & ~ended).any():
            i, H = int(np.argmax(over & ~ended)), self.learner.horizon
            raise ValueError(
                f"horizon={H} is over and environment {i} goes on, which autoreset cannot cut short: give each a time "
                f"limit, gymnasium.wrappers.TimeLimit(env, {H}), or the vector autoreset_mode=AutoresetMode.DISABLED"
            )
        for i in np.flatnonzero(over).tolist():
            episode = self.episodes[i]
            assert episode is not None  # it is over
            with uninterrupted:  # learned from once, or given up
                self.learner.rejoin_episode(episode)
                self.learner.end_episode()
                self.episodes[i] = None
            number, total, plan = self.learner.episodes_done, self.learner.returns[-1], self.learner.diagnostics
            report = EpisodeReport(number, total, episode.step, bool(terminated[i]), plan, learner=self.learner)
            answers = [watch(report) for watch in watchers]
            if not all(answers):
                return False
        return True

    def _seeds(self, where: Flags) -> Any:
        """Those of the next episodes to begin: episode t has the same as when it is played alone."""
        seeds: list[int | None] = [None] * len(where)
        for k, i in enumerate(np.flatnonzero(where)):
            seeds[i] = whole_number(self.seed, "environment", number=self.earlier + self.begun + k)
        return seeds

    def _masks(self, infos: Any) -> list[Any]:
        """The action masks of the environments, if they have some."""
        told = infos.get("_action_mask") if self.masks else None
        if told is None:
            return [None] * len(self.episodes)
        return [infos["action_mask"][i] if told[i] else None for i in range(len(told))]

    def _split(self, observations: Any) -> list[Any]:
        return list(iterate(self.envs.observation_space, observations))

    def _join(self, actions: list[Any]) -> Any:
        space = self.envs.single_action_space
        room: Any = create_empty_array(space, len(actions))
        return concatenate(space, actions, room)
