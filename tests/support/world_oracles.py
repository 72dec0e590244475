"""The practitioners' worlds told as stories: plain recursions over events, without the package's arrays.

Each `…_story` is a function that says what may happen: `story(step, state, action)` is a list of
(chance, reward, next state), one entry for every event of the step. States and actions are what the story calls
them, not numbers. `best` is a dynamic programme over those lists, `told` plays them.
"""

from functools import cache
from itertools import product
from math import exp


def inventory_story(
    capacity=6, horizon=10, demand=2.0, price=0.25, unit_cost=0.1, fixed_cost=0.06, holding_cost=0.02, salvage=0.0
):
    if isinstance(demand, float):
        law = [exp(-demand)]
        while len(law) < 150:  # far beyond what any stock of these tests can serve
            law.append(law[-1] * demand / len(law))
    else:
        law = list(demand)

    def story(day, stock, order):
        events = []
        for asked, chance in enumerate(law):
            money, shelf = 0.0, stock
            for unit in range(order):
                if shelf < capacity:
                    shelf += 1
                    money -= unit_cost + (fixed_cost if unit == 0 else 0.0)
            for _ in range(asked):
                if shelf > 0:
                    shelf -= 1
                    money += price
            money -= holding_cost * shelf
            if day == horizon - 1:
                money += salvage * shelf
            events.append((chance, money, shelf))
        return events

    return story, range(capacity + 1)


def queue_story(
    buffer=5, horizon=15, arrival=0.5, slow=0.4, fast=0.7, fee=1.0, holding_cost=0.05, fast_cost=0.25
):  # fmt: skip
    """States are (inside, at the door), actions (admit, hurry)."""

    def story(step, state, action):
        (inside, waiting), (admit, hurry) = state, action
        if waiting and admit and inside < buffer:
            inside += 1
        done = fast if hurry else slow
        events = []
        for finished, comes in product((False, True), repeat=2):
            chance = (done if finished else 1 - done) * (arrival if comes else 1 - arrival)
            money, rest = -holding_cost * inside - (fast_cost if hurry else 0.0), inside
            if finished and inside > 0:
                money, rest = money + fee, inside - 1
            events.append((chance, money, (rest, comes)))
        return events

    return story, list(product((False, True), repeat=2))


def dose_story(
    visits=6, doses=4, stages=4, grades=4, efficacy=0.8, resistance=0.1, progression=0.3, toxic_dose=0.8,
    recovery=0.6, burden=0.02, harm=0.4,
):  # fmt: skip
    """States are (stage, grade) or None after death, actions the step of the dose."""

    def story(visit, patient, ordered):
        if patient is None:
            return [(1.0, 0.0, None)]
        stage, grade = patient
        x = 0.0 if grade == grades - 1 else ordered / (doses - 1)
        works = efficacy * (1 - resistance) ** visit * x / (1 + x) * 2
        poisons = 1 / (1 + exp(-5 * (x - toxic_dose)))
        events = []
        for better, worse, sick, well in product((False, True), repeat=4):
            chance = works if better else 1 - works
            chance *= progression if worse else 1 - progression
            chance *= poisons if sick else 1 - poisons
            chance *= recovery if well else 1 - recovery
            y = max(stage - 1, 0) if better else stage + worse
            z = min(grade + 1, grades - 1) if sick else max(grade - well, 0)
            later = None if y == stages else (y, z)
            money = -burden * grade / (grades - 1)
            if visit == visits - 1 and later is not None:
                money += (1 - harm) * (1 - y / (stages - 1)) + harm * (1 - z / (grades - 1))
            events.append((chance, money, later))
        return events

    return story, range(doses)


def best(story, actions, horizon):
    """value(step, state) under the best decisions, as a function."""

    @cache
    def value(step, state):
        if step == horizon:
            return 0.0
        return max(worth(step, state, a) for a in actions)

    def worth(step, state, action):
        return sum(p * (r + value(step + 1, after)) for p, r, after in story(step, state, action) if p > 0)

    return value, worth


def told(story, rule, horizon, state, rng):
    """The return of one telling of the story, with decisions rule(step, state)."""
    total = 0.0
    for step in range(horizon):
        events = story(step, state, rule(step, state))
        law = [chance for chance, _, _ in events]
        _, money, state = events[rng.choice(len(events), p=law)]
        total += money
    return total


def every_rule(story, actions, horizon, starts):
    """The values of all deterministic rules, one after another: (expected return over equally likely starts)."""
    places = set()
    frontier = set(starts)
    for step in range(horizon):
        places |= {(step, state) for state in frontier}
        frontier = {after for s in frontier for a in actions for p, _, after in story(step, s, a) if p > 0}
    places = sorted(places, key=repr)
    for chosen in product(actions, repeat=len(places)):
        rule = dict(zip(places, chosen))
        yield sum(_follow(story, rule, horizon, 0, s) for s in starts) / len(starts)


def _follow(story, rule, horizon, step, state):
    if step == horizon:
        return 0.0
    events = story(step, state, rule[step, state])
    return sum(p * (r + _follow(story, rule, horizon, step + 1, after)) for p, r, after in events if p > 0)
