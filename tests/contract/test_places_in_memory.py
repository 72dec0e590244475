"""Numbers hang on nothing but numbers: not on where in memory an array lies.

Compiled loops ask, before they run several steps at once, whether the arrays that they write and read lie apart, and
answer "perhaps not" for neighbours too. Where a sum may be reordered, the answer would then decide on its last bit.
"""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Discrete

import klearning as kl
from klearning.games.newton import new_workspace
from klearning.games.program import solve_program
from klearning.tabular.trials.trial import new_task
from tests.support import agent_oracles as slow
from tests.support.agents import SETTINGS

PACKAGE = Path(inspect.getfile(kl)).parent
WORLDS = {
    "wide": (kl.random_mdp([4, 9, 17, 5], actions=3, seed=1), kl.Prior()),
    "stationary": (kl.river_swim(6, 8), kl.Prior(stationary=True)),
}


def crowd(record, rng):
    """A copy whose arrays lie side by side, in any order, at any multiple of eight bytes."""
    found = {}

    def find(part):
        if isinstance(part, np.ndarray):
            found[id(part)] = part
        elif isinstance(part, tuple):
            for inner in part:
                find(inner)

    find(record)
    room = np.zeros(sum(x.nbytes + 64 for x in found.values()) + 128, np.uint8)
    at, placed = 8 * int(rng.integers(8)) - room.ctypes.data % 8, {}
    for key in rng.permutation(np.array(list(found), object)):
        x = found[key]
        placed[key] = room[at : at + x.nbytes].view(x.dtype).reshape(x.shape)
        placed[key][...] = x
        at += -(-x.nbytes // 8) * 8 + 8 * int(rng.choice([0, 0, 1, 3]))

    def put(part):
        if isinstance(part, np.ndarray):
            return placed[id(part)]
        if isinstance(part, tuple):
            inner = [put(x) for x in part]
            return type(part)(*inner) if hasattr(part, "_fields") else tuple(inner)
        return part

    return put(record)


@pytest.mark.thin(2)
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (4, 4), (5, 7), (8, 8), (16, 3)])
def test_a_game(shape):
    rng, (m, n) = np.random.default_rng(0), shape
    for _ in range(20):
        game = rng.standard_normal(shape), rng.uniform(0.1, 1.0, shape), rng.uniform(0.0, 1.0, m)
        answers = set()
        for _ in range(20):
            mu, sds, w, x, W = crowd((*(part.copy() for part in game), np.zeros(n), new_workspace(m, n)), rng)
            answers.add((*solve_program(mu, sds, 1e-9, w, x, W), w.tobytes(), x.tobytes()))
        assert len(answers) == 1


@pytest.mark.thin(3)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("agent", SETTINGS, ids=str)
def test_an_agent(agent, world):
    world, prior = WORLDS[world]
    rng, logs = np.random.default_rng(0), []
    for place in range(4):
        memory, task = agent.begin(slow.belief(world, prior)), new_task(agent, world, 25, 0)
        if place:
            memory = crowd(memory, rng)
        agent.advance(memory, task, 0, 25)
        logs.append(task.log)
    for log in logs[1:]:
        for x, y in zip(log, logs[0], strict=True):
            np.testing.assert_array_equal(x, y)


def reordered():
    """Every kernel that may reorder its sums, by name, as it is written."""
    for path in PACKAGE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                marks = [ast.unparse(mark) for mark in function.decorator_list]
                if any(mark.startswith("kernel(") and "reorder=True" in mark for mark in marks):
                    yield f"{path.stem}.{function.name}", function


def adds_up_and_writes(loop):
    """Of the innermost loops: only these are run several steps at once."""
    inside = [node for step in loop.body for node in ast.walk(step)]
    if any(isinstance(node, ast.For | ast.While) for node in inside):
        return False
    adds = any(isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) for node in inside)
    writes = any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in inside)
    return adds and writes


def test_no_loop_that_may_be_reordered_adds_up_and_writes():
    kernels = dict(reordered())
    assert len(kernels) > 5
    loops = [(name, loop) for name, kernel in kernels.items() for loop in ast.walk(kernel) if isinstance(loop, ast.For)]
    assert not [f"{name}, line {loop.lineno}" for name, loop in loops if adds_up_and_writes(loop)]
    assert adds_up_and_writes(ast.parse("for i in range(n):\n    x[i] = y[i]\n    s += x[i]").body[0])


@pytest.mark.thin(8)
@pytest.mark.parametrize("agent", [agent for agent in SETTINGS if callable(agent.plan)], ids=str)
def test_a_memory_holds_its_arrays(agent):
    """A kernel that returns a record hands its arrays over: none is a view of memory that nothing keeps alive."""
    learner = kl.Learner(agent, Discrete(4), Discrete(2), agent.longest_horizon or 3)
    for t in range(6):
        learner.act(t % 3)
        learner.observe(0.5, (t + 1) % 3, t % 2 == 1)
        if learner.over:
            learner.end_episode()
    for array in arrays_in(learner.memory):
        assert array.flags.owndata or array.base is not None


def arrays_in(part):
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from arrays_in(inner)
