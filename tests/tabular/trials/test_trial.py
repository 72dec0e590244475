"""A trial may be cut, left and taken apart anywhere: its bytes are those of one that was played at once."""

import numpy as np
import pytest

import klearning as kl
from klearning.numerics.files import arrays_from_bytes, arrays_to_bytes
from klearning.numerics.records.fields import leaves
from klearning.tabular.agents import AGENTS
from klearning.tabular.trials import chunks as chunking
from klearning.tabular.trials.trial import Trial

EPISODES = 40
COINS = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
WORLDS = {
    "noisy moves": (kl.river_swim(3, 4), kl.Prior()),
    "one table for all layers": (kl.river_swim(3, 4), kl.Prior(stationary=True)),
    "coins": (kl.random_mdp([2, 3, 2], actions=2, prior=COINS, seed=2), COINS),
    "arms": (kl.bandit([0.3, 0.6, 0.5], "bernoulli"), COINS),
}
PLACES = [
    (name, world)
    for name, agent in AGENTS.items()
    for world in WORLDS
    if (agent.longest_horizon == 1) == (world == "arms")
]
ODD = (1, 2, 7, 3, 11, 5, 11)


def trial(agent, world="noisy moves", seed=3, **rest):
    return Trial(agent, *WORLDS[world], seed, EPISODES, **rest)


def same(a, b):
    assert (a.played, a.done) == (b.played, b.done)
    for x, y in zip(leaves((a.log, a.memory)).values(), leaves((b.log, b.memory)).values(), strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


@pytest.mark.thin(5)
@pytest.mark.parametrize(("name", "world"), PLACES)
def test_cut_and_taken_apart_it_is_the_same(name, world):
    """In odd chunks, and after each of them its state, as bytes, goes into a fresh trial."""
    whole, broken = (trial(AGENTS[name](), world, evaluate_every=3) for _ in range(2))
    whole.advance(EPISODES)
    for count in ODD:
        broken.advance(count)
        state = arrays_from_bytes(arrays_to_bytes(broken.state()))
        broken = trial(AGENTS[name](), world, evaluate_every=3)
        broken.restore(state)
    assert broken.done
    same(broken, whole)
    where, prior = WORLDS[world]
    runs = kl.run(AGENTS[name](), where, prior=prior, episodes=EPISODES, seeds=[3], evaluate_every=3)
    assert np.array_equal(whole.log.returns, runs.returns[0])
    assert np.array_equal(whole.log.values, runs.values[0])


def test_a_state_is_a_copy():
    """Neither the trial that it is of nor those that take it up change it."""
    one = trial(kl.KLearning())
    one.advance(10)
    state, kept = one.state(), one.state()
    one.advance(10)
    others = [trial(kl.KLearning()) for _ in range(2)]
    for other in others:
        other.restore(state)
        other.advance(10)
        same(other, one)
    for name, x in kept.items():
        np.testing.assert_array_equal(state[name], x, strict=True)


def test_going_back():
    """A trial takes up a state of its own past."""
    one, other = trial(kl.PSRL()), trial(kl.PSRL())
    one.advance(10)
    past = one.state()
    one.advance(20)
    one.restore(past)
    assert one.played == 10
    for each, count in ((one, 30), (other, EPISODES)):
        each.advance(count)
    same(one, other)


WRONG = {
    "no streams": lambda state: {name: x for name, x in state.items() if name != "streams"},
    "no policy": lambda state: {name: x for name, x in state.items() if name != "memory.policy"},
    "another's memory": lambda state: {**state, "memory.more": np.zeros(2)},
    "a policy of another shape": lambda state: {**state, "memory.policy": np.zeros((3, 3))},
    "too many episodes": lambda state: {**state, "log.values": np.zeros(EPISODES + 1)},
    "returns of another number of episodes": lambda state: {**state, "log.returns": np.zeros(4)},
    "hits of another type": lambda state: {**state, "log.hits": state["log.hits"].astype(float)},
    "three streams": lambda state: {**state, "streams": np.frombuffer(b"[1, 2, 3]", np.uint8)},
    "streams that are not JSON": lambda state: {**state, "streams": np.frombuffer(b"[1, 2", np.uint8)},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_another_state_is_refused(change):
    one = trial(kl.KLearning())
    one.advance(5)
    with pytest.raises(ValueError, match="not the state of such a trial"):
        trial(kl.KLearning()).restore(change(one.state()))


@pytest.mark.parametrize(
    ("seconds", "lengths"),
    [(0.0, [1] * EPISODES), (np.inf, [1, 2, 4, 3, 8, 7, 15])],
    ids=["chunks of one episode", "chunks that double"],
)
def test_chunks_end_where_they_are_told(monkeypatch, seconds, lengths):
    """At the stops, in whatever order and however many too many they are, and at the end."""
    monkeypatch.setattr(chunking, "CHUNK_SECONDS", seconds)
    one = trial(kl.QLearning())
    chunks = list(one.chunks([25, 10, 10, 0, 99]))
    assert chunks == lengths
    assert one.done
    assert list(one.chunks()) == []
