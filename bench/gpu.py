"""K-learning on a GPU: how fast, how exact, and whether it learns as on the CPU.

    python -m bench.gpu --json gpu.json                 # everything, on a GPU
    python -m bench.gpu speed accuracy                  # parts of it
    NUMBA_ENABLE_CUDASIM=1 python -m bench.gpu --small  # whether it runs at all

Speed is of the whole loop: plan to a duality gap of 1e-4, exact value of the policy, one episode, update. Bytes are
those that the algorithm has to move (visits and reward sums of every pair once per sweep, the policy's shares, and the
sectors of 32 bytes that an episode touches), so that bytes per second say how far from the limit it is.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

import klearning as kl
from bench.record import machine, record
from klearning.gpu.batch import Batch, new_batch, on_host, play
from klearning.gpu.k_learning import KLearningProgram, Search
from klearning.gpu.layout import new_log, zeros
from klearning.gpu.random import F
from klearning.numerics.statistics import mean_interval
from klearning.tabular.optimism.program import k_values, program, solve_at
from klearning.tabular.trials import regret
from tests.support.device_plans import beliefs, plans_for

TOLERANCE = 1e-4
SECTOR = 32  # bytes that come together
WARP = 32  # threads that go side by side
ANY_GAP = F(1e30)


def speed(world: kl.MDP, seeds: int, episodes: int, launch: int = 50, **variant: Any) -> dict[str, Any]:
    """Episodes a second over the first ``episodes`` of every seed; a variant is of fields of the batch."""
    agent, numbers = kl.KLearning(tolerance=TOLERANCE), np.arange(seeds, dtype=np.uint32)
    form, log = KLearningProgram(agent, kl.Prior(), world), new_log(4, launch, seeds)

    def fresh() -> Batch:
        return replace(new_batch(world, "KLearning", numbers), **variant)

    began = time.perf_counter()
    batch = fresh()
    form.advance(batch, form.begin(batch), log, 0, 1)
    cuda.synchronize()
    compiled = time.perf_counter() - began
    del batch
    batch = fresh()
    search, seconds, sweeps, together = form.begin(batch), 0.0, [], []
    for first in range(0, episodes, launch):
        count = min(launch, episodes - first)
        cuda.synchronize()
        began = time.perf_counter()
        form.advance(batch, search, log, first, count)
        cuda.synchronize()
        seconds += time.perf_counter() - began
        taken = log.diagnostics.copy_to_host()[:count, 3]
        sweeps.append(taken.mean())
        warps = taken[:, : seeds // WARP * WARP].reshape(count, -1, WARP).sum(axis=0).max(axis=1) / count
        together.append(warps.mean())
    mean_sweeps, entries = float(np.mean(sweeps)), 0 if batch.shape.single else int(world.rows.length.sum())
    per_sweep = 4 * (2 * world.states * world.actions + world.states * (world.actions - 1) + entries)
    per_walk = world.horizon * SECTOR * (5 if batch.shape.single else 7)
    rate, moved = seeds * episodes / seconds, mean_sweeps * per_sweep + per_walk + 4 * 7
    return {
        "world": world.name,
        "actions": world.actions,
        "seeds": seeds,
        "episodes": episodes,
        "seconds": seconds,
        "episodes_per_second": rate,
        "sweeps": mean_sweeps,
        "sweeps_of_the_slowest_of_32": float(np.mean(together)),
        "bytes_per_episode": moved,
        "gigabytes_per_second": rate * moved / 1e9,
        "first_call_seconds": compiled,
        "threads": batch.threads,
        "registers": batch.registers,
    }


def speeds(small: bool) -> Iterator[Any]:
    """The two sizes of docs/evidence/gpu.md, and a plain copy, the ceiling."""
    if not small:
        yield {"copy_gigabytes_per_second": copy_rate()}
    for depth, seeds, episodes in ((3, 32, 6),) if small else ((20, 524_288, 300), (50, 65_536, 1000)):
        yield speed(kl.deep_sea(depth), seeds, episodes)


def variants(small: bool) -> Iterator[Any]:
    """Threads per block and registers per thread: which should be the room's own."""
    places: list[tuple[kl.MDP, int, int]] = [(kl.deep_sea(3), 32, 3), (kl.random_mdp(3, 2, 3), 32, 3)]
    if not small:
        sizes = ((20, 524_288, 150), (50, 65_536, 200), (50, 262_144, 100))
        places = [(kl.deep_sea(depth), seeds, episodes) for depth, seeds, episodes in sizes]
        places += [(kl.random_mdp(5, actions, 5), 524_288, 100) for actions in (2, 8)]
    for world, seeds, episodes in places:
        for registers in (None,) if small else (None, 64, 80, 128):
            for threads in (64, 128, 256):
                yield speed(world, seeds, episodes, threads=threads, registers=registers)


