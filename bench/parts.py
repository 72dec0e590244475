"""Where the time of one episode of K-learning goes at depth 50: a part of `make bench`, or python -m bench.parts

After 300 episodes of protocol `text`; least CPU time of many rounds, inside a compiled loop, and as multiples of the
bare polynomial loop in the same rounds. Writes docs/evidence/data/performance.parts.json.
"""

import time
from collections.abc import Callable

import numpy as np

import klearning as kl
from bench.bare import polynomial_loop
from bench.record import recorded
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.fixed_optimism import Memory, update
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.models.soft import Soft, boltzmann, soft_sweep
from klearning.tabular.models.sweeps import policy_sweep
from klearning.tabular.optimism.program import program, soft_part
from klearning.tabular.optimism.split.priced_sweep import Priced, priced_sweep
from klearning.tabular.trials.task import Task, play
from klearning.tabular.trials.trial import new_task

DEPTH, TIMES, ROUNDS, TAU = 50, 400, 12, 0.1  # often enough that a call from Python, some 100 µs, does not count


@kernel
def sweeps(times: int, m: Memory, W: Soft) -> float:
    f = 0.0
    for _ in range(times):
        f, _, _, _ = soft_sweep(m.posterior.model, m.c, TAU, W)
    return f


@kernel
def policies(times: int, m: Memory, W: Soft) -> None:
    for _ in range(times):
        boltzmann(m.posterior.model.layers, W, m.policy)


@kernel
def plays(times: int, task: Task, policy: Floats) -> None:
    for t in range(1, times + 1):
        play(task, policy, t)


@kernel
def evaluations(times: int, task: Task, policy: Floats) -> float:
    value = 0.0
    for _ in range(times):
        value = policy_sweep(task.world.model, task.world.model.reward, policy, task.V, task.scratch)
    return value


@kernel
def updates(times: int, m: Memory, episode: Episode) -> float:
    for _ in range(times):
        m = update(m, m.warm, episode)
    return m.warm


@kernel
def priced_sweeps(times: int, m: Memory, room: Priced) -> float:
    f = 0.0
    for _ in range(times):
        f, _, _, _ = priced_sweep(m.posterior.model, m.c, TAU, room)
    return f


def part_table() -> None:
    agent, world = kl.KLearning().algorithm, TEXT.world(DEPTH)
    belief = Belief.before(TEXT.prior, world)
    m: Memory = agent.advance(agent.begin(belief), new_task(agent, world, 300, 0), 0, 300)
    task = new_task(agent, world, TIMES + 1, 0, TIMES + 1)  # evaluated apart
    W, room = soft_part(m.work), program(belief.after(m.posterior), "split").work
    assert isinstance(room, Priced)
    d, out = np.linspace(0.0, 20.0, m.c.shape[1]), np.zeros(m.c.shape[1])
    play(task, m.policy, 0)
    parts: dict[str, Callable[[], object]] = {
        "bare polynomial loop": lambda: polynomial_loop(TIMES, d, out),
        "sweep with f, f′, f″": lambda: sweeps(TIMES, m, W),
        "policy from its shares": lambda: policies(TIMES, m, W),
        "acting, 50 steps": lambda: plays(TIMES, task, m.policy),
        "exact evaluation": lambda: evaluations(TIMES, task, m.policy),
        "learning, 50 steps": lambda: updates(TIMES, m, task.episode),
        "sweep of `split`": lambda: priced_sweeps(TIMES, m, room),
    }
    least = dict.fromkeys(parts, np.inf)
    for _ in range(ROUNDS + 1):
        for name, part in parts.items():
            start = time.process_time()
            part()
            least[name] = min(least[name], (time.process_time() - start) / TIMES)
    with recorded("performance.parts", ("part of an episode at depth 50", "µs", "bare loops"), "make bench") as row:
        for name, seconds in least.items():
            row(name, f"{1e6 * seconds:.1f}", f"{seconds / least['bare polynomial loop']:.1f}")


if __name__ == "__main__":
    part_table()
