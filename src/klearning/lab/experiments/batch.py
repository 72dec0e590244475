"""Many small runs kept as one: a study over a thousand worlds needs a few numbers of each, not a folder of each.

    store/batches/abcdef….npz     regret of every run at a few episodes, and what the agent said of it
    store/batches/abcdef….json    the batch, and the checksum of the arrays; written last, so whole or not there

A batch is a spec, run with seeds 0, 1, …; where the world is a random MDP, seed k also draws world k. So its run k is
the run of `Batch.run_of(k)`, and its numbers are those that the store would hold of it.

It is played in parts of some runs each. A part's checkpoint holds the numbers of its finished runs; when all parts are
finished they become the batch.

What has no spec, because it is no run in a world, is kept in the same way as a `Whole`: data with a name, that plays
all its seeds at once.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from klearning.lab.experiments.checkpoints import CHECKPOINT_SECONDS, Watch, read_checkpoint, write_checkpoint
from klearning.lab.experiments.spec import Spec, build_agent, build_world, spec_from_json
from klearning.lab.experiments.store import BROKEN, MOST_BYTES, Store, StoreError, packed, provenance
from klearning.numerics import checks
from klearning.numerics.files import (
    checksum_of,
    is_file,
    json_from,
    opened,
    read_bytes,
    unpack,
    write_whole,
)
from klearning.numerics.types import Arrays, Floats
from klearning.simulators import codec
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials import regret
from klearning.tabular.trials.trial import Trial

VERSION = 1
TOLD = ("nothing", "support", "transitions")
PARTS = 16  # of a batch, about: enough for the cores of a machine
FIRST_CHUNK = 500  # episodes: runs are short, and a call of a kernel is dear beside one
PART_RUNS = (4, 64)  # fewest and most runs of a part


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
        if self.spec.kind != "world":
            raise ValueError(f"spec of a batch is of a {self.spec.kind}: give one of a world, or sweep its specs")
        if self.told != "nothing" and set(self.spec.prior["transitions"]) != {"kind", "mass"}:
            raise ValueError(f"told={self.told!r}, but the spec's prior tells of transitions already: tell it once")
        if not self.points or self.points[-1] != self.spec.episodes or self.points[0] < 1:
            raise ValueError(f"points={self.points} must rise from 1 or more to episodes={self.spec.episodes}")
        if any(b <= a for a, b in zip(self.points, self.points[1:])):
            raise ValueError(f"points={self.points} does not rise: give each number once, in order")
        if self.spec.seed != 0 or self.spec.stop != "never":
            raise ValueError("spec of a batch must have seed=0 and stop='never': the batch sets the seeds")

    @property
    def canonical(self) -> str:
        data = {**asdict(self), "spec": self.spec.data(), "version": VERSION}
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def name(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def run_of(self, seed: int) -> Spec:
        """Run ``seed`` of the batch as a spec of its own."""
        world = {**self.spec.world, "seed": seed} if codec.takes_prior(self.spec.world) else self.spec.world
        return replace(self.spec, world=world, seed=seed)

    def prior(self, world: MDP) -> Prior:
        """What the agent begins with."""
        rows = self.spec.prior["transitions"]
        if self.told == "support":
            rows = {**rows, "support": codec.WORLD}
        elif self.told == "transitions":
            rows = {"kind": "known", "transitions": codec.WORLD}
        return codec.build_prior({**self.spec.prior, "transitions": rows}, world)

    @property
    def runs_per_part(self) -> int:
        """Always the same, so that a part that was begun before is found again."""
        fewest, most = PART_RUNS
        return min(max(-(-self.seeds // PARTS), fewest), most)

    def parts(self) -> list["Part"]:
        """All runs, some at a time."""
        return [Part(self, first) for first in range(0, self.seeds, self.runs_per_part)]


@dataclass(frozen=True, eq=False)
class Part:
    """Some runs of a batch, from ``first`` on."""

    batch: Batch
    first: int

    @property
    def canonical(self) -> str:
        return json.dumps({"batch": json.loads(self.batch.canonical), "first": self.first}, sort_keys=True)

    @property
    def name(self) -> str:
        return f"{self.batch.name}.{self.first}"

    @property
    def seeds(self) -> range:
        return range(self.first, min(self.first + self.batch.runs_per_part, self.batch.seeds))


def part_from_json(text: str) -> Part:
    """Read back what `Part.canonical` wrote."""
    data = json.loads(text)
    batch = data["batch"]
    spec = spec_from_json(json.dumps(batch["spec"], sort_keys=True, separators=(",", ":")))
    return Part(Batch(spec, batch["seeds"], tuple(batch["points"]), batch["told"]), data["first"])


def geometric_points(episodes: int, a_decade: int = 10) -> tuple[int, ...]:
    """1 … episodes, about evenly spaced on a logarithmic axis."""
    count = 1 + round(a_decade * np.log10(max(episodes, 1)))
    return tuple(int(t) for t in np.unique(np.rint(np.geomspace(1, episodes, max(count, 1)))))


@dataclass(frozen=True, eq=False)
class BatchRecord:
    """A finished batch, as `Record` is a finished run; arrays are (seeds,) or (seeds, points)."""

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


class Kept(Protocol):
    """Data that stands for one file of numbers."""

    @property
    def canonical(self) -> str: ...

    @property
    def name(self) -> str: ...


class Whole(Kept, Protocol):
    """What takes seconds, and is played in one go: without parts or checkpoints."""

    @property
    def seeds(self) -> int: ...

    def play(self) -> Arrays: ...


def path_of(store: Store, batch: Kept) -> Path:
    return store.batch(batch.name)


def has(store: Store, batch: Kept) -> bool:
    return is_file(path_of(store, batch))


def put(store: Store, batch: Kept, arrays: Arrays) -> None:
    """Keep a finished batch: the arrays first, then the page that says they are whole."""
    path, data = path_of(store, batch), packed(arrays)
    page = {"batch": json.loads(batch.canonical), **provenance(data)}
    try:
        path.parent.mkdir(exist_ok=True)
        write_whole(path.with_suffix(".npz"), data, links=False)
        write_whole(path, (json.dumps(page, sort_keys=True, indent=1) + "\n").encode(), links=False)
    except OSError as error:
        raise StoreError(f"cannot write to the store {store.path}: {error.strerror or error}") from None


def get(store: Store, batch: Batch) -> BatchRecord:
    """A finished batch; KeyError where there is none, ValueError where it is broken."""
    x = arrays_of(store, batch)
    try:
        hit, solved, said, bound = x["first_hit"], x["solved"], x.get("said"), x.get("bound")
        return BatchRecord(batch, x["optimal"], x["regret"], hit, solved, said, bound)
    except KeyError as error:
        raise ValueError(f"batch {batch.name[:12]} in {store.path} is broken: {error}") from None


def arrays_of(store: Store, batch: Kept) -> Arrays:
    """What `put` kept; KeyError where there is nothing, ValueError where it is broken."""
    if not has(store, batch):
        raise KeyError(f"no batch {batch.name[:12]} in {store.path}")
    try:
        path = path_of(store, batch)
        page = json_from(read_bytes(path))
        if page["batch"] != json.loads(batch.canonical):
            raise ValueError("its page is that of another batch")
        with opened(path.with_suffix(".npz"), MOST_BYTES) as file:
            if checksum_of(file) != page["arrays_sha256"]:
                raise ValueError("its arrays have another checksum")
            return unpack(file, most=MOST_BYTES)[1]
    except BROKEN as error:
        raise ValueError(f"batch {batch.name[:12]} in {store.path} is broken: {error}") from None


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


def play_missing(wholes: Iterable[Whole], store: Store, progress: Callable[[int], None] = lambda runs: None) -> int:
    """Play what is not there or is broken, one after the other; returns how many. Each is kept when it is done."""
    count = 0
    for whole in {whole.name: whole for whole in wholes}.values():
        try:
            arrays_of(store, whole)
        except (KeyError, ValueError) as error:
            if isinstance(error, ValueError):
                store.set_aside(path_of(store, whole))
            put(store, whole, whole.play())
            count += 1
        progress(whole.seeds)
    return count


def play_part(
    part: Part,
    store: Store,
    *,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    timeout: float = np.inf,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda runs: None,
) -> None:
    """Play the runs of a part that its checkpoint does not have, until it has all."""
    runs = finished_runs(part, store)
    if runs:
        progress(len(runs))

    def save() -> None:
        if runs:
            write_checkpoint(store.checkpoint(part.name), part.name, _stacked(runs))

    watch = Watch(save, checkpoint_seconds, timeout, should_stop)
    for seed in part.seeds[len(runs) :]:
        runs.append(_numbers(part.batch, seed, watch))
        progress(1)
    save()


def finished_runs(part: Part, store: Store) -> list[Arrays]:
    """The numbers of the runs that the part's checkpoint has; none where there is no sound one."""
    path = store.checkpoint(part.name)
    if not path.exists():
        return []
    try:
        arrays = read_checkpoint(path, part.name)
        count = min(len(arrays["optimal"]), len(part.seeds))
        return [{name: x[i] for name, x in arrays.items()} for i in range(count)]
    except (ValueError, KeyError, IndexError, TypeError):
        path.unlink(missing_ok=True)
        return []


