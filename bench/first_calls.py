"""How long the first call on a machine takes: python -m bench.first_calls [FOLDER [TIMES]]

Each call is made in a process of its own with an empty cache of kernels, and again in another one with the cache that
the first filled. FOLDER holds another version's checkout with its .venv, which is measured, too. Times are of the call
alone, in CPU seconds, the least of TIMES processes, one by default; the import is a row of its own.

Writes docs/evidence/data/performance.first_calls.json.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.record import record

HERE = Path(__file__).parents[1]
CALLS = {
    "`import klearning`": "pass",
    "`kl.run`, K-learning": "kl.run(kl.KLearning(), world, episodes=20, seeds=1)",
    "`kl.run`, PSRL": "kl.run(kl.PSRL(), world, episodes=20, seeds=1)",
    "`kl.run`, VAPOR": "kl.run(kl.VAPOR(), world, episodes=20, seeds=1)",
    "`kl.run`, calibrated K-learning": "kl.run(kl.KLearning(optimism='calibrated'), world, episodes=20, seeds=1)",
    "`kl.learn`, K-learning": "kl.learn(kl.KLearning(), gymnasium.make('FrozenLake-v1'), episodes=5, horizon=20)",
    "`games.play`, K-learning": "g = kl.games; g.play(g.KLearning(), g.rock_paper_scissors(), rounds=10, seeds=1)",
    "`kl.solve`": "kl.solve(kl.Belief.before(kl.Prior(), world))",
}
CODE = """
import time
began = time.process_time()
import klearning as kl
imported = time.process_time()
import gymnasium
world = kl.deep_sea(10)
ready = time.process_time()
{call}
print(imported - began if {call!r} == "pass" else time.process_time() - ready)
"""


def main(other: str | None = None, times: str = "1") -> None:
    versions = {"": HERE, **({"earlier version, ": Path(other)} if other else {})}
    caches = [f"{name}{cache} cache" for name in versions for cache in ("empty", "filled")]
    headings, rows = ["first call on `deep_sea(10)`, CPU s", *caches], []
    for label, call in CALLS.items():
        row = [f"{seconds:.1f}" for folder in versions.values() for seconds in measured(folder, call, int(times))]
        rows.append([label, *row])
        print(label, *row, flush=True)
    record("performance.first_calls", "python -m bench.first_calls" + (" FOLDER" if other else ""), headings, rows)


def measured(folder: Path, call: str, times: int) -> tuple[float, float]:
    """CPU seconds with an empty cache and with the one that this filled."""
    pairs = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as cache:
            pairs.append([cpu_seconds(folder, call, cache) for _ in range(2)])
    empty, filled = zip(*pairs, strict=True)
    return min(empty), min(filled)


def cpu_seconds(folder: Path, call: str, cache: str) -> float:
    python = folder / ".venv" / "bin" / "python"
    done = subprocess.run(
        [str(python), "-c", CODE.format(call=call)], capture_output=True, text=True, check=True, cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": ""},
    )  # fmt: skip
    return float(done.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
