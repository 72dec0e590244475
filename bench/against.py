"""This version against another one, row by row, in one run: python -m bench.against FOLDER [ROUNDS [WORD]]

FOLDER holds the other version's checkout; only rows whose names have the WORD are measured, if there is one. Rows
are written to docs/evidence/data/performance.against.json; with a WORD, the others stay as they are.

Two processes, one per version, take turns at every row: machines are noisy, and minutes apart they differ by more than
versions do. A row's time is CPU time, the least of all turns; its ratio is that of the two. Rows use public names
alone, and settings that both versions have.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

HERE = Path(__file__).parents[1]
ROUNDS = 20

Row = Callable[[], object]


def rows() -> dict[str, Row]:
    """The measurements, each some tens of milliseconds."""
    return {**planning(), **episodes(), **simulators(), **matches()}


def planning() -> dict[str, Row]:
    import klearning as kl  # of the version that the worker was started for

    def repeated(times: int, action: Row) -> Row:
        return lambda: [action() for _ in range(times)]

    world, large = kl.deep_sea(50), kl.deep_sea(400)
    belief, wide = (kl.Belief.empty(kl.Prior(), w.widths, w.actions, w.initial) for w in (world, large))
    policy = kl.optimal(world).policy
    return {
        "kl.solve, paper, depth 50": repeated(100, partial(kl.solve, belief, bonus="paper")),
        "kl.solve, reward, depth 50": repeated(100, partial(kl.solve, belief)),
        "kl.solve, split, depth 50": repeated(10, partial(kl.solve, belief, bonus="split")),
        "kl.solve, one sweep, depth 50": repeated(100, partial(kl.solve, belief, 0.3)),
        "kl.solve, one sweep, depth 400": repeated(5, partial(kl.solve, wide, 0.3)),
        "kl.optimal, depth 50": repeated(300, partial(kl.optimal, world)),
        "kl.evaluate, depth 50": repeated(100, partial(kl.evaluate, world, policy)),
    }


def episodes() -> dict[str, Row]:
    """As in the table of agents: 1,000 episodes and more at depth 50, with exact regret in every one."""
    import klearning as kl

    agents: dict[str, tuple[kl.Agent, int]] = {
        "KLearning, optimal": (kl.KLearning(), 1000),
        "KLearning, schedule": (kl.KLearning(temperature="schedule"), 1000),
        "KLearning, split": (kl.KLearning(bonus="split"), 40),
        "PSRL": (kl.PSRL(), 100),
        "RLSVI": (kl.RLSVI(), 1500),
        "UCBVI, hoeffding": (kl.UCBVI(), 1500),
        "UCBVI, bernstein": (kl.UCBVI(bonus="bernstein"), 1500),
        "BEB": (kl.BEB(), 1500),
        "BOLT": (kl.BOLT(), 1500),
        "UCRL2": (kl.UCRL2(), 1500),
        "UCFH, least_visits 1": (kl.UCFH(least_visits=1), 1500),
        "SoftQLearning, model": (kl.SoftQLearning(), 1500),
        "SoftQLearning, td": (kl.SoftQLearning(form="td"), 3000),
        "QLearning": (kl.QLearning(), 3000),
        "OptimisticQLearning, hoeffding": (kl.OptimisticQLearning(), 3000),
        "OptimisticQLearning, bernstein": (kl.OptimisticQLearning(bonus="bernstein"), 3000),
    }
    play = partial(kl.run, threads=1)
    deep = {
        f"{name}, depth 50": partial(play, agent, kl.deep_sea(50), episodes=count, seeds=1)
        for name, (agent, count) in agents.items()
    }
    many = partial(play, kl.KLearning(), kl.deep_sea(10), episodes=1000, seeds=10)
    return {**deep, "KLearning, optimal, depth 10, 10 seeds": many}


def simulators() -> dict[str, Row]:
    import gymnasium

    import klearning as kl

    cases: list[tuple[str, kl.Agent, int]] = [
        ("FrozenLake-v1", kl.KLearning(), 100),
        ("FrozenLake-v1", kl.PSRL(), 60),
        ("CliffWalking-v1", kl.KLearning(), 40),
        ("Taxi-v4", kl.KLearning(), 10),
    ]
    return {
        f"kl.learn, {name}, {type(agent).__name__}": partial(
            kl.learn, agent, gymnasium.make(name), horizon=100, episodes=count
        )
        for name, agent, count in cases
    }


def matches() -> dict[str, Row]:
    """Rounds of a small matrix game, where all but the players' programs counts, and episodes of a Markov game."""
    from klearning import games

    players: dict[str, tuple[games.Player, int]] = {
        "KLearning": (games.KLearning(), 5000),
        "UCB": (games.UCB(), 20_000),
        "Thompson": (games.Thompson(), 20_000),
        "EXP3": (games.EXP3(), 50_000),
    }
    rock, layered = games.rock_paper_scissors(), games.random_markov_game()
    play = partial(games.play, opponent="best_response", seeds=1, threads=1)
    rounds = {
        f"games.play, {name}, 3 × 3": partial(play, player, rock, rounds=count)
        for name, (player, count) in players.items()
    }
    return {**rounds, "games.play, UCB, Markov game": partial(play, games.UCB(), layered, rounds=2000)}


def serve(word: str) -> None:
    """A worker: told a row's name, it says how much CPU time the row took."""
    measured = {name: action for name, action in rows().items() if word in name}
    for action in measured.values():
        action()  # compiled
    print(*measured, sep="\t", flush=True)
    for line in sys.stdin:
        start = time.process_time()
        measured[line.rstrip("\n")]()
        print(time.process_time() - start, flush=True)


@contextmanager
def worker(folder: Path, word: str) -> Iterator[tuple[IO[str], IO[str]]]:
    """A process that serves the version of this folder, as what it reads and what it writes."""
    command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), "--serve", word]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin, process.stdout


def ask(asked: IO[str], answers: IO[str], row: str) -> float:
    print(row, file=asked, flush=True)
    return float(answers.readline())


def main() -> None:
    other, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    with worker(other, word) as before, worker(HERE, word) as after:
        names, same = (answers.readline().rstrip("\n").split("\t") for _, answers in (before, after))
        if names != same:
            raise SystemExit("the two versions have not the same rows")
        found = []
        for name in names:
            turns = [(ask(*before, name), ask(*after, name)) for _ in range(rounds)]
            old, new = (1e3 * min(times) for times in zip(*turns, strict=True))
            found.append([name, f"{old:.2f}", f"{new:.2f}", f"{new / old:.3f}"])
            print(*found[-1], sep=" | ", flush=True)
    from bench.record import record  # of this version: workers have the other's sources

    headings = ["row", "earlier version, CPU ms", "CPU ms", "ratio"]
    record("performance.against", "python -m bench.against FOLDER", headings, found, keep=bool(word))


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["--serve"] else main()
