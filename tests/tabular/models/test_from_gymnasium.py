"""Gymnasium's models become MDPs: their optima against value iteration written from P, and every mistake named."""

from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from tests.support import oracles
from tests.support.cases import modest
from tests.support.oracles import assert_close

LAKES = {
    f"{size} {'slippery' if slippery else 'firm'}": (
        "FrozenLake-v1", {"map_name": size, "is_slippery": slippery}, None
    )
    for size in ("4x4", "8x8")
    for slippery in (True, False)
}  # fmt: skip
MODELS = LAKES | {
    "8x8 by name": ("FrozenLake8x8-v1", {}, None),
    "taxi": ("Taxi-v4", {}, None),
    "taxi in rain": ("Taxi-v4", {"is_rainy": True}, 50),
    "cliff": ("CliffWalking-v1", {}, 100),
    "slippery cliff": ("CliffWalking-v1", {"is_slippery": True}, 100),
}


def value_iteration(P, horizon):
    """V of every state with 0 … horizon steps left, straight from the table: an ended episode earns nothing."""
    V = np.zeros(len(P))
    for _ in range(horizon):
        V = np.array(
            [
                max(sum(p * (r + (0.0 if over else V[y])) for p, y, r, over in P[s][a]) for a in P[s])
                for s in range(len(P))
            ]
        )
    return V


@pytest.mark.thin(3)
@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_that_of_value_iteration(model):
    name, options, horizon = MODELS[model]
    env = gym.make(name, **options)
    steps = horizon or env.spec.max_episode_steps
    mdp = kl.MDP.from_gymnasium(env, horizon)
    best = kl.optimal(mdp)
    V = value_iteration(env.unwrapped.P, steps)
    assert mdp.widths == [1 + len(V)] * steps
    assert (mdp.name, mdp.noise, mdp.goal) == (name, 0.0, None)
    np.testing.assert_allclose(best.values[0], np.append(0.0, V), rtol=1e-12, atol=1e-12)
    assert best.value == pytest.approx(env.unwrapped.initial_state_distrib @ V, rel=1e-12)


def test_optima_that_are_known():
    """The firm lake is crossed surely, the cliff passed in 13 steps, and an average fare of Taxi is 7.93."""
    assert kl.optimal(kl.MDP.from_gymnasium(gym.make("FrozenLake-v1", is_slippery=False))).value == 1.0
    assert kl.optimal(kl.MDP.from_gymnasium(gym.make("CliffWalking-v1"), 100)).value == -13.0
    assert kl.optimal(kl.MDP.from_gymnasium(gym.make("Taxi-v4"))).value == pytest.approx(7.93, abs=1e-12)


@pytest.mark.slow
def test_the_optimal_policy_earns_its_value_in_the_environment():
    """The mean of 2,000 returns, off by 5 standard errors: 6e-7 by chance."""
    env = gym.make("FrozenLake-v1", is_slippery=True)
    best = kl.optimal(kl.MDP.from_gymnasium(env))
    returns = np.zeros(2000)
    for i in range(len(returns)):
        state, _ = env.reset(seed=i)
        for l in range(100):
            state, reward, over, cut, _ = env.step(int(best.policy[l][state + 1].argmax()))
            returns[i] += reward
            if over or cut:
                break
    assert abs(returns.mean() - best.value) < 5 * returns.std() / np.sqrt(len(returns))


def random_table(rng, states, actions):
    """P of any shape: repeated successors, ends that pay, chances of zero."""
    return {
        s: {
            a: [
                (float(p), int(rng.integers(states)), float(rng.normal()), bool(rng.random() < 0.3))
                for p in (*rng.dirichlet(np.ones(rng.integers(1, 5))), 0.0)
            ]
            for a in range(actions)
        }
        for s in range(states)
    }


def dense(P):
    """Rewards and transitions of P with END in front, one outcome at a time."""
    n, actions = len(P), len(P[0])
    r, T = np.zeros((1 + n, actions)), np.zeros((1 + n, actions, 1 + n))
    T[0, :, 0] = 1.0
    for s in range(n):
        for a in range(actions):
            for p, y, reward, over in P[s][a]:
                r[1 + s, a] += p * reward
                T[1 + s, a, 0 if over else 1 + y] += p
    return r, T


@modest
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_any_table_is_what_it_says(states, actions, horizon, seed):
    rng = np.random.default_rng(seed)
    P, initial = random_table(rng, states, actions), rng.dirichlet(np.ones(states))
    mdp = kl.MDP.from_gymnasium(SimpleNamespace(P=P, initial_state_distrib=initial), horizon, noise=0.5)
    r, T = dense(P)
    assert_close(mdp.rewards, [r] * horizon)
    assert_close(mdp.transitions, [T] * (horizon - 1))
    assert_close([mdp.initial], [np.append(0.0, initial)])
    assert mdp.noise == 0.5
    assert_close(kl.optimal(mdp).values, oracles.optimal_values([r] * horizon, [T] * (horizon - 1))[0])
    distinct = [len(np.unique(mdp.rows.succ[f : f + n])) for f, n in zip(mdp.rows.start.flat, mdp.rows.length.flat)]
    assert distinct == mdp.rows.length.ravel().tolist()  # successors listed twice are one
    assert mdp.rows.length[:, : (1 + states) * (horizon - 1)].sum() == (horizon - 1) * (T > 0).sum()  # no zeros


