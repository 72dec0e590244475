"""Learner: the same agents as in `run`, step by step; what may go wrong in a loop of the reader's own."""

import pickle
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.extension import Episode
from klearning.numerics.records.fields import fields_of, leaves, role_of, widen
from klearning.numerics.sparse.rows import dense_block, row_sums, rows_to_layers
from klearning.simulators.learner import PriorWarning
from klearning.simulators.saving import arrays_of, settings_of
from klearning.tabular.models.sweeps import Model
from klearning.tabular.trials.task import Streams
from klearning.tabular.trials.trial import new_task
from tests.support.agents import STEPWISE
from tests.support.cases import modest
from tests.support.small_worlds import corridor, leaving

PRIORS = {
    "layered": kl.Prior(),
    "stationary": kl.Prior(stationary=True),
    "coins": kl.Prior(kl.Beta(), kl.Dirichlet(1.0), stationary=True),
}


def numbered(agent, states=4, actions=3, horizon=6, **more):
    """A learner whose observation i is state i + 1, unless states are discovered."""
    return kl.Learner(
        agent, spaces.Discrete(states), spaces.Discrete(actions), horizon, **{"grow_states": False} | more
    )


# -- Learner and run --------------------------------------------------------------------------------------------------


def without_end(memory, width):
    """Every array of a memory, but not what it says of the end: `run` goes on there, and a simulator does not."""
    if isinstance(memory, Model):
        tied = memory.table[-1] == 0
        rows = memory.rows
        blocks = [dense_block(rows, 0, width, 0, width)] if tied else rows_to_layers(rows, memory.layers)
        return [b[1:] for b in blocks] + [x for part in memory[:-1] for x in without_end(part, width)]
    if role_of(memory, "scratch"):
        return []
    if isinstance(memory, tuple):
        return [x for part in memory for x in without_end(part, width)]
    arrays = list(leaves(memory).values())
    wide = [x.size > 0 and x.ndim > 0 and x.dtype == np.float64 and x.shape[-1] % width == 0 for x in arrays]
    return [x.reshape(*x.shape[:-1], -1, width)[..., 1:] if cut else x for x, cut in zip(arrays, wide, strict=True)]


def without_start(memory):
    """UCFH sets aside what is new: nothing is planned there, and where episodes begin is not kept up to date."""
    if not hasattr(memory, "pending"):
        return memory
    return memory._replace(pending=memory.pending._replace(model=memory.pending.model._replace(initial=0)))


def assert_same_memory(got, want, width=None):
    ours, theirs = ([*leaves(m).values()] if width is None else without_end(m, width) for m in (got, want))
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, y)


def feed(learner, episode, layers):
    """The same episode, step by step; True if it reached the end."""
    L, local = len(layers) - 1, episode.states - layers[:-1]
    for l in range(L):
        learner.act(local[l] - 1)
        terminated = l + 1 < L and local[l + 1] == 0
        seen = local[l + 1] - 1 if l + 1 < L and not terminated else 0
        learner.observe(episode.rewards[l], seen, terminated, action=episode.actions[l])
        if terminated:
            break
    assert learner.over
    learner.end_episode()
    return bool(terminated)


@pytest.mark.thin(16)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_the_learner_is_the_agent_of_run(agent, prior):
    """Bit for bit, after every episode. Where layers share a table, what follows the last is seen by a learner alone:
    there, every episode ends before."""
    prior = PRIORS[prior]
    world = leaving(always=prior.stationary)
    task = new_task(agent, world, 40, 3)
    memory = agent.begin(kl.Belief.before(prior, world))
    learner = numbered(agent, prior=prior)
    for ours, theirs in zip(learner.streams[1:], (task.reward_stream, task.row_stream), strict=False):
        ours.bit_generator.state = theirs.bit_generator.state
    ended = 0
    for t in range(40):
        memory = agent.advance(memory, task, t, 1)
        ended += feed(learner, task.episode, world.layers)
        assert_same_memory(without_start(learner.memory), without_start(memory), width=5)
        assert learner.returns[t] == pytest.approx(task.log.returns[t])
    assert ended == 40 if prior.stationary else 20 < ended < 40


def posteriors(memory):
    """All that a memory knows of transitions."""
    if hasattr(memory, "planning"):
        return [memory.planning.posterior, *([memory.pending] if hasattr(memory, "pending") else [])]
    return [memory.posterior] if hasattr(memory, "posterior") else []


