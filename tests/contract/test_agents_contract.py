"""What every agent promises, on small worlds of every shape."""

import inspect
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numba
import numpy as np
import pytest

import klearning as kl
from klearning.numerics.sparse.rows import copy_rows
from klearning.tabular.agents import AGENTS
from klearning.tabular.agents.fixed_optimism import FixedOptimism
from klearning.tabular.optimism.bonuses import BONUSES
from klearning.tabular.optimism.vapor.cone import solve_vapor_cone
from klearning.tabular.optimism.vapor.variances import VARIANCES
from klearning.tabular.trials.contract import BrokenContract
from klearning.tabular.trials.trial import new_task
from tests.support import agent_oracles as slow
from tests.support import oracles
from tests.support.agents import AS_PUBLISHED, BANDITS, SETTINGS

GAUSSIAN, COINS = kl.Prior(), kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
WORLDS = {
    "one state": (kl.bandit([0.1, 0.9], noise=0.1), GAUSSIAN),
    "one action": (kl.MDP.from_layers([[[0.5]], [[1.0]]], [[[[1.0]]]], [1.0], noise=0.1), GAUSSIAN),
    "one of each": (kl.bandit([0.4], noise=0.1), GAUSSIAN),
    "one layer": (kl.MDP.from_layers([[[0.1, 0.4], [0.3, 0.0]]], [], [0.5, 0.5], noise=0.1), GAUSSIAN),
    "ragged": (kl.random_mdp([2, 4, 1, 3], actions=3, seed=1), GAUSSIAN),
    "stochastic": (kl.river_swim(horizon=8), GAUSSIAN),
    "deterministic": (kl.deep_sea(5), GAUSSIAN),
    "coin flips": (kl.random_mdp([2, 3, 2], actions=2, prior=COINS, seed=2), COINS),
}
CHUNKS = [1, 2, 7, 30]
EPISODES = sum(CHUNKS)


def advance(agent, world, prior, chunks, seed=0):
    """The log and the memory after these chunks, and after each chunk its policy is looked at."""
    memory, task, done = agent.begin(slow.belief(world, prior)), new_task(agent, world, sum(chunks), seed), 0
    for count in chunks:
        memory, done = agent.advance(memory, task, done, count), done + count
        assert memory.policy.shape == (world.actions, world.states)
        assert (memory.policy >= 0).all()
        np.testing.assert_allclose(memory.policy.sum(axis=0), 1.0, rtol=1e-12)
    return task.log, memory


def arrays(memory):
    """Every array of a record of records."""
    if isinstance(memory, np.ndarray):
        yield memory
    elif isinstance(memory, tuple):
        for part in memory:
            yield from arrays(part)


def assert_same_bytes(got, want):
    for x, y in zip(arrays(got), arrays(want), strict=True):
        np.testing.assert_array_equal(x, y)


PLACES = [(agent, name) for agent in SETTINGS for name in WORLDS]
PLACES += [(agent, name) for agent in BANDITS for name, (world, _) in WORLDS.items() if world.horizon == 1]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("agent", "world"), PLACES, ids=str)
def test_contract(agent, world):
    """Policies are distributions, regret is not negative, all is finite, chunks do not matter."""
    world, prior = WORLDS[world]
    log, memory = advance(agent, world, prior, CHUNKS)
    best = kl.optimal(world).value
    assert (best - log.values >= -1e-9).all()
    for x in arrays((log[:-1], memory.policy)):
        assert np.isfinite(x).all()
    assert not np.isnan(log.diagnostics).any()  # τ is infinite if there is but one action
    values = agent.values(memory)
    assert values.shape == (world.states,)
    assert np.isfinite(values).all()
    assert log.visits.sum() == EPISODES * world.horizon

    again, same = advance(agent, world, prior, [EPISODES])
    assert_same_bytes(again, log)
    assert_same_bytes(same.policy, memory.policy)


