"""Agents that plan by value iteration, on a device: `tabular/agents/value_iteration.py` with one thread per seed.

An agent is its Q_l(s,a), given V of the next layer; the rest is the same for all of them. The exact value of the policy
is computed in the same sweep. V holds two whole layers, because a draw may lead to any state of the next one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from klearning.gpu.batch import Batch
from klearning.gpu.draws import Draws
from klearning.gpu.layout import Log, Shape, at_most
from klearning.gpu.random import ONE, REWARDS, ZERO, F, normals, philox
from klearning.gpu.walk import play_for
from klearning.tabular.models.mdp import MDP


class Layer(NamedTuple):
    """Values of the layer that comes next."""

    V: Any
    shift: Any  # V[shift + s] is the value of its state s
    first: Any  # its first state
    width: Any  # 0 behind the last layer
    mean: Any


@cache
def expectation_for(shape: Shape, learns: bool) -> Callable[..., Any]:
    """Σ_s' w(s') V(s') over the successors of pair k, w how often each came; or its known probability."""
    single, own = shape.single, shape.own

    @cuda.jit(device=True, fastmath=True)
    def expectation(world: Any, counts: Any, i: Any, k: Any, V: Any, shift: Any) -> F:
        if single:
            return (counts.visits[k, i] if learns else ONE) * V[shift + world.succ[k]]
        who, total = i if own else 0, ZERO
        for e in range(world.start[k], world.start[k + 1]):
            total += (counts.moves[e, i] if learns else world.weight[e, who]) * V[shift + world.succ[e]]
        return total

    return expectation


@cache
def plan_for(shape: Shape, width: int, noisy: bool, action_value: Callable[..., Any]) -> Callable[..., Any]:
    """Q by layers, the last first; writes the greedy policy's shares and returns its exact value, E_ρ V_1^π.

    A policy is uniform over the maximisers of Q, as on the CPU. ``noisy`` agents get a standard normal per pair.
    """
    horizon, actions, own, end = shape.horizon, shape.actions, shape.own, shape.end
    true_expectation = expectation_for(shape, learns=False)

    @cuda.jit(device=True, fastmath=True)
    def plan(world: Any, counts: Any, x: Any, draws: Any, i: Any, V: Any, J: Any, share: Any) -> F:
        who, J_start, mean = i if own else 0, ZERO, ZERO
        now, after = 0, width
        for l in range(horizon - 1, -1, -1):
            low, high = world.layers[l], world.layers[l + 1]
            wide = world.layers[min(l + 2, horizon)] - high
            below, total = Layer(V, after - high, high, wide, mean), ZERO
            for s in range(low, high):
                best, ties, j, z, spare = ZERO, 1, ZERO, ZERO, ZERO
                for a in range(actions):
                    k = s * actions + a
                    if noisy:
                        if a % 2 == 0:
                            words = philox(draws.key, k, draws.t, draws.seed, REWARDS)
                            z, spare = normals(words[0], words[1])
                        else:
                            z = spare
                    Q = action_value(world, counts, x, draws, i, k, z, below)
                    J_a = world.reward[k, who]
                    if wide > 0:
                        J_a += true_expectation(world, counts, i, k, J, after - high)
                    if a == 0:
                        best, j = Q, J_a
                    else:  # fold
                        p = ZERO
                        if best < Q:
                            best, ties, p = Q, 1, ONE
                        elif best == Q:
                            ties += 1
                            p = ONE / F(ties)
                        j += p * (J_a - j)
                        share[s * (actions - 1) + a - 1, i] = p
                if s - low == end:
                    best = ZERO
                V[now + s - low], J[now + s - low] = best, j
                total += best
                if l == 0:
                    J_start += world.initial[s] * j
            mean = total / F(high - low)
            now, after = after, now
        return J_start

    return plan


@cache
def episodes_for(
    shape: Shape, width: int, noisy: bool, action_value: Callable[..., Any], registers: int | None = None
) -> Any:
    """The kernel: ``count`` episodes of every seed from episode ``first`` on. ``width`` is that of the widest layer."""
    plan, play, room = plan_for(shape, width, noisy, action_value), play_for(shape), 2 * width

    @cuda.jit(fastmath=True, **at_most(registers))
    def episodes(
        world: Any, counts: Any, x: Any, share: Any, log: Any, key: Any, seeds: Any, first: Any, count: Any
    ) -> None:
        i = cuda.grid(1)
        if i >= seeds.size:
            return
        V, J = cuda.local.array(room, F), cuda.local.array(room, F)
        seed = seeds[i]
        for j in range(count):
            t = first + j
            log.values[j, i] = plan(world, counts, x, Draws(key, seed, t), i, V, J, share)
            log.returns[j, i], log.hits[j, i] = play(world, share, counts, key, seed, i, t)

    return episodes


class ValueIterationProgram(ABC):
    """Such an agent as the device plays it: its numbers, and its Q of a pair."""

    diagnostics: tuple[str, ...] = ()
    noisy = False  # whether its Q needs a standard normal

    def __init__(self, mdp: MDP, numbers: Any) -> None:
        self.width, self.numbers = max(mdp.widths), numbers

    @abstractmethod
    def action_value(self, shape: Shape) -> Callable[..., Any]:
        """The device function (world, counts, numbers, draws, i, k, z, below) → Q of pair k of the i-th seed."""

    def begin(self, batch: Batch) -> Any:
        return self.numbers

    def advance(self, batch: Batch, numbers: Any, log: Log, first: int, count: int) -> None:
        kernel = episodes_for(batch.shape, self.width, self.noisy, self.action_value(batch.shape), batch.registers)
        kernel[batch.grid](batch.world, batch.counts, numbers, batch.share, log, batch.key, batch.seeds, first, count)
