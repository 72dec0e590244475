"""bsuite's own simulators (extra ``bsuite``) as Gymnasium environments, for agents of `klearning.deep`."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

BOUNDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # of observations
    "catch": ((0.0,), (1.0,)),
    "mountain_car": ((-1.2, -0.07, 0.0), (0.6, 0.07, 1.0)),
    "cartpole": ((-1.0, -np.inf, -1.0, -1.0, -np.inf, 0.0), (1.0, np.inf, 1.0, 1.0, np.inf, 1.0)),
    "cartpole_swingup": (
        (-1.0, -np.inf, -1.0, -1.0, -np.inf, 0.0, -1.0, -1.0), (1.0, np.inf, 1.0, 1.0, np.inf, 1.0, 1.0, 1.0)
    ),
}  # fmt: skip


class SimulatorEnv(gymnasium.Env[NDArray[Any], np.int64]):
    """An experiment of bsuite. Its random numbers follow from ``seed``; the seed of `reset` has no effect."""

    def __init__(self, name: str, seed: int = 0, **settings: float) -> None:
        self.inner = load(name, seed=seed, **settings)
        self.action_space = Discrete(self.inner.action_spec().num_values)
        shape = self.inner.observation_spec().shape
        low, high = (np.broadcast_to(np.array(bound, np.float32), shape) for bound in BOUNDS[name])
        self.observation_space = Box(low, high, shape)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        return self.inner.reset().observation, {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        t = self.inner.step(int(action))
        over = bool(t.last())
        return t.observation, float(t.reward), over and t.discount == 0.0, over and t.discount != 0.0, {}


def load(name: str, **settings: Any) -> Any:
    """bsuite's own environment."""
    try:
        from bsuite.environments import cartpole, catch, mountain_car
        from bsuite.experiments.cartpole_swingup import cartpole_swingup
    except ImportError as error:
        raise ImportError(f"bsuite's {name} needs bsuite: pip install bsuite dm_env") from error
    makers = {
        "catch": catch.Catch, "cartpole": cartpole.Cartpole, "mountain_car": mountain_car.MountainCar,
        "cartpole_swingup": cartpole_swingup.CartpoleSwingup,
    }  # fmt: skip
    return makers[name](**settings)
