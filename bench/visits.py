"""Bounds and learning of the bonus `visits` if all steps share one table. Writes docs/evidence/data/visits.*.json.

python -m bench.visits --draws 1000 --seeds 10 --episodes 300
"""

import argparse
import time
from dataclasses import replace

import numpy as np

import klearning as kl
from bench.record import recorded
from klearning.tabular.optimism.bonuses import BonusName

PRIOR = kl.Prior(kl.Gaussian(0.0, 1.0, 0.05), kl.Dirichlet(0.3), stationary=True)


def unknown_row(seen: float, horizon: int = 20, mass: float = 0.3) -> kl.Belief:
    """Two states; the first pays 1 and leads to either, each seen so often; the second action is known to be bad."""
    prior = kl.Prior(kl.Gaussian(noise=0.0), kl.Dirichlet(mass), stationary=True)
    r, counts, later = np.array([[1.0, -1e4], [0.0, -1e4]]), np.zeros((2, 2, 2)), horizon - 2
    counts[1, :, 1] = counts[0, 1, 1] = 1e4
    counts[0, 0] = seen
    n = counts.sum(axis=-1)
    visits, sums = [n, *[0 * n] * later, np.ones((2, 2))], [n * r, *[0 * n] * later, r]
    return kl.Belief.from_counts(prior, visits, sums, [counts, *[0 * counts] * later], [1.0, 0.0])


def random_play(world: kl.MDP, episodes: int) -> kl.Belief:
    """The belief after N episodes of going right with probability 0.7."""
    rng, belief = np.random.default_rng(0), kl.Belief.before(PRIOR, world)
    width = world.widths[0]
    for _ in range(episodes):
        s, states, actions, rewards = 0, [], [], []
        for l in range(world.horizon):
            a = int(rng.random() < 0.7)
            states.append(l * width + s)
            actions.append(a)
            rewards.append(world.rewards[l][s, a] + 0.05 * rng.standard_normal())
            if l + 1 < world.horizon:
                s = rng.choice(width, p=world.transitions[l][s, a])
        belief = belief.update(np.array(states), actions, rewards)
    return belief


def expected_optimum(belief: kl.Belief, draws: int) -> tuple[float, float]:
    values = [kl.optimal(belief.sample(np.random.SeedSequence([1, i]))).value for i in range(draws)]
    return float(np.mean(values)), float(np.std(values) / np.sqrt(draws))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=300)
    given = parser.parse_args()
    world = kl.river_swim(6, horizon=20)
    beliefs = {f"one unknown row, seen {n} each way": unknown_row(n) for n in (0, 1, 3, 10)}
    beliefs |= {f"RiverSwim, {n} episodes": random_play(world, n) for n in (10, 100, 1000)}
    bound_table(beliefs, given.draws)
    agent_table(world, given.seeds, given.episodes)


def bound_table(beliefs: dict[str, kl.Belief], draws: int) -> None:
    headings = (
        "belief",
        "E V\\*",
        "`visits`",
        "`split`",
        "proved regret",
        "regret by draws",
        "time of `visits` / `split`",
    )
    with recorded("visits.bounds", headings, "python -m bench.visits") as row:
        for name, belief in beliefs.items():
            best, error = expected_optimum(belief, draws)
            plans = {bonus: kl.solve(belief, bonus=bonus) for bonus in ("visits", "split")}
            found = kl.certify(belief, plans["visits"].policy, draws)
            ratio = solve_seconds(belief, "visits") / solve_seconds(belief, "split")
            row(name, f"{best:.2f} ± {error:.2f}", *(f"{plan.bound:.2f}" for plan in plans.values()),
                f"{found.bound:.2f}", f"{found.regret:.4f}", f"{ratio:.0f}")  # fmt: skip


def solve_seconds(belief: kl.Belief, bonus: BonusName, rounds: int = 5) -> float:
    """CPU seconds of a plan, the least of some."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        kl.solve(belief, bonus=bonus)
        times.append(time.process_time() - start)
    return min(times)


def agent_table(river: kl.MDP, seeds: int, episodes: int) -> None:
    layered = replace(PRIOR, stationary=False)  # DeepSea has layers of different sizes
    agents = {f"`{bonus}`": kl.KLearning(bonus=bonus) for bonus in ("reward", "split", "visits")} | {"PSRL": kl.PSRL()}
    places = {"RiverSwim, stationary": (river, PRIOR), "DeepSea of depth 8, layered": (kl.deep_sea(8), layered)}
    with recorded("visits.agents", ("world", "agent", "regret", "CPU ms per episode"), "python -m bench.visits") as row:
        for place, (world, prior) in places.items():
            for name, agent in agents.items():
                kl.run(agent, world, prior=prior, episodes=2, seeds=1)  # compiles
                start = time.process_time()
                runs = kl.run(agent, world, prior=prior, episodes=episodes, seeds=seeds)
                spent = (time.process_time() - start) / (episodes * seeds)
                total = runs.regret[:, -1]
                error = total.std(ddof=1) / np.sqrt(len(total))
                row(place, name, f"{total.mean():.1f} ± {error:.1f}", f"{spent * 1e3:.2g}")


if __name__ == "__main__":
    main()
