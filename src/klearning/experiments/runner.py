"""One run of a spec: in chunks, with checkpoints, so that a killed run goes on where it was, to the same bytes.

A checkpoint holds everything: the agent's memory, the states of the random streams, the log so far. Memories are
NamedTuples of arrays and numbers, so they are taken apart and put together again by position, and nothing is pickled.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klearning.arrays.trees import put_together, take_apart
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief
from klearning.experiments.spec import Spec, build_agent, build_prior, build_world
from klearning.experiments.store import Store, StoreError
from klearning.models.mdp import optimal
from klearning.storage.files import arrays_from_bytes, arrays_to_bytes, checksum, write_whole
from klearning.trials import regret
from klearning.trials.task import CHUNK_SECONDS, Task
from klearning.trials.trial import new_task

STREAMS = ("world_stream", "action_stream", "reward_stream", "row_stream")


PICTURE_PARTS = ("values", "visits", "policy")


Arrays = dict[str, NDArray[Any]]


class Picture(NamedTuple):
    """A snapshot: after how many episodes, the agent's values and policy then, and all visits until then."""

    t: int
    values: Floats
    visits: Floats
    policy: Floats  # (A, S), the one that was followed in episode t


class Stopped(Exception):
    """Asked to stop; the checkpoint is written."""


class TimedOut(Exception):
    """The run took longer than it may; the checkpoint is written, so that it can go on."""


def execute(
    spec: Spec,
    store: Store,
    *,
    checkpoint_seconds: float = 10.0,
    timeout: float = np.inf,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda episodes: None,
) -> None:
    """Run a spec to its end, from its checkpoint if there is one, and put the result into the store."""
    world, agent, began = build_world(spec), build_agent(spec), time.monotonic()
    task = new_task(agent, world, spec.episodes, spec.seed, spec.evaluate_every)
    belief = Belief.before(build_prior(spec), world)
    memory, done = agent.begin(belief), 0
    pictures: list[Picture] = []
    path = store.checkpoint(spec.name)
    if path.exists():
        memory, done, pictures = load_checkpoint(path, memory, task, spec)
    saved, count = time.monotonic(), 1
    while done < spec.episodes and not (spec.stop == "solved" and _solved(task, done)):
        stops = [t for t in (*spec.snapshots, spec.episodes) if t > done]
        size, start = min(count, min(stops) - done), time.monotonic()
        memory = agent.advance(memory, task, done, size)
        done += size
        progress(size)
        if done in spec.snapshots:
            pictures.append(Picture(done, agent.values(memory), task.log.visits.copy(), memory.policy.copy()))
        now = time.monotonic()
        count = count * 2 if now - start < CHUNK_SECONDS / 2 and size == count else count
        late, stop = now - began > timeout, should_stop()
        if now - saved > checkpoint_seconds or late or stop:
            try:
                save_checkpoint(path, memory, task, done, pictures, spec)
            except OSError as error:
                raise StoreError(f"cannot write to the store {store.path}: {error.strerror or error}") from None
            saved = time.monotonic()
        if stop and done < spec.episodes:
            raise Stopped
        if late and done < spec.episodes:
            raise TimedOut(f"not done after {timeout:g} s, at episode {done} of {spec.episodes}")
    store.put(spec, _result(spec, task, done, pictures, optimal(world).value, agent.diagnostics))


def _solved(task: Task, done: int) -> bool:
    return bool(done and np.isfinite(regret.time_to_solve(task.log.hits[:done])))


def _result(
    spec: Spec, task: Task, done: int, pictures: list[Picture], best: float, diagnostics: tuple[str, ...]
) -> Arrays:
    """What is kept. A run that stops when solved is cut at that very episode, wherever its last chunk ended."""
    if spec.stop == "solved" and _solved(task, done):
        done = int(regret.time_to_solve(task.log.hits[:done]))
    log = task.log
    arrays: Arrays = {
        "optimal_value": np.float64(best),  # type: ignore[dict-item]
        "values": log.values[:done],
        "returns": log.returns[:done],
        "hits": log.hits[:done],
        **{f"diagnostic_{name}": log.diagnostics[i, :done] for i, name in enumerate(diagnostics)},
    }
    if spec.stop == "never":
        arrays["visits"] = log.visits
    if kept := [picture for picture in pictures if picture.t <= done]:
        arrays["snapshot_values"] = np.stack([picture.values for picture in kept])
        arrays["snapshot_visits"] = np.stack([picture.visits for picture in kept])
        arrays["snapshot_policy"] = np.stack([picture.policy for picture in kept])
    return arrays


def save_checkpoint(path: Path, memory: Any, task: Task, done: int, pictures: list[Picture], spec: Spec) -> None:
    log = task.log
    arrays: Arrays = {f"memory_{i:03}": leaf for i, leaf in enumerate(take_apart(memory))}
    arrays |= {"values": log.values[:done], "returns": log.returns[:done], "hits": log.hits[:done]}
    arrays |= {"visits": log.visits, "diagnostics": log.diagnostics[:, :done]}
    for i, picture in enumerate(pictures):
        arrays |= {f"picture_{part}_{i:03}": getattr(picture, part) for part in PICTURE_PARTS}
    streams = [getattr(task, name).bit_generator.state for name in STREAMS]
    arrays["streams"] = np.frombuffer(json.dumps(streams).encode(), np.uint8)
    arrays["name"] = np.frombuffer(spec.name.encode(), np.uint8)
    data = arrays_to_bytes(arrays)
    write_whole(path, bytes.fromhex(checksum(data)) + data)


def load_checkpoint(path: Path, begun: Any, task: Task, spec: Spec) -> tuple[Any, int, list[Picture]]:
    """Memory, episodes done and snapshots; the task's log and streams are set. A broken one is dropped: start over."""
    try:
        raw = path.read_bytes()
        if bytes.fromhex(checksum(raw[32:])) != raw[:32]:
            raise ValueError("checksum")
        arrays = arrays_from_bytes(raw[32:])
        if arrays["name"].tobytes() != spec.name.encode():
            raise ValueError("of another run")
        leaves = [arrays[name] for name in sorted(arrays) if name.startswith("memory_")]
        memory = put_together(begun, leaves)
        streams = json.loads(arrays["streams"].tobytes())
        taken = [t for t in sorted(spec.snapshots) if t <= len(arrays["values"])]
        pictures = [
            Picture(t, *(arrays[f"picture_{part}_{i:03}"] for part in PICTURE_PARTS)) for i, t in enumerate(taken)
        ]
    except (OSError, KeyError, ValueError, IndexError, TypeError):
        path.unlink(missing_ok=True)
        return begun, 0, []
    done, log = len(arrays["values"]), task.log
    log.values[:done], log.returns[:done], log.hits[:done] = arrays["values"], arrays["returns"], arrays["hits"]
    log.visits[:], log.diagnostics[:, :done] = arrays["visits"], arrays["diagnostics"]
    for name, state in zip(STREAMS, streams, strict=True):
        getattr(task, name).bit_generator.state = state
    return memory, done, pictures