@pytest.mark.thin(4)
@pytest.mark.parametrize("agent", SETTINGS, ids=str)
def test_same_bytes_whatever_the_threads_and_the_company(agent):
    world, prior = WORLDS["coin flips"]
    together = kl.run(agent, world, prior=prior, episodes=60, seeds=4, threads=3)
    alone = kl.run(agent, world, prior=prior, episodes=60, seeds=4, threads=1)
    one = kl.run(agent, world, prior=prior, episodes=60, seeds=[2])
    for name in ("values", "returns", "visits", "regret"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))
        np.testing.assert_array_equal(getattr(together, name)[2], getattr(one, name)[0])
    for name in agent.diagnostics:
        np.testing.assert_array_equal(together.diagnostics[name], alone.diagnostics[name])
    assert not np.array_equal(together.returns[0], together.returns[1])


@pytest.mark.thin(2)
@pytest.mark.parametrize("agent", SETTINGS, ids=str)
def test_beginning_and_learning_leave_the_belief_alone(agent):
    """Also one that has seen things, and two memories of one belief share nothing that is written to."""
    world, prior = WORLDS["coin flips"]
    belief = slow.belief(world, prior).update([0, 2, 5], [0, 1, 1], [1.0, 0.0, 1.0])
    kept = [belief.visits.copy(), belief.reward_sums.copy(), *copy_rows(belief.transitions.rows)[:-1]]
    logs = []
    for _ in range(2):
        memory, other = agent.begin(belief), agent.begin(belief)
        untouched = [x.copy() for x in arrays(other)]
        task = new_task(agent, world, 40, 0)
        agent.advance(memory, task, 0, 40)
        logs.append(task.log)
        assert_same_bytes(tuple(arrays(other)), tuple(untouched))
    assert_same_bytes(logs[0], logs[1])
    now = [belief.visits, belief.reward_sums, *belief.transitions.rows[:-1]]
    assert_same_bytes(tuple(now), tuple(kept))


@pytest.mark.parametrize("agent", SETTINGS, ids=str)
def test_one_compilation_serves_all_worlds(agent):
    """An array with its axes in another order, say, would be compiled again, and read across the grain."""

    def types(world, prior):
        task = new_task(agent, world, 5, 0)
        return numba.typeof((agent.begin(slow.belief(world, prior)), task.world, task.log, task.episode))

    assert len({types(world, prior) for world, prior in WORLDS.values()}) == 1


@pytest.mark.parametrize("agent", SETTINGS, ids=str)
def test_values_are_handed_out_not_shared(agent):
    world, prior = WORLDS["coin flips"]
    _, memory = advance(agent, world, prior, [20])
    before = agent.values(memory)
    agent.values(memory)[:] = np.nan
    np.testing.assert_array_equal(agent.values(memory), before)


# -- the same contract, as it is offered to readers -------------------------------------------------------------------


@pytest.mark.thin(6)
@pytest.mark.parametrize("agent", AS_PUBLISHED, ids=str)
def test_check_agent_passes_them(agent):
    kl.check_agent(agent, episodes=10)


@pytest.mark.parametrize("agent", BANDITS, ids=str)
def test_an_agent_for_one_step_says_so(agent):
    with pytest.raises(ValueError, match=r"^belief has horizon=5: .* use VAPOR"):
        kl.run(agent, kl.deep_sea(5), episodes=1)
    kl.check_agent(Reaching(), episodes=2)  # which would fail in worlds of two steps


class Reaching(kl.PSRL):
    """Says how far it can go, and goes no further."""

    longest_horizon = 1

    def begin(self, belief):
        assert belief.horizon == 1
        return super().begin(belief)


class Broken(kl.PSRL):
    """Keeps its word but for what a subclass spoils."""

    def advance(self, memory, task, first, count):
        return self.spoil(super().advance(memory, task, first, count))


class Unnormalised(Broken):
    def spoil(self, memory):
        memory.policy[:] = 0.7
        return memory


class Negative(Broken):
    def spoil(self, memory):
        memory.policy[0], memory.policy[1:] = 1.5, -0.5 / max(1, len(memory.policy) - 1)
        return memory


class Turned(Broken):
    def spoil(self, memory):
        return memory._replace(policy=np.zeros((1, 7)))


class Chunky(kl.PSRL):
    """Draws an extra number a chunk."""

    def advance(self, memory, task, first, count):
        task.world_stream.random()
        return super().advance(memory, task, first, count)


