"""Newton's method against a carried curvature: how many sweeps a plan takes by each, on the CPU.

    python -m bench.carried_curvature        # a minute; the table of docs/evidence/performance.md#on-a-gpu

The kernel of the GPU has no f″: it carries f″ in log τ, as a share of f − J, from plan to plan, and corrects it by what
two sweeps of one plan say. Here the same rule runs with the sweep of the CPU.
"""

import math

import numpy as np

import klearning as kl
from klearning.tabular.agents.fixed_optimism import FixedOptimism, update
from klearning.tabular.models.soft import boltzmann, soft_sweep
from klearning.tabular.optimism.temperature import allowed, duality_gap, first_guess, newton
from klearning.tabular.trials.task import play
from klearning.tabular.trials.trial import Trial

SEEDS = 4


def sweeps(depth: int, episodes: int, seed: int, tolerance: float, carried: bool) -> list[int]:
    """Of every plan of one run."""
    agent = FixedOptimism("optimal", "reward", tolerance, 1.0)
    trial = Trial(agent, kl.deep_sea(depth), kl.Prior(), seed, episodes)
    memory, share, warm, counts = trial.memory, 1.0, 0.0, []
    for t in range(episodes):
        model, c = memory.posterior.model, memory.c
        tau, low, high, count = warm if warm > 0.0 else first_guess(model, c), 0.0, math.inf, 0
        before = slope_before = 0.0
        while True:
            f, H, C, f2 = soft_sweep(model, c, tau, memory.work)
            count += 1
            slope, optimism, now = tau * H - C / tau, tau * H + C / tau, math.log(tau)
            low, high = (low, tau) if slope > 0.0 else (tau, high)
            curvature = slope + tau * tau * f2
            if carried:
                if count > 1 and now != before and (slope - slope_before) / (now - before) > 0.0:
                    share = (slope - slope_before) / (now - before) / optimism
                curvature = share * optimism
            before, slope_before = now, slope
            better = newton(tau, slope, curvature, low, high)
            if duality_gap(tau, H, C) <= allowed(tolerance, f, optimism):
                break
            tau = better
        counts.append(count)
        warm = better
        boltzmann(model.layers, memory.work, memory.policy)
        play(trial.task, memory.policy, t)
        memory = update(memory, warm, trial.task.episode)
    return counts


def main() -> None:
    print("| depth | episodes | gap | Newton: sweeps per plan, most | carried curvature: sweeps per plan, most |")
    print("| --- | --- | --- | --- | --- |")
    for depth, episodes in ((20, 300), (50, 1000)):
        for tolerance in (1e-4, 1e-6):
            cells = []
            for carried in (False, True):
                counts = np.array([sweeps(depth, episodes, seed, tolerance, carried) for seed in range(SEEDS)])
                cells.append(f"{counts.mean():.2f}, {counts.max()}")
            print(f"| {depth} | {episodes} | {tolerance:g} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
