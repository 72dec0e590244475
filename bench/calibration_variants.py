"""What was tried instead of calibrated optimism as it is: throw-away agents, for the table of what wins.

`bench.calibrated_study run variants` plays them, and docs/evidence/calibrated.md says what came of it.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

import klearning as kl
from klearning.numerics.compiled import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.calibrated_optimism import (
    Answer,
    CalibratedOptimism,
    Memory,
    draw_value,
    mean_and_error,
    note,
    update,
    with_answer,
)
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.soft import boltzmann, soft_sweep
from klearning.tabular.models.sweeps import policy_sweep
from klearning.tabular.optimism.calibration import LEAST, calibrate
from klearning.tabular.optimism.information import fill_gains, informed_share
from klearning.tabular.optimism.temperature import at_optimum
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Task, play

NEVER, SHARE, RATIO, INFORMED = range(4)


class Settings(NamedTuple):
    """Numbers that change the rule; at these values nothing is changed."""

    draws: int = 1
    share: float = 0.1  # of Thompson episodes
    rise: float = 0.0  # of that share, for every tenfold of episodes
    half: float = 0.0  # after so many episodes the share is ½: t/(t + half)
    growth: float = 0.0  # of κ: times 1 + growth · log(1 + t/100)
    spreads: float = 0.0  # standard deviations of V* above its mean
    cold: float = 1.0  # τ as a part of the best one, κ such that f is the same
    layers: float = 0.0  # step of the search for a share of the bonus per layer
    which: int = SHARE  # how Thompson episodes are chosen


NOTHING = Settings()


@kernel
def information(memory: Memory, policy: Floats, I: Floats, V: Floats, room: Floats) -> float:
    """What an episode tells of rewards and rows: Σ λ ½ log(1 + 1/n) of each, in the mean model."""
    p = memory.posterior
    fill_gains(p, I)
    return policy_sweep(p.model, I, policy, V, room)


@kernel
def profile_step(memory: Memory, step: float, profile: Floats, drawn: Floats) -> None:
    """Let each layer's mean soft value come nearer to the mean of its drawn ones."""
    layers = memory.posterior.model.layers
    W: Any = memory.work
    for l in range(layers.size - 1):
        mine = W.V[W.at[l] : W.at[l] + layers[l + 1] - layers[l]].mean()
        pull = W.C[W.at[l] : W.at[l] + layers[l + 1] - layers[l]].mean()
        drawn[l] += 0.1 * (memory.room.V[layers[l] : layers[l + 1]].mean() - drawn[l])
        if pull > 0.0:
            profile[l] = min(max(profile[l] * np.exp(step * np.sign(drawn[l] - mine)), 0.1), 10.0)


@kernel
def plan(
    memory: Memory, x: Settings, rewards: np.random.Generator, rows: np.random.Generator,
    c: Floats, I: Floats, V: Floats, room: Floats,
) -> Answer:  # fmt: skip
    """As `calibrated_optimism.plan`, with everything that was tried."""
    model, drawn, t = memory.posterior.model, memory.drawn, memory.plans
    depth = model.layers.size - 1
    work: Any = memory.work
    values, own = memory.values[: -2 * depth], memory.values[-2 * depth :]
    profile, layer_values = own[:depth], own[depth:]
    for i in range(x.draws):
        values[(drawn + i) % values.size] = draw_value(memory, rewards, rows)
    n = min(drawn + x.draws, values.size)
    estimate, error = mean_and_error(values[:n])
    target = estimate + (x.spreads * error * np.sqrt(n) if x.spreads > 0.0 and n > 1 else 0.0)
    c[:] = memory.c
    if x.layers > 0.0:
        if t == 0:
            profile[:] = 1.0
        for l in range(depth):
            c[:, model.layers[l] : model.layers[l + 1]] *= profile[l]
    found = calibrate(model, c, target, memory.optimism, memory.warm, 1e-6, memory.policy, memory.room.c, work)
    kappa, best = found.optimism, found.temperature
    if x.layers > 0.0:
        profile_step(memory, x.layers, profile, layer_values)
    if x.growth > 0.0:
        share = min(1.0, kappa * (1.0 + x.growth * np.log1p(t / 100.0)))
        best = at_optimum(model, share * c, best.warm, 1e-6, memory.policy, work)
    if x.cold != 1.0 and 0.0 < best.tau < np.inf:
        tau, share = x.cold * best.tau, kappa
        for _ in range(8):
            f, _, C, _ = soft_sweep(model, share * c, tau, work)
            share = min(max(share * (1.0 + (target - f) * tau / C), LEAST), 3.0)
        boltzmann(model.layers, work, memory.policy)
    thompson = False
    if x.which == SHARE:
        chance = t / (t + x.half) if x.half > 0.0 else x.share + x.rise * np.log10(1.0 + t / 100.0)
        thompson = rewards.random() < chance
    elif x.which != NEVER:
        mine = information(memory, memory.policy, I, V, room)
        its = information(memory, memory.room.policy, I, V, room)
        if x.which == RATIO:
            q = informed_share(memory.posterior, estimate, memory.policy, memory.room.policy)
            thompson = rewards.random() < max(q, x.share)
        else:
            thompson = its > mine and rewards.random() < x.share
    if thompson:
        memory.policy[:] = memory.room.policy
    return Answer(best.tau, best.bound, best.gap, found.sweeps, best.warm, kappa, estimate, error, thompson, 0.0)