class Meddling(kl.PSRL):
    def begin(self, belief):
        belief.visits[:] += 1.0
        return super().begin(belief)


class Impossible(kl.PSRL):
    """Logs values above the optimum."""

    def advance(self, memory, task, first, count):
        memory = super().advance(memory, task, first, count)
        task.log.values[first : first + count] += 100.0
        return memory


class Infinite(kl.PSRL):
    def advance(self, memory, task, first, count):
        memory = super().advance(memory, task, first, count)
        task.log.values[first : first + count] = -np.inf
        return memory


class Shapeless(kl.PSRL):
    def exploit(self, memory):
        return np.zeros((2, 3))


class Undecided(kl.PSRL):
    def exploit(self, memory):
        return np.zeros_like(memory.policy)


class Brief(kl.PSRL):
    def values(self, memory):
        return super().values(memory)[1:]


class Boundless(kl.PSRL):
    def values(self, memory):
        return super().values(memory) + np.inf


class Mute(kl.KLearning):
    """Has its diagnostics from nowhere."""

    def advance(self, memory, task, first, count):
        memory = super().advance(memory, task, first, count)
        task.log.diagnostics[:] = np.nan
        return memory


class Talkative(kl.PSRL):
    """Has two things to say, and names one."""

    diagnostics = ("value",)

    def plan(self, memory, streams, t, diagnostics):
        diagnostics[:] = 1.0, 2.0
        return super().plan(memory, streams, t, diagnostics)


class TwoMinds(kl.BEB):
    def plan(self, memory, streams, t, diagnostics):
        return kl.PSRL().plan(memory, streams, t, diagnostics)


class TwoTongues(kl.KLearning):
    def plan(self, memory, streams, t, diagnostics):
        memory = super().plan(memory, streams, t, diagnostics)
        diagnostics[:] = 0.0
        return memory


class Thorough(kl.PSRL):
    """Relies on every episode being whole."""

    def update(self, memory, episode, t):
        episode.rewards[len(memory.posterior.model.layers) - 2]
        return super().update(memory, episode, t)


class Deaf(kl.PSRL):
    def set_start(self, memory, initial):
        pass


class BeliefMemory(NamedTuple):
    belief: kl.Belief
    policy: Any


class Unsaved(kl.Agent[BeliefMemory]):
    """What it knows cannot be written to a file."""

    def begin(self, belief):
        return BeliefMemory(belief, np.full((belief.actions, belief.states), 1.0 / belief.actions))


class CountMemory(NamedTuple):
    count: Any
    policy: Any


class Shifting(kl.Agent[CountMemory]):
    """Its memory takes another form on the way."""

    def begin(self, belief):
        return CountMemory(np.zeros(1, np.float32), np.full((belief.actions, belief.states), 1.0 / belief.actions))

    def update(self, memory, episode, t):
        return memory._replace(count=memory.count + np.ones(1))


class Absent(kl.Agent[CountMemory]):
    """Remembers where no file can see it, and is another after a pause."""

    def begin(self, belief):
        self.known = np.zeros(1)
        return CountMemory(self.known, np.full((belief.actions, belief.states), 1.0 / belief.actions))

    def plan(self, memory, streams, t, diagnostics):
        memory.policy[:] = 0.0
        memory.policy[t % len(memory.policy) if memory.count is self.known else 0] = 1.0
        return memory


class Undiscounted(kl.PSRL):
    def begin(self, belief):
        return super().begin(replace(belief, discount=1.0))


class Reckless(kl.PSRL):
    def forbid(self, memory, states, forbidden):
        return memory


class Grudging(kl.PSRL):
    """Never allows again what was forbidden."""

    def forbid(self, memory, states, forbidden):
        return super().forbid(memory, states, forbidden) if forbidden.any() else memory


class Retentive(kl.PSRL):
    def forget(self, memory, factor):
        return memory


class StaleOptimism(FixedOptimism):
    def refreshed(self, memory):
        return memory


class Stale(kl.KLearning):
    """Keeps the bonus that it had before it forgot."""

    @property
    def algorithm(self):
        return StaleOptimism(self.temperature, self.bonus, self.tolerance, self.optimism)


