"""The agents, one algorithm per file: a frozen dataclass of hyper-parameters, and the kernels it runs."""

from klearning.tabular.agents.registry import AGENTS, register_agent

__all__ = ["AGENTS", "register_agent"]

globals().update(AGENTS)  # `from klearning.tabular.agents import KLearning`, as it always was
