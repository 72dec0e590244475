"""One form of data for agents, worlds and priors; what was registered is known by its code."""

import importlib.util
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from gymnasium import spaces

import klearning as kl
from klearning.lab.experiments import spec as specs
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import HINTS, make_spec, spec_from_json
from klearning.lab.experiments.store import Store
from klearning.simulators import codec
from klearning.tabular.agents import AGENTS
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.worlds import SOURCES, WORLDS

SEA = {"name": "deep_sea", "depth": 3}

OWN = '''
from dataclasses import dataclass

import numpy as np

import klearning as kl


@kl.register_agent
@dataclass(frozen=True)
class Stubborn(kl.Random):
    """Always the same action."""

    action: int = 1

    def begin(self, belief):
        memory = super().begin(belief)
        memory.policy[:] = np.eye(belief.actions)[:, [self.action]]
        return memory


@kl.register_world
def ladder(rungs: int, noise: float = 0.1):
    """Up pays at the top."""
    P, R = np.zeros((rungs, 2, rungs)), np.zeros((rungs, 2))
    for s in range(rungs):
        P[s, 0, max(s - 1, 0)] = P[s, 1, min(s + 1, rungs - 1)] = 1.0
    R[-1, 1] = 1.0
    return kl.MDP.from_stationary(R, P, np.eye(rungs)[0], rungs, noise, name=f"ladder({rungs})")
'''
LADDER, STUBBORN = {"name": "ladder", "rungs": 3}, {"name": "Stubborn", "action": 0}


