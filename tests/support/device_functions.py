"""Device functions of the GPU room compiled for the CPU: the same bodies and types, a thousand times the simulator."""

from functools import cache
from types import CellType, FunctionType
from typing import Any

import numba
import numpy as np
from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from klearning.gpu import layout


@cache
def on_cpu(device_function: Any) -> Any:
    """The same function, and all that it calls, by njit."""
    return numba.njit(_bare(device_function))


def _bare(device_function: Any) -> FunctionType:
    f = device_function.py_func
    globals_ = {name: _here(f.__globals__[name]) for name in f.__code__.co_names if name in f.__globals__}
    cells = tuple(CellType(_here(cell.cell_contents)) for cell in f.__closure__ or ())
    return FunctionType(f.__code__, {**f.__globals__, **globals_}, f.__name__, f.__defaults__, cells)


def _here(thing: Any) -> Any:
    return on_cpu(thing) if isinstance(thing, CUDADispatcher) else thing


def host_world(monkeypatch: Any, world: Any) -> tuple[layout.World, layout.Shape]:
    """What `world_on_device` makes, in arrays of the host."""
    monkeypatch.setattr(cuda, "to_device", np.asarray)
    return layout.world_on_device(world)


def host_counts(world: layout.World, shape: layout.Shape, seeds: int) -> layout.Counts:
    """What `no_counts` makes, in arrays of the host."""
    pairs, entries = len(world.reward), len(world.succ)
    rows = (pairs, pairs, 1 if shape.single else entries)
    return layout.Counts(*(np.zeros((n, 1 if n == 1 else seeds), np.float32) for n in rows))
