"""Every agent of the registry, as published and in settings that take other paths through its code."""

from klearning import (
    BEB,
    BOLT,
    RLSVI,
    UCBVI,
    UCFH,
    UCRL2,
    VAPOR,
    KLearning,
    OnlineKLearning,
    OptimisticQLearning,
    QLearning,
    SoftQLearning,
)
from klearning.tabular.agents import AGENTS

AS_PUBLISHED = [cls() for cls in AGENTS.values()]
BANDITS = [agent for agent in AS_PUBLISHED if agent.longest_horizon == 1]  # those for episodes of one step
SETTINGS = [
    *(agent for agent in AS_PUBLISHED if agent not in BANDITS),
    KLearning("schedule"),
    KLearning(0.3, "sharp"),
    KLearning(bonus="split"),
    KLearning(bonus="sharp", optimism=0.2),
    KLearning(optimism="calibrated", draws=2, window=3),
    RLSVI(0.5, 0.3, 0.5),
    UCBVI("hoeffding", 0.01),
    UCBVI("bernstein", 0.01, episodes=100),
    UCRL2(0.05),
    VAPOR("published"),
    VAPOR("sharp", 0.3),
    VAPOR(optimism="calibrated", draws=2, window=3),
    UCFH(0.05, least_visits=1),
    BEB(0.02),
    BOLT(0.1),
    BOLT(imagined_reward=1),
    QLearning(0.0, 1.0),
    SoftQLearning(form="model"),
    OptimisticQLearning("hoeffding", 0.02),
    OptimisticQLearning("bernstein", 0.02, episodes=100),
    OptimisticQLearning("hoeffding", 0.02, order="backward", replay=3),
    OnlineKLearning("forward", 0, 1.0, 0.2, sharpness=1.0),
]
STEPWISE = [agent for agent in SETTINGS if callable(agent.plan)]  # those that learn in simulators
