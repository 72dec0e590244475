"""The pigeonhole lemma (l-pigeonhole), as printed and mended, by exact enumeration.

An index i_t of m is drawn at t = 1..N with chances p^t, which may depend on the counts n^t so far. The lemma is about

    E Σ_t Σ_i p^t_i · w(n^t_i),      printed: w(n) = 1/(n∨1) and the bound m(1 + log N)

which is false; with w(n) = 1/(n+1), or with the bound m(2 + log N), it is true. It is true in expectation only: the
printed statement has no E, and on a single path the sum may be above N(1 − 1/m).
"""

from collections.abc import Callable, Sequence
from math import log

from klearning.lab.theory.inequality import Inequality
from klearning.numerics import checks

Counts = tuple[int, ...]
FORMS = ("printed", "visits+1", "2+log N")


def weight(n: int, form: str) -> float:
    """1/(n∨1), or 1/(n+1)."""
    return 1.0 / (n + 1) if form == "visits+1" else 1.0 / max(n, 1)


def limit(arms: int, pulls: int, form: str) -> float:
    """m(1 + log N), or m(2 + log N)."""
    return arms * ((2.0 if form == "2+log N" else 1.0) + log(pulls))


def pigeonhole(
    chances: Callable[[Counts], Sequence[float]], arms: int, pulls: int, form: str = "printed"
) -> Inequality:
    """l-pigeonhole: E Σ_t Σ_i p^t_i w(n^t_i) and its bound, ``chances`` giving p^t from the counts n^t (and so from t).

    ``form`` is "printed" (false), "visits+1" or "2+log N" (both true). All counts that can arise are enumerated.
    """
    checks.choice("form", form, FORMS)
    reached: dict[Counts, float] = {(0,) * arms: 1.0}
    total = 0.0
    for _ in range(checks.whole("pulls", pulls)):
        after: dict[Counts, float] = {}
        for counts, chance in reached.items():
            for i, p in enumerate(checks.distributions("chances", chances(counts), (arms,)).tolist()):
                if p > 0.0:
                    total += chance * p * weight(counts[i], form)
                    further = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
                    after[further] = after.get(further, 0.0) + chance * p
        reached = after
    return Inequality(total, limit(arms, pulls, form))


def pigeonhole_on_a_path(
    chances: Sequence[Sequence[float]], choices: Sequence[int], form: str = "printed"
) -> Inequality:
    """l-pigeonhole as it reads, without expectation: Σ_t Σ_i p^t_i w(n^t_i) along one path of choices."""
    checks.choice("form", form, FORMS)
    counts = [0] * len(chances[0])
    total = 0.0
    for p, choice in zip(chances, choices, strict=True):
        total += sum(x * weight(n, form) for x, n in zip(p, counts))
        counts[choice] += 1
    return Inequality(total, limit(len(counts), len(choices), form))
