"""Every world as a Gymnasium environment: ``gymnasium.make("klearning/DeepSea-v0", depth=20)``.

Gymnasium no longer looks for plugins by entry points, so importing klearning registers the names; elsewhere
``gymnasium.make("klearning:klearning/DeepSea-v0")`` does the import as well.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from klearning.numerics.types import Floats
from klearning.simulators.walk import Walk
from klearning.tabular.models.mdp import MDP
from klearning.tabular.worlds import WORLDS

ACRONYMS = {"mdp": "MDP"}


Outcomes = list[tuple[float, int, float, bool]]


class WorldEnv(gymnasium.Env[Any, Any]):
    """An MDP to be stepped through.

    Observations and actions are `Discrete`. ``numbering`` says what an observation is (`Walk`): ``auto`` is
    the state within its layer if the model is stationary (RiverSwim), and the state numbered through all
    layers elsewhere (DeepSea). After the last layer, where the last state is shown again, an episode is
    ``terminated``; but ``truncated`` if the model is stationary, for there only time is up. ``P`` and
    ``initial_state_distrib`` hold the model as Gymnasium's toy-text environments do.
    """

    metadata = {"render_modes": []}  # noqa: RUF012, as Gymnasium has it

    def __init__(self, mdp: MDP, numbering: str = "auto") -> None:
        self.walk = Walk(mdp, numbering)
        self.mdp = self.walk.mdp  # for exact values: `optimal(env.unwrapped.mdp)`
        self.horizon = self.mdp.horizon  # steps of an episode
        self.observation_space = Discrete(self.walk.observations)
        self.action_space = Discrete(mdp.actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.walk.begin(self.np_random)
        return self.walk.observation, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if self.walk.over:
            raise gymnasium.error.ResetNeeded("the episode is over, or none has begun: call reset() first")
        reward = self.walk.step(action, self.np_random)
        over, by_time = self.walk.over, self.walk.by_time
        return self.walk.observation, reward, over and not by_time, over and by_time, {}

    @property
    def initial_state_distrib(self) -> Floats:
        """ρ over the observations."""
        spread = np.zeros(self.walk.observations)
        spread[: self.mdp.initial.size] = self.mdp.initial
        return spread

    @property
    def P(self) -> dict[int, dict[int, Outcomes]]:
        """The model, ``P[s][a] = [(probability, next state, mean reward, terminated), …]``."""
        if self.walk.within and not self.walk.stationary:
            raise AttributeError("the layers differ, so states numbered within them have no one model P")
        states = range(self.walk.observations)
        return {s: {a: self._outcomes(a, s) for a in range(self.mdp.actions)} for s in states}

    def _outcomes(self, a: int, s: int) -> Outcomes:
        rows, reward = self.mdp.rows, float(self.mdp.reward[a, s])
        entries = slice(rows.start[a, s], rows.start[a, s] + rows.length[a, s])
        down = self.mdp.widths[0] if self.walk.within else 0
        outcomes = [(float(p), int(y) - down, reward, False) for p, y in zip(rows.weight[entries], rows.succ[entries])]
        return outcomes or [(1.0, s, reward, True)]


def make_world(world: str, numbering: str = "auto", **options: Any) -> WorldEnv:
    """The environment of a world of ours by its name; ``options`` are those of the world."""
    return WorldEnv(WORLDS[world](**options), numbering)


def environment_id(world: str) -> str:
    """`deep_sea` is klearning/DeepSea-v0."""
    return f"klearning/{''.join(ACRONYMS.get(word, word.capitalize()) for word in world.split('_'))}-v0"


def register_environments() -> None:
    """Make the names of all worlds known to Gymnasium; doing so twice does no harm."""
    for world in WORLDS:
        register(environment_id(world), "klearning.simulators.adapters.world_env:make_world", world=world)


def register(name: str, entry: str, **options: Any) -> None:
    """Make an environment known to Gymnasium, unless it is."""
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=entry, kwargs=options)