def growth(small: bool) -> Iterator[Any]:
    """With depth, with seeds, with actions."""
    if small:
        yield speed(kl.random_mdp(3, 3, 3), 32, 3)
        return
    for depth in (10, 20, 30, 50, 100):
        yield speed(kl.deep_sea(depth), 2**16, 100)
    for power in (10, 12, 14, 16, 18, 20):
        yield speed(kl.deep_sea(20), 2**power, 100)
    for actions in (2, 4, 8):
        yield speed(kl.random_mdp(5, actions, 5), 2**16, 100)


def copy_rate(size: int = 2**28) -> float:
    """Gigabytes a second, read and written, of a plain copy: the ceiling."""

    @cuda.jit  # type: ignore[untyped-decorator]
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


def planned(batch: Batch, form: KLearningProgram, tau: Any, tolerance: Any) -> tuple[Any, Any]:
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
    form = KLearningProgram(agent, prior, world)
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
    form = KLearningProgram(agent, kl.Prior(), world)
    batch = new_batch(world, "KLearning", np.arange(seeds, dtype=np.uint32))
    chunks = [on_host(log, 4, count) for log, count in play(form, batch, episodes)]
    hits = np.concatenate([chunk.hits for chunk in chunks], axis=1)
    values = np.concatenate([chunk.values for chunk in chunks], axis=1)
    lost = (kl.optimal(world).value - values.astype(np.float64)).sum(axis=1)
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


def learnings(small: bool) -> Iterator[Any]:
    for sizes in ((3, 30, 8, 8),) if small else ((20, 500, 20_000, 2000), (50, 2000, 20_000, 500)):
        yield learning(*sizes)


def bayes_regret(small: bool) -> Iterator[Any]:
    """Random MDPs of 5 layers of 5 states and 2 actions, a world per seed, on both."""
    count, few, episodes = (8, 4, 3) if small else (100_000, 1000, 200)
    agent = kl.KLearning(tolerance=TOLERANCE)
    began = time.perf_counter()
    worlds = kl.gpu.random_worlds(count, 5, 2, 5)
    drawn = time.perf_counter() - began
    runs = kl.run(agent, worlds, seeds=count, episodes=episodes, device="gpu", keep="points")
    totals = [
        float(kl.run(agent, kl.random_mdp(5, 2, 5, seed=i), seeds=[i], episodes=episodes).regret[0, -1])
        for i in range(few)
    ]
    yield {
        "worlds": count,
        "episodes": episodes,
        "seconds_to_draw": drawn,
        "seconds": runs.seconds,
        "gpu": list(mean_interval(runs.regret[:, -1])),
        "cpu_worlds": few,
        "cpu": list(mean_interval(np.array(totals))),
    }


PARTS = {
    "speed": speeds,
    "accuracy": lambda small: [accuracy(4, 12, (1, 3)) if small else accuracy()],
    "learning": learnings,
    "bayes_regret": bayes_regret,
    "growth": growth,
    "variants": variants,
}


SPEED_HEADINGS = (
    "world", "seeds × episodes", "seconds", "episodes per second", "sweeps per plan", "bytes per episode", "GB/s",
    "share of a copy",
)  # fmt: skip


def speed_row(numbers: dict[str, Any], copy: float) -> list[str]:
    moved = numbers["gigabytes_per_second"]
    return [
        numbers["world"], f"{numbers['seeds']:,} × {numbers['episodes']:,}", f"{numbers['seconds']:.2f}",
        f"{numbers['episodes_per_second']:.2e}", f"{numbers['sweeps']:.2f}", f"{numbers['bytes_per_episode']:,.0f}",
        f"{moved:,.0f}", f"{moved / copy:.0%}",
    ]  # fmt: skip


def gpu_machine() -> str:
    """The GPU, and versions."""
    return f"One {cuda.get_current_device().name.decode()}; {machine()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--json", type=Path, help="write the numbers there too")
    parser.add_argument("--small", action="store_true", help="sizes for the simulator")
    options = parser.parse_args()
    found: dict[str, list[Any]] = {}
    for part in options.parts:
        for numbers in PARTS[part](options.small):
            found.setdefault(part, []).append(numbers)
            print(part, json.dumps(numbers), flush=True)
            if options.json:
                options.json.write_text(json.dumps(found, indent=1) + "\n")
    if "speed" in found and not options.small:
        copy, *speeds = found["speed"]
        rows = [speed_row(numbers, copy["copy_gigabytes_per_second"]) for numbers in speeds]
        record("gpu.speed", "python -m bench.gpu", SPEED_HEADINGS, rows, device=gpu_machine())


if __name__ == "__main__":
    main()
