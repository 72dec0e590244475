"""A workshop: two presses that wear, one fitter, spare parts that come late. A Gymnasium environment of 324 states.

    seen      every morning: wear of either press (0 new to 4 worn out, 5 broken), spares in store (0 to 2), days until
              a spare comes that is on order (2, 1; 0: none is)
    chosen    a job for the fitter (none; overhaul or replace the first press; the same of the second), and whether to
              order a spare: ten actions, `ACTIONS`
    allowed   an overhaul of a press that is worn and not broken; replacing with a spare in store; ordering while none
              is on order and fewer than two are in store. `info["action_mask"]` says so. What is not allowed is not
              done, should somebody ask for it
    random    the day's output; a press that runs may wear by one, and a worn one may break; a spare that is due
              comes a day later one time in four
    paid      by a press that runs 100 to 50 by wear, with a standard deviation of 10, all of it twice by the second
              press; nothing by one that is worked on, and −50 (twice by the second) by one that is broken. Less: 40
              per overhaul (wear falls by one), 150 per spare when it is ordered, 150 when a press breaks
    ends      after 50 days: time is up, so it is `truncated`

Every day draws the same random numbers whatever was done: two policies with the same seed have the same luck.
"""

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

DAYS = 50
BROKEN, STORE = 5, 2
SIZES = (1.0, 2.0)
OUTPUT = (100.0, 95.0, 85.0, 70.0, 50.0, -50.0)  # of a day, by wear, of a press of size 1
SPREAD = 10.0
# chances, by wear, that a press that runs is broken in the evening, and that it is worn by one more
BREAKS, WEARS = (0.0, 0.02, 0.05, 0.15, 0.50), (0.35, 0.40, 0.45, 0.45, 0.0)
OVERHAUL, SPARE, BREAKDOWN = 40.0, 150.0, 150.0
LATE = 0.25  # chance that a spare that is due does not come
JOBS = ("none", "overhaul 1", "replace 1", "overhaul 2", "replace 2")
ACTIONS = [(job, order) for job in range(len(JOBS)) for order in (False, True)]


class Morning(NamedTuple):
    """What is seen."""

    first: int
    second: int
    spares: int
    due: int


def allowed(morning: Morning) -> list[bool]:
    """Which of the actions can be done."""
    jobs = [True]
    for wear in (morning.first, morning.second):
        jobs += [0 < wear < BROKEN, wear > 0 and morning.spares > 0]
    order = morning.due == 0 and morning.spares < STORE
    return [jobs[job] and (order or not ordered) for job, ordered in ACTIONS]


def work(morning: Morning, action: int) -> tuple[list[int], list[bool], int, int, float]:
    """What was decided is done: wear of the presses, which of them run, spares, days until one comes, what is paid."""
    job, order = ACTIONS[action if allowed(morning)[action] else 0]
    wear, runs, spares, paid = [morning.first, morning.second], [True, True], morning.spares, 0.0
    if job:
        press, replace = divmod(job - 1, 2)
        wear[press], spares = (0, spares - 1) if replace else (wear[press] - 1, spares)
        runs[press], paid = False, 0.0 if replace else -OVERHAUL
    for press in (0, 1):
        if runs[press]:
            paid += SIZES[press] * OUTPUT[wear[press]]
            runs[press] = wear[press] < BROKEN
    return wear, runs, spares, 2 if order else max(morning.due - 1, 0), paid - SPARE * order


class Workshop(gym.Env[Any, Any]):
    """The environment; see the top of this file."""

    def __init__(self) -> None:
        wear = gym.spaces.Discrete(BROKEN + 1)
        self.observation_space = gym.spaces.Dict(
            {"first": wear, "second": wear, "spares": gym.spaces.Discrete(STORE + 1), "due": gym.spaces.Discrete(3)}
        )
        self.action_space = gym.spaces.Discrete(len(ACTIONS))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, int], dict[str, Any]]:
        super().reset(seed=seed)
        self.morning, self.days = Morning(first=0, second=0, spares=1, due=0), 0
        return self.morning._asdict(), self._info()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.array(allowed(self.morning), np.int8)}

    def step(self, action: int) -> tuple[dict[str, int], float, bool, bool, dict[str, Any]]:
        luck, output = self.np_random.random(3), self.np_random.standard_normal(2)
        wear, runs, spares, due, paid = work(self.morning, int(action))
        for press in (0, 1):
            if runs[press]:
                breaks, wears = BREAKS[wear[press]], WEARS[wear[press]]
                paid += SIZES[press] * SPREAD * output[press]
                if luck[press] < breaks:
                    wear[press], paid = BROKEN, paid - BREAKDOWN
                elif luck[press] < breaks + wears:
                    wear[press] += 1
        if self.morning.due == 1:  # it comes, or is due again tomorrow
            spares, due = (spares, 1) if luck[2] < LATE else (spares + 1, 0)
        self.morning = Morning(wear[0], wear[1], spares, due)
        self.days += 1
        return self.morning._asdict(), float(paid), False, self.days == DAYS, self._info()


def thresholds(overhaul: int, replace: int, keep: int) -> Any:
    """The rule of thumb: look after the press that is worn more, by its wear, and keep N spares or orders."""

    def rule(observation: dict[str, int], *_: Any) -> int:  # of what else is told it makes nothing
        morning = Morning(**observation)
        press = int(morning.second > morning.first)
        wear, job = max(morning.first, morning.second), 0
        if wear >= replace and morning.spares:
            job = 2 + 2 * press
        elif overhaul <= wear < BROKEN:
            job = 1 + 2 * press
        order = morning.due == 0 and morning.spares - (job in (2, 4)) < keep and morning.spares < STORE
        return ACTIONS.index((job, order))

    return rule
