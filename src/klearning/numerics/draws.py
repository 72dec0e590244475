"""Random numbers inside kernels, from a generator of NumPy's: each is compiled once, whoever draws."""

import numpy as np

from klearning.numerics.compiled import kernel


@kernel(inline=True)
def uniform(rng: np.random.Generator) -> float:
    """A number of [0, 1)."""
    return rng.random()


@kernel
def normal(rng: np.random.Generator) -> float:
    return rng.standard_normal()


@kernel
def exponential(rng: np.random.Generator) -> float:
    return rng.standard_exponential()


@kernel(apart=True)
def gamma(shape: float, rng: np.random.Generator) -> float:
    return rng.standard_gamma(shape)


@kernel(lazy=True)
def beta(a: float, b: float, rng: np.random.Generator) -> float:
    return rng.beta(a, b)


@kernel(lazy=True)
def student(freedom: float, rng: np.random.Generator) -> float:
    """Student's t with ``freedom`` degrees of freedom."""
    return rng.standard_t(freedom)
