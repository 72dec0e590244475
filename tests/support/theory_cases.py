"""Tiny beliefs whose posteriors can be enumerated, each with a bonus that is valid for it."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from klearning.lab import theory
from tests.support.cases import random_case

SHAPES = (([1], 3), ([1, 2], 2), ([2, 1], 2), ([1, 1, 1], 2), ([1, 2, 2], 1))
NODES = 3  # up to 3⁸ = 6561 members


def with_span(case, posterior):
    """The case with a span that bounds that of V* in every member: Gaussian rewards have no range of their own."""
    spans = [np.ptp(Q.max(axis=2), axis=1).max() for Q in posterior.q_values[1:]]
    return replace(case, span=float(max(spans, default=0.0)))


@st.composite
def enumerable(draw, bonuses=("paper", "sharp", "reward")):
    """A belief, all MDPs of a finite posterior that has its means and its independence, and a bonus valid there.

    `paper` is valid for coin flips, `reward` where P is known, `sharp` with a span that holds.
    """
    widths, actions = draw(st.sampled_from(SHAPES))
    bonus = draw(st.sampled_from(bonuses))
    reward = "beta" if bonus == "paper" else draw(st.sampled_from(["gaussian", "beta"]))
    transitions = "known" if bonus == "reward" else draw(st.sampled_from(["even", "support", "known"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    case = random_case(rng, widths, actions, reward, transitions, most=6)
    posterior = theory.quadrature(case.belief(), NODES)
    if bonus == "sharp" and reward == "gaussian":
        case = with_span(case, posterior)
    return case, posterior, bonus


temperatures = st.floats(-2.5, 2.5).map(lambda x: float(np.exp(x)))
