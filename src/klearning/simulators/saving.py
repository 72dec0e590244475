"""A learner as settings and arrays, and back: what its file holds, and whether that can be so."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from klearning.numerics import checks
from klearning.numerics.records.fields import ROOT, leaves
from klearning.numerics.records.validation import differs, refuse, restore_memory
from klearning.numerics.types import Arrays
from klearning.simulators.actor import LARGEST, SimulatorLearner
from klearning.simulators.bins import Bins
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
from klearning.simulators.learner_file import NOT_OURS, read_archive, write_archive
from klearning.simulators.space_index import SpaceIndex
from klearning.tabular.models.tabular import END
from klearning.tabular.trials.streams import set_state

MOST_KEY = 2**63 - 1  # that an array of whole numbers can hold
PLAIN = ("horizon", "seed", "replan_every", "discount", "continuing", "decay", "grow_states")  # settings

L = TypeVar("L", bound=SimulatorLearner)

# learners by what their files say of their kind: how they are built of settings and arrays
KINDS: dict[str, Callable[[dict[str, Any], Arrays], SimulatorLearner]] = {}
TABULAR = "tabular"


def save(learner: Learner, path: str | Path) -> None:
    """Write everything to one file, after the checks of `load`: what cannot be loaded again is not written."""
    arrays = arrays_of(learner)
    write_archive(checks.file_path("path", path), settings_of(learner, arrays), arrays, build_learner)


@overload
def load(path: str | Path) -> SimulatorLearner: ...


@overload
def load(path: str | Path, kind: type[L]) -> L: ...


def load(path: str | Path, kind: type[Any] | None = None) -> SimulatorLearner:
    """Load a saved learner, to continue. ``kind``, such as `Learner`, is the class that it must be of."""
    learner = _load(checks.file_path("path", path))
    if kind is not None and not isinstance(learner, kind):
        raise ValueError(f"{path} holds a {type(learner).__name__}, not a {kind.__name__}: leave out kind")
    return learner


def _load(path: Path) -> SimulatorLearner:
    settings, arrays = read_archive(path)
    try:
        return KINDS[checks.choice("kind", settings["kind"], KINDS)](settings, arrays)
    except NotRegistered as error:
        raise ValueError(f"{path} cannot be read here: {error}") from None
    except KeyError as error:
        raise ValueError(f"{path} is not what this version of klearning writes: it has no {error}") from None
    except NOT_OURS as error:
        raise ValueError(f"{path} is not what this version of klearning writes: {error}") from None


def load_matching(path: str | Path, stated: Mapping[str, Any]) -> SimulatorLearner:
    """A saved learner, of which all that is stated must be true."""
    learner = load(path)
    own = learner.made_with
    for name, value in stated.items():
        if repr(value) != repr(own.get(name)):
            raise ValueError(
                f"{name}={value!r} is not that of {path}, {own.get(name)!r}: leave it out, or begin without resuming"
            )
    return learner


def build_learner(settings: dict[str, Any], arrays: Arrays) -> Learner:
    """The learner that these are of."""
    space, actions = build_space(settings["observation_space"]), build_space(settings["action_space"])
    bins = build_bins(space, settings["bins"])
    seen = SpaceIndex("observation", space, checks.flag("grow_states", settings["grow_states"]), bins)
    _check_size(settings["horizon"], seen.count, SpaceIndex("action", actions, False).count, arrays)
    learner = Learner(
        build_agent(settings["agent"]),
        space,
        actions,
        prior=build_prior(settings["prior"], beside=arrays),
        bins=bins,
        **{name: settings[name] for name in PLAIN},
    )
    restore(learner, settings, arrays)
    return learner


KINDS[TABULAR] = build_learner


def build_bins(space: Any, data: Any) -> Bins | None:
    """The inverse of `bins_data`."""
    return None if data is None else Bins.from_data(space, data)


def bins_data(bins: Bins | None) -> list[Any] | None:
    return None if bins is None else bins.data()


def settings_of(learner: Learner, beside: Arrays) -> dict[str, Any]:
    """A learner's settings and current state; the arrays of its prior are put ``beside``."""
    return {
        "kind": TABULAR,
        "agent": agent_data(learner.agent),
        "observation_space": space_data(learner.observations.space),
        "action_space": space_data(learner.actions.space),
        "bins": bins_data(learner.observations.bins),
        "prior": prior_data(learner.prior, beside),
        **{name: value for name, value in learner.made_with.items() if name in PLAIN},
        "episodes_done": learner.episodes_done,
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
        **leaves(learner.memory),
        "starts": learner.starts,
        "masks": learner.masks.as_array(learner.masks.known),
        "new_masks": learner.masks.as_array(learner.masks.news),
        "plan_diagnostics": learner.plan_diagnostics,
        "returns": np.array(learner.returns, np.float64),
        "states": learner._states[: l + 1],
        "chosen": learner._chosen[: l + 1],
        "rewards": learner._rewards[:l],
        "uniforms": np.array(learner._uniforms, np.float64),
        "observations": np.array(known, np.int64).reshape(len(known), len(learner.observations.sizes)),
    }


