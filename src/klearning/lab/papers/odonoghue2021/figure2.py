"""Figure 2: time to solve DeepSea against its depth, for the twelve algorithms and the 2^(L−1) of dithering."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from klearning.lab.experiments.interim_stopping import LOOKS
from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import StoreSummary, agent_key
from klearning.lab.papers.claims import Claim, Verdict
from klearning.lab.papers.figure import Curve, Figure
from klearning.lab.papers.odonoghue2021.learning_times import Times, claims, learning_table, most_seeds
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, PRINTED, TEXT, DeepSeaProtocol
from klearning.numerics.display.canvas import new_figure, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import FEWEST, median_interval, median_time
from klearning.numerics.types import Floats
from klearning.simulators.codec import call_data, prior_data
from klearning.tabular.trials.runs import Runs

CAP, QUICK_CAP = 100_000, 3000
EVALUATE_EVERY = 1000
QUICK_DEPTHS = {"text": (4, 6, 8, 10, 20), "printed": (4, 6)}
STEP = 1.2  # ratio between the rows of marks above the cap


@dataclass(frozen=True, eq=False)
class LearningTime(Figure[Times]):
    """Twelve algorithms, or nine without those that the paper ran but left out, at some depths."""

    name: str = "figure2"
    protocol: DeepSeaProtocol = TEXT
    depths: Sequence[int] = ()
    seeds: int = 5
    cap: int = CAP
    left_out: bool = True

    looks: ClassVar[Sequence[int]] = LOOKS

    def small(self) -> Self:
        depths = QUICK_DEPTHS[self.protocol.name]
        return replace(self, depths=depths, seeds=3, cap=QUICK_CAP, left_out=False)

    def runs(self) -> Mapping[Any, Spec]:
        """By label and depth."""
        return {
            (label, depth): make_spec(
                self.protocol.world_data(depth), agent, self.protocol.prior, episodes=self.cap, seeds=self.seeds,
                protocol=self.protocol.name, stop="solved", evaluate_every=EVALUATE_EVERY,
            )
            for label, agent in self.protocol.contestants(self.left_out).items()
            for depth in self.depths
        }  # fmt: skip

    def read(self, store: Store) -> Times:
        """Of as many seeds as the looks let run: an agent that cannot solve a depth has fewer there."""
        return times_of(self.results(store).values(), self.protocol, self.cap)

    def draw(self, results: Times, command: str) -> Picture:
        return draw(results, self.protocol, self.cap, command)

    def claims(self, results: Times) -> list[Claim]:
        return claims(results, self.protocol)

    def table(self, results: Times) -> str:
        return learning_table(results, self.cap)

    def command_arguments(self, specs: Sequence[Spec]) -> str:
        """At any depths and seeds, where world, prior, agents and cap are this figure's."""
        spec, cap = specs[0], specs[0].episodes
        ours = spec.stop == "solved" and spec.evaluate_every == EVALUATE_EVERY and cap in (CAP, QUICK_CAP)
        if not (ours and all(_is_of(spec, self.protocol) for spec in specs)):
            return ""
        depths = ",".join(str(depth) for depth in sorted({spec.world["depth"] for spec in specs}))
        seeds, quick = max(spec.seed + spec.seeds for spec in specs), " --quick" if cap == QUICK_CAP else ""
        return f"{self.name} --seeds {seeds} --depths {depths} --protocol {self.protocol.name}{quick}"

    def verdict(self, summary: StoreSummary) -> Verdict | None:
        """At the greatest cap for which the store has every agent of the paper's figure at some depth."""
        caps = {run.spec.episodes for run in summary.runs if run.spec.stop == "solved"}
        for cap in sorted(caps, reverse=True):
            if not (times := complete(times_of(summary.runs, self.protocol, cap), self.protocol)):
                continue
            counts = sorted({len(t) for by_depth in times.values() for t in by_depth.values()})
            seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            return Verdict(f"Figure 2, {self.protocol.heading}", f"{seeds} seeds, cap {cap:,}", self.claims(times))
        return None

    def references(self, specs: Sequence[Spec], axis: str, x: Floats) -> list[Curve]:
        """The time of dithering on any DeepSea, up to the cap of the runs."""
        if axis != "depth" or any(spec.world["name"] != "deep_sea" for spec in specs):
            return []
        coins = 2.0 ** (x - 1)
        return [Curve("2^(L−1)", "", x, np.where(coins <= specs[0].episodes, coins, np.nan))]


