"""E V* of beliefs whose steps share one table: the estimate by draws, how often its interval holds E V*, and the bound
that is proved. Writes docs/evidence/data/visits.estimates.json.

python -m bench.stationary --estimates 400 --draws 200 --dense 40000
"""

import argparse

import numpy as np
from scipy import stats

import klearning as kl
from bench.record import recorded
from bench.visits import random_play, unknown_row
from klearning.numerics.types import Floats
from klearning.tabular.trials.task import Streams


def expected_optimum(belief: kl.Belief, draws: int) -> tuple[float, float]:
    """The mean of V* over draws of one table for all layers, and its standard error: gammas for every next state.

    Nothing of the sampler of agents is in it, which breaks sticks.
    """
    rng, alpha = np.random.default_rng(0), belief._concentrations()[0]
    mean, deviation = belief.reward_means[0], np.sqrt(belief.reward_variances[0])
    shape = (draws, *alpha.shape)
    logs = np.log(rng.standard_gamma(np.broadcast_to(alpha + 1.0, shape))) + np.log(rng.random(shape)) / alpha
    rows = np.exp(logs - logs.max(-1, keepdims=True))
    rows /= rows.sum(-1, keepdims=True)
    r = mean + deviation * rng.standard_normal((draws, *mean.shape))
    V = np.zeros((draws, len(mean)))
    for _ in range(belief.horizon):
        V = (r + np.einsum("nsay,ny->nsa", rows, V)).max(2)
    value = V @ belief.initial
    return float(value.mean()), float(value.std() / draws**0.5)


def estimates(belief: kl.Belief, count: int, draws: int) -> tuple[Floats, Floats]:
    """Those of the calibrated agent, each by draws of its own, and their standard errors."""
    agent = kl.KLearning(optimism=kl.Calibration(draws, window=1, thompson_fraction=0.0))
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
    parser.add_argument("--dense", type=int, default=40_000, help="draws of another make, by which E V* is known")
    given = parser.parse_args()
    family = ((0.3, 0), (0.3, 1), (0.3, 3), (0.3, 10), (1.0, 1), (2.0, 10))
    beliefs = {f"one unknown row, mass {mass:g}, seen {n} each way": unknown_row(n, mass=mass) for mass, n in family}
    beliefs |= {f"RiverSwim, {n} episodes": random_play(kl.river_swim(6, horizon=20), n) for n in (10, 100, 1000)}
    headings = ("belief", "E V\\*", "mean of the estimates", "intervals that hold it", "`visits`, proved", "`split`")
    with recorded("visits.estimates", headings, "python -m bench.stationary") as row:
        for name, belief in beliefs.items():
            truth, doubt = expected_optimum(belief, given.dense)
            told, error = estimates(belief, given.estimates, given.draws)
            half = stats.t.ppf(0.975, given.draws - 1) * error
            held = np.mean(np.abs(told - truth) <= half)
            bounds = (f"{kl.solve(belief, bonus=bonus).bound:.2f}" for bonus in ("visits", "split"))
            mean = f"{told.mean():.3f} ± {told.std(ddof=1) / given.estimates**0.5:.3f}"
            row(name, f"{truth:.3f} ± {doubt:.3f}", mean, f"{held:.0%}", *bounds)


if __name__ == "__main__":
    main()