@pytest.mark.thin(3)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_the_last_transition_is_learnt_where_layers_share_a_table(agent, prior):
    """Two steps and a horizon of two: what follows the last layer tells something only of the layers before."""
    learner = numbered(agent, horizon=2, prior=PRIORS[prior])
    for seen in (1, 2):
        learner.act(seen - 1)
        learner.observe(0.5, seen)
    learner.end_episode()
    if posteriors(learner.memory):
        moves = sum(np.where(np.isinf(p.moves), 0.0, p.moves).sum() for p in posteriors(learner.memory))
        weight = sum(row_sums(p.model.rows).sum() for p in posteriors(learner.memory))
        assert moves == weight == (2 if PRIORS[prior].stationary else 1)


# -- the course of an episode -----------------------------------------------------------------------------------------


def transitions(learner):
    """Seen transitions by (state, action, next state), of a stationary learner."""
    rows, width = learner.memory.posterior.model.rows, len(learner.starts)
    return {tuple(int(i) for i in k): dense_block(rows, 0, width, 0, width)[tuple(k)]
            for k in np.argwhere(dense_block(rows, 0, width, 0, width))}  # fmt: skip


def test_terminated_leads_to_the_end_and_truncated_does_not():
    learner = numbered(kl.KLearning())
    learner.act(0)
    learner.observe(1.0, 1, action=0)
    learner.act(1)
    learner.observe(0.5, 2, truncated=True, action=2)
    assert learner.over
    learner.end_episode()
    assert transitions(learner) == {(1, 0, 2): 1.0, (2, 2, 3): 1.0}
    learner.act(0)
    learner.observe(1.0, 3, terminated=True, action=1)
    learner.end_episode()
    assert transitions(learner) == {(1, 0, 2): 1.0, (2, 2, 3): 1.0, (1, 1, 0): 1.0}
    assert learner.returns == [1.5, 1.0]
    learner.act(0)
    learner.observe(0.0, 3, terminated=True, truncated=True, action=1)
    learner.end_episode()
    assert transitions(learner)[1, 1, 0] == 2.0


def test_the_observation_of_a_terminal_step_may_be_anything():
    learner = numbered(kl.KLearning())
    learner.act(0)
    learner.observe(1.0, None, terminated=True)
    assert learner.over


@pytest.mark.parametrize("prior", ["layered", "stationary"])
def test_the_horizon_ends_an_episode(prior):
    learner = numbered(kl.KLearning(), horizon=3, prior=PRIORS[prior])
    for step in range(3):
        assert not learner.over
        assert learner.step == step
        learner.act(0)
        learner.observe(0.25, 0, action=1)
    assert learner.over
    learner.end_episode()
    assert (learner.episodes_done, learner.returns) == (1, [0.75])
    visits = np.where(np.isinf(learner.memory.posterior.visits), 0.0, learner.memory.posterior.visits)
    assert visits.sum() == 3.0


def test_an_episode_may_be_ended_at_any_time():
    learner = numbered(kl.KLearning())
    learner.end_episode()  # none has begun
    assert learner.episodes_done == 0
    learner.act(0)
    learner.observe(1.0, 1, action=0)
    learner.end_episode()
    assert transitions(learner) == {(1, 0, 2): 1.0}
    learner.act(3)  # another start
    np.testing.assert_allclose(learner.memory.posterior.model.initial, [0, 0.5, 0, 0, 0.5])


def test_starts_are_counted_before_planning():
    learner = numbered(kl.KLearning(), horizon=2)
    for start in (0, 0, 2):
        learner.act(start)
        learner.observe(0.0, 0, terminated=True)
        learner.end_episode()
    np.testing.assert_allclose(learner.memory.posterior.model.initial, [0, 2 / 3, 0, 1 / 3, 0])


def test_actions_that_were_overridden_are_the_ones_learnt():
    learner = numbered(kl.KLearning())
    for action in (0, np.int64(1), np.array(2)):
        learner.act(0)
        learner.observe(0.0, 0, action=action)
    learner.end_episode()
    assert transitions(learner) == {(1, a, 1): 1.0 for a in range(3)}


MISUSES = {
    "act twice": (lambda x: (x.act(0), x.act(0)), "act.. before observe"),
    "observe before act": (lambda x: x.observe(0.0, 1), "observe.. before act"),
    "observe twice": (lambda x: (x.act(0), x.observe(0.0, 1), x.observe(0.0, 1)), "observe.. before act"),
    "act after the end": (lambda x: (x.act(0), x.observe(0, 1, True), x.act(1)), "act.. after the episode's end"),
    "observe after the end": (lambda x: (x.act(0), x.observe(0, 1, True), x.observe(0, 1)), "after the episode's end"),
    "end too soon": (lambda x: (x.act(0), x.end_episode()), "end_episode.. before observe"),
}


