"""Bayes regret over a thousand MDPs of each of several sizes: against Theorem 1, against what the agent says, and how
it grows.

Mean rewards are Beta(1, 1), rewards coin flips, transitions Dirichlet of mass 1: Assumption 1 holds, with σ = ½. The
theorem is about the bonus `paper` with the schedule; its lemma on the optimal temperature adds that one. `sharp` is
covered too, for it is an upper bound, and nowhere above `paper` (docs/evidence/bayes_regret.md); `reward` is not.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.papers.claims import Claim
from klearning.lab.papers.figure import least_optimism
from klearning.lab.theory import regret_bound
from klearning.numerics.types import Floats
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Beta
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.runs import Runs

PRIOR = Prior(Beta(1.0, 1.0), Dirichlet(mass=1.0))
NOISE = 0.5  # σ of a coin flip
BONUSES: tuple[BonusName, ...] = ("paper", "sharp", "reward")
TEMPERATURES: tuple[Literal["optimal", "schedule"], ...] = ("optimal", "schedule")
COVERED = ("paper", "sharp")
THOMPSON = "Thompson sampling"


class Size(NamedTuple):
    """Layers, states a layer, actions."""

    L: int
    S: int
    A: int

    @property
    def totals(self) -> tuple[int, int, int]:
        """(L, S, A) with S over all layers, as the theorem counts."""
        return self.L, self.L * self.S, self.A


CENTRE = Size(4, 4, 2)
GRID = {
    "L": (Size(2, 4, 2), CENTRE, Size(8, 4, 2)),
    "S": (Size(4, 2, 2), CENTRE, Size(4, 8, 2)),
    "A": (CENTRE, Size(4, 4, 4), Size(4, 4, 8)),
}
LONG = Size(2, 2, 2)


def label(bonus: str, temperature: str) -> str:
    return f"K-learning, {temperature}, {bonus}"


def contestants() -> dict[str, Agent]:
    known: dict[str, Agent] = {
        label(bonus, rule): KLearning(rule, bonus=bonus) for bonus in BONUSES for rule in TEMPERATURES
    }
    return known | {THOMPSON: PSRL()}


def covered() -> list[str]:
    """Those of which the theorem speaks."""
    return [label(bonus, rule) for bonus in COVERED for rule in TEMPERATURES]


def spec(size: Size, agent: Agent, worlds: int, episodes: int) -> Spec:
    world = {"name": "random_mdp", "states": size.S, "actions": size.A, "horizon": size.L}
    return make_spec(world, agent, PRIOR, episodes=episodes, protocol="bayes", seeds=worlds, keep="points")


Results = dict[Size, dict[str, Runs]]


def never_crossed(results: Results, names: Sequence[str]) -> dict[str, float]:
    """t-kl_mdp: the largest share of its bound that mean regret takes, over all sizes and episodes, by label."""
    return {name: max(float(share_of_bound(size, by_name[name]).max()) for size, by_name in results.items())
            for name in names}  # fmt: skip


def share_of_bound(size: Size, runs: Runs) -> Floats:
    return runs.regret.mean(axis=0) / regret_bound(size.totals, runs.points, NOISE)


def smallest_optimism(results: Results, names: Sequence[str]) -> dict[str, float]:
    """Of every label `least_optimism` over all sizes."""
    return {name: min(least_optimism(by_name[name]) for by_name in results.values()) for name in names}


def promise_kept(results: Results, names: Sequence[str]) -> dict[str, float]:
    """The largest ratio of mean regret to the mean of Σ Φ, what the agent said that it would be at most, by label."""
    return {
        name: max(
            float((by_name[name].regret.mean(axis=0) / by_name[name].promised_regret.mean(axis=0)).max())
            for by_name in results.values()
        )
        for name in names
    }


def claims(results: Results) -> list[Claim]:
    shares, said = never_crossed(results, covered()), promise_kept(results, covered())
    optimism = smallest_optimism(results, [label(bonus, rule) for bonus in BONUSES for rule in TEMPERATURES])
    least = {name: optimism[name] for name in covered()}
    return [
        Claim("theorem 1", "Bayes regret never crosses the bound, at any size and episode", max(shares.values()) < 1.0,
              "at most " + _listed(shares, "{:.1%} of it")),
        Claim("Bellman inequality", "the mean of f_t is never below that of V*: optimism", min(least.values()) > 0,
              "at least " + _listed(least, "{:.0f} standard errors above")),
        Claim("proof of theorem 1", "regret is at most what the agent says, Σ Φ", max(said.values()) < 1.0,
              "at most " + _listed(said, "{:.0%} of it")),
        _schedule(results),
    ]  # fmt: skip


def _schedule(results: Results) -> Claim:
    names = [label("paper", rule) for rule in TEMPERATURES]
    ratios = [np.divide(*(by_name[name].regret[:, -1].mean() for name in names)) for by_name in results.values()]
    sentence = "the optimal τ has the lower regret at every size (bonus `paper`)"
    numbers = "optimal/schedule: " + ", ".join(f"{tuple(size)} {ratio:.2f}" for size, ratio in zip(results, ratios))
    return Claim("section 3.4", sentence, bool(max(ratios) < 1.0), numbers)


def _listed(numbers: dict[str, float], form: str) -> str:
    return "; ".join(f"{form.format(value)} ({name})" for name, value in numbers.items())
