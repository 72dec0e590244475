"""Bayes regret of bandits against rounds, arms drawn from the prior: normal ones and coins.

The theorem speaks of optimistic mixtures where 2 Ψ(β) ≤ σ² β² / (n + 1) after n plays, beside the mean: of N(0, 1)
means with unit noise, σ = 1, and of Beta(1, 1) coins, σ = ½.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import Claim, interval_text, table
from klearning.lab.papers.figure import Curve, Figure, Plot, least_optimism, mean_curve
from klearning.lab.theory.bandits import bandit_regret_bound, thompson_is_optimistic
from klearning.numerics.display.canvas import draw_mean, new_grid, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.agents.vbos import VBOS
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Beta, Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.runs import Runs

ARMS = 10
VARIATIONAL, THOMPSON, K_LEARNING = "VBOS", "Thompson sampling", "K-learning"
UCB = "UCBVI, fitted (Hoeffding × {:g})"
OPTIMISTIC = (VARIATIONAL, THOMPSON)  # those of which the theorem speaks
PROTOCOL = "bandits"
LOOKS = {K_LEARNING: 0, THOMPSON: 2, VARIATIONAL: 4}  # as in other papers' figures; UCB has 1


class Kind(NamedTuple):
    """A prior of arms, its σ, and of scales 1, 0.3, … 0.001 the best on 60 bandits of other seeds for UCBVI."""

    prior: Prior
    noise: float
    scale: float

    def contestants(self) -> dict[str, Agent]:
        ucb: dict[str, Agent] = {UCB.format(self.scale): UCBVI("hoeffding", scale=self.scale)}
        ours: dict[str, Agent] = {VARIATIONAL: VBOS(), K_LEARNING: KLearning(), THOMPSON: PSRL()}
        return ours | ucb


KINDS = {
    "normal arms": Kind(Prior(Gaussian(0.0, 1.0, 1.0), Dirichlet(1.0)), 1.0, 0.003),
    "coins": Kind(Prior(Beta(1.0, 1.0), Dirichlet(1.0)), 0.5, 0.01),
}
Results = dict[str, dict[str, Runs]]  # by kind and agent


@dataclass(frozen=True, eq=False)
class Bandits(Figure[Results]):
    """How many bandits of each kind, and for how long."""

    name: str = "bandits"
    worlds: int = 1000
    episodes: int = 1000
    title: ClassVar[str] = "Bandits"

    def small(self) -> Self:
        return replace(self, worlds=60, episodes=200)

    def runs(self) -> dict[tuple[str, str], Spec]:
        world = {"name": "random_mdp", "states": 1, "actions": ARMS, "horizon": 1}
        extent: dict[str, Any] = {"episodes": self.episodes, "seeds": self.worlds, "keep": "points"}
        return {
            (name, who): make_spec(world, agent, kind.prior, protocol=PROTOCOL, **extent)
            for name, kind in KINDS.items()
            for who, agent in kind.contestants().items()
        }

    def read(self, store: Store) -> Results:
        found = self.results(store)
        return {name: {who: found[name, who] for who in kind.contestants()} for name, kind in KINDS.items()}

    @styled
    def draw(self, results: Results, command: str) -> Picture:
        figure, grid = new_grid(1, len(results), width=9.6, height=3.9)
        for axes, (name, by_agent) in zip(grid[0], results.items()):
            t = by_agent[VARIATIONAL].points
            for i, (who, runs) in enumerate(by_agent.items()):
                style, label = series(LOOKS.get(who, 1)), who.split(" (")[0]
                draw_mean(axes, t, runs.regret, style, label=label, markevery=(2 * i, 8))
            bound = bandit_regret_bound(ARMS, t, KINDS[name].noise)
            axes.plot(t, bound, color="black", linewidth=1.2, label="bound of the theorem")
            axes.set(xscale="log", yscale="log", xlabel="round", xlim=(1, t[-1]))
            axes.set_title(f"{len(by_agent[VARIATIONAL].seeds)} bandits, {ARMS} {name}")
        grid[0, 0].set_ylabel("mean cumulative regret")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", frameon=False, fontsize=8, ncols=len(labels))
        figure.supxlabel(f"N(0, 1) arms with unit noise; Beta(1, 1) coins; bands: 95%; {command}", fontsize=6)
        return figure

    def claims(self, results: Results) -> list[Claim]:
        return [
            below_the_bound(results),
            optimism(results),
            promise(results),
            thompson_in_the_set(),
            beside_thompson(results),
        ]

    def table(self, results: Results) -> str:
        """Regret after the last round, with intervals, and the bound."""
        rows = []
        for name, by_agent in results.items():
            for who, runs in by_agent.items():
                rows.append((name, who, interval_text(mean_interval(runs.regret[:, -1]), ".1f")))
            rows.append((name, "bound of the theorem", f"{_bound(name, by_agent[VARIATIONAL])[-1]:.0f}"))
        rounds = int(next(iter(results.values()))[VARIATIONAL].points[-1])
        return table(("arms", "agent", f"Bayes regret after {rounds:,} rounds"), rows)

    def contestants(self) -> Mapping[str, Mapping[str, Agent]]:
        return {PROTOCOL: {who: agent for kind in KINDS.values() for who, agent in kind.contestants().items()}}

    def plots(self, results: Results) -> list[Plot]:
        return [plot(name, by_agent) for name, by_agent in results.items()]

    @property
    def size(self) -> str:
        return f"{self.worlds:,} bandits of each kind, {self.episodes:,} rounds"


FIGURES = (Bandits(),)


def plot(name: str, by_agent: dict[str, Runs]) -> Plot:
    """Of one kind of arms."""
    agents, first = KINDS[name].contestants(), by_agent[VARIATIONAL]
    t = first.points.astype(float)
    curves = [mean_curve(who, type(agents[who]).__name__, t, runs.regret) for who, runs in by_agent.items()]
    bound = Curve("bound of the theorem", "", t, bandit_regret_bound(ARMS, t, KINDS[name].noise))
    count = len(first.seeds)
    caption = f"Exact regret, mean over {count:,} bandits drawn from the prior; bands: 95% intervals of the mean."
    axes = "round", "mean cumulative regret"
    return Plot(f"Bandits: {ARMS} {name}", *axes, [*curves, bound], caption, x_log=True, y_log=True)


def below_the_bound(results: Results) -> Claim:
    """Of every optimistic mixture, after every round."""
    shares = {
        f"{who}, {name}": float((runs.regret.mean(axis=0) / _bound(name, runs)).max())
        for name, by_agent in results.items()
        for who, runs in by_agent.items()
        if who in OPTIMISTIC
    }
    numbers = "at most " + "; ".join(f"{share:.0%} of it ({key})" for key, share in shares.items())
    sentence = "mixtures of the optimistic set have a Bayes regret of at most σ√(2AT log A (1 + log T))"
    return Claim("theorem", sentence, max(shares.values()) < 1.0, numbers)


def optimism(results: Results) -> Claim:
    """The mean of the agent's bound is above that of the best arm, after every round, in standard errors."""
    least = {name: least_optimism(by_agent[VARIATIONAL]) for name, by_agent in results.items()}
    numbers = "at least " + "; ".join(f"{x:.1f} standard errors above ({name})" for name, x in least.items())
    return Claim(
        "definition of the set", "what VBOS says is an upper bound on E max μ", min(least.values()) > 0.0, numbers
    )


