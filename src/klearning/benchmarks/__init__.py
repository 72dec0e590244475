"""The field's own benchmarks, by their own definitions."""

from klearning.environments.world_env import register

ENVIRONMENTS = {
    "klearning/BsuiteDeepSea-v0": "klearning.benchmarks.bsuite.environments:DeepSeaEnv",
    "klearning/BsuiteBandit-v0": "klearning.benchmarks.bsuite.environments:bandit_env",
}


def register_benchmarks() -> None:
    """Make the benchmarks' environments known to Gymnasium; doing so twice does no harm."""
    for name, entry in ENVIRONMENTS.items():
        register(name, entry)