class Unbounded(kl.QLearning):
    def forget(self, memory, factor):
        memory.Q[:] = np.inf
        return memory


class Forgetful:
    """Plans, but cannot learn."""

    diagnostics, begin, advance, values = (), kl.PSRL.begin, kl.PSRL.advance, kl.PSRL.values
    plan, exploit = kl.PSRL.plan, kl.PSRL.exploit


@pytest.mark.parametrize(
    ("agent", "complaint"),
    [
        (Unnormalised(), "policy does not sum to one"),
        (Negative(), "policy has negative probabilities"),
        (Turned(), "policy has shape"),
        (Chunky(), "chunks"),
        (Meddling(), "changed the belief"),
        (Impossible(), "regret of an episode is negative"),
        (Infinite(), "not finite"),
        (Shapeless(), r"exploit has shape \(2, 3\)"),
        (Undecided(), "exploit does not sum to one"),
        (Brief(), "values has shape"),
        (Boundless(), "values are not finite"),
        (Mute(), "diagnostics .* are not all numbers"),
        (Talkative(), "ValueError: could not broadcast"),
        (TwoMinds(), "`advance` is not plan, play and update"),
        (TwoTongues(), "same diagnostics"),
        (Thorough(), "IndexError"),
        (Deaf(), "set_start"),
        (Unsaved(), "memory.belief"),
        (Shifting(), "memory.count is float64"),
        (Absent(), "pauses"),
        (Undiscounted(), "the discount of its belief is lost"),
        (Reckless(), "after `forbid` takes what is not allowed"),
        (Grudging(), "`forbid` does not allow again"),
        (Retentive(), "`forget` leaves its posterior's visits"),
        (Stale(), "its plan after `forget` follows from its old posterior"),
        (Unbounded(), "values after `forget` are not finite"),
    ],
    ids=lambda x: "" if isinstance(x, str) else type(x).__name__,
)
def test_check_agent_finds_the_broken_ones(agent, complaint):
    with pytest.raises(BrokenContract, match=f"in the world '.*': .*{complaint}"):
        kl.check_agent(agent, episodes=10)


def test_check_agent_names_the_method_that_is_missing():
    with pytest.raises(ValueError, match="has no method 'update': it cannot learn step by step"):
        kl.check_agent(Forgetful())


# -- where theory says that regret stops growing ----------------------------------------------------------------------

ARMS = kl.bandit([0.2, 0.8, 0.5], "bernoulli")
THREE_LAYERS = kl.MDP.from_layers(
    [[[0.1, 0.0]], [[0.0, 0.1], [0.2, 0.0]], [[0.9, 0.1], [0.1, 0.4]]],
    [[[[0.1, 0.9], [0.9, 0.1]]], [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.3, 0.7]]]],
    [1.0],
    "bernoulli",
    name="three layers",
)
LEARNERS = [  # for the arms, for the three layers: bonuses small enough to fade in time, large enough to find the best
    (kl.KLearning(), kl.KLearning()),
    (kl.KLearning(bonus="sharp"), kl.KLearning(bonus="sharp")),
    (kl.KLearning(bonus="split"), kl.KLearning(bonus="split")),
    (kl.PSRL(), kl.PSRL()),
    (kl.VBOS(), None),
    (kl.RLSVI(), kl.RLSVI()),
    (kl.UCBVI("hoeffding", 0.03), kl.UCBVI("hoeffding", 0.005)),
    (kl.UCBVI("bernstein", 0.04), kl.UCBVI("bernstein", 0.03)),
    (kl.UCRL2(0.15), kl.UCRL2(0.1)),
    (kl.UCFH(0.4, least_visits=1), kl.UCFH(0.3, least_visits=1)),
    (kl.BEB(), kl.BEB()),
    (kl.BOLT(imagined_reward=1), kl.BOLT(imagined_reward=1)),
    (kl.OptimisticQLearning("hoeffding", 0.8), kl.OptimisticQLearning("hoeffding", 0.05)),
    (kl.OptimisticQLearning("bernstein", 1.0), kl.OptimisticQLearning("bernstein", 0.1)),
    (kl.OnlineKLearning(), kl.OnlineKLearning()),
]


