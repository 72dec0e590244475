"""Draws of a thread: gammas, Betas, and the share of a Dirichlet row that goes to a layer it has mostly not seen.

A draw is a function of its place (`gpu/random.py`), so nothing is kept between draws, and a thread that tries again
does not disturb others. All is float32, and exact in law except for its rounding:

    gamma      d (1 + x/√(9d))³, d = k − 1/3, for a shape k > 1: Marsaglia and Tsang (2000). For any shape it is
               Gamma(k + 1) · U^(1/k), as a logarithm, because far below one the gamma itself underflows
    Beta       1 / (1 + Gamma(b)/Gamma(a))
    sticks     G ~ Dirichlet(α/W, …, α/W) over the W states of a layer, as in beliefs/stick_breaking.py: a break leaves
               U^(1/α) of the stick, until that would be less than `TRUNCATION`; 1 + 16·α breaks
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from klearning.gpu.random import HALF, ONE, WORD, ZERO, F, log_unit, normals, philox, unit

NINE, THIRD = F(9.0), F(1 / 3)
SQUEEZE = F(0.0331)  # Marsaglia and Tsang's: a uniform above needs no logarithm
LARGEST_EXPONENT = F(80.0)
TRUNCATION = F(1e-7)  # of a row's probability: a shorter stick is not broken any further
AGAIN = 1 << 8  # uses of words are below this: higher bits count tries


class Draws(NamedTuple):
    """Whose draws: under which key, of which seed, in which episode."""

    key: Any
    seed: Any
    t: Any


@cuda.jit(device=True, fastmath=True)
def log_gamma(shape: Any, draws: Any, x: Any, use: Any) -> F:
    """log g, g ~ Gamma(shape), of the words at place x."""
    d = shape + ONE - THIRD
    c = ONE / F(math.sqrt(NINE * d))
    while True:
        words = philox(draws.key, x, draws.t, draws.seed, use)
        z, _ = normals(words[0], words[1])
        v = ONE + c * z
        if v > ZERO:
            v = v * v * v
            log_v, square = F(math.log(v)), z * z
            log_u = log_unit(words[2])
            if unit(words[2]) > SQUEEZE * square * square or log_u < HALF * square + d * (ONE - v + log_v):
                return F(math.log(d)) + log_v + log_unit(words[3]) / shape
        use += AGAIN


@cuda.jit(device=True, fastmath=True)
def beta(a: Any, b: Any, draws: Any, x: Any, use: Any) -> F:
    """Of Beta(a, b); needs two uses, this one and the next."""
    rest = log_gamma(b, draws, x, use + 1) - log_gamma(a, draws, x, use)
    return ONE / (ONE + F(math.exp(min(rest, LARGEST_EXPONENT))))


@cuda.jit(device=True, fastmath=True)
def below(width: Any, word: Any) -> np.int64:
    """A uniform of 0, …, width − 1."""
    return np.int64((np.uint64(width) * word) >> WORD)


@cuda.jit(device=True, fastmath=True)
def after_break(length: Any, power: Any, word: Any) -> F:
    """The length of a stick after one break; zero if it is next to nothing."""
    rest = length * F(math.exp(power * log_unit(word)))
    return rest if rest >= TRUNCATION else ZERO


@cuda.jit(device=True, fastmath=True)
def spread(length: Any, power: Any, V: Any, first: Any, width: Any, draws: Any, x: Any, use: Any) -> F:
    """length · Σ_s' G(s') V(s'), G ~ Dirichlet(α/W, …) over V[first : first + width]; ``power`` is 1/α."""
    value = ZERO
    while length > ZERO:
        words = philox(draws.key, x, draws.t, draws.seed, use)
        rest = after_break(length, power, words[0])
        value += (length - rest) * V[first + below(width, words[1])]
        length = after_break(rest, power, words[2])
        value += (rest - length) * V[first + below(width, words[3])]
        use += AGAIN
    return value
