"""What is said of the policy that a learner leaves behind."""

from math import inf, isnan

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import klearning as kl
from klearning.simulators.deployment import Deployment, deployment
from klearning.simulators.evaluation import play_returns
from klearning.tabular.optimism.certificate import Certificate
from tests.support.small_worlds import corridor

PRIOR = kl.Prior(kl.Gaussian(0.0, 1.0, 0.3), kl.Dirichlet(0.5), stationary=True)


def test_a_learner_is_certified_by_its_greedy_policy():
    learner = kl.learn(kl.PSRL(), corridor(), episodes=15, prior=PRIOR)
    told = kl.certify(learner, draws=50, seed=3)
    greedy = learner.agent.exploit(learner.memory)
    assert told == kl.certify(learner.belief, greedy.T, draws=50, seed=3)
    exploring = kl.certify(learner.belief, learner.memory.policy.T, draws=50, seed=3)
    assert told.regret < exploring.regret
    with pytest.raises(ValueError, match="policy beside a learner"):
        kl.certify(learner, greedy.T)
    with pytest.raises(ValueError, match="policy is missing"):
        kl.certify(learner.belief)
    with pytest.raises(ValueError, match="holds no belief"):
        kl.certify(kl.learn(kl.QLearning(), corridor(), episodes=2))
    with pytest.raises(ValueError, match="is not a Belief"):
        kl.certify("x", greedy.T)


def test_what_the_prior_hopes_of_actions_never_tried_is_told_apart():
    """Two arms that pay 1 and 0.9 for certain, tried often, and one that nobody tried, of prior N(0, 100).

    The arm that was never tried is better by E max(0, x − 1) ≈ 39 a step, with x ~ N(0, 100²): the prior's hope. Of
    what was tried the greedy arm is best; what is left is the chance, 1 in some 600, of a state that nobody met.
    """
    prior = kl.Prior(kl.Gaussian(0.0, 100.0, 0.1), kl.Dirichlet(0.5), stationary=True)
    learner = kl.Learner(kl.PSRL(), Discrete(1), Discrete(3), 2, prior=prior)
    for episode in range(100):
        learner.act(0)
        learner.observe(1.0 - 0.1 * (episode % 2), 0, action=episode % 2)
        learner.act(0)
        learner.observe(1.0 - 0.1 * (episode % 2), 0, terminated=True, action=episode % 2)
        learner.end_episode()
    told = kl.certify(learner, draws=400)
    assert told.regret > 30.0
    assert abs(told.tried) < 1.0
    assert told.is_mostly_prior
    assert "the prior dominates" in Deployment((), told).lines()[-1]


def test_greedy_episodes_are_played_and_nothing_is_learnt():
    learner = kl.learn(kl.PSRL(), corridor(), episodes=30, seed=2, prior=PRIOR)
    before = learner.memory.policy.copy()
    told = deployment(learner, corridor(), 8)
    assert list(told.returns) == play_returns(learner, corridor(), episodes=8, seed=2)
    assert told.mean == pytest.approx(np.mean(told.returns))
    assert told.lines()[0].startswith(
        f"greedy play returns {told.mean:.4g} ± {told.error:.2g} per episode (8 episodes)"
    )
    assert told.data()["greedy"]["returns"] == list(told.returns)
    np.testing.assert_array_equal(learner.memory.policy, before)
    assert deployment(learner, corridor(), 0).data()["greedy"] is None
    assert deployment(kl.learn(kl.QLearning(), corridor(), episodes=3), corridor(), 2).certificate is None


def test_a_hope_beyond_all_returns_is_the_priors():
    """29 more than the best in FrozenLake, which pays 1 at most, after five episodes; nothing of it after many."""
    for returns, regret, is_hope in ((0.05, 29.1, True), (0.6, 0.3, False)):
        told = Deployment((returns, returns), Certificate(inf, regret, 1.0, 100, regret), largest=1.0)
        assert ("the prior dominates: no episode has returned more than 1" in told.lines()[-1]) == is_hope
        assert told.data()["certificate"]["mostly_prior"] == is_hope
    learner = kl.learn(kl.KLearning(), "FrozenLake-v1", episodes=5, prior="suggest")
    env = gymnasium.make("FrozenLake-v1")
    assert "the prior dominates" in deployment(learner, env, 20).lines()[-1]
    discounted = kl.learn(kl.KLearning(), env, episodes=5, settings=kl.LearnSettings(discount=0.9))
    assert deployment(discounted, env, 2).largest == inf


@pytest.mark.parametrize(("bound", "lines"), [(inf, 1), (3.0, 2), (float("nan"), 1)])
def test_a_bound_is_told_only_if_it_is_proved(bound, lines):
    told = Deployment((), Certificate(bound, 1.0, 0.1, 100))
    assert len(told.lines()) == lines
    assert told.data()["certificate"]["bound"] == (bound if lines == 2 else None)
    assert isnan(told.certificate.tried)
    assert told.data()["certificate"]["regret_of_tried_actions"] is None


@pytest.mark.slow
def test_what_is_not_allowed_is_said_so():
    """Pain 15: −1e+80 as the value of an action that is not allowed."""
    learner = kl.Learner(kl.KLearning(), Discrete(2), Discrete(3), 3)
    for _ in range(3):
        learner.act(0, [1, 0, 1])
        learner.observe(1.0, 1, terminated=True)
        learner.end_episode()
        assert learner.about(0).actions[1].probability == 0.0
    about = learner.about(0)
    assert [action.allowed for action in about.actions] == [True, False, True]
    assert (about.actions[1].value, about.actions[1].reward) == (None, None)
    assert "not allowed" in repr(about)
    assert "e+" not in repr(about)
    frame = learner.table(by="action", draws=2)
    assert frame["value"].isna().tolist()[:3] == [False, True, False]
    assert frame["value"].abs().max() < 100.0
