"""Matches, frame by frame: both mixtures of runs in games with three moves on either side, as points of a triangle.

A frame is, as 16 bits each: our mixture, the opponent's, the share of each of our moves so far, of the opponent's.
"""

import base64
from typing import Any

import numpy as np

from klearning.games.game import Game
from klearning.lab.experiments.spec import build_match
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.report.charts import plain
from klearning.lab.report.films import (
    FULL,
    MISSHAPEN,
    TOO_LARGE,
    UNKNOWN,
    NoFilm,
    Reel,
    left_out,
    milestones,
    opening,
    stage_title,
)
from klearning.lab.report.labels import agent_label
from klearning.lab.report.settings import behind
from klearning.numerics.display.markup import Html, element, folded, number, paragraph, section, table
from klearning.numerics.types import Floats
from klearning.tabular.trials.runs import Runs

CORNERS = 3  # of a triangle
MOVES = ("move 1", "move 2", "move 3")


def match_film(summary: StoreSummary, run: Runs) -> tuple[dict[str, Any], dict[str, Any]]:
    """The stage and the film of a match."""
    spec = run.spec
    try:
        game = build_match(spec).world
    except (ValueError, TypeError, KeyError, MemoryError, OverflowError) as error:
        raise NoFilm(f"{UNKNOWN} ({error})") from None
    if not isinstance(game, Game) or game.payoffs.shape != (CORNERS, CORNERS):
        raise NoFilm(TOO_LARGE)
    whole = summary.store.get(spec)
    frames = _frames(whole)
    times = np.array(spec.snapshots)[: len(frames)]
    if len(frames) != len(times) or len(frames) < 2 or times[-1] > whole.ran[0]:
        raise NoFilm(MISSHAPEN)
    film = {
        "label": agent_label(spec),
        "family": spec.agent["name"],
        "seed": spec.seed,
        "t": times.tolist(),
        "regret": plain(whole.regret[0, times - 1].round(9) + 0.0),  # rounding is not shown, nor a zero below zero
        "data": base64.b64encode(np.round(frames * FULL).astype("<u2").tobytes()).decode(),
    }
    stage = {
        "title": stage_title(spec),
        "payoffs": [plain(row) for row in game.payoffs],
        "value": plain([game.value])[0],
        "equilibrium": plain(game.equilibrium.policy),
        "moves": _words(game),
    }
    return stage, film


def _frames(runs: Runs) -> Floats:
    """(frames, 12): four mixtures of three moves each."""
    try:
        ours, theirs = runs.snapshots["policy"][0], runs.snapshots["opponent"][0]
        visits = runs.snapshots["visits"][0]
        if visits.shape != (len(ours), CORNERS, CORNERS) or ours.shape != theirs.shape or ours.shape[1:] != (CORNERS,):
            raise NoFilm(MISSHAPEN)
        total = np.maximum(visits.sum(axis=(1, 2)), 1.0)[:, None]
        frames = np.hstack([ours, theirs, visits.sum(axis=1) / total, visits.sum(axis=2) / total])
    except (KeyError, ValueError, IndexError, TypeError):
        raise NoFilm(MISSHAPEN) from None
    if not ((frames >= 0.0) & (frames <= 1.0 + 1e-9)).all():
        raise NoFilm(MISSHAPEN)
    return np.clip(frames, 0.0, 1.0)


def _words(game: Game) -> list[str]:
    """Names of the corners: by both sides alike, or by us and by the opponent."""
    theirs, ours = (words or MOVES for words in game.moves)
    return [a if a == b else f"{a} / {b}" for a, b in zip(ours, theirs, strict=True)]


def mixtures_of(film: dict[str, Any]) -> Floats:
    """(frames, 4, 3): what was packed."""
    frames = np.frombuffer(base64.b64decode(film["data"]), "<u2").reshape(len(film["t"]), 4, CORNERS)
    mixtures: Floats = frames / FULL
    return mixtures


def playing(reel: Reel) -> Html:
    """The section of games; nothing if no match was watched."""
    if not reel.films:
        return Html("")
    lead = paragraph(
        "A mixture of three moves is a point of a triangle: in a corner that move is played for sure. The stronger the "
        "colour at a point, the more an opponent who saw that mixture could take; the cross is the equilibrium, from "
        "which nothing can be taken.", class_="see",
    )  # fmt: skip
    caption = (
        "Disc: our mixture of the round, and its trail. Diamond: the opponent’s. Small rings: the shares of moves so "
        "far, ours filled, the opponent’s open." + left_out(reel)
    )
    shown = [reel.runs[i] for i in opening(reel.films)]
    tables = folded("The numbers as a table", *_tables(reel), class_="numbers")
    player = element("div", class_="films", id="matches")
    figure = element("figure", lead, player, element("figcaption", caption), tables, behind(shown), class_="exhibit")
    return section("games", "Watch them play", figure)


def _tables(reel: Reel) -> list[Html]:
    tables = []
    for film in reel.films:
        frames, stage = mixtures_of(film), reel.stages[film["stage"]]
        rows = [
            [f"{film['t'][i]:,}", *(", ".join(f"{p:.2f}" for p in frames[i, k]) for k in (0, 1, 3)),
             number(film["regret"][i])]
            for i in milestones(len(film["t"]))
        ]  # fmt: skip
        title = f"{film['label']}, seed {film['seed']}, {stage['title']}: {', '.join(stage['moves'])}"
        tables.append(table(title, ["round", "our mixture", "the opponent’s", "its moves so far", "regret"], rows))
    return tables
