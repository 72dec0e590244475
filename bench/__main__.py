"""Speed, as ratios measured in one run: `make bench`. Writes docs/evidence/data/performance.*.json.

Times are CPU seconds of one core, the least of many repetitions, so that other work on the machine hardly counts.
Kernels are timed inside a compiled loop. Compare ratios: the times are this machine's. `python -m bench sweeps agents`
measures these tables alone.
"""

import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import cvxpy
import numpy as np

import klearning as kl
from bench.bandits import mixture_table
from bench.bare import library_loop, polynomial_loop
from bench.parts import part_table
from bench.record import recorded
from bench.simulators import overhead
from bench.sizes import size_tables
from bench.timing import least_seconds
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.fixed_optimism import Memory
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.soft import Soft, soft_sweep
from klearning.tabular.models.sweeps import Model, policy_sweep
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.optimism.cone import cone_program
from klearning.tabular.optimism.program import program, soft_part
from klearning.tabular.optimism.temperature import at_optimum
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.trial import new_task

TOLERANCE = 1e-10  # the default of kl.solve


@kernel
def sweeps(times: int, model: Model, c: Floats, tau: float, W: Soft) -> float:
    f = 0.0
    for _ in range(times):
        f, _, _, _ = soft_sweep(model, c, tau, W)
    return f


@kernel
def evaluations(times: int, model: Model, policy: Floats, V: Floats, scratch: Floats) -> float:
    f = 0.0
    for _ in range(times):
        f = policy_sweep(model, model.reward, policy, V, scratch)
    return f


@kernel
def cold_solves(times: int, model: Model, c: Floats, policy: Floats, W: Soft) -> int:
    total = 0
    for _ in range(times):
        total += at_optimum(model, c, 0.0, TOLERANCE, policy, W).sweeps
    return total


def learned(depth: int, episodes: int) -> Memory:
    """K-learning's memory after some episodes of DeepSea: a belief as it is met in the middle of learning."""
    agent, world = kl.KLearning().algorithm, TEXT.world(depth)
    belief = Belief.before(TEXT.prior, world)
    memory: Memory = agent.advance(agent.begin(belief), new_task(agent, world, episodes, 0), 0, episodes)
    return memory


