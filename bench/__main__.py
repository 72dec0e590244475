"""Speed, as ratios measured in one run: `make bench`. Prints the tables of docs/evidence/performance.md.

Every time is the best of many repetitions, on one core, inside a compiled loop where the thing
measured is a kernel. Take the ratios: the times are this machine's.
"""

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cvxpy
import numba
import numpy as np

import klearning as kl
from bench.bandits import mixture_table
from bench.bare import library_loop, polynomial_loop
from bench.simulators import overhead
from bench.sizes import size_tables
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.numerics.compiled import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.fixed_optimism import Memory
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.soft import Soft, soft_sweep
from klearning.tabular.models.sweeps import Model, policy_sweep
from klearning.tabular.optimism.cone import cone_program
from klearning.tabular.optimism.program import program, soft_part
from klearning.tabular.optimism.temperature import at_optimum
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.trial import new_task

REPEATS = 30
TOLERANCE = 1e-10  # the default of kl.solve


def best(action: Callable[[], object], repeats: int = REPEATS) -> float:
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


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


def row(*cells: Any) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def header(*cells: str) -> None:
    print()
    row(*cells)
    row(*("---" for _ in cells))


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
    return states, np.array([best(action) for action in actions]) / times


def sweep_table() -> None:
    header("depth", "states", "sweep with f, f′, f″ (µs)", "bare library loop (µs)", "ratio",
           "bare polynomial loop (µs)", "exact policy evaluation (µs)")  # fmt: skip
    found = {}
    for depth in (50, 100, 200, 400, 1000):
        states, seconds = sweep_times(depth)
        found[depth] = seconds[0]
        sweep, bare, fast, value = (f"{x * 1e6:.1f}" for x in seconds)
        row(depth, states, sweep, bare, f"{seconds[0] / seconds[1]:.2f}", fast, value)
    print(f"\nA sweep at depth 400 costs {found[400] / found[100]:.1f} times one at depth 100 (15.9 times the states).")


def solve_table() -> None:
    header("belief at depth 50", "bonus", "sweeps", "cold solve (ms)", "kl.solve with all its arrays (ms)",
           "Clarabel's own time (ms)", "ratio", "f − f_Clarabel", "τ − τ_Clarabel")  # fmt: skip
    for episodes in (1, 30, 100, 300, 1000):
        memory = learned(50, episodes)
        world = TEXT.world(50)
        belief = Belief.before(TEXT.prior, world).after(memory.posterior)
        for bonus in ("paper", "reward"):
            solve_row(f"after {episodes} episodes", belief, bonus)


def solve_row(name: str, belief: Belief, bonus: str) -> None:
    ready, times = program(belief, bonus), 20
    model, c, W, policy = ready.model, ready.c, soft_part(ready.work), np.zeros_like(ready.c)
    cold = best(lambda: cold_solves(times, model, c, policy, W)) / times
    whole = best(lambda: kl.solve(belief, bonus=bonus))
    ours = at_optimum(model, c, 0.0, TOLERANCE, policy, W)
    clarabel = cone_answer(model, c)
    row(name, bonus, ours.sweeps, f"{cold * 1e3:.3f}", f"{whole * 1e3:.2f}", f"{clarabel.seconds * 1e3:.0f}",
        f"{clarabel.seconds / cold:.0f}", f"{ours.bound - clarabel.bound:.0e}",
        f"{ours.tau - clarabel.tau:.0e}")  # fmt: skip


class ConeAnswer(NamedTuple):
    seconds: float
    bound: float
    tau: float


def cone_answer(model: Model, c: Floats) -> ConeAnswer:
    """Clarabel's own time and its answer; nan where it fails."""
    cone = cone_program(model, c)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the last columns say by how much
        try:
            cone.problem.solve(solver="CLARABEL")
        except cvxpy.SolverError:
            return ConeAnswer(np.nan, np.nan, np.nan)
    return ConeAnswer(cone.problem.solver_stats.solve_time, cone.problem.value, float(cone.tau.value))


def episode_table() -> None:
    header("τ* episodes", "tolerance", "sweeps an episode", "episodes a second, one core", "mean first hit / solved")
    for depth in (10, 50):
        for tolerance in (1e-4, 1e-6, 1e-8):
            agent = kl.KLearning(tolerance=tolerance)
            runs = kl.run(agent, TEXT.world(depth), prior=TEXT.prior, episodes=1000, seeds=10, threads=1)
            solved = runs.solved[np.isfinite(runs.solved)]
            row(f"depth {depth}, 1000 episodes, 10 seeds", f"{tolerance:.0e}",
                f"{runs.diagnostics['sweeps'].mean():.2f}", f"{runs.values.size / runs.seconds:,.0f}",
                f"{runs.first_hit.mean():.0f} / {solved.mean():.0f} ({len(solved)} of 10)")  # fmt: skip


AGENTS: dict[str, tuple[Agent, int, int]] = {  # with episodes, and how often the policy is evaluated
    "KLearning, optimal": (kl.KLearning(), 1000, 1),
    "KLearning, schedule": (kl.KLearning("schedule"), 1000, 1),
    "KLearning, calibrated, draws=1": (kl.KLearning(optimism="calibrated", draws=1), 500, 1),
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
    header("agent", "evaluated every", "episodes a second at depth 50", "at depth 100", "time ratio")
    for name, (agent, episodes, every) in AGENTS.items():
        speed = {}
        for depth in (50, 100):
            runs = [
                kl.run(agent, TEXT.world(depth), prior=TEXT.prior, episodes=episodes, seeds=[seed], threads=1,
                       evaluate_every=every)
                for seed in range(3)
            ]  # fmt: skip
            speed[depth] = max(r.values.size / r.seconds for r in runs)
        row(name, every, f"{speed[50]:,.0f}", f"{speed[100]:,.0f}", f"{speed[50] / speed[100]:.1f}")


def simulator_table() -> None:
    header("environment", "agent", "its own step, µs", "act + observe, µs", "plan + update an episode, ms")
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
    start = time.perf_counter()
    runs = kl.run(kl.KLearning(), TEXT.world(1000), prior=TEXT.prior, episodes=20, seeds=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"depth 1000: 20 episodes in {runs.seconds:.1f} s, {runs.diagnostics['sweeps'].mean():.1f} sweeps each; "
          f"peak memory {peak:.2f} GB; {time.perf_counter() - start:.1f} s in all")  # fmt: skip


def first_run() -> None:
    start = time.perf_counter()
    kl.run(kl.KLearning(), kl.deep_sea(10), prior=Prior(), episodes=100, seeds=1)
    print(f"{time.perf_counter() - start:.1f}")


def in_new_process(name: str, cache: str | None = None) -> str:
    environment = dict(os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {}))
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bench", name], env=environment, capture_output=True, text=True, check=True
    )
    return f"{done.stdout.strip()} ({time.perf_counter() - start:.1f} s with import)"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if names:
            return f"{names[0]}, {len(names)} cores"
    return platform.processor()


def main() -> None:
    if len(sys.argv) > 1:
        {"big_world": big_world, "first_run": first_run}[sys.argv[1]]()
        return
    print(f"{processor()}; Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}")
    sweep_table()
    solve_table()
    episode_table()
    agent_table()
    mixture_table()
    simulator_table()
    size_tables()
    print("\n" + in_new_process("big_world"))
    with tempfile.TemporaryDirectory() as cache:
        print(f"first run on a fresh machine, compiling: {in_new_process('first_run', cache)}")
        print(f"second run: {in_new_process('first_run', cache)}")


if __name__ == "__main__":
    main()
