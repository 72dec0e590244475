"""Estimates of speed and of the time left: they ignore the first step, in which kernels are compiled."""

import pytest

from klearning.numerics.display.progress import hidden_progress, pace


@pytest.fixture
def advance():
    """Lets some seconds pass, then counts; returns the task."""
    now, progress = 1000.0, hidden_progress()
    progress.get_time = lambda: now
    job = progress.add_task("", total=100)

    def advance(seconds, count=1):
        nonlocal now
        now += seconds
        progress.advance(job, count)
        return progress.tasks[0]

    return advance


def test_the_first_step_is_not_counted(advance):
    assert pace(advance(80.0)) == []
    for _ in range(20):
        task = advance(0.5)
    assert pace(task) == ["2.0 per second", "0:00:40 left"]


def test_slow_steps_and_the_end(advance):
    advance(1.0)
    assert pace(advance(400.0)) == ["400 s each", "10:53:20 left"]
    assert pace(advance(95.0, 98)) == ["5 s each"]  # 99 steps in 495 s
