"""A clinic: whom to treat next while patients queue and rooms are few. A Gymnasium environment of 576 states.

seen      every quarter of an hour: urgent and routine patients who wait (0 to 5 each), rooms that are free (0 to 3),
          part of the day (0 to 3)
chosen    nobody, an urgent patient, a routine patient, one of each, or send an urgent patient to another clinic;
          what nobody waits for, or no room is free for, is masked
random    arrivals, Poisson by part of the day, urgent patients most often in the second part; a room that is taken
          becomes free with chance 0.45
paid      5 per urgent and 2 per routine patient treated, less: 1 per urgent and 0.2 per routine patient who waits,
          3 for sending one elsewhere, and 12 per urgent and 3 per routine patient who finds the queue full
ends      after 40 steps, a day; that is time being up, so it is `truncated`
"""

from typing import Any

import gymnasium as gym
import numpy as np

STEPS, PARTS, QUEUE, ROOMS = 40, 4, 5, 3
URGENT = (0.5, 0.9, 0.6, 0.3)  # arrivals per step, by part of the day
ROUTINE = (0.7, 0.5, 0.7, 0.4)
FREED = 0.45  # chance that a room that is taken becomes free
TREATED = np.array([5.0, 2.0])  # urgent, routine
WAITING = np.array([1.0, 0.2])
LOST = np.array([12.0, 3.0])
ELSEWHERE = 3.0
TAKES = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [1, 0]])  # patients by action; the last one sends somebody away
AWAY = 4


class Clinic(gym.Env[Any, Any]):
    """The environment; see the top of this file."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.MultiDiscrete([QUEUE + 1, QUEUE + 1, ROOMS + 1, PARTS])
        self.action_space = gym.spaces.Discrete(len(TAKES))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.waiting, self.rooms, self.steps = np.zeros(2, np.int64), ROOMS, 0
        return self._seen(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self._allowed()[action]:
            raise ValueError(f"action={action} is not possible now: follow info['action_mask']")
        part = self._part()
        away = int(action) == AWAY
        self.waiting = self.waiting - TAKES[action]
        self.rooms -= 0 if away else int(TAKES[action].sum())
        paid = -ELSEWHERE if away else float(TREATED @ TAKES[action])
        arrived = self.np_random.poisson([URGENT[part], ROUTINE[part]])
        fits = np.minimum(self.waiting + arrived, QUEUE)
        paid -= float(LOST @ (self.waiting + arrived - fits)) + float(WAITING @ fits)
        self.waiting = fits
        self.rooms += int(self.np_random.binomial(ROOMS - self.rooms, FREED))
        self.steps += 1
        return self._seen(), paid, False, self.steps == STEPS, self._info()

    def _part(self) -> int:
        return min(self.steps * PARTS // STEPS, PARTS - 1)

    def _seen(self) -> Any:
        return np.array([*self.waiting, self.rooms, self._part()])

    def _allowed(self) -> Any:
        rooms_needed = np.append(TAKES[:AWAY].sum(axis=1), 0)
        return np.all(self.waiting >= TAKES, axis=1) & (rooms_needed <= self.rooms)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._allowed().astype(np.int8)}


def urgent_first(observation: Any) -> int:
    """The rule of thumb: treat anyone who can be treated, urgent patients first; send one away if the queue is full."""
    urgent, routine, rooms, _ = (int(x) for x in observation)
    if rooms >= 2 and urgent and routine:
        return 3
    if rooms and (urgent or routine):
        return 1 if urgent else 2
    return AWAY if urgent == QUEUE else 0