def state_of(learner):
    """All that a learner is, as plain data."""
    arrays = arrays_of(learner)
    settings = repr(settings_of(learner, arrays))
    return [*leaves(learner.memory).values(), *arrays.values()], settings


def assert_same_state(got, want):
    assert got[1] == want[1]
    for x, y in zip(got[0], want[0], strict=True):
        np.testing.assert_array_equal(x, y)


def go_on(learner):
    """Finish this episode and one more, whatever happened."""
    for _ in range(2):
        if learner._waiting:
            learner.observe(0.0, 1)
        while not learner.over:
            learner.act(int(learner._states[learner.step]) - 1 if learner.step else 0)
            learner.observe(0.0, 1)
        learner.end_episode()


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_one_clear_error_and_no_more(misuse):
    wrong, complaint = MISUSES[misuse]
    learner = numbered(kl.KLearning())
    with pytest.raises(RuntimeError, match=complaint):
        wrong(learner)
    go_on(learner)
    assert learner.episodes_done == 2


BAD_STEPS = {
    "nan": ({"reward": float("nan"), "observation": 1}, "reward=nan of step 0 is not finite"),
    "infinite": ({"reward": float("inf"), "observation": 1}, "reward=inf of step 0 is not finite"),
    "no number": ({"reward": "much", "observation": 1}, "reward='much' of step 0 is not a number"),
    "none": ({"reward": None, "observation": 1}, "reward=None of step 0 is not a number"),
    "outside": ({"reward": 0.0, "observation": 4}, "observation=4 is outside"),
    "no observation": ({"reward": 0.0, "observation": None}, "observation=None is outside"),
    "no action": ({"reward": 0.0, "observation": 1, "action": 3}, "action=3 is outside"),
}


@pytest.mark.parametrize("grow_states", [False, True])
@pytest.mark.parametrize("bad", BAD_STEPS)
def test_bad_steps_are_errors_and_change_nothing(bad, grow_states):
    step, complaint = BAD_STEPS[bad]
    learner = numbered(kl.KLearning(), grow_states=grow_states)
    learner.act(0)
    before = state_of(learner)
    with pytest.raises(ValueError, match=complaint):
        learner.observe(**step)
    assert_same_state(state_of(learner), before)
    go_on(learner)


def test_bad_observations_of_act_are_errors_and_change_nothing():
    learner = numbered(kl.KLearning(), grow_states=True)
    before = state_of(learner)
    with pytest.raises(ValueError, match="observation=9 is outside"):
        learner.act(9)
    assert_same_state(state_of(learner), before)
    learner.act(0)
    learner.observe(0.0, 1)
    before = state_of(learner)
    with pytest.raises(ValueError, match=r"observation=2 is not the one that observe.. was given last"):
        learner.act(2)
    assert_same_state(state_of(learner), before)
    go_on(learner)


def test_what_cannot_learn_is_refused():
    with pytest.raises(ValueError, match="has no method 'plan'"):
        numbered(kl.OptimalAgent())
    with pytest.raises(ValueError, match="is a class: give an agent, KLearning"):
        numbered(kl.KLearning)
    with pytest.raises(ValueError, match="horizon=0"):
        numbered(kl.KLearning(), horizon=0)
    with pytest.raises(ValueError, match=r"action space .* at most 1,000,000 can be counted through"):
        kl.Learner(kl.KLearning(), spaces.Discrete(2), spaces.MultiBinary(20), 5)
    with pytest.raises(ValueError, match=r"observation space Box.* is not discrete: bin it"):
        kl.Learner(kl.KLearning(), spaces.Box(0, 1), spaces.Discrete(2), 5)
    with pytest.raises(ValueError, match=r"action space Box.* is not discrete"):
        kl.Learner(kl.KLearning(), spaces.Discrete(2), spaces.Box(0, 1), 5)
    prior = kl.Prior(transitions=kl.Known([np.full((4, 2, 4), 0.25)]), stationary=True)
    with pytest.raises(ValueError, match=r"grow_states=True .* support"):
        kl.Learner(kl.KLearning(), spaces.Discrete(3), spaces.Discrete(2), 5, prior=prior, grow_states=True)


