"""One planning step of every agent, or one online update, against a slow and obvious version."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.numerics.sparse.rows import rows_from_layers, rows_to_layers
from klearning.tabular.agents import optimistic_q_learning as oql
from klearning.tabular.agents import q_learning, rlsvi, soft_td, ucbvi, ucfh, ucrl2
from klearning.tabular.agents.value_iteration import planning
from klearning.tabular.beliefs.posterior import Episode
from tests.support import agent_oracles as slow

COINS = kl.Prior(kl.Beta(1.0, 2.0), kl.Dirichlet(1.5))
LOUD = kl.Prior(kl.Gaussian(0.2, 0.7, 0.4), kl.Dirichlet(0.6))
WORLDS = {
    "ragged": (lambda: kl.random_mdp([2, 4, 1, 3], actions=3, prior=COINS, seed=1), COINS),
    "ragged, loud": (lambda: kl.random_mdp([3, 2, 5], actions=2, prior=LOUD, seed=2), LOUD),
    "slippery": (lambda: kl.deep_sea(4, slip=0.3), kl.Prior()),
    "one layer": (lambda: kl.random_mdp([3], actions=4, prior=LOUD, seed=3), LOUD),
    "one action": (lambda: kl.random_mdp([1, 3, 3], actions=1, prior=COINS, seed=4), COINS),
}


@pytest.fixture(params=WORLDS)
def place(request):
    """A world and a prior for it."""
    world, prior = WORLDS[request.param]
    return world(), prior


def close(got, want, tolerance=1e-10):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def check_plan(memory, Q, V):
    """The plan is the expected one, and the policy is greedy for it."""
    close(memory.Q, Q)
    close(memory.V, V)
    np.testing.assert_array_equal(memory.policy, slow.greedy(memory.Q))


def copied(p):
    """All that a posterior knows of the world, as fresh arrays."""
    blocks = rows_to_layers(p.model.rows, p.model.layers)
    return [*blocks, p.visits.copy(), p.reward_sums.copy(), p.model.reward.copy()]


# -- UCBVI ------------------------------------------------------------------------------------------------------------


@pytest.mark.thin(5)
@pytest.mark.parametrize("episodes", [None, 500])
@pytest.mark.parametrize("scale", [0.0, 0.004, 0.03])
@pytest.mark.parametrize("bonus", ["hoeffding", "bernstein"])
def test_ucbvi(place, bonus, scale, episodes):
    """With the running minimum over all plans so far; the scales leave some values at the clip and some below."""
    world, prior = place
    agent = kl.UCBVI(bonus, scale, delta=0.2, episodes=episodes)
    before = np.full(world.reward.shape, np.inf)
    for t, memory, history, _ in slow.follow(agent, world, prior):
        T = (episodes or t + 1) * world.horizon
        Q, V = slow.ucbvi(history, before, T, 0.2, scale, bonus == "bernstein")
        check_plan(memory, Q, V)
        before = Q


def test_ucbvi_keeps_the_smaller_of_two_plans():
    """One arm, scale 0: the estimate of Q is the least of the running means of the rewards."""
    world = kl.bandit([0.3], noise=0.5)
    rewards, least = [], 1.0
    for _, memory, _, episode in slow.follow(kl.UCBVI(scale=0.0), world):
        least = min([least, np.mean(rewards)]) if rewards else 1.0
        assert memory.Q[0, 0] == pytest.approx(least, abs=1e-12)
        rewards.append(episode.rewards[0])
    assert least < np.mean(rewards)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_bernstein_bonus_where_next_states_are_well_known(seed):
    """Enough visits that either side of the inner minimum is the smaller for some next state."""
    rng = np.random.default_rng(seed)
    width, A, Lg = 5, 2, 3.0
    p, layers = two_layers(rng, width, A, high=40)
    L, S = 2, 1 + width
    p.visits[:, 1:] = np.exp(rng.uniform(np.log(1e3), np.log(1e9), (A, width)))
    V = np.concatenate([[0.0], rng.uniform(0, 2, width)])
    n = p.visits[1, 0]
    row = rows_to_layers(p.model.rows, layers)[0][0, 1] / n
    met = p.visits[:, 1:].sum(axis=0)
    rare = 1e4 * L**3 * S**2 * A * Lg**2 / met
    assert (rare < L**2).any()
    want = slow.bernstein_bonus(row, V[1:], met, n, Lg, L, S, A)
    assert ucbvi.bernstein_bonus(p, 0, 1, 0, V, row @ V[1:], Lg) == pytest.approx(want, rel=1e-12)


def two_layers(rng, width, actions, high=12):
    """Empirical counts of one state with some actions before a layer of this width, as a Posterior."""
    layers = np.array([0, 1, 1 + width])
    counts = rng.integers(0, high, (1, actions, width)) * (rng.random((1, actions, width)) < 0.6)
    counts[0, :, rng.integers(width)] += 1
    p = kl.Belief.empty(kl.Prior(), [1, width], actions, [1.0]).frequencies()
    p.visits[:, 0] = p.moves[:, 0] = counts[0].sum(axis=1)
    return p._replace(model=p.model._replace(rows=rows_from_layers(layers, actions, [counts.astype(float)]))), layers


# -- on the posterior -------------------------------------------------------------------------------------------------


def supported(world, reward):
    """A prior with the world's own support, and what it allows."""
    blocks = world.transitions

    def possible(s, a):
        l = int(np.searchsorted(world.layers, s, side="right")) - 1
        row = blocks[l][s - world.layers[l], a] if l < len(blocks) else np.zeros(0)
        return [int(world.layers[l + 1] + y) for y in np.flatnonzero(row)]

    return kl.Prior(reward, kl.Dirichlet(0.8, support=world)), possible


