"""Every agent on DeepSea: `python -m bench.agents [planners] [model_free] [online]`, for docs/evidence/agents.md.

A cell is the mean number of episodes until the first hit / until solved, over the seeds that got there.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import klearning as kl
from bench.record import recorded

FAST = (kl.KLearning, kl.VAPOR, kl.PSRL, kl.RLSVI, kl.OnlineKLearning)  # they solve all of it soon
FAST_CAP = 2_000
CAP = 20_000
PLANNERS: dict[str, Any] = {
    "KLearning()": kl.KLearning(),
    "KLearning(optimism='calibrated')": kl.KLearning(optimism="calibrated"),
    "VAPOR()": kl.VAPOR(),
    "PSRL()": kl.PSRL(),
    "RLSVI()": kl.RLSVI(),
    **{f"BEB(scale={x:g})": kl.BEB(scale=x) for x in (1.0, 0.01, 0.001)},
    "BOLT()": kl.BOLT(),
    **{f"BOLT(scale={x:g}, imagined_reward=1)": kl.BOLT(scale=x, imagined_reward=1.0) for x in (1.0, 0.1, 0.01)},
    **{f"UCBVI('hoeffding', scale={x:g})": kl.UCBVI("hoeffding", scale=x) for x in (1.0, 0.01, 0.001)},
    **{f"UCBVI('bernstein', scale={x:g})": kl.UCBVI("bernstein", scale=x) for x in (1.0, 0.01, 0.001)},
    **{f"UCRL2(scale={x:g})": kl.UCRL2(scale=x) for x in (1.0, 0.1, 0.01)},
    "UCFH()": kl.UCFH(),
    **{f"UCFH(scale={x:g}, least_visits=1)": kl.UCFH(scale=x, least_visits=1) for x in (1.0, 0.1, 0.01)},
}

LONG_CAP = 100_000
MODEL_FREE: dict[str, Any] = {
    "QLearning()": kl.QLearning(),
    "QLearning(step=0.5)": kl.QLearning(step=0.5),
    "SoftQLearning('td')": kl.SoftQLearning(form="td"),
    "SoftQLearning('td', step=0.5)": kl.SoftQLearning(form="td", step=0.5),
    "SoftQLearning('model')": kl.SoftQLearning(form="model"),
    **{f"OptimisticQLearning(scale={x:g})": kl.OptimisticQLearning(scale=x) for x in (1.0, 0.01, 0.001)},
    "OnlineKLearning()": kl.OnlineKLearning(),
    "OnlineKLearning('forward', replay=0)": kl.OnlineKLearning("forward", replay=0),
}

# settings of online K-learning were chosen on seeds below 24
ONLINE_SEEDS = range(100, 120)
ONLINE: dict[str, Any] = {
    "OnlineKLearning()": kl.OnlineKLearning(),
    "OnlineKLearning(sharpness=1)": kl.OnlineKLearning(sharpness=1.0),
    **{
        f"OptimisticQLearning(scale={x:g}, order='backward', replay=20)": kl.OptimisticQLearning(
            scale=x, order="backward", replay=20
        )
        for x in (1e-4, 1e-5, 1e-6)
    },
    "KLearning()": kl.KLearning(),
}


def cell(agent: Any, world: kl.MDP, cap: int, seeds: Sequence[int]) -> str:
    """Mean first hit / solved, with the number of seeds that solved if not all did."""
    runs = kl.run(agent, world, episodes=cap, seeds=seeds, evaluate_every=cap)
    parts = []
    for times in (runs.first_hit, runs.solved):
        reached = times[np.isfinite(times)]
        share = "" if reached.size in (0, len(seeds)) else f" ({reached.size} of {len(seeds)})"
        parts.append(f"{reached.mean():.0f}{share}" if reached.size else "–")
    return " / ".join(parts)


def write(name: str, agents: Mapping[str, Any], depths: Sequence[int], cap: int, seeds: Sequence[int]) -> None:
    with recorded(f"agents.{name}", ["agent", *(f"L = {L}" for L in depths)], f"python -m bench.agents {name}") as row:
        for label, agent in agents.items():
            most = FAST_CAP if isinstance(agent, FAST) else cap
            row(f"`{label}`", *(cell(agent, kl.deep_sea(L), most, seeds) for L in depths))


def write_online() -> None:
    headings = ["agent", *(f"L = {L}" for L in (10, 20, 30)), *(f"L = {L}, slip" for L in (10, 20, 30))]
    worlds = [kl.deep_sea(L, slip=slip / L) for slip in (0, 1) for L in (10, 20, 30)]
    with recorded("agents.online", headings, "python -m bench.agents online") as row:
        for label, agent in ONLINE.items():
            row(f"`{label}`", *(cell(agent, world, 100 * world.horizon, ONLINE_SEEDS) for world in worlds))


def main(names: Sequence[str]) -> None:
    for name in names or ("planners", "model_free", "online"):
        if name == "planners":
            write(name, PLANNERS, (10, 20, 30), CAP, range(5))
        elif name == "model_free":
            write(name, MODEL_FREE, (4, 6, 8, 10, 12, 14), LONG_CAP, range(5))
        else:
            write_online()


if __name__ == "__main__":
    main(sys.argv[1:])
