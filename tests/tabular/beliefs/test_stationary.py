"""One table for all layers: laws and oracles of tied beliefs, and of the state where an episode is over.

A tied belief must plan exactly like the layered belief in which every layer has the pooled counts. Where the last layer
was visited, visits exceed known transitions, and a dense model in NumPy says what is right.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.numerics.sparse.rows import dense_block, rows_from_layers
from klearning.numerics.types import Layers
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.beliefs.sampling import draw_shared
from klearning.tabular.models.sweeps import Model
from klearning.tabular.optimism.bonuses import fill
from klearning.tabular.trials.task import Streams
from klearning.tabular.trials.trial import new_task
from tests.support import oracles
from tests.support.agents import STEPWISE
from tests.support.cases import BONUSES, REWARDS, TRANSITIONS, modest
from tests.support.small_worlds import leaving

END = 0


# -- tied and tiled ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TiedCase:
    """Counts by layer, of a world that is the same in all of them."""

    reward: kl.Gaussian | kl.Beta
    kind: str  # of the transitions
    mass: float
    support: np.ndarray  # (S, A, S); the probabilities if they are known
    visits: Layers
    reward_sums: Layers
    counts: Layers
    initial: np.ndarray

    @property
    def horizon(self):
        return len(self.visits)

    def transitions(self, copies):
        if self.kind == "even":
            return kl.Dirichlet(self.mass)
        blocks = [self.support] * copies
        return kl.Dirichlet(self.mass, blocks) if self.kind == "support" else kl.Known(blocks)

    def tied(self):
        prior = kl.Prior(self.reward, self.transitions(1), stationary=True)
        return kl.Belief.from_counts(prior, self.visits, self.reward_sums, self.counts, self.initial)

    def tiled(self):
        """The layered belief in which every layer has the pooled counts; the last layer has been left as often."""
        L, pooled = self.horizon, [np.sum(x, axis=0) for x in (self.visits, self.reward_sums, self.counts)]
        prior = kl.Prior(self.reward, self.transitions(L - 1))
        return kl.Belief.from_counts(prior, *([x] * L for x in pooled[:2]), [pooled[2]] * (L - 1), self.initial)

    def dense(self, bonus):
        """m, c and P̄ by layer, straight from theory."""
        L, n, total = self.horizon, sum(self.visits), sum(self.reward_sums)
        r = self.reward
        if isinstance(r, kl.Gaussian):
            (mean, variance), noise = oracles.gaussian_posterior(r.mean, r.sd, r.noise, n, total), r.noise
        else:
            mean, noise = oracles.beta_posterior(r.a, r.b, n, total)[0], 0.5
            variance = 1 / (4 * (r.a + r.b + n + 1))
        seen = sum(self.counts)
        shares = np.ones(self.support.shape) if self.kind == "even" else self.support
        alpha = self.mass * oracles.normalised(shares.astype(float)) + seen
        P = self.support if self.kind == "known" else oracles.normalised(alpha)
        left = [L - 1 - l for l in range(L)]
        if bonus == "paper":
            c = [(noise**2 + k**2) / (2 * np.maximum(n, 1)) for k in left]
        elif bonus == "sharp" and self.kind != "known":
            c = [(variance + k**2 / (4 * (self.mass + seen.sum(axis=-1) + 1))) / 2 for k in left]
        else:
            c = [variance / 2] * L
        return [mean] * L, c, [P] * (L - 1)


def random_tied(rng, states, actions, horizon, reward, kind, last_layer):
    shape = (states, actions)
    visits = [np.where(rng.random(shape) < 0.4, 0, rng.integers(1, 12, shape)).astype(float) for _ in range(horizon)]
    if not last_layer:
        visits[-1][:] = 0.0
    support = rng.random((*shape, states)) < 0.6
    np.put_along_axis(support, rng.integers(states, size=shape)[..., None], True, axis=-1)
    P = oracles.normalised(rng.dirichlet(np.ones(states), size=shape) * (support if kind == "support" else 1.0))
    counts = [rng.multinomial(n.astype(int), P).astype(float) for n in visits[:-1]]
    if reward == "beta":
        prior = kl.Beta(*np.exp(rng.uniform(-1, 1, 2)).tolist())
        sums = [rng.binomial(n.astype(int), 0.6).astype(float) for n in visits]
    else:
        prior = kl.Gaussian(float(rng.uniform(-1, 1)), 0.8, 0.3)
        sums = [n * rng.uniform(-1, 1) + 0.3 * np.sqrt(n) * rng.standard_normal(shape) for n in visits]
    given = P if kind == "known" else support
    mass = float(np.exp(rng.uniform(-2, 1.5)))
    return TiedCase(prior, kind, mass, given, visits, sums, counts, rng.dirichlet(np.ones(states)))


@st.composite
def tied_cases(draw, last_layer, fewest_actions=1):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    reward, kind = draw(st.sampled_from(REWARDS)), draw(st.sampled_from(TRANSITIONS))
    shape = draw(st.integers(1, 10)), draw(st.integers(fewest_actions, 3)), draw(st.integers(2, 5))
    return random_tied(rng, *shape, reward, kind, last_layer)


@pytest.mark.parametrize("bonus", BONUSES)
@modest
@given(case=tied_cases(last_layer=False), temperature=st.sampled_from(["optimal", 0.3, kl.schedule(3)]))
def test_tied_is_tiled(case, temperature, bonus):
    """Optimism is flat at τ*, so that rounding moves it by its square root: two solves are compared at the same τ."""
    one, many = (kl.solve(b, temperature, bonus) for b in (case.tied(), case.tiled()))
    assert one.temperature == pytest.approx(many.temperature, rel=1e-6)
    assert one.bound == pytest.approx(many.bound, rel=1e-12, abs=1e-12)
    assert one.gap == pytest.approx(many.gap, rel=1e-6, abs=1e-9)
    if one.temperature != many.temperature:
        many = kl.solve(case.tiled(), one.temperature, bonus)
    for name in ("k_values", "values", "policy", "occupancy"):
        oracles.assert_close(getattr(one, name), getattr(many, name), 1e-9)


@pytest.mark.parametrize("bonus", BONUSES)
@modest
@given(case=tied_cases(last_layer=True, fewest_actions=2))
def test_tied_with_visits_of_the_last_layer(case, bonus):
    """Such a visit tells of the reward and of no transition."""
    m, c, P = case.dense(bonus)
    plan = kl.solve(case.tied(), bonus=bonus)
    K, V, policy = oracles.k_values(m, c, P, plan.temperature)
    for got, want in ((plan.k_values, K), (plan.values, V), (plan.policy, policy)):
        oracles.assert_close(got, want, 1e-9)
    assert plan.bound == pytest.approx(case.initial @ V[0], rel=1e-9, abs=1e-9)
    for factor in (0.99, 1.01):
        assert plan.bound <= oracles.f(m, c, P, case.initial, factor * plan.temperature) + 1e-9


@modest
@given(case=tied_cases(last_layer=True))
def test_means_of_a_tied_belief(case):
    belief, (m, _, P) = case.tied(), case.dense("reward")
    oracles.assert_close(belief.reward_means, m)
    oracles.assert_close(belief.transition_means, P)


def test_a_tied_belief_may_have_one_layer():
    belief = kl.Belief.from_counts(kl.Prior(stationary=True), [[[3.0, 0.0]]], [[[1.5, 0.0]]], [], [1.0])
    layered = kl.Belief.from_counts(kl.Prior(), [[[3.0, 0.0]]], [[[1.5, 0.0]]], [], [1.0])
    assert kl.solve(belief).bound == kl.solve(layered).bound
    assert belief.transition_means == []


@pytest.mark.parametrize("stationary", [False, True])
def test_episodes_add_up(stationary):
    """`update` one episode at a time is `from_counts` of all of them."""
    rng, L, S, A = np.random.default_rng(3), 4, 3, 2
    prior = kl.Prior(stationary=stationary)
    visits, sums, counts = np.zeros((L, S, A)), np.zeros((L, S, A)), np.zeros((L - 1, S, A, S))
    belief = kl.Belief.empty(prior, [S] * L, A, np.eye(S)[0])
    for _ in range(30):
        s, a, r = rng.integers(S, size=L), rng.integers(A, size=L), rng.standard_normal(L)
        belief = belief.update(s + S * np.arange(L), a, r)
        np.add.at(visits, (np.arange(L), s, a), 1.0)
        np.add.at(sums, (np.arange(L), s, a), r)
        np.add.at(counts, (np.arange(L - 1), s[:-1], a[:-1], s[1:]), 1.0)
    whole = kl.Belief.from_counts(prior, list(visits), list(sums), list(counts), np.eye(S)[0])
    oracles.assert_close(belief.reward_means, whole.reward_means)
    oracles.assert_close(belief.reward_variances, whole.reward_variances)
    oracles.assert_close(belief.transition_means, whole.transition_means)


# -- the agents -------------------------------------------------------------------------------------------------------

PLANNERS = [
    kl.KLearning(),
    kl.KLearning("schedule", "sharp"),
    kl.KLearning(bonus="split"),
    kl.KLearning(0.2, "paper"),
    kl.BEB(0.01),
    kl.BOLT(0.2),
    kl.BOLT(0.2, imagined_reward=1.0),
    kl.UCBVI("hoeffding", 0.0005),
    kl.UCBVI("bernstein", 0.001),
    kl.UCRL2(0.03),
    kl.UCFH(0.05, least_visits=1),
    kl.SoftQLearning(form="model"),
    kl.RLSVI(scale=0.0),
]


def random_episodes(rng, count, L, S, A, end=-1, forget=False):
    """Episodes of any length; those that end have reached ``end``. What follows the last layer is known, or not."""
    for _ in range(count):
        k = int(rng.integers(1, L + 1))
        states = rng.integers(0 if end < 0 else 1, S, size=k + 1)
        if end >= 0 and rng.random() < 0.5:
            states[-1] = end
        numbers = states + S * np.arange(k + 1)
        yield Episode(numbers[:L] if forget else numbers, rng.integers(A, size=k), rng.uniform(0, 1, k))


def untied(p):
    """The same posterior with a table for every layer."""
    m, L = p.model, len(p.model.layers) - 1
    A, S = p.visits.shape
    block = dense_block(m.rows, 0, S, 0, S)
    rows = rows_from_layers(m.layers, A, [block] * (L - 1))
    reward, scale, variance, visits, moves, sums = (
        np.tile(x, (1, L)) for x in (m.reward, m.scale, p.variance, p.visits, p.moves, p.reward_sums)
    )
    model = Model(m.layers, m.layers, m.end, m.initial, reward, scale, m.mass, rows)
    return Posterior(model, variance, visits, moves, sums, p.prior, p.total, p.learns)


def with_posterior(memory, p):
    """The memory of a planner that knows this and has yet to plan."""
    if hasattr(memory, "planning"):
        flag = "ended" if hasattr(memory, "ended") else "stale"
        return memory._replace(planning=memory.planning._replace(posterior=p), **{flag: True})
    if hasattr(memory, "bonus"):
        fill(memory.bonus, p, memory.c)
    return memory._replace(posterior=p)


def known(memory):
    return getattr(memory, "planning", memory).posterior


def streams(seed=0):
    return Streams(*(np.random.default_rng([seed, i]) for i in range(2)))


def nothing_seen(stationary, end, L=5, S=5, A=3, transitions=None):
    prior = kl.Prior(transitions=transitions or kl.Dirichlet(), stationary=stationary)
    return kl.Belief.empty(prior, [S] * L, A, np.eye(S)[1], end if end >= 0 else None)


@pytest.mark.thin(3)
@pytest.mark.parametrize("end", [-1, END])
@pytest.mark.parametrize("agent", PLANNERS, ids=str)
def test_planners_plan_the_same_tied_and_tiled(agent, end):
    tied, layered = nothing_seen(True, end), nothing_seen(False, end)
    memory = agent.begin(tied)
    said = np.zeros(len(agent.diagnostics))
    for t, episode in enumerate(random_episodes(np.random.default_rng(5), 40, 5, 5, 3, end, forget=True)):
        memory = agent.update(memory, episode, t)
    p = known(memory)
    assert (p.visits > p.moves).any()  # the last layer was visited
    one = agent.plan(with_posterior(agent.begin(tied), p), streams(), 40, said)
    many = agent.plan(with_posterior(agent.begin(layered), untied(p)), streams(), 40, said)
    oracles.assert_close([agent.values(one)], [agent.values(many)], 1e-10)
    oracles.assert_close([one.policy], [many.policy], 1e-8)
    assert np.ptp(one.policy, axis=1).max() > 0.05  # something was planned
    oracles.assert_close([agent.exploit(one)], [agent.exploit(many)])


def test_ucbvi_shares_out_known_transitions_only():
    """Its bonus BF in dense arrays: P̂ from transitions, and everything else from visits, which are more."""
    agent, L, S, A, scale = kl.UCBVI("bernstein", 0.001), 5, 5, 3, 0.001
    memory = agent.begin(nothing_seen(True, -1, L, S, A))
    for t, episode in enumerate(random_episodes(np.random.default_rng(5), 40, L, S, A, forget=True)):
        memory = agent.update(memory, episode, t)
    p = memory.posterior
    n, r, counts = p.visits.T, p.reward_sums.T, dense_block(p.model.rows, 0, S, 0, S)
    P = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    Lg = np.log(5 * S * L * A * 41 * L / 0.1)
    doubt = P @ np.minimum(1e4 * L**3 * (S * L) ** 2 * A * Lg**2 / np.maximum(n.sum(axis=1), 1), L**2)
    Q, V = [None] * L, np.zeros(S)
    for l in reversed(range(L)):
        inside = float(l + 1 < L)
        variance = P @ V**2 - (P @ V) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = np.sqrt(8 * Lg * variance / n) + 14 * L * Lg / (3 * n) + np.sqrt(8 * doubt * inside / n)
            worth = r / n + scale * bonus + P @ V
        tried = (n > 0) & ((counts.sum(axis=-1) > 0) | (l + 1 == L))
        Q[l] = np.where(tried, np.minimum(worth, L - l), L - l)
        V = Q[l].max(axis=1)
    memory = agent.plan(memory, streams(), 40, np.zeros(0))
    oracles.assert_close([memory.Q.T], [np.concatenate(Q)], 1e-9)
    assert (np.concatenate(Q) < 1).any()


def posterior_of_many(transitions, end=-1, S=4):
    tied = nothing_seen(True, end, S=S, A=2, transitions=transitions)
    memory = kl.PSRL().begin(tied)
    for t, episode in enumerate(random_episodes(np.random.default_rng(1), 12, 5, S, 2, end, forget=True)):
        memory = kl.PSRL().update(memory, episode, t)
    return tied.after(memory.posterior), memory


PSRL_PRIORS = {
    "even": kl.Dirichlet(0.7),
    "support": kl.Dirichlet(0.7, [np.ones((4, 2, 4))]),
    "known": kl.Known([np.full((4, 2, 4), 0.25)]),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("end", [-1, END])
@pytest.mark.parametrize("name", PSRL_PRIORS)
def test_psrl_draws_tied_tables_from_the_posterior(name, end):
    """Mean and variance of 3,000 draws, 5 standard errors: 48 numbers, so 3e-5 by chance, were the law Gaussian."""
    belief, memory = posterior_of_many(PSRL_PRIORS[name], end)
    p, draws = memory.posterior, 3_000
    rng = np.random.default_rng(7), np.random.default_rng(8)
    rewards, rows = np.zeros((draws, 2, 4)), np.zeros((draws, 4, 2, 4))
    for i in range(draws):
        drawn = draw_shared(p, *rng)
        rewards[i], rows[i] = drawn.reward, dense_block(drawn.rows, 0, 4, 0, 4)
    alive = [s for s in range(4) if s != end]
    np.testing.assert_allclose(rows[:, alive].sum(axis=-1), 1.0, atol=1e-12)
    P = belief.transition_means[0]
    alpha0 = (p.total + p.moves.T)[..., None]
    spread = np.zeros_like(P) if name == "known" else np.sqrt(P * (1 - P) / (alpha0 + 1))
    off = np.abs(rows.mean(axis=0) - P)[alive]
    assert (off <= 5 * spread[alive] / np.sqrt(draws) + 1e-12).all()
    m, sd = belief.reward_means[0].T, np.sqrt(belief.reward_variances[0].T)
    assert (np.abs(rewards.mean(axis=0) - m) <= 5 * sd / np.sqrt(draws)).all()
    if end >= 0:
        assert (rewards[:, :, end] == 0.0).all()
        assert (rows[:, end] == 0.0).all()  # nothing follows


@pytest.mark.parametrize("end", [-1, END])
@pytest.mark.parametrize("name", PSRL_PRIORS)
def test_psrl_plans_with_one_draw_in_all_layers(name, end):
    _, memory = posterior_of_many(PSRL_PRIORS[name], end)
    drawn = draw_shared(memory.posterior, *streams(4))
    r, P = drawn.reward.T, dense_block(drawn.rows, 0, 4, 0, 4)
    V, Q = oracles.optimal_values([r] * 5, [P] * 4)
    kl.PSRL().plan(memory, streams(4), 0, np.zeros(0))
    oracles.assert_close([memory.Q.T, memory.V], [np.concatenate(Q), np.concatenate(V)])


# -- where an episode is over -----------------------------------------------------------------------------------------

AGENTS = [*PLANNERS, *(agent for agent in STEPWISE if agent not in PLANNERS)]
PRIORS = {"layered": kl.Prior(), "stationary": kl.Prior(stationary=True)}


@pytest.mark.thin(5)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("agent", AGENTS, ids=str)
def test_what_is_over_is_worth_nothing(agent, prior):
    """Exactly 0 whatever was seen; values of the world's own policies are too."""
    world = leaving()
    belief = kl.Belief.before(PRIORS[prior], world)
    memory, task = agent.begin(belief), new_task(agent, world, 40, 0)
    over = world.layers[:-1] + END
    ended = 0
    for t in range(40):
        memory = agent.advance(memory, task, t, 1)
        ended += bool((task.episode.states == over).any())
        np.testing.assert_array_equal(agent.values(memory)[over], 0.0)
    assert ended > 10