def promise(results: Results) -> Claim:
    """Σ (bound − value of the policy) is no less than regret, on average, after every round."""
    ours = {name: by_agent[VARIATIONAL] for name, by_agent in results.items()}
    means = {name: (runs.regret.mean(axis=0), runs.promised_regret.mean(axis=0)) for name, runs in ours.items()}
    holds = all(bool((regret < promised).all()) for regret, promised in means.values())
    numbers = "in the end " + "; ".join(f"{x[-1] / y[-1]:.0%} of it ({name})" for name, (x, y) in means.items())
    return Claim("proof of the theorem", "regret is at most what VBOS says, the sum of its optimism", holds, numbers)


def thompson_in_the_set(instances: int = 50) -> Claim:
    """Exactly, by integrals, on bandits at random: no run is needed."""
    rng = np.random.default_rng(0)
    slack = []
    for _ in range(instances):
        arms = int(rng.integers(2, 8))
        law = thompson_is_optimistic(rng.normal(size=arms), rng.uniform(0.1, 2.0, arms))
        slack.append(float(law.slack[0]))
    numbers = f"{instances} bandits at random: by {min(slack):.3f} to {max(slack):.3f}"
    return Claim("abstract", "Thompson sampling's mixture is in the optimistic set", min(slack) > 0.0, numbers)


def beside_thompson(results: Results) -> Claim:
    last = {name: {who: mean_interval(runs.regret[:, -1]) for who, runs in by.items()} for name, by in results.items()}
    numbers = "; ".join(
        f"{name}: " + ", ".join(f"{who} {x.estimate:.1f}" for who, x in by.items()) for name, by in last.items()
    )
    holds = all(0.5 < by[VARIATIONAL].estimate / by[THOMPSON].estimate < 2.0 for by in last.values())
    return Claim("ours", "VBOS and Thompson sampling have similar regret (within a factor of two)", holds, numbers)


def _bound(kind: str, runs: Runs) -> Floats:
    return bandit_regret_bound(ARMS, runs.points, KINDS[kind].noise)