@modest
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_stationary_models_are_stored_as_their_layers_would_be(states, actions, horizon, seed):
    rng = np.random.default_rng(seed)
    P = rng.random((states, actions, states)) * (rng.random((states, actions, states)) > 0.4)
    P = oracles.normalised(P + 0.1 * np.eye(states)[0])
    r, initial = rng.normal(size=(states, actions)), rng.dirichlet(np.ones(states))
    once = kl.MDP.from_stationary(r, P, initial, horizon)
    unrolled = kl.MDP.from_layers([r] * horizon, [P] * (horizon - 1), initial)
    for x, y in zip((*once.rows, once.reward, once.layers, once.initial),
                    (*unrolled.rows, unrolled.reward, unrolled.layers, unrolled.initial)):  # fmt: skip
        np.testing.assert_array_equal(x, y)


def test_lists_do_as_well_as_dicts():
    P = random_table(np.random.default_rng(0), 4, 2)
    lists = [list(P[s].values()) for s in P]
    start = [0.25] * 4
    of_dicts, of_lists = (kl.MDP.from_gymnasium(SimpleNamespace(P=p), 3, initial=start) for p in (P, lists))
    assert_close(of_lists.transitions, of_dicts.transitions)
    assert_close(of_lists.rewards, of_dicts.rewards)


def test_the_time_limit_is_the_horizon_unless_one_is_given():
    assert kl.MDP.from_gymnasium(gym.make("FrozenLake-v1", max_episode_steps=7)).horizon == 7
    assert kl.MDP.from_gymnasium(gym.make("FrozenLake-v1"), 9).horizon == 9


def world(P, **more):
    return kl.MDP.from_gymnasium(SimpleNamespace(P=P, **({"initial_state_distrib": [1.0], "horizon": 2} | more)))


SELF = [(1.0, 0, 0.0, False)]
MISTAKES = {
    "no time limit": (lambda: kl.MDP.from_gymnasium(gym.make("CliffWalking-v1")), "may never end: give horizon="),
    "no model": (lambda: kl.MDP.from_gymnasium(gym.make("CartPole-v1")), "no model `env.unwrapped.P`"),
    "horizon": (lambda: kl.MDP.from_gymnasium(gym.make("FrozenLake-v1"), 0), "horizon=0 is too small"),
    "no start": (lambda: world([[SELF]], initial_state_distrib=None), "no initial_state_distrib: give initial="),
    "start": (lambda: world([[SELF]], initial_state_distrib=[0.5]), "initial sums to 0.5"),
    "no states": (lambda: world({}), "P is empty"),
    "no actions": (lambda: world([[]]), "P is empty"),
    "names for states": (lambda: world({"a": [SELF]}), r"not of the form P\[state\]\[action\]"),
    "ragged": (lambda: world([[SELF], [SELF, SELF]]), r"P\[1\] has 2 actions and P\[0\] has 1"),
    "three": (lambda: world([[[(1.0, 0, 0.0)]]]), r"P\[0\]\[0\] holds \(1.0, 0, 0.0\)"),
    "no tuple": (lambda: world([[[1.0]]]), "not of the form"),
    "sum": (lambda: world([[[(0.5, 0, 0.0, False)]]]), r"P\[0\]\[0\] sums to 0.5"),
    "nothing listed": (lambda: world([[SELF, []]]), r"P\[0\]\[1\] sums to 0"),
    "negative": (lambda: world([[SELF, [(1.5, 0, 0, False), (-0.5, 0, 0, False)]]]), r"P\[0\]\[1\] has a prob.* -0.5"),
    "next": (lambda: world([[[(1.0, 1, 0.0, False)]]]), r"P\[0\]\[0\] leads to 1: give a state from 0 to 0"),
    "half": (lambda: world([[SELF], [[(1.0, 0.5, 0.0, False)]]]), r"P\[1\]\[0\] leads to 0.5"),
    "nan": (lambda: world([[[(1.0, 0, np.nan, False)]]]), "reward of all outcomes.*nan is not finite"),
    "noise": (lambda: kl.MDP.from_gymnasium(gym.make("FrozenLake-v1"), noise=-1), "noise=-1"),
}  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named(mistake, message):
    with pytest.raises(ValueError, match=message):
        mistake()


def test_a_goal_is_numbered_as_the_environment_does():
    lake = kl.MDP.from_gymnasium(gym.make("FrozenLake-v1", is_slippery=False), horizon=6, goal=(14, 2))
    assert kl.run(kl.OptimalAgent(), lake, episodes=20, seeds=1).hits.all()
    elsewhere = kl.MDP.from_gymnasium(gym.make("FrozenLake-v1", is_slippery=False), horizon=6, goal=(3, 0))
    assert not kl.run(kl.OptimalAgent(), elsewhere, episodes=20, seeds=1).hits.any()
    with pytest.raises(ValueError, match=r"goal=\(16, 0\) is not a .*below \(16, 4\)"):
        kl.MDP.from_gymnasium(gym.make("FrozenLake-v1"), goal=(16, 0))
