"""New: the Bayes-regret study as a picture and as tables."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import Claim, interval_text, table
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue2021.bayes_regret import draw_bounds
from klearning.lab.papers.odonoghue2021.growth import Growth, growth
from klearning.lab.papers.odonoghue2021.study import (
    BONUSES,
    GRID,
    LONG,
    NOISE,
    TEMPERATURES,
    THOMPSON,
    Results,
    Size,
    claims,
    contestants,
    label,
    spec,
)
from klearning.lab.theory import regret_bound
from klearning.numerics.display.canvas import draw_mean, new_grid, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import mean_interval


@dataclass(frozen=True, eq=False)
class Study(Figure[Results]):
    """How much is run: worlds and episodes of each size, and of the small one that is watched for long."""

    name: str = "study"
    worlds: int = 1000
    episodes: int = 500
    long_worlds: int = 200
    long_episodes: int = 10_000
    by_name_only: ClassVar[bool] = True

    def small(self) -> Self:
        return replace(self, worlds=60, episodes=100, long_worlds=30, long_episodes=1000)

    def sizes(self) -> dict[Size, tuple[int, int]]:
        """(worlds, episodes) by size."""
        short = dict.fromkeys((size for line in GRID.values() for size in line), (self.worlds, self.episodes))
        return {**short, LONG: (self.long_worlds, self.long_episodes)}

    def runs(self) -> dict[tuple[Size, str], Spec]:
        return {
            (size, who): spec(size, agent, *extent)
            for size, extent in self.sizes().items()
            for who, agent in contestants().items()
        }

    def read(self, store: Store) -> Results:
        found = self.results(store)
        return {size: {who: found[size, who] for who in contestants()} for size in self.sizes()}

    @styled
    def draw(self, results: Results, command: str) -> Picture:
        figure, axes = new_grid(1, 3, width=11.5, height=3.9)
        _regret_panel(axes[0, 0], results)
        _promise_panel(axes[0, 1], results)
        _growth_panel(axes[0, 2], growth(results))
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", frameon=False, fontsize=7, ncols=5)
        figure.supxlabel(f"Beta(1, 1) coins, Dirichlet mass 1; bands and bars: 95%; {command}", fontsize=6)
        return figure

    def claims(self, results: Results) -> list[Claim]:
        return claims(results)

    def table(self, results: Results) -> str:
        """Regret after the last episode, and growth exponents, in Markdown."""
        return f"{_regret_table(results)}\n{_growth_table(growth(results))}"


FIGURES = (Study(),)

LETTERS = {"T": "T (last tenfold)", "L": "L", "S": "S a layer", "A": "A"}


STYLES = dict(zip(contestants(), map(series, (0, 1, 2, 3, 4, 5, 7))))  # 6 is black, which the bound has


def _regret_panel(axes: Any, results: Results) -> None:
    by_name = results[LONG]
    t = by_name[THOMPSON].points.astype(float)
    for i, (name, runs) in enumerate(by_name.items()):
        draw_mean(axes, t, runs.regret, STYLES[name], label=name, markevery=(i, 8))
    draw_bounds(axes, LONG, t)
    axes.set_title(f"{len(by_name[THOMPSON].seeds)} MDPs, {LONG.L} layers of {LONG.S} states, {LONG.A} actions")


def _promise_panel(axes: Any, results: Results) -> None:
    for i, name in enumerate(label(bonus, rule) for bonus in BONUSES for rule in TEMPERATURES):
        runs = results[LONG][name]
        share = runs.regret.mean(axis=0) / runs.promised_regret.mean(axis=0)
        axes.plot(runs.points, share, linewidth=1.3, markersize=3.5, markevery=(i, 8), **STYLES[name])
    axes.axhline(1.0, color="black", linewidth=1.2)
    axes.set(xscale="log", yscale="log", xlabel="episode", ylabel=r"mean regret / mean of $\Sigma_t \Phi_t$")
    axes.set_title("what came of what the agent said")


def _growth_panel(axes: Any, exponents: dict[str, dict[str, Growth]]) -> None:
    names = list(contestants())
    for x, by_name in enumerate(exponents.values()):
        for i, name in enumerate(names):
            estimate, low, high = by_name[name].fitted
            at, style = x + 0.1 * (i - len(names) / 2), STYLES[name]
            axes.plot([at, at], [low, high], color=style["color"], linewidth=1.2)
            axes.plot(at, estimate, marker=style["marker"], color=style["color"], markersize=3.5)
        bound = by_name[THOMPSON].of_bound
        axes.plot([x - 0.42, x + 0.42], [bound, bound], color="black", linewidth=1.2)
    axes.set_xticks(range(len(exponents)), [LETTERS[letter] for letter in exponents])
    axes.set(ylabel="fitted exponent", title="growth of mean regret; line: of the bound")


def _regret_table(results: Results) -> str:
    """Of every agent and size, with the bound and how much was run."""
    rows = []
    for name in contestants():
        means = [mean_interval(by_name[name].regret[:, -1]) for by_name in results.values()]
        rows.append([name, *(interval_text(mean, ".1f") for mean in means)])
    some = {size: by_name[THOMPSON] for size, by_name in results.items()}
    bounds = [regret_bound(size.totals, runs.points[-1], NOISE) for size, runs in some.items()]
    rows.append(["the theorem's bound", *(f"{bound:.0f}" for bound in bounds)])
    rows.append(["worlds × episodes", *(f"{len(runs.seeds)} × {runs.points[-1]:.0f}" for runs in some.values())])
    return table(["L, S a layer, A", *(f"{s.L}, {s.S}, {s.A}" for s in results)], rows)


def _growth_table(exponents: dict[str, dict[str, Growth]]) -> str:
    rows = []
    for name in contestants():
        rows.append([name, *(interval_text(by_name[name].fitted, ".2f") for by_name in exponents.values())])
    rows.append(["the theorem's bound", *(f"{by_name[THOMPSON].of_bound:.2f}" for by_name in exponents.values())])
    return table(["exponent in", *exponents], rows)