def late(agent, world, episodes, seeds=4):
    """Mean value of the policies of the last tenth, a number a seed."""
    runs = kl.run(agent, world, prior=COINS, episodes=episodes, seeds=seeds, threads=1)
    return runs.optimal_value, runs.values[:, -episodes // 10 :].mean(axis=1)


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    ("agent", "world"),
    [
        pytest.param(agent, world, marks=pytest.mark.slow if getattr(agent, "bonus", "") in ("sharp", "split") else ())
        for arms, layers in LEARNERS
        for agent, world in ((arms, ARMS), (layers, THREE_LAYERS))
        if agent is not None
    ],
    ids=lambda x: x.name if isinstance(x, kl.MDP) else str(x),
)
def test_regret_stops_growing(agent, world):
    """The last tenth of 20 000 episodes loses under a twentieth of what a random policy does."""
    best, values = late(agent, world, 20_000)
    random = kl.evaluate(world, np.full((world.states, world.actions), 1 / world.actions)).value
    assert (best - values < 0.05 * (best - random)).all()


@pytest.mark.parametrize("world", [ARMS, THREE_LAYERS], ids=lambda w: w.name)
def test_k_learning_by_the_schedule_improves_with_time(world):
    """τ_t falls as √(log t / t): regret does too, slowly."""
    best, few = late(kl.KLearning("schedule"), world, 400)
    _, many = late(kl.KLearning("schedule"), world, 40_000)
    assert (best - many < 0.5 * (best - few)).all()


@pytest.mark.parametrize("world", [ARMS, THREE_LAYERS], ids=lambda w: w.name)
def test_q_learning_ends_with_an_optimal_policy_but_for_its_dithering(world):
    _, values = late(kl.QLearning(0.2), world, 20_000)
    greedy = np.concatenate(kl.optimal(world).policy)
    dithering = kl.evaluate(world, 0.8 * greedy + 0.2 / world.actions).value
    np.testing.assert_allclose(values, dithering, atol=0.01)


@pytest.mark.parametrize("form", ["td", "model"])
@pytest.mark.parametrize("world", [ARMS, THREE_LAYERS], ids=lambda w: w.name)
def test_soft_q_learning_ends_with_the_boltzmann_policy_of_the_truth(world, form):
    _, values = late(kl.SoftQLearning(0.2, form), world, 20_000)
    no_bonus = [np.zeros_like(r) for r in world.rewards]
    policy = oracles.k_values(world.rewards, no_bonus, world.transitions, 0.2)[2]
    np.testing.assert_allclose(values, kl.evaluate(world, policy).value, atol=0.01)


@pytest.mark.parametrize("world", WORLDS)
def test_baselines(world):
    """Random loses the same in every episode, OptimalAgent nothing in any."""
    world, prior = WORLDS[world]
    even = np.full((world.states, world.actions), 1 / world.actions)
    random, optimal = (
        kl.run(agent, world, prior=prior, episodes=20, seeds=2) for agent in (kl.Random(), kl.OptimalAgent())
    )
    np.testing.assert_allclose(random.values, kl.evaluate(world, even).value, atol=1e-12)
    np.testing.assert_allclose(optimal.regret, 0.0, atol=1e-12)


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.thin(5)
@pytest.mark.parametrize("agent", SETTINGS, ids=str)
def test_memory_is_in_proportion_to_states_and_actions(agent):
    """DeepSea of depth 100: S·A = 10 100, and a table of all (S_l, A, S_{l+1}) would be 680 000 numbers."""
    world = kl.deep_sea(100, slip=0.01)
    memory, task = agent.begin(slow.belief(world)), new_task(agent, world, 5, 0)
    memory = agent.advance(memory, task, 0, 5)
    distinct = {id(x): x.size for x in arrays(memory)}
    size = world.states * world.actions
    assert max(distinct.values()) <= 4 * size
    assert sum(distinct.values()) <= 35 * size


# -- constructors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AS_PUBLISHED, ids=str)
def test_agents_are_frozen_records(agent):
    cls = type(agent)
    assert AGENTS[cls.__name__] is cls
    assert agent == cls()
    assert hash(agent) == hash(cls())
    assert cls.__doc__
    assert cls.paper
    with pytest.raises(FrozenInstanceError):
        setattr(agent, fields(agent)[0].name if fields(agent) else "scale", 2.0)


