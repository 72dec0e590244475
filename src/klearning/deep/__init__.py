"""Networks: deep K-learning and its baselines, behind the extra `deep` (JAX and optax).

JAX and optax are imported when one of the names is first used.
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
    from klearning.deep.pictures import convolutions

__all__ = [
    "DQN", "BootstrappedDQN", "DeepKLearning", "DeepLearner", "EnsembleKLearning", "convolutions", "register_features"
]  # fmt: skip

KIND = "deep"  # what files of learners say
AGENTS = {
    "BootstrappedDQN": "ensembles", "DQN": "dqn", "DeepKLearning": "k_learning", "EnsembleKLearning": "ensembles"
}  # fmt: skip
PLACES = {**AGENTS, "DeepLearner": "learner", "convolutions": "pictures", "register_features": "features"}


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_module(PLACES[name]), name)


def build_learner(settings: dict[str, Any], arrays: Arrays) -> Any:
    """The learner in a file of this kind."""
    return _module("saving").build_learner(settings, arrays)


@uninterrupted  # JAX, imported by half, cannot be imported again, and crashes when Python ends
def _module(name: str) -> Any:
    for needed in ("jax", "optax"):
        try:
            import_module(needed)
        except ModuleNotFoundError as error:
            if error.name != needed:
                raise
            raise ImportError(f"{__name__} needs {needed}: pip install jax optax") from None
    return import_module(f"{__name__}.{name}")
