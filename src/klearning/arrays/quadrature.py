"""Gauss rules by Golub and Welsch: nodes are eigenvalues of a Jacobi matrix, weights the squares of its vectors' heads.

A rule of n nodes is itself a law on n points that has the same first 2n − 1 moments. All even derivatives of exp are
positive, so that its cumulants never exceed those of the law that it stands for.
"""

import numpy as np

from klearning.arrays.types import Floats

Rule = tuple[Floats, Floats]  # nodes and weights; the weights sum to one


def golub_welsch(diagonal: Floats, squared: Floats) -> Rule:
    """The rule of a Jacobi matrix, given by its diagonal and the squares beside it."""
    beside = np.sqrt(squared)
    x, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return x, vectors[0] ** 2


def gauss_beta(heads: float, tails: float, nodes: int) -> Rule:
    """Beta(heads, tails) on so many points of (0, 1)."""
    a, b, n = tails - 1.0, heads - 1.0, np.arange(1.0, nodes)
    s = a + b
    centre = np.append((b - a) / (s + 2.0), (b * b - a * a) / ((2 * n + s) * (2 * n + s + 2)))
    square = (2 * n + s) ** 2
    with np.errstate(invalid="ignore"):
        off = 4.0 * (n * (n + a)) * ((n + b) * (n + s)) / (square * (square - 1.0))
    if abs(1.0 + s) < 1e-6:  # a factor above and below in the first, which may be zero
        off[:1] = 4.0 * (1.0 + a) * (1.0 + b) / ((2.0 + s) ** 2 * (3.0 + s))
    x, w = golub_welsch(centre, off)
    return (1.0 + x) / 2.0, w
