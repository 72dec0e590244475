"""A deep learner as settings and arrays, and back: what its file holds, and whether that can be so.

Of the ring only what was written is kept. Random streams are made of the seed and an episode's number, so that the
number is enough; only the stream of `predict` has a state of its own.
"""

import inspect
from collections.abc import Iterator
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from klearning import deep
from klearning.deep.counts import SCALES
from klearning.deep.features import FEATURES
from klearning.deep.learner import NUMBERS, DeepLearner
from klearning.numerics import checks
from klearning.numerics.records.validation import refuse
from klearning.numerics.registry import RESERVED
from klearning.numerics.types import Arrays
from klearning.simulators.codec import NotRegistered, build_space, plain, space_data
from klearning.simulators.learner_file import write_archive
from klearning.simulators.saving import bins_data, build_bins, check_form, check_moment
from klearning.tabular.trials.streams import set_state

ROOT = "memory"
RING = f"{ROOT}.ring."
MOST = 2**31 - 1  # steps: the ring counts in 32 bits


def save(learner: DeepLearner, path: str | Path) -> None:
    """Write everything to one file, after the checks of `load`: what cannot be loaded again is not written."""
    write_archive(checks.file_path("path", path), settings_of(learner), arrays_of(learner), checked_learner)


def settings_of(learner: DeepLearner) -> dict[str, Any]:
    """The settings of a learner and its position in an episode."""
    return {
        "kind": deep.KIND,
        "agent": agent_data(learner.given),
        "observation_space": space_data(learner.observation_space),
        "action_space": space_data(learner.actions.space),
        "bins": bins_data(learner.bins),
        "horizon": learner.horizon,
        "seed": learner.seed,
        "episodes_done": learner.episodes_done,
        "steps": learner.steps,
        "step": learner.step,
        "learned": learner.learned,
        "number": learner.number,
        "over": learner.over,
        "terminal": learner._terminal,
        "waiting": learner._waiting,
        "predictions": learner._predictions.bit_generator.state,
    }


def agent_data(agent: Any) -> dict[str, Any]:
    """Name and parameters; for your own features their code, too."""
    name = type(agent).__name__
    if name not in deep.AGENTS or getattr(deep, name) is not type(agent):
        raise ValueError(f"agent={agent!r} is none of klearning.deep: it cannot be saved")
    parameters = {key: plain(key, getattr(agent, key)) for key in inspect.signature(type(agent)).parameters}
    return {"name": name, **parameters, **({} if agent.features is None else FEATURES.origin(agent.features))}


def arrays_of(learner: DeepLearner) -> Arrays:
    """The agent's memory, and the episode under way."""
    kept = min(learner.steps, learner.agent.capacity)
    memory = {name: np.asarray(leaf) for name, leaf in leaves(learner.memory)}
    like = learner.features.like
    return {
        **{name: leaf[:kept] if name.startswith(RING) else leaf for name, leaf in memory.items()},
        "returns": np.array(learner.returns, np.float64),
        "x": np.array(learner._x, like.dtype).reshape(len(learner._x), *like.shape),
        "chosen": np.array(learner._chosen, np.int32),
        "rewards": np.array(learner._rewards, np.float64),
        "masks": np.array(learner._masks, np.float32).reshape(len(learner._masks), learner.actions.count),
        "sums": learner.sums,
    }


