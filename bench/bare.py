"""The least a sweep must compute: exp, log1p and a division a state; with library calls and as polynomials."""

import math

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.elementary import exp_negative, log1p_unit
from klearning.numerics.types import Floats


@kernel
def library_loop(times: int, d: Floats, out: Floats) -> None:
    for _ in range(times):
        for i in range(d.size):
            e = math.exp(-d[i])
            out[i] = math.log1p(e) + e / (1.0 + e)


@kernel
def polynomial_loop(times: int, d: Floats, out: Floats) -> None:
    for _ in range(times):
        for i in range(d.size):
            e = exp_negative(-d[i])
            out[i] = log1p_unit(e) + e / (1.0 + e)
