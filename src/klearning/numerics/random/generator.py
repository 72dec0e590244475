"""Random numbers from a NumPy generator inside kernels; each function is compiled once for all callers."""

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats


@kernel(inline=True)
def uniform(rng: np.random.Generator) -> float:
    """Uniform on [0, 1)."""
    return rng.random()


@kernel(inline=True)
def draw_index(chances: Floats, rng: np.random.Generator) -> int:
    """An index with these probabilities; never one without a chance."""
    last, u = 0, uniform(rng)
    for i in range(chances.size):
        if chances[i] > 0.0:
            last = i
            u -= chances[i]
            if u < 0.0:
                break
    return last


@kernel
def normal(rng: np.random.Generator) -> float:
    return rng.standard_normal()


@kernel
def exponential(rng: np.random.Generator) -> float:
    return rng.standard_exponential()


@kernel(lazy=True)
def gamma(shape: float, rng: np.random.Generator) -> float:
    return rng.standard_gamma(shape)


@kernel(lazy=True)
def beta(a: float, b: float, rng: np.random.Generator) -> float:
    return rng.beta(a, b)


@kernel(lazy=True)
def student(freedom: float, rng: np.random.Generator) -> float:
    """Student's t with ``freedom`` degrees of freedom."""
    return rng.standard_t(freedom)
