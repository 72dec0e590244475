"""Returns of agents in nine simulators, each with the prior that random play suggests.

    python -m bench.simulator_agents [--seeds 10] [--first 0] [--processes 2] [NAME ...]

Writes docs/evidence/data/benchmarks.agents.json: the mean return while learning, the mean return of the greedy policy
afterwards, and how much more of both than K-learning earns, in pairs of seeds. Protocol, simulators and outcomes that
are kept are those of `bench.suggested_priors`. With `--first 100` it prints the table of other seeds and writes none:
an agent may be changed by what it shows of the simulators of `FITTED`.
"""

import argparse

import numpy as np

from bench.record import record
from bench.suggested_priors import AGENTS, FITTED, SIMULATORS, Job, K, Outcome, interval_text, number, outcomes
from klearning.numerics.statistics import mean_interval

HEADINGS = ("simulator: agent", "episodes", "while learning", "more than K-learning", "deployed", "more, deployed")


def row(name: str, agent: str, of: dict[str, list[Outcome]]) -> list[str]:
    (_, learning, deployed), (_, K_learning, K_deployed) = (np.array(of[each]).T for each in (agent, K))
    label = f"{name} (fitted)" if name in FITTED else name
    told = [f"{label}: {agent}", number(SIMULATORS[name].episodes)]
    for mine, base in (learning, K_learning), (deployed, K_deployed):
        told.append(interval_text(mean_interval(mine)))
        told.append("" if agent == K else interval_text(mean_interval(mine - base)))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SIMULATORS), help="simulators")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    jobs = [Job(name, "suggested", agent, seed) for name in given.names for agent in AGENTS for seed in seeds]
    found = outcomes(jobs, given.processes)
    rows = []
    for name in given.names:
        of = {agent: [found[Job(name, "suggested", agent, seed)] for seed in seeds] for agent in AGENTS}
        rows += [row(name, agent, of) for agent in AGENTS]
    for line in rows:
        print(*line, sep=" | ")
    if given.first == 0:
        command = f"python -m bench.simulator_agents --seeds {given.seeds}"
        record("benchmarks.agents", command, HEADINGS, rows, keep=True)


if __name__ == "__main__":
    main()
