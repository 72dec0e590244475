"""Speed of deep K-learning: a step that acts, and an update of the network against JAX's bare gradient step.

    JAX_PLATFORMS=cpu python -m bench.deep_speed [--rounds 7]

Least CPU time of several rounds. The bare step has its batch given: forward, backward, Adam, in the same loop. With a
target network, its forward pass and Polyak's average are added. To an update also belong drawing the batch, tiles,
bonus and targets.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium import spaces

from bench.record import recorded
from klearning.deep import DQN, DeepKLearning
from klearning.deep.learner import DeepLearner

UPDATES = 500
SIDE_BY_SIDE = 16
BOX = spaces.Box(-1.0, 1.0, (4,))


def least(work: Callable[[], Any], rounds: int, count: int) -> float:
    """Microseconds each."""
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e6 * min(times) / count


def acting(rounds: int) -> float:
    learner = DeepLearner(DeepKLearning(train_every=1000), BOX, spaces.Discrete(2), 1000)
    x = np.full(4, 0.3, np.float32)

    def episode() -> None:
        for _ in range(500):
            learner.act(x)
            learner.observe(0.0, x)
        learner.abandon_episode()

    return least(episode, rounds, 500)


def acting_together(rounds: int) -> float:
    """Per step of one environment, of `SIDE_BY_SIDE`."""
    learner = DeepLearner(DeepKLearning(train_every=10**6), BOX, spaces.Discrete(2), 10**6)
    x, forks = np.full(4, 0.3, np.float32), []
    for _ in range(SIDE_BY_SIDE):
        learner.act(x)
        forks.append(learner.fork_episode())
        forks[-1].observe(0.0, x)

    def steps() -> None:
        for _ in range(100):
            learner.learn_together(forks)
            learner.act_together(forks, [x] * SIDE_BY_SIDE, [None] * SIDE_BY_SIDE)
            for fork in forks:
                fork.observe(0.0, x)

    return least(steps, rounds, 100 * SIDE_BY_SIDE)


def replay_size() -> float:
    """Megabytes of the replay buffer for pictures of bytes, 10 × 10 pixels in 4 channels."""
    agent = DeepKLearning()
    learner = DeepLearner(agent, spaces.Box(0, 255, (10, 10, 4), np.uint8), spaces.Discrete(6), 1000, blank=True)
    return agent.capacity * learner.step_bytes / 1e6


def updating(agent: Any, rounds: int) -> tuple[float, ...]:
    """Of an update, of a bare gradient step, and of one with a target network."""
    like = jnp.zeros(4)
    memory = agent.begin(jax.random.key(0), like, 4, 2)
    x, after = jax.random.normal(jax.random.key(1), (2, *memory.ring.x.shape))
    ring = memory.ring._replace(x=x, after=after)
    memory = memory._replace(ring=ring, seen=jnp.asarray(agent.capacity, jnp.int32))
    improve = jax.jit(agent.improve)
    adam = optax.adam(agent.learning_rate)
    x, after, action = x[: agent.batch], after[: agent.batch], ring.action[: agent.batch]

    def loss(params: Any, y: Any) -> Any:
        chosen = jnp.take_along_axis(agent.outputs(params, x), action[:, None], axis=-1)[:, 0]
        return 0.5 * jnp.mean((chosen - y) ** 2)

    def steps(params: Any, target: Any, optimiser: Any) -> Any:
        def step(i: Any, moving: Any) -> Any:
            params, target, optimiser = moving
            y = 0.001 * i * jnp.ones(agent.batch)
            if target is not None:
                y = agent.discount * jnp.max(agent.outputs(target, after), axis=-1)
            _, gradient = jax.value_and_grad(loss)(params, y)
            change, optimiser = adam.update(gradient, optimiser)
            params = optax.apply_updates(params, change)
            if target is not None:
                target = jax.tree.map(lambda old, new: old + agent.polyak * (new - old), target, params)
            return params, target, optimiser

        return jax.lax.fori_loop(0, UPDATES, step, (params, target, optimiser))

    bare, key, params = jax.jit(steps), jax.random.key(2), memory.params
    ours = least(lambda: jax.block_until_ready(improve(memory, UPDATES // agent.updates, key)), rounds, UPDATES)
    times = [
        least(lambda: jax.block_until_ready(bare(params, target, adam.init(params))), rounds, UPDATES)  # noqa: B023
        for target in (None, params)
    ]
    return ours, *times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    ours, bare, with_target = updating(DeepKLearning(), rounds)
    dqn, *_ = updating(DQN(), rounds)
    rows = [
        ("act and observe, a step of four numbers", f"{acting(rounds):.0f}"),
        (f"the same in {SIDE_BY_SIDE} environments side by side", f"{acting_together(rounds):.0f}"),
        ("an update of K-learning, batch 128", f"{ours:.0f}"),
        ("an update of DQN in the same loop", f"{dqn:.0f}"),
        ("a bare gradient step", f"{bare:.0f}"),
        ("a bare gradient step with a target network", f"{with_target:.0f}"),
        ("K-learning in units of DQN", f"{ours / dqn:.2f}"),
        ("K-learning in units of the bare step", f"{ours / bare:.2f}"),
        ("K-learning in units of the bare step with a target network", f"{ours / with_target:.2f}"),
        ("a replay buffer of 100,000 pictures of 10 × 10 × 4 bytes, MB", f"{replay_size():.0f}"),
    ]
    command = "JAX_PLATFORMS=cpu python -m bench.deep_speed"
    with recorded("deep.speed", ("what", "µs of CPU, ratio or size"), command) as row:
        for cells in rows:
            row(*cells)


if __name__ == "__main__":
    main()
