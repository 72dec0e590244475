"""A learner as settings and arrays, and back: what its file holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.tree_checks import restored
from klearning.numerics.trees import leaf_names, take_apart
from klearning.numerics.types import Arrays
from klearning.simulators.codec import (
    NotRegistered,
    agent_data,
    build_agent,
    build_prior,
    build_space,
    prior_data,
    space_data,
)
from klearning.simulators.learner import Learner
from klearning.simulators.learner_checks import (
    check_belief,
    check_episode,
    check_observations,
    check_size,
    check_starts,
)
from klearning.simulators.learner_file import NOT_OURS, read_archive, write_archive
from klearning.tabular.trials.streams import set_state

TASK = ("discount", "continuing", "forget")  # settings that came later: files of before have none

# learners of other kinds, by what their files say: how they are built of settings and arrays
KINDS: dict[str, Callable[[dict[str, Any], Arrays], Any]] = {}


def save(learner: Learner, path: str | Path) -> None:
    """Write everything to one file, after the checks of `load`: what cannot be loaded again is not written."""
    arrays = arrays_of(learner)
    write_archive(Path(path), settings_of(learner, arrays), arrays, build_learner)


def load(path: str | Path) -> Any:
    """A saved learner, to go on where it was."""
    path = Path(path)
    settings, arrays = read_archive(path)
    try:
        if "kind" in settings:
            return KINDS[checks.choice("kind", settings["kind"], KINDS)](settings, arrays)
        return build_learner(settings, arrays)
    except NotRegistered as error:
        raise ValueError(f"{path} cannot be read here: {error}") from None
    except KeyError as error:
        raise ValueError(f"{path} is not what this version of klearning writes: it has no {error}") from None
    except NOT_OURS as error:
        raise ValueError(f"{path} is not what this version of klearning writes: {error}") from None


def build_learner(settings: dict[str, Any], arrays: Arrays) -> Learner:
    """The learner that these are of."""
    spaces = build_space(settings["observation_space"]), build_space(settings["action_space"])
    check_size(settings, spaces, arrays)
    learner = Learner(
        build_agent(settings["agent"]),
        *spaces,
        settings["horizon"],
        prior=build_prior(settings["prior"], beside=arrays),
        seed=settings["seed"],
        discover=settings["discover"],
        replan_every=settings.get("replan_every", 1),  # files of before have none
        **{name: settings[name] for name in TASK if name in settings},
    )
    restore(learner, settings, arrays)
    return learner


def settings_of(learner: Learner, beside: Arrays) -> dict[str, Any]:
    """What a learner is made with, and where it stands; the arrays of its prior are put ``beside``."""
    return {
        "agent": agent_data(learner.agent),
        "observation_space": space_data(learner.observations.space),
        "action_space": space_data(learner.actions.space),
        "discover": learner.observations.discovers,
        "horizon": learner.horizon,
        "replan_every": learner.replan_every,
        "seed": learner.seed,
        "prior": prior_data(learner.prior, beside),
        **{name: getattr(learner, name) for name in TASK},
        "episode": learner.episode,
        "steps": learner.steps,
        "step": learner.step,
        "over": bool(learner.over),
        "waiting": learner._waiting,
        "streams": [stream.bit_generator.state for stream in learner.streams],
    }


def arrays_of(learner: Learner) -> Arrays:
    """The agent's memory, and the episode under way."""
    l, known = learner.step, list(learner.observations.known)
    return {
        **dict(zip(leaf_names(learner.memory), take_apart(learner.memory), strict=True)),
        "starts": learner.starts,
        "masks": learner.masks.as_array(learner.masks.known),
        "new_masks": learner.masks.as_array(learner.masks.news),
        "said": learner.said,
        "returns": np.array(learner.returns, np.float64),
        "states": learner._states[: l + 1],
        "chosen": learner._chosen[: l + 1],
        "rewards": learner._rewards[:l],
        "uniforms": np.array(learner._uniforms, np.float64),
        "observations": np.array(known, np.int64).reshape(len(known), len(learner.observations.sizes)),
    }


def restore(learner: Learner, settings: dict[str, Any], arrays: Arrays) -> None:
    """What these hold beyond what a learner is made with."""
    check_observations(learner, arrays["observations"])
    learner.observations.remember(arrays["observations"].tolist())
    check_starts(learner, arrays["starts"])
    check_episode(learner, settings, arrays)
    l, learner.starts = settings["step"], arrays["starts"]
    if "masks" in arrays:
        met, masks = 1 + learner.observations.count, learner.masks
        masks.known = masks.from_array("masks", arrays["masks"], min(met, len(learner.starts)))
        masks.news = masks.from_array("new_masks", arrays["new_masks"], met)
    fresh = learner._forbidding(learner.agent.begin(learner._belief()), learner.masks.known)
    learner.memory = restored(fresh, arrays)
    check_belief(learner)
    learner.episode, learner.step, learner.over = settings["episode"], l, settings["over"]
    learner.steps = checks.whole("steps", settings.get("steps", 0), 0)  # files of before did not count them
    learner._waiting, learner.said = settings["waiting"], arrays["said"]
    learner.returns, learner._uniforms = arrays["returns"].tolist(), arrays["uniforms"].tolist()
    learner._states[: l + 1], learner._chosen[: l + 1] = arrays["states"], arrays["chosen"]
    learner._rewards[:l] = arrays["rewards"]
    for stream, state in zip(learner.streams, settings["streams"], strict=True):
        set_state(stream, state)