@kernel
def episodes(memory: Memory, x: Settings, task: Task, first: int, count: int) -> Memory:
    A, S = memory.policy.shape
    c, I, V, room = np.zeros((A, S)), np.zeros((A, S)), np.zeros(S), np.zeros(S)
    for t in range(first, first + count):
        answer = plan(memory, x, task.reward_stream, task.row_stream, c, I, V, room)
        play(task, memory.policy, t)
        memory = update(with_answer(memory, answer, x.draws), task.episode)
        note(answer, task.log.diagnostics[:, t])
    return memory


@dataclass(frozen=True)
class Variant(CalibratedOptimism):
    """Calibrated optimism with other settings; in `kl.run` alone."""

    settings: Settings = NOTHING

    def begin(self, belief: Belief) -> Memory:
        memory = super().begin(belief)
        return memory._replace(values=np.zeros(memory.values.size + 2 * belief.horizon))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.settings, task, first, count)


def variant(window: int = 10, **settings: Any) -> Variant:
    x = NOTHING._replace(**settings)
    return Variant("reward", 1e-6, x.draws, window, 0.0, 0.0, settings=x)


AS_IS = kl.KLearning(optimism="calibrated")
VARIANTS: dict[str, Agent] = {
    "as it is": AS_IS,
    "Thompson or not by the information ratio": replace(AS_IS, thompson="informed"),
    "the same, 5 draws, window 4": replace(AS_IS, thompson="informed", draws=5, window=4),
    "the same, and one in ten": variant(which=RATIO, share=0.1),
    "no Thompson episodes": replace(AS_IS, thompson=0.0),
    "one in five": replace(AS_IS, thompson=0.2),
    "three in ten": replace(AS_IS, thompson=0.3),
    "half of them": replace(AS_IS, thompson=0.5),
    "5 draws, window 5": replace(AS_IS, draws=5, window=5),
    "20 draws, window 1": replace(AS_IS, draws=20, window=1),
    "20 draws, window 1, one in five": replace(AS_IS, draws=20, window=1, thompson=0.2),
    "window 40": replace(AS_IS, window=40),
    "margin 1": replace(AS_IS, margin=1.0),
    "0.3 deviations of V* above its mean": variant(spreads=0.3),
    "Thompson share t/(t + 2000)": variant(half=2000.0),
    "Thompson share t/(t + 5000)": variant(half=5000.0),
    "Thompson share 0.05 + 0.2 log10(1 + t/100)": replace(AS_IS, thompson="rising"),
    "κ (1 + 0.2 log(1 + t/100))": variant(growth=0.2),
    "κ (1 + log(1 + t/100))": variant(growth=1.0),
    "the draw where it tells more, half of the time": variant(which=INFORMED, share=0.5),
    "τ half of the best, more κ": variant(cold=0.5),
    "τ twice the best, less κ": variant(cold=2.0),
    "calibrated by layer": variant(layers=0.02),
}
SHARES = {"no Thompson episodes": 0.0, "one in ten": 0.1}
WINDOWS: dict[str, Agent] = {  # of the estimate with less noise, for how many plans a draw is kept
    f"window {window}, {name}": replace(AS_IS, window=window, thompson=share)
    for window in (30, 100, 20, 50, 300, 10)
    for name, share in SHARES.items()
}
WINDOWS |= {f"window 30, margin {margin}": replace(AS_IS, window=30, thompson=0.0, margin=margin) for margin in (1, 3)}
