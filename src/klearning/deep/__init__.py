"""Networks: deep K-learning and what it is compared with, behind the extra `deep` (JAX and optax).

Importing this imports neither: they are, once one of the names is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.types import Arrays

if TYPE_CHECKING:
    from klearning.deep.dqn import DQN
    from klearning.deep.ensembles import BootstrappedDQN, EnsembleKLearning
    from klearning.deep.features import register_features
    from klearning.deep.k_learning import DeepKLearning
    from klearning.deep.learner import DeepLearner

__all__ = ["DQN", "BootstrappedDQN", "DeepKLearning", "DeepLearner", "EnsembleKLearning", "register_features"]

KIND = "deep"  # what files of learners say
AGENTS = {
    "BootstrappedDQN": "ensembles", "DQN": "dqn", "DeepKLearning": "k_learning", "EnsembleKLearning": "ensembles"
}  # fmt: skip
PLACES = {**AGENTS, "DeepLearner": "learner", "register_features": "features"}


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_module(PLACES[name]), name)


def build_learner(settings: dict[str, Any], arrays: Arrays) -> Any:
    """What a file of this kind holds."""
    return _module("saving").build_learner(settings, arrays)


@uninterrupted  # JAX, imported by half, cannot be imported again, and crashes when Python ends
def _module(name: str) -> Any:
    for needed in ("jax", "optax"):
        try:
            import_module(needed)
        except ModuleNotFoundError as error:
            if error.name != needed:
                raise
            raise ImportError(f"{__name__} needs {needed}: pip install 'klearning[deep]'") from None
    return import_module(f"{__name__}.{name}")
