"""What is said of E V* where all steps share one table: the estimate by draws, how often its interval holds E V*, and
the bound that is proved (docs/evidence/calibrated.md).

python -m bench.stationary --estimates 400 --draws 200 --dense 4000
"""

import argparse

import numpy as np
from scipy import stats

import klearning as kl
from bench.visits import expected_optimum, random_play, unknown_row
from klearning.arrays.types import Floats
from klearning.trials.task import Streams


def estimates(belief: kl.Belief, count: int, draws: int) -> tuple[Floats, Floats]:
    """Those of the calibrated agent, each by draws of its own, and their standard errors."""
    agent = kl.KLearning(optimism="calibrated", draws=draws, window=1, thompson=0.0)
    at = [agent.diagnostics.index(name) for name in ("estimate", "error")]
    memory, said, told = agent.begin(belief), np.zeros(len(agent.diagnostics)), np.zeros((count, 2))
    streams = Streams(np.random.default_rng(1), np.random.default_rng(2))
    for t in range(count):
        memory = agent.plan(memory, streams, t, said)
        told[t] = said[at]
    return told[:, 0], told[:, 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--estimates", type=int, default=400)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--dense", type=int, default=4000, help="MDPs of Belief.sample, by which E V* is known")
    given = parser.parse_args()
    family = ((0.3, 0), (0.3, 1), (0.3, 3), (0.3, 10), (1.0, 1), (2.0, 10))
    beliefs = {f"one unknown row, mass {mass:g}, seen {n} each way": unknown_row(n, mass=mass) for mass, n in family}
    beliefs |= {f"RiverSwim, {n} episodes": random_play(kl.river_swim(6, horizon=20), n) for n in (10, 100, 1000)}
    columns = "belief", "E V*", "mean of the estimates", "intervals that hold it", "`visits`", "`split`"
    print(f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|")
    for name, belief in beliefs.items():
        truth, doubt = expected_optimum(belief, given.dense)
        told, error = estimates(belief, given.estimates, given.draws)
        half = stats.t.ppf(0.975, given.draws - 1) * error
        held = np.mean(np.abs(told - truth) <= np.hypot(half, 1.96 * doubt))  # E V* is known up to an error itself
        bounds = " | ".join(f"{kl.solve(belief, bonus=bonus).bound:.2f}" for bonus in ("visits", "split"))
        mean = f"{told.mean():.3f} ± {told.std(ddof=1) / given.estimates**0.5:.3f}"
        print(f"| {name} | {truth:.3f} ± {doubt:.3f} | {mean} | {held:.0%} | {bounds} |", flush=True)


if __name__ == "__main__":
    main()
