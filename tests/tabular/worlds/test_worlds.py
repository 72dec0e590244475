"""The practitioners' worlds against their stories, and the structure that textbooks prove of their optima."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from tests.support import world_oracles as stories
from tests.support.cases import modest

TINY = 1e-12
unit = st.floats(0.0, 1.0)
cost = st.floats(0.0, 0.5)


def chances(most):
    return st.lists(st.floats(0.0, 1.0), min_size=1, max_size=most).filter(lambda x: sum(x) > 0.1).map(
        lambda x: [p / sum(x) for p in x]
    )  # fmt: skip


@st.composite
def shops(draw, fixed_cost=cost):
    unit_cost = draw(cost)
    return {
        "capacity": draw(st.integers(1, 7)),
        "horizon": draw(st.integers(1, 5)),
        "demand": draw(st.one_of(st.floats(0.0, 8.0), chances(9))),
        "price": draw(unit),
        "unit_cost": unit_cost,
        "fixed_cost": draw(fixed_cost),
        "holding_cost": draw(cost),
        "salvage": unit_cost * draw(unit),
    }


@st.composite
def queues(draw):
    slow, fast = sorted([draw(unit), draw(unit)])
    return {
        "buffer": draw(st.integers(1, 6)),
        "horizon": draw(st.integers(1, 8)),
        "arrival": draw(unit),
        "slow": slow,
        "fast": fast,
        "fee": draw(unit),
        "holding_cost": draw(cost),
        "fast_cost": draw(cost),
    }


@st.composite
def patients(draw):
    return {
        "visits": draw(st.integers(1, 4)),
        "doses": draw(st.integers(2, 4)),
        "stages": draw(st.integers(2, 4)),
        "grades": draw(st.integers(2, 4)),
        "toxic_dose": draw(st.floats(0.0, 2.0)),
        **{name: draw(unit) for name in ("efficacy", "resistance", "progression", "recovery", "burden", "harm")},
    }


def agree(world, worth, states, actions):
    """Every Q* of the arrays is the story's."""
    for l, Q in enumerate(kl.optimal(world).q_values):
        want = [[worth(l, state, action) for action in actions] for state in states]
        np.testing.assert_allclose(Q, want, rtol=0, atol=TINY)


