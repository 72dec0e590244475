"""DeepSea, protocol `text`: who learns how fast, and who does not."""

import numpy as np
import pytest

import klearning as kl
from klearning.lab.papers.odonoghue2021.protocols import TEXT

# Mean first hit and time to solve by independent code (3 seeds of PSRL, 5 of RLSVI), then the standard deviations of
# one seed, as measured with this package over 40 seeds (30 at depth 30, 10 and 20 at depth 50).
PSRL = {
    10: (32, 37, 9.9, 9.2),
    20: (112, 131, 16.5, 12.7),
    30: (190, 248, 27.0, 21.6),
    50: (554, 695, 72.7, 87.6),
}
RLSVI = {
    10: (38, 44, 10.9, 10.1),
    20: (128, 149, 17.9, 13.7),
    30: (284, 318, 20.0, 18.5),
    50: (706, 792, 36.8, 33.6),
}
DEPTHS = [10, 20, *(pytest.param(depth, marks=pytest.mark.slow) for depth in (30, 50))]


def check_speed(agent, depth, row, table_seeds, seeds):
    """Means within 4 standard errors of their difference: about 1e-4 by chance, were the true means equal."""
    first_hit, solved, sd_first, sd_solved = row
    runs = kl.run(agent, TEXT.world(depth), prior=TEXT.prior, episodes=int(1.6 * solved), seeds=seeds)
    errors = 4 * np.sqrt(1 / table_seeds + 1 / seeds)
    assert abs(runs.first_hit.mean() - first_hit) < errors * sd_first
    assert abs(runs.solved.mean() - solved) < errors * sd_solved


@pytest.mark.parametrize("depth", DEPTHS)
def test_psrl_learns_as_fast_as_the_table_says(depth):
    check_speed(kl.PSRL(), depth, PSRL[depth], 3, 4 if depth == 50 else 10)


@pytest.mark.parametrize("depth", DEPTHS)
def test_rlsvi_learns_as_fast_as_the_table_says(depth):
    check_speed(kl.RLSVI(sd=1.0), depth, RLSVI[depth], 5, 4 if depth == 50 else 10)


def dithered(agent, depth, episodes, seeds=8):
    return kl.run(agent, TEXT.world(depth), prior=TEXT.prior, episodes=episodes, seeds=seeds, evaluate_every=episodes)


@pytest.mark.thin(3)
@pytest.mark.parametrize("step", ["falling", 0.1, 0.5])
def test_epsilon_greedy_solves_small_depths_and_fails_at_twenty(step):
    """All of 40 seeds solve depth 4; of 40, none solves depth 20 in 30 000 episodes, nor sees the goal of depth 30.
    Here 8 play a third as many.

    PSRL has solved them after 130 and 250 episodes.
    """
    agent = kl.QLearning(epsilon=0.1, step=step)
    assert np.isfinite(dithered(agent, 4, 10_000).solved).all()
    assert np.isnan(dithered(agent, 20, 10_000).solved).all()
    assert not dithered(agent, 30, 10_000).hits.any()


def test_epsilon_greedy_mostly_fails_at_depth_twelve():
    """11 of 40 seeds solve it in 30 000 episodes. At that rate more than 12 of 20 do: 5e-4 by chance."""
    assert np.isfinite(dithered(kl.QLearning(), 12, 20_000, seeds=20).solved).sum() <= 12


@pytest.mark.parametrize(("form", "episodes"), [("td", 20_000), ("model", 5_000)])
def test_soft_q_learning_solves_small_depths_and_fails_beyond(form, episodes):
    """All of 40 seeds solve depths 4 and 5 within 420 episodes; at depth 20 none of 40 sees the goal."""
    agent = kl.SoftQLearning(0.05, form)
    for depth in (4, 5):
        assert np.isfinite(dithered(agent, depth, 3000).solved).all()
    assert np.isnan(dithered(agent, 20, episodes).solved).all()
