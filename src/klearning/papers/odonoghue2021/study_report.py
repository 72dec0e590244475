"""The Bayes-regret study as a picture and as tables: pure functions of what was read from the store."""

from typing import Any

import numpy as np

from klearning.experiments.statistics import mean_interval
from klearning.figures.canvas import new_grid, series, styled
from klearning.papers.odonoghue2021.growth import Growth, growth
from klearning.papers.odonoghue2021.study import (
    BONUSES,
    LONG,
    NOISE,
    TEMPERATURES,
    THOMPSON,
    Results,
    contestants,
    label,
)
from klearning.theory import lower_bound, regret_bound

LETTERS = {"T": "T (last tenfold)", "L": "L", "S": "S a layer", "A": "A"}


STYLES = dict(zip(contestants(), map(series, (0, 1, 2, 3, 4, 5, 7))))  # 6 is black, which the bound has


@styled
def draw(results: Results, command: str) -> Any:
    figure, axes = new_grid(1, 3, width=11.5, height=3.9)
    _regret_panel(axes[0, 0], results)
    _promise_panel(axes[0, 1], results)
    _growth_panel(axes[0, 2], growth(results))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", frameon=False, fontsize=7, ncols=5)
    figure.supxlabel(f"Beta(1, 1) coins, Dirichlet mass 1; bands and bars: 95%; {command}", fontsize=6)
    return figure


def _regret_panel(axes: Any, results: Results) -> None:
    found = results[LONG]
    t = found[THOMPSON].points
    for i, (name, runs) in enumerate(found.items()):
        mean, error = runs.regret.mean(axis=0), runs.regret.std(axis=0, ddof=1) / np.sqrt(len(runs.regret))
        axes.plot(t, mean, label=name, linewidth=1.3, markersize=3.5, markevery=(i, 8), **STYLES[name])
        band = {"color": STYLES[name]["color"], "alpha": 0.15, "lw": 0}
        axes.fill_between(t, mean - 1.96 * error, mean + 1.96 * error, **band)
    axes.plot(t, regret_bound(LONG.totals, t, NOISE), color="black", linewidth=1.2, label="bound of the theorem")
    axes.plot(t, lower_bound(LONG.totals, t), "--", color="0.4", linewidth=1.0, label=r"$\sqrt{LSAT}$")
    axes.set(xscale="log", yscale="log", xlabel="episode", ylabel="mean cumulative regret", xlim=(1, t[-1]))
    axes.set_title(f"{len(found[THOMPSON].optimal)} MDPs, {LONG.L} layers of {LONG.S} states, {LONG.A} actions")


def _promise_panel(axes: Any, results: Results) -> None:
    for i, name in enumerate(label(bonus, rule) for bonus in BONUSES for rule in TEMPERATURES):
        runs = results[LONG][name]
        share = runs.regret.mean(axis=0) / runs.promised.mean(axis=0)
        axes.plot(runs.points, share, linewidth=1.3, markersize=3.5, markevery=(i, 8), **STYLES[name])
    axes.axhline(1.0, color="black", linewidth=1.2)
    axes.set(xscale="log", yscale="log", xlabel="episode", ylabel=r"mean regret / mean of $\Sigma_t \Phi_t$")
    axes.set_title("what came of what the agent said")


def _growth_panel(axes: Any, found: dict[str, dict[str, Growth]]) -> None:
    names = list(contestants())
    for x, by_name in enumerate(found.values()):
        for i, name in enumerate(names):
            estimate, low, high = by_name[name].fitted
            at, style = x + 0.1 * (i - len(names) / 2), STYLES[name]
            axes.plot([at, at], [low, high], color=style["color"], linewidth=1.2)
            axes.plot(at, estimate, marker=style["marker"], color=style["color"], markersize=3.5)
        bound = by_name[THOMPSON].of_bound
        axes.plot([x - 0.42, x + 0.42], [bound, bound], color="black", linewidth=1.2)
    axes.set_xticks(range(len(found)), [LETTERS[letter] for letter in found])
    axes.set(ylabel="fitted exponent", title="growth of mean regret; line: of the bound")


def tables(results: Results) -> str:
    """Regret after the last episode, and growth exponents, in Markdown."""
    return f"{_regret_table(results)}\n{_growth_table(growth(results))}"


def _regret_table(results: Results) -> str:
    head = "".join(f" {s.L}, {s.S}, {s.A} |" for s in results)
    lines = [f"| L, S a layer, A |{head}", "|---|" + "---|" * len(results)]
    for name in contestants():
        cells = []
        for found in results.values():
            mean = mean_interval(found[name].regret[:, -1])
            cells.append(f"{mean.estimate:.1f} [{mean.low:.1f}, {mean.high:.1f}]")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    bounds = [regret_bound(s.totals, found[THOMPSON].points[-1], NOISE) for s, found in results.items()]
    lines.append("| the theorem's bound | " + " | ".join(f"{b:.0f}" for b in bounds) + " |")
    extents = [f"{len(found[THOMPSON].optimal)} × {found[THOMPSON].points[-1]:.0f}" for found in results.values()]
    return "\n".join([*lines, "| worlds × episodes | " + " | ".join(extents) + " |"]) + "\n"


def _growth_table(found: dict[str, dict[str, Growth]]) -> str:
    lines = ["| exponent in | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    for name in contestants():
        fitted = [by_name[name].fitted for by_name in found.values()]
        lines.append(f"| {name} | " + " | ".join(f"{e:.2f} [{low:.2f}, {high:.2f}]" for e, low, high in fitted) + " |")
    bound = [by_name[THOMPSON].of_bound for by_name in found.values()]
    return "\n".join([*lines, "| the theorem's bound | " + " | ".join(f"{b:.2f}" for b in bound) + " |"]) + "\n"
