"""bsuite's scores, in [0, 1], as pure functions of its logs, and its radar chart of them.

Arguments are the columns of bsuite's own tables, one entry per logged episode of a setting. `logged` selects them from
per-episode totals.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.benchmarks.bsuite.worlds import EPISODES, LOGGED_EPISODES
from klearning.numerics import checks
from klearning.numerics.display.canvas import new_figure, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.types import Floats, Ints

FORGIVENESS = 100  # episodes allowed beyond 2^N, the time of dithering
DEEP_SEA_THRESHOLD = 0.9  # solved: fewer bad episodes than this part of all so far
STOCHASTIC_THRESHOLD, STOCHASTIC_BURN_IN = 0.8, 100
# regret per episode that scores 0: in the bandit and in catch that of acting at random
BASELINES = {"bandit": 0.5, "catch": 1.6, "mountain_car": 1000.0, "cartpole": 1000.0, "cartpole_swingup": 700.0}
GOOD = {"cartpole": 500.0, "cartpole_swingup": 100.0}  # returns of an episode that make up half of the score


TAGS = {  # what bsuite says that an experiment tests: the axes of its radar chart
    "deep_sea": ("exploration",),
    "deep_sea_stochastic": ("exploration", "noise"),
    "cartpole_swingup": ("exploration", "generalization"),
    "bandit": ("basic",),
    "catch": ("basic", "credit assignment"),
    "mountain_car": ("basic", "generalization"),
    "cartpole": ("basic", "credit assignment", "generalization"),
    "bandit_noise": ("noise",),
    "catch_noise": ("noise", "credit assignment"),
    "mountain_car_noise": ("noise", "generalization"),
    "cartpole_noise": ("noise", "generalization"),
    "bandit_scale": ("scale",),
    "catch_scale": ("scale", "credit assignment"),
    "mountain_car_scale": ("scale", "generalization"),
    "cartpole_scale": ("scale", "generalization"),
    "umbrella_length": ("credit assignment", "noise"),
    "umbrella_distract": ("credit assignment", "noise"),
    "discounting_chain": ("credit assignment",),
    "memory_len": ("memory",),
    "memory_size": ("memory",),
}
FEWEST_TAGS = 3  # that make an area


def by_tag(scores: Mapping[str, float]) -> dict[str, float]:
    """bsuite's radar: the mean score by tag, from scores by experiment."""
    tags = dict.fromkeys(tag for name in TAGS if name in scores for tag in TAGS[name])
    return {tag: float(np.mean([scores[name] for name in scores if tag in TAGS[name]])) for tag in tags}


@styled
def radar(scores: Mapping[str, Mapping[str, float]]) -> Picture:
    """bsuite's radar chart: an area per agent, an axis per tag. ``scores`` are by agent, then by experiment."""
    tagged = {agent: by_tag(own) for agent, own in scores.items()}
    tags = list(dict.fromkeys(tag for own in tagged.values() for tag in own))
    for agent, own in tagged.items():
        if len(own) < max(FEWEST_TAGS, len(tags)):
            lacks = f"scores for {', '.join(own)} alone: give all agents the same tags, {FEWEST_TAGS} or more"
            raise ValueError(f"{agent} has {lacks} (deep_sea_stochastic and bandit have three together)")
    figure, unused = new_figure(5.6, 4.4)
    unused.remove()
    axes: Any = figure.add_subplot(projection="polar")
    angles = np.linspace(0.0, 2.0 * np.pi, len(tags), endpoint=False)
    for i, (agent, own) in enumerate(tagged.items()):
        look, around = series(i), [own[tag] for tag in (*tags, tags[0])]
        axes.plot([*angles, angles[0]], around, label=agent, markersize=4, clip_on=False, **look)
        axes.fill([*angles, angles[0]], around, color=look["color"], alpha=0.12)
    axes.set_theta_offset(np.pi / 2.0)
    axes.set_xticks(angles, tags)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):  # beside the circle, not across it
        side = np.sin(angle)
        label.set_horizontalalignment("center" if abs(side) < 0.1 else "right" if side > 0.0 else "left")
    axes.set_ylim(0.0, 1.0)
    axes.set_yticks([0.25, 0.5, 0.75, 1.0], ["", "0.5", "", "1"])
    figure.legend(loc="outside lower center", frameon=False, fontsize=8)
    return figure