def sweep_times(depth: int) -> tuple[int, Floats]:
    """States, and seconds of: a sweep, the bare loops, an exact policy evaluation."""
    times = max(1, 100_000 // depth**2)
    memory = learned(depth, 300 if depth <= 100 else 30)
    model, c, W = memory.posterior.model, memory.c, soft_part(memory.work)
    states = c.shape[1]
    d, out, V = np.linspace(0.0, 20.0, states), np.zeros(states), np.zeros(states)
    truth, policy = TEXT.world(depth).model, np.full(c.shape, 0.5)
    actions: list[Callable[[], object]] = [
        lambda: sweeps(times, model, c, 0.1, W),
        lambda: library_loop(times, d, out),
        lambda: polynomial_loop(times, d, out),
        lambda: evaluations(times, truth, policy, V, W.K_a),
    ]
    return states, np.array([least_seconds(action) for action in actions]) / times


table = partial(recorded, command="make bench")


def sweep_table() -> None:
    headings = ("depth", "states", "sweep (µs)", "library loop (µs)", "polynomial loop (µs)", "sweep / library loop",
                "policy evaluation (µs)")  # fmt: skip
    with table("performance.sweeps", headings) as row:
        for depth in (50, 100, 200, 400, 1000):
            states, seconds = sweep_times(depth)
            sweep, bare, fast, value = (f"{x * 1e6:.1f}" for x in seconds)
            row(depth, f"{states:,}", sweep, bare, fast, f"{seconds[0] / seconds[1]:.2f}", value)


def solve_table() -> None:
    headings = ("belief at depth 50", "bonus", "sweeps", "cold solve (ms)", "`kl.solve` (ms)", "Clarabel (ms)", "ratio",
                "difference of bounds")  # fmt: skip
    with table("performance.solves", headings) as row:
        for episodes in (1, 30, 100, 300):
            memory = learned(50, episodes)
            belief = Belief.before(TEXT.prior, TEXT.world(50)).after(memory.posterior)
            for bonus in ("paper", "reward"):
                row(*solve_row(f"after {episodes} episodes", belief, bonus))


def solve_row(name: str, belief: Belief, bonus: BonusName) -> tuple[object, ...]:
    ready, times = program(belief, bonus), 20
    model, c, W, policy = ready.model, ready.c, soft_part(ready.work), np.zeros_like(ready.c)
    cold = least_seconds(lambda: cold_solves(times, model, c, policy, W)) / times
    whole = least_seconds(lambda: kl.solve(belief, bonus=bonus))
    ours = at_optimum(model, c, 0.0, TOLERANCE, policy, W)
    clarabel = cone_answer(model, c)
    return (name, bonus, ours.sweeps, f"{cold * 1e3:.3f}", f"{whole * 1e3:.2f}", f"{clarabel.seconds * 1e3:.0f}",
            f"{clarabel.seconds / cold:,.0f}", f"{ours.bound - clarabel.bound:.0e}")  # fmt: skip


class ConeAnswer(NamedTuple):
    seconds: float
    bound: float


def cone_answer(model: Model, c: Floats) -> ConeAnswer:
    """Clarabel's CPU time, without CVXPY's, and its bound; nan if it fails."""
    problem = cone_program(model, c).problem
    data, chain, inverse = problem.get_problem_data(cvxpy.CLARABEL, solver_opts={})
    start = time.process_time()
    answer = chain.solve_via_data(problem, data)
    seconds = time.process_time() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the last column says by how much
        try:
            problem.unpack_results(answer, chain, inverse)
        except cvxpy.SolverError:
            return ConeAnswer(np.nan, np.nan)
    return ConeAnswer(seconds, float(problem.value))


def cpu_speed(agent: Agent, depth: int, episodes: int, every: int) -> float:
    """Episodes per CPU second, the most of three seeds."""
    world = TEXT.world(depth)
    kl.run(agent, world, prior=TEXT.prior, episodes=2, seeds=1, threads=1, evaluate_every=every)  # compiles
    speeds = []
    for seed in range(3):
        start = time.process_time()
        kl.run(agent, world, prior=TEXT.prior, episodes=episodes, seeds=[seed], threads=1, evaluate_every=every)
        speeds.append(episodes / (time.process_time() - start))
    return max(speeds)


def episode_table() -> None:
    headings = ("depth", "tolerance", "sweeps per episode", "episodes per second", "mean episodes until solved")
    with table("performance.tolerance", headings) as row:
        for depth in (10, 50):
            for tolerance in (1e-4, 1e-6, 1e-8):
                agent = kl.KLearning(tolerance=tolerance)
                runs = kl.run(agent, TEXT.world(depth), prior=TEXT.prior, episodes=1000, seeds=10)
                row(depth, f"{tolerance:.0e}", f"{runs.diagnostics['sweeps'].mean():.2f}",
                    f"{cpu_speed(agent, depth, 1000, 1):,.0f}", f"{runs.solved.mean():.0f}")  # fmt: skip


AGENTS: dict[str, tuple[Agent, int, int]] = {  # with episodes, and how often the policy is evaluated
    "KLearning, optimal": (kl.KLearning(), 1000, 1),
    "KLearning, schedule": (kl.KLearning("schedule"), 1000, 1),
    "KLearning, calibrated, draws=1": (kl.KLearning(optimism="calibrated"), 500, 1),
    "PSRL": (kl.PSRL(), 500, 1),
    "RLSVI": (kl.RLSVI(), 2000, 1),
    "UCBVI, hoeffding": (kl.UCBVI(), 2000, 1),
    "UCBVI, bernstein": (kl.UCBVI("bernstein"), 1000, 1),
    "BEB": (kl.BEB(), 2000, 1),
    "BOLT": (kl.BOLT(), 2000, 1),
    "UCRL2": (kl.UCRL2(), 2000, 1),
    "UCFH, least_visits 1": (kl.UCFH(least_visits=1), 1000, 1),
    "SoftQLearning, model": (kl.SoftQLearning(form="model"), 2000, 1),
    "SoftQLearning, td": (kl.SoftQLearning(), 20_000, 100),
    "QLearning": (kl.QLearning(), 20_000, 100),
    "OptimisticQLearning, hoeffding": (kl.OptimisticQLearning(), 20_000, 100),
    "OptimisticQLearning, bernstein": (kl.OptimisticQLearning("bernstein"), 20_000, 100),
    "OptimisticQLearning, replay 20": (kl.OptimisticQLearning(scale=1e-4, order="backward", replay=20), 2000, 100),
    "OnlineKLearning": (kl.OnlineKLearning(), 2000, 100),
    "OnlineKLearning, forward, no replay": (kl.OnlineKLearning("forward", replay=0), 2000, 100),
}


def agent_table() -> None:
    headings = ("agent", "evaluated every", "episodes per second, depth 50", "depth 100", "ratio")
    with table("performance.agents", headings) as row:
        for name, (agent, episodes, every) in AGENTS.items():
            speed = [cpu_speed(agent, depth, episodes, every) for depth in (50, 100)]
            row(name, every, *(f"{x:,.0f}" for x in speed), f"{speed[0] / speed[1]:.1f}")


def simulator_table() -> None:
    headings = ("environment", "agent", "its own step (µs)", "act + observe (µs)", "plan + update per episode (ms)")
    with table("performance.simulators", headings) as row:
        for name, agent, episodes in (
            ("CliffWalking", kl.Random(), 50),
            ("CliffWalking", kl.KLearning(), 50),
            ("FrozenLake", kl.KLearning(), 50),
            ("FrozenLake", kl.PSRL(), 50),
            ("Taxi", kl.KLearning(), 20),
        ):
            own, added, planned = overhead(agent, name, episodes)
            row(name, type(agent).__name__, f"{own:.1f}", f"{added:.1f}", f"{planned / 1e3:.2f}")


def big_world() -> None:
    """Depth 1000, in a process of its own so that the peak memory is its own."""
    start = time.process_time()
    runs = kl.run(kl.KLearning(), TEXT.world(1000), prior=TEXT.prior, episodes=20, seeds=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{runs.diagnostics['sweeps'].mean():.1f} {time.process_time() - start:.1f} {peak:.2f}")


def large_table() -> None:
    headings = ("depth", "states", "episodes", "sweeps per episode", "CPU s", "peak memory (GB)")
    command = [sys.executable, "-m", "bench", "big_world"]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True)
    with table("performance.large", headings) as row:
        row(1000, "500,500", 20, *done.stdout.split())


TABLES = {
    "sweeps": sweep_table,
    "parts": part_table,
    "solves": solve_table,
    "tolerance": episode_table,
    "agents": agent_table,
    "mixtures": mixture_table,
    "simulators": simulator_table,
    "sizes": size_tables,
    "large": large_table,
}


def main(names: list[str]) -> None:
    if names == ["big_world"]:
        big_world()
        return
    for name in names or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
