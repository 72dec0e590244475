"""What so many seeds leave that not all of it is kept: means and quantiles by episode, times and totals by seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from klearning.gpu.layout import Worlds
from klearning.gpu.tally import Tally
from klearning.numerics.cards import html_card, text_card
from klearning.numerics.frames import data_frame
from klearning.numerics.pictures import axes_or_new
from klearning.numerics.statistics import Interval, mean_interval, median_interval
from klearning.numerics.types import Floats, Ints
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.agent import Agent

if TYPE_CHECKING:
    from pandas import DataFrame

LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True, eq=False, repr=False)
class Digest:
    """What a batch of very many seeds produced; arrays are by episode or by seed, never both."""

    agent: Agent[Any]
    world: MDP | Worlds
    prior: Prior
    seeds: Sequence[int]
    optimal_value: float | Floats  # one a seed, where each has a world of its own
    mean_values: Floats  # (episodes,)
    mean_regret: Floats  # (episodes,): cumulative
    regret_errors: Floats  # (episodes,): its standard errors
    diagnostics: dict[str, Floats]  # (episodes,): means of what the agent says
    at: Ints  # the episodes, from 1, of which quantiles are kept
    levels: Floats
    regret_quantiles: Floats  # (at, levels)
    total_regret: Floats  # (seeds,)
    last_values: Floats  # (seeds,): of the policy of the last episode
    first_hit: Floats  # (seeds,); nan where there was none
    solved: Floats  # (seeds,): as that of Runs
    seconds: float

    @property
    def episodes(self) -> int:
        return len(self.mean_values)

    def summary(self) -> str:
        """How it went, in a few lines, with 95% intervals."""
        return text_card(self._title(), self._facts())

    def data(self) -> dict[str, Any]:
        """Numbers for programs, of the seeds together: by name, as plain data."""
        times = {"first_hit": self.first_hit, "solved": self.solved}
        return {
            "agent": str(self.agent),
            "world": self.world.name,
            "episodes": self.episodes,
            "seeds": len(self.seeds),
            "optimal_value": float(np.mean(self.optimal_value)),
            "regret": {"mean": float(self.mean_regret[-1]), "error": float(self.regret_errors[-1])},
            "regret_quantiles": dict(zip(map(str, LEVELS), self.regret_quantiles[-1].tolist(), strict=True)),
            **{name: _times(x) for name, x in times.items()},
            "last_value": float(self.mean_values[-1]),
            "seconds": self.seconds,
        }

    def frame(self) -> "DataFrame":
        """A pandas data frame, one row per episode: means over the seeds, and the standard error of the regret."""
        columns: dict[str, Any] = {
            "episode": np.arange(1, self.episodes + 1),
            "value": self.mean_values,
            "regret": self.mean_regret,
            "regret_error": self.regret_errors,
            **self.diagnostics,
        }
        return data_frame(columns)

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Mean cumulative regret by episode, with a 95% band of that mean, and what half and 95% of the seeds have."""
        axes, episodes = axes_or_new(ax), np.arange(1, self.episodes + 1)
        name = label if label is not None else type(self.agent).__name__
        (line,) = axes.plot(episodes, self.mean_regret, linewidth=1.5, label=f"{name}, mean of {len(self.seeds):,}")
        colour, error = line.get_color(), 1.96 * self.regret_errors
        axes.fill_between(episodes, self.mean_regret - error, self.mean_regret + error, color=colour, alpha=0.5)
        for low, high, alpha in ((0, 4, 0.12), (1, 3, 0.2)):
            band = self.regret_quantiles[:, low], self.regret_quantiles[:, high]
            axes.fill_between(self.at, *band, color=colour, alpha=alpha, linewidth=0)
        axes.set(xlabel="episode", ylabel="cumulative regret", title=self.world.name)
        axes.legend(frameon=False)
        return axes

    def _title(self) -> str:
        size = f"{len(self.seeds):,} seeds × {self.episodes:,} episodes, {self.seconds:.3g} s"
        return f"{self.agent!r} in {self.world.name}: {size}"

    def _facts(self) -> dict[str, str]:
        low, middle, high = (f"{self.regret_quantiles[-1, i]:.4g}" for i in (0, 2, 4))
        facts = {
            "prior": repr(self.prior),
            "optimal value": f"{np.mean(self.optimal_value):.4g}",
            f"regret after {self.episodes:,}": _told(mean_interval(self.total_regret)),
            "regret of the seeds": f"median {middle}, 95% between {low} and {high}",
            "value, last episode": _told(mean_interval(self.last_values)),
            "episodes a second": f"{len(self.seeds) * self.episodes / self.seconds:,.0f}",
        }
        if np.isfinite(self.first_hit).any():
            for name, times in (("first hit", self.first_hit), ("solved", self.solved)):
                median = median_interval(times)
                told = f"median {_told(median)}" if np.isfinite(median.estimate) else "by fewer than half"
                facts[name] = f"{told}; {np.isfinite(times).sum():,} of {len(times):,} seeds"
        return facts

    def __repr__(self) -> str:
        return f"Digest({self._title()})"

    def _repr_html_(self) -> str:
        return html_card(self._title(), self._facts())


def _told(x: Interval) -> str:
    return f"{x.estimate:.5g}" + ("" if np.isnan(x.low) else f" [{x.low:.5g}, {x.high:.5g}]")


def _times(x: Floats) -> dict[str, float | int]:
    """How many seeds came there, and when: nobody's mean where nobody did."""
    there = x[np.isfinite(x)]
    mean, median = (float(f(there)) if there.size else float("nan") for f in (np.mean, np.median))
    return {"seeds": there.size, "mean": mean, "median": median}


def digest(
    agent: Agent[Any], world: MDP | Worlds, prior: Prior, seeds: Sequence[int], names: tuple[str, ...],
    tallies: list[Tally], seconds: float,
) -> Digest:  # fmt: skip
    """All tallies together."""
    n = len(seeds)
    values, lost, squares, *talk = np.sum([x.sums for x in tallies], axis=0) / n
    variance = np.maximum(squares - lost**2, 0.0) * (n / max(n - 1, 1))
    of_seeds = {name: np.concatenate([x.of_seeds[name] for x in tallies]) for name in tallies[0].of_seeds}
    curve, levels = np.concatenate([x.curve for x in tallies], axis=1), np.array(LEVELS)
    return Digest(
        agent=agent, world=world, prior=prior, seeds=seeds,
        optimal_value=world.optimal_values if isinstance(world, Worlds) else float(of_seeds["optimal"][0]),
        mean_values=values, mean_regret=lost, regret_errors=np.sqrt(variance / n),
        diagnostics=dict(zip(names, talk, strict=True)), at=tallies[0].at, levels=levels,
        regret_quantiles=np.quantile(curve, levels, axis=1).T, total_regret=of_seeds["regret"],
        last_values=of_seeds["last"], first_hit=of_seeds["first_hit"], solved=of_seeds["solved"], seconds=seconds,
    )  # fmt: skip
