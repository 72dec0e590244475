"""How long something will take: told once it can be, and not by how long kernels took to compile."""

import pytest

from klearning.simulators import pace
from klearning.simulators.pace import Pace, duration


@pytest.fixture
def clock(monkeypatch):
    """Time that passes when it is told to."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


def test_the_first_is_not_counted(clock):
    told = Pace(100)
    assert told.words() == []
    clock.now += 80.0  # compiling
    told.advance()
    assert told.words() == []
    for _ in range(20):
        clock.now += 0.5
        told.advance()
    assert told.rate == pytest.approx(2.0)
    assert told.words() == ["2.0 a second", "40 s left"]


def test_what_is_slow_now_is_told_as_it_is_now(clock):
    told = Pace(10_000)
    for _ in range(1000):
        told.advance()
        clock.now += 0.01
    for _ in range(200):
        told.advance()
        clock.now += 4.0
    assert told.rate == pytest.approx(0.25, rel=0.03)
    assert told.words()[0] == "4 s each"
    assert told.words()[1] == "9 h 57 min left"


def test_without_a_total_or_at_the_end_nothing_is_left(clock):
    for told in (Pace(), Pace(3)):
        for _ in range(3):
            told.advance()
            clock.now += 0.001
        assert told.words() == ["666.7 a second"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (99, "99 s"), (100, "2 min"), (5900, "98 min"), (8117, "2 h 15 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words
