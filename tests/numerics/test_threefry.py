"""Threefry against the words that its authors publish, and uniforms made of it."""

import numpy as np
import pytest
from scipy import stats

from klearning.numerics.random.threefry import half_key, one_to_two, threefry

ONES = 2**64 - 1
PUBLISHED = [  # key, place, words: `kat_vectors` of Random123, threefry2x64 with 20 rounds
    ((0, 0), (0, 0), (0xC2B6E3A8C2C69865, 0x6F81ED42F350084D)),
    ((ONES, ONES), (ONES, ONES), (0xE02CB7C4D95D277A, 0xD06633D0893B8B68)),
    (
        (0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x243F6A8885A308D3, 0x13198A2E03707344),
        (0x263C7D30BB0F0AF1, 0x56BE8361D3311526),
    ),
]


@pytest.mark.parametrize(("key", "place", "words"), PUBLISHED)
def test_published_words(key, place, words):
    assert tuple(map(int, threefry(*map(np.uint64, key), *map(np.uint64, place)))) == words


def test_one_to_two():
    assert one_to_two(np.uint64(0)) == 1.0
    assert one_to_two(np.uint64(ONES)) == np.nextafter(2.0, 1.0)
    assert one_to_two(np.uint64(1 << 63)) == 1.5


def test_uniforms_of_successive_places():
    """Kolmogorov–Smirnov of either word, correlations of the two and of neighbours: 1e-4 by chance each."""
    rng = np.random.default_rng(0)
    key = [np.uint64(half_key(rng)) for _ in range(2)]
    words = [map(np.uint64, threefry(*key, np.uint64(i), np.uint64(3))) for i in range(4000)]
    x = np.array([[one_to_two(w) - 1.0 for w in pair] for pair in words])
    for column in x.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-4
        assert stats.pearsonr(column[1:], column[:-1]).pvalue > 1e-4
    assert stats.pearsonr(*x.T).pvalue > 1e-4
