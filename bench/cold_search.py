"""How many sweeps a cold search for τ takes, and would take by other rules: python -m bench.cold_search

Beliefs of K-learning on DeepSea of depth 50, every 20 episodes, three seeds; a gap of 1e-10. The rules:

* newton: in log τ and kept inside a bracket
* cubic: where two points are known, the root of the cubic with their slopes and curvatures, if it is inside the bracket
* `at_optimum`: Newton, and from the fourth sweep on the lowest point of a quintic, which f at both points gives too
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import klearning as kl
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.soft import Soft, soft_sweep
from klearning.tabular.models.sweeps import Model
from klearning.tabular.optimism.program import program, soft_part
from klearning.tabular.optimism.temperature import LONGEST_STEP, allowed, at_optimum, duality_gap, first_guess
from klearning.tabular.trials.trial import Trial
from tools.pages import line

TOLERANCE = 1e-10
MOST = 60


class Point(NamedTuple):
    x: float  # log τ
    slope: float
    curvature: float


Step = Callable[[Point, Point], float]


def beliefs() -> list[tuple[Model, Floats, Soft]]:
    world, ready = TEXT.world(50), []
    for seed in range(3):
        trial = Trial(kl.KLearning().algorithm, world, TEXT.prior, seed, 1000)
        for stop in (*range(20, 520, 20), 600, 800, 1000):
            trial.advance(stop - trial.played)
            one = program(Belief.before(TEXT.prior, world).after(trial.memory.posterior), "reward")
            ready.append((one.model, one.c, soft_part(one.work)))
    return ready


def cubic(p: Point, q: Point) -> float:
    """Where the cubic through both slopes, with both curvatures, is zero; nan if that is nowhere."""
    h = q.x - p.x
    a = 2.0 * (p.slope - q.slope) + h * (p.curvature + q.curvature)
    b = 3.0 * (q.slope - p.slope) - h * (2.0 * p.curvature + q.curvature)
    roots = np.roots([a, b, h * p.curvature, p.slope])
    real = roots[np.abs(roots.imag) < 1e-9].real
    return float(p.x + h * real[np.argmin(np.abs(real - 0.5))]) if real.size else np.nan


def sweeps(model: Model, c: Floats, W: Soft, factor: float, between: Step | None) -> int:
    x, low, high, before = float(np.log(factor * first_guess(model, c))), None, None, None
    for count in range(1, MOST):
        tau = float(np.exp(x))
        f, H, C, f2 = soft_sweep(model, c, tau, W)
        slope = tau * H - C / tau
        here = Point(x, slope, slope + tau * tau * f2)
        low, high = (low, here) if slope > 0.0 else (here, high)
        if duality_gap(tau, H, C) <= allowed(TOLERANCE, f, tau * H + C / tau):
            return count
        step = -slope / here.curvature if here.curvature > 0.0 else -np.sign(slope) * LONGEST_STEP
        better = x + min(max(step, -LONGEST_STEP), LONGEST_STEP)
        pair = (low, high) if low and high else (before, here) if before else None
        if between and pair:
            root = between(*pair)
            near = 0.0 < (root - x) * np.sign(step) < min(LONGEST_STEP, 3.0 * abs(step))
            if (low.x < root < high.x) if low and high else near:
                better = root
        if low and high and not low.x < better < high.x:
            better = 0.5 * (low.x + high.x)
        x, before = better, here
    return MOST


def main() -> None:
    ready = beliefs()
    ours = [at_optimum(model, c, 0.0, TOLERANCE, np.zeros_like(c), W).sweeps for model, c, W in ready]
    rules = {
        "Newton": [sweeps(*one, 1.0, None) for one in ready],
        "cubic": [sweeps(*one, 1.0, cubic) for one in ready],
        "quintic from the fourth sweep on (`kl.solve`)": ours,
    }
    headings = ("rule", "mean sweeps", "most", "beliefs that take more than 6")
    print(line(headings))
    for name, counts in rules.items():
        late = sum(count > 6 for count in counts)
        print(line([name, f"{np.mean(counts):.2f}", max(counts), f"{late} of {len(counts)}"]))


if __name__ == "__main__":
    main()
