"""The GPU room: its kernels in Numba's simulator, in a session of their own; what needs no device, here."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda

import klearning as kl
from klearning.gpu.layout import slots
from klearning.numerics.sparse.rows import places


@pytest.mark.slow
def test_kernels_in_the_simulator():
    """NUMBA_ENABLE_CUDASIM has to be set before Numba is imported."""
    command = [sys.executable, "-m", "pytest", "tests/gpu/device", "-q", "-p", "no:cacheprovider", "-m", "not networks"]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_is_one_line():
    with pytest.raises(OSError, match="finds no GPU") as error:
        kl.run(kl.KLearning(), kl.deep_sea(3), seeds=2, device="gpu")
    assert "\n" not in str(error.value)
    assert 'device="cpu"' in str(error.value)


def test_an_unknown_device():
    with pytest.raises(ValueError, match="device='abacus' is unknown"):
        kl.run(kl.KLearning(), kl.deep_sea(3), seeds=2, device="abacus")


@pytest.mark.parametrize(
    ("world", "few"),
    [
        (kl.deep_sea(9), 9),
        (kl.deep_sea(9, slip=0.3), 10),
        (kl.deep_sea(9, mapping_seed=3), 9),
        (kl.random_mdp([1, 7, 3, 5], 3), 10),
        (kl.river_swim(horizon=6), 8),
        (kl.bandit([0.1, 0.5]), 1),
    ],
)
def test_a_slot_keeps_its_value_until_it_is_read(world, few):
    """A sweep through all states, the last first, in which each writes its own number: every successor is found."""
    slot = slots(world)
    entry, row = places(world.rows)
    held = np.full(slot.max() + 1, -1)
    for s in range(world.states - 1, -1, -1):
        for y in world.rows.succ[entry[row % world.states == s]]:
            assert held[slot[y]] == y
        held[slot[s]] = s
    assert len(held) <= few
