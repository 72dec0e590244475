"""Networks: deep K-learning and what it is compared with, behind the extra `deep` (JAX and optax)."""

from klearning.deep.dqn import DQN
from klearning.deep.ensembles import BootstrappedDQN, EnsembleKLearning
from klearning.deep.k_learning import DeepKLearning

__all__ = ["DQN", "BootstrappedDQN", "DeepKLearning", "EnsembleKLearning"]