# -- rewards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", [2.0, -0.01])
def test_coins_pay_between_0_and_1(reward):
    learner = numbered(kl.KLearning(), prior=PRIORS["coins"])
    learner.act(0)
    with pytest.raises(ValueError, match=r"outside \[0, 1\], the range of the prior Beta"):
        learner.observe(reward, 1)
    learner.observe(1.0, 1)


def test_a_reward_far_from_the_prior_is_one_warning_a_learner():
    learner = numbered(kl.KLearning())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            learner.act(0)
            learner.observe(50.0, 1)
            learner.act(1)
            learner.observe(-50.0, 1, terminated=True)
            learner.end_episode()
    assert [w.category for w in caught] == [PriorWarning]
    assert "reward=50.0 is more than 6 standard deviations" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert learner.returns == [0.0] * 3


# -- predictions ------------------------------------------------------------------------------------------------------


def walk(learner, env, episodes, seed=0, during=lambda learner, observation: None):
    """A loop of the reader's own; every action and return."""
    actions = []
    for t in range(episodes):
        observation, _ = env.reset(seed=seed + t)
        while not learner.over:
            during(learner, observation)
            actions.append(learner.act(observation))
            during(learner, observation)
            observation, reward, terminated, truncated, _ = env.step(actions[-1])
            learner.observe(float(reward), observation, terminated, truncated)
        learner.end_episode()
        during(learner, observation)
    return actions


@pytest.mark.thin(2)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_predicting_changes_nothing(agent):
    def look(learner, observation):
        for how in ("greedy", "soft"):
            learner.predict(observation, step=learner.step % 10, how=how)

    quiet, asked = (numbered(agent, 4, 2, 10) for _ in range(2))
    assert walk(quiet, corridor(), 15) == walk(asked, corridor(), 15, during=look)
    assert_same_memory(asked.memory, quiet.memory)


def test_greedy_predictions_are_the_best_on_average():
    learner = numbered(kl.KLearning(), 4, 2, 10)
    walk(learner, corridor(slip=0.0), 20)
    assert [learner.predict(s) for s in range(3)] == [1, 1, 1]
    best = kl.KLearning().exploit(learner.memory)
    for s in range(4):
        for l in range(10):
            assert learner.predict(s, step=l) == best[:, 5 * l + s + 1].argmax()


def test_soft_predictions_follow_the_policy():
    """2,000 draws, 5 standard errors of a coin: 6e-7 by chance."""
    learner = numbered(kl.KLearning(0.5), 4, 2, 10)
    walk(learner, corridor(), 5)
    chance = learner.policy[2, 2, 1]
    assert 0.1 < chance < 0.9
    drawn = np.mean([learner.predict(1, step=2, how="soft") for _ in range(2_000)])
    assert abs(drawn - chance) < 5 * np.sqrt(chance * (1 - chance) / 2_000)


@pytest.mark.thin(2)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_soft_predictions_before_learning_try_everything(agent):
    learner = numbered(agent)
    assert {learner.predict(0, how="soft") for _ in range(100)} == {0, 1, 2}  # missed with chance 1e-17


def test_predictions_of_what_was_never_met():
    learner = numbered(kl.KLearning(), grow_states=True)
    assert learner.predict(3) == 0
    assert {learner.predict(3, how="soft") for _ in range(100)} == {0, 1, 2}
    assert learner.observations.count == 0  # asking is not meeting


def test_bad_questions_are_errors():
    learner = numbered(kl.KLearning())
    for step in (6, -1, 1.5):
        with pytest.raises(ValueError, match=f"step={step}"):
            learner.predict(0, step=step)
    with pytest.raises(ValueError, match="how='greedily' is unknown: did you mean 'greedy'"):
        learner.predict(0, how="greedily")
    with pytest.raises(ValueError, match="observation=4 is outside"):
        learner.predict(4)


# -- discovery --------------------------------------------------------------------------------------------------------


class Ring(gymnasium.Env[Any, Any]):
    """``states`` in a ring; one action goes one on, the other two; begins anywhere, pays 1 at state 0."""

    def __init__(self, states=40):
        self.observation_space, self.action_space = spaces.Discrete(states), spaces.Discrete(2)
        self.states = states

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(self.states))
        return self.at, {}

    def step(self, action):
        self.at = (self.at + 1 + action) % self.states
        return self.at, float(self.at == 0), bool(self.np_random.random() < 0.1), False, {}


