"""How kernels are compiled: which of them count references."""

import inspect
from importlib import import_module
from pkgutil import walk_packages

import klearning as kl
from klearning import games, tabular
from klearning.numerics.compile.kernels import Kernel
from klearning.numerics.compile.linking import ALLOCATORS
from klearning.tabular.models.sweeps import expectation


def kernels():
    for package in (tabular, games):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            module = import_module(found.name)
            yield from (x for x in vars(module).values() if isinstance(x, Kernel) and x.__module__ == found.name)


def test_no_field_is_taken_for_an_allocation():
    """A name of `ALLOCATORS` in a kernel is NumPy's, or a method: a field of that name would make the kernel count."""
    for one in kernels():
        source = inspect.getsource(one.function)
        for name in ALLOCATORS.intersection(one.function.__code__.co_names):
            assert f"np.{name}(" in source or f".{name}(" in source, f"{one.__module__}.{one.__qualname__}: {name}"


def test_the_first_user_of_simd_counts_no_references():
    kl.optimal(kl.deep_sea(2))
    assert not expectation.code.counts
