"""Figure 2: time to solve DeepSea against its depth, for the twelve algorithms and the 2^(L−1) of dithering."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from klearning.arrays.types import Floats
from klearning.experiments.spec import Spec, make_spec
from klearning.experiments.statistics import FEWEST, median_interval, median_time
from klearning.experiments.store import Store
from klearning.figures.canvas import new_figure, series, styled
from klearning.papers.odonoghue2021.claims import Claim
from klearning.papers.odonoghue2021.protocols import GREEDY, K_OPTIMAL, K_SCHEDULE, SOFT, THOMPSON, Protocol

CAP = 100_000
DEPTHS = {"text": (4, 6, 8, 10, 12, 14, 16, 20, 30, 40, 50), "printed": (4, 6, 8, 10, 14, 20)}

Times = dict[str, dict[int, Floats]]  # label → depth → time to solve of every seed, nan where the cap came first


def specs(protocol: Protocol, seeds: int, depths: Sequence[int], cap: int = CAP, left_out: bool = True) -> list[Spec]:
    return [
        make_spec(
            protocol.world_data(depth), agent, protocol.prior, episodes=cap, seed=seed, protocol=protocol.name,
            stop="solved", evaluate_every=1000,
        )
        for agent in protocol.contestants(left_out).values()
        for depth in depths
        for seed in range(seeds)
    ]  # fmt: skip


def read(
    store: Store, protocol: Protocol, seeds: int, depths: Sequence[int], cap: int = CAP, left_out: bool = True
) -> Times:
    wanted = iter(specs(protocol, seeds, depths, cap, left_out))
    return {
        label: {depth: np.array([store.get(next(wanted)).solved for _ in range(seeds)]) for depth in depths}
        for label in protocol.contestants(left_out)
    }


@styled
def draw(times: Times, protocol: Protocol, cap: int, command: str) -> Any:
    """Medians over seeds, unsolved counted as longer than the cap; a curve ends where half the seeds fail."""
    figure, axes = new_figure(width=7.6, height=4.4)
    depths = np.array(list(next(iter(times.values()))))
    seeds = len(next(iter(next(iter(times.values())).values())))
    for i, (label, by_depth) in enumerate(times.items()):
        line = series(i)
        medians = np.array([median_time(t) for t in by_depth.values()])
        axes.plot(depths, medians, label=label, linewidth=1.4, markersize=4, **line)
        if seeds >= FEWEST:
            ends = np.array([median_interval(t)[1:] for t in by_depth.values()])
            axes.fill_between(depths, ends[:, 0], np.minimum(ends[:, 1], cap), color=line["color"], alpha=0.15, lw=0)
    axes.plot(depths, 2.0 ** (depths - 1), "--", color="grey", label="$2^{L-1}$", linewidth=1)
    axes.axhline(cap, color="0.7", linewidth=0.8)
    axes.set(yscale="log", ylim=(1, 1.5 * cap), xlabel="depth $L$", ylabel="episodes until solved (median)")
    axes.set_title("Learning time on DeepSea")
    figure.legend(loc="outside right center", frameon=False, fontsize=7)
    bands = "; bands: 95% intervals of the median" if seeds >= FEWEST else "; too few seeds for intervals"
    caption = f"protocol `{protocol.name}` ({protocol.note})\n{seeds} seeds, cap {cap:,} episodes{bands}; {command}"
    figure.supxlabel(caption, fontsize=6)
    return figure


def claims(times: Times, protocol: Protocol) -> list[Claim]:
    """The paper's sentences on this figure."""
    depths = list(next(iter(times.values())))
    return [
        _fails_beyond(times, GREEDY, 6, "ε-greedy fails to solve problems larger than L = 6"),
        _fails_beyond(times, SOFT, 14, "soft Q-learning fails to solve problems larger than L = 14"),
        _exponential(times),
        _most_efficient(times, max(depths)),
        _optimal_no_worse(times),
        _left_out_no_better(times, protocol),
    ]


def _share(t: Floats) -> float:
    return float(np.isfinite(t).mean())


def _fails_beyond(times: Times, label: str, limit: int, sentence: str) -> Claim:
    shares = {depth: _share(t) for depth, t in times[label].items()}
    numbers = "share of seeds solved: " + ", ".join(f"L={d} {s:.0%}" for d, s in shares.items())
    if max(shares) <= limit or min(shares) > limit:
        return Claim("figure 2", sentence, None, numbers)
    holds = all((s >= 0.5) == (d <= limit) for d, s in shares.items())
    return Claim("figure 2", sentence, holds, numbers)


def _exponential(times: Times) -> Claim:
    rates = {}
    for label in (GREEDY, SOFT):
        medians = {d: median_time(t) for d, t in times[label].items() if np.isfinite(median_time(t))}
        if len(medians) >= 3:
            rates[label] = float(np.polyfit(list(medians), np.log2(list(medians.values())), 1)[0])
    numbers = "; ".join(f"{label}: doubles every {1 / rate:.1f} layers" for label, rate in rates.items())
    holds = all(rate > 0.5 for rate in rates.values()) if len(rates) == 2 else None
    return Claim("figure 2", "the dithering approaches take time exponential in L, about 2^(L−1)", holds, numbers)


def _most_efficient(times: Times, depth: int) -> Claim:
    medians = {label: median_time(by_depth[depth]) for label, by_depth in times.items()}
    ranked = sorted((m, label) for label, m in medians.items() if np.isfinite(m))
    best = {label for _, label in ranked[:2]}
    numbers = f"L={depth}: " + ", ".join(f"{label} {m:.0f}" for m, label in ranked[:5])
    sentence = "Thompson sampling and K-learning are the most efficient"
    return Claim("figure 2", sentence, best == {THOMPSON, K_OPTIMAL} if len(ranked) >= 2 else None, numbers)


def _optimal_no_worse(times: Times) -> Claim:
    pairs = {d: (median_time(times[K_OPTIMAL][d]), median_time(times[K_SCHEDULE][d])) for d in times[K_OPTIMAL]}
    worse = [d for d, (a, b) in pairs.items() if not a <= b and not (np.isfinite(a) and np.isnan(b))]
    numbers = "optimal/schedule: " + ", ".join(f"L={d} {_show(a)}/{_show(b)}" for d, (a, b) in pairs.items())
    worse = [d for d in worse if not (np.isnan(pairs[d][0]) and np.isnan(pairs[d][1]))]
    return Claim("figure 2", "the optimal τ does no worse than the schedule", not worse, numbers)


def _left_out_no_better(times: Times, protocol: Protocol) -> Claim:
    beyond = [d for d in next(iter(times.values())) if d > 14]
    shares = {label: [_share(times[label][d]) for d in beyond] for label in protocol.left_out() if label in times}
    numbers = f"share of seeds solved at L={beyond}: " + "; ".join(
        f"{label} {', '.join(f'{s:.0%}' for s in found)}" for label, found in shares.items()
    )
    holds = all(s < 0.5 for found in shares.values() for s in found) if beyond and shares else None
    return Claim("figure 2", "BOLT, UCFH and UCRL2 do not do much better than dithering", holds, numbers)


def _show(x: float) -> str:
    return f"{x:.0f}" if np.isfinite(x) else "–"
