"""Learning, frame by frame: values, visits and policy of runs that kept snapshots, packed small.

A frame is, for every state in order: the value as 16 bits between the frame's least and greatest, the visits of each
action as 16 bits, and the chance of each action but the first as 8 bits. A world is drawn as it is stored: a layer a
row, its states from left to right; for DeepSea that is its grid.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.lab.experiments.spec import Spec, build_world
from klearning.lab.experiments.summaries import StoreSummary, agent_key, setting
from klearning.lab.papers import PAPERS
from klearning.lab.report.charts import plain
from klearning.lab.report.labels import (
    agent_label,
    agent_order,
    display_info_of,
    protocol_of,
    protocol_word,
    unlike_titles,
    world_label,
)
from klearning.numerics.types import Floats
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.runs import Runs

BUDGET = 1_250_000  # characters of all films
MOST_OF_ONE = 300_000
MOST_ACTIONS = 8
FULL = 65535
MILESTONES = 8
MOST_REASONS = 5


class NoFilm(ValueError):
    """Why there is no film of a run, as the page says it."""


UNKNOWN = "of worlds that cannot be built here"
MISSHAPEN = "with snapshots that are not of their world"
NO_CHOICE = "with nothing to choose from"
TOO_LARGE = "of worlds too large to draw"
NO_ROOM = "to keep this file small"


@dataclass(frozen=True, eq=False)
class Reel:
    """All films with their runs, and how many runs have none, by the reason."""

    films: list[dict[str, Any]]
    stages: list[dict[str, Any]]
    runs: list[Runs]
    left_out: dict[str, int]


Maker = Callable[[StoreSummary, Runs], tuple[dict[str, Any], dict[str, Any]]]  # of a stage and a film


def reel(summary: StoreSummary, kind: str = "world", make: Maker | None = None) -> Reel:
    """Films of as many runs as fit: those of worlds in which many agents were watched for many frames first."""
    of_run = make or world_film
    films: list[dict[str, Any]] = []
    stages: dict[str, dict[str, Any]] = {}
    kept: list[Runs] = []
    left_out: dict[str, int] = {}
    room = BUDGET
    watched = [run for run in summary.runs if run.spec.kind == kind and len(run.spec.snapshots) > 1]
    for run in _by_interest(watched):
        try:
            stage, film = of_run(summary, run)
            if len(film["data"]) > room:
                raise NoFilm(NO_ROOM)
        except NoFilm as why:
            left_out[str(why)] = left_out.get(str(why), 0) + 1
            continue
        key = setting(run)
        number = list(stages).index(key) if key in stages else len(stages)
        stages.setdefault(key, stage)
        films.append(film | {"stage": number})
        kept.append(run)
        room -= len(film["data"])
    first = {film["stage"]: run.spec for film, run in zip(reversed(films), reversed(kept), strict=True)}
    titles = unlike_titles([stage["title"] for stage in stages.values()], [first[i] for i in range(len(stages))])
    named = [stage | {"title": title} for stage, title in zip(stages.values(), titles, strict=True)]
    return Reel(films, named, kept, left_out)


def _by_interest(runs: list[Runs]) -> list[Runs]:
    """Many agents in one setting first; among equals a paper's protocols, in its order."""
    crowd: dict[str, set[str]] = {}
    for run in runs:
        crowd.setdefault(setting(run), set()).add(agent_key(run.spec))
    protocols = [protocol for paper in PAPERS.values() for protocol in paper.protocols.values()]

    def rank(run: Runs) -> tuple[Any, ...]:
        spec = run.spec
        protocol = protocol_of(spec.protocol)
        place = protocols.index(protocol) if protocol else len(protocols)
        return (-len(crowd[setting(run)]), place, setting(run), spec.seed, agent_order(spec))

    return sorted(runs, key=rank)


def opening(films: list[dict[str, Any]]) -> list[int]:
    """Which films are on when the page opens: of the first stage those that papers lead with, or its first three."""
    first = [i for i, film in enumerate(films) if film["stage"] == films[0]["stage"]]
    leads = dict.fromkeys(name for paper in PAPERS.values() for name in paper.leads)
    by_lead = [next((i for i in first if films[i]["family"] == name), None) for name in leads]
    chosen = [i for i in by_lead if i is not None][:3]
    return (chosen + [i for i in first if i not in chosen])[: max(len(chosen), min(3, len(first)))]


