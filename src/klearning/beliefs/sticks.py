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
BREAKS = 8  # at first so many per row


class Sticks(NamedTuple):
    """Breaks to come, those of one plan; with what else its rows are drawn from."""

    mass: float  # α, spread over a whole layer; 0 where there is none
    rng: np.random.Generator
    key: Ints  # (2,)
    place: Ints  # (2,): the next break of the block, and the next block's first
    log_uniform: Floats  # log U
    left: Floats  # U^(1/α), what a break leaves of the stick
    atom: Floats  # a uniform of its own, that says where what is broken off falls


@kernel
def new_sticks(p: Posterior, rng: np.random.Generator) -> Sticks:
    """Breaks for one draw of all rows, from a key that is the stream's next two numbers; no key where none is needed."""
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
    first, power = np.uint64(sticks.place[1]), 1.0 / sticks.mass
    log_uniform, left, atom = sticks.log_uniform, sticks.left, sticks.atom
    for i in range(index(atom.size)):
        x, y = threefry(low, high, first + i, np.uint64(0))
        log_uniform[i] = 2.0 - one_to_two(x)
        atom[i] = one_to_two(y) - 1.0
    for i in range(index(atom.size)):  # a loop of its own: there are not enough registers for all
        log_uniform[i] = log_unit(log_uniform[i])
        left[i] = exp_negative(power * log_uniform[i])
    sticks.place[1] += atom.size
    return 0


@kernel
def shares_of_unseen(sticks: Sticks, moves: Floats, shares: Floats) -> None:
    """B ~ Beta(α, n) for rows of these ``moves``, n: how much of a row goes to states that were not seen."""
    mass, k, end = sticks.mass, sticks.place[0], sticks.left.size - 3
    log_uniform, left = sticks.log_uniform, sticks.left
    for i in range(index(moves.size)):
        n = moves[i]
        if n == 0.0 or np.isinf(n):
            shares[i] = 1.0 if n == 0.0 else 0.0
        elif mass > 1.0 or n + mass <= 1.0:
            shares[i] = sticks.rng.beta(mass, n)
        else:
            if k > end:
                k = refill(sticks)
            share = 1.0 - exp_negative(log_uniform[index(k)] / (n - 1.0 + mass))
            k += 1
            while mass < 1.0:
                if k > end:
                    k = refill(sticks)
                X, Y = left[index(k)], exp_negative(log_uniform[index(k + 1)] / (1.0 - mass))
                k += 2
                if X + Y <= 1.0:
                    share *= X / (X + Y)
                    break
            shares[i] = share
    sticks.place[0] = k


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
            rest = length * left[index(k)]
            rest = rest if rest >= CRUMB else 0.0
            value += (length - rest) * V[index(width * atom[index(k)])]
            length = rest
            k += 1
        out[i] += value
    sticks.place[0] = k
