"""VAPOR's speed: `python -m bench.vapor [cold] [warm]`. Prints the tables of docs/reference/agents/vapor.md.

Times are least CPU times of several rounds on one core; of the cone solvers, one round each, all to the same tolerance.
They solve the same program in two forms: as `vapor_cone` states it, layer by layer and sparsely; and with a λ for every
step and every state of all layers and one dense matrix for the flow, as it stands where states are not told apart by
layers. A solver's own time is without CVXPY's compilation. ECOS is left out if it is not installed.
"""

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import klearning as kl
from bench.timing import least_seconds
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.vapor import Memory
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.sweeps import Model
from klearning.tabular.optimism.cone import layer_matrix
from klearning.tabular.optimism.vapor.cone import flow_program
from klearning.tabular.optimism.vapor.newton import occupy
from klearning.tabular.optimism.vapor.occupancy import Flows, flow_arrays
from klearning.tabular.optimism.vapor.variances import VarianceNumbers, fill_sds
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.trial import new_task

ROUNDS = 20
TOLERANCE = 1e-8  # the default of Clarabel and of ECOS
AGENT = kl.VAPOR()
EPISODIC: tuple[Agent[Any], ...] = (
    kl.VAPOR(), kl.VAPOR(optimism=0.5), kl.VAPOR(tolerance=1e-9), kl.VAPOR(optimism="calibrated"), kl.PSRL(),
)  # fmt: skip
EPISODES = {20: (0, 10, 30, 60, 150, 300), 50: (0, 30, 300, 1000)}
DENSE = {20: (0, 60, 300)}  # where the dense form is solved too: minutes each


def learned(depth: int, episodes: int) -> Memory:
    """VAPOR's memory in the middle of learning."""
    world = TEXT.world(depth)
    memory = AGENT.begin(kl.Belief.before(TEXT.prior, world))
    return AGENT.advance(memory, new_task(AGENT, world, max(episodes, 1), 0), 0, episodes)


TOLERANCES = {
    "CLARABEL": {"tol_gap_abs": TOLERANCE, "tol_gap_rel": TOLERANCE, "tol_feas": TOLERANCE},
    "ECOS": {"abstol": TOLERANCE, "reltol": TOLERANCE, "feastol": TOLERANCE},
}
SOLVERS = ["CLARABEL", *(["ECOS"] if importlib.util.find_spec("ecos") else [])]


@kernel
def cold(times: int, model: Model, p: Posterior, variance: VarianceNumbers, W: Flows, V: Floats, policy: Floats) -> int:
    steps = 0
    for _ in range(times):
        V[:] = 0.0
        policy[:] = 1.0 / policy.shape[0]
        fill_sds(variance, p, W.stated)
        steps = occupy(model, 1.0, TOLERANCE, W, V, policy).steps
    return steps


def dense_program(model: Model, s: Floats) -> Any:
    """The flow of all states at all steps in one dense matrix."""
    import cvxpy as cp

    layers, (actions, states) = model.layers.tolist(), s.shape
    steps = len(layers) - 1
    rows = np.zeros((actions, states, states))
    for l in range(steps - 1):
        for a in range(actions):
            matrix, even = layer_matrix(model, l, a)
            here, there = slice(layers[l], layers[l + 1]), slice(layers[l + 1], layers[l + 2])
            rows[a, here, there] = matrix.toarray() + np.asarray(even).reshape(-1, 1) / (layers[l + 2] - layers[l + 1])
    flow = np.zeros((steps, states, steps, actions, states))
    for l in range(steps):
        flow[l, np.arange(states), l, :, np.arange(states)] = 1.0
        if l > 0:
            flow[l, :, l - 1] -= rows.transpose(2, 0, 1)
    start = np.zeros((steps, states))
    start[0, : model.initial.size] = model.initial
    x, e, g = (cp.Variable(steps * actions * states) for _ in range(3))
    value = np.tile(model.reward.ravel(), steps) @ x + np.sqrt(2.0) * (np.tile(s.ravel(), steps) @ g)
    cones = [e <= cp.entr(x), cp.SOC(x + e, cp.vstack([x - e, 2 * g]), axis=0)]
    return cp.Problem(cp.Maximize(value), [flow.reshape(steps * states, -1) @ x == start.ravel(), *cones])


def sparse_program(model: Model, s: Floats) -> Any:
    return flow_program(model, s)[0]


def cold_table() -> None:
    """Each row a belief and a program: ours, then what cone solvers take for it."""
    print("| depth, after episodes | ours (ms), steps, gap | form | solver | its own time (s) | ratio | "
          "with CVXPY (s) | ratio | value less ours |")  # fmt: skip
    print("|---" * 9 + "|")
    for depth, moments in EPISODES.items():
        for episodes in moments:
            memory = learned(depth, episodes)
            p, W, policy, V = memory.posterior, memory.work, memory.policy, memory.V
            steps = cold(1, p.model, p, memory.variance, W, V, policy)
            seconds = least_seconds(lambda: cold(10, p.model, p, memory.variance, W, V, policy), ROUNDS) / 10  # noqa: B023
            answer = occupy(p.model, 1.0, TOLERANCE, flow_arrays(*policy.shape)._replace(stated=W.stated), V, policy)
            ours = f"| {depth}, {episodes} | {seconds * 1e3:.2f}, {steps}, {answer.gap:.0e} | "
            for solver in SOLVERS:
                cone_cells(sparse_program, p.model, W.stated, solver, seconds, 0.0)  # loaded for good
                cells = cone_cells(sparse_program, p.model, W.stated, solver, seconds, answer.bound - answer.gap)
                print(f"{ours}sparse | {solver} | {cells}", flush=True)
            if episodes in DENSE.get(depth, ()):
                cells = cone_cells(dense_program, p.model, W.stated, SOLVERS[-1], seconds, answer.bound - answer.gap)
                print(f"{ours}dense | {SOLVERS[-1]} | {cells}", flush=True)


def cone_cells(
    program: Callable[[Model, Floats], Any], model: Model, s: Floats, solver: str, seconds: float, value: float
) -> str:
    start = time.process_time()
    problem = program(model, s)
    data, chain, _ = problem.get_problem_data(solver)
    compiled, settings = time.process_time(), TOLERANCES[solver]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            chain.solve_via_data(problem, data, solver_opts=dict(settings))
            own = time.process_time() - compiled
            problem.solve(solver=solver, **settings)  # once more, for the value
        except Exception:  # it has given up
            return f"no answer in {time.process_time() - compiled:.1f} | – | – | – | – |"
    whole = compiled - start + own
    return f"{own:.2f} | {own / seconds:.0f} | {whole:.2f} | {whole / seconds:.0f} | {problem.value - value:.0e} |"


def warm_table(depth: int = 50, episodes: int = 1000, chunk: int = 100) -> None:
    """Whole episodes, plan, play, exact value and update, in a compiled loop."""
    world = TEXT.world(depth)
    print("\n| depth | settings | episodes | per second, mean | slowest and fastest hundred |")
    print("|---|---|---|---|---|")
    for agent in EPISODIC:
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", choices=("cold", "warm", []), default=[])
    asked = parser.parse_args().tables or ("cold", "warm")
    if "cold" in asked:
        cold_table()
    if "warm" in asked:
        warm_table()
