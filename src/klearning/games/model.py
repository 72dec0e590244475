"""A layered zero-sum game in arrays, as it is or as a player believes it to be, and the sweeps over it.

    V_l(s) = value of the matrix   Q_ij = A_l(s)_ij + Σ_s' P_l(s' | s, i, j) V_{l+1}(s')          (Shapley, 1953)

Rows i are the other side's moves and columns j are one's own; payoffs A are paid to the side that chooses columns. A
matrix game has one layer with one state.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from klearning.games.simplex import Tableau, find_saddle, guarantees, new_tableau
from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.layers import offsets
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats, Ints, Layers

BETA_VARIANCE = 0.25  # a Beta of mass α is sub-Gaussian with this variance over α + 1 (Marchal and Arbel, 2017)


@field_roles(fixed=("layers", "initial"), finite=("means", "sds", "transitions", "variances"))
class GameModel(NamedTuple):
    """Payoffs and transitions, with how uncertain they are; states are numbered through all layers."""

    layers: Ints  # offsets
    initial: Floats  # (S_1,)
    means: Floats  # (S, rows, columns) of payoffs
    sds: Floats  # (S, rows, columns)
    transitions: Floats  # (S, rows, columns, widest layer): mean probabilities of the next layer's states
    variances: Floats  # (S, rows, columns): bounds on the variance of P·V, for values V with a span of one


@field_roles(scratch=True)
class Scratch(NamedTuple):
    """Arrays that sweeps work in."""

    values: Floats  # (S,)
    matrix: Floats  # (rows, columns)
    sds: Floats  # (rows, columns)
    other: Floats  # (rows,)
    tableau: Tableau


def new_scratch(states: int, m: int, n: int) -> Scratch:
    return Scratch(np.zeros(states), np.zeros((m, n)), np.zeros((m, n)), np.zeros(m), new_tableau(m, n))


def as_model(means: Layers, sds: Layers, transitions: Layers, variances: Layers, initial: Floats) -> GameModel:
    """Lists per layer as arrays for kernels; the last layer has no transitions."""
    layers = offsets([len(block) for block in means])
    P = np.zeros((*np.concatenate(means).shape, max(len(block) for block in means)))
    for low, block in zip(layers.tolist(), transitions, strict=False):
        P[low : low + len(block), :, :, : block.shape[-1]] = block
    return GameModel(layers, initial.copy(), np.concatenate(means), np.concatenate(sds), P, np.concatenate(variances))


def known_model(payoffs: Layers, transitions: Layers, initial: Floats) -> GameModel:
    """A game without uncertainty."""
    none = [np.zeros_like(block) for block in payoffs]
    return as_model(payoffs, none, transitions, none, initial)


def mirrored(B: GameModel) -> GameModel:
    """The game as the other side sees it."""
    means, sds, variances = (np.ascontiguousarray(x.transpose(0, 2, 1)) for x in (-B.means, B.sds, B.variances))
    return GameModel(
        B.layers, B.initial, means, sds, np.ascontiguousarray(B.transitions.transpose(0, 2, 1, 3)), variances
    )


def per_layer(table: Floats, layers: Ints) -> Layers:
    """One array for all states as a list with one per layer."""
    return [table[low:high] for low, high in pairwise(layers.tolist())]


@kernel(inline=True)
def next_layer(B: GameModel, l: int) -> tuple[int, int]:
    """Its first state and the one after its last; (0, 0) after the last layer."""
    return (B.layers[l + 1], B.layers[l + 2]) if l + 2 < B.layers.size else (0, 0)


@kernel(inline=True)
def payoff_ahead(B: GameModel, s: int, i: int, j: int, first: int, last: int, V: Floats) -> float:
    """The mean payoff of two moves to the end of the episode, given values of the next layer."""
    Q = B.means[s, i, j]
    for k in range(first, last):
        Q += B.transitions[s, i, j, k - first] * V[k]
    return Q


@kernel(inline=True)
def span_ahead(B: GameModel, l: int, V: Floats) -> float:
    """The span of the next layer's values; 0 after the last layer."""
    first, last = next_layer(B, l)
    low, high = V[first], V[first]
    for k in range(first, last):
        low, high = min(low, V[k]), max(high, V[k])
    return high - low


@kernel(inline=True)
def sd_ahead(B: GameModel, s: int, i: int, j: int, span: float) -> float:
    """The standard deviation of `payoff_ahead`, at most."""
    sd = B.sds[s, i, j]
    return np.sqrt(sd**2 + B.variances[s, i, j] * span * span) if span > 0.0 else sd


@kernel(inline=True)
def means_ahead(B: GameModel, l: int, s: int, V: Floats, matrix: Floats) -> None:
    """The matrix game of a state: mean payoffs to the end of the episode."""
    first, last = next_layer(B, l)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] = payoff_ahead(B, s, i, j, first, last, V)


@kernel(inline=True)
def sds_ahead(B: GameModel, l: int, s: int, V: Floats, sds: Floats) -> None:
    """Standard deviations of these payoffs, at most."""
    span = span_ahead(B, l, V)
    for i in range(sds.shape[0]):
        for j in range(sds.shape[1]):
            sds[i, j] = sd_ahead(B, s, i, j, span)


@kernel(inline=True)
def joint_value(B: GameModel, ours: Floats, theirs: Floats, V: Floats) -> float:
    """The expected payoff of two policies, (S, columns) and (S, rows); values of all states are written to ``V``."""
    for l in range(B.layers.size - 2, -1, -1):
        first, last = next_layer(B, l)
        for s in range(index(B.layers[l]), index(B.layers[l + 1])):
            paid = 0.0
            for i in range(index(theirs.shape[1])):
                if theirs[s, i] > 0.0:
                    for j in range(index(ours.shape[1])):
                        paid += theirs[s, i] * payoff_ahead(B, s, i, j, first, last, V) * ours[s, j]
            V[s] = paid
    return start_value(B, V)


@kernel(inline=True)
def respond(B: GameModel, other: Floats, policy: Floats, V: Floats) -> None:
    """Write the best response to the other side's policy (S, rows), of several the first, and its values."""
    for l in range(B.layers.size - 2, -1, -1):
        first, last = next_layer(B, l)
        for s in range(index(B.layers[l]), index(B.layers[l + 1])):
            best, most = index(0), -np.inf
            for j in range(index(policy.shape[1])):
                policy[s, j] = 0.0
                paid = 0.0
                for i in range(index(other.shape[1])):
                    paid += other[s, i] * payoff_ahead(B, s, i, j, first, last, V)
                if paid > most:
                    best, most = index(j), paid
            policy[s, best], V[s] = 1.0, most


@kernel
def equilibrium(B: GameModel, ours: Floats, theirs: Floats, W: Scratch) -> float:
    """Write both policies of an equilibrium, with values to ``W``; the most that both gain by a change in one state."""
    gap = 0.0
    for l in range(B.layers.size - 2, -1, -1):
        for s in range(B.layers[l], B.layers[l + 1]):
            means_ahead(B, l, s, W.values, W.matrix)
            W.values[s] = find_saddle(W.matrix, ours[s], theirs[s], W.tableau)
            low, high = guarantees(W.matrix, ours[s], theirs[s])
            gap = max(gap, high - low)
    return gap


@kernel(inline=True)
def start_value(B: GameModel, V: Floats) -> float:
    total = 0.0
    for s in range(B.initial.size):
        total += B.initial[s] * V[s]
    return total
