"""Files of learners of networks that somebody made to do harm, with checksums that fit. Needs the extra `deep`."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import klearning as kl
from klearning.deep import DQN, BootstrappedDQN, DeepKLearning, EnsembleKLearning
from klearning.deep.saving import arrays_of, settings_of
from klearning.numerics.types import Arrays
from klearning.simulators import learner_file
from klearning.version import __version__
from tests.support.crafted import HEADERS, Header, learner_bytes, mutated

TINY: dict[str, Any] = {"hidden": (8,), "batch": 8, "capacity": 64, "updates": 1}
AGENTS: dict[str, Any] = {
    "DeepKLearning": DeepKLearning(**TINY, tilings=2, tiles=2**6),
    "DQN": DQN(**TINY),
    "BootstrappedDQN": BootstrappedDQN(**TINY, members=3),
    "EnsembleKLearning": EnsembleKLearning(**TINY, members=3),
}


class Slope(gymnasium.Env[Any, Any]):
    """Two numbers are seen, two actions; up is worth more."""

    observation_space = spaces.Box(-1.0, 1.0, (2,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-1.0, 1.0))
        return self.seen(), {}

    def seen(self) -> Any:
        return np.array([self.x, -self.x], np.float32)

    def step(self, action: Any) -> Any:
        self.x = float(np.clip(self.x + 0.2 * (2 * int(action) - 1), -1.0, 1.0))
        return self.seen(), self.x, self.x > 0.9, False, {}


def slope() -> Any:
    return gymnasium.wrappers.TimeLimit(Slope(), 5)


def _set(**settings: Any) -> Callable[[Header], Header]:
    return lambda header: {**header, "agent": {**header["agent"], **settings}}


SETTINGS: dict[str, Callable[[Header], Header]] = {
    **{f"capacity {n}": _set(capacity=n) for n in (0, -1, 65, 10**6, 10**8, 10**13, 2**70, 1.5, "many", None)},
    **{f"batch {n}": _set(batch=n) for n in (0, 10**6, 10**9, 10**20, "x")},
    **{f"updates {n}": _set(updates=n) for n in (0, 1001, 10**13, 10**30)},
    **{f"hidden {n}": _set(hidden=n) for n in ([], [0], [10**9], [10**30], [[8]], [8] * 2000, "wide", [True])},
    **{f"noise {x}": _set(noise=x) for x in (0.0, 1e308, 1e-308, -1.0, "loud", None)},
    **{f"learning_rate {x}": _set(learning_rate=x) for x in (0.0, 1e-300, 1.0, 2.0)},
    **{f"discount {x}": _set(discount=x) for x in (0.0, 1.0, 1.1, "x")},
    **{f"polyak {x}": _set(polyak=x) for x in (0.0, 1e-300, 1.0, 7.0)},
    **{f"sd {x}": _set(sd=x) for x in (0.0, 1e-200, 1e9, 1e200)},
    **{f"places {n}": _set(tiles=n) for n in (0, 3, 2**40, 10**9)},
    **{f"tilings {n}": _set(tilings=n) for n in (0, 10**6, 10**12)},
    **{f"members {n}": _set(members=n) for n in (0, 10**6, 10**12)},
    **{f"exploration {n}": _set(exploration=n) for n in (0, 10**6, 10**30)},
    **{f"temperature {x}": _set(temperature=x) for x in (0.0, 1e-300, 1e300)},
    **{f"largest_bonus {x}": _set(largest_bonus=x) for x in (None, 0.0, 1e300)},
    **{f"features {x!r}": _set(features=x) for x in ("pixels", 3, ["a"], "os.system")},
    **{f"agent {name!r}": _set(name=name) for name in ("DQN", "KLearning", "DeepKLearning", "os", "__class__", 3)},
    "an unknown setting": _set(colour=1),
    "steps of 2**31": lambda h: {**h, "steps": 2**31},
    "steps of none": lambda h: {**h, "steps": 0},
    "bins of nothing": lambda h: {**h, "bins": [[["x"], [[0.5]]]]},
    "bins as text": lambda h: {**h, "bins": "ten"},
    "bins that fall": lambda h: {**h, "bins": [[[], [[0.5, 0.1], []]]]},
    "another kind": lambda h: {**h, "kind": "deeper"},
    "number of 2**70": lambda h: {**h, "number": 2**70},
    "predictions of nothing": lambda h: {**h, "predictions": {}},
    "a box of 10**6": lambda h: {
        **h,
        "observation_space": {"kind": "Box", "low": -1.0, "high": 1.0, "shape": [10**6], "dtype": "float32"},
    },
    "a box of 2000": lambda h: {
        **h,
        "observation_space": {"kind": "Box", "low": -1.0, "high": 1.0, "shape": [2000], "dtype": "float32"},
    },
}


def deep_parts(case: str) -> tuple[Header, Arrays]:
    """A learner in the middle of an episode."""
    learner = kl.learn(AGENTS[case], slope(), episodes=4, seed=1)
    env = slope()
    observation, _ = env.reset(seed=3)
    observation, reward, terminated, truncated, _ = env.step(learner.act(observation))
    learner.observe(float(reward), observation, terminated, truncated)
    header = {"format": learner_file.FORMAT, "version": learner_file.VERSION, "klearning": __version__}
    return {**header, **json.loads(json.dumps(settings_of(learner)))}, arrays_of(learner)


def crafted_deep(case: str) -> Iterator[tuple[str, bytes]]:
    """Files by what was done to them."""
    header, arrays = deep_parts(case)
    arrays = {name: np.asarray(x) for name, x in arrays.items()}
    yield "nothing", learner_bytes(header, arrays)
    for name, changed in mutated(arrays):
        yield name, learner_bytes(header, changed)
    for name, x in arrays.items():
        if x.dtype.kind == "f":
            yield f"{name} large", learner_bytes(header, {**arrays, name: np.full_like(x, 1e30)})
            yield f"{name} tiny", learner_bytes(header, {**arrays, name: np.full_like(x, 1e-40)})
    for name, change in {**HEADERS, **SETTINGS}.items():
        try:
            changed_header = change(header)
        except (KeyError, TypeError, AttributeError):
            continue  # of something that only tabular learners have
        yield name, learner_bytes(changed_header, arrays)
