"""VBOS on many arms, and beside a cone solver: a part of `make bench`, or `python -m bench.bandits`."""

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

import klearning as kl
from bench.record import recorded
from bench.timing import least_seconds
from klearning.numerics.types import Floats
from klearning.tabular.optimism.bandits.arms import NO_MASSES, Arms, new_workspace
from klearning.tabular.optimism.bandits.mixture import best_mixture


def cone_seconds(means: Floats, sds: Floats) -> tuple[float, float]:
    """Clarabel's CPU time, without CVXPY's, on the dual as exponential cones, a temperature per arm; and its value."""
    import cvxpy as cp

    count = len(means)
    V, tau, w, y = cp.Variable(), cp.Variable(count, nonneg=True), cp.Variable(count), cp.Variable(count)
    worth = means + cp.multiply(sds**2, w) - V - tau
    problem = cp.Problem(cp.Minimize(V + cp.sum(y)), [cp.ExpCone(worth, tau, y), 2 * w >= cp.inv_pos(tau)])
    data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts={})
    start = time.process_time()
    answer = chain.solve_via_data(problem, data)
    seconds = time.process_time() - start
    problem.unpack_results(answer, chain, inverse)
    return seconds, float(problem.value)


def mixture_table() -> None:
    headings = ("arms", "kernel (µs)", "`kl.solve_vbos` (µs)", "with a budget (µs)", "Clarabel (ms)", "ratio", "gap")
    with recorded("performance.mixtures", headings, "make bench") as row:
        for cells in mixture_rows():
            row(*cells)


def mixture_rows() -> Iterator[tuple[str, ...]]:
    rng = np.random.default_rng(0)
    for count in (10, 100, 1_000, 10_000):
        means, sds, costs = rng.normal(size=count), rng.gamma(2.0, size=count), rng.random(count)
        arms, policy, room = Arms(means, sds, NO_MASSES), np.zeros(count), new_workspace(count)
        price, times = np.zeros(count), max(1, 1_000 // count)
        kernel = least_seconds(partial(best_mixture, arms, price, policy, room), calls=times)
        whole = least_seconds(partial(kl.solve_vbos, means, sds), calls=times)
        dear = least_seconds(partial(kl.solve_vbos, means, sds, costs=costs, budget=0.2))
        seconds, value = cone_seconds(means, sds)
        best = kl.solve_vbos(means, sds)
        assert best.value <= value + 1e-6 * abs(value)
        yield (f"{count:,}", f"{kernel * 1e6:.1f}", f"{whole * 1e6:.1f}", f"{dear * 1e6:.0f}", f"{seconds * 1e3:.1f}",
               f"{seconds / kernel:,.0f}", f"{best.gap:.0e}")  # fmt: skip


if __name__ == "__main__":
    mixture_table()
