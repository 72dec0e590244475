"""Markov games, how regret grows: python -m bench.markov_games [sea] [visits] [prior] [--seeds 30] [--games 100]

Sea is the guarded sea, against several opponents; visits is what was played there by one seed; prior is games drawn
from the prior, against the best response to our whole policy. Markdown comes out.
"""

import argparse

import numpy as np

from klearning import games
from klearning.games.markov_match import MarkovMatch, check_markov
from klearning.numerics.statistics import mean_interval

AGENTS = (games.KLearning(), games.UCB(), games.Thompson())
EPISODES = (250, 500, 1000)
HEADS = " | ".join(f"{t:,}" for t in EPISODES)


def means(regret: games.Matches | np.ndarray) -> str:
    curves = regret.regret if isinstance(regret, games.Matches) else regret
    return " | ".join(f"{curves[:, t - 1].mean():.1f}" for t in EPISODES)


def sea_table(seeds: int, depth: int = 5) -> None:
    print(
        f"| opponent | agent | {HEADS} | after {max(EPISODES):,} [95%] | per episode, last 100 |\n" + "|---" * 7 + "|"
    )
    game = games.guarded_sea(depth)
    for opponent in ("best_response", "equilibrium", "self_play"):
        for agent in AGENTS:
            matches = games.play(agent, game, opponent, rounds=max(EPISODES), seeds=seeds)
            last = mean_interval(matches.regret[:, -1])
            late = game.value - matches.values[:, -100:].mean()
            told = f"{last.estimate:.1f} [{last.low:.1f}, {last.high:.1f}] | {late:.4f}"
            print(f"| {opponent} | {type(agent).__name__} | {means(matches)} | {told} |", flush=True)


def visits_table(depth: int = 5, episodes: int = 500) -> None:
    """How often each pair of moves was played in the diagonal's cells, against the best response, seed 0."""
    print("| agent | cell | away, left | away, right | block, left | block, right |\n" + "|---" * 6 + "|")
    game = games.guarded_sea(depth)
    for agent in AGENTS:
        prior = check_markov(agent, agent, None, game.noise)
        match = MarkovMatch(agent, game, games.BestResponse(), prior, 0, episodes, False)
        match.advance(episodes)
        for l, s in enumerate(game.outlook.layers[1:] - 1):
            visits = match.sides.us.visits[s].ravel()
            print(f"| {type(agent).__name__} | {l + 1} | {' | '.join(f'{n:.0f}' for n in visits)} |")


def prior_table(count: int) -> None:
    """The same games for all agents, one match in each: Bayes regret."""
    print(f"| layers × states, moves | agent | {HEADS} | after {max(EPISODES):,} [95%] | power of the mean |")
    print("|---" * 7 + "|")
    for layers, states, moves in ((1, 1, 2), (3, 2, 2), (4, 3, 2), (3, 2, 4)):
        boards = [games.random_markov_game(layers, states, moves, moves, seed=k) for k in range(count)]
        for agent in AGENTS:
            regret = np.concatenate([games.play(agent, g, rounds=max(EPISODES), seeds=1).regret for g in boards])
            curve, last = regret.mean(axis=0), mean_interval(regret[:, -1])
            power = np.log10(curve[-1] / curve[max(EPISODES) // 10 - 1])
            told = f"{last.estimate:.0f} [{last.low:.0f}, {last.high:.0f}] | {power:.2f}"
            size = f"{layers} × {states}, {moves} × {moves}"
            print(f"| {size} | {type(agent).__name__} | {means(regret)} | {told} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="sea, visits, prior; all where none is named")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--games", type=int, default=100, help="drawn from the prior")
    arguments = parser.parse_args()
    if not arguments.tables or "sea" in arguments.tables:
        sea_table(arguments.seeds)
    if not arguments.tables or "visits" in arguments.tables:
        visits_table()
    if not arguments.tables or "prior" in arguments.tables:
        prior_table(arguments.games)


if __name__ == "__main__":
    main()
