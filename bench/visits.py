"""What the bonus `visits` states and learns where all steps share one table: docs/evidence/visits.md.

python -m bench.visits --draws 1000 --seeds 10 --episodes 300
"""

import argparse
from dataclasses import replace

import numpy as np

import klearning as kl

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
    """What is believed after so many episodes of going right with probability 0.7."""
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
    for name, belief in beliefs.items():
        best, error = expected_optimum(belief, given.draws)
        plans = {bonus: kl.solve(belief, bonus=bonus) for bonus in ("visits", "split")}
        told = kl.certify(belief, plans["visits"].policy, given.draws)
        stated = " | ".join(f"{plan.bound:.2f}" for plan in plans.values())
        print(f"| {name} | {best:.2f} ± {error:.2f} | {stated} | {told.bound:.2f} | {told.regret:.4f} |", flush=True)
    layered = replace(PRIOR, stationary=False)  # DeepSea has layers of different sizes
    for name, where, prior in (("RiverSwim", world, PRIOR), ("DeepSea 8", kl.deep_sea(8), layered)):
        for agent in (kl.KLearning(), kl.KLearning(bonus="split"), kl.KLearning(bonus="visits"), kl.PSRL()):
            runs = kl.run(agent, where, prior=prior, episodes=given.episodes, seeds=given.seeds)
            total = runs.regret[:, -1]
            print(
                f"| {name} | {agent!r} | {total.mean():.1f} ± {total.std(ddof=1) / np.sqrt(len(total)):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
