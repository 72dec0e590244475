"""Gauss rules for the laws that a belief is made of: normal, Beta, Dirichlet."""

import numpy as np

from klearning.arrays.quadrature import Rule, gauss_beta, golub_welsch
from klearning.arrays.types import Floats


def gauss_normal(mean: float, variance: float, nodes: int) -> Rule:
    """N(mean, variance) on so many points; on one where nothing is uncertain."""
    if variance == 0.0:
        return np.array([mean]), np.ones(1)
    x, w = golub_welsch(np.zeros(nodes), np.arange(1.0, nodes))
    return mean + np.sqrt(variance) * x, w


def gauss_dirichlet(alpha: Floats, nodes: int) -> Rule:
    """Dirichlet(α) on nodes^(k−1) rows, k the entries with α > 0, by breaking a stick: (rows, len(α)) and weights."""
    inside = np.flatnonzero(alpha > 0)
    rows, weights, left = np.zeros((1, len(alpha))), np.ones(1), np.ones(1)
    for i, place in enumerate(inside[:-1]):
        x, w = gauss_beta(alpha[place], float(alpha[inside[i + 1 :]].sum()), nodes)
        rows = np.repeat(rows, nodes, axis=0)
        rows[:, place] = np.outer(left, x).ravel()
        left, weights = np.outer(left, 1.0 - x).ravel(), np.outer(weights, w).ravel()
    rows[:, inside[-1]] = left
    return rows, weights
