"""Whether what a file says of a learner can be so, before any of it is believed."""

from typing import Any

import numpy as np
from gymnasium.spaces import Space

from klearning.numerics import checks
from klearning.numerics.tree_checks import differs, refuse
from klearning.numerics.trees import ROOT
from klearning.numerics.types import Arrays
from klearning.simulators.actor import LARGEST
from klearning.simulators.learner import Learner
from klearning.simulators.numbering import Numbering
from klearning.tabular.models.tabular import END

MOST_KEY = 2**63 - 1  # that an array of whole numbers can hold


def check_size(settings: dict[str, Any], spaces: tuple[Space[Any], Space[Any]], arrays: Arrays) -> None:
    """That a learner of these settings is not far larger than what the file holds of it: it is not built otherwise."""
    discover = checks.flag("discover", settings["discover"])
    seen, acts = Numbering("observation", spaces[0], discover), Numbering("action", spaces[1], False)
    horizon, width = checks.whole("horizon", settings["horizon"]), max(arrays["starts"].size, 1 + seen.count)
    held = arrays[f"{ROOT}.policy"].size
    if horizon * width * acts.count > held:
        raise ValueError(
            f"horizon={horizon}, {width} states and {acts.count} actions are not those of a policy of {held} numbers"
        )


def check_observations(learner: Learner, keys: Any) -> None:
    """Points of the space, each once; none where all have their numbers from the beginning."""
    last = np.array([min(size - 1, MOST_KEY) for size in learner.observations.sizes], np.int64)
    _check_form("observations", keys, np.int64, (len(keys), len(last)))
    if not learner.observations.discovers and len(keys):
        raise ValueError(f"observations has {len(keys)} points, where none needs to be met to have a number")
    refuse("observations", "is outside the space", (keys < 0) | (keys > last), keys)
    if len({key.tobytes() for key in keys}) < len(keys):
        raise ValueError("observations holds a point twice")


def check_starts(learner: Learner, starts: Any) -> None:
    """How often episodes began in each state; there may be states that have no room yet."""
    width = len(starts) if learner.observations.discovers else len(learner.starts)
    _check_form("starts", starts, np.float64, (width,))
    if not 2 <= width <= learner.observations.count + 2:
        raise ValueError(f"starts has {width} states, where {learner.observations.count} observations were met")
    refuse("starts", "is no count", ~(np.isfinite(starts) & (starts >= 0.0)), starts)
    if starts[END] != 0.0:
        raise ValueError(f"starts[{END}]={starts[END]}: no episode begins where it is over")


def check_episode(learner: Learner, settings: dict[str, Any], arrays: Arrays) -> None:
    """The episodes so far, and the one under way."""
    step, H = checks.whole("step", settings["step"], 0), learner.horizon
    over, waiting = settings["over"], settings["waiting"]
    if not isinstance(over, bool) or not isinstance(waiting, bool) or step > H or (waiting and (over or step == H)):
        raise ValueError(f"step={step}, over={over!r}, waiting={waiting!r} is no moment of an episode of {H} steps")
    if over != (over and step > 0) or (step == H and not over):
        raise ValueError(f"over={over} at step {step} of {H}")
    under_way = waiting or step > 0
    shapes = {
        "returns": (np.float64, checks.whole("episode", settings["episode"], 0)),
        "states": (np.int64, step + 1),
        "chosen": (np.int64, min(step + 1, H)),
        "rewards": (np.float64, step),
        "uniforms": (np.float64, H if under_way else 0),
        "said": (np.float64, len(learner.said)),
    }
    for name, (dtype, length) in shapes.items():
        _check_form(name, arrays[name], dtype, (length,))
    refuse("returns", "is not finite", ~np.isfinite(arrays["returns"]), arrays["returns"])
    refuse("rewards", f"is beyond {LARGEST:g}", ~(np.abs(arrays["rewards"]) <= LARGEST), arrays["rewards"])
    refuse("said", "is no number", np.isnan(arrays["said"]), arrays["said"])
    for reward in arrays["rewards"].tolist():
        learner.prior.reward.doubt(reward)
    for name, least, most in (
        ("states", int(under_way and step == 0), learner.observations.count),
        ("chosen", 0, learner.actions.count - 1),
    ):
        x = arrays[name]
        refuse(name, f"is not from {least} to {most}", (x < least) | (x > most), x)
    u = arrays["uniforms"]
    refuse("uniforms", "is not within [0, 1)", ~((u >= 0.0) & (u < 1.0)), u)


def check_belief(learner: Learner) -> None:
    """That what is believed has seen rewards that are possible, and begins where episodes began."""
    posterior = learner.agent.posterior(learner.memory) if hasattr(learner.agent, "posterior") else None
    if posterior is None:
        return
    visits = np.where(np.isinf(posterior.visits), 0.0, posterior.visits)
    learner.prior.reward.check_sums(np.where(visits > 0.0, posterior.reward_sums, 0.0), visits)
    total = learner.starts.sum()
    rho = learner.starts / total if total > 0.0 else np.full(len(learner.starts), 1.0 / len(learner.starts))
    initial = posterior.model.initial
    refuse(f"{ROOT}.posterior.model.initial", "is not how often episodes began there", differs(initial, rho), initial)


def _check_form(name: str, x: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    if x.dtype != dtype or x.shape != shape:
        raise ValueError(f"{name} is {x.dtype} {x.shape}, not {np.dtype(dtype)} {shape}")