@pytest.fixture
def own(tmp_path):
    """Runs a text as the file own.py, and forgets at the end what that registered."""

    def import_user_code(text=OWN):
        path = tmp_path / "own.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("own", path)
        sys.modules["own"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield import_user_code
    sys.modules.pop("own", None)
    for registry in codec.REGISTRIES.values():
        for name in registry.origins:
            registry.pop(name, None)
            SOURCES.pop(name, None)
        registry.origins.clear()


# What is registered


def test_code_is_part_of_a_runs_name(own):
    own()
    before = make_spec(LADDER, STUBBORN, episodes=3)
    assert set(before.agent) == {"name", "action", "code", "module"}
    assert before.agent["module"] == before.world["module"] == "own"
    assert len(before.agent["code"]) == 16
    own(OWN + "\n# changed\n")
    after = make_spec(LADDER, STUBBORN, episodes=3)
    assert {**after.agent, "code": ""} == {**before.agent, "code": ""}
    assert after.name != before.name
    own()
    assert make_spec(LADDER, STUBBORN, episodes=3).name == before.name


def test_ours_have_no_code():
    """So that the names of runs stay when files are edited or moved."""
    for registry in (AGENTS, WORLDS):
        assert registry.ours == set(registry)
        assert all(registry.origin(name) == {} for name in registry)


def test_other_code_than_that_of_a_run_is_one_clear_error(own):
    own()
    spec = make_spec(LADDER, STUBBORN, episodes=3)
    own(OWN + "\n# changed\n")
    for build in (specs.build_world, specs.build_agent):
        with pytest.raises(ValueError, match=rf"was code {spec.agent['code']} of own"):
            build(spec_from_json(spec.canonical))


def test_what_is_not_registered_is_an_error_that_says_what_to_import(own):
    own()
    spec = make_spec(LADDER, STUBBORN, episodes=3)
    del AGENTS["Stubborn"], WORLDS["ladder"]
    with pytest.raises(codec.NotRegistered, match=r"agent='Stubborn' is not registered: import own.*--import"):
        specs.build_agent(spec)
    with pytest.raises(codec.NotRegistered, match=r"world='ladder' is not registered: import own.*--import"):
        specs.build_world(spec)
    with pytest.raises(codec.NotRegistered, match=r"agent='Stubbon' is unknown.*--import the file"):
        make_spec(SEA, {"name": "Stubbon"}, episodes=3)
    assert spec_from_json(spec.canonical).name == spec.name  # it can be read all the same


def test_the_data_of_a_run_can_be_given_again(own):
    """As a report's sweep file does, code included."""
    own()
    spec = make_spec(LADDER, STUBBORN, episodes=3)
    assert make_spec(spec.world, spec.agent, episodes=3).name == spec.name
    with pytest.raises(ValueError, match="was code 0123"):
        make_spec(spec.world, {**spec.agent, "code": "0123"}, episodes=3)


def test_a_run_of_ones_own(own, tmp_path):
    module = own()
    spec = make_spec(LADDER, module.Stubborn(1), episodes=5, seeds=[2])
    store = Store(tmp_path / "store")
    execute(spec, store)
    runs = kl.run(module.Stubborn(1), module.ladder(3), episodes=5, seeds=[2])
    np.testing.assert_array_equal(store.arrays(spec)["values"], runs.values[0])


def test_a_learner_of_ones_own_is_saved_and_loaded(own, tmp_path):
    module, path = own(), tmp_path / "x.npz"
    learner = kl.Learner(module.Stubborn(0), spaces.Discrete(3), spaces.Discrete(2), 4)
    learner.save(path)
    assert kl.load(path).agent == module.Stubborn(0)
    del AGENTS["Stubborn"]
    with pytest.raises(ValueError, match=r"x\.npz cannot be read here: agent='Stubborn' is not registered: import own"):
        kl.load(path)


REFUSED = {
    "ours": ("class KLearning(kl.Random): pass\nkl.register_agent(KLearning)", "'KLearning' is built in"),
    "our world": ("def bandit(): pass\nkl.register_world(bandit)", "'bandit' is built in"),
    "an agent, not its class": ("kl.register_agent(kl.PSRL())", "is not a class"),
    "no agent": ("class Nobody: pass\nkl.register_agent(Nobody)", "'Nobody' has no method 'begin'"),
    "no function": ("kl.register_world(kl.bandit())", "is not a function"),
    "parameters without names": ("def w(*sizes): pass\nkl.register_world(w)", r"takes \*sizes"),
    "a parameter called code": ("def w(code=1): pass\nkl.register_world(w)", "parameter 'code'"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_registered(own, text, message):
    before = {kind: dict(registry) for kind, registry in codec.REGISTRIES.items()}
    with pytest.raises(ValueError, match=message):
        own("import klearning as kl\n" + text)
    assert {kind: dict(registry) for kind, registry in codec.REGISTRIES.items()} == before


def test_registering_is_a_call_or_a_decorator_and_may_be_repeated(own):
    module = own()
    assert kl.register_agent(module.Stubborn) is module.Stubborn
    assert kl.register_world(kl.bandit) is kl.bandit  # what is there anyway
    assert SOURCES["ladder"] == "registered by own"


def test_what_has_no_source_runs_but_has_no_name(own):
    space = {"kl": kl, "__name__": "typed"}
    exec("class Typed(kl.Random): pass\nkl.register_agent(Typed)", space)
    assert kl.run(space["Typed"](), kl.bandit(), episodes=2, seeds=1).values.shape == (1, 2)
    with pytest.raises(ValueError, match="'Typed' has no source file"):
        make_spec(SEA, space["Typed"](), episodes=3)
    del AGENTS["Typed"], AGENTS.origins["Typed"]


MISTAKES = {
    "no default": (make_spec, {"world": {"name": "ladder"}}, "'rungs' of ladder has no default"),
    "no data": (make_spec, {"world": {"name": "ladder", "rungs": {1, 2}}}, "is not plain data"),
    "a name": (make_spec, {"agent": "KLearning"}, r"is a name: give {'name': 'KLearning'}, or an agent"),
    "a class": (make_spec, {"agent": kl.PSRL}, r"is a class: give an agent, PSRL\(\)"),
    "a world itself": (make_spec, {"world": kl.bandit()}, "is not a table"),
}


@pytest.mark.parametrize(("make", "given", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(own, make, given, message):
    own()
    with pytest.raises(ValueError, match=message):
        make(**{"world": SEA, "agent": kl.PSRL(), "episodes": 3, **given})


def test_a_world_that_makes_no_mdp(own):
    own("import klearning as kl\n@kl.register_world\ndef nothing(): return 3")
    with pytest.raises(ValueError, match="world='nothing' made a int"):
        make_spec({"name": "nothing"}, kl.PSRL(), episodes=3)


def test_a_world_of_ones_own_may_be_drawn_from_the_prior(own):
    text = "@kl.register_world\ndef drawn(prior=None, seed=0):\n    return kl.random_mdp(3, 2, 2, prior, seed)\n"
    own("import klearning as kl\n" + text)
    prior = kl.Prior(kl.Gaussian(sd=3.0))
    spec = make_spec({"name": "drawn"}, kl.PSRL(), prior, episodes=3)
    assert "prior" not in spec.world
    np.testing.assert_array_equal(specs.build_world(spec).reward, kl.random_mdp(3, 2, 2, prior).reward)
    assert replace(spec, seeds=2).single(1).world["seed"] == 1


# Priors

TOLD = {
    "support": ({"mass": 0.5, "support": "world"}, lambda w: kl.Dirichlet(0.5, w)),
    "known": ({"kind": "known", "transitions": "world"}, kl.Known),
}


@pytest.mark.parametrize("stationary", [False, True], ids=["layered", "stationary"])
@pytest.mark.parametrize("told", TOLD)
def test_what_is_known_of_transitions_in_a_spec(told, stationary, tmp_path):
    """By the word "world", or as lists: the same run, and that of `run`."""
    data, rows = TOLD[told]
    named = {"name": "river_swim", "states": 3, "horizon": 4}
    world = kl.river_swim(3, 4)
    prior = kl.Prior(transitions=rows(world), stationary=stationary)
    spec = make_spec(named, kl.PSRL(), {"transitions": data, "stationary": stationary}, episodes=20)
    lists = make_spec(named, kl.PSRL(), prior, episodes=20)
    assert spec.name != lists.name
    store = Store(tmp_path / "store")
    for one in (spec, spec_from_json(lists.canonical)):
        execute(one, store)
    runs = kl.run(kl.PSRL(), world, prior=prior, episodes=20, seeds=[0])
    for one in (spec, lists):
        np.testing.assert_array_equal(store.arrays(one)["values"], runs.values[0])


def test_a_drawn_world_and_its_support():
    """Drawn with every next state possible, then told; nothing can be known that is yet to be drawn."""
    drawn = {"name": "random_mdp", "states": 3, "seed": 4}
    spec = make_spec(drawn, kl.PSRL(), {"transitions": {"mass": 0.3, "support": "world"}}, episodes=3)
    world = specs.build_world(spec)
    np.testing.assert_array_equal(world.rows.weight, kl.random_mdp(3, seed=4).rows.weight)
    assert specs.build_prior(spec).transitions.support.rows.used == world.rows.used
    with pytest.raises(ValueError, match="is drawn from the prior"):
        make_spec(drawn, kl.PSRL(), {"transitions": {"kind": "known", "transitions": "world"}}, episodes=3)


WRONG = {
    "word": ({"support": "wold"}, "did you mean 'world'"),
    "nothing known": ({"kind": "known"}, "are not given"),
    "mass of what is known": ({"kind": "known", "transitions": "world", "mass": 1.0}, "'mass' is unknown"),
    "no blocks": ({"support": [[1.0, 1.0]]}, r"prior support\[0\] has shape"),
    "a number": ({"support": 3}, "is not a list"),
    "of another world": ({"support": np.ones((1, 1, 2, 1)).tolist()}, "support has 1 entries: give 2"),
    "too large": ({"support": [np.ones((30, 30, 30))]}, "27,000 entries"),
    "no probabilities": ({"kind": "known", "transitions": [np.ones((1, 2, 2)), np.ones((2, 2, 3))]}, "sums to 2"),
}


@pytest.mark.parametrize(("rows", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_known(rows, message):
    with pytest.raises(ValueError, match=message) as caught:
        make_spec(SEA, kl.PSRL(), {"transitions": rows}, episodes=3)
    assert "\n" not in str(caught.value)


PRIORS = {
    "default": kl.Prior(),
    "coins": kl.Prior(kl.Beta(2.0, 1.0), span=[1.0, 2.0, 3.0], stationary=True),
    "unknown noise": kl.Prior(kl.UnknownNoise(0.5, 2.0, 0.1, strength=4.0)),
    "support": kl.Prior(transitions=kl.Dirichlet(0.5, kl.deep_sea(3))),
    "known": kl.Prior(transitions=kl.Known(kl.deep_sea(3))),
}


@pytest.mark.parametrize("beside", [True, False], ids=["arrays", "lists"])
@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_and_back(name, beside):
    arrays = {} if beside else None
    data = json.loads(json.dumps(codec.prior_data(PRIORS[name], arrays)))
    again = codec.build_prior(data, beside=arrays)
    assert again.reward == PRIORS[name].reward
    assert (again.span, again.stationary) == (PRIORS[name].span, PRIORS[name].stationary)
    assert bool(arrays) == (beside and bool(PRIORS[name].transitions.blocks))
    for ours, theirs in zip(again.transitions.blocks, PRIORS[name].transitions.blocks, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if not PRIORS[name].stationary:
        sea = kl.deep_sea(3)
        beliefs = [Belief.empty(p, sea.widths, sea.actions, sea.initial, sea.end) for p in (again, PRIORS[name])]
        np.testing.assert_array_equal(*(belief.transitions.rows.weight for belief in beliefs))


def test_a_hint_is_a_setting_of_its_own():
    """What the agent is told of the world does not enter the prior that worlds are drawn from."""
    prior = kl.Prior(kl.Beta(2, 1.5), kl.Dirichlet(1), span=2)
    hinted = {hint: make_spec({"name": "random_mdp"}, kl.KLearning(), prior, episodes=10, hint=hint) for hint in HINTS}
    assert len({spec.name for spec in hinted.values()}) == 3
    first, *others = (specs.build_world(spec).reward for spec in hinted.values())
    assert all(np.array_equal(first, other) for other in others)
    assert specs.build_prior(hinted["support"]).transitions.support is not None
    assert isinstance(specs.build_prior(hinted["transitions"]).transitions, kl.Known)
