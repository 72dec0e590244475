"""Every agent of the registry: as published, with every choice that its settings list, and with some numbers.

The choices are read from each class (`choices`, which reads the table of bonuses), so that none can be missing.
"""

from collections.abc import Iterator
from typing import Any

from klearning import (
    BEB,
    BOLT,
    PSRL,
    RLSVI,
    UCBVI,
    UCFH,
    UCRL2,
    VAPOR,
    Calibration,
    KLearning,
    OnlineKLearning,
    OptimisticQLearning,
    QLearning,
)
from klearning.tabular.agents import AGENTS
from klearning.tabular.agents.calibrated import FRACTIONS
from klearning.tabular.optimism.bonuses import BONUSES


def by_choice(cls: type) -> Iterator[Any]:
    """The agent as published, and one for every choice of every setting."""
    yield cls()
    for setting, choices in getattr(cls, "choices", {}).items():
        yield from (cls(**{setting: choice}) for choice in choices)


NUMBERS = [  # settings that are not choices, and pairs that take other paths through the code
    KLearning(0.3, "sharp"),
    KLearning(bonus="sharp", optimism=0.2),
    *(KLearning(bonus=name, optimism="calibrated") for name, bonus in BONUSES.items() if not bonus.per_visit),
    *(KLearning(optimism=Calibration(2, 3, thompson_fraction=fraction)) for fraction in FRACTIONS),
    VAPOR("sharp", 0.3),
    *(VAPOR(optimism=Calibration(2, 3, thompson_fraction=fraction)) for fraction in FRACTIONS),
    PSRL(concentration=2.0),
    RLSVI(0.5, 0.3, 0.5),
    UCBVI("hoeffding", 0.01),
    UCBVI("bernstein", 0.01, episodes=100),
    UCRL2(0.05),
    UCFH(0.05, least_visits=1),
    BEB(0.02),
    BOLT(0.1),
    BOLT(imagined_reward=1),
    QLearning(0.0, 1.0),
    OptimisticQLearning("hoeffding", 0.02),
    OptimisticQLearning("bernstein", 0.02, episodes=100),
    OptimisticQLearning("hoeffding", 0.02, order="backward", replay=3),
    OnlineKLearning("forward", 0, 1.0, 0.2, sharpness=1.0),
]
AS_PUBLISHED = [cls() for cls in AGENTS.values()]
CHOICES = list(dict.fromkeys(agent for cls in AGENTS.values() for agent in by_choice(cls)))
EVERY = list(dict.fromkeys([*CHOICES, *NUMBERS]))
BANDITS = [agent for agent in EVERY if agent.longest_horizon == 1]  # those for episodes of one step
SETTINGS = [agent for agent in EVERY if agent not in BANDITS]
STEPWISE = [agent for agent in CHOICES if agent not in BANDITS and callable(agent.plan)]  # for simulators
