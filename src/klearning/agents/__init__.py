"""The agents, one algorithm a file: a frozen dataclass of hyper-parameters, and the kernels it runs."""

from klearning.agents.registry import AGENTS, register_agent

__all__ = ["AGENTS", "register_agent"]