def learnt(agent, prior, room=2, episodes=25):
    """After forced actions in a ring of 40, the tables beginning with this many states."""
    learner = numbered(agent, 40, 2, 8, prior=prior, grow_states=True)
    learner.starts = np.zeros(room)
    learner.memory = learner.agent.begin(learner.empty_belief())
    learner._fill_policy(0)
    env, rng = Ring(), np.random.default_rng(0)
    widths = set()
    for t in range(episodes):
        observation, _ = env.reset(seed=t)
        while not learner.over:
            learner.act(observation)
            action = int(rng.integers(2))
            observation, reward, terminated, _, _ = env.step(action)
            learner.observe(reward, observation, terminated, action=action)
        learner.end_episode()
        widths.add(len(learner.starts))
    return learner, widths


@pytest.mark.thin(4)
@pytest.mark.parametrize("prior", ["layered", "stationary"])
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_growing_loses_nothing(agent, prior):
    """What is known in tables that grew is what is known in tables that were as wide from the start."""
    grown, widths = learnt(agent, PRIORS[prior])
    assert len(widths) > 5
    wide, same = learnt(agent, PRIORS[prior], len(grown.starts))
    assert same == {len(grown.starts)}
    np.testing.assert_array_equal(grown.starts, wide.starts)
    assert grown.observations.known == wide.observations.known
    if isinstance(agent, kl.UCFH | kl.OptimisticQLearning | kl.OnlineKLearning):
        return  # their intervals, or what they hope of the next state, depend on how many there are at the time
    ours, theirs = (getattr(x.memory, "planning", x.memory) for x in (grown, wide))
    if hasattr(ours, "posterior"):
        p, q = ours.posterior, theirs.posterior
        width = len(grown.starts)
        assert_same_memory(p._replace(model=0), q._replace(model=0))
        for x, y in zip(without_end(p.model, width), without_end(q.model, width), strict=True):
            np.testing.assert_array_equal(x, y)
    else:
        assert_same_memory(ours, theirs)


def episodes_of(rng, count, L, S, A):
    for _ in range(count):
        k = int(rng.integers(1, L))
        states = rng.integers(1, S, size=k + 1) + S * np.arange(k + 1)
        yield Episode(states, rng.integers(A, size=k), rng.uniform(0, 1, k))


@pytest.mark.thin(2)
@pytest.mark.parametrize("prior", ["layered", "stationary"])
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_widened_tables_are_the_old_ones_beside_fresh_ones(agent, prior):
    """Every array, state by state; one that was in two places still is; and planning goes on."""
    L, A, before, after = 5, 3, 4, 9  # L is not a multiple of either
    belief = {n: kl.Belief.empty(PRIORS[prior], [n] * L, A, np.eye(n)[1], 0) for n in (before, after)}
    old, fresh = agent.begin(belief[before]), agent.begin(belief[after])
    streams = Streams(np.random.default_rng(0), np.random.default_rng(1))
    said = np.zeros(len(agent.diagnostics))
    for t, episode in enumerate(episodes_of(np.random.default_rng(2), 20, L, before, A)):
        old = agent.update(agent.plan(old, streams, t, said), episode, t)
    wide = widen(old, agent.begin(belief[after]), before, after)
    _assert_beside(old, fresh, wide, before, after)
    if hasattr(wide, "planning"):
        assert np.shares_memory(wide.policy, wide.planning.policy)
    flags = {"ended": True} if hasattr(wide, "ended") else {"stale": True} if hasattr(wide, "stale") else {}
    wide = agent.plan(wide._replace(**flags), streams, 20, said)
    np.testing.assert_allclose(wide.policy.sum(axis=0), 1.0)


def _assert_beside(old, fresh, wide, before, after, offsets=False):
    if isinstance(old, Model):
        tied, cuts = old.table[-1] == 0, (before, after)
        dense = [dense_block(m.rows, 0, n, 0, n)[None] if tied else np.array(rows_to_layers(m.rows, m.layers))
                 for m, n in zip((old, wide), cuts, strict=True)]  # fmt: skip
        np.testing.assert_array_equal(dense[1][:, :before, :, :before], dense[0])
        assert dense[1].sum() == dense[0].sum()
        old, fresh, wide = (m._replace(rows=0) for m in (old, fresh, wide))
    if role_of(old, "scratch"):
        return
    if isinstance(old, tuple):
        for (field, o), f, w in zip(fields_of(old), fresh, wide, strict=True):
            _assert_beside(o, f, w, before, after, field in role_of(old, "offsets"))
        return
    old, fresh, wide = map(np.asarray, (old, fresh, wide))
    if old.shape == wide.shape:  # not a table
        np.testing.assert_array_equal(wide, fresh if offsets else old)
        return
    o, f, w = (x.reshape(*x.shape[:-1], -1, n) for x, n in ((old, before), (fresh, after), (wide, after)))
    np.testing.assert_array_equal(w[..., :before], o)
    np.testing.assert_array_equal(w[..., before:], f[..., before:])


