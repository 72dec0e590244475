"""New: cumulative Bayes regret of every agent on MDPs drawn from the prior, with the bound of Theorem 1.

Mean rewards are Beta(1, 1), rewards coin flips, transitions Dirichlet: Assumption 1 holds, with σ = 1/2. All agents on
few worlds; study.py has K-learning's versions and Thompson sampling on a thousand worlds of every size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary
from klearning.lab.papers.claims import Claim, Verdict, interval_text
from klearning.lab.papers.figure import Curve, Figure
from klearning.lab.papers.odonoghue2021.study import NOISE, PRIOR, THOMPSON, Size
from klearning.lab.theory.bounds import lower_bound, regret_bound
from klearning.numerics.display.canvas import new_figure, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import FEWEST, holm, mean_interval, paired_difference
from klearning.numerics.types import Floats
from klearning.simulators.codec import prior_data
from klearning.tabular.agents.beb import BEB
from klearning.tabular.agents.bolt import BOLT
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.optimistic_q_learning import OptimisticQLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.q_learning import QLearning
from klearning.tabular.agents.rlsvi import RLSVI
from klearning.tabular.agents.soft_q_learning import SoftQLearning
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.agents.ucfh import UCFH
from klearning.tabular.agents.ucrl2 import UCRL2
from klearning.tabular.trials.agent import Agent

SIZE = Size(L=5, S=5, A=2)
SIZES = SIZE.totals  # as the theorem counts: states over all layers
PROTOCOL = "bayes"
WORLD = {"name": "random_mdp", "states": SIZE.S, "actions": SIZE.A, "horizon": SIZE.L}

CONTESTANTS: dict[str, Agent] = {
    "K-learning, optimal, reward": KLearning(),
    "K-learning, optimal, sharp": KLearning(bonus="sharp"),
    "K-learning, optimal, paper": KLearning(bonus="paper"),
    "K-learning, schedule, paper": KLearning("schedule", bonus="paper"),
    THOMPSON: PSRL(),
    "RLSVI": RLSVI(),
    "UCBVI, Bernstein × 0.01": UCBVI("bernstein", scale=0.01),
    "OQL, Bernstein × 0.01": OptimisticQLearning("bernstein", scale=0.01),
    "BEB × 0.01": BEB(scale=0.01),
    "BOLT": BOLT(),
    "UCRL2 × 0.1": UCRL2(scale=0.1),
    "UCFH × 0.1": UCFH(scale=0.1, least_visits=1),
    "Q-learning, ε = 0.1": QLearning(),
    "Soft Q-learning, τ = 0.05": SoftQLearning(form="model"),
}


def contestants(left_out: bool = True) -> dict[str, Agent]:
    """All, or without the three that the paper left out of its figure."""
    return {label: a for label, a in CONTESTANTS.items() if left_out or not isinstance(a, BOLT | UCFH | UCRL2)}


@dataclass(frozen=True, eq=False)
class BayesRegret(Figure[dict[str, Floats]]):
    """Reads cumulative regret, (worlds, episodes), by label."""

    name: str = "bayes_regret"
    worlds: int = 30
    episodes: int = 1000
    left_out: bool = True  # also the algorithms that the paper left out of its figure

    def small(self) -> Self:
        return replace(self, worlds=10, episodes=200, left_out=False)

    def runs(self) -> dict[str, Spec]:
        """By label, a world per seed."""
        return {
            label: make_spec(WORLD, agent, PRIOR, episodes=self.episodes, seeds=self.worlds, protocol=PROTOCOL)
            for label, agent in contestants(self.left_out).items()
        }

    def read(self, store: Store) -> dict[str, Floats]:
        return {label: runs.regret for label, runs in self.results(store).items()}

    def draw(self, results: dict[str, Floats], command: str) -> Picture:
        return draw(results, command)

    def claims(self, results: dict[str, Floats]) -> list[Claim]:
        return claims(results)

    def contestants(self) -> dict[str, dict[str, Agent]]:
        return {PROTOCOL: CONTESTANTS}

    def verdict(self, summary: StoreSummary) -> Verdict | None:
        """At the most episodes and worlds for which the store has every agent."""
        have = {run.spec.name: run.spec for run in summary.runs if run.spec.protocol == PROTOCOL}
        most = len({spec.seed for spec in have.values()})
        for episodes in sorted({spec.episodes for spec in have.values()}, reverse=True):
            for left_out in (True, False):
                runs = replace(self, worlds=most, episodes=episodes, left_out=left_out).runs().values()
                missing = [part.seed for spec in runs for part in spec.parts if part.name not in have]
                if (worlds := min(missing, default=most)) > 1:
                    regret = replace(self, worlds=worlds, episodes=episodes, left_out=left_out).read(summary.store)
                    return Verdict("Bayes regret", f"{worlds} worlds, {episodes:,} episodes", claims(regret))
        return None

    def references(self, specs: Sequence[Spec], axis: str, x: Floats) -> list[Curve]:
        """The theorem's bound and the rate of the lower one, for the worlds of which they are stated here."""
        if axis != "episode" or not is_drawn_here(specs):
            return []
        bounds = {"bound of the theorem": regret_bound(SIZES, x, NOISE), "√(LSAT)": lower_bound(SIZES, x)}
        return [Curve(label, "", x, y, line=line) for line, (label, y) in enumerate(bounds.items())]