@pytest.mark.thin(4)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("agent", AGENTS, ids=str)
def test_agents_learn_where_episodes_end(agent, prior):
    runs = kl.run(agent, leaving(), prior=PRIORS[prior], episodes=60, seeds=2, threads=1)
    assert np.isfinite(runs.returns).all()
    assert (runs.values <= runs.optimal_value + 1e-12).all()
    for name, numbers in runs.diagnostics.items():
        first = 1 if name == "error" else 0  # the error of a single draw is not known
        assert np.isfinite(numbers[:, first:]).all(), name


def belief_with_an_end(stationary, reward, transitions=None):
    prior = kl.Prior(reward, transitions or kl.Dirichlet(0.5), stationary=stationary)
    belief = kl.Belief.empty(prior, [4] * 3, 2, [0, 1, 0, 0], END)
    rng = np.random.default_rng(0)
    for _ in range(8):
        path = np.array([1, rng.integers(4), rng.integers(4)])
        path[2] *= path[1] != END
        coins = np.where(path == END, 0.0, rng.integers(0, 2, 3))
        belief = belief.update(path + 4 * np.arange(3), rng.integers(2, size=3), coins)
    return belief


@pytest.mark.parametrize("reward", [kl.Gaussian(), kl.Beta()], ids=str)
@pytest.mark.parametrize("stationary", [False, True])
def test_the_end_stays_closed(stationary, reward):
    belief = belief_with_an_end(stationary, reward)
    drawn = belief.sample(3)
    for P in (*belief.transition_means, *drawn.transitions):
        np.testing.assert_array_equal(P[END], np.broadcast_to(np.eye(4)[END], (2, 4)))
        np.testing.assert_allclose(P.sum(axis=-1), 1.0)
    for r in (*belief.reward_means, *belief.reward_variances, *drawn.rewards):
        np.testing.assert_array_equal(r[END], 0.0)
    if stationary:
        assert all(np.array_equal(P, drawn.transitions[0]) for P in drawn.transitions)
        assert all(np.array_equal(r, drawn.rewards[0]) for r in drawn.rewards)


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("reward", [kl.Gaussian(), kl.Beta()], ids=str)
@pytest.mark.parametrize("stationary", [False, True])
def test_no_entropy_and_no_bonus_at_the_end(stationary, reward, bonus):
    """K-values against the dense recursion in which V of the end is put to 0."""
    belief = belief_with_an_end(stationary, reward)
    plan = kl.solve(belief, bonus=bonus)
    n = belief.in_layers(belief.visits)
    tau, V = plan.temperature, np.zeros(4)
    for l in reversed(range(3)):
        np.testing.assert_array_equal(plan.k_values[l][END], 0.0)
        assert plan.values[l][END] == 0.0
        if bonus == "paper":
            noise = 0.25 if isinstance(reward, kl.Beta) else reward.noise**2
            K = belief.reward_means[l] + (noise + (2 - l) ** 2) / (2 * np.maximum(n[l], 1)) / tau
            K += belief.transition_means[l] @ V if l < 2 else 0.0
            V = np.where(np.arange(4) == END, 0.0, tau * oracles.log_sum_exp(K / tau))
            np.testing.assert_allclose(plan.values[l], V, rtol=1e-9)
    assert 0.0 <= plan.gap <= 1e-9 * (1 + plan.bound)
    for factor in (0.98, 1.02):  # entropy where there is none to be had would move the optimum
        assert plan.bound <= kl.solve(belief, factor * tau, bonus).bound + 1e-12


