"""What tasks have besides states and actions: masks, discounts, no end, drift, time limits, a time to stop."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import klearning as kl
from klearning.simulators.adapters.masks import TaskWarning, restricted
from klearning.simulators.callbacks import greedy_loss
from klearning.simulators.horizons import effective_horizon, tail
from klearning.tabular.models.sweeps import hard_sweep

AGENTS = {
    "reward": kl.KLearning(),
    "split": kl.KLearning(bonus="split"),
    "schedule": kl.KLearning(temperature="schedule"),
    "PSRL": kl.PSRL(),
    "RLSVI": kl.RLSVI(),
    "UCBVI": kl.UCBVI(scale=0.02),
    "bernstein": kl.UCBVI(bonus="bernstein", scale=0.02),
    "UCRL2": kl.UCRL2(scale=0.02),
    "UCFH": kl.UCFH(scale=0.02, least_visits=1.0),
    "BEB": kl.BEB(scale=0.01),
    "BOLT": kl.BOLT(),
    "QLearning": kl.QLearning(),
    "td": kl.SoftQLearning(),
    "model": kl.SoftQLearning(form="model"),
    "OptimisticQLearning": kl.OptimisticQLearning(scale=0.02),
    "OnlineKLearning": kl.OnlineKLearning(),
    "Random": kl.Random(),
}
LEFT, RIGHT = 2, 4


class Stairs(gymnasium.Env):
    """Six actions, of which two move; the others, and a step down from the first stair, raise."""

    observation_space, action_space = Discrete(6), Discrete(6)

    def mask(self):
        return np.array([0, 0, self.stair > 0, 0, 1, 0], np.int8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.stair = 0
        return self.stair, {"action_mask": self.mask()}

    def step(self, action):
        assert self.mask()[action], f"action {action} is not allowed on stair {self.stair}"
        self.stair += 1 if action == RIGHT else -1
        top = self.stair == 5
        return self.stair, 1.0 if top else -0.01, top, False, {"action_mask": self.mask()}


@pytest.mark.thin(2)
@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
@pytest.mark.parametrize("grow_states", [True, False])
def test_no_agent_takes_what_is_not_allowed(agent, grow_states, tmp_path):
    learner = kl.learn(agent, Stairs(), episodes=25, horizon=12, settings=kl.LearnSettings(grow_states=grow_states))
    for stair in range(5):
        column = 1 + learner.observations.number(stair)
        if column in learner.masks.known:
            assert learner.policy[:, column, [0, 1, 3, 5]].max() == 0.0
            assert learner.predict(stair) in (LEFT, RIGHT)
    assert agent.values(learner.memory).min() > -1e9  # no value has come through it
    learner.save(tmp_path / "stairs.npz")
    again = kl.load(tmp_path / "stairs.npz")
    more, same = kl.learn(learner, Stairs(), episodes=5), kl.learn(again, Stairs(), episodes=5)
    assert more.returns == same.returns


@pytest.mark.parametrize("bonus", ["paper", "sharp", "reward", "split"])
def test_values_are_those_of_a_world_without_the_actions(bonus):
    """Learners of a masked world and of one with two actions, fed the same steps, until every state has its mask."""
    agent = kl.KLearning(bonus=bonus)
    masked = kl.Learner(agent, Discrete(4), Discrete(6), 6, grow_states=False)
    plain = kl.Learner(agent, Discrete(4), Discrete(2), 6, grow_states=False)
    rng = np.random.default_rng(0)
    for start in (0, 3, 1, 2):
        s = start
        while not masked.over:
            masked.act(s, action_mask=[0, 0, 1, 0, 1, 0])
            plain.act(s)
            a, reward = int(rng.integers(2)), float(rng.random())
            s = min(max(s + 2 * a - 1, 0), 3)
            masked.observe(reward, s, action=(LEFT, RIGHT)[a])
            plain.observe(reward, s, action=a)
        masked.end_episode()
        plain.end_episode()
    one, other = kl.solve(masked.belief, bonus=bonus), kl.solve(plain.belief, bonus=bonus)
    assert sorted(masked.masks.known) == [1, 2, 3, 4]
    assert one.bound == pytest.approx(other.bound, rel=1e-8)
    one, other = (kl.solve(learner.belief, other.temperature, bonus) for learner in (masked, plain))
    for l in range(6):
        np.testing.assert_allclose(one.values[l], other.values[l], rtol=1e-12)
        np.testing.assert_allclose(one.policy[l][1:, [LEFT, RIGHT]], other.policy[l][1:], rtol=1e-9)


def test_a_mask_is_read_or_refused():
    learner = kl.Learner(kl.PSRL(), Discrete(3), Discrete(3), 4)
    for mask, error in (
        ([1, 1], "is not a mask: give a 0 or 1 for each of the 3 actions"),
        ([0.5, 1, 1], "is not a mask"),
        ("all", "is not a mask"),
        ([0, 0, 0], "allows no action"),
    ):
        with pytest.raises(ValueError, match=error):
            learner.act(0, action_mask=mask)
    assert not learner.under_way
    assert not learner.masks.news
    assert learner.act(0, action_mask=[False, True, False]) == 1
    with pytest.raises(ValueError, match=r"action=2 is not allowed by the action_mask of step 0"):
        learner.observe(0.0, 1, action=2)
    learner.observe(0.0, 1)
    assert learner.act(1) in (0, 1, 2)  # no mask was told there
    learner.abandon_episode()
    assert not learner.masks.news
    assert not learner.masks.known


def test_a_mask_that_changes_is_said_once_and_taken_together():
    learner = kl.Learner(kl.KLearning(), Discrete(2), Discrete(3), 2)
    masks = [[1, 0, 0], [0, 1, 0], [1, 0, 0]]

    def play():
        for mask in masks:
            for _ in range(2):
                assert mask[learner.act(0, action_mask=mask)]
                learner.observe(0.1, 0)
            learner.end_episode()

    with pytest.warns(TaskWarning, match=r"observation=0 changes, from \[1, 0, 0\] to \[0, 1, 0\]") as record:
        play()
    assert len(record) == 1
    assert learner.masks.known[1].tolist() == [True, True, False]
    assert np.isinf(learner.memory.posterior.visits[:, 1]).tolist() == [False, False, True]
    assert learner.predict(0, action_mask=[0, 0, 1]) == 2
    assert learner.policy[0, 1, 2] == 0.0


def test_a_mask_that_comes_late_does_not_forbid_what_was_done(tmp_path):
    learner = kl.Learner(kl.PSRL(), Discrete(2), Discrete(3), 1)
    for action, mask in ((2, None), (0, [1, 0, 0])):
        learner.act(0, action_mask=mask)
        learner.observe(0.5, 0, truncated=True, action=action)
        learner.end_episode()
    assert learner.masks.known[1].tolist() == [True, False, True]
    learner.save(tmp_path / "late.npz")
    assert kl.load(tmp_path / "late.npz").masks.known[1].tolist() == [True, False, True]


def test_the_best_that_is_allowed_now():
    learner = kl.Learner(kl.KLearning(), Discrete(1), Discrete(3), 1)
    for action, reward in ((0, 0.2), (1, 0.9), (2, 0.6)) * 5:
        learner.act(0)
        learner.observe(reward, 0, truncated=True, action=action)
        learner.end_episode()
    assert [learner.predict(0, action_mask=mask) for mask in ([1, 1, 1], [1, 0, 1], [1, 0, 0])] == [1, 2, 0]


def test_restricted_policies():
    policy = np.array([[0.5, 0.0], [0.3, 1.0], [0.2, 0.0]])
    allowed = np.array([True, False, True])
    np.testing.assert_allclose(restricted(policy, allowed), [[5 / 7, 0.5], [0.0, 0.0], [2 / 7, 0.5]])


def test_taxi_learns_faster_with_its_masks():
    """Its mask names what can change anything. One seed each, fixed; measured with these seeds."""
    env = gymnasium.make("Taxi-v4")
    prior = kl.Prior(kl.Gaussian(0.0, 4.0, 0.1), kl.Dirichlet(0.01), stationary=True)
    masked = kl.learn(kl.PSRL(), env, episodes=20, horizon=200, prior=prior)
    blind = kl.learn(
        kl.PSRL(), env, episodes=20, horizon=200, prior=prior, settings=kl.LearnSettings(action_masks=False)
    )
    assert np.mean(masked.returns) > np.mean(blind.returns) + 50.0


class Ring(gymnasium.Env):
    """Five places in a circle and no end; steps into place 0 pay, one way 1 and the other 0.3."""

    observation_space, action_space = Discrete(5), Discrete(2)
    resets = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.resets = 2, self.resets + 1
        return self.place, {}

    def step(self, action):
        reward = 1.0 if (self.place, action) == (4, 1) else 0.3 if (self.place, action) == (1, 0) else 0.0
        self.place = (self.place + (1 if action else -1)) % 5
        return self.place, reward, False, False, {}


def ring_optimum(discount):
    V = np.zeros(5)
    for _ in range(2000):
        up = np.roll(V, -1)
        V = np.maximum(np.array([0, 0.3, 0, 0, 0]) + discount * np.roll(V, 1), np.eye(5)[4] + discount * up)
    return V


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.PSRL(), kl.KLearning(bonus="split")], ids=str)
def test_a_continuing_task_is_never_reset_and_learnt(agent):
    env = Ring()
    learner = kl.learn(agent, env, episodes=20, settings=kl.LearnSettings(discount=0.9, continuing=True))
    assert env.resets == 1
    assert learner.horizon == effective_horizon(0.9) == 44
    # to and fro between 4 and 0; place 2, which is as far from both, is hardly visited
    assert [learner.predict(place, step=10_000) for place in (0, 1, 3, 4)] == [0, 0, 1, 1]
    model = learner.belief.posterior().model
    V = np.zeros(44 * 7)
    hard_sweep(model, model.reward, np.zeros((2, V.size)), V)
    V = V[[1 + learner.observations.number(place) for place in range(5)]]
    assert np.abs(V - ring_optimum(0.9)).max() < learner.tail + 0.3  # and what has hardly been tried
    assert learner.returns[-1] > 15.0  # of 22; by chance some 6


def test_a_continuing_task_needs_no_discount():
    learner = kl.learn(kl.KLearning(), Ring(), episodes=20, horizon=25, settings=kl.LearnSettings(continuing=True))
    assert learner.returns[-1] >= 12.0
    assert learner.tail == np.inf


@pytest.mark.slow
def test_a_plan_over_an_effective_horizon_is_off_by_no_more_than_its_tail():
    """V_H of the ring by loops: 0 ≤ V* − V_H ≤ γ^H / (1 − γ), and acting on its first layer loses no more than
    1/(1 − γ) times that."""
    for gamma in (0.5, 0.8, 0.95):
        best = ring_optimum(gamma)
        for H in (1, 3, 10, 30):
            V = np.zeros(5)
            for _ in range(H):
                Q = np.array(
                    [np.array([0, 0.3, 0, 0, 0]) + gamma * np.roll(V, 1), np.eye(5)[4] + gamma * np.roll(V, -1)]
                )
                V = Q.max(axis=0)
            assert ((best - V >= -1e-9) & (best - V <= tail(gamma, H) + 1e-9)).all()
            way = Q.argmax(axis=0)
            W = np.zeros(5)
            for _ in range(2000):
                up, down = np.eye(5)[4] + gamma * np.roll(W, -1), np.array([0, 0.3, 0, 0, 0]) + gamma * np.roll(W, 1)
                W = np.where(way == 1, up, down)
            assert (best - W <= tail(gamma, H) / (1.0 - gamma) + 1e-9).all()


def test_a_discount_says_what_it_costs(tmp_path):
    learner = kl.Learner(kl.KLearning(), Discrete(2), Discrete(2), discount=0.99, prior=kl.Prior(stationary=True))
    assert learner.horizon == 459
    assert learner.tail == pytest.approx(0.99**459 / 0.01)
    assert learner.tail < 1.0
    assert "discount=0.99 (plans leave out at most 0.992 of the largest reward)" in repr(learner)
    learner.save(tmp_path / "new.npz")
    assert repr(kl.load(tmp_path / "new.npz")) == repr(learner)


class Drifting(gymnasium.Env):
    """Two machines; after 100 uses the better one becomes the worse."""

    observation_space, action_space = Discrete(1), Discrete(2)
    uses = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        best = 0 if self.uses < 100 else 1
        self.uses += 1
        return 0, (1.0 if action == best else 0.0) + 0.1 * self.np_random.standard_normal(), False, True, {}


SWITCHING = kl.Prior(kl.Gaussian(0.0, 0.5, 0.1), stationary=True)
FORGETFUL = [
    "reward",
    "PSRL",
    "RLSVI",
    "UCBVI",
    "UCRL2",
    "UCFH",
    "BEB",
    "BOLT",
    "QLearning",
    "td",
    "OptimisticQLearning",
    "OnlineKLearning",
]


@pytest.mark.parametrize("name", FORGETFUL)
def test_forgetting_recovers_from_a_switch(name, tmp_path):
    own = {"UCRL2": kl.UCRL2(scale=0.2), "BOLT": kl.BOLT(imagined_reward=1.0)}  # who would not try again otherwise
    agent = own.get(name, AGENTS[name])
    learner = kl.learn(
        agent, Drifting(), episodes=180, horizon=1, prior=SWITCHING, settings=kl.LearnSettings(decay=0.9)
    )
    assert np.mean(learner.returns[60:100]) > 0.6
    assert np.mean(learner.returns[140:]) > 0.6
    learner.save(tmp_path / "drift.npz")
    again = kl.load(tmp_path / "drift.npz")
    assert again.decay == 0.9
    assert again.returns == learner.returns


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.PSRL()], ids=str)
def test_without_forgetting_it_does_not_recover(agent):
    learner = kl.learn(agent, Drifting(), episodes=180, horizon=1, prior=SWITCHING)
    assert np.mean(learner.returns[60:100]) > 0.6
    assert np.mean(learner.returns[140:]) < 0.4


def test_what_a_learner_that_forgets_plans_is_not_proved():
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
    for decay, proved in ((1.0, True), (0.9, False)):
        learner = kl.Learner(kl.KLearning(bonus="split"), Discrete(2), Discrete(2), 2, prior=prior, decay=decay)
        assert kl.solve(learner.belief, bonus="split").proved == proved


def test_settings_that_do_not_go_together():
    spaces = Discrete(2), Discrete(2)
    for settings, error in (
        ({"horizon": 3, "discount": 0.9, "prior": kl.Prior()}, "give one with stationary=True"),
        ({"horizon": 3, "continuing": True, "prior": kl.Prior()}, "give one with stationary=True"),
        ({"horizon": 3, "continuing": 1}, "continuing=1 is neither True nor False"),
        ({"horizon": 3, "decay": 0.0}, "decay=0.0 is out of range"),
        ({"horizon": 3, "discount": 1.5}, "discount=1.5 is out of range"),
        ({}, "horizon is missing"),
    ):
        with pytest.raises(ValueError, match=error):
            kl.Learner(kl.KLearning(), *spaces, **settings)
    support = kl.Prior(transitions=kl.Dirichlet(1.0, [np.ones((3, 2, 3))]), stationary=True)
    with pytest.raises(ValueError, match=r"decay=0.9 with a prior of known transitions, or with a support"):
        kl.Learner(kl.KLearning(), *spaces, 3, prior=support, grow_states=False, decay=0.9)
    learner = kl.Learner(kl.KLearning(), Stairs.observation_space, Stairs.action_space, 3)
    with pytest.raises(ValueError, match=r"discount=0.9 belongs to the learner"):
        kl.learn(learner, Stairs(), settings=kl.LearnSettings(discount=0.9))
    with pytest.raises(ValueError, match="evaluate_every values whole episodes"):
        kl.learn(
            kl.KLearning(), gymnasium.make("FrozenLake-v1"), settings=kl.LearnSettings(discount=0.9, evaluate_every=1)
        )


def test_time_limits_that_disagree_are_said():
    env = gymnasium.make("FrozenLake-v1")  # its limit is 100
    with pytest.warns(TaskWarning, match="horizon=120, but the environment's time limit is 100.*give horizon=100"):
        kl.learn(kl.Random(), env, episodes=1, horizon=120)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = kl.learn(kl.Random(), env, episodes=1, horizon=20)  # cut short, as was asked for
        kl.learn(learner, env, episodes=1)
        kl.learn(kl.Random(), env, episodes=1, horizon=20, settings=kl.LearnSettings(continuing=True))
        kl.learn(kl.Random(), env, episodes=1, settings=kl.LearnSettings(discount=0.95))


def test_stopping_when_sure():
    world = kl.bandit([0.2, 0.7], noise="bernoulli")
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
    stop = kl.callbacks.StopWhenSure(loss=0.05, every=5, times=2)
    learner = kl.learn(kl.KLearning(), kl.WorldEnv(world), episodes=2000, prior=prior, callbacks=[stop])
    assert 10 <= learner.episodes_done < 2000
    assert learner.episodes_done % 5 == 0
    assert stop.bound <= 0.05
    assert stop.proved
    assert "at most" in str(stop)
    assert (stop.bound, stop.proved) == greedy_loss(learner)
    stationary = kl.learn(kl.PSRL(), Ring(), episodes=3, horizon=10)
    assert not greedy_loss(stationary)[1]
    with pytest.warns(RuntimeWarning, match="holds no belief"):
        kl.learn(kl.Random(), Ring(), episodes=3, horizon=2, callbacks=[kl.callbacks.StopWhenSure(loss=0.1, every=1)])


@pytest.mark.slow
def test_the_loss_is_above_what_is_lost():
    """Over worlds drawn from the prior: mean loss of the greedy policy against the certificate, 300 draws, 4 s.e."""
    prior = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
    losses, bounds = [], []
    for seed in range(300):
        world = kl.random_mdp([2, 2], actions=2, prior=prior, seed=seed)
        learner = kl.learn(
            kl.KLearning(bonus="split"),
            kl.WorldEnv(world),
            episodes=4,
            seed=seed,
            settings=kl.LearnSettings(grow_states=False),
        )
        policy = learner.policies(range(world.states), "greedy")
        table = np.concatenate([policy[0, :2], policy[1, 2:]])
        losses.append(kl.optimal(world).value - kl.evaluate(world, table).value)
        bounds.append(greedy_loss(learner)[0])
    gap = np.array(bounds) - losses
    assert gap.mean() > 4.0 * gap.std() / np.sqrt(len(gap))
    assert np.mean(losses) > 0.0


def test_stopping_at_a_return():
    stop = kl.callbacks.StopAtReturn(0.9, episodes=5)
    learner = kl.learn(kl.KLearning(), Stairs(), episodes=500, horizon=12, callbacks=[stop])
    assert learner.episodes_done < 500
    assert np.mean(learner.returns[-5:]) >= 0.9 > np.mean(learner.returns[-6:-1])
    assert repr(stop) == "StopAtReturn(target=0.9, episodes=5)"
