"""exp on the negative half-line, log1p and log on the unit interval, in plain arithmetic.

``math.exp`` in a loop is a call per element; a polynomial can be vectorised. All are accurate to a few units in the
last place and take about a fifth of the time of the library calls (docs/evidence/performance.md).
"""

from math import factorial

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.simd.operations import choose, from_bits, to_bits

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, so that k·ln 2 is exact for small k
LN2_LOW = 1.90821492927058770002e-10
LN2 = 0.6931471805599453
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer, held in the low bits
MANTISSA, ONE = 0x000FFFFFFFFFFFFF, 0x3FF0000000000000  # bits of a float
WHOLE = 0x4330000000000000  # the bits of 2⁵², whose last bits are an integer
SMALLEST = -708.0  # below it exp is subnormal
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / factorial(i) for i in range(2, 14))


@kernel
def exp_negative(x: float) -> float:
    """exp(x) for x ≤ 0: x = k·ln 2 + r with |r| ≤ ln 2 / 2, then 2ᵏ · (Taylor of eʳ)."""
    x = choose(x > SMALLEST, x, SMALLEST)
    rounded = x * LOG2_E + ROUND
    k = rounded - ROUND
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    tail = C8 + r * (C9 + r * (C10 + r * (C11 + r * (C12 + r * C13))))
    taylor = 1.0 + r * (1.0 + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * (C7 + r * tail)))))))
    return taylor * from_bits((to_bits(rounded) + 1023) << 52)


@kernel
def log1p_unit(x: float) -> float:
    """log(1 + x) for 0 ≤ x ≤ 1, as 2·atanh; above √2 − 1 the argument is halved first."""
    high = x > 0.41421356237309503
    numerator = choose(high, x - 1.0, x)
    denominator = choose(high, x + 3.0, x + 2.0)
    s = numerator / denominator
    z = s * s
    tail = 1 / 11 + z * (1 / 13 + z * (1 / 15 + z * (1 / 17 + z * (1 / 19))))
    series = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * tail)))
    halved: float = choose(high, LN2, 0.0)
    return halved + 2.0 * (s + s * z * series)


@kernel
def log_unit(x: float) -> float:
    """log(x) for 0 < x ≤ 1, x not subnormal, as log(1 + r) + k·ln 2 with x = 2ᵏ·(1 + r).

    Near 1 the two terms cancel: the error there is 3e-16 absolute, not relative.
    """
    bits = to_bits(x)
    k = (bits >> 52) - 1023
    return log1p_unit(from_bits((bits & MANTISSA) | ONE) - 1.0) + k * LN2


@kernel
def log_near_one(x: float, beyond: float) -> float:
    """log(x) for x > 0, not subnormal, given x − 1 as well: near 1 it is as accurate as that."""
    near = abs(beyond - 0.06) < 0.35  # log1p_unit need not halve
    bits = to_bits(x)
    k = from_bits((bits >> 52) | WHOLE) - 4503599627371519.0  # 2⁵² + 1023
    r = choose(near, beyond, from_bits((bits & MANTISSA) | ONE) - 1.0)
    return log1p_unit(r) + choose(near, 0.0, k) * LN2
