"""A bonus from outside the package: one row of facts and one function that fills c, and it is everywhere."""

import numpy as np
import pytest
from gymnasium.spaces import Discrete

import klearning as kl
from klearning.tabular.optimism.bonuses import BONUSES, Bonus, no_spans
from tests.cli.test_completion import offered
from tests.support import oracles
from tests.support.cases import random_case
from tools.bonuses import table


def fill_doubled(numbers, p, c):
    c[:] = p.variance


def fill_as_reward(numbers, p, c):
    c[:] = 0.5 * p.variance


DOUBLED = Bonus("doubled", "Var(μ|data)", "twice `reward`", "where transitions are known", no_spans, fill=fill_doubled)
SAME = Bonus("same", "½ Var(μ|data)", "`reward` again", "where transitions are known", no_spans, fill=fill_as_reward)


@pytest.fixture(autouse=True)
def added(monkeypatch):
    for bonus in (DOUBLED, SAME):
        monkeypatch.setitem(BONUSES, bonus.name, bonus)


def test_solve_reads_it():
    case = random_case(np.random.default_rng(0), [2, 3, 2], 2)
    m, P, _ = case.mean_model()
    K, *_ = oracles.k_values(m, [2 * c for c in case.half_variance("reward")], P, 0.4)
    oracles.assert_close(kl.solve(case.belief(), 0.4, "doubled").k_values, K, 1e-9)
    assert kl.solve(case.belief(), kl.schedule(3), "doubled").temperature > 0


def test_what_it_proves_follows_from_its_c():
    known, learnt = (random_case(np.random.default_rng(1), [2, 2], 2, "beta", t).belief() for t in ("known", "even"))
    assert kl.solve(known, bonus="doubled").proved
    assert not kl.solve(learnt, bonus="doubled").proved


@pytest.mark.parametrize("temperature", ["optimal", "schedule", 0.3])
def test_k_learning_learns_with_it(temperature):
    """Filled in Python, episode by episode, it is bit for bit what the compiled loop does with the same c."""
    one, other = (
        kl.run(kl.KLearning(temperature, bonus), kl.deep_sea(5), episodes=30, seeds=2, threads=1)
        for bonus in ("same", "reward")
    )
    np.testing.assert_array_equal(one.regret, other.regret)
    for name, values in one.diagnostics.items():
        np.testing.assert_array_equal(values, other.diagnostics[name])


def test_a_step_by_step_learner_takes_it():
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.3), kl.Dirichlet(0.5))
    actions = []
    for bonus in ("same", "reward"):
        agent = kl.KLearning(bonus=bonus)
        learner = kl.Learner(agent, Discrete(3), Discrete(2), 4, prior=prior, seed=1, grow_states=False)
        actions.append([])
        for t in range(20):
            x = t % 3
            while not learner.over:
                a = int(learner.act(x))
                actions[-1].append(a)
                x = (x + a) % 3
                learner.observe(float(x == 2), x)
            learner.end_episode()
    assert actions[0] == actions[1]


def test_it_is_checked_completed_told_and_taken_by_the_cone():
    with pytest.raises(ValueError, match="did you mean 'doubled'"):
        kl.KLearning(bonus="dubled")
    belief = random_case(np.random.default_rng(2), [2, 2], 2).belief()
    with pytest.raises(ValueError, match="did you mean 'doubled'"):
        kl.solve(belief, bonus="dubled")
    assert offered("run", "-a", "bonus=d") == ["bonus=doubled"]
    assert "| `doubled` | Var(μ\\|data) |" in table()
    pytest.importorskip("cvxpy")
    assert kl.solve_cone(belief, "doubled").bound == pytest.approx(kl.solve(belief, bonus="doubled").bound, abs=1e-6)