@pytest.fixture(params=[*WORLDS, "stated support"])
def believed(request):
    """A world, a prior, and what its Dirichlet allows (None: everything)."""
    if request.param in WORLDS:
        world, prior = WORLDS[request.param]
        return world(), prior, None
    world = kl.deep_sea(5, slip=0.4)
    return world, *supported(world, kl.Gaussian(0.1, 0.5, 0.3))


@pytest.mark.parametrize("scale", [0.0, 0.05, 1.0])
def test_beb(believed, scale):
    world, prior, possible = believed
    for _, memory, history, _ in slow.follow(kl.BEB(scale), world, prior):
        check_plan(memory, *slow.beb(slow.Posterior(history, prior, possible), scale * 2 * world.horizon**2))


@pytest.mark.thin(4)
@pytest.mark.parametrize("imagined", [None, 0.0, 1.0])
@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_bolt(believed, scale, imagined):
    world, prior, possible = believed
    for _, memory, history, _ in slow.follow(kl.BOLT(scale, imagined), world, prior):
        check_plan(memory, *slow.bolt(slow.Posterior(history, prior, possible), scale * world.horizon, imagined))


def test_bolt_imagines_nothing_of_what_is_known():
    """Known transitions, and rewards that one visit shows without noise: all is tried, then the plan is the truth."""
    certain = kl.Gaussian(noise=0.0)
    world = kl.random_mdp([2, 3, 2], actions=2, prior=kl.Prior(certain, kl.Dirichlet(5.0)), seed=5)
    prior = kl.Prior(certain, kl.Known(world))
    *_, (_, memory, history, _) = slow.follow(kl.BOLT(imagined_reward=9.0), world, prior, episodes=200)
    assert len(history.visits) == world.reward.size
    close(memory.Q.T, np.concatenate(kl.optimal(world).q_values))


@pytest.mark.parametrize("tau", [0.05, 1.0])
def test_soft_q_learning_on_a_model(believed, tau):
    world, prior, possible = believed
    for _, memory, history, _ in slow.follow(kl.SoftQLearning(tau, "model"), world, prior):
        Q, V = slow.soft_values(slow.Posterior(history, prior, possible), tau)
        close(memory.policy, np.exp((Q - V) / tau), 1e-9)
        for l, low in enumerate(world.layers[:-1]):
            at = memory.work.at[l]
            close(memory.work.V[at : at + world.widths[l]], V[low : world.layers[l + 1]])


