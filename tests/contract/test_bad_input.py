"""Every mistake is a ValueError that names the field, and says what to give."""

import subprocess
import sys

import numpy as np
import pytest

import klearning as kl

ROW = [[[[0.5, 0.5], [1.0, 0.0]]]]  # one layer of one state and two actions over two states
PRIOR = kl.Prior()


def counts(**changes):
    good = {
        "visits": [[[1, 2]], [[1, 0], [2, 0]]],
        "reward_sums": [[[0.5, 1.0]], [[0.1, 0.0], [0.2, 0.0]]],
        "transition_counts": [[[[1, 0], [0, 2]]]],
        "initial": [1.0],
    }
    return kl.Belief.from_counts(changes.pop("prior", PRIOR), **(good | changes))


def layers(**changes):
    good = {"rewards": [[[0.0, 1.0]], [[0.0, 0.1], [0.2, 0.3]]], "transitions": ROW, "initial": [1.0]}
    return kl.MDP.from_layers(**(good | changes))


def test_the_good_ones_are_good():
    counts()
    layers()


CASES = {
    "reward nan": (lambda: layers(rewards=[[[np.nan, 1.0]], [[0, 0.1], [0.2, 0.3]]]), r"rewards\[0\]\[0, 0\]=nan"),
    "no layers": (lambda: layers(rewards=[]), "rewards is empty"),
    "actions differ": (lambda: layers(rewards=[[[0.0, 1.0]], [[0.0], [0.2]]]), r"rewards\[1\] has shape \(2, 1\)"),
    "rows do not sum": (
        lambda: layers(transitions=[[[[0.5, 0.4], [1.0, 0.0]]]]),
        r"transitions\[0\]\[0, 0\] sums to 0.9.*sum to one",
    ),
    "negative probability": (lambda: layers(transitions=[[[[1.5, -0.5], [1.0, 0.0]]]]), "is negative"),
    "wrong shape": (lambda: layers(transitions=[[[[1.0], [1.0]]]]), r"transitions\[0\] has shape \(1, 2, 1\)"),
    "too few transitions": (lambda: layers(transitions=[]), "transitions has 0 entries: give 1"),
    "initial": (lambda: layers(initial=[0.9]), "initial sums to 0.9"),
    "noise negative": (lambda: layers(noise=-1.0), "noise=-1.0 is out of range"),
    "noise word": (lambda: layers(noise="gaussian"), "noise='gaussian' is unknown"),
    "bernoulli range": (lambda: layers(rewards=[[[0, 2]], [[0, 0], [0, 0]]], noise="bernoulli"), r"outside \[0, 1\]"),
    "goal": (lambda: layers(goal=(9, 0)), "goal"),
    "text for numbers": (lambda: layers(rewards=[[["a", "b"]], [[0, 0], [0, 0]]]), "not an array of numbers"),
    "no mdp": (lambda: kl.optimal("FrozenLake-v1"), "mdp='FrozenLake-v1' is not an MDP: give one"),
    "no mdp to evaluate": (lambda: kl.evaluate(None, []), "mdp=None is not an MDP"),
    "an environment's name": (lambda: kl.run(kl.PSRL(), "Taxi-v3"), r"in an environment, kl.learn\(agent, 'Taxi-v3'\)"),
    "half an episode": (lambda: kl.run(kl.PSRL(), kl.deep_sea(3), episodes=1.5), "episodes=1.5 is not a whole number"),
    "settings": (lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", settings={}), r"give for example kl.LearnSettings\("),
    "horizon": (lambda: kl.MDP.from_stationary([[0.0]], [[[1.0]]], [1.0], 0), "horizon=0 is too small"),
    "horizon float": (lambda: kl.MDP.from_stationary([[0.0]], [[[1.0]]], [1.0], 2.5), "horizon=2.5 is not a whole"),
    "stationary rows": (lambda: kl.MDP.from_stationary([[0.0]], [[[0.7]]], [1.0], 2), "sums to 0.7"),
    "depth": (lambda: kl.deep_sea(0), "depth=0"),
    "slip": (lambda: kl.deep_sea(3, slip=1.5), "slip=1.5"),
    "river": (lambda: kl.river_swim(states=1), "states=1"),
    "random mdp": (lambda: kl.random_mdp([2, 3], horizon=3), "horizon=3 disagrees"),
    "random mdp of nothing": (lambda: kl.random_mdp([]), r"states=\[\] is empty: give one number per layer"),
    "check agent nan": (lambda: kl.check_agent(kl.KLearning(), episodes=np.nan), "episodes=nan is not a whole number"),
    "check agent none": (lambda: kl.check_agent(kl.KLearning(), episodes=0), "episodes=0 is too small"),
    "visits negative": (lambda: counts(visits=[[[-1, 2]], [[1, 0], [2, 0]]]), r"visits\[0\]\[0, 0\]=-1 is negative"),
    "visits nan": (lambda: counts(visits=[[[np.nan, 2]], [[1, 0], [2, 0]]]), "not finite"),
    "visits empty": (lambda: counts(visits=[]), "visits is empty"),
    "counts disagree": (
        lambda: counts(transition_counts=[[[[1, 0], [0, 1]]]]),
        r"transition_counts\[0\]\[0, 1\] sums to 1 but visits\[0\]\[0, 1\]=2",
    ),
    "counts shape": (lambda: counts(transition_counts=[[[[1], [2]]]]), "has shape"),
    "sums unseen": (
        lambda: counts(reward_sums=[[[0.5, 1.0]], [[0.1, 9.0], [0.2, 0.0]]]),
        "state 1, action 1 is 9 after no visit",
    ),
    "coin flips": (
        lambda: counts(prior=kl.Prior(kl.Beta()), reward_sums=[[[1.5, 1.0]], [[0.1, 0.0], [0.2, 0.0]]]),
        r"1.5 in 1 visits: rewards lie in \[0, 1\]",
    ),
    "sums shape": (lambda: counts(reward_sums=[[[0.5]], [[0.1], [0.2]]]), r"reward_sums\[0\] has shape"),
    "sd": (lambda: kl.Gaussian(sd=-1.0), "sd=-1.0"),
    "sd text": (lambda: kl.Gaussian(sd="big"), "sd='big' is not a number"),
    "beta": (lambda: kl.Beta(0.0, 1.0), "a=0.0 is out of range"),
    "mass": (lambda: kl.Dirichlet(0.0), "mass=0.0"),
    "prior reward": (lambda: kl.Prior(reward=1.0), "reward=1.0 is not a reward prior"),
    "prior transitions": (lambda: kl.Prior(transitions=0.3), "transitions=0.3 is not a transition prior"),
    "span": (lambda: kl.solve(counts(prior=kl.Prior(span=-1.0)), bonus="sharp"), "span=-1.0"),
    "span length": (lambda: kl.solve(counts(prior=kl.Prior(span=[1.0])), bonus="sharp"), "span has shape"),
    "support empty": (
        lambda: counts(prior=kl.Prior(transitions=kl.Dirichlet(1.0, [[[[False, False], [True, False]]]]))),
        "support of state 0, action 0 is empty",
    ),
    "known rows": (
        lambda: counts(prior=kl.Prior(transitions=kl.Known([[[[0.5, 0.4], [1.0, 0.0]]]]))),
        "transitions.* sums to 0.9",
    ),
    "known shape": (
        lambda: counts(prior=kl.Prior(transitions=kl.Known(kl.deep_sea(3)))),
        "other layers or actions than the world",
    ),
    "bonus": (lambda: kl.solve(counts(), bonus="sharpe"), "bonus='sharpe' is unknown: did you mean 'sharp'"),
    "temperature word": (lambda: kl.solve(counts(), "optimum"), "did you mean 'optimal'"),
    "temperature negative": (lambda: kl.solve(counts(), -0.1), "temperature=-0.1"),
    "temperature nan": (lambda: kl.solve(counts(), np.nan), "temperature=nan"),
    "temperature infinite": (lambda: kl.solve(counts(), np.inf), "temperature=inf"),
    "temperature zero": (lambda: kl.solve(counts(), 0.0), "temperature=0 makes the bonus"),
    "temperature tiny": (lambda: kl.solve(counts(), 1e-320), "beyond the range of floats"),
    "temperature hot": (lambda: kl.solve(counts(), 1e101), 'from 1e-100 to 1e.100, or temperature="optimal"'),
    "temperature cold": (lambda: kl.KLearning(temperature=1e-155), "from 1e-100 to 1e.100"),
    "mass light": (lambda: kl.Dirichlet(1e-307), "mass=1e-307 is out of range.*1e-50"),
    "mass heavy": (lambda: kl.Dirichlet(1e16), "mass=1e.16 is out of range.*1e.09"),
    "sd tiny": (lambda: kl.Gaussian(sd=1e-100), "sd=1e-100 is out of range: give 0, or a number from 1e-50"),
    "sd huge": (lambda: kl.Gaussian(sd=1e200), "sd=1e.200 is out of range"),
    "noise huge": (lambda: kl.Gaussian(noise=1e51), "noise=1e.51 is out of range"),
    "mean huge": (lambda: kl.Gaussian(mean=-1e300), "mean=-1e.300 is out of range"),
    "beta tiny": (lambda: kl.Beta(1e-320, 1.0), "is out of range: give a number from 1e-50"),
    "temperature none": (lambda: kl.solve(counts(), None), "temperature=None is not a number"),
    "tolerance": (lambda: kl.solve(counts(), tolerance=0.0), "tolerance=0.0"),
    "schedule": (lambda: kl.schedule(0), "t=0 is too small"),
    "agent temperature": (lambda: kl.KLearning(temperature=0.0), "temperature=0.0"),
    "agent word": (lambda: kl.KLearning(temperature="scheduled"), "did you mean 'schedule'"),
    "agent bonus": (lambda: kl.KLearning(bonus="papers"), "did you mean 'paper'"),
    "episodes": (lambda: kl.run(kl.KLearning(), kl.deep_sea(3), episodes=0), "episodes=0"),
    "seeds": (lambda: kl.run(kl.KLearning(), kl.deep_sea(3), seeds=0), "seeds=0"),
    "seeds repeat": (lambda: kl.run(kl.KLearning(), kl.deep_sea(3), seeds=[1, 1]), "has repeats"),
    "seeds word": (lambda: kl.run(kl.KLearning(), kl.deep_sea(3), seeds="five"), "seeds='five'"),
    "world": (lambda: kl.run(kl.KLearning(), "deep_sea"), "world='deep_sea' is not an MDP"),
    "threads": (lambda: kl.run(kl.KLearning(), kl.deep_sea(3), threads=0), "threads=0"),
    "policy": (lambda: kl.evaluate(kl.deep_sea(2), np.full((3, 2), 0.4)), "sums to 0.8"),
    "policy shape": (lambda: kl.evaluate(kl.deep_sea(2), np.full((2, 2), 0.5)), "policy has shape"),
    "path": (lambda: counts().update([0, 0], [0, 0], [0.0, 0.0]), "is not a path"),
    "path actions": (lambda: counts().update([0, 1], [0, 2], [0.0, 0.0]), "actions="),
    "path rewards": (lambda: counts().update([0, 1], [0, 1], [0.0, np.inf]), "not finite"),
    "cone solver": (lambda: kl.solve_cone(counts(), solver="CLARABELL"), "did you mean 'CLARABEL'"),
    "no belief for the cone": (lambda: kl.solve_cone(5), "belief=5 is not a Belief: give one"),
    "noise fix": (lambda: layers(noise="gaussian"), "give a standard deviation, or 'bernoulli'"),
    "no list of rewards": (lambda: layers(rewards=None), "rewards is of type NoneType: give a list"),
    "no list of visits": (lambda: counts(visits=5), "visits is of type int: give a list"),
    "no list of transitions": (lambda: kl.Known(5), "transitions is of type int: give a list"),
    "no list of supports": (lambda: kl.Dirichlet(1.0, 5), "support is of type int: give a list"),
    "sd as a string": (lambda: kl.Gaussian(sd="1"), "sd='1' is not a number: give a float"),
    "sd as a flag": (lambda: kl.Gaussian(sd=True), "sd=True is not a number: give a float"),
    "concentration as a string": (lambda: kl.PSRL(concentration="2"), "concentration='2' is not a number"),
    "infinite mean": (lambda: kl.Gaussian(mean=np.inf), "mean=inf is out of range: give a finite number$"),
    "prior families": (lambda: kl.Prior(reward="beta"), "give one of Gaussian, Beta, UnknownNoise$"),
    "belief before a name": (lambda: kl.Belief.before(PRIOR, "deep_sea"), "world='deep_sea' is not an MDP: give one"),
    "no arms": (lambda: kl.bandit([]), "means has no entries: give a number per arm"),
    "random mdp seed": (lambda: kl.random_mdp(seed=-1), "seed=-1 is too small: give an integer of at least 0"),
    "mapping seed": (lambda: kl.deep_sea(3, mapping_seed="a"), "mapping_seed='a' is not a whole number"),
    "depth huge": (lambda: kl.deep_sea(10**9), "depth=1000000000 takes .* this machine has .*: give a smaller one"),
    "river huge": (lambda: kl.river_swim(states=10**9), "states=1000000000 takes .* bytes"),
    "random mdp huge": (lambda: kl.random_mdp(10**9), "states=1000000000 takes .* bytes"),
    "inventory huge": (lambda: kl.inventory(capacity=10**9), "capacity=1000000000 takes .* bytes"),
    "inventory long": (lambda: kl.inventory(horizon=10**12), "horizon=1000000000000 takes .* bytes"),
    "queue huge": (lambda: kl.admission_queue(buffer=10**9), "buffer=1000000000 takes .* bytes"),
    "doses huge": (lambda: kl.dose_finding(doses=10**12), "doses=1000000000000 takes .* bytes"),
    "horizon huge": (lambda: kl.river_swim(horizon=10**12), "horizon=1000000000000 takes .* bytes"),
    "seeds huge": (lambda: kl.run(kl.PSRL(), kl.deep_sea(3), seeds=10**12), "seeds=1000000000000 takes .* bytes"),
    "seeds of a huge range": (
        lambda: kl.run(kl.PSRL(), kl.deep_sea(3), seeds=range(10**12)),
        r"seeds=range\(0, 1000000000000\) takes .* bytes",
    ),
    "progress": (lambda: kl.run(kl.PSRL(), kl.deep_sea(3), progress="yes"), "progress='yes' is not a flag: give True"),
    "bins of a name": (lambda: kl.Binned("CartPole-v1"), r"is a name: give the environment, gymnasium.make\('Cart"),
    "bins of a number": (lambda: kl.Binned(5), "env=5 is not a Gymnasium environment"),
    "save as a number": (lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", save=5), "save=5 is not a path: give the name"),
    "save nowhere": (lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", save=""), "save='' is not a path: give the name"),
    "resume a number": (lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", resume=5), "resume=5 is not a path"),
    "load a number": (lambda: kl.load(5), "path=5 is not a path: give the name of a file"),
    "callbacks": (lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", callbacks=5), r"callbacks=5 is not a list of functions"),
    "callback": (lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", callbacks=[5]), r"callbacks=\[5\] is not a list of"),
    "masks": (
        lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", settings=kl.LearnSettings(action_masks="no")),
        "action_masks='no' is neither True nor False",
    ),
    "keep": (lambda: kl.run(kl.PSRL(), kl.deep_sea(3), keep=5), "keep=5 is not a list: give 'all', 'points', or"),
    "sd of RLSVI": (lambda: kl.RLSVI(sd=1e300), "sd=1e.300 is out of range: give a number from 1e-50"),
    "span as a string": (lambda: kl.Prior(span="x"), "span='x' is not a number: give a float"),
    "span nan": (lambda: kl.Prior(span=np.nan), "span=nan is out of range"),
    "stationary": (lambda: kl.Prior(stationary="no"), "stationary='no' is neither True nor False"),
    "path of a writer": (lambda: kl.callbacks.CSVWriter(5), "path=5 is not a path: give the name of a file"),
    "what to evaluate in": (lambda: kl.callbacks.EvalCallback(5), "env=5 is not a Gymnasium environment"),
    "learner's horizon": (
        lambda: kl.learn(kl.PSRL(), "FrozenLake-v1", horizon=10**12),
        "horizon=1000000000000 takes .* bytes",
    ),
    "the model of a name": (lambda: kl.MDP.from_gymnasium("FrozenLake-v1"), "has no model `env.unwrapped.P`: give an"),
    "progress of a match": (
        lambda: kl.games.play(kl.games.UCB(), kl.games.Game([[1.0]]), progress="yes"),
        "progress='yes' is not a flag: give True",
    ),
    "world without a name": (lambda: kl.register_world(lambda: kl.deep_sea(3)), "world='<lambda>' has no name"),
}


@pytest.mark.parametrize(("mistake", "message"), CASES.values(), ids=CASES.keys())
def test_mistakes_are_named(mistake, message):
    with pytest.raises(ValueError, match=message):
        mistake()


def test_unknown_names_are_errors():
    with pytest.raises(TypeError):
        kl.KLearning(temprature=1.0)


def test_a_misspelt_name_of_the_package_has_a_suggestion():
    """Python's own, in the last line of a traceback."""
    code = "import klearning as kl; kl.VAPOUR"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith(
        "AttributeError: module 'klearning' has no attribute 'VAPOUR'. Did you mean: 'VAPOR'?\n"
    )


def test_whole_floats_count():
    one, other = (kl.run(kl.PSRL(), kl.deep_sea(3), episodes=n, seeds=1) for n in (1e2, 100))
    assert (one.regret == other.regret).all()