def logged(totals: ArrayLike) -> tuple[Ints, Floats]:
    """Episodes and totals at which bsuite logs, from totals after episode 1, 2, …"""
    series = checks.array("totals", totals, (None,))
    episodes = np.array([t for t in LOGGED_EPISODES if t <= series.size], np.int64)
    return episodes, series[episodes - 1]


def deep_sea_score(size: ArrayLike, episode: ArrayLike, total_bad_episodes: ArrayLike) -> float:
    """The share of sizes N solved, and that in fewer than 2^N + 100 episodes.

    A size is solved at the first logged episode by which fewer than 90% of the episodes so far were bad.
    """
    N, t, bad = _columns(size, episode, total_bad_episodes)
    return _share_solved(N, t, bad, DEEP_SEA_THRESHOLD)


def deep_sea_stochastic_score(size: ArrayLike, episode: ArrayLike, total_bad_episodes: ArrayLike) -> float:
    """As `deep_sea_score`, from episode 100 on and with fewer than 80%: slips make luck more likely."""
    N, t, bad = _columns(size, episode, total_bad_episodes)
    late = t >= STOCHASTIC_BURN_IN
    return _share_solved(N[late], t[late], bad[late], STOCHASTIC_THRESHOLD)


def regret_score(name: str, episode: ArrayLike, total_regret: ArrayLike) -> float:
    """1 − (mean regret per episode) / baseline at episode 10,000 or the last one before, no less than 0.

    In mountain_car the regret of an episode is its number of steps beyond 100.
    """
    t, regret = _columns(episode, total_regret)
    end = min(t.max(), EPISODES) if t.size else 0
    at_end = regret[t == end]
    if at_end.size == 0:
        raise ValueError(f"episode has no row at {end:g}: log the last episode, at most {EPISODES}")
    mean, baseline = at_end.mean() / end, BASELINES[name]
    return float(np.clip((baseline - mean) / baseline, 0.0, 1.0))


def balancing_score(name: str, episode: ArrayLike, total_regret: ArrayLike, best_episode: ArrayLike) -> float:
    """Half for regret, half for the share of runs whose best episode is good; ``best_episode`` has one entry per run.

    bsuite's score of cartpole_swingup is the mean over heights.
    """
    best = np.asarray(best_episode, np.float64)
    return 0.5 * (regret_score(name, episode, total_regret) + float((best > GOOD[name]).mean()))


def _share_solved(N: Floats, t: Floats, bad: Floats, threshold: float) -> float:
    """The share of sizes solved in time. Like bsuite, repeated rows of a size at its deciding episode all count."""
    held = t <= EPISODES
    N, t, bad = N[held], t[held], bad[held]
    if N.size == 0:
        raise ValueError(f"episode has no row that counts: log episodes up to {EPISODES}")
    below = bad / t < threshold
    beaten, rows = 0, 0
    for size in np.unique(N):
        mine = size == N
        solved = bool((mine & below).any())
        decided = t[mine & below].min() if solved else t[mine].max()
        count = int((mine & (t == decided)).sum())
        rows += count
        beaten += count * (solved and decided < 2.0**size + FORGIVENESS)
    return beaten / rows


def _columns(*columns: Any) -> tuple[Floats, ...]:
    """Columns of one length; episodes count from 1."""
    names = ("size", "episode", "total_bad_episodes") if len(columns) == 3 else ("episode", "total_regret")
    checked = [checks.array(name, column, (None,)) for name, column in zip(names, columns)]
    for name, column in zip(names, checked):
        if column.size != checked[0].size:
            raise ValueError(f"{name} has {column.size} rows and {names[0]} {checked[0].size}: give one entry per row")
    episode = checked[-2]
    if (episode < 1).any():
        raise ValueError(f"episode={episode.min():g} is too small: episodes count from 1")
    return tuple(checked)