@pytest.mark.thin(2)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_new_states_are_tried_in_every_way(agent):
    """Right after growing, before the next plan, a state that was never met has a policy, and it is even."""
    learner, _ = learnt(agent, None, episodes=1)
    np.testing.assert_allclose(learner.policy.sum(axis=-1), 1.0)
    np.testing.assert_allclose(learner.policy[0, -1], 0.5)


def ring_walk(learner, states, episodes, first=0):
    """Round a ring, each step to the next state, by actions that are drawn; new states in every episode."""
    rng, place = np.random.default_rng(first), first
    for _ in range(episodes):
        for _ in range(learner.horizon):
            learner.act(place)
            place = (place + 1) % states
            learner.observe(float(place == 0), place, action=int(rng.integers(learner.actions.count)))
        learner.end_episode()


@pytest.mark.thin(2)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_tables_hold_what_was_met_and_no_more(agent):
    """Slots for S·A rows and the transitions seen, though new states were met in nearly every episode."""
    S, A, H = 120, 6, 3
    learner = numbered(agent, S, A, H, grow_states=True, replan_every=8)
    ring_walk(learner, S, 60)
    assert learner.observations.count == S
    for p in posteriors(learner.memory):
        rows = p.model.rows
        assert rows.used <= A * (S + 2) + 4 * rows.length.sum()
        assert rows.succ.size <= 2 * rows.used


@pytest.mark.parametrize("bonus", ["reward", "split"])
def test_only_the_policy_has_a_number_for_every_step(bonus):
    """Where layers share one table, and the bonus is the same in all of them."""
    S, A, H = 9, 3, 50
    learner = numbered(kl.KLearning(bonus=bonus), S, A, H)
    sizes = {name: leaf.size for name, leaf in leaves(learner.memory).items()}
    assert sizes.pop("memory.policy") == A * (S + 1) * H
    assert max(sizes.values()) <= A * (S + 1) * 2


@pytest.mark.parametrize(("bonus", "temperature"), [
    ("reward", "optimal"), ("reward", "schedule"), ("reward", 0.3), ("split", "optimal"),
])  # fmt: skip
def test_a_bonus_in_one_table_is_the_bonus_of_every_layer(bonus, temperature):
    """Bit for bit: the same plan from c as it is held and from c written out for all layers."""
    agent, streams = kl.KLearning(temperature, bonus), Streams(np.random.default_rng(0), np.random.default_rng(0))
    learner = numbered(agent, 7, 3, 6)
    ring_walk(learner, 7, 12)
    tied, said, said_apart = learner.memory, np.zeros(4), np.zeros(4)
    apart = pickle.loads(pickle.dumps(tied))  # nothing in common
    apart = apart._replace(c=np.tile(tied.c, (1, 6)), policy=np.zeros_like(tied.policy))
    agent.plan(tied, streams, 12, said)
    agent.plan(apart, streams, 12, said_apart)
    np.testing.assert_array_equal(said, said_apart)
    np.testing.assert_array_equal(tied.policy, apart.policy)
    episode = Episode(np.array([1, 10, 19]), np.array([0, 1]), np.array([0.5, 0.25]))
    tied, apart = agent.update(tied, episode, 12), agent.update(apart, episode, 12)
    np.testing.assert_array_equal(np.tile(tied.c, (1, 6)), apart.c)


# -- plans as often as asked ------------------------------------------------------------------------------------------


class Counted(kl.PSRL):
    """How often it planned."""

    plans: ClassVar[list[int]] = []

    def plan(self, memory, streams, t, diagnostics):
        self.plans.append(t)
        return super().plan(memory, streams, t, diagnostics)


