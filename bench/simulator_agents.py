"""Returns of agents in nine simulators, each with the prior that random play suggests.

    python -m bench.simulator_agents [--seeds 10] [--processes 2] [NAME ...]

Writes docs/evidence/data/benchmarks.agents.json: K-learning's mean return while learning, and that of its greedy policy
afterwards; and how much more of both other agents have, in pairs of seeds. Simulators, priors and the outcomes that are
kept are those of `bench.suggested_priors`. `--kept` makes the table of the seeds that are there already; rows that it
has no outcomes of stay as they are. `--first 100` plays other seeds and prints the table alone: what they show in the
simulators of `FITTED` may change an agent.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from bench.record import record
from bench.suggested_priors import (
    AGENTS,
    FITTED,
    SIMULATORS,
    Job,
    K,
    Outcome,
    interval_text,
    kept,
    number,
    outcomes,
)
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats

HEADINGS = ("simulator: agent", "simulator", "agent", "episodes", "seeds", "while learning", "deployed")
FEWEST = 3  # seeds


def row(name: str, agent: str, found: dict[Job, Outcome], seeds: Sequence[int]) -> list[str]:
    """Of the seeds that the agent and K-learning have both played; none if there are too few."""
    jobs = [[Job(name, "suggested", each, seed) for each in (agent, K)] for seed in seeds]
    pairs = [[found[job] for job in pair] for pair in jobs if all(job in found for job in pair)]
    if len(pairs) < FEWEST:
        return []
    _, learning, deployed = np.array(pairs).transpose(2, 1, 0)
    label = f"{name} (fitted)" if name in FITTED else name
    few = f" ({len(pairs)} seeds)" if len(pairs) < len(seeds) else ""
    told = [f"{label}: {agent}", label, agent, number(SIMULATORS[name].episodes), str(len(pairs))]
    return told + [cell(agent, *numbers) + few for numbers in (learning, deployed)]


def cell(agent: str, own: Floats, K_learning: Floats) -> str:
    if agent == K:
        return interval_text(mean_interval(own))
    more = interval_text(mean_interval(own - K_learning))
    return more if more.startswith("−") else f"+{more}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SIMULATORS), help="simulators")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--kept", action="store_true", help="measure nothing")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    jobs = [Job(name, "suggested", agent, seed) for seed in seeds for name in given.names for agent in AGENTS]
    found = kept() if given.kept else outcomes(jobs, given.processes)
    rows = [row(name, agent, found, seeds) for name in given.names for agent in AGENTS]
    rows = [cells for cells in rows if cells]
    for cells in rows:
        print(*cells, sep=" | ")
    if given.first == 0:
        command = f"python -m bench.simulator_agents --seeds {given.seeds}"
        record("benchmarks.agents", command, HEADINGS, rows, keep=True, device="Any machine")


if __name__ == "__main__":
    main()
