"""K-learning on a GPU: how fast, how exact, and whether it learns as on the CPU.

    python -m bench.gpu                      # everything, on a GPU: about three minutes, most of them compilation
    python -m bench.gpu --only speed --json gpu.json

Speed is of the whole loop: plan to a duality gap of 1e-4, exact value of the policy, one episode, update. Bytes are
those that the algorithm has to move (visits and reward sums of every pair once per sweep, the policy's shares, and the
sectors of 32 bytes that an episode touches), so that bytes per second say how far from the limit it is.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

import klearning as kl
from klearning.gpu.batch import Batch, beliefs, new_batch, play
from klearning.gpu.k_learning import KLearningForm, Search, plans_for
from klearning.gpu.layout import F, Log, zeros
from klearning.optimism.program import k_values, program, solve_at
from klearning.statistics import mean_interval

TOLERANCE = 1e-4
SECTOR = 32  # bytes that come together
ANY_GAP = F(1e30)


def speed(depth: int, seeds: int, episodes: int, launch: int = 50) -> dict[str, Any]:
    """Episodes a second over the first ``episodes`` of every seed."""
    world, agent = kl.deep_sea(depth), kl.KLearning(tolerance=TOLERANCE)
    form = KLearningForm(agent, kl.Prior(), world)
    log = Log(*(zeros((launch, seeds)) for _ in range(3)), zeros((4, launch, seeds)))
    began = time.perf_counter()
    warm = new_batch(world, "KLearning", np.arange(seeds, dtype=np.uint32))
    form.advance(warm, form.begin(warm), log, 0, 1)
    cuda.synchronize()
    compiled = time.perf_counter() - began
    del warm
    batch = new_batch(world, "KLearning", np.arange(seeds, dtype=np.uint32))
    search, seconds, sweeps, together = form.begin(batch), 0.0, [], []
    for first in range(0, episodes, launch):
        count = min(launch, episodes - first)
        cuda.synchronize()
        began = time.perf_counter()
        form.advance(batch, search, log, first, count)
        cuda.synchronize()
        seconds += time.perf_counter() - began
        taken = log.diagnostics.copy_to_host()[3, :count]
        sweeps.append(taken.mean())
        together.append(taken[:, : seeds // 32 * 32].reshape(count, -1, min(32, seeds)).max(axis=2).mean())
    mean_sweeps = float(np.mean(sweeps))
    per_sweep = world.states * (8 * world.actions + 4 * (world.actions - 1))
    per_walk = world.horizon * 5 * SECTOR
    rate = seeds * episodes / seconds
    bytes_per_episode = mean_sweeps * per_sweep + per_walk + 4 * 7
    return {
        "depth": depth, "seeds": seeds, "episodes": episodes, "seconds": seconds, "episodes_per_second": rate,
        "sweeps": mean_sweeps, "sweeps_of_32": float(np.mean(together)), "bytes_per_episode": bytes_per_episode,
        "gigabytes_per_second": rate * bytes_per_episode / 1e9, "first_call_seconds": compiled,
    }  # fmt: skip


def copy_rate(size: int = 2**28) -> float:
    """Gigabytes a second, read and written, of a plain copy: the ceiling."""

    @cuda.jit
    def copy(x: Any, y: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    x, y = zeros((size,)), zeros((size,))
    best = 0.0
    for _ in range(4):
        cuda.synchronize()
        began = time.perf_counter()
        copy[-(-size // 256), 256](x, y)
        cuda.synchronize()
        best = max(best, 8 * size / (time.perf_counter() - began) / 1e9)
    return best


def planned(batch: Batch, form: KLearningForm, tau: Any, tolerance: Any) -> tuple[Any, Any]:
    """One plan of every seed from its τ on: K, and (τ, f, gap, sweeps)."""
    seeds = len(batch.seeds)
    K, out = zeros((batch.shape.states * batch.shape.actions, seeds)), zeros((4, seeds))
    search = Search(cuda.to_device(np.asarray(tau, F)), cuda.to_device(np.ones(seeds, F)))
    numbers = form.numbers._replace(tolerance=tolerance)
    plans_for(batch.shape, form.kind)[batch.grid](batch.world, batch.counts, numbers, search, batch.share, K, out)
    return K.copy_to_host(), out.copy_to_host()


def accuracy(depth: int = 20, count: int = 1000, ages: tuple[int, ...] = (1, 3, 10, 30, 100, 300)) -> dict[str, Any]:
    """K-values, f and gap of many beliefs against float64 on the CPU: at the same τ, and at the τ each finds."""
    world, prior, agent = kl.deep_sea(depth), kl.Prior(), kl.KLearning(tolerance=TOLERANCE)
    form = KLearningForm(agent, prior, world)
    each = -(-count // len(ages))
    worst = dict.fromkeys(("K", "f", "gap", "optimum"), 0.0)
    compared = 0
    for age in ages:
        batch = new_batch(world, "KLearning", np.arange(each, dtype=np.uint32))
        for _ in play(form, batch, age):
            pass
        solved = [program(belief, agent.bonus) for belief in beliefs(batch, prior, world, range(each))]
        exact = [kl.solve(one.belief, tolerance=1e-10) for one in solved]
        tau = np.array([plan.temperature for plan in exact])
        K, out = planned(batch, form, tau, ANY_GAP)  # one sweep at this τ
        policy = np.zeros_like(solved[0].c)
        for i, one in enumerate(solved):
            at = float(F(tau[i]))
            found = solve_at(one.model, one.c, at, policy, one.work)
            K_exact, V = np.zeros_like(one.c), np.zeros(world.states)
            k_values(one.model, one.c, at, K_exact, V, one.work)
            worst["K"] = max(worst["K"], float(abs(K_exact.T.ravel() - K[:, i]).max()))
            worst["f"] = max(worst["f"], abs(found.bound - float(out[1, i])))
            worst["gap"] = max(worst["gap"], abs(found.gap - float(out[2, i])))
        _, out = planned(batch, form, 3.0 * tau, F(TOLERANCE))  # a search from far off
        best = np.array([plan.bound for plan in exact])
        worst["optimum"] = max(worst["optimum"], float((abs(out[1] - best) / best).max()))
        compared += each
    return {"depth": depth, "beliefs": compared, "largest_difference": worst}


def learning(depth: int, episodes: int, seeds: int, cpu_seeds: int) -> dict[str, Any]:
    """First hits and solved times on both, with 95% intervals of their means over the seeds that solved it."""
    world, agent, result = kl.deep_sea(depth), kl.KLearning(tolerance=TOLERANCE), {}
    form = KLearningForm(agent, kl.Prior(), world)
    batch = new_batch(world, "KLearning", np.arange(seeds, dtype=np.uint32))
    chunks = list(play(form, batch, episodes))
    hits = np.concatenate([chunk.hits for chunk in chunks], axis=1)
    values = np.concatenate([chunk.values for chunk in chunks], axis=1)
    lost = (kl.optimal(world).value - values.astype(np.float64)).sum(axis=1)
    from klearning.trials import regret

    runs = kl.run(agent, world, episodes=episodes, seeds=cpu_seeds)
    for name, first_hit, solved, total in (
        ("gpu", regret.first_hit(hits), regret.time_to_solve(hits), lost),
        ("cpu", runs.first_hit, runs.solved, runs.regret[:, -1]),
    ):
        result[name] = {
            "seeds": len(total),
            "solved": int(np.isfinite(solved).sum()),
            **{
                key: [float(x) for x in mean_interval(times[np.isfinite(times)])[:3]]
                for key, times in (("first_hit", first_hit), ("time_to_solve", solved), ("regret", total))
            },
        }
    return {"depth": depth, "episodes": episodes, **result}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["speed", "accuracy", "learning"], help="a part of it")
    parser.add_argument("--json", type=Path, help="write the numbers there too")
    parser.add_argument("--small", action="store_true", help="sizes for the simulator")
    options = parser.parse_args()
    small, found = options.small, {}

    def keep(name: str, numbers: Any) -> None:
        found[name] = numbers
        print(name, json.dumps(numbers), flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")

    if options.only in (None, "speed"):
        if not small:
            keep("copy_gigabytes_per_second", copy_rate())
        for depth, seeds, episodes in ((3, 32, 6),) if small else ((20, 524_288, 300), (50, 65_536, 1000)):
            keep(f"speed_{depth}", speed(depth, seeds, episodes))
    if options.only in (None, "accuracy"):
        keep("accuracy", accuracy(4, 12, (1, 3)) if small else accuracy())
    if options.only in (None, "learning"):
        for depth, episodes, seeds, cpu in (
            ((3, 30, 8, 8),) if small else ((20, 500, 20_000, 2000), (50, 2000, 20_000, 500))
        ):
            keep(f"learning_{depth}", learning(depth, episodes, seeds, cpu))


if __name__ == "__main__":
    main()
