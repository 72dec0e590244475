"""How tight the bonus `split` is and how fast it learns: python -m bench.split [rows values deep_sea stochastic]

Writes docs/evidence/data/better_bonus.*.json. All of it takes some ten minutes of one core.
"""

import sys
from collections.abc import Iterator

import numpy as np

import klearning as kl
from bench.record import recorded
from klearning.numerics.types import Floats
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.trials.trial import Trial
from tests.support.split_cases import any_mass, exact, mean, random_row, row_bound

SEEDS = range(100, 110)
REWARDS = kl.Gaussian(mean=0.0, sd=1.0, noise=0.05)
BONUSES: dict[str, tuple[BonusName, bool]] = {
    "`reward`": ("reward", False),
    "`sharp`, span": ("sharp", True),
    "`split`": ("split", False),
    "`split`, span": ("split", True),
}
DEPTHS = {10: 500, 20: 2_000, 30: 8_000, 50: 40_000}
COMMAND = "python -m bench.split"


def prior(span: float | list[float] | None = None) -> kl.Prior:
    return kl.Prior(REWARDS, kl.Dirichlet(mass=0.3), span=span)


def rows() -> None:
    """Excess of a row over its posterior mean, as a multiple of the exact excess."""
    headings = (
        "successors seen",
        "mass",
        "`split`: median, 90%, most",
        "`sharp`, given W's own span: median, 90%, most",
    )
    with recorded("better_bonus.rows", headings, COMMAND) as row:
        for masses in ((0.03, 1.0), (1.0, 10.0)):
            for successors in (0, 1, 2, 4):
                ours, sharp = excesses(successors, masses)
                row(successors, f"{masses[0]:g}–{masses[1]:g}", spread(ours), spread(sharp))


def excesses(successors: int, masses: tuple[float, float], count: int = 150) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(successors)
    found: list[tuple[float, float]] = []
    mass = any_mass(rng, *masses)
    while len(found) < count:
        if len(found) % 10 == 0:
            mass = any_mass(rng, *masses)
        counts, W, tau = random_row(rng, most=100, ratios=(0.1, 50.0))
        if np.count_nonzero(counts) != successors:
            continue
        m = mean(mass, counts, W)
        least = exact(mass, counts, W, tau) - m
        if least >= 1e-9 * np.ptp(W):
            sharp = np.ptp(W) ** 2 / (8 * tau * (mass + counts.sum() + 1))
            found.append(((row_bound(mass, counts, W, tau) - m) / least, sharp / least))
    ours, theirs = zip(*found, strict=True)
    return np.array(ours), np.array(theirs)


def spread(x: Floats) -> str:
    return ", ".join(f"{value:.3g}" for value in (np.median(x), np.quantile(x, 0.9), x.max()))


def values(depth: int = 20, draws: int = 100) -> None:
    """Bounds along a run of `reward`, and the expected optimal value by draws."""
    times, world = (10, 20, 40, 80, 160), kl.deep_sea(depth)
    found: dict[str, list[str]] = {"E V\\*": [], "`reward`": [], "`split`": [], "`sharp`, span 1": []}
    trial = Trial(kl.KLearning().algorithm, world, prior(), 100, times[-1])
    for stop in times:
        trial.advance(stop - trial.played)
        belief = kl.Belief.before(prior(), world).after(trial.memory.posterior)
        spanned = kl.Belief.before(prior(1.0), world).after(trial.memory.posterior)
        best = [kl.optimal(belief.sample(seed)).value for seed in range(draws)]
        found["E V\\*"].append(f"{np.mean(best):.2f} ± {np.std(best) / draws**0.5:.2f}")
        for name, plan in (
            ("`reward`", kl.solve(belief, bonus="reward")),
            ("`split`", kl.solve(belief, bonus="split")),
            ("`sharp`, span 1", kl.solve(spanned, bonus="sharp")),
        ):
            found[name].append(f"{plan.bound:.2f}")
    with recorded("better_bonus.values", (f"depth {depth}", *(f"t = {t}" for t in times)), COMMAND) as row:
        for name, cells in found.items():
            row(name, *cells)


def played(bonus: BonusName, world: kl.MDP, span: float | list[float] | None, episodes: int, every: int) -> kl.Runs:
    agent = kl.KLearning(bonus=bonus)
    return kl.run(agent, world, prior=prior(span), episodes=episodes, seeds=SEEDS, evaluate_every=every)


def with_error(x: Floats, digits: int = 0) -> str:
    return f"{x.mean():.{digits}f} ± {x.std(ddof=1) / len(x) ** 0.5:.{digits}f}"


def deep_sea() -> None:
    headings = ("bonus", *(f"depth {depth}" for depth in DEPTHS))
    with recorded("better_bonus.deep_sea", headings, COMMAND) as row:
        for name, (bonus, spanned) in BONUSES.items():
            row(name, *sea_cells(bonus, 1.0 if spanned else None))


def sea_cells(bonus: BonusName, span: float | None) -> Iterator[str]:
    for depth, episodes in DEPTHS.items():
        runs = played(bonus, kl.deep_sea(depth), span, episodes, 1000)
        yield f"{with_error(runs.first_hit)} / {with_error(runs.solved)}"


def stochastic() -> None:
    river, sea = kl.river_swim(), kl.deep_sea(10, slip=0.1)
    steps_left = [float(river.horizon - l) for l in range(1, river.horizon + 1)]
    places: list[tuple[kl.MDP, float | list[float]]] = [(river, steps_left), (sea, 1.0)]
    headings = ("bonus", "RiverSwim: total", "RiverSwim: late", "DeepSea: total", "DeepSea: late")
    with recorded("better_bonus.stochastic", headings, COMMAND) as row:
        for name, (bonus, spanned) in BONUSES.items():
            cells: list[str] = []
            for world, span in places:
                runs = played(bonus, world, span if spanned else None, 3000, 1)
                late = (runs.regret[:, -1] - runs.regret[:, -101]) / 100
                cells += [with_error(runs.regret[:, -1]), with_error(late, 4)]
            row(name, *cells)


TABLES = {"rows": rows, "values": values, "deep_sea": deep_sea, "stochastic": stochastic}

if __name__ == "__main__":
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
