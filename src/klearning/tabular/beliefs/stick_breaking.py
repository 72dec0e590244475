"""Stick breaking: a draw of a Dirichlet row over a whole layer, from a few random numbers.

A row with prior mass α spread evenly over the W states of a layer and n visits is never drawn as W gammas. It is

    P = (1 − B)·(Dirichlet over the seen, with their counts) + B·G,    B ~ Beta(α, n),    G ~ Dirichlet(α/W, …, α/W)

G, a Dirichlet process with a uniform base of W atoms, is a stick of length 1 (Sethuraman, 1994): a break leaves U^(1/α)
of it, and the piece that is broken off goes to one of the W states. If less than `TRUNCATION` would be left, the same
state gets that too. So weights sum to one, the mean of a row is exactly that of its Dirichlet, and P·V is that of an
endless stick to within TRUNCATION·(max V − min V). About 1 + 28·α breaks.

For α ≤ 1 ≤ n,  Beta(α, n) = Beta(α, 1−α) · Beta(1, n−1+α).  The second is 1 − U^(1/(n−1+α)), the first (Jöhnk, 1964)

    X/(X+Y) given X + Y ≤ 1,    X = U^(1/α),    Y = U^(1/(1−α))

which takes 1.28 tries at most, however large n is. A larger α = f + k, k whole, takes k factors more:

    1 − Beta(f + k, n) = (1 − Beta(f, n)) · Π_{j<k} Beta(n+f+j, 1)

All of these are powers of uniforms, most of which are made in blocks.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.elementary import exp_negative, log_unit
from klearning.numerics.random.generator import beta, exponential
from klearning.numerics.random.threefry import half_key, one_to_two, threefry
from klearning.numerics.types import Floats, Ints
from klearning.tabular.beliefs.posterior import Posterior

TRUNCATION = 1e-12  # of a row's probability: a shorter stick is not broken any further
BLOCK = 512  # the most breaks that are made at a time
BREAKS = 8  # or this number per row
LARGEST = 4.0  # a larger α would take more factors than a Beta of its own takes time


class Sticks(NamedTuple):
    """The next breaks of one draw of all rows, and the random numbers behind them."""

    mass: float  # α, spread over a whole layer; 0 if there is none
    rng: np.random.Generator
    key: Ints  # (2,)
    place: Ints  # (2,): the next break of the block, and the number of blocks so far
    log_uniform: Floats  # log U
    left: Floats  # U^(1/α), what a break leaves of the stick
    atom: Floats  # a uniform that says which state gets the piece


@kernel
def new_sticks(p: Posterior, rng: np.random.Generator) -> Sticks:
    """Breaks under a key that is the stream's next two numbers; no key if nothing is spread evenly."""
    mass = p.model.mass if p.learns else 0.0
    size = min(BLOCK, BREAKS * p.visits.size) if mass > 0.0 else 0
    key, place = np.zeros(2, np.int64), np.zeros(2, np.int64)
    if mass > 0.0:
        key[0], key[1] = half_key(rng), half_key(rng)
    place[0] = size
    return Sticks(mass, rng, key, place, np.empty(size), np.empty(size), np.empty(size))


@kernel
def refill(sticks: Sticks) -> int:
    """The next block of breaks; returns the place of its first."""
    low, high = np.uint64(sticks.key[0]), np.uint64(sticks.key[1])
    power, block = 1.0 / sticks.mass, np.uint64(sticks.place[1])
    log_uniform, left, atom = sticks.log_uniform, sticks.left, sticks.atom
    for i in range(index(atom.size)):
        x, y = threefry(low, high, index(i), block)
        log_uniform[i] = 2.0 - one_to_two(x)
        atom[i] = one_to_two(y) - 1.0
    for i in range(index(atom.size)):  # a loop of its own: there are not enough registers for all
        log_uniform[i] = log_unit(log_uniform[i])
        left[i] = exp_negative(power * log_uniform[i])
    sticks.place[1] += 1
    return 0


@kernel
def shares_of_unseen(sticks: Sticks, moves: Floats) -> Floats:
    """B ~ Beta(α, n) for rows after n ``moves``: how much of each is spread over a layer, regardless of counts."""
    mass, rng, shares, third = sticks.mass, sticks.rng, np.zeros(moves.size), index(sticks.left.size // 3)
    if mass == 0.0:
        return shares
    log_uniform, X, Y = sticks.log_uniform, sticks.left, sticks.atom  # neither breaks nor atoms are needed here
    factors = max(np.ceil(mass) - 1.0, 0.0)  # k
    part = mass - factors  # f
    once, power, end = 1.0 / part, 1.0 / max(1.0 - part, 1e-300), index(moves.size)
    for first in range(index(0), end if mass <= LARGEST else index(0), third):
        refill(sticks)
        count = min(third, end - first)
        for i in range(count):
            shares[first + i] = 1.0 - exp_negative(log_uniform[i] / max(moves[first + i] - 1.0 + part, part))
            X[i] = exp_negative(log_uniform[third + third + i] * once)
            Y[i] = exp_negative(log_uniform[third + i] * power)
        for i in range(count):
            x, y = X[i], Y[i]
            while x + y > 1.0:
                x = exp_negative(-exponential(rng) / part)
                y = exp_negative(-exponential(rng) * power)
            shares[first + i] *= x / (x + y)
    for i in range(end):
        n = moves[i]
        if n == 0.0 or np.isinf(n):
            shares[i] = 1.0 if n == 0.0 else 0.0
        elif mass > LARGEST or n < 1.0:
            shares[i] = beta(mass, n, rng)
        elif factors > 0.0:
            rest = 1.0 - shares[i]
            for j in range(int(factors)):
                rest *= exp_negative(-exponential(rng) / (n + part + j))
            shares[i] = 1.0 - rest
    sticks.place[0] = sticks.left.size
    return shares


@kernel
def add_unseen(sticks: Sticks, shares: Floats, V: Floats, out: Floats) -> None:
    """out += B · Σ_s' G(s') V(s') for every share B, with a draw of its own of G ~ Dirichlet(α/W, …) over all of V."""
    k, end, width = sticks.place[0], sticks.left.size, float(V.size)
    left, atom = sticks.left, sticks.atom
    for i in range(index(shares.size)):
        length, value = shares[i], 0.0
        while length > 0.0:
            if k == end:
                k = refill(sticks)
            rest, there = length * left[index(k)], V[index(width * atom[index(k)])]
            k += 1
            if rest < TRUNCATION:
                value += length * there
                break
            value += (length - rest) * there
            length = rest
        out[i] += value
    sticks.place[0] = k