def restore(learner: Learner, settings: dict[str, Any], arrays: Arrays) -> None:
    """Restore everything beyond the settings of a learner."""
    _check_observations(learner, arrays["observations"])
    learner.observations.restore(arrays["observations"].tolist())
    _check_starts(learner, arrays["starts"])
    _check_episode(learner, settings, arrays)
    l, learner.starts = settings["step"], arrays["starts"]
    met, masks = 1 + learner.observations.count, learner.masks
    masks.known = masks.from_array("masks", arrays["masks"], min(met, len(learner.starts)))
    masks.news = masks.from_array("new_masks", arrays["new_masks"], met)
    fresh = learner.forbidding(learner.methods.begin(learner.empty_belief()), masks.known)
    learner.memory = restore_memory(fresh, arrays)
    _check_belief(learner)
    learner.episodes_done, learner.step, learner.over = settings["episodes_done"], l, settings["over"]
    learner.steps = checks.whole("steps", settings["steps"], 0)
    learner._waiting, learner.plan_diagnostics = settings["waiting"], arrays["plan_diagnostics"]
    learner.returns, learner._uniforms = arrays["returns"].tolist(), arrays["uniforms"].tolist()
    learner._states[: l + 1], learner._chosen[: l + 1] = arrays["states"], arrays["chosen"]
    learner._rewards[:l] = arrays["rewards"]
    for stream, state in zip(learner.streams, settings["streams"], strict=True):
        set_state(stream, state)


# Whether what a file says can be so, before any of it is believed


def _check_size(horizon: Any, numbered: int, actions: int, arrays: Arrays) -> None:
    """That a learner of these sizes is not far larger than what the file holds of it: it is not built otherwise."""
    width, held = max(arrays["starts"].size, 1 + numbered), arrays[f"{ROOT}.policy"].size
    if checks.whole("horizon", horizon) * width * actions > held:
        raise ValueError(
            f"horizon={horizon}, {width} states and {actions} actions are not those of a policy of {held} numbers"
        )


def _check_observations(learner: Learner, keys: Any) -> None:
    """Points of the space, each once; none if all have their numbers from the beginning."""
    last = np.array([min(size - 1, MOST_KEY) for size in learner.observations.sizes], np.int64)
    check_form("observations", keys, np.int64, (len(keys), len(last)))
    if not learner.observations.grows and len(keys):
        raise ValueError(f"observations has {len(keys)} points, but none needs to be met to have a number")
    refuse("observations", "is outside the space", (keys < 0) | (keys > last), keys)
    if len({key.tobytes() for key in keys}) < len(keys):
        raise ValueError("observations holds a point twice")


def _check_starts(learner: Learner, starts: Any) -> None:
    """How often episodes began in each state; there may be states that have no room yet."""
    width = len(starts) if learner.observations.grows else len(learner.starts)
    check_form("starts", starts, np.float64, (width,))
    if not 2 <= width <= learner.observations.count + 2:
        raise ValueError(f"starts has {width} states, but {learner.observations.count} observations were met")
    refuse("starts", "is not a count", ~(np.isfinite(starts) & (starts >= 0.0)), starts)
    if starts[END] != 0.0:
        raise ValueError(f"starts[{END}]={starts[END]}: no episode begins in the end state")


def check_moment(settings: dict[str, Any], horizon: int) -> tuple[int, bool]:
    """Where an episode stands: its step, and whether an action waits for what it leads to."""
    step, over, waiting = checks.whole("step", settings["step"], 0), settings["over"], settings["waiting"]
    flags = isinstance(over, bool) and isinstance(waiting, bool)
    if not flags or step > horizon or (waiting and (over or step == horizon)):
        raise ValueError(
            f"step={step}, over={over!r}, waiting={waiting!r} is not a moment of an episode of {horizon} steps"
        )
    if (over and step == 0) or (step == horizon and not over):
        raise ValueError(f"over={over} at step {step} of {horizon}")
    return step, waiting


def _check_episode(learner: Learner, settings: dict[str, Any], arrays: Arrays) -> None:
    """The episodes so far, and the one under way."""
    H = learner.horizon
    step, waiting = check_moment(settings, H)
    under_way = waiting or step > 0
    shapes = {
        "returns": (np.float64, checks.whole("episodes_done", settings["episodes_done"], 0)),
        "states": (np.int64, step + 1),
        "chosen": (np.int64, min(step + 1, H)),
        "rewards": (np.float64, step),
        "uniforms": (np.float64, H if under_way else 0),
        "plan_diagnostics": (np.float64, len(learner.plan_diagnostics)),
    }
    for name, (dtype, length) in shapes.items():
        check_form(name, arrays[name], dtype, (length,))
    refuse("returns", "is not finite", ~np.isfinite(arrays["returns"]), arrays["returns"])
    refuse("rewards", f"is beyond {LARGEST:g}", ~(np.abs(arrays["rewards"]) <= LARGEST), arrays["rewards"])
    refuse("plan_diagnostics", "is not a number", np.isnan(arrays["plan_diagnostics"]), arrays["plan_diagnostics"])
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


def _check_belief(learner: Learner) -> None:
    """That what is believed has seen rewards that are possible, and begins where episodes began."""
    posterior = learner.posterior
    if posterior is None:
        return
    visits = np.where(np.isinf(posterior.visits), 0.0, posterior.visits)
    learner.prior.reward.check_sums(np.where(visits > 0.0, posterior.reward_sums, 0.0), visits)
    total = learner.starts.sum()
    rho = learner.starts / total if total > 0.0 else np.full(len(learner.starts), 1.0 / len(learner.starts))
    initial = posterior.model.initial
    refuse(f"{ROOT}.posterior.model.initial", "is not how often episodes began there", differs(initial, rho), initial)


def check_form(name: str, x: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    if x.dtype != dtype or x.shape != shape:
        raise ValueError(f"{name} is {x.dtype} {x.shape}, not {np.dtype(dtype)} {shape}")