# -- RLSVI ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sd", "noise"), [(1.0, None), (0.5, 0.3)])
def test_rlsvi_without_its_perturbation(place, sd, noise):
    world, prior = place
    sigma = noise or (0.5 if isinstance(prior.reward, kl.Beta) else prior.reward.noise)
    for _, memory, history, _ in slow.follow(kl.RLSVI(sd, noise, scale=0.0), world, prior):
        mean, _ = slow.rlsvi_moments(history, memory.V, sd, sigma)
        check_plan(memory, mean, mean.max(axis=0))


DRAWS = 20_000


@pytest.fixture(scope="module")
def perturbed():
    """Many plans of RLSVI from one history: the history, and Q and V of every plan."""
    world = kl.random_mdp([1, 2, 3], actions=2, prior=COINS, seed=7)
    *_, (_, memory, _, _) = slow.follow(kl.RLSVI(0.8, 0.4), world, COINS, episodes=13)
    inner, rng = planning(memory.posterior), np.random.default_rng(0)
    Q, V = np.zeros((DRAWS, 2, 6)), np.zeros((DRAWS, 6))
    for i in range(DRAWS):
        rlsvi.plan(inner, 1.0, rng)
        Q[i], V[i] = inner.Q, inner.V
    return history_of(memory.posterior, world), Q, V


def history_of(p, world):
    """A posterior's statistics as a History."""
    history = slow.History(world.layers, world.actions)
    blocks = rows_to_layers(p.model.rows, p.model.layers)
    for l in range(history.L):
        for s in history.states(l):
            for a in range(history.A):
                history.visits[s, a] = int(p.visits[a, s])
                history.reward_sums[s, a] = p.reward_sums[a, s]
                for i, y in enumerate(history.states(l + 1)):
                    history.next[s, a][y] = int(blocks[l][s - history.layers[l], a, i])
    return history


@pytest.mark.slow
def test_rlsvi_perturbs_every_value_as_much_as_it_is_uncertain(perturbed):
    """Given the next layer, every Q is N(mean, v), independently.

    Kolmogorov–Smirnov at 1e-5 for 12 values, and 66 correlations within 4.9 standard errors (1e-6 each): 2e-4 in all.
    """
    history, Q, V = perturbed
    moments = [slow.rlsvi_moments(history, v, 0.8, 0.4) for v in V[:2000]]
    z = np.array([(q - mean) / np.sqrt(variance) for q, (mean, variance) in zip(Q, moments)]).reshape(2000, 12)
    assert min(stats.kstest(column, "norm").pvalue for column in z.T) > 1e-5
    assert np.abs(np.corrcoef(z.T)[np.triu_indices(12, 1)]).max() < 4.9 / np.sqrt(2000)


def mean_and_square_of_larger(mean, sd):
    """E max and E max² of two independent normals (Clark, 1961)."""
    (m, k), (u, v) = mean, sd
    spread = np.hypot(u, v)
    alpha = (m - k) / spread
    density, above, below = stats.norm.pdf(alpha), stats.norm.cdf(alpha), stats.norm.cdf(-alpha)
    first = m * above + k * below + spread * density
    return first, (m**2 + u**2) * above + (k**2 + v**2) * below + (m + k) * spread * density


