"""Online K-learning against a slow and obvious version, its limits, and the temperature that its rule ends at."""

import numpy as np
import pytest

import klearning as kl
from klearning.extension import Episode
from klearning.numerics.records.fields import leaves
from klearning.numerics.records.validation import restore_memory
from klearning.tabular.agents import online_k_learning as online
from klearning.tabular.agents.replay import CAPACITY, empty_replay, fading, keep, pick
from tests.support import agent_oracles as slow
from tests.support import oracles

LOUD = kl.Prior(kl.Gaussian(0.0, 0.7, 0.4), kl.Dirichlet(0.6))
AGENTS = [
    kl.OnlineKLearning(),
    kl.OnlineKLearning("forward", 0, 1.0),
    kl.OnlineKLearning("forward", 3, 0.5, sharpness=1.0),
    kl.OnlineKLearning("backward", 2, 1.0, 0.3, sharpness=2.0),
]
WORLDS = {
    "ragged": lambda: kl.random_mdp([2, 4, 1, 3], actions=3, prior=LOUD, seed=1),
    "slippery": lambda: kl.deep_sea(4, slip=0.3),
    "one layer": lambda: kl.random_mdp([3], actions=4, prior=LOUD, seed=3),
}


def replica(agent, world, prior, **more):
    noise, sd = prior.reward.noise, prior.reward.sd
    return slow.OnlineK(agent, world.layers, world.actions, noise, sd, prior.transitions.mass, **more)


def assert_close(memory, plain, policy):
    np.testing.assert_allclose(memory.policy, policy, rtol=1e-8, atol=1e-10)
    assert memory.tau == pytest.approx(plain.tau, rel=1e-9)
    for (l, place, a), y in plain.Y.items():
        assert memory.Y[a, memory.layers[l] + place] == pytest.approx(y, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("agent", AGENTS, ids=str)
@pytest.mark.parametrize("world", WORLDS)
def test_as_it_is_run(world, agent):
    """The whole way from the constructor, on episodes of the agent's own making."""
    world = WORLDS[world]()
    plain = replica(agent, world, LOUD)
    for _, memory, _, episode in slow.follow(agent, world, LOUD, episodes=25):
        policy = plain.plan()
        plain.learn(episode, [pick(memory.replay, i) for i in range(agent.replay)])
        assert_close(memory, plain, policy)


@pytest.mark.parametrize("agent", AGENTS, ids=str)
def test_one_model_for_all_steps(agent):
    """With a discount, an end, and episodes that are cut short: made by hand, by an arbitrary policy."""
    rng, width, L, A = np.random.default_rng(0), 4, 5, 2
    prior = kl.Prior(LOUD.reward, LOUD.transitions, stationary=True)
    memory = agent.begin(kl.Belief.empty(prior, [width] * L, A, np.eye(width)[1], 0, discount=0.8))
    plain = slow.OnlineK(agent, width * np.arange(L + 1), A, 0.4, 0.7, 0.6, tied=True, discount=0.8, end=0)
    for t in range(25):
        policy, k = plain.plan(), int(rng.integers(1, L + 1))
        memory = agent.plan(memory, None, t, np.zeros(1))
        places = rng.integers(1, width, k + 1)
        places[-1] *= rng.integers(2)  # the end, or not
        seen = k + int(rng.integers(2)) if places[-1] else k + 1
        numbers = (places + width * np.arange(k + 1))[:seen]
        episode = Episode(numbers, rng.integers(A, size=k), rng.uniform(size=k))
        memory = agent.update(memory, episode, t)
        plain.learn(episode, [pick(memory.replay, i) for i in range(agent.replay)])
        assert_close(memory, plain, policy)


# -- limits -----------------------------------------------------------------------------------------------------------

WORLD = kl.random_mdp([2, 3, 3], actions=2, prior=kl.Prior(kl.Beta(), kl.Dirichlet(2.0)), seed=5)


def played_evenly(agent, world, episodes, prior=None, seed=0):
    """The memory after episodes of a uniform policy, so that every pair is met very often."""
    rng, memory = np.random.default_rng(seed), agent.begin(slow.belief(world, prior))
    P, first = world.transitions, world.layers
    for t in range(episodes):
        s, states, actions, rewards = int(rng.choice(world.widths[0], p=world.initial)), [], [], []
        for l in range(world.horizon):
            a = int(rng.integers(world.actions))
            states.append(first[l] + s)
            actions.append(a)
            rewards.append(float(rng.random() < world.rewards[l][s, a]))
            if l + 1 < world.horizon:
                s = int(rng.choice(world.widths[l + 1], p=P[l][s, a]))
        memory = agent.update(memory, Episode(np.array(states), np.array(actions), np.array(rewards)), t)
    return agent.plan(memory, None, episodes, np.zeros(1))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "backward"])
