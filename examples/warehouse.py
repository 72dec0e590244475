"""A warehouse: how much to order when it comes two days later. A Gymnasium environment of 936 states.

    seen      every morning: units in stock (0 to 12), crates that come today and tomorrow (0 to 5 each), whether the
              market is busy
    chosen    crates to order (0 to 5, of two units each); they come in two days, before that day's customers
    random    customers, each for one unit: Poisson of mean 2 on a quiet day and of mean 5 on a busy one, at most 12;
              and the market, which turns over night with chance 0.15
    paid      15 per unit sold, less: 4 per unit ordered, 8 per order, 1 per unit kept over night, 3 per customer who
              leaves without; what does not fit on the shelf is lost
    ends      after 28 days, when what is left is worth nothing; that is time being up, so it is `truncated`

Every day draws the same two random numbers whatever was ordered: two policies with the same seed meet the same days.
"""

from math import factorial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

DAYS = 28
SHELF, CRATES, CRATE = 12, 5, 2  # units that fit, most crates of an order, units in a crate
PRICE, COST, ORDERING, KEEPING, LEAVING = 15.0, 4.0, 8.0, 1.0, 3.0
TURN = 0.15  # chance that the market is another tomorrow
CUSTOMERS = (2.0, 5.0)  # on average, on a quiet and on a busy day
MOST_CUSTOMERS = 12
WEIGHTS = np.array([[mean**n / factorial(n) for n in range(MOST_CUSTOMERS + 1)] for mean in CUSTOMERS])
DEMAND = WEIGHTS / WEIGHTS.sum(axis=1, keepdims=True)  # chances of 0, 1, … customers, by market


class Morning(NamedTuple):
    """What is seen."""

    stock: int
    today: int
    tomorrow: int
    busy: int


def day(morning: Morning, order: int, customers: int) -> tuple[int, float]:
    """Units left in the evening, and the day's profit."""
    shelf = min(morning.stock + CRATE * morning.today, SHELF)
    sold = min(shelf, customers)
    profit = PRICE * sold - LEAVING * (customers - sold) - KEEPING * (shelf - sold)
    profit -= COST * CRATE * order + (ORDERING if order else 0.0)
    return shelf - sold, profit


class Warehouse(gym.Env[Any, Any]):
    """The environment; see the top of this file."""

    def __init__(self) -> None:
        pipeline = gym.spaces.Discrete(CRATES + 1)
        self.observation_space = gym.spaces.Dict(
            {
                "stock": gym.spaces.Discrete(SHELF + 1),
                "today": pipeline,
                "tomorrow": pipeline,
                "busy": gym.spaces.Discrete(2),
            }
        )
        self.action_space = gym.spaces.Discrete(CRATES + 1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, int], dict[str, Any]]:
        super().reset(seed=seed)
        self.morning, self.days = Morning(stock=6, today=0, tomorrow=0, busy=0), 0
        return self.morning._asdict(), {}

    def step(self, action: int) -> tuple[dict[str, int], float, bool, bool, dict[str, Any]]:
        order, luck = int(action), self.np_random.random(2)
        customers = int(np.searchsorted(DEMAND[self.morning.busy].cumsum()[:-1], luck[0], side="right"))
        stock, profit = day(self.morning, order, customers)
        busy = self.morning.busy ^ int(luck[1] < TURN)
        self.morning = Morning(stock, today=self.morning.tomorrow, tomorrow=order, busy=busy)
        self.days += 1
        return self.morning._asdict(), profit, False, self.days == DAYS, {}


def base_stock(low: int, level: int, busy_level: int) -> Any:
    """The rule of thumb: with ``low`` units or fewer on hand and under way, order up to a level, by the market."""

    def rule(observation: dict[str, int], *_: Any) -> int:  # of what else is told it makes nothing
        position = observation["stock"] + CRATE * (observation["today"] + observation["tomorrow"])
        goal = busy_level if observation["busy"] else level
        return int(np.clip((goal - position) // CRATE, 0, CRATES)) if position <= low else 0

    return rule
