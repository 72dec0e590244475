"""VAPOR beside K-learning and Thompson sampling: time to solve DeepSea, and Bayes regret on worlds from the prior.

DeepSea is that of `odonoghue2021` under the fitted protocol. The random worlds have known transitions, so that the
bound of VAPOR's program on the expected value of the optimal policy is proved with its default bonus.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import Claim, interval_text, table
from klearning.lab.papers.figure import Curve, Figure, Plot, least_optimism, mean_curve
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.numerics.display.canvas import draw_mean, new_grid, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import Interval, mean_interval
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.vapor import VAPOR
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.runs import Runs

VARIATIONAL, K_LEARNING, THOMPSON = "VAPOR", "K-learning", "Thompson sampling"
CALIBRATED = "VAPOR, calibrated"  # not in the paper
AGENTS: dict[str, Agent] = {
    VARIATIONAL: VAPOR(),
    CALIBRATED: VAPOR(optimism="calibrated"),
    K_LEARNING: KLearning(),
    THOMPSON: PSRL(),
}
PRIOR = Prior(Gaussian(0.0, 1.0, 1.0), Dirichlet(1.0))
WORLD = {"name": "random_mdp", "states": 5, "actions": 2, "horizon": 5}
PROTOCOL = "vapor"
LOOKS = {K_LEARNING: 0, THOMPSON: 2, VARIATIONAL: 4, CALIBRATED: 5}  # the first two as in other papers' figures
SHORTEST = 50  # episodes; the square of the depth if that is more


class Results(NamedTuple):
    """Results by depth and agent, and by agent."""

    seas: dict[int, dict[str, Runs]]
    worlds: dict[str, Runs]


@dataclass(frozen=True, eq=False)
class Learning(Figure[Results]):
    """Depths and seeds of DeepSea; how many random worlds, and for how long."""

    name: str = "learning"
    depths: tuple[int, ...] = (5, 10, 15, 20, 25, 30)
    seeds: int = 20
    worlds: int = 200
    episodes: int = 1000
    title: ClassVar[str] = "VAPOR"

    def small(self) -> Self:
        return replace(self, depths=(5, 10, 15), seeds=10, worlds=30, episodes=200)

    def runs(self) -> dict[tuple[int, str], Spec]:
        """The random worlds have depth 0 here."""
        specs: dict[tuple[int, str], Spec] = {}
        kept: dict[str, Any] = {"protocol": PROTOCOL, "keep": "points"}
        for who, agent in AGENTS.items():
            for depth in self.depths:
                count = max(SHORTEST, depth**2)
                world = TEXT.world_data(depth)
                specs[depth, who] = make_spec(world, agent, TEXT.prior, episodes=count, seeds=self.seeds, **kept)
            specs[0, who] = make_spec(
                WORLD, agent, PRIOR, episodes=self.episodes, seeds=self.worlds, hint="transitions", **kept
            )
        return specs

    def read(self, store: Store) -> Results:
        found = self.results(store)
        seas = {depth: {who: found[depth, who] for who in AGENTS} for depth in self.depths}
        return Results(seas, {who: found[0, who] for who in AGENTS})

    @styled
    def draw(self, results: Results, command: str) -> Picture:
        figure, grid = new_grid(1, 2, width=9.6, height=3.9)
        sea, worlds = grid[0]
        depths = list(results.seas)
        for i, who in enumerate(AGENTS):
            style = series(LOOKS[who])
            times = [_time(results, depth, who) for depth in depths]
            sea.plot(depths, [x.estimate for x in times], label=who, linewidth=1.3, markersize=4, **style)
            sea.fill_between(
                depths, [x.low for x in times], [x.high for x in times], color=style["color"], alpha=0.15, lw=0
            )
            runs = results.worlds[who]
            draw_mean(worlds, runs.points, runs.regret, style, markevery=(2 * i, 8))
        sea.set(xlabel="depth of DeepSea", ylabel="mean episodes until solved")
        worlds.set(xlabel="episode", ylabel="mean cumulative regret", xscale="log", yscale="log")
        worlds.set_title(f"{len(runs.seeds)} random worlds, {WORLD['horizon']} layers, transitions known")
        sea.set_title(f"DeepSea, {len(results.seas[depths[0]][VARIATIONAL].solved)} seeds")
        figure.legend(loc="outside upper center", frameon=False, fontsize=8, ncols=len(AGENTS))
        figure.supxlabel(f"bands: 95%; {command}", fontsize=6)
        return figure

    def claims(self, results: Results) -> list[Claim]:
        return [
            optimism(results), promise(results), deep_sea_is_solved(results), grows_slowly(results), regrets(results),
            calibrated_regrets(results),
        ]  # fmt: skip

    def table(self, results: Results) -> str:
        """Time to solve by depth, and regret in the end, with intervals."""
        rows = []
        for who, runs in results.worlds.items():
            times = [interval_text(_time(results, depth, who)) for depth in results.seas]
            rows.append((who, *times, interval_text(mean_interval(runs.regret[:, -1]))))
        episodes = int(results.worlds[VARIATIONAL].points[-1])
        return table(("agent", *(f"L={depth}" for depth in results.seas), f"regret after {episodes:,}"), rows)

    def contestants(self) -> Mapping[str, Mapping[str, Agent]]:
        return {PROTOCOL: AGENTS}

    def plots(self, results: Results) -> list[Plot]:
        return [sea_plot(results), worlds_plot(results)]

    @property
    def size(self) -> str:
        seas = f"DeepSea of depth {min(self.depths)} to {max(self.depths)}, {self.seeds} seeds"
        return f"{seas}; {self.worlds} random worlds, {self.episodes:,} episodes"


FIGURES = (Learning(),)


def sea_plot(results: Results) -> Plot:
    curves, depths = [], np.array(list(results.seas), float)
    for who, agent in AGENTS.items():
        times = [_time(results, depth, who) for depth in results.seas]
        mean, low, high = np.array(times).T
        curves.append(Curve(who, type(agent).__name__, depths, mean, low, high))
    seeds = len(next(iter(results.seas.values()))[VARIATIONAL].solved)
    caption = (
        f"Mean over {seeds} seeds of the first episode by which a tenth of all so far found the treasure; bands: 95%."
    )
    return Plot("VAPOR: time to solve DeepSea", "depth L", "mean episodes until solved", curves, caption)


def worlds_plot(results: Results) -> Plot:
    curves = [
        mean_curve(who, type(AGENTS[who]).__name__, runs.points.astype(float), runs.regret)
        for who, runs in results.worlds.items()
    ]
    count = len(results.worlds[VARIATIONAL].seeds)
    caption = f"Exact regret, mean over {count} worlds drawn from the prior, transitions known; bands: 95%."
    axes = "episode", "mean cumulative regret"
    return Plot("VAPOR: Bayes regret on random worlds", *axes, curves, caption, x_log=True, y_log=True)


def optimism(results: Results) -> Claim:
    """The mean of its bound is above that of the optimal value, after every episode, in standard errors."""
    least = least_optimism(results.worlds[VARIATIONAL])
    sentence = "what VAPOR's program says is an upper bound on the expected value of the optimal policy"
    return Claim("definition of VAPOR", sentence, least > 0.0, f"at least {least:.1f} standard errors above")


def promise(results: Results) -> Claim:
    """Σ (bound − value of the policy) is no less than regret, on average, after every episode."""
    runs = results.worlds[VARIATIONAL]
    regret, promised = runs.regret.mean(axis=0), runs.promised_regret.mean(axis=0)
    sentence = "regret is at most what VAPOR says, the sum of its optimism"
    return Claim(
        "regret bound", sentence, bool((regret < promised).all()), f"in the end {regret[-1] / promised[-1]:.0%} of it"
    )


def deep_sea_is_solved(results: Results) -> Claim:
    shares = {depth: float(np.isfinite(by[VARIATIONAL].solved).mean()) for depth, by in results.seas.items()}
    numbers = "share of seeds solved: " + ", ".join(f"L={depth} {share:.0%}" for depth, share in shares.items())
    return Claim(
        "experiments", "VAPOR solves DeepSea at every depth that was run", min(shares.values()) == 1.0, numbers
    )


def grows_slowly(results: Results) -> Claim:
    """The power of the depth by which the mean time to solve grows, by least squares of logarithms."""
    depths = list(results.seas)
    powers = {
        who: float(np.polyfit(np.log(depths), np.log([_time(results, L, who).estimate for L in depths]), 1)[0])
        for who in AGENTS
    }
    numbers = "power of the depth: " + ", ".join(f"{who} {power:.2f}" for who, power in powers.items())
    sentence = "VAPOR's time to solve DeepSea grows by a power of the depth below 3"
    return Claim("ours", sentence, powers[VARIATIONAL] < 3.0 if len(depths) > 2 else None, numbers)


def regrets(results: Results) -> Claim:
    regret = {who: float(runs.regret[:, -1].mean()) for who, runs in results.worlds.items()}
    sentence = "VAPOR's Bayes regret is below K-learning's"
    return Claim("ours", sentence, regret[VARIATIONAL] < regret[K_LEARNING], _regrets(results, VARIATIONAL, K_LEARNING))


def calibrated_regrets(results: Results) -> Claim:
    """By pairs of runs in the same world: the whole interval of their difference is on one side, or it is open."""
    worlds = results.worlds
    excess = mean_interval(worlds[CALIBRATED].regret[:, -1] - worlds[THOMPSON].regret[:, -1])
    holds = True if excess.high < 0.0 else False if excess.low > 0.0 else None
    sentence = "calibrated, its Bayes regret is below Thompson sampling's"
    return Claim("ours", sentence, holds, _regrets(results, CALIBRATED, THOMPSON))


def _regrets(results: Results, *agents: str) -> str:
    return ", ".join(f"{who} {interval_text(mean_interval(results.worlds[who].regret[:, -1]))}" for who in agents)


def _time(results: Results, depth: int, who: str) -> Interval:
    """Mean episodes until solved; who did not counts as the last episode."""
    runs = results.seas[depth][who]
    solved = runs.solved
    return mean_interval(np.where(np.isfinite(solved), solved, float(runs.points[-1])))
