"""One run of a spec: in chunks, with checkpoints, so that a killed run goes on where it was, to the same bytes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from klearning.arrays.types import Arrays, Floats
from klearning.experiments.checkpoints import CHECKPOINT_SECONDS, Watch, read_checkpoint, write_checkpoint
from klearning.experiments.spec import Spec, build_agent, build_prior, build_world
from klearning.experiments.store import Store
from klearning.models.mdp import optimal_value
from klearning.trials import regret
from klearning.trials.trial import Trial


class Picture(NamedTuple):
    """A snapshot: after how many episodes, the agent's values and policy then, and all visits until then."""

    t: int
    values: Floats
    visits: Floats
    policy: Floats  # (A, S), the one that was followed in episode t


PARTS = Picture._fields[1:]


def execute(
    spec: Spec,
    store: Store,
    *,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    timeout: float = np.inf,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda episodes: None,
) -> None:
    """Run a spec to its end, from its checkpoint if there is one, and put the result into the store."""
    trial, pictures = _begin(spec, store)

    def save() -> None:
        write_checkpoint(store.checkpoint(spec.name), spec.name, trial.state() | _stacked(pictures))

    watch = Watch(save, checkpoint_seconds, timeout, should_stop)
    chunks, over = trial.chunks(spec.snapshots), _is_over(spec, trial)
    while not over:
        progress(next(chunks))
        if trial.played in spec.snapshots:
            pictures.append(_picture(trial))
        over = _is_over(spec, trial)
        if not over:
            watch.look(f"at episode {trial.played} of {spec.episodes}")
    store.put(spec, _result(spec, trial, pictures))


def _begin(spec: Spec, store: Store) -> tuple[Trial, list[Picture]]:
    """The run as its checkpoint has it; from its first episode where there is none that fits."""
    agent, world = build_agent(spec), build_world(spec)
    prior = build_prior(spec, world)

    def trial() -> Trial:
        return Trial(agent, world, prior, spec.seed, spec.episodes, spec.evaluate_every)

    path = store.checkpoint(spec.name)
    if path.exists():
        try:
            arrays, begun = read_checkpoint(path, spec.name), trial()
            begun.restore(arrays)
            return begun, _pictures(spec, begun, arrays)
        except (ValueError, KeyError):
            path.unlink(missing_ok=True)
    return trial(), []


def _is_over(spec: Spec, trial: Trial) -> bool:
    return trial.done or (spec.stop == "solved" and bool(np.isfinite(_solved(trial))))


def _solved(trial: Trial) -> float:
    return float(regret.time_to_solve(trial.log.hits[: trial.played])) if trial.played else np.nan


def _picture(trial: Trial) -> Picture:
    memory = trial.memory
    return Picture(trial.played, trial.agent.values(memory), trial.log.visits.copy(), memory.policy.copy())


def _stacked(pictures: list[Picture]) -> Arrays:
    """One array per part of a picture, if there are any pictures."""
    parts = PARTS if pictures else ()
    return {f"snapshot_{part}": np.stack([getattr(picture, part) for picture in pictures]) for part in parts}


def _pictures(spec: Spec, trial: Trial, arrays: Arrays) -> list[Picture]:
    """The inverse of `_stacked`; they must look like one that is taken now."""
    times = [t for t in spec.snapshots if t <= trial.played]
    for part in PARTS if times else ():
        x, now = arrays[f"snapshot_{part}"], getattr(_picture(trial), part)
        if (x.shape, x.dtype) != ((len(times), *now.shape), now.dtype):
            raise ValueError(f"snapshot_{part} has shape {x.shape}, not {(len(times), *now.shape)}")
    return [Picture(t, *(arrays[f"snapshot_{part}"][i] for part in PARTS)) for i, t in enumerate(times)]


def _result(spec: Spec, trial: Trial, pictures: list[Picture]) -> Arrays:
    """What is kept. A run that stops when solved is cut at that very episode, wherever its last chunk ended."""
    log, ran = trial.log, trial.played
    if spec.stop == "solved" and np.isfinite(_solved(trial)):
        ran = int(_solved(trial))
    arrays: Arrays = {
        "optimal_value": np.asarray(optimal_value(trial.world)),
        "values": log.values[:ran],
        "returns": log.returns[:ran],
        "hits": log.hits[:ran],
        **{f"diagnostic_{name}": log.diagnostics[i, :ran] for i, name in enumerate(trial.agent.diagnostics)},
    }
    if spec.stop == "never":
        arrays["visits"] = log.visits
    return arrays | _stacked([picture for picture in pictures if picture.t <= ran])