def literals(hint):
    """The words that an annotation lists."""
    parts = [hint] if get_origin(hint) is Literal else get_args(hint)
    return {word for part in parts if get_origin(part) is Literal for word in get_args(part)}


@pytest.mark.parametrize("cls", AGENTS.values())
def test_choices_are_in_the_signature(cls):
    """What a setting may be is annotated as a Literal, so that editors list it, and no choice is missing."""
    hints = get_type_hints(cls)
    listed = {field.name for field in fields(cls) if literals(hints[field.name])}
    assert listed == set(getattr(cls, "choices", {}))
    for setting, choices in getattr(cls, "choices", {}).items():
        assert literals(hints[setting]) == set(choices), setting


@pytest.mark.parametrize(
    ("solve", "names"),
    [(kl.solve, BONUSES), (kl.solve_vapor, VARIANCES), (solve_vapor_cone, VARIANCES),
     (kl.solve_cone, [name for name, bonus in BONUSES.items() if not bonus.prices])],
)  # fmt: skip
def test_bonuses_are_in_the_signature(solve, names):
    assert literals(get_type_hints(inspect.unwrap(solve))["bonus"]) == set(names)


@pytest.mark.parametrize("cls", AGENTS.values())
def test_unknown_names_are_type_errors(cls):
    with pytest.raises(TypeError, match="epsylon"):
        cls(epsylon=0.1)


NOT_POSITIVE, NEGATIVE = (0.0, -1.0, np.nan, np.inf, "big", None), (-0.1, np.nan, np.inf, "big", None)
DELTA, EPISODES_TOTAL = (0.0, 1.5, -1.0, np.nan, "small"), (0, -3, 2.5, True, "many")
STEP = (0.0, -1.0, 1.5, np.nan, "rising", None)
WRONG: dict[str, tuple[Any, ...]] = {  # by field, whatever the agent
    "accuracy": DELTA,
    "bonus": ("chernoff", 1, None),
    "concentration": (1e-4, 1e4, *NOT_POSITIVE),
    "delta": DELTA,
    "discount": (-0.1, 1.1, np.nan, "none"),
    "episodes": EPISODES_TOTAL,
    "epsilon": (-0.1, 1.1, np.nan, "often"),
    "form": ("soft", None),
    "imagined_reward": (np.nan, np.inf, "one"),
    "least_visits": (0.5, 0, -1, np.nan, "few"),
    "noise": NOT_POSITIVE[:-1],
    "optimism": (0.0, 1.1, np.nan, "calm", None),
    "order": ("sideways", 1, None),
    "patience": NEGATIVE,
    "rate": (0.0, 1.1, np.nan, "slow", None),
    "replay": (-1, 2.5, True, "all"),
    "scale": NEGATIVE,
    "sd": NOT_POSITIVE,
    "sharpness": (0.5, np.nan, np.inf, "blunt", None),
    "step": STEP,
    "temperature": NOT_POSITIVE,
    "tolerance": (0.0, 2.0, "low"),
    "window": EPISODES_TOTAL,
}


@pytest.mark.parametrize(
    ("cls", "field", "value"),
    [(cls, f.name, value) for cls in AGENTS.values() for f in fields(cls) for value in WRONG.get(f.name, (None,))],
)
def test_wrong_values_are_named(cls, field, value):
    assert field in WRONG, "say which values of it are wrong"
    with pytest.raises(ValueError, match=f"^{field}="):
        cls(**{field: value})


def test_bolt_imagines_at_least_something():
    with pytest.raises(ValueError, match=r"^scale="):
        kl.BOLT(0.0)


def test_rlsvi_asks_for_noise_where_the_prior_has_none():
    belief = slow.belief(kl.bandit([0.1, 0.2]), kl.Prior(kl.Gaussian(noise=0.0)))
    with pytest.raises(ValueError, match=r"noise.*RLSVI\(noise="):
        kl.RLSVI().begin(belief)
    kl.RLSVI(noise=0.1).begin(belief)
