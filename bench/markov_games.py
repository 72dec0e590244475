"""Markov games, how regret grows: python -m bench.markov_games [sea] [visits] [prior] [--seeds 30] [--games 100]

Sea is the guarded sea, against several opponents; visits is what was played there by one seed; prior is games drawn
from the prior, against the best response to our whole policy. The tables of sea and prior go into
docs/evidence/data; visits are printed.
"""

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np

from bench.record import recorded
from klearning import games
from klearning.games.match import Match
from klearning.games.matches import checked_belief
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats

AGENTS = (games.KLearning(), games.UCB(), games.Thompson())
EPISODES = (250, 500, 1000)
HEADINGS = (*(f"{t:,}" for t in EPISODES), f"after {max(EPISODES):,} [95%]")


def means(regret: Floats) -> list[str]:
    """Over the seeds, after each of `EPISODES`."""
    return [f"{regret[:, t - 1].mean():.1f}" for t in EPISODES]


def sea_table(seeds: int, depth: int = 5) -> None:
    headings = ("opponent", "agent", *HEADINGS, "per episode, last 100")
    with recorded("games.sea", headings, "python -m bench.markov_games sea") as row:
        sea_rows(row, seeds, depth)


def sea_rows(row: Callable[..., None], seeds: int, depth: int) -> None:
    game = games.guarded_sea(depth)
    for opponent in ("best_response", "equilibrium", "self_play"):
        for agent in AGENTS:
            matches = games.play(agent, game, opponent, rounds=max(EPISODES), seeds=seeds)
            last = mean_interval(matches.regret[:, -1])
            late = game.value - matches.values[:, -100:].mean()
            interval = f"{last.estimate:.1f} [{last.low:.1f}, {last.high:.1f}]"
            row(opponent, agent.name, *means(matches.regret), interval, f"{late:.4f}")


def visits_table(depth: int = 5, episodes: int = 500) -> None:
    """How often each pair of moves was played in the diagonal's cells, against the best response, seed 0."""
    print("| agent | cell | away, left | away, right | block, left | block, right |\n" + "|---" * 6 + "|")
    game = games.guarded_sea(depth)
    for agent in AGENTS:
        opponent = games.BestResponse()
        new_match = partial(Match, agent, game, opponent, checked_belief(agent, game, opponent))
        match = new_match(0, episodes, False)
        match.advance(episodes)
        for l, s in enumerate(game.model.layers[1:] - 1):
            visits = match.visits[s].ravel()
            print(f"| {type(agent).__name__} | {l + 1} | {' | '.join(f'{n:.0f}' for n in visits)} |")


def prior_table(count: int) -> None:
    """The same games for all agents, one match in each: Bayes regret."""
    headings = ("layers × states, moves", "agent", *HEADINGS, "power of the mean")
    with recorded("games.markov_prior", headings, f"python -m bench.markov_games prior --games {count}") as row:
        prior_rows(row, count)


def prior_rows(row: Callable[..., None], count: int) -> None:
    for layers, states, moves in ((1, 1, 2), (3, 2, 2), (4, 3, 2), (3, 2, 4)):
        boards = [games.random_markov_game(layers, states, moves, moves, seed=k) for k in range(count)]
        for agent in AGENTS:
            regret = np.concatenate([games.play(agent, g, rounds=max(EPISODES), seeds=1).regret for g in boards])
            curve, last = regret.mean(axis=0), mean_interval(regret[:, -1])
            power = np.log10(curve[-1] / curve[max(EPISODES) // 10 - 1])
            interval = f"{last.estimate:.0f} [{last.low:.0f}, {last.high:.0f}]"
            row(f"{layers} × {states}, {moves} × {moves}", agent.name, *means(regret), interval, f"{power:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="sea, visits, prior; by default all")
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
