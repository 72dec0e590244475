"""The agents, one algorithm a file: a frozen dataclass of hyper-parameters, and the kernels it runs."""

from klearning.agents.k_learning import KLearning

AGENTS = {cls.__name__: cls for cls in (KLearning,)}

__all__ = ["AGENTS", "KLearning"]
