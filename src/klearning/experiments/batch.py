"""Many small runs kept as one: a study over a thousand worlds needs a few numbers of each, not a folder of each.

    store/batches/abcdef….npz     regret of every run at a few episodes, and what the agent said of it
    store/batches/abcdef….json    the batch, and the checksum of the arrays; written last, so whole or not there

A batch is a spec, run with seeds 0, 1, …; where the world is a random MDP, seed k also draws world k. So its run k is
the run of `Batch.run_of(k)`, and its numbers are those that the store would hold of it.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.arrays import checks
from klearning.arrays.compiled import announce_compilation
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief, Prior
from klearning.beliefs.transitions import Dirichlet, Known
from klearning.experiments.spec import Spec, build_agent, build_prior, build_world
from klearning.experiments.store import Store, StoreError, provenance
from klearning.models.mdp import MDP, optimal
from klearning.storage.files import arrays_from_bytes, arrays_to_bytes, checksum, write_whole
from klearning.trials import regret
from klearning.trials.trial import new_task

VERSION = 1
TOLD = ("nothing", "support", "transitions")
EPISODES_A_CALL = 500  # between two looks at whether to stop
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Batch:
    """A spec, how many seeds of it, and after which episodes its numbers are kept.

    ``told`` is what the agent knows of the world's own transitions besides the prior: nothing, which are possible
    (the Dirichlet's mass is spread over these alone), or all of them.
    """

    spec: Spec
    seeds: int
    points: tuple[int, ...]
    told: str = "nothing"

    def __post_init__(self) -> None:
        checks.whole("seeds", self.seeds)
        checks.choice("told", self.told, TOLD)
        if not self.points or self.points[-1] != self.spec.episodes or self.points[0] < 1:
            raise ValueError(f"points={self.points} must rise from 1 or more to episodes={self.spec.episodes}")
        if any(b <= a for a, b in zip(self.points, self.points[1:])):
            raise ValueError(f"points={self.points} does not rise: give each number once, in order")
        if self.spec.seed != 0 or self.spec.stop != "never":
            raise ValueError("spec of a batch must have seed=0 and stop='never': the batch sets the seeds")

    @property
    def canonical(self) -> str:
        return json.dumps({**asdict(self), "version": VERSION}, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def name(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def run_of(self, seed: int) -> Spec:
        """Run ``seed`` of the batch as a spec of its own."""
        world = {**self.spec.world, "seed": seed} if self.spec.world["name"] == "random_mdp" else self.spec.world
        return replace(self.spec, world=world, seed=seed)

    def prior(self, world: MDP) -> Prior:
        """What the agent begins with."""
        prior = build_prior(self.spec)
        if self.told == "transitions":
            return replace(prior, transitions=Known(world))
        if self.told == "support":
            return replace(prior, transitions=Dirichlet(self.spec.prior["transitions"]["mass"], support=world))
        return prior


def geometric_points(episodes: int, a_decade: int = 10) -> tuple[int, ...]:
    """1 … episodes, about evenly spaced on a logarithmic axis."""
    count = 1 + round(a_decade * np.log10(max(episodes, 1)))
    return tuple(int(t) for t in np.unique(np.rint(np.geomspace(1, episodes, max(count, 1)))))


@dataclass(frozen=True, eq=False)
class Batched:
    """What came of a batch; arrays are (seeds,) or (seeds, points)."""

    batch: Batch
    optimal: Floats  # E_ρ V* of the world of each seed
    regret: Floats  # cumulative
    first_hit: Floats
    solved: Floats
    said: Floats | None  # Σ f so far, f the agent's own bound on the value of the optimum; None where it has none
    bound: Floats | None  # f of that very episode

    @property
    def points(self) -> Floats:
        return np.array(self.batch.points, float)

    @property
    def promised(self) -> Floats:
        """Σ_t (f_t − V^{π_t}), whose mean is that of Σ_t Φ_t: what the agent says that its regret is at most."""
        if self.said is None:
            name = self.batch.spec.agent["name"]
            raise ValueError(f"{name} states no bound: use an agent whose diagnostics have one")
        return self.said - self.optimal[:, None] * self.points + self.regret


def path_of(store: Store, batch: Batch) -> Path:
    return store.path / "batches" / f"{batch.name}.json"


def has(store: Store, batch: Batch) -> bool:
    return path_of(store, batch).is_file()


def put(store: Store, batch: Batch, arrays: Arrays) -> None:
    """Keep a finished batch: the arrays first, then the page that says they are whole."""
    path, data = path_of(store, batch), arrays_to_bytes(arrays)
    page = {"batch": json.loads(batch.canonical), **provenance(data)}
    try:
        path.parent.mkdir(exist_ok=True)
        write_whole(path.with_suffix(".npz"), data)
        write_whole(path, (json.dumps(page, sort_keys=True, indent=1) + "\n").encode())
    except OSError as error:
        raise StoreError(f"cannot write to the store {store.path}: {error.strerror or error}") from None


def get(store: Store, batch: Batch) -> Batched:
    """A finished batch; KeyError where there is none, ValueError where it is broken."""
    if not has(store, batch):
        raise KeyError(f"no batch {batch.name[:12]} in {store.path}")
    try:
        page = json.loads(path_of(store, batch).read_text())
        data = path_of(store, batch).with_suffix(".npz").read_bytes()
        if checksum(data) != page["arrays_sha256"]:
            raise ValueError("its arrays have another checksum")
        if page["batch"] != json.loads(batch.canonical):
            raise ValueError("its page is that of another batch")
        x = arrays_from_bytes(data)
        hit, solved, said, bound = x["first_hit"], x["solved"], x.get("said"), x.get("bound")
        return Batched(batch, x["optimal"], x["regret"], hit, solved, said, bound)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"batch {batch.name[:12]} in {store.path} is broken: {error}") from None


def run_batches(
    batches: Iterable[Batch],
    store: Store,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda runs: None,
) -> int:
    """Run every batch that the store has not, or has broken; returns how many. ``progress`` is told of single runs."""
    missing = missing_batches(batches, store)
    if missing:
        announce_compilation()
    for batch in missing:
        put(store, batch, play_batch(batch, threads or os.cpu_count() or 1, progress))
    return len(missing)


def missing_batches(batches: Iterable[Batch], store: Store) -> list[Batch]:
    """Those that are not there; what is there and broken is set aside first."""
    missing = []
    for batch in {batch.name: batch for batch in batches}.values():
        try:
            get(store, batch)
        except KeyError:
            missing.append(batch)
        except ValueError:
            store.set_aside(path_of(store, batch))
            missing.append(batch)
    return missing


def play_batch(batch: Batch, threads: int, progress: Callable[[int], None] = lambda runs: None) -> Arrays:
    """Every run of a batch; the arrays depend on the batch alone, not on the threads."""
    stop: list[bool] = []
    found: dict[int, Arrays] = {}
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(_one, batch, seed, stop): seed for seed in range(batch.seeds)}
        try:
            for future in as_completed(futures):
                found[futures[future]] = future.result()
                progress(1)
        except BaseException:
            stop.append(True)
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    runs = [found[seed] for seed in range(batch.seeds)]
    return {name: np.stack([run[name] for run in runs]) for name in runs[0]}


def _one(batch: Batch, seed: int, stop: list[bool]) -> Arrays:
    spec = batch.run_of(seed)
    world, agent, N = build_world(spec), build_agent(spec), spec.episodes
    task = new_task(agent, world, N, seed, spec.evaluate_every)
    memory = agent.begin(Belief.before(batch.prior(world), world))
    for first in range(0, N, EPISODES_A_CALL):
        if stop:
            break
        memory = agent.advance(memory, task, first, min(EPISODES_A_CALL, N - first))
    at, best = np.array(batch.points) - 1, optimal(world).value
    kept: Arrays = {
        "optimal": np.asarray(best),
        "regret": regret.cumulative_regret(best, task.log.values)[at],
        "first_hit": regret.first_hit(task.log.hits),
        "solved": regret.time_to_solve(task.log.hits),
    }
    if "bound" in agent.diagnostics:
        bound = task.log.diagnostics[agent.diagnostics.index("bound")]
        kept |= {"said": np.cumsum(bound)[at], "bound": bound[at]}
    return kept