@pytest.mark.parametrize("tau", [0.5, 0.01])
def test_very_many_visits(tau, order):
    """At a fixed τ the soft values of the truth, and with τ towards 0 the optimal ones; one fixed seed."""
    agent = kl.OnlineKLearning(order, 0, 1.0, tau)
    memory = played_evenly(agent, WORLD, 6000, kl.Prior(kl.Beta()))
    none = [np.zeros_like(r) for r in WORLD.rewards]
    K = np.concatenate(oracles.k_values(WORLD.rewards, none, WORLD.transitions, tau)[0])
    np.testing.assert_allclose(memory.Q.T, K, atol=0.06)
    if tau == 0.01:
        np.testing.assert_allclose(memory.Q.T, np.concatenate(kl.optimal(WORLD).q_values), atol=0.06)
        assert (agent.exploit(memory).T.argmax(1) == np.concatenate(kl.optimal(WORLD).policy).argmax(1)).all()


def test_learning_again_until_nothing_changes_is_planning():
    """Deterministic moves, replay without end, κ = 1: K is what `solve` makes of the same counts at the same τ."""
    world, agent = kl.deep_sea(5), kl.OnlineKLearning(optimism=1.0, temperature=0.2, replay=400)
    belief = slow.belief(world)
    for _, after, _, episode in slow.follow(agent, world, episodes=15):
        belief, memory = belief.update(*(x.copy() for x in episode)), after
    for t in range(40):  # what untried pairs hope for follows from V, and V from K
        memory = agent.plan(memory, None, t, np.zeros(1))
        for e in range(15):
            online.back_up_all(memory, 1.0, e)
    plan = kl.solve(belief, temperature=0.2)
    np.testing.assert_allclose(memory.V, np.concatenate(plan.values), rtol=1e-9)


# -- the temperature --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_rule_ends_at_the_temperature_of_the_exact_solver(seed):
    """H and C of the policy at τ, by its occupancy: the rule stays just where f′(τ) = H − C/τ² = 0."""
    rng, belief = np.random.default_rng(seed), slow.belief(kl.random_mdp([2, 3, 3], actions=2, seed=seed))
    for _ in range(4):
        belief = belief.update([rng.integers(2), 2 + rng.integers(3), 5 + rng.integers(3)], rng.integers(2, size=3),
                               rng.normal(size=3))  # fmt: skip
    c = np.split(0.5 * belief.posterior().variance.T, belief.layers[1:-1])
    tau = 3.0
    for _ in range(300):
        plan = kl.solve(belief, temperature=tau)
        parts = list(zip(plan.occupancy, plan.policy, c, strict=True))
        H = -sum((o * np.log(p)).sum() for o, p, _ in parts)
        C = sum((o * x).sum() for o, _, x in parts)
        tau = online.temperature(tau, H, C, 0.2)
    assert tau == pytest.approx(kl.solve(belief).temperature, rel=1e-6)


def test_before_anything_was_seen_it_is_that_temperature():
    belief = slow.belief(kl.deep_sea(6))
    assert kl.OnlineKLearning(optimism=1.0).begin(belief).tau == pytest.approx(kl.solve(belief).temperature, rel=1e-6)


