"""VAPOR's speed: `python -m bench.vapor`. Prints the tables of docs/reference/agents/vapor.md.

Times are least CPU times of several rounds on one core. Clarabel's is its own solve time, without CVXPY's compilation.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np

import klearning as kl
from klearning.agents.vapor import Memory
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.posterior import Posterior
from klearning.models.sweeps import Model
from klearning.optimism.doubts import DoubtNumbers, fill_doubts
from klearning.optimism.occupancy import Flows, flow_arrays
from klearning.optimism.occupancy_newton import occupy
from klearning.optimism.vapor_cone import flow_program
from klearning.papers.odonoghue2021.protocols import TEXT
from klearning.trials.trial import new_task

ROUNDS = 20
TOLERANCE = 1e-10  # the default of kl.vapor
AGENT = kl.VAPOR()
EPISODES = {20: (0, 10, 30, 60, 150, 300), 50: (0, 30, 300, 1000)}


def least(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of CPU time."""
    action()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def learned(depth: int, episodes: int) -> Memory:
    """VAPOR's memory in the middle of learning."""
    world = TEXT.world(depth)
    memory = AGENT.begin(kl.Belief.before(TEXT.prior, world))
    return AGENT.advance(memory, new_task(AGENT, world, max(episodes, 1), 0), 0, episodes)


@kernel
def cold(times: int, model: Model, p: Posterior, doubt: DoubtNumbers, W: Flows, V: Floats, policy: Floats) -> int:
    steps = 0
    for _ in range(times):
        V[:] = 0.0
        policy[:] = 1.0 / policy.shape[0]
        fill_doubts(doubt, p, W.stated)
        steps = occupy(model, 1.0, TOLERANCE, W, V, policy).steps
    return steps


def cold_table() -> None:
    header = "depth", "after episodes", "steps", "cold solve (ms)", "gap", "Clarabel (s)", "ratio"
    print("| " + " | ".join((*header, "with CVXPY's compilation (s)", "ratio", "difference of values")) + " |")
    print("|---" * 10 + "|")
    for depth, moments in EPISODES.items():
        for episodes in moments:
            memory = learned(depth, episodes)
            p, W, policy, V = memory.posterior, memory.work, memory.policy, memory.V
            steps = cold(1, p.model, p, memory.doubt, W, V, policy)
            seconds = least(lambda: cold(10, p.model, p, memory.doubt, W, V, policy)) / 10  # noqa: B023
            answer = occupy(p.model, 1.0, TOLERANCE, flow_arrays(*policy.shape)._replace(stated=W.stated), V, policy)
            print(f"| {depth} | {episodes} | {steps} | {seconds * 1e3:.2f} | {answer.gap:.0e} | "
                  + cone_cells(p.model, W.stated, seconds, answer.bound), flush=True)  # fmt: skip


def cone_cells(model: Model, s: Floats, seconds: float, bound: float) -> str:
    start = time.process_time()
    problem, _, _ = flow_program(model, s)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver="CLARABEL")
        except Exception:  # it has given up
            return "no answer | – | – | – | – |"
    own, whole = problem.solver_stats.solve_time, time.process_time() - start
    return f"{own:.2f} | {own / seconds:.0f} | {whole:.2f} | {whole / seconds:.0f} | {bound - problem.value:.0e} |"


def warm_table(depth: int = 50, episodes: int = 1000, chunk: int = 100) -> None:
    """Whole episodes, plan, play, exact value and update, in a compiled loop."""
    world = TEXT.world(depth)
    print("\n| depth | settings | episodes | per second, mean | slowest and fastest hundred |")
    print("|---|---|---|---|---|")
    for agent in (kl.VAPOR(), kl.VAPOR(optimism=0.5), kl.VAPOR(tolerance=1e-9)):
        rates = np.zeros(episodes // chunk)
        for _ in range(3):
            memory, task = agent.begin(kl.Belief.before(TEXT.prior, world)), new_task(agent, world, episodes, 0)
            for i in range(len(rates)):
                start = time.process_time()
                memory = agent.advance(memory, task, i * chunk, chunk)
                rates[i] = max(rates[i], chunk / (time.process_time() - start))
        mean = len(rates) / np.sum(1.0 / rates)
        print(f"| {depth} | `{agent}` | {episodes} | {mean:.0f} | {rates.min():.0f}, {rates.max():.0f} |", flush=True)


if __name__ == "__main__":
    cold_table()
    warm_table()