@modest
@given(shops())
def test_inventory_is_its_story(shop):
    story, orders = stories.inventory_story(**shop)
    value, worth = stories.best(story, orders, shop["horizon"])
    world = kl.inventory(**shop, start=shop["capacity"] // 2)
    agree(world, worth, range(shop["capacity"] + 1), orders)
    assert kl.optimal(world).value == pytest.approx(value(0, shop["capacity"] // 2), abs=TINY)


@modest
@given(queues())
def test_the_queue_is_its_story(queue):
    story, actions = stories.queue_story(**queue)
    value, worth = stories.best(story, actions, queue["horizon"])
    world = kl.admission_queue(**queue)
    states = [(n, z) for n in range(queue["buffer"] + 1) for z in (False, True)]
    agree(world, worth, states, actions)
    begin = queue["arrival"] * value(0, (0, True)) + (1 - queue["arrival"]) * value(0, (0, False))
    assert kl.optimal(world).value == pytest.approx(begin, abs=TINY)


@modest
@given(patients())
def test_dosing_is_its_story(patient):
    story, doses = stories.dose_story(**patient)
    value, worth = stories.best(story, doses, patient["visits"])
    world = kl.dose_finding(**patient)
    states = [(y, z) for y in range(patient["stages"]) for z in range(patient["grades"])]
    agree(world, worth, [*states, None], doses)
    begin = np.mean([value(0, (y, 0)) for y in range(1, patient["stages"])])
    assert kl.optimal(world).value == pytest.approx(begin, abs=TINY)


DEFAULTS = {  # world, story, where it may begin, the optimum that docstrings and docs state
    "inventory": (kl.inventory, stories.inventory_story, 10, [0], 1.9859),
    "admission_queue": (kl.admission_queue, stories.queue_story, 15, [(0, False), (0, True)], 4.1081),
    "dose_finding": (kl.dose_finding, stories.dose_story, 6, [(1, 0), (2, 0), (3, 0)], 0.7199),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_defaults_have_the_stated_optimum(name):
    make, tell, horizon, starts, stated = DEFAULTS[name]
    value, _ = stories.best(*tell(), horizon)
    want = np.mean([value(0, state) for state in starts])
    assert kl.optimal(make()).value == pytest.approx(want, abs=TINY)
    assert want == pytest.approx(stated, abs=5e-5)


@pytest.mark.parametrize("name", DEFAULTS)
def test_docstrings_state_the_numbers(name):
    make, *_, stated = DEFAULTS[name]
    best, world = kl.optimal(make()), make()
    text = " ".join(make.__doc__.split())
    assert f"{stated:.4f}" in text
    low, high = (float(x) for x in text.split("means lie in [")[1].split("]")[0].split(","))
    assert low <= world.reward.min() < low + 0.01
    assert high - 0.01 < world.reward.max() <= high
    span = float(text.split("span at most ")[1].split()[0].rstrip("."))
    assert span - 0.01 < max(np.ptp(V) for V in best.values) <= span
    assert np.ptp(world.reward) <= 1.0  # what the default prior's span takes for granted
    assert max(np.ptp(V) for V in best.values[1:]) <= kl.Prior().spans(world.horizon)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFAULTS)
def test_told_stories_pay_the_optimum(name):
    """4000 tellings by dice, off by 5 standard errors: 6e-7 by chance, for each of three worlds."""
    make, tell, horizon, starts, _ = DEFAULTS[name]
    (story, actions), rng = tell(), np.random.default_rng(11)
    story = cache(story)
    _, worth = stories.best(story, actions, horizon)
    rules = {}

    def rule(step, state):
        if (step, state) not in rules:
            rules[step, state] = max(actions, key=lambda a: worth(step, state, a))
        return rules[step, state]

    returns = [stories.told(story, rule, horizon, starts[rng.integers(len(starts))], rng) for _ in range(4000)]
    assert abs(np.mean(returns) - kl.optimal(make()).value) < 5 * np.std(returns) / np.sqrt(4000)


# inventory: what textbooks know


@modest
@given(shops())
def test_one_day_is_the_newsvendors(shop):
    """The least S with P(D ≤ S) ≥ (p − c)/(p + h − v), below the capacity; without a fixed cost."""
    world = kl.inventory(**{**shop, "horizon": 1, "fixed_cost": 0.0})
    story, _ = stories.inventory_story(**{**shop, "horizon": 1, "fixed_cost": 0.0})
    capacity = shop["capacity"]
    over = shop["price"] + shop["holding_cost"] - shop["salvage"]
    ratio = (shop["price"] - shop["unit_cost"]) / over if over > 1e-9 else 0.0
    at_most = np.zeros(capacity)  # P(D ≤ S): the chance that a shelf of `capacity` keeps capacity − S or more
    for chance, _, shelf in story(0, capacity, 0):
        at_most[capacity - shelf :] += chance
    level = next((S for S in range(capacity) if at_most[S] >= ratio - 1e-9), capacity)
    Q = kl.optimal(world).q_values[0]
    for stock in range(capacity + 1):
        order = max(level - stock, 0)
        assert Q[stock, order] >= Q[stock].max() - 1e-8


def test_the_newsvendor_by_hand():
    """Demand 0, 1, 2, 3 with chance 1/4 each, price 1, cost 0.4: ratio 0.6, so 2 units."""
    world = kl.inventory(3, 1, [0.25] * 4, price=1.0, unit_cost=0.4, fixed_cost=0.0, holding_cost=0.0)
    best = kl.optimal(world)
    assert best.q_values[0][0] == pytest.approx([0.0, 0.35, 0.45, 0.3], abs=TINY)
    assert best.policy[0].argmax(axis=1).tolist()[:3] == [2, 1, 0]
    dearer = kl.inventory(3, 1, [0.25] * 4, price=1.0, unit_cost=0.4, fixed_cost=0.44, holding_cost=0.0)
    assert kl.optimal(dearer).value == pytest.approx(0.01, abs=TINY)
    assert kl.optimal(dearer).policy[0].argmax(axis=1).tolist()[:3] == [2, 0, 0]


def is_optimal(Q, s, S):
    """Whether ordering up to S below a stock of s, and nothing from s on, loses nothing anywhere."""
    return all(Q[x, S - x if x < s else 0] >= Q[x].max() - 1e-10 for x in range(len(Q)))


@modest
@given(shops(fixed_cost=st.just(0.0)))
def test_without_a_fixed_cost_a_base_stock_is_optimal(shop):
    """From every stock below it, order up to one and the same level; above it, nothing."""
    for Q in kl.optimal(kl.inventory(**shop)).q_values:
        assert any(is_optimal(Q, level, level) for level in range(shop["capacity"] + 1))


@modest
@given(shops())
def test_with_a_fixed_cost_an_s_S_rule_is_optimal(shop):
    """There are s ≤ S such that below s ordering up to S is optimal, and from s on ordering nothing."""
    for Q in kl.optimal(kl.inventory(**shop)).q_values:
        assert any(is_optimal(Q, s, S) for S in range(shop["capacity"] + 1) for s in range(S + 1))


def s_S_of(Q):
    orders = Q.argmax(axis=1)  # the least of equals
    below = np.flatnonzero(orders)
    return (below[-1] + 1, below[0] + orders[below[0]]) if len(below) else (0, 0)


def test_the_default_shop_has_the_documented_rule():
    rules = [s_S_of(np.round(Q, 12)) for Q in kl.optimal(kl.inventory()).q_values]
    assert rules == [(3, 5)] * 7 + [(3, 4), (2, 3), (1, 2)]


def test_a_fixed_cost_is_what_makes_s_differ_from_S():
    cheap = [s_S_of(np.round(Q, 12)) for Q in kl.optimal(kl.inventory(fixed_cost=0.0)).q_values]
    assert all(s == S for s, S in cheap)


# the queue: two thresholds


@modest
@given(queues())
def test_the_queue_has_two_thresholds(queue):
    """Admitting pays less the more are inside, hurrying more; ties aside, so both decisions switch once."""
    for Q in kl.optimal(kl.admission_queue(**queue)).q_values:
        by_inside = Q.reshape(queue["buffer"] + 1, 2, 2, 2)  # inside, at the door, admit, hurry
        nobody, somebody = by_inside[:, 0].max(axis=(1, 2)), by_inside[:, 1].max(axis=2)
        admitting = (somebody[:, 1] - somebody[:, 0])[:-1]  # when full, the door is shut
        hurrying = np.diff(by_inside[:, 0, 0], axis=1)[:, 0]
        assert (np.diff(admitting) <= 1e-10).all()
        assert (np.diff(hurrying) >= -1e-10).all()
        assert (np.diff(nobody, 2) <= 1e-10).all()


def thresholds(Q, buffer):
    by_inside = np.round(Q, 12).reshape(buffer + 1, 2, 2, 2)
    admit = by_inside[:, 1].max(axis=2).argmax(axis=1)
    hurry = by_inside[:, 0].max(axis=1).argmax(axis=1)
    assert (np.diff(admit) <= 0).all()
    assert (np.diff(hurry) >= 0).all()
    return int(admit.sum()), int(hurry.argmax())


def test_the_default_queue_has_the_documented_thresholds():
    """Admit below the first number, hurry from the second on."""
    found = [thresholds(Q, 5) for Q in kl.optimal(kl.admission_queue()).q_values]
    assert found == [(3, 2)] * 10 + [(2, 2)] * 4 + [(1, 1)]


def test_a_dearer_wait_admits_fewer():
    admitted = [
        sum(thresholds(Q, 5)[0] for Q in kl.optimal(kl.admission_queue(holding_cost=h)).q_values)
        for h in (0.02, 0.05, 0.1, 0.2, 0.8)
    ]
    assert admitted == sorted(admitted, reverse=True)
    assert admitted[0] > admitted[-1] == 0


# dosing: enumeration, and what a clinician expects


@pytest.mark.parametrize("changes", [{}, {"harm": 0.8}, {"toxic_dose": 0.2, "burden": 0.3}, {"resistance": 0.9}])
def test_dosing_is_the_best_of_all_rules(changes):
    """Two visits, two stages, two grades, two doses: six places to decide at most, all 2^6 rules tried."""
    small = {"visits": 2, "doses": 2, "stages": 2, "grades": 2, **changes}
    values = list(stories.every_rule(*stories.dose_story(**small), 2, [(1, 0)]))
    assert len(values) == 2**6
    assert kl.optimal(kl.dose_finding(**small)).value == pytest.approx(max(values), abs=TINY)


def test_the_default_doses_rise_with_the_stage_and_fall_with_the_grade():
    for pi in kl.optimal(kl.dose_finding()).policy:
        dose = pi[:-1].argmax(axis=1).reshape(4, 4)[:, :3]  # at the last grade nothing is given
        assert (np.diff(dose, axis=0) >= 0).all()
        assert (np.diff(dose, axis=1) <= 0).all()
    assert dose.tolist() == [[1, 0, 0], [2, 1, 1], [2, 1, 1], [2, 1, 1]]


def test_adapting_beats_every_fixed_dose():
    world = kl.dose_finding()
    fixed = [kl.evaluate(world, np.eye(4)[[d] * world.states]).value for d in range(4)]
    assert np.argmax(fixed) == 2
    assert fixed == pytest.approx([0.2123, 0.5900, 0.6457, 0.4765], abs=5e-5)
    assert "0.6457" in kl.dose_finding.__doc__


def test_orders_do_nothing_at_the_dose_limiting_grade_or_after_death():
    world = kl.dose_finding()
    for rewards, P in zip(world.rewards, [*world.transitions, None]):
        for state in (3, 7, 11, 15, 16):
            assert (rewards[state] == rewards[state, :1]).all()
            assert P is None or (P[state] == P[state, :1]).all()
    assert all(r[16, 0] == 0.0 for r in world.rewards)


# all three


@pytest.mark.parametrize("name", DEFAULTS)
def test_simulated_noise_and_start(name):
    make = DEFAULTS[name][0]
    assert make().noise == 0.05
    assert make(noise=0.2).noise == 0.2
    assert make(noise=0.0).initial.tolist() == make().initial.tolist()
    runs = kl.run(kl.Random(), make(noise=0.0), episodes=5, seeds=2)
    assert np.isfinite(runs.returns).all()


WRONG = {
    "capacity": (lambda: kl.inventory(0), "capacity=0"),
    "start": (lambda: kl.inventory(3, start=4), "start=4 is more than fits: give at most capacity=3"),
    "salvage": (lambda: kl.inventory(salvage=0.2), "salvage=0.2 .*at most 0.1"),
    "demand": (lambda: kl.inventory(demand=-1.0), "demand=-1.0"),
    "demand law": (lambda: kl.inventory(demand=[0.5, 0.4]), "demand sums to 0.9"),
    "price": (lambda: kl.inventory(price=float("inf")), "price=inf is out of range"),
    "fixed cost": (lambda: kl.inventory(fixed_cost=-0.1), "fixed_cost=-0.1"),
    "shop noise": (lambda: kl.inventory(noise=-0.1), "noise=-0.1"),
    "buffer": (lambda: kl.admission_queue(0), "buffer=0"),
    "arrival": (lambda: kl.admission_queue(arrival=1.1), "arrival=1.1"),
    "speeds": (lambda: kl.admission_queue(slow=0.8, fast=0.7), "fast=0.7 .*at least 0.8"),
    "fee": (lambda: kl.admission_queue(fee=-1), "fee=-1"),
    "queue noise": (lambda: kl.admission_queue(noise=-0.1), "noise=-0.1"),
    "visits": (lambda: kl.dose_finding(0), "visits=0"),
    "doses": (lambda: kl.dose_finding(doses=1), "doses=1"),
    "grades": (lambda: kl.dose_finding(grades=1), "grades=1"),
    "efficacy": (lambda: kl.dose_finding(efficacy=1.5), "efficacy=1.5"),
    "harm": (lambda: kl.dose_finding(harm=2.0), "harm=2.0"),
    "toxic dose": (lambda: kl.dose_finding(toxic_dose=-1.0), "toxic_dose=-1.0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_named(name):
    make, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_extremes_are_worlds_too():
    assert kl.optimal(kl.inventory(demand=0.0)).value == 0.0
    assert kl.optimal(kl.inventory(2, 3, demand=1e4, fixed_cost=0.0)).value == pytest.approx(3 * 2 * 0.15, abs=TINY)
    assert kl.optimal(kl.admission_queue(arrival=0.0)).value == 0.0
    assert np.isfinite(kl.optimal(kl.dose_finding(toxic_dose=1e6)).value)
