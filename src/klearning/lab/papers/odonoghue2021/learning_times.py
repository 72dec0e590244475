"""Claims from the times to solve: the paper's sentences on figure 2, and a table.

With fewer than `FEWEST` seeds a sentence is checked on medians and shares as they are. With more it holds, or does not,
where intervals and tests say so at 95%, and is open if they do not tell.
"""

from collections.abc import Callable, Sequence

import numpy as np

from klearning.lab.papers.claims import Claim, table
from klearning.lab.papers.odonoghue2021.protocols import GREEDY, K_OPTIMAL, K_SCHEDULE, SOFT, THOMPSON, DeepSeaProtocol
from klearning.numerics.statistics import (
    FEWEST,
    Interval,
    chance_below,
    fraction_interval,
    holm,
    median_interval,
    median_time,
    paired_chance_below,
    resamples,
)
from klearning.numerics.types import Floats

Times = dict[str, dict[int, Floats]]  # label → depth → time to solve of every seed, nan if the cap came first

LEVEL = 0.05  # of all tests of a sentence together
ABOUT = 4 / 3  # a rate within this factor of one doubling per layer is called about 2^(L−1)


def most_seeds(times: Times) -> int:
    """Of any agent at any depth; one that cannot solve a depth has fewer there."""
    return max(len(t) for by_depth in times.values() for t in by_depth.values())


def claims(times: Times, protocol: DeepSeaProtocol) -> list[Claim]:
    """The paper's sentences on this figure."""
    many = most_seeds(times) >= FEWEST
    return [
        _fails_beyond(times[GREEDY], 6, "ε-greedy fails to solve problems larger than L = 6", many),
        _fails_beyond(times[SOFT], 14, "soft Q-learning fails to solve problems larger than L = 14", many),
        _exponential(times, many),
        _most_efficient(times, max(times[K_OPTIMAL]), many),
        _optimal_no_worse(times, many),
        _left_out_no_better(times, protocol, many),
    ]


def _fails_beyond(by_depth: dict[int, Floats], limit: int, sentence: str, many: bool) -> Claim:
    shares = {depth: _share(t) for depth, t in by_depth.items()}
    words = (f"L={d} {_share_words(by_depth[d], many)}" for d in shares)
    numbers = "share of seeds solved: " + ", ".join(words)
    if max(shares) <= limit or min(shares) > limit:
        return Claim("figure 2", sentence, None, numbers)
    sides = [_is_half(share, many) if d <= limit else _is_not(_is_half(share, many)) for d, share in shares.items()]
    return Claim("figure 2", sentence, _all(sides), numbers)


def _exponential(times: Times, many: bool) -> Claim:
    rates = {label: rate for label in (GREEDY, SOFT) if (rate := _doublings(times[label], many)) is not None}
    numbers = "; ".join(f"{label}: doubles every {_layers(rate)} layers" for label, rate in rates.items())
    sentence = "the dithering approaches take time exponential in L, about 2^(L−1)"
    sides = [_is_above(rate, 1 / ABOUT) for rate in rates.values()]
    sides += [_is_not(_is_above(rate, ABOUT)) for rate in rates.values()]
    return Claim("figure 2", sentence, _all(sides) if len(rates) == 2 else None, numbers)


def _doublings(by_depth: dict[int, Floats], many: bool) -> Interval | None:
    """Slope of log2 of the median, a layer, by least squares; many seeds are resampled, depth by depth."""
    bounded = {d: t for d, t in by_depth.items() if np.isfinite(median_interval(t).high if many else median_time(t))}
    if len(bounded) < 3:
        return None
    slope = _slope(list(bounded), np.array([[median_time(t)] for t in bounded.values()]))[0]
    if not many:
        return Interval(slope, slope, slope)
    rng = np.random.default_rng(0)
    draws = [np.median(resamples(np.where(np.isnan(t), np.inf, t), rng), axis=1) for t in bounded.values()]
    medians = np.stack(draws)
    low, high = np.quantile(_slope(list(bounded), medians[:, np.isfinite(medians).all(axis=0)]), [0.025, 0.975])
    return Interval(slope, float(low), float(high))


def _slope(depths: Sequence[int], medians: Floats) -> Floats:
    fitted: Floats = np.polyfit(depths, np.log2(medians), 1)[0]
    return fitted


def _layers(rate: Interval) -> str:
    shortest, longest = 1 / rate.high, 1 / rate.low
    return f"{1 / rate.estimate:.1f}" + (f" [{shortest:.1f}, {longest:.1f}]" if rate.low < rate.high else "")


def _most_efficient(times: Times, depth: int, many: bool) -> Claim:
    at = {label: by_depth[depth] for label, by_depth in times.items()}
    ranked = sorted((m, label) for label, t in at.items() if np.isfinite(m := median_time(t)))
    numbers = f"L={depth}: " + ", ".join(f"{label} {_median_words(at[label], many)}" for _, label in ranked[:5])
    sentence = "Thompson sampling and K-learning are the most efficient"
    pair, order = {THOMPSON, K_OPTIMAL}, [label for _, label in ranked]
    if len(ranked) < 2:
        return Claim("figure 2", sentence, None, numbers)
    if not many or not pair <= set(order):
        return Claim("figure 2", sentence, set(order[:2]) == pair, numbers)
    slower = max(pair, key=order.index)
    rivals = [label for label in order if label not in pair]
    chances = [chance_below([at[label]], [at[slower]]) for label in rivals]
    p_values = holm(np.array([chance.p_value for chance in chances]))
    told = [np.sign(0.5 - c.probability.estimate) if p < LEVEL else 0.0 for c, p in zip(chances, p_values, strict=True)]
    if rivals:
        first = chances[0].probability
        numbers += f"; {rivals[0]} is faster than {slower} with probability {_interval_words(first, '.2f')}"
        numbers += f", p = {p_values[0]:.2g}"
    return Claim("figure 2", sentence, False if -1.0 in told else None if 0.0 in told else True, numbers)


