"""Matrix games, how long a solve takes and how regret grows: python -m bench.games [solve] [regret] [prior]

Times are processor times, the least of several calls, for the compiled call alone; regret is against the best response
unless the table says otherwise. The tables go into docs/evidence/data.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bench.record import recorded
from klearning import games
from klearning.games.newton import new_workspace
from klearning.games.program import solve_program
from klearning.games.simplex import find_saddle, new_tableau
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats

SIZES, SDS = ((3, 3), (10, 10), (30, 30)), (1.0, 0.1, 0.01, 0.001)
CASES, REPEATS = 200, 5
AGENTS = (games.KLearning(), games.UCB(), games.Thompson(), games.EXP3())
ROUNDS = (500, 1000, 2000)


def best(kernel: Callable[..., object], calls: Iterable[tuple[Any, ...]]) -> float:
    """The least seconds of the processor that a call took."""
    times = []
    for arguments in calls:
        began = time.process_time()
        kernel(*arguments)
        times.append(time.process_time() - began)
    return min(times)


def belief(rng: np.random.Generator, m: int, n: int, sd: float) -> tuple[Floats, Floats]:
    return rng.normal(size=(m, n)), sd * rng.uniform(0.3, 1.0, size=(m, n))


def by_cone(means: Floats, sds: Floats) -> float:
    """The same program through CVXPY and Clarabel: its own seconds, without building it."""
    import cvxpy as cp

    m, n = means.shape
    y, q, tau = cp.Variable(m, nonneg=True), cp.Variable(m), cp.Variable(nonneg=True)
    bound, u = cp.Variable(), cp.Variable(n)
    K = means.T @ y + 0.5 * (sds**2).T @ q
    rotated = [cp.quad_over_lin(y[i], tau) <= q[i] for i in range(m)]
    exponential = [cp.constraints.ExpCone(K[j] - bound, tau, u[j]) for j in range(n)]
    problem = cp.Problem(cp.Minimize(bound), [cp.sum(y) == 1, cp.sum(u) <= tau, *rotated, *exponential])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL")
    return float(problem.solver_stats.solve_time)


def solve_table() -> None:
    headings = ("game", "sds", "cold", "warm", "largest gap", "equilibrium of the means", "Clarabel")
    with recorded("games.solve", headings, "python -m bench.games solve") as row:
        solve_rows(row)


def solve_rows(row: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    for m, n in SIZES:
        work, x, y, tableau = new_workspace(m, n), np.zeros(n), np.zeros(m), new_tableau(m, n)
        for sd in SDS:
            cases = [belief(rng, m, n, sd) for _ in range(CASES)]
            cold, warm, saddle, gap = [], [], [], 0.0
            for means, sds in cases:
                solutions = np.zeros((REPEATS, m))
                gap = max(gap, solve_program(means, sds, 1e-9, np.zeros(m), x, work).gap)
                cold.append(best(solve_program, ((means, sds, 1e-9, w, x, work) for w in solutions)))
                means[0, 0], sds[0, 0] = means[0, 0] + 0.3 * sds[0, 0], 0.9 * sds[0, 0]
                warm.append(best(solve_program, ((means, sds, 1e-9, w, x, work) for w in solutions)))
                saddle.append(best(find_saddle, [(means, x, y, tableau)] * REPEATS))
            cone = np.median([by_cone(*case) for case in cases[:3]])
            numbers = (f"{np.median(times) * 1e6:.0f} µs" for times in (cold, warm))
            others = f"{gap:.0e}", f"{np.median(saddle) * 1e6:.0f} µs", f"{cone * 1e3:.1f} ms"
            row(f"{m} × {n}", f"{sd:g}", *numbers, *others)


def regret_table(seeds: int) -> None:
    headings = ("game", "opponent", "agent", *(f"{t:,}" for t in ROUNDS), "power [95%]")
    with recorded("games.regret", headings, "python -m bench.games regret") as row:
        regret_rows(row, seeds)


def regret_rows(row: Callable[..., None], seeds: int) -> None:
    boards = (games.rock_paper_scissors(), games.idle_threat(), games.random_game(5, 5), games.inspection_game())
    for game in boards:
        for agent in AGENTS:
            matches = games.play(agent, game, rounds=max(ROUNDS), seeds=seeds)
            power = mean_interval(matches.powers())
            told = f"{power.estimate:.2f} [{power.low:.2f}, {power.high:.2f}]"
            row(game.name, "best response", agent.name, *means(matches.regret), told)
    for opponent in ("equilibrium", "exp3", "self_play"):
        for agent in AGENTS:
            matches = games.play(agent, boards[2], opponent, rounds=max(ROUNDS), seeds=seeds)
            row(boards[2].name, opponent, agent.name, *means(matches.regret), "–")


def means(regret: Floats) -> list[str]:
    """Over the seeds, after each of `ROUNDS`."""
    return [f"{regret[:, t - 1].mean():.0f}" for t in ROUNDS]


def prior_table(count: int) -> None:
    """Games drawn from the prior, the same for all agents, one match in each: Bayes regret."""
    last_heading = f"after {max(ROUNDS):,} [95%]"
    headings = ("size", "agent", *(f"{t:,}" for t in ROUNDS), last_heading, "power of the mean")
    with recorded("games.prior", headings, "python -m bench.games prior") as row:
        prior_rows(row, count)


def prior_rows(row: Callable[..., None], count: int) -> None:
    for size in (2, 3, 5, 10):
        boards = [games.random_game(size, size, seed=k) for k in range(count)]
        for agent in AGENTS:
            regret = np.concatenate([games.play(agent, g, rounds=max(ROUNDS), seeds=1).regret for g in boards])
            curve = regret.mean(axis=0)
            last = mean_interval(regret[:, -1])
            power = np.log(curve[-1] / curve[max(ROUNDS) // 10 - 1]) / np.log(10.0)
            interval = f"{last.estimate:.0f} [{last.low:.0f}, {last.high:.0f}]"
            row(f"{size} × {size}", agent.name, *means(regret), interval, f"{power:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="solve, regret, prior; by default all")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--games", type=int, default=100, help="drawn from the prior")
    arguments = parser.parse_args()
    if not arguments.tables or "solve" in arguments.tables:
        solve_table()
    if not arguments.tables or "regret" in arguments.tables:
        regret_table(arguments.seeds)
    if not arguments.tables or "prior" in arguments.tables:
        prior_table(arguments.games)


if __name__ == "__main__":
    main()
