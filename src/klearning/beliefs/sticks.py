"""Sticks that are broken: what a Dirichlet row gives to states that were not seen, at a few random numbers a row.

A Dirichlet row with prior mass α spread over W states and n visits is never drawn as W gammas. It is

    P = (1 − B)·(Dirichlet over the seen, with their counts) + B·G,    B ~ Beta(α, n),    G ~ Dirichlet(α/W, …, α/W)

G, a Dirichlet process with a uniform base of W atoms (Sethuraman, 1994), has the weights Π_{j<k}(1−b_j)·b_k, with
b ~ Beta(1, α), on atoms uniform over the layer: a stick of length 1 is broken again and again, and U^(1/α) of it left
each time. Where less than `CRUMB` would be left the last atom has it too: weights sum to one, the mean of a row is exactly
that of its Dirichlet whatever the crumb, and P·V is that of an unending stick to within CRUMB·(max V − min V). About
28·α + 1 breaks.

For α < 1 and n > 1 − α,  Beta(α, n) = Beta(α, 1−α) · Beta(1, n−1+α): of the first (Jöhnk, 1964)

    X/(X+Y) given X + Y ≤ 1,    X = U^(1/α),    Y = U'^(1/(1−α))

takes 1.3 tries at most and 1.2 for α = 0.3 however large n is, and the second is 1 − U^(1/(n−1+α)).

All of it is powers of uniforms, and those that matter are powers 1/α: they are computed by the block.
"""

from typing import NamedTuple

import numpy as np

from klearning.arrays.compiled import index, kernel
from klearning.arrays.elementary import exp_negative, log_unit
from klearning.arrays.types import Floats, Ints
from klearning.arrays.uniforms import half_key, one_to_two, threefry
from klearning.beliefs.posterior import Posterior

CRUMB = 1e-12  # of a row's probability: what is not broken any further
BLOCK = 512  # at most so many breaks at a time
BREAKS = 8  # or so many per row


class Sticks(NamedTuple):
    """Breaks to come, those of one draw of all rows; and what else these are drawn from."""

    mass: float  # α, spread over a whole layer; 0 where there is none
    rng: np.random.Generator
    key: Ints  # (2,)
    place: Ints  # (2,): the next break of the block, and the number of blocks so far
    log_uniform: Floats  # log U
    left: Floats  # U^(1/α), what a break leaves of the stick
    atom: Floats  # a uniform of its own, that says where what is broken off falls


@kernel
def new_sticks(p: Posterior, rng: np.random.Generator) -> Sticks:
    """Breaks under a key that is the stream's next two numbers; where nothing is spread evenly there is no need of any."""
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
def shares_of_unseen(sticks: Sticks, moves: Floats, shares: Floats) -> None:
    """B ~ Beta(α, n) for rows of n ``moves``: how much of a row goes to states whatever was seen. None if n = ∞."""
    mass, rng, third = sticks.mass, sticks.rng, index(sticks.left.size // 3)
    power = 1.0 / max(1.0 - mass, 1e-300)
    log_uniform, X, Y = sticks.log_uniform, sticks.left, sticks.atom  # the atoms are not needed here
    for first in range(index(0), index(moves.size), third):
        if mass <= 1.0:
            refill(sticks)
        for i in range(min(third, index(moves.size) - first)):
            k = moves[first + i] - 1.0 + mass
            shares[first + i] = 1.0 - exp_negative(log_uniform[i] / k) if k > 0.0 else 1.0
            Y[i] = exp_negative(power * log_uniform[third + i])
        for i in range(min(third, index(moves.size) - first)):
            n = moves[first + i]
            if n == 0.0 or np.isinf(n):
                shares[first + i] = 1.0 if n == 0.0 else 0.0
            elif mass > 1.0 or n + mass <= 1.0:
                shares[first + i] = rng.beta(mass, n)
            else:
                x, y = X[third + third + i], Y[i]
                while x + y > 1.0:
                    x = exp_negative(-rng.standard_exponential() / mass)
                    y = exp_negative(-power * rng.standard_exponential())
                shares[first + i] *= x / (x + y)
    sticks.place[0] = sticks.left.size


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
            if rest < CRUMB:
                value += length * there
                break
            value += (length - rest) * there
            length = rest
        out[i] += value
    sticks.place[0] = k