def _optimal_no_worse(times: Times, many: bool) -> Claim:
    optimal, schedule = times[K_OPTIMAL], times[K_SCHEDULE]
    pairs = {d: (median_time(optimal[d]), median_time(schedule[d])) for d in optimal}
    numbers = "optimal/schedule: " + ", ".join(f"L={d} {_show(a)}/{_show(b)}" for d, (a, b) in pairs.items())
    worse = [d for d, (a, b) in pairs.items() if _or_never(a) > _or_never(b)]
    holds: bool | None = not worse
    if many and worse:
        chances = [paired_chance_below(*_same_seeds(optimal[d], schedule[d])) for d in pairs]
        p_values = holm(np.array([chance.p_value for chance in chances]))
        surely = [c.probability.estimate < 0.5 and p < LEVEL for c, p in zip(chances, p_values, strict=True)]
        holds = False if any(surely) else None
    return Claim("figure 2", "the optimal τ does no worse than the schedule", holds, numbers)


def _same_seeds(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Both meet the same random streams, seed by seed, as far as both were run."""
    n = min(len(a), len(b))
    return a[:n], b[:n]


def _left_out_no_better(times: Times, protocol: DeepSeaProtocol, many: bool) -> Claim:
    sentence = "BOLT, UCFH and UCRL2 do not do much better than dithering"
    beyond = [d for d in times[K_OPTIMAL] if d > 14]
    run = {label: [times[label][d] for d in beyond] for label in protocol.left_out() if label in times}
    if not beyond or not run:
        missing = "they were not run" if not run else "no depth above 14 was run"
        return Claim("figure 2", sentence, None, missing)
    numbers = f"share of seeds solved at L={beyond}: " + "; ".join(
        f"{label} {', '.join(_share_words(t, many) for t in by_depth)}" for label, by_depth in run.items()
    )
    sides = [_is_not(_is_half(_share(t), many)) for by_depth in run.values() for t in by_depth]
    return Claim("figure 2", sentence, _all(sides), numbers)


def _share(t: Floats) -> Interval:
    return fraction_interval(int(np.isfinite(t).sum()), len(t))


def _is_half(share: Interval, many: bool) -> bool | None:
    """Whether half or more are solved; None if the interval does not tell."""
    return _is_above(share, 0.5) if many else share.estimate >= 0.5


def _is_above(interval: Interval, value: float) -> bool | None:
    return True if interval.low > value else False if interval.high <= value else None


def _is_not(side: bool | None) -> bool | None:
    return None if side is None else not side


def _all(sides: Sequence[bool | None]) -> bool | None:
    """False if one is, else open if one is, else true."""
    return False if False in sides else None if None in sides else True


def learning_table(times: Times, cap: int) -> str:
    """Medians with their intervals, in Markdown, if there are seeds enough for intervals."""
    if most_seeds(times) < FEWEST:
        return ""
    note = (
        "Median episodes until solved with its 95% interval; after a stroke how many of the seeds solved, if not "
        f"all did; >: longer than the cap of {cap:,}. Fewer than {most_seeds(times)} seeds: stopped, because most fail."
    )
    return table_by_depth(times, lambda t: _cell(t, cap), note)


def table_by_depth(times: Times, cell: Callable[[Floats], str], note: str) -> str:
    """A row per agent and a column per depth, in Markdown."""
    depths = list(times[K_OPTIMAL])
    rows = [[label, *(cell(by_depth[d]) for d in depths)] for label, by_depth in times.items()]
    return f"{table(['agent', *(f'L = {d}' for d in depths)], rows)}\n{note}\n"


def _cell(t: Floats, cap: int) -> str:
    solved = int(np.isfinite(t).sum())
    count = "" if solved == len(t) else f" / {solved} of {len(t)}"
    return (_median_words(t, many=True) if np.isfinite(median_time(t)) else f"> {cap:,}") + count


def _median_words(t: Floats, many: bool) -> str:
    median = median_interval(t)
    return _interval_words(median, ",.0f") if many and len(t) >= FEWEST else f"{median.estimate:.0f}"


def _interval_words(x: Interval, form: str) -> str:
    high = f"{x.high:{form}}" if np.isfinite(x.high) else "∞"
    return f"{x.estimate:{form}} [{x.low:{form}}, {high}]"


def _share_words(t: Floats, many: bool) -> str:
    share = _share(t)
    if not many:
        return f"{share.estimate:.0%}"
    return f"{np.isfinite(t).sum()}/{len(t)} [{share.low:.0%}, {share.high:.0%}]"


def _or_never(time: float) -> float:
    return time if np.isfinite(time) else np.inf


def _show(x: float) -> str:
    return f"{x:.0f}" if np.isfinite(x) else "–"