@pytest.mark.thin(3)
@pytest.mark.parametrize("transitions", ["even", "known"])
@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("stationary", [False, True])
def test_the_cone_program_agrees_where_episodes_end(stationary, bonus, transitions):
    pytest.importorskip("cvxpy")
    closed = np.random.default_rng(2).dirichlet(np.ones(4), size=(4, 2))
    closed[END] = np.eye(4)[END]
    learnt = kl.Known([closed] * (1 if stationary else 2)) if transitions == "known" else None
    belief = belief_with_an_end(stationary, kl.Gaussian(), learnt)
    assert_cone_agrees(belief, bonus)


@pytest.mark.parametrize("stationary", [False, True])
def test_the_cone_program_certifies_itself_where_episodes_end(stationary):
    pytest.importorskip("cvxpy")
    plan = kl.solve_cone(belief_with_an_end(stationary, kl.Gaussian()), "reward")
    assert plan.gap <= 1e-5 * (1 + abs(plan.bound))


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("kind", TRANSITIONS)
def test_the_cone_program_agrees_on_tied_beliefs(kind, bonus):
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(11)
    assert_cone_agrees(random_tied(rng, 3, 2, 3, "gaussian", kind, last_layer=True).tied(), bonus)


def assert_cone_agrees(belief, bonus):
    """f is flat at τ*: right to 1e-8 in f is right to 1e-4 in τ."""
    ours, theirs = kl.solve(belief, bonus=bonus), kl.solve_cone(belief, bonus, "CLARABEL")
    assert ours.bound == pytest.approx(theirs.bound, rel=1e-6, abs=1e-6)
    assert ours.temperature == pytest.approx(theirs.temperature, rel=1e-3)
    for l, flow in enumerate(ours.occupancy):
        reached = flow.sum(axis=1) > 1e-9  # elsewhere the program leaves values free
        np.testing.assert_allclose(ours.k_values[l][reached], theirs.k_values[l][reached], rtol=1e-3, atol=1e-3)


