"""Learning, frame by frame: values, visits and policy of runs that kept snapshots, packed small.

A frame is, for every state in order: the value as 16 bits between the frame's least and greatest, the visits of each
action as 16 bits, and the chance of each action but the first as 8 bits. A world is drawn as it is stored: a layer a
row, its states from left to right; for DeepSea that is its grid.
"""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.arrays.types import Floats
from klearning.experiments.spec import build_world
from klearning.models.mdp import MDP
from klearning.report.charts import plain
from klearning.report.gather import Gathered, Trial, setting
from klearning.report.labels import agent_label, agent_order, protocol_word, world_label
from klearning.storage.codec import NotRegistered

BUDGET = 1_250_000  # characters of all films
MOST_OF_ONE = 300_000
MOST_ACTIONS = 8
FULL = 65535


@dataclass(frozen=True, eq=False)
class Reel:
    """All films, what the page says of them without a script, and how many did not fit."""

    films: list[dict[str, Any]]
    stages: list[dict[str, Any]]
    trials: list[Trial]
    left_out: int
    unknown: list[str]  # why worlds could not be built


def reel(gathered: Gathered) -> Reel:
    """Films of as many runs as fit: those of worlds in which many agents were watched for many frames first."""
    watched = [trial for trial in gathered.trials if len(trial.spec.snapshots) > 1]
    films: list[dict[str, Any]] = []
    stages: dict[str, dict[str, Any]] = {}
    kept: list[Trial] = []
    unknown: list[str] = []
    room = BUDGET
    for trial in _by_interest(watched):
        try:
            made = _film(gathered, trial)
        except NotRegistered as error:
            unknown.append(str(error))
            continue
        if made is None or len(made[1]["data"]) > room:
            continue
        stage, film = made
        key = setting(trial)
        number = list(stages).index(key) if key in stages else len(stages)
        stages.setdefault(key, stage)
        films.append(film | {"stage": number})
        kept.append(trial)
        room -= len(film["data"])
    left_out = len(watched) - len(kept) - len(unknown)
    return Reel(films, list(stages.values()), kept, left_out, list(dict.fromkeys(unknown)))


def _by_interest(trials: list[Trial]) -> list[Trial]:
    crowd: dict[str, set[str]] = {}
    for trial in trials:
        crowd.setdefault(setting(trial), set()).add(trial.agent)

    def rank(trial: Trial) -> tuple[Any, ...]:
        spec = trial.spec
        fitted = 0 if spec.protocol == "text" else 1
        return (-len(crowd[setting(trial)]), fitted, setting(trial), spec.seed, agent_order(spec))

    return sorted(trials, key=rank)


def opening(films: list[dict[str, Any]]) -> list[int]:
    """Which films are on when the page opens: K-learning, soft Q-learning and PSRL of the first stage if there."""
    first = [i for i, film in enumerate(films) if film["stage"] == films[0]["stage"]]
    chosen = [
        next((i for i in first if films[i]["family"] == name), None) for name in ("KLearning", "SoftQLearning", "PSRL")
    ]
    found = [i for i in chosen if i is not None]
    return (found + [i for i in first if i not in found])[: max(len(found), min(3, len(first)))][:3]


def _film(gathered: Gathered, trial: Trial) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The stage and the film; None where the run's snapshots are not of its world, or too many.

    NotRegistered where the world is none of ours.
    """
    try:
        record = gathered.store.read(trial.folder)
        values, visits = record.arrays["snapshot_values"], record.arrays["snapshot_visits"]
        times = np.array(trial.spec.snapshots)[: len(values)]
        if trial.spec.world["name"] == "deep_sea" and values.shape[1] != _triangle(trial.spec.world["depth"]):
            return None
        world = build_world(trial.spec)
        frames, S = values.shape
        A = world.actions
        policy = record.arrays.get("snapshot_policy")
        if (
            visits.shape != (frames, A, S)
            or world.layers[-1] != S
            or not 1 < A <= MOST_ACTIONS
            or not np.isfinite(values).all()
        ):
            return None
        if policy is not None and policy.shape != visits.shape:
            return None
        at = thinned(frames, S * (2 + 2 * A + A - 1))
        if len(at) < 2:
            return None
        packed = [pack(values[i], visits[i], None if policy is None else policy[i]) for i in at]
        hits, regret = np.cumsum(record.arrays["hits"]), record.regret
    except NotRegistered:
        raise
    except (ValueError, TypeError, KeyError, IndexError, MemoryError, OverflowError):
        return None
    spec, shown = trial.spec, times[at]
    film = {
        "label": agent_label(spec),
        "family": spec.agent["name"],
        "seed": spec.seed,
        "t": shown.tolist(),
        "found": hits[shown - 1].tolist() if world.goal is not None else None,
        "first": None if np.isnan(trial.first_hit) else int(trial.first_hit),
        "regret": plain(regret[shown - 1]),
        "low": plain(values[at].min(axis=1)),
        "high": plain(values[at].max(axis=1)),
        "unit": plain([max(1.0, visits[i].max() / FULL) for i in at]),
        "policy": policy is not None,
        "data": base64.b64encode(b"".join(packed)).decode(),
    }
    return stage(world, trial), film


def _triangle(depth: int) -> int:
    return depth * (depth + 1) // 2


def thinned(frames: int, size: int) -> list[int]:
    """Which frames are kept, the last among them, so that one film is not too large."""
    most = max(0, MOST_OF_ONE * 3 // 4 // size)
    if frames <= most:
        return list(range(frames))
    return sorted({int(i) for i in np.linspace(0, frames - 1, most).round()}) if most > 1 else []


def pack(values: Floats, visits: Floats, policy: Floats | None) -> bytes:
    low, high = values.min(), values.max()
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    unit = max(1.0, visits.max() / FULL)
    parts: list[NDArray[Any]] = [
        np.round(share * FULL).astype("<u2"),
        np.round(visits / unit).astype("<u2"),
    ]
    if policy is not None:
        parts.append(np.round(np.clip(policy[1:], 0.0, 1.0) * 255).astype(np.uint8))
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def stage(world: MDP, trial: Trial) -> dict[str, Any]:
    """How a world is drawn: its rows, where each action leads most likely, its goal."""
    spec = trial.spec
    word = protocol_word(spec.protocol)
    named = spec.world["name"] in ("deep_sea", "river_swim") and spec.world.get("mapping_seed") is None
    return {
        "title": world_label(spec.world) + (f", {word}" if word else ""),
        "rows": np.diff(world.layers).tolist(),
        "next": [_columns(world, a).tolist() for a in range(world.actions)],
        "actions": ["left", "right"] if named else [f"action {a}" for a in range(world.actions)],
        "goal": None if world.goal is None else int(world.goal[0]),
    }


def _columns(world: MDP, a: int) -> NDArray[np.int64]:
    """The column of the likeliest next state of every state; −1 in the last layer, which has none."""
    rows, layers = world.rows, world.layers
    found = np.full(layers[-1], -1)
    for l in range(len(layers) - 2):
        for s in range(layers[l], layers[l + 1]):
            start, length = rows.start[a, s], rows.length[a, s]
            if length:
                found[s] = rows.succ[start + rows.weight[start : start + length].argmax()] - layers[l + 1]
    return found