def test_plans_are_made_as_often_as_asked_and_followed_until_the_next():
    """A state that was met since the last plan has what that plan has for one that was not."""
    Counted.plans.clear()
    learner = numbered(Counted(), 60, 4, 5, grow_states=True, replan_every=4)
    planned, width = None, 0
    for t in range(11):
        if t % 4 == 0:
            learner.act(t)
            planned, width = learner.policy.copy(), len(learner.starts)
            learner.observe(0.0, t + 1)
            learner.end_episode()
        else:
            ring_walk(learner, 60, 1, first=5 * t)
        columns = np.minimum(np.arange(len(learner.starts)), width - 1)
        np.testing.assert_array_equal(learner.policy, planned[:, columns])
        np.testing.assert_array_equal(
            learner.policies(range(60)), planned[:, [min(learner.view.column(o), width - 1) for o in range(60)]]
        )
    assert Counted.plans == [0, 4, 8]
    assert learner.episodes_done == 11
    assert np.where(np.isinf(learner.belief.visits), 0.0, learner.belief.visits).sum() == 3 + 8 * 5


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.PSRL(), kl.UCRL2(), kl.QLearning()], ids=str)
def test_few_plans_are_saved_resumed_sent_and_interrupted_bit_for_bit(agent, tmp_path):
    env, path = gymnasium.make("FrozenLake-v1", max_episode_steps=20), tmp_path / "x.npz"
    whole = kl.learn(agent, env, episodes=17, horizon=20, settings=kl.LearnSettings(replan_every=5))
    part = kl.learn(agent, env, episodes=8, horizon=20, settings=kl.LearnSettings(replan_every=5))
    observation, _ = env.reset(seed=1)
    part.act(observation)
    part.abandon_episode()
    part.save(path)
    for again in (part, pickle.loads(pickle.dumps(part)), kl.load(path)):
        assert again.replan_every == 5
        kl.learn(again, env, episodes=9)
        assert again.returns == whole.returns
        assert_same_memory(again.memory, whole.memory)
        assert again.observations.known == whole.observations.known


def test_a_file_from_before_plans_could_be_few_plans_for_every_episode():
    path = next(iter(sorted(Path("tests/corpus").glob("learner_*.npz"))))
    assert kl.load(path).replan_every == 1


def test_how_often_to_plan_is_a_whole_number_and_the_learners():
    env = gymnasium.make("FrozenLake-v1")
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(ValueError, match=f"replan_every={wrong!r} is "):
            kl.learn(kl.KLearning(), env, episodes=1, settings=kl.LearnSettings(replan_every=wrong))
    learner = kl.learn(kl.Random(), env, episodes=1)
    with pytest.raises(ValueError, match=r"replan_every=2 belongs to the learner"):
        kl.learn(learner, env, episodes=1, settings=kl.LearnSettings(replan_every=2))


@pytest.mark.parametrize("grow_states", [False, True])
def test_frozen_lake_is_learnt_whether_or_not_its_states_are_known(grow_states):
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    learner = kl.Learner(kl.KLearning(), env.observation_space, env.action_space, 100, grow_states=grow_states)
    kl.learn(learner, env, episodes=150)
    assert learner.observations.count == 16 if not grow_states else 6 < learner.observations.count <= 16
    observation, _ = env.reset(seed=0)
    for step in range(6):
        observation, reward, *_ = env.step(learner.predict(observation, step=step))
    assert reward == 1.0


@pytest.mark.thin(2)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_states_met_in_this_episode_have_the_policy_of_such(agent):
    """All that were never met share one column, so that `by_point` is what is followed."""
    learner = numbered(agent, 9, 3, 6, grow_states=True)
    go_on(learner)
    learner.act(0)
    policy, width = learner.policy, len(learner.starts)
    points = learner.by_point(policy)
    np.testing.assert_array_equal(learner.by_point(learner.memory.policy), points.reshape(60, 3).T)
    np.testing.assert_array_equal(learner.policies(range(9)), points[:, 1:])
    with pytest.raises(ValueError, match=r"policy has shape \(6, 3\): give learner.policy, "):
        learner.by_point(policy[:, 0])
    np.testing.assert_array_equal(points[:, 1:3], policy[:, 1:3])  # these were met
    for step in range(1, 6):
        new = step + 2
        np.testing.assert_array_equal(points[step, new + 1], policy[step, width - 1])
        learner.observe(0.0, new)
        u = learner._uniforms[step]
        cumulated = np.cumsum(policy[step, width - 1])
        assert learner.act(new) == min(int((cumulated <= u).sum()), 2)


def test_large_spaces_are_discovered():
    space = spaces.MultiDiscrete([1000, 1000])
    learner = kl.Learner(kl.KLearning(), space, spaces.Discrete(2), 3)
    for k in range(40):
        learner.act(np.array([k, 7]))
        learner.observe(0.0, np.array([k, 8]))
        learner.end_episode()
    assert learner.observations.count == 80
    assert len(learner.starts) == 82
    assert learner.starts.sum() == 40.0


# -- determinism ------------------------------------------------------------------------------------------------------