def test_rlsvi_moments_one_layer_further_up(perturbed):
    """Of Q in the last layer and the one before, where V is the larger of two normals: closed forms.

    10 means and 10 variances within 4.9 standard errors, 1e-6 each: 2e-5 in all.
    """
    history, Q, _ = perturbed
    mean, variance = slow.rlsvi_moments(history, np.zeros(6), 0.8, 0.4)
    last = [mean_and_square_of_larger(mean[:, s], np.sqrt(variance[:, s])) for s in history.states(2)]
    V, V_squared = np.array(last).T
    for s in history.states(1):
        for a in range(2):
            weight = variance[a, s] / 0.4**2 * history.visits[s, a] * history.frequencies(1, s, a)
            mean[a, s] += weight @ V
            variance[a, s] += weight**2 @ (V_squared - V**2)
    for s in range(1, 6):
        for a in range(2):
            off = Q[:, a, s] - mean[a, s]
            assert abs(off.mean()) < 4.9 * off.std() / np.sqrt(DRAWS)
            assert abs((off**2).mean() - variance[a, s]) < 4.9 * (off**2).std() / np.sqrt(DRAWS)


def test_rlsvi_draws_afresh_each_episode():
    world = kl.bandit([0.5, 0.5], noise=0.2)
    seen = {memory.Q.tobytes() for _, memory, _, _ in slow.follow(kl.RLSVI(), world)}
    assert len(seen) == 30


# -- UCRL2 ------------------------------------------------------------------------------------------------------------