FIGURES = (BayesRegret(),)


def is_drawn_here(specs: Sequence[Spec]) -> bool:
    """Whether runs are on worlds of this size, drawn from this prior."""
    prior = prior_data(PRIOR)
    return all(spec.world == WORLD | {"seed": spec.seed} and spec.prior == prior for spec in specs)


@styled
def draw(regret: dict[str, Floats], command: str) -> Picture:
    figure, axes = new_figure(width=7.6, height=4.6)
    worlds, episodes = regret[THOMPSON].shape
    t = np.arange(1, episodes + 1, dtype=float)
    for i, (label, paths) in enumerate(regret.items()):
        sparse: dict[str, Any] = {"markersize": 4, "markevery": (0.02 * i, 0.15)}
        axes.plot(t, paths.mean(axis=0), label=label, linewidth=1.4, **sparse, **series(i))
    draw_bounds(axes, SIZE, t)
    axes.set_title("Bayes regret on MDPs drawn from the prior")
    figure.legend(loc="outside right center", frameon=False, fontsize=7)
    sizes = f"{worlds} worlds: {SIZE.L} layers of {SIZE.S} states, {SIZE.A} actions, Beta(1, 1) coins, Dirichlet mass 1"
    figure.supxlabel(f"{sizes}\n{command}", fontsize=6)
    return figure


def draw_bounds(axes: Any, size: Size, t: Floats) -> None:
    """The theorem's bound and the rate of the lower one, on axes for mean regret."""
    axes.plot(t, regret_bound(size.totals, t, NOISE), color="black", linewidth=1.2, label="bound of the theorem")
    axes.plot(t, lower_bound(size.totals, t), "--", color="0.4", linewidth=1.0, label=r"$\sqrt{LSAT}$")
    axes.set(xscale="log", yscale="log", xlabel="episode", ylabel="mean cumulative regret", xlim=(1, t[-1]))


def claims(regret: dict[str, Floats]) -> list[Claim]:
    label = "K-learning, optimal, paper"
    t = np.arange(1, regret[label].shape[1] + 1, dtype=float)
    crossed = {
        name: float((paths.mean(axis=0) / regret_bound(SIZES, t, NOISE)).max())
        for name, paths in regret.items()
        if name.startswith("K-learning") and name.endswith("paper")
    }
    numbers = "; ".join(f"{name}: at most {share:.0%} of the bound" for name, share in crossed.items())
    below = Claim("theorem", "Bayes regret of K-learning is below the bound", max(crossed.values()) < 1.0, numbers)
    return [below, _schedule_claim(regret), _ranking(regret)]


def _schedule_claim(regret: dict[str, Floats]) -> Claim:
    a, b = (regret[f"K-learning, {rule}, paper"][:, -1] for rule in ("optimal", "schedule"))
    compared = paired_difference(a, b)
    numbers = f"mean difference {interval_text(compared.difference, '.1f')}, p = {compared.p_value:.2g}"
    sentence = "the optimal τ tends to perform better than the schedule"
    return Claim("section 3.4", sentence, bool(compared.difference.estimate < 0), numbers)


def _ranking(regret: dict[str, Floats]) -> Claim:
    """Thompson sampling and K-learning have similar regret: paired, corrected for the number of comparisons."""
    last = {label: paths[:, -1] for label, paths in regret.items()}
    thompson = last[THOMPSON]
    rivals = [label for label in last if label.startswith("K-learning")]
    compared = [paired_difference(last[label], thompson) for label in rivals]
    adjusted = holm(np.array([c.p_value for c in compared]))
    means = {label: mean_interval(last[label]) for label in [*rivals, THOMPSON]}
    words = {label: interval_text(m) if len(thompson) >= FEWEST else f"{m.estimate:.0f}" for label, m in means.items()}
    show = "; ".join(f"{label} {text}" for label, text in words.items())
    numbers = show + f"; Holm-adjusted p against Thompson: {', '.join(f'{p:.2g}' for p in adjusted)}"
    ratio = means["K-learning, optimal, reward"].estimate / means[THOMPSON].estimate
    holds = bool(0.5 < ratio < 2.0)
    return Claim(
        "section 5", "K-learning and Thompson sampling perform similarly (here: within a factor of two)", holds, numbers
    )
