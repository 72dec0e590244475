"""Recorded runs of the paper's protocols: a change in them is a change of results."""

import numpy as np
import pytest

import klearning as kl
from klearning.lab.papers.odonoghue2021.protocols import PRINTED, TEXT


def test_golden_run():
    """Bytes may differ between machine types; learning may not. Depth 10, protocol `text`, seeds 0 to 4."""
    runs = kl.run(TEXT.k_learning(), TEXT.world(10), prior=TEXT.prior, episodes=300, seeds=5)
    assert runs.first_hit.tolist() == [41, 21, 27, 34, 32]
    assert runs.solved.tolist() == [45, 42, 35, 37, 36]


# Means over 5 seeds of the independent code behind the table of the protocol, with the spread of a
# 5-seed mean as measured here over 30 seeds (standard error): 4 standard errors of the difference.
# False alarms: below 1e-4 each for means that are equal.
TABLE = {
    10: (27, 36, 3.0, 2.5),
    20: (82, 104, 5.0, 5.0),
    30: (142, 250, 5.0, 12.0),
    40: (214, 429, 6.0, 22.0),
    50: (301, 852, 7.0, 40.0),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("depth", TABLE)
def test_protocol_text_learns_as_fast_as_it_should(depth):
    first_hit, solved, se_first, se_solved = TABLE[depth]
    runs = kl.run(TEXT.k_learning(), TEXT.world(depth), prior=TEXT.prior, episodes=2000, seeds=10)
    assert abs(runs.first_hit.mean() - first_hit) < 4 * se_first * np.sqrt(1.5)
    assert abs(runs.solved.mean() - solved) < 4 * se_solved * np.sqrt(1.5)
    if depth == 50:  # 2 or 3 seeds in 60 settle only after t = 1000; more than 3 in 10 has a chance of about 1e-3
        assert (runs.hits[:, 900:1000].sum(axis=1) >= 90).sum() >= 7


@pytest.mark.slow
def test_protocol_printed_needs_thousands_of_episodes():
    runs = kl.run(PRINTED.k_learning(), PRINTED.world(10), prior=PRINTED.prior, episodes=16_000, seeds=4)
    assert 6_000 < runs.solved.mean() < 12_000
    late = kl.run(PRINTED.k_learning("schedule"), PRINTED.world(10), prior=PRINTED.prior, episodes=16_000, seeds=2)
    assert np.isnan(late.solved).all()