def values_with_ties(rng, width):
    return np.concatenate([[0.0], rng.integers(0, 4, width) if rng.random() < 0.5 else rng.uniform(-1, 2, width)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_best_in_ball_is_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 9))
    p, layers = two_layers(rng, width, 3)
    V = values_with_ties(rng, width)
    rows = rows_to_layers(p.model.rows, layers)[0][0]
    before = copied(p)
    for a in range(3):
        for radius in (0.0, rng.uniform(0, 2), rng.uniform(0, 0.2), 3.0):
            best = 1 + int(np.argmax(V[1:]))
            n = p.visits[a, 0]
            got = ucrl2.best_in_ball(p, 0, a, 0, radius, best, V)
            assert got == pytest.approx(slow.best_in_ball(rows[a] / n, radius, V[1:]), abs=1e-8)
    for x, y in zip(copied(p), before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.thin(3)
@pytest.mark.parametrize("scale", [0.02, 0.1, 1.0])
def test_ucrl2(scale):
    """Every plan on a small world, with a linear program a row, when and only when a count has doubled."""
    world = kl.random_mdp([1, 3, 2, 3], actions=2, prior=COINS, seed=6)
    agent = kl.UCRL2(scale, delta=0.2)
    plans, ended = 0, True
    for t, memory, history, episode in slow.follow(agent, world, COINS, episodes=60):
        if ended:
            Q, V = slow.ucrl2(history, t * world.horizon + 1, scale, 0.2)
            before, epoch, plans = Counter(history.visits), Counter(), plans + 1
        check_plan(memory.planning, Q, V)
        pairs = list(zip(episode.states.tolist(), episode.actions.tolist()))
        epoch.update(pairs)
        ended = any(epoch[pair] >= max(1, before[pair]) for pair in pairs)
        assert memory.ended == ended
    assert 5 < plans < 45


def test_ucrl2_plans_one_arm_at_powers_of_two():
    """One (s,a): visits before an epoch are 0, 1, 2, 4, 8, …, so plans come before episodes 1, 2, 3, 5, 9, 17, 33."""
    world, planned, last = kl.bandit([0.3], noise=0.2), [], None
    for t, memory, _, _ in slow.follow(kl.UCRL2(scale=0.01), world, episodes=40):
        if last is None or memory.planning.Q[0, 0] != last:
            planned.append(t + 1)
        last = memory.planning.Q[0, 0]
    assert planned == [1, 2, 3, 5, 9, 17, 33]


@pytest.mark.parametrize("agent", [kl.UCRL2(scale=0.1), kl.UCFH(scale=0.1, least_visits=1)], ids=str)
def test_planning_edits_nothing_that_is_known(agent):
    """Extended value iteration reads its estimates; planning once more changes no number."""
    world = kl.deep_sea(5, slip=0.3)
    *_, (_, memory, _, _) = slow.follow(agent, world, episodes=50)
    inner = memory.planning

    def plan():
        if isinstance(agent, kl.UCRL2):
            ucrl2.plan(inner, 0.1, 0.1, 251.0)
        else:
            ucfh.plan(inner, agent.settings(2, world.layers))

    before = copied(inner.posterior)
    plan()
    first = inner.Q.copy()
    plan()
    np.testing.assert_array_equal(inner.Q, first)
    for x, y in zip(copied(inner.posterior), before, strict=True):
        np.testing.assert_array_equal(x, y)


# -- UCFH -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_best_in_box_is_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 9))
    p, layers = two_layers(rng, width, 3)
    V = values_with_ties(rng, width)
    rows = rows_to_layers(p.model.rows, layers)[0][0]
    before = copied(p)
    for a in range(3):
        for scale in (0.0, rng.uniform(0, 0.1), rng.uniform(0, 1.0), 20.0):
            settings = ucfh.Settings(rng.uniform(0.5, 12.0), scale, 1.0, np.inf)
            n, order = p.visits[a, 0], np.argsort(-V[1:])
            share = rows[a] / n
            want = slow.best_in_box(share, slow.ucfh_width(share, n, settings.ln1, scale), V[1:])
            got = ucfh.best_in_box(p, 0, a, 0, order, V, np.full(width, np.nan), settings)
            assert got == pytest.approx(want, abs=1e-8)
    for x, y in zip(copied(p), before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.thin(3)
@pytest.mark.parametrize(("scale", "least"), [(0.05, 1), (0.3, 1), (0.05, 3), (1.0, 2)])
def test_ucfh(scale, least):
    """Every plan, and the rule by which (s,a) move into the model, one an episode."""
    world = kl.random_mdp([1, 3, 2, 3], actions=2, prior=COINS, seed=8)
    agent = kl.UCFH(scale, accuracy=0.5, delta=0.2, least_visits=least)
    ln1 = slow.ucfh_ln1(9, 2, 4, 0.5, 0.2)
    known = slow.UCFHModel(world.layers, world.actions)
    moves, stale = 0, True
    for _, memory, _, episode in slow.follow(agent, world, COINS, episodes=60):
        if stale:
            Q, V = slow.ucfh(known.model, ln1, scale)
        check_plan(memory.planning, Q, V)
        stale = known.add(episode, least) is not None
        moves += stale
        assert memory.stale == stale
        for (a, s), n in np.ndenumerate(memory.planning.posterior.visits):
            assert n == known.model.visits[s, a]
            assert memory.pending.visits[a, s] == known.aside.visits[s, a]
    assert 5 < moves < 60


def test_ucfh_moves_nothing_beyond_its_limit():
    """A pair with n ≥ S·m·L visits in the model stays as it is."""
    agent = kl.UCFH(least_visits=1)
    memory = agent.begin(slow.belief(kl.bandit([0.5])))
    once = Episode(np.array([0]), np.array([0]), np.array([1.0]))
    known, settings = slow.UCFHModel(np.array([0, 1]), 1), ucfh.Settings(5.0, 1.0, 1.0, 4.0)
    for _ in range(20):
        memory = ucfh.remember(memory, settings, once)
        assert memory.stale == (known.add(once, 1, most=4) is not None)
    assert memory.planning.posterior.visits[0, 0] == 4
    assert memory.pending.visits[0, 0] == 16


def test_ucfh_constants():
    """ln1, m·w_min and S·m·L of its page for layers 2, 3, 2: S = 7, A = 2, L = 3, the widest 3, loglog at its floor."""
    settings = kl.UCFH(accuracy=0.5, delta=0.1).settings(2, np.array([0, 2, 5, 7]))
    ln1 = slow.ucfh_ln1(7, 2, 3, 0.5, 0.1)
    m = 512 * 3 * 9 / 0.25 * np.log2(8 * 9 * 49 / 0.5) ** 2 * ln1
    assert settings.ln1 == pytest.approx(ln1, rel=1e-12)
    assert settings.least == pytest.approx(m * 0.5 / (4 * 3 * 7), rel=1e-12)
    assert settings.most == pytest.approx(7 * m * 3, rel=1e-12)


# -- model-free -------------------------------------------------------------------------------------------------------

LAYERS = np.array([0, 2, 5, 7])
ROUTES = [  # states, actions, rewards: repeats, crossings and both signs
    ([0, 2, 5], [0, 1, 1], [0.5, -0.25, 1.0]),
    ([0, 2, 6], [0, 1, 0], [0.25, 0.0, 2.0]),
    ([1, 2, 5], [1, 1, 1], [-1.0, 0.75, 0.5]),
    ([0, 3, 6], [0, 0, 0], [0.1, 0.2, 0.3]),
    ([0, 2, 5], [0, 1, 1], [0.5, 0.5, -0.5]),
    ([0, 4, 5], [1, 0, 1], [0.0, 1.0, 0.0]),
    ([1, 2, 6], [1, 0, 0], [0.3, 0.1, 0.9]),
    ([0, 2, 5], [0, 1, 1], [0.0, 0.0, 1.0]),
]
EPISODES = [Episode(np.array(s), np.array(a), np.array(r)) for s, a, r in ROUTES]


def start():
    return kl.Belief.empty(kl.Prior(), [2, 3, 2], 2, [0.5, 0.5])


@pytest.mark.parametrize("step", ["falling", 0.25])
def test_q_learning_by_hand_made_episodes(step):
    agent = kl.QLearning(epsilon=0.2, step=step)
    memory, online = agent.begin(start()), slow.OnlineQ(3, 2, None if step == "falling" else step)
    for episode in EPISODES:
        q_learning.update(memory, q_learning.Settings(0.2, 0.0 if step == "falling" else step, 1.0), episode)
        online.learn(episode)
        Q = online.table(7)
        close(memory.Q, Q)
        close(memory.policy, 0.8 * slow.greedy(Q.round(12)) + 0.1)


@pytest.mark.parametrize("step", ["falling", 0.25])
def test_soft_q_learning_by_hand_made_episodes(step):
    agent = kl.SoftQLearning(0.3, step=step)
    memory, online = agent.begin(start()), slow.OnlineSoftQ(3, 2, 0.3, None if step == "falling" else step)
    for episode in EPISODES:
        soft_td.update(memory, 0.3, 0.0 if step == "falling" else step, episode)
        online.learn(episode)
        Q = online.table(7)
        V = slow.soft_maximum(Q, 0.3)
        close(memory.Q, Q)
        close(memory.V, V)
        close(memory.policy, np.exp((Q - V) / 0.3))


@pytest.mark.parametrize("scale", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("bonus", ["hoeffding", "bernstein"])
def test_optimistic_q_learning_by_hand_made_episodes(bonus, scale):
    memory = kl.OptimisticQLearning(bonus, scale).begin(start())
    online = slow.OnlineOptimisticQ(LAYERS, 2, scale, bonus == "bernstein")
    settings = oql.Settings(bonus == "bernstein", scale, oql.Confidence(0.1, 0.0))
    for t, episode in enumerate(EPISODES):
        online.iota = np.log(7 * 2 * 3 * (t + 1) / 0.1)
        oql.update(memory, settings, episode, online.iota)
        online.learn(episode)
        close(memory.Q, online.table(7))
        close(memory.V, [online.value(l, s) for l in range(3) for s in range(LAYERS[l], LAYERS[l + 1])])


@pytest.mark.parametrize("seed", range(5))
def test_optimistic_q_learning_after_very_many_visits(seed):
    """UCB-B's first branch is the smaller one only after some 10⁴ visits; then W decides."""
    rng = np.random.default_rng(seed)
    layers, many, iota = np.array([0, 1, 3]), 40_000, 9.0
    memory = kl.OptimisticQLearning("bernstein").begin(kl.Belief.empty(kl.Prior(), [1, 2], 1, [1.0]))
    online = slow.OnlineOptimisticQ(layers, 1, 1.0, bernstein=True)
    online.iota, online.beta[0, 0], online.visits[0, 0] = iota, 0.03, many
    met = rng.uniform(0, rng.uniform(0.1, 1.0), many)
    online.met[0, 0] = list(met)
    memory.visits[0, 0], memory.mean[0, 0], memory.squares[0, 0] = many, met.mean(), many * met.var()
    memory.beta[0, 0] = 0.03
    settings = oql.Settings(True, 1.0, oql.Confidence(0.1, 0.0))
    for k in range(6):
        episode = Episode(np.array([0, 1 + k % 2]), np.array([0, 0]), rng.uniform(size=2))
        oql.update(memory, settings, episode, iota)
        online.learn(episode)
        close(memory.Q, online.table(3), 1e-9)
    assert online.beta[0, 0] < np.sqrt(2**3 * iota / (many + 6)) * 0.99


def test_optimistic_q_learning_run_by_hand():
    """Two layers of one state, one action: the first two visits, worked out on paper.

    L = 2, α₁ = 1, α₂ = 3/4, Q = (2, 1) at first, and ι = 1 so that b₁ = √8, b₂ = 2; scale 1/4.
    First: Q₂ = 1/2 + √8/4, clipped V₂ = 1; Q₁ = 1 + V₂ (1, before) + √8/4. Then Q₂ = Q₂/4 + 3/4 (0 + 1/2) and
    Q₁ = Q₁/4 + 3/4 (0 + 1 + 1/2), V₂ still clipped when it is met.
    """
    memory = kl.OptimisticQLearning(scale=0.25).begin(kl.Belief.empty(kl.Prior(), [1, 1], 1, [1.0]))
    settings = oql.Settings(False, 0.25, oql.Confidence(0.1, 0.0))
    for rewards in ([1.0, 0.5], [0.0, 0.0]):
        oql.update(memory, settings, Episode(np.array([0, 1]), np.zeros(2, int), np.array(rewards)), 1.0)
    root = np.sqrt(8) / 4
    close(memory.Q[0], [(2 + root) / 4 + 0.75 * 1.5, (0.5 + root) / 4 + 0.75 * 0.5])
    close(memory.V, [memory.Q[0, 0], memory.Q[0, 1]])


def online_version(agent, world):
    """The plain learner that this agent should equal."""
    step = None if getattr(agent, "step", "falling") == "falling" else agent.step
    if isinstance(agent, kl.OptimisticQLearning):
        return slow.OnlineOptimisticQ(world.layers, world.actions, agent.scale, agent.bonus == "bernstein")
    if isinstance(agent, kl.SoftQLearning):
        return slow.OnlineSoftQ(world.horizon, world.actions, agent.temperature, step)
    return slow.OnlineQ(world.horizon, world.actions, step)


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "agent",
    [
        kl.QLearning(epsilon=0.3),
        kl.QLearning(step=0.5),
        kl.SoftQLearning(0.4),
        kl.SoftQLearning(0.4, step=0.5),
        kl.OptimisticQLearning("hoeffding", 0.02, 0.05),
        kl.OptimisticQLearning("bernstein", 0.02, 0.05),
        kl.OptimisticQLearning("hoeffding", 0.02, 0.05, episodes=400),
    ],
    ids=str,
)
def test_model_free_agents_as_they_are_run(place, agent):
    """The whole way from the constructor, on episodes of the agent's own making."""
    world, prior = place
    online = online_version(agent, world)
    for t, memory, _, episode in slow.follow(agent, world, prior):
        episodes = getattr(agent, "episodes", None) or t + 1
        online.iota = np.log(world.reward.size * episodes * world.horizon / 0.05)
        online.learn(episode)
        close(memory.Q, online.table(world.states))
        if isinstance(agent, kl.OptimisticQLearning):
            np.testing.assert_array_equal(memory.policy, slow.greedy(memory.Q))