FIGURES = (
    LearningTime(protocol=TEXT, depths=(4, 6, 8, 10, 12, 14, 16, 20, 30, 40, 50)),
    LearningTime(protocol=PRINTED, depths=(4, 6, 8, 10, 14, 20)),
)


def _is_of(spec: Spec, protocol: DeepSeaProtocol) -> bool:
    """Whether world, prior and agent are those of the protocol that the run names."""
    world = spec.world
    return (
        spec.protocol == protocol.name
        and spec.prior == prior_data(protocol.prior)
        and agent_key(spec) in protocol.labels
        and world["name"] == "deep_sea"
        and "depth" in world
        and world == call_data("world", protocol.world_data(world["depth"]))
    )


def times_of(results: Iterable[Runs], protocol: DeepSeaProtocol, cap: int) -> Times:
    """Times to solve by label and depth, of those results that are of this protocol and cap; in the order of seeds."""
    times: dict[str, dict[int, list[Floats]]] = {label: {} for label in protocol.contestants()}
    for runs in sorted(results, key=lambda runs: runs.seeds[0]):
        spec = runs.spec
        if spec.stop == "solved" and spec.episodes == cap and _is_of(spec, protocol):
            times[protocol.labels[agent_key(spec)]].setdefault(spec.world["depth"], []).append(runs.solved)
    return {
        label: {depth: np.concatenate(by_depth[depth]) for depth in sorted(by_depth)}
        for label, by_depth in times.items()
        if by_depth
    }


def complete(times: Times, protocol: DeepSeaProtocol) -> Times:
    """At those depths at which every agent of the paper's figure was run, and who was left out, if at all of them."""
    shown = list(protocol.contestants(left_out=False))
    depths = sorted(set.intersection(*(set(times.get(label, {})) for label in shown)))
    extra = [label for label in protocol.left_out() if set(depths) <= set(times.get(label, {}))]
    return {label: {d: times[label][d] for d in depths} for label in [*shown, *extra]} if depths else {}


@styled
def draw(times: Times, protocol: DeepSeaProtocol, cap: int, command: str) -> Picture:
    """Medians over seeds, unsolved counted as longer than the cap; above it a mark if half the seeds fail."""
    figure, axes = new_figure(width=7.6, height=4.4)
    depths, seeds = np.array(list(times[K_OPTIMAL])), most_seeds(times)
    above = float(cap)
    for i, (label, by_depth) in enumerate(times.items()):
        line = series(i)
        medians = np.array([median_time(t) for t in by_depth.values()])
        axes.plot(depths, medians, label=label, linewidth=1.4, markersize=4, **line)
        if seeds >= FEWEST:
            ends = np.array([median_interval(t)[1:] for t in by_depth.values()])
            axes.fill_between(depths, ends[:, 0], np.minimum(ends[:, 1], cap), color=line["color"], alpha=0.15, lw=0)
        if (failed := np.isnan(medians)).any():
            above *= STEP
            mark = {"color": line["color"], "marker": line["marker"], "markersize": 3, "markerfacecolor": "none"}
            axes.plot(depths[failed], np.full(failed.sum(), above), linestyle="none", **mark)
    ends = np.array([depths[0], min(depths[-1], 1.0 + np.log2(cap))])
    axes.plot(ends, 2.0 ** (ends - 1.0), "--", color="grey", label="$2^{L-1}$", linewidth=1)
    axes.axhline(cap, color="0.7", linewidth=0.8)
    axes.set(yscale="log", ylim=(1, STEP * above), xlabel="depth $L$", ylabel="episodes until solved (median)")
    axes.set_title("Learning time on DeepSea")
    figure.legend(loc="outside right center", frameon=False, fontsize=7)
    figure.supxlabel(_caption(times, protocol, cap, command), fontsize=6)
    return figure


def _caption(times: Times, protocol: DeepSeaProtocol, cap: int, command: str) -> str:
    least, most = min(len(t) for by_depth in times.values() for t in by_depth.values()), most_seeds(times)
    seeds = f"{most:,} seeds" if least == most else f"{most:,} seeds, {least:,} or more if most fail"
    bands = "bands: 95% intervals of the median" if most >= FEWEST else "too few seeds for intervals"
    return (
        f"protocol `{protocol.name}` ({protocol.note})\n"
        f"{seeds}, cap {cap:,} episodes; open marks: longer than the cap; {bands}\n{command}"
    )