def leaves(memory: Any) -> Iterator[tuple[str, Any]]:
    """Every array of a memory by its name."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(memory)[0]:
        yield f"{ROOT}.{jax.tree_util.keystr(path, simple=True, separator='.')}", leaf


def build_learner(settings: dict[str, Any], arrays: Arrays) -> DeepLearner:
    """The learner that these are of; ValueError if there can be none."""
    learner = checked_learner(settings, arrays)
    restore(learner, settings, arrays)
    return learner


def checked_learner(settings: dict[str, Any], arrays: Arrays) -> DeepLearner:
    """The same, and blank: all that `build_learner` checks, without room for its replay buffer."""
    agent = build_agent(settings["agent"])
    space, actions = build_space(settings["observation_space"]), build_space(settings["action_space"])
    bins = build_bins(space, settings["bins"])
    learner = DeepLearner(agent, space, actions, settings["horizon"], bins=bins, seed=settings["seed"], blank=True)
    steps = checks.whole("steps", settings["steps"], 0)
    if steps > MOST:
        raise ValueError(f"steps={steps} is more than {MOST}")
    learned = checks.whole("learned", settings["learned"], 0)
    for name in ("step", "steps"):
        if learned > checks.whole(name, settings[name], 0):
            raise ValueError(f"learned={learned} is more than {name}={settings[name]}")
    check_memory(learner, arrays, steps)
    check_episode(learner, settings, arrays)
    return learner


def build_agent(data: dict[str, Any]) -> Any:
    """The inverse of `agent_data`."""
    maker = getattr(deep, checks.choice("agent", data["name"], deep.AGENTS))
    name, code = data["features"], data.get("code")
    if name is not None and (name not in FEATURES or FEATURES.origin(name)["code"] != code):
        here = "are not registered" if name not in FEATURES else f"are of other code here, which was {code}"
        raise NotRegistered(
            f"features={name!r} {here}: import {data.get('module')}, where they were defined, and let it call "
            f"klearning.deep.register_features({name})"
        )
    return maker(**{key: value for key, value in data.items() if key not in RESERVED})


def restore(learner: DeepLearner, settings: dict[str, Any], arrays: Arrays) -> None:
    """Set the state of a learner from checked settings and arrays."""
    shapes = memory_shapes(learner)
    parts = []
    for name, shape in leaves(shapes):
        array = jnp.asarray(arrays[name])
        if name.startswith(RING):  # with room for what is to come, as it was when it was new
            room = jnp.ones if name.endswith(".allowed") else jnp.zeros
            array = written(room(shape.shape, shape.dtype), array)
        parts.append(array)
    learner.memory = jax.tree.unflatten(jax.tree.structure(shapes), parts)
    learner.episodes_done, learner.steps, step = settings["episodes_done"], settings["steps"], settings["step"]
    learner.returns, learner.sums = arrays["returns"].tolist(), arrays["sums"]
    set_state(learner._predictions, settings["predictions"])
    if step > 0 or settings["waiting"]:
        learner._begin(settings["number"])
        learner._uniforms.bit_generator.advance(len(arrays["chosen"]))
    learner.step, learner.over, learner._waiting = step, settings["over"], settings["waiting"]
    learner._terminal, learner.learned = settings["terminal"], settings["learned"]
    learner._x, learner._masks = list(arrays["x"]), list(arrays["masks"])
    learner._chosen, learner._rewards = arrays["chosen"].tolist(), arrays["rewards"].tolist()


@partial(jax.jit, donate_argnums=0)
def written(room: jax.Array, rows: jax.Array) -> jax.Array:
    """The first rows in their room, which is used up: there is never twice as much of it."""
    return room.at[: len(rows)].set(rows)


def memory_shapes(learner: DeepLearner) -> Any:
    """The memory at first without its numbers: nothing is computed, nor is there room for it."""
    like, points, actions = learner.sizes
    begin = partial(learner.agent.begin, like=like, points=points, actions=actions)
    return jax.eval_shape(begin, jax.random.key(0))


def check_memory(learner: DeepLearner, arrays: Arrays, steps: int) -> None:
    """Shapes, types, and numbers that can be."""
    kept = min(steps, learner.agent.capacity)
    for name, like in leaves(memory_shapes(learner)):
        shape = (kept, *like.shape[1:]) if name.startswith(RING) else like.shape
        check_form(name, arrays[name], like.dtype, shape)
        low, high = limits(name, learner)
        x = arrays[name]
        wrong = (x < low) | (x > high)
        if x.dtype.kind == "f":
            wrong |= ~np.isfinite(x)
        refuse(name, f"is not from {low} to {high}", np.asarray(wrong, np.bool_), x)
    if arrays[f"{ROOT}.seen"] != steps:
        raise ValueError(f"{ROOT}.seen={arrays[f'{ROOT}.seen']} is not steps={steps}")
    for name in (f"{RING}terminal", f"{RING}allowed", "masks"):
        refuse(name, "is neither 0 nor 1", ~np.isin(arrays[name], (0.0, 1.0)), arrays[name])
    for name in (f"{RING}allowed", "masks"):
        if not arrays[name].any(axis=-1).all():
            raise ValueError(f"{name} has a mask that allows nothing")


def limits(name: str, learner: DeepLearner) -> tuple[float, float]:
    """Between which every number of an array is, by the array's name."""
    agent, last = learner.agent, name.rpartition(".")[2]
    sd = getattr(agent, "sd", 1.0)
    whole = learner.features.whole and last in ("x", "after")
    highest = {
        "action": learner.actions.count - 1, "member": getattr(agent, "members", 1) - 1, "shift": 1, "log_tau": 50,
        "seen": MOST, "count": MOST, "factor": 2**32 - 1, "c": 1.01 * 0.5 * sd**2, "sd": 1.01 * sd, "binary": 1,
        "scale": len(SCALES) - 1, "repeats": 1.01,
        "x": learner.features.size - 1 if whole else inf, "after": learner.features.size - 1 if whole else inf,
    }  # fmt: skip
    lowest = {"log_tau": -50, "largest": 1, "sd": 1e-16 * sd, "x": 0 if whole else -inf, "after": 0 if whole else -inf}
    not_negative = (
        *highest, "visits", "squares", "loss", "size", "variance", "gain", "terminal", "allowed"
    )  # fmt: skip
    signed = not ({last} & set(not_negative) or ".nu." in name)
    return lowest.get(last, -inf if signed else 0), highest.get(last, inf)


def check_episode(learner: DeepLearner, settings: dict[str, Any], arrays: Arrays) -> None:
    """The episodes so far, and the one under way."""
    like = learner.features.like
    step, waiting = check_moment(settings, learner.horizon)
    episode, terminal = checks.whole("episodes_done", settings["episodes_done"], 0), settings["terminal"]
    checks.whole("number", settings["number"], 0)
    if not isinstance(terminal, bool) or (terminal and not settings["over"]):
        raise ValueError(f"terminal={terminal!r} of an episode with over={settings['over']}")
    acted = step + waiting
    seen = step + 1 if acted else 0
    for name, dtype, shape in (
        ("returns", np.float64, (episode,)), ("rewards", np.float64, (step,)), ("chosen", np.int32, (acted,)),
        ("masks", np.float32, (acted, learner.actions.count)), ("x", like.dtype, (seen, *like.shape)),
        ("sums", np.float64, (NUMBERS,)),
    ):  # fmt: skip
        check_form(name, arrays[name], dtype, shape)
        if arrays[name].dtype.kind == "f":
            refuse(name, "is not finite", ~np.isfinite(arrays[name]), arrays[name])
    for name, most in (("chosen", learner.actions.count - 1), ("x", learner.features.size - 1)):
        x = arrays[name]
        if x.dtype.kind == "i":
            refuse(name, f"is not from 0 to {most}", (x < 0) | (x > most), x)
    refuse("sums", "is negative", arrays["sums"] < 0.0, arrays["sums"])
