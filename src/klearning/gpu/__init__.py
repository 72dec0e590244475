"""Many seeds at once on a GPU, behind the extra `gpu` (numba-cuda): one thread per seed, float32.

The kernels are those of the CPU with one thread per seed; importing this imports none of them, nor CUDA. They are,
once one of the names is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from klearning.gpu.drawn_worlds import random_worlds
    from klearning.gpu.layout import Worlds
    from klearning.gpu.seeds import DeviceRun

__all__ = ["DeviceRun", "Worlds", "random_worlds", "run"]

PLACES = {"DeviceRun": "seeds", "Worlds": "layout", "random_worlds": "drawn_worlds"}


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PLACES[name]}"), name)


def run(*given: Any, **settings: Any) -> Any:
    """`klearning.run` with ``device="gpu"``; an ImportError or OSError of one line if there is no GPU."""
    need_device()
    return import_module(f"{__name__}.seeds").run(*given, **settings)


def need_device() -> None:
    from numba import config, cuda

    if not config.ENABLE_CUDASIM and not cuda.is_available():
        raise OSError(
            f'device="gpu" finds no GPU: {_why(cuda)}. Use device="cpu", '
            "or pip install 'numba-cuda[cu13]' on a machine with an NVIDIA driver"
        )


def _why(cuda: Any) -> str:
    """The first sentence of CUDA's own words."""
    words = " ".join(str(cuda.cuda_error() or "no device is visible").split())
    return words.split(". ")[0].rstrip(".")
