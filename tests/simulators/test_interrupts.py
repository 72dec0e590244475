"""Ctrl-C at any instant: no crash, and a learner that goes on as if nothing had happened.

The first test ended the interpreter within a second where handlers could run inside a compiled call.
"""

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import klearning as kl
from klearning.numerics.interrupts import uninterrupted

AGENTS = [kl.KLearning(), kl.PSRL(), kl.UCRL2(), kl.QLearning()]


@pytest.fixture
def alarm() -> Iterator[None]:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def interrupted_after(seconds: float, learner: kl.Learner, env: gymnasium.Env, episodes: int) -> None:
    """Learn until the alarm, or until all episodes are done."""
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        kl.learn(learner, env, episodes=episodes - learner.episodes_done)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
def test_an_interrupted_learner_equals_one_that_was_not(agent: Any, tmp_path: Path) -> None:
    env, rng = gymnasium.make("FrozenLake-v1", max_episode_steps=20), random.Random(1)
    spaces = env.observation_space, env.action_space
    whole = kl.learn(agent, env, episodes=60, horizon=20)
    learner, interrupts = kl.Learner(agent, *spaces, 20), 0
    while learner.episodes_done < 60:
        interrupted_after(rng.uniform(0.0005, 0.005), learner, env, 60)
        interrupts += 1
        assert not learner.under_way
    for name, made in (("whole", whole), ("cut", learner)):
        made.save(tmp_path / name)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "cut").read_bytes()
    assert interrupts > 1


@pytest.mark.usefixtures("alarm")
def test_a_signal_waits_for_the_end_of_the_block_and_is_not_lost() -> None:
    steps = []

    def block() -> None:
        with uninterrupted:
            sleep_into_the_alarm()
            steps.append("done")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert steps == ["done"]
    with pytest.raises(KeyboardInterrupt):  # and handlers are as they were
        sleep_into_the_alarm()


def sleep_into_the_alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(0.1)


@pytest.mark.usefixtures("alarm")
def test_interrupts_of_a_solve_are_all_delivered() -> None:
    belief, rng, caught = kl.Belief.empty(kl.Prior(), [3] * 4, 2, [1 / 3] * 3), random.Random(0), 0
    kl.solve(belief)
    for _ in range(100):
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0002, 0.003))
            while True:
                kl.solve(belief)
        except KeyboardInterrupt:
            caught += 1
    assert caught == 100