def world_film(summary: StoreSummary, run: Runs) -> tuple[dict[str, Any], dict[str, Any]]:
    """The stage and the film of a run in a world."""
    spec = run.spec
    try:
        whole = summary.store.get(spec)
        values, visits = whole.snapshots["values"][0], whole.snapshots["visits"][0]
        policy = whole.snapshots["policy"][0] if "policy" in whole.snapshots else None
        times = np.array(spec.snapshots)[: len(values)]
        states = display_info_of(spec).states
        if states is not None and values.shape[1] != states(spec.world):
            raise NoFilm(MISSHAPEN)  # before a world of any size is built
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        raise NoFilm(MISSHAPEN) from None
    try:
        world = build_world(spec)
    except (ValueError, TypeError, KeyError, MemoryError, OverflowError) as error:
        raise NoFilm(f"{UNKNOWN} ({error})") from None
    A, S = world.actions, int(world.layers[-1])
    fits = values.shape[1:] == (S,) and visits.shape == (len(values), A, S) and np.isfinite(values).all()
    if not fits or (policy is not None and policy.shape != visits.shape) or len(times) != len(values):
        raise NoFilm(MISSHAPEN)
    at = thinned(len(values), S * (2 + 2 * A + A - 1))
    if A == 1 or A > MOST_ACTIONS or len(at) < 2:
        raise NoFilm(NO_CHOICE if A == 1 else TOO_LARGE)
    packed = [pack(values[i], visits[i], None if policy is None else policy[i]) for i in at]
    shown = times[at]
    if shown[-1] > whole.ran[0]:
        raise NoFilm(MISSHAPEN)
    hits = np.cumsum(whole.hits[0])
    film = {
        "label": agent_label(spec),
        "family": spec.agent["name"],
        "seed": spec.seed,
        "t": shown.tolist(),
        "found": hits[shown - 1].tolist() if world.goal is not None else None,
        "first": None if np.isnan(run.first_hit[0]) else int(run.first_hit[0]),
        "regret": plain(whole.regret[0, shown - 1]),
        "low": plain(values[at].min(axis=1)),
        "high": plain(values[at].max(axis=1)),
        "unit": plain([max(1.0, visits[i].max() / FULL) for i in at]),
        "policy": policy is not None,
        "data": base64.b64encode(b"".join(packed)).decode(),
    }
    return stage(world, run), film


def left_out(reel: Reel) -> str:
    """A sentence on runs without a film."""
    if not reel.left_out:
        return ""
    total, ranked = sum(reel.left_out.values()), sorted(reel.left_out.items(), key=lambda item: (-item[1], item[0]))
    reasons = [f"{count} {why}" for why, count in ranked[:MOST_REASONS]]
    others = sum(count for _, count in ranked[MOST_REASONS:])
    reasons += [f"{others} for other reasons"] if others else []
    return f" {total} further runs with snapshots are left out: {', '.join(reasons)}."


def milestones(frames: int) -> list[int]:
    """Which frames a table has."""
    return sorted({round(i * (frames - 1) / (MILESTONES - 1)) for i in range(MILESTONES)})


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


def stage_title(spec: Spec) -> str:
    """The world or game of a run, and where its settings come from."""
    word = protocol_word(spec.protocol)
    return world_label(spec) + (f", {word}" if word else "")


def stage(world: MDP, run: Runs) -> dict[str, Any]:
    """How a world is drawn: its rows, where each action leads most likely, its goal."""
    spec = run.spec
    known = display_info_of(spec)
    return {
        "title": stage_title(spec),
        "rows": np.diff(world.layers).tolist(),
        "next": [_columns(world, a).tolist() for a in range(world.actions)],
        "actions": list(known.actions(spec.world)) or [f"action {a}" for a in range(world.actions)],
        "goal": None if world.goal is None else int(world.goal[0] + (world.layers[-2] if world.recurring else 0)),
        "prize": known.goal,
    }


def _columns(world: MDP, a: int) -> NDArray[np.int64]:
    """The column of the likeliest next state of every state; −1 in the last layer, which has none."""
    rows, layers = world.rows, world.layers
    column = np.full(layers[-1], -1)
    for l in range(len(layers) - 2):
        for s in range(layers[l], layers[l + 1]):
            start, length = rows.start[a, s], rows.length[a, s]
            if length:
                column[s] = rows.succ[start + rows.weight[start : start + length].argmax()] - layers[l + 1]
    return column