@pytest.mark.parametrize(
    "prior", [kl.Prior(kl.Gaussian(noise=0.0)), kl.Prior(kl.Gaussian(sd=0.0)), kl.Prior()], ids=str
)
@pytest.mark.parametrize("means", [[0.3], [0.1, 0.4]])
def test_where_one_side_of_the_rule_is_nothing(prior, means):
    """One action, or nothing uncertain: τ leaves for infinity or zero, and goes only so far."""
    runs = kl.run(kl.OnlineKLearning(rate=1.0), kl.bandit(means, noise=0.0), prior=prior, episodes=300, seeds=2)
    assert np.isfinite(runs.diagnostics["temperature"]).all()
    if prior.reward.sd > 0.0:  # who is certain that all pay the same learns nothing
        assert runs.values[:, -1] == pytest.approx(max(means), abs=1e-3)


# -- episodes that are kept -------------------------------------------------------------------------------------------


def test_the_newest_are_kept_and_each_comes_again():
    layers, replay = np.arange(4), empty_replay(3, 1)
    for t in range(CAPACITY + 5):
        replay = keep(replay, layers, Episode(np.arange(3), np.zeros(3, int), np.full(3, float(t))), 3)
    assert sorted(replay.rewards[:, 0]) == list(np.arange(5, CAPACITY + 5))
    drawn = np.array([pick(replay, i) for i in range(20 * CAPACITY)])
    counts = np.bincount(drawn, minlength=CAPACITY)
    assert counts.min() > 3  # below 3 with Poisson's chance of 3e-6 each
    assert counts.max() < 50
    few = fading(replay, 0.75)
    assert set(few.rewards[[pick(few, i) for i in range(200)], 0]) == set(np.arange(CAPACITY + 1.0, CAPACITY + 5))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("local_states", 9),
        ("local_states", -1),
        ("actions", 2),
        ("steps", 4),
        ("state_counts", 0),
        ("size", 300),
        ("size", -1),
    ],
)
@pytest.mark.parametrize(
    "agent", [kl.OnlineKLearning(), kl.OptimisticQLearning(order="backward", replay=2)], ids=lambda a: type(a).__name__
)
def test_no_file_makes_it_read_elsewhere(agent, field, value):
    world = kl.deep_sea(3)
    *_, (_, memory, _, _) = slow.follow(agent, world, episodes=4)
    sound = {name: np.array(x) for name, x in leaves(memory).items()}
    restore_memory(agent.begin(slow.belief(world)), sound)
    x = sound[f"memory.replay.{field}"]
    x[(0,) * x.ndim] = value
    with pytest.raises(ValueError, match=rf"memory\.replay\.{field}"):
        restore_memory(agent.begin(slow.belief(world)), sound)


def test_optimistic_q_learning_learns_again():
    """Against its plain version: the bonus of the visits so far, and as many more steps towards the same targets."""
    world, agent = kl.deep_sea(4, slip=0.3), kl.OptimisticQLearning("hoeffding", 0.02, order="backward", replay=2)
    plain, told = slow.OnlineOptimisticQ(world.layers, 2, 0.02, False), []

    def learn(episode, again):
        for l in reversed(range(world.horizon)):
            s, a = int(episode[0][l]), int(episode[1][l])
            plain.visits[s, a] += not again
            k = plain.visits[s, a]
            met = plain.value(l + 1, int(episode[0][l + 1])) if l + 1 < world.horizon else 0.0
            target = float(episode[2][l]) + met + plain.bonus(s, a, k, met)
            plain.Q[s, a] += slow.falling(world.horizon, k) * (target - plain.Q[s, a])

    for t, memory, _, episode in slow.follow(agent, world, episodes=20):
        plain.iota = np.log(world.reward.size * (t + 1) * world.horizon / 0.1)
        told.append([x.copy() for x in episode])
        learn(told[-1], again=False)
        for i in range(2):
            learn(told[pick(memory.replay, i)], again=True)
        np.testing.assert_allclose(memory.Q, plain.table(world.states), rtol=1e-10)


def test_replay_needs_a_bonus_that_counts_nothing():
    with pytest.raises(ValueError, match=r"replay=3 with bonus='bernstein'.*use 'hoeffding'"):
        kl.OptimisticQLearning("bernstein", replay=3)