@modest
@given(seed=st.integers(0, 2**32 - 1))
def test_the_same_seed_gives_the_same_actions(seed):
    one, two = (numbered(kl.PSRL(), 4, 2, 10, seed=seed) for _ in range(2))
    assert walk(one, corridor(), 3) == walk(two, corridor(), 3)


def test_what_is_believed_can_be_looked_at():
    learner = kl.learn(kl.KLearning(), kl.WorldEnv(kl.river_swim(horizon=8)), episodes=5)
    belief, model_free = learner.belief, kl.learn(kl.QLearning(), kl.WorldEnv(kl.river_swim(horizon=8)), episodes=1)
    assert belief.visits[np.isfinite(belief.visits)].sum() == 5 * 8
    assert belief.initial[1] == 1.0  # all episodes began in the state met first
    assert kl.solve(belief).proved is False
    with pytest.raises(ValueError, match="holds no belief"):
        _ = model_free.belief


# -- ever new states --------------------------------------------------------------------------------------------------

EPISODIC = [kl.QLearning(), kl.SoftQLearning(), kl.Random()]  # agents whose tables may have room to spare


class Exact(kl.Learner):
    """A learner whose tables are never wider than they need be, as those of agents that plan."""

    @property
    def _roomy(self):
        return False

    @_roomy.setter
    def _roomy(self, roomy):
        pass


def wander(learner, episodes, first=0, masks=False):
    """Episodes of mostly new states, some of them met again; actions that were taken."""
    rng, new, taken = np.random.default_rng(first), first, []
    for _ in range(episodes):
        state = int(rng.integers(new + 1))
        for _ in range(learner.horizon):
            mask = [1, int(state % 3 > 0), 1] if masks else None
            taken.append(learner.act(state, mask))
            new += 1
            state = new if rng.random() < 0.7 else int(rng.integers(new))
            learner.observe(float(rng.normal()), state, terminated=bool(rng.random() < 0.1))
            if learner.over:
                break
        learner.end_episode()
    return taken


@pytest.mark.thin(5)
@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("settings", [{}, {"prior": kl.Prior()}, {"decay": 0.9}, {"replan_every": 3}], ids=str)
@pytest.mark.parametrize("agent", EPISODIC, ids=str)
def test_room_to_spare_changes_nothing(agent, settings, masks, tmp_path):
    """Bytes are those of a learner without it: after some episodes, saved between, looked at, or given up."""
    if "decay" in settings and isinstance(agent, kl.Random):
        pytest.skip("it has nothing to forget")
    both = [
        cls(agent, spaces.Discrete(10**6), spaces.Discrete(3), 6, seed=5, **settings) for cls in (kl.Learner, Exact)
    ]
    taken = [wander(learner, 40, masks=masks) for learner in both]
    assert taken[0] == taken[1]
    if not settings:
        assert both[0]._width > len(both[0].starts)
    for learner in both:
        learner.act(10**5)
        learner.observe(1.0, 10**5 + 1)
        learner.abandon_episode()
    again = [wander(learner, 5, 10**5, masks) for learner in both]
    assert again[0] == again[1]
    for learner, name in zip(both, "ab"):
        learner.act(3, [1, 0, 1] if masks else None)
        learner.observe(1.0, 999_999)
        learner.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    others = (both[0], kl.load(tmp_path / "a"))
    for x in (*others, both[1]):
        x.end_episode()
        wander(x, 10, 2 * 10**5, masks)
    for x in others:
        np.testing.assert_array_equal(x.policy, both[1].policy)
        assert x.predict(17) == both[1].predict(17)
        assert_same_state(state_of(x), state_of(both[1]))


def test_a_child_of_ours_has_no_room_to_spare():
    """It may look at all of its tables."""

    class Counts(kl.QLearning):
        pass

    learner = kl.Learner(Counts(), spaces.Discrete(10**6), spaces.Discrete(3), 6)
    wander(learner, 20)
    assert learner._width == len(learner.starts) == learner._memory.policy.shape[1] // 6


@pytest.mark.slow
def test_new_states_take_as_long_at_the_end_as_at_first():
    learner = kl.Learner(kl.QLearning(), spaces.Discrete(10**7), spaces.Discrete(2), 10)
    times = []
    for part in range(5):
        began = time.process_time()
        for k in range(0, 20_000, 10):
            state = 20_000 * part + k
            for step in range(10):
                learner.act(state + step)
                learner.observe(0.0, state + step + 1)
            learner.end_episode()
        times.append(time.process_time() - began)
    assert learner.observations.count == 100_001
    assert max(times[2:]) < 3.0 * min(times[1:])  # 11.7 s for 2.6 before
