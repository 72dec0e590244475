"""Priors, spaces, agents and worlds as plain data, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from gymnasium import spaces

from klearning.arrays.types import Arrays
from klearning.beliefs.belief import Prior
from klearning.beliefs.rewards import Beta, Gaussian
from klearning.beliefs.transitions import Dirichlet, Known
from klearning.models.mdp import MDP

REWARDS: dict[str, Any] = {"Gaussian": Gaussian, "Beta": Beta}


def prior_arrays(prior: Prior) -> Arrays:
    """A support, or known transitions, as arrays."""
    t = prior.transitions
    given: Any = t.support if isinstance(t, Dirichlet) else t.transitions
    if given is None:
        return {}
    blocks = given.transitions if isinstance(given, MDP) else given
    return {f"prior_{l:03}": np.asarray(block, np.float64) for l, block in enumerate(blocks)}


def prior_to_json(prior: Prior) -> dict[str, Any]:
    """All of a prior but what `prior_arrays` holds."""
    t, span = prior.transitions, prior.span
    return {
        "reward": {"kind": type(prior.reward).__name__, **asdict(prior.reward)},
        "mass": t.mass if isinstance(t, Dirichlet) else None,
        "blocks": len(prior_arrays(prior)),
        "span": span if span is None or np.ndim(span) == 0 else np.asarray(span).tolist(),
        "stationary": prior.stationary,
    }


def prior_from_json(data: Mapping[str, Any], arrays: Arrays) -> Prior:
    """The inverse of `prior_to_json` and `prior_arrays`."""
    reward = dict(data["reward"])
    kind = REWARDS[reward.pop("kind")]
    blocks = [arrays[f"prior_{l:03}"] for l in range(data["blocks"])] or None
    transitions = Known(blocks or []) if data["mass"] is None else Dirichlet(data["mass"], blocks)
    return Prior(kind(**reward), transitions, data["span"], data["stationary"])


def space_to_json(space: spaces.Space[Any]) -> dict[str, Any]:
    """A discrete space as plain data."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        sizes = {"nvec": space.nvec.tolist(), "start": space.start.tolist()}
        return {"kind": "MultiDiscrete", **sizes, "dtype": np.dtype(space.dtype).name}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "MultiBinary", "n": space.n if isinstance(space.n, int) else list(space.shape)}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "spaces": [space_to_json(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        # pairs, for points are numbered in this order and names need not be strings
        return {"kind": "Dict", "spaces": [[name, space_to_json(part)] for name, part in space.spaces.items()]}
    raise ValueError(f"space {space} is not discrete")


def space_from_json(data: dict[str, Any]) -> spaces.Space[Any]:
    """The inverse of `space_to_json`."""
    match data["kind"]:
        case "Discrete":
            return spaces.Discrete(data["n"], start=data["start"])
        case "MultiDiscrete":
            dtype = np.dtype(data["dtype"]).type
            return spaces.MultiDiscrete(np.array(data["nvec"]), dtype=dtype, start=np.array(data["start"]))
        case "MultiBinary":
            return spaces.MultiBinary(data["n"])
        case "Tuple":
            return spaces.Tuple([space_from_json(part) for part in data["spaces"]])
        case "Dict":
            return spaces.Dict([(name, space_from_json(part)) for name, part in data["spaces"]])
    raise ValueError(f"space of kind {data['kind']!r} is unknown")