def put_parts(store: Store, batch: Batch) -> bool:
    """Make a batch of its parts if all are finished; whether they are."""
    runs = [run for part in batch.parts() for run in finished_runs(part, store)]
    if len(runs) < batch.seeds:
        return False
    put(store, batch, _stacked(runs))
    for part in batch.parts():
        store.checkpoint(part.name).unlink(missing_ok=True)
    return True


def _stacked(runs: list[Arrays]) -> Arrays:
    return {name: np.stack([run[name] for run in runs]) for name in runs[0]}


def _numbers(batch: Batch, seed: int, watch: Watch) -> Arrays:
    """What is kept of one run."""
    spec = batch.run_of(seed)
    world, agent = build_world(spec), build_agent(spec)
    trial = Trial(agent, world, batch.prior(world), seed, spec.episodes, spec.evaluate_every)
    for _ in trial.chunks(size=FIRST_CHUNK):
        watch.look(f"at run {seed} of {batch.seeds}")
    log, at, best = trial.log, np.array(batch.points) - 1, optimal_value(world)
    kept: Arrays = {
        "optimal": np.asarray(best),
        "regret": regret.cumulative_regret(best, log.values)[at],
        "first_hit": regret.first_hit(log.hits),
        "solved": regret.time_to_solve(log.hits),
    }
    if "bound" in agent.diagnostics:
        bound = log.diagnostics[agent.diagnostics.index("bound")]
        kept |= {"said": np.cumsum(bound)[at], "bound": bound[at]}
    return kept