# -- Q-learning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize("step", ["falling", 0.3])
@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_tied_q_learning_is_the_textbooks(step, discount, forget):
    """Where the horizon cut an episode short and what came next is not known, nothing is learned from the last step."""
    L, S, A, epsilon = 5, 5, 3, 0.2
    agent = kl.QLearning(epsilon, step, discount)
    memory = agent.begin(nothing_seen(True, END, L, S, A))
    Q, n = np.zeros((S, A)), np.zeros((S, A))
    for t, episode in enumerate(random_episodes(np.random.default_rng(2), 50, L, S, A, END, forget)):
        memory = agent.update(memory, episode, t)
        path = episode.states % S
        for s, a, r, y in zip(path[:-1], episode.actions, episode.rewards, path[1:]):
            n[s, a] += 1
            alpha = (L + 1) / (L + n[s, a]) if step == "falling" else step
            Q[s, a] += alpha * (r + discount * Q[y].max() - Q[s, a])
        np.testing.assert_allclose(memory.Q.T, Q, rtol=1e-12)
        best = Q.max(axis=1, keepdims=True) == Q
        policy = epsilon / A + (1 - epsilon) * best / best.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(memory.policy.T, np.tile(policy, (L, 1)), rtol=1e-12)


def test_misfits_of_stationary_beliefs_are_errors():
    with pytest.raises(ValueError, match="all must have the same states"):
        kl.Belief.empty(kl.Prior(stationary=True), [2, 3], 2, [1, 0])
    with pytest.raises(ValueError, match="end=3 is not a state"):
        kl.Belief.empty(kl.Prior(stationary=True), [3, 3], 2, [1, 0, 0], end=3)
    with pytest.raises(ValueError, match="end=-1"):
        kl.Belief.empty(kl.Prior(), [3, 3], 2, [1, 0, 0], end=-1)


def test_a_world_keeps_its_end_when_renamed():
    assert replace(leaving(), name="other").end == END
