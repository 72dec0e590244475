"""Specs: what names a run, what is refused, and how a sweep file becomes runs."""

import inspect
import json
import string
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab.experiments import spec as specs
from klearning.lab.experiments.spec import make_spec, spec_from_json, sweep_from_toml
from klearning.tabular.agents import AGENTS
from klearning.tabular.worlds import WORLDS
from tests.support.cases import modest

SEA = {"name": "deep_sea", "depth": 4}
K = {"name": "KLearning"}


def spec(**changes):
    return make_spec(**{"world": SEA, "agent": K, "episodes": 10, **changes})


def same_world(a, b):
    """All that an MDP consists of."""
    same = (a.noise, a.goal, a.name) == (b.noise, b.goal, b.name)
    pairs = [(a.layers, b.layers), (a.reward, b.reward), (a.initial, b.initial), *zip(a.rows, b.rows, strict=True)]
    return same and all(np.array_equal(x, y) for x, y in pairs)


def same_prior(a, b):
    return (a.reward, a.transitions.mass, a.transitions.support, a.span) == (
        b.reward, b.transitions.mass, b.transitions.support, b.span,
    )  # fmt: skip


# Identity


def test_golden_name():
    """A change of these bytes orphans every store that exists: raise VERSION with it."""
    kept = make_spec(
        {"name": "bandit", "means": [0.25, 0.5], "noise": 1.0},
        {"name": "Random"},
        {"reward": {"kind": "gaussian", "mean": 0.0, "sd": 2.0, "noise": 0.5}, "transitions": {"mass": 0.3}},
        episodes=7,
        seeds=[3],
        protocol="text",
        stop="solved",
        evaluate_every=2,
        snapshots=[1, 5],
    )
    assert kept.canonical == (
        '{"agent":{"name":"Random"},"episodes":7,"evaluate_every":2,'
        '"prior":{"reward":{"kind":"gaussian","mean":0.0,"noise":0.5,"sd":2.0},"span":null,'
        '"transitions":{"kind":"dirichlet","mass":0.3}},"protocol":"text","seed":3,"snapshots":[1,5],'
        '"stop":"solved","version":1,"world":{"means":[0.25,0.5],"name":"bandit","noise":1.0}}'
    )
    assert kept.name == "3369b33b0c93524e72ffc8629aaf544cf548f1483bae569d922468cfac4ddff0"


GIVEN = {
    "world": {"name": "deep_sea", "depth": 5, "noise": 0.1, "slip": 0.2},
    "agent": {"name": "UCBVI", "bonus": "bernstein", "scale": 0.5, "episodes": 9},
    "prior": {"reward": {"kind": "beta", "a": 2.0, "b": 3.0}, "transitions": {"mass": 1.5}, "span": 2.0},
}


@modest
@given(st.data())
def test_order_of_keys_does_not_matter(data):
    def shuffled(mapping):
        keys = data.draw(st.permutations(list(mapping)))
        return {k: shuffled(mapping[k]) if isinstance(mapping[k], dict) else mapping[k] for k in keys}

    mixed = {key: shuffled(value) for key, value in GIVEN.items()}
    assert spec(**mixed).canonical == spec(**GIVEN).canonical


@pytest.mark.parametrize("name", WORLDS)
def test_defaults_of_worlds_are_written_out(name):
    defaults = {p.name: p.default for p in inspect.signature(WORLDS[name]).parameters.values() if p.name != "prior"}
    short, long = spec(world={"name": name}), spec(world={"name": name, **defaults})
    assert short.canonical == long.canonical
    assert json.loads(short.canonical)["world"].keys() == {"name", *defaults}


@pytest.mark.parametrize("name", AGENTS)
def test_defaults_of_agents_are_written_out(name):
    defaults = {p.name: p.default for p in inspect.signature(AGENTS[name]).parameters.values()}
    short, long = spec(agent={"name": name}), spec(agent={"name": name, **defaults})
    assert short.canonical == long.canonical == spec(agent=AGENTS[name]()).canonical
    since = getattr(AGENTS[name], "since", ())  # later than names that are kept
    written = {key: value for key, value in defaults.items() if key not in since}
    assert json.loads(short.canonical)["agent"] == {"name": name, **written}


def test_a_prior_has_one_form():
    whole = {
        "reward": {"kind": "gaussian", "mean": 0.0, "sd": 1.0, "noise": 0.05},
        "transitions": {"kind": "dirichlet", "mass": 0.3},
        "span": None,
    }
    forms = [None, {}, {"reward": {}}, {"transitions": {"mass": 0.3}}, kl.Prior(), whole]
    assert {spec(prior=form).name for form in forms} == {spec().name}
    assert spec().prior == whole


CHANGES = {
    "world": {"name": "deep_sea", "depth": 5},
    "other world": {"world": {"name": "bandit"}},
    "agent": {"name": "KLearning", "tolerance": 1e-5},
    "other agent": {"agent": {"name": "PSRL"}},
    "prior": {"transitions": {"mass": 0.4}},
    "episodes": 11,
    "seeds": [1],
    "protocol": "text",
    "stop": "solved",
    "evaluate_every": 2,
    "snapshots": [3],
}


def test_every_change_is_another_name():
    changed = [spec(**(change if key.startswith("other") else {key: change})) for key, change in CHANGES.items()]
    assert len({one.name for one in [spec(), *changed]}) == len(CHANGES) + 1
    assert replace(spec(), seed=1).name == spec(seeds=[1]).name


def test_later_changes_by_the_caller_do_not_reach_a_spec():
    world, means = {"name": "bandit", "means": [0.1, 0.2]}, [0.1, 0.2]
    made = spec(world={**world, "means": means})
    before = made.name
    means.append(0.9)
    assert made.name == before == spec(world=world).name


def test_numbers_of_numpy_are_numbers():
    """A grid written with np.arange names the same runs as one written by hand."""
    made = spec(world={"name": "deep_sea", "depth": np.int64(4)}, episodes=np.int64(10), seeds=[np.int64(0)])
    assert made.canonical == spec().canonical


# Reading back

floats = st.floats(0.01, 10.0)
worlds = st.one_of(
    st.fixed_dictionaries({"name": st.just("deep_sea"), "depth": st.integers(1, 6), "noise": floats}),
    st.fixed_dictionaries({"name": st.just("bandit"), "means": st.lists(floats, min_size=1, max_size=4)}),
    st.fixed_dictionaries({"name": st.just("river_swim"), "horizon": st.integers(1, 4)}),
)
agents = st.one_of(
    st.builds(kl.KLearning, st.one_of(floats, st.sampled_from(["optimal", "schedule"]))),
    st.builds(kl.UCBVI, scale=floats, episodes=st.none() | st.integers(1, 9)),
    st.builds(kl.BOLT, imagined_reward=st.none() | floats),
)
rewards = st.builds(kl.Gaussian, floats, floats, floats) | st.builds(kl.Beta, floats, floats)
priors = st.builds(kl.Prior, rewards, st.builds(kl.Dirichlet, floats), st.none() | floats)
protocols = st.text(string.printable + 'é∞"\\', max_size=8)


@modest
@given(worlds, agents, priors, protocols, st.lists(st.integers(1, 9), unique=True))
def test_round_trip(world, agent, prior, protocol, snapshots):
    made = make_spec(world, agent, prior, episodes=9, protocol=protocol, snapshots=sorted(snapshots))
    read = spec_from_json(made.canonical + "\n")
    assert read.canonical == made.canonical
    assert read.name == made.name
    assert specs.build_agent(read) == agent
    assert same_prior(specs.build_prior(read), prior)
    assert same_world(specs.build_world(read), specs.build_world(made))


def edited(**changes):
    data = {**json.loads(spec().canonical), **changes}
    return json.dumps({k: v for k, v in data.items() if v is not None}, sort_keys=True, separators=(",", ":"))


REFUSED = {
    "nothing": ("", "Expecting value"),
    "no JSON": ("{", "Expecting property name"),
    "a list": ("[]", "version 1"),
    "a number": ("1", "version 1"),
    "spaces": (json.dumps(json.loads(spec().canonical)), "edited"),
    "other order": (json.dumps(dict(reversed(json.loads(spec().canonical).items())), separators=(",", ":")), "edited"),
    "written twice": (spec().canonical.replace('"seed":0', '"seed":1,"seed":0'), "edited"),
    "other version": (edited(version=2), "version 1"),
    "no version": (edited(version=None), "version 1"),
    "unknown field": (edited(sead=1), "did you mean 'seed'"),
    "missing field": (edited(seed=None), "'seed'"),
    "not a number": (spec().canonical.replace('"seed":0', '"seed":NaN'), "spec seed=nan is not a whole number"),
    "infinite": (spec().canonical.replace('"span":null', '"span":Infinity'), "not JSON compliant"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_ours_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        spec_from_json(text)


def test_an_edited_number_is_another_spec():
    """It reads, but has another name: the store sees from that that it was edited."""
    assert spec_from_json(edited(seed=1)).name == spec(seeds=[1]).name != spec().name


# Mistakes

MISTAKES = {
    "world": ({"world": {"name": "deep_see"}}, "did you mean 'deep_sea'"),
    "no world name": ({"world": {"depth": 3}}, "has no name: give one of 'deep_sea'"),
    "world parameter": ({"world": {"name": "deep_sea", "depht": 3}}, "did you mean 'depth'"),
    "prior as parameter": ({"world": {"name": "random_mdp", "prior": None}}, "'prior' is unknown"),
    "world value": ({"world": {"name": "deep_sea", "depth": 0}}, "depth=0"),
    "agent": ({"agent": {"name": "KLerning"}}, "did you mean 'KLearning'"),
    "agent parameter": ({"agent": {"name": "KLearning", "bonnus": 1}}, "did you mean 'bonus'"),
    "agent value": ({"agent": {"name": "KLearning", "bonus": "shrap"}}, "did you mean 'sharp'"),
    "prior": ({"prior": {"rewards": {}}}, "did you mean 'reward'"),
    "reward kind": ({"prior": {"reward": {"kind": "gausian"}}}, "did you mean 'gaussian'"),
    "reward parameter": ({"prior": {"reward": {"nois": 1.0}}}, "did you mean 'noise'"),
    "other reward's parameter": ({"prior": {"reward": {"kind": "beta", "sd": 1.0}}}, "'sd' is unknown"),
    "reward value": ({"prior": {"reward": {"sd": -1.0}}}, "sd=-1.0"),
    "transitions kind": ({"prior": {"transitions": {"kind": "dirichelt"}}}, "did you mean 'dirichlet'"),
    "transitions parameter": ({"prior": {"transitions": {"mas": 1.0}}}, "did you mean 'mass'"),
    "known transitions": ({"prior": kl.Prior(transitions=kl.Known(kl.deep_sea(5)))}, "transitions"),
    "support": ({"prior": kl.Prior(transitions=kl.Dirichlet(1.0, kl.deep_sea(5)))}, "support"),
    "episodes": ({"episodes": 0}, "episodes=0"),
    "seed": ({"seeds": [-1]}, "seed=-1"),
    "seeds": ({"seeds": [3, 5]}, "not one after another"),
    "stop": ({"stop": "solve"}, "did you mean 'solved'"),
    "evaluate_every": ({"evaluate_every": 0}, "evaluate_every=0"),
    "snapshots": ({"snapshots": [0]}, "snapshots=0"),
    "snapshots twice": ({"snapshots": [5, 5]}, "snapshots"),
}


@pytest.mark.parametrize(("changes", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_names_the_nearest(changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        spec(**changes)
    assert "\n" not in str(caught.value)


# Building


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("agent", AGENTS)
def test_all_can_be_specced_and_built_back(name, agent):
    made = spec_from_json(spec(world={"name": name}, agent={"name": agent}).canonical)
    assert specs.build_agent(made) == AGENTS[agent]()
    assert same_world(specs.build_world(made), WORLDS[name]())
    assert same_prior(specs.build_prior(made), kl.Prior())


@pytest.mark.parametrize("reward", [kl.Gaussian(0.5, 0.1, 0.2), kl.Beta(2.0, 1.0)], ids=str)
def test_a_random_mdp_is_drawn_from_the_prior_of_the_spec(reward):
    prior = kl.Prior(reward, kl.Dirichlet(2.0))
    built = specs.build_world(spec(world={"name": "random_mdp", "states": [2, 3], "seed": 5}, prior=prior))
    assert same_world(built, kl.random_mdp([2, 3], prior=prior, seed=5))
    assert not same_world(built, kl.random_mdp([2, 3], seed=5))
    assert built.noise == ("bernoulli" if isinstance(reward, kl.Beta) else 0.2)


# Sweep files


def expand(tmp_path: Path, text: str):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return sweep_from_toml(path)


def test_a_grid(tmp_path):
    """Every list within world and agent is a set of alternatives; the first named varies slowest."""
    made = expand(
        tmp_path,
        """
        [[sweep]]
        world = {name = "deep_sea", depth = [3, 4], noise = [0.1, 0.2]}
        agent = [{name = "KLearning"}, {name = "UCBVI", scale = [1.0, 0.01]}]
        episodes = 20
        seeds = 2
        prior = {reward = {kind = "gaussian", sd = 2.0}, transitions = {mass = 0.5}, span = 2.0}
        protocol = "text"
        stop = "solved"
        evaluate_every = 5
        snapshots = [5, 10]
        """,
    )
    prior = kl.Prior(kl.Gaussian(sd=2.0), kl.Dirichlet(0.5), 2.0)
    rest = {"prior": prior, "episodes": 20, "protocol": "text", "stop": "solved"}
    by_hand = [
        spec(
            world={"name": "deep_sea", "depth": depth, "noise": noise},
            agent=agent,
            seeds=[seed],
            evaluate_every=5,
            snapshots=(5, 10),
            **rest,
        )
        for depth in (3, 4)
        for noise in (0.1, 0.2)
        for agent in (kl.KLearning(), kl.UCBVI(scale=1.0), kl.UCBVI(scale=0.01))
        for seed in (0, 1)
    ]
    assert [one.canonical for one in made] == [one.canonical for one in by_hand]


def test_seeds_are_a_number_or_a_list(tmp_path):
    text = '[[sweep]]\nworld = {name = "bandit"}\nagent = {name = "Random"}\nepisodes = 3\n'
    assert [one.seed for one in expand(tmp_path, text)] == [0, 1, 2, 3, 4]
    assert [one.seed for one in expand(tmp_path, text + "seeds = 3")] == [0, 1, 2]
    assert [one.seed for one in expand(tmp_path, text + "seeds = [7, 2]")] == [7, 2]


def test_worlds_as_a_list_and_sweeps_one_after_another(tmp_path):
    made = expand(
        tmp_path,
        """
        [[sweep]]
        world = [{name = "deep_sea", depth = 3}, {name = "bandit", means = [[0.1, 0.9], [0.5]]}]
        agent = {name = "Random"}
        episodes = 3
        seeds = 1
        [[sweep]]
        world = {name = "random_mdp", states = [[2, 3]], seed = [0, 1]}
        agent = {name = "OptimalAgent"}
        episodes = 4
        seeds = [6]
        """,
    )
    told = [(one.world["name"], one.agent["name"], one.episodes, one.seed) for one in made]
    assert told == [("deep_sea", "Random", 3, 0)] + 2 * [("bandit", "Random", 3, 0)] + 2 * [
        ("random_mdp", "OptimalAgent", 4, 6)
    ]
    assert [one.world.get("means") for one in made[1:3]] == [[0.1, 0.9], [0.5]]
    assert [one.world.get("seed") for one in made[3:]] == [0, 1]


GOOD = {"world": '{name = "deep_sea", depth = 3}', "agent": '{name = "Random"}', "episodes": "3"}


def table(**changes):
    lines = {**GOOD, **changes}
    return "[[sweep]]\n" + "\n".join(f"{key} = {value}" for key, value in lines.items() if value)


BAD_FILES = {
    "no TOML": ("[[sweep]", r"sweep\.toml is not TOML"),
    "nothing": ("", r"sweep\.toml has no \[\[sweep\]\] table"),
    "one table": (table().replace("[[sweep]]", "[sweep]"), r"\[\[sweep\]\]"),
    "other table": (table().replace("[[sweep]]", "[[sweeps]]"), "did you mean 'sweep'"),
    "key": (table(epsiodes="3"), "did you mean 'episodes'"),
    "seed": (table(seed="3"), "did you mean 'seeds'"),
    "no world": (table(world=""), "no 'world'"),
    "no episodes": (table(episodes=""), "no 'episodes'"),
    "world name": (table(world='{name = "deep_see"}'), "did you mean 'deep_sea'"),
    "world parameter": (table(world='{name = "deep_sea", depht = [3, 4]}'), "did you mean 'depth'"),
    "agent name": (table(agent='{name = "Randon"}'), "did you mean 'Random'"),
    "agent parameter": (table(agent='{name = "UCBVI", scael = 1.0}'), "did you mean 'scale'"),
    "prior": (table(prior="{reward = {kind = 'betta'}}"), "did you mean 'beta'"),
    "episodes": (table(episodes="'ten'"), "episodes='ten'"),
    "seeds": (table(seeds="'five'"), "seeds='five'"),
    "one of the seeds": (table(seeds="[0, 'a']"), "seed='a'"),
    "no seeds": (table(seeds="[]"), "seeds"),
    "world as text": (table(world="'deep_sea'"), "world"),
    "agent as text": (table(agent="'Random'"), "agent"),
    "prior as number": (table(prior="3"), "prior"),
    "reward as number": (table(prior="{reward = 1}"), "reward"),
    "snapshots as number": (table(snapshots="5"), "snapshots"),
    "protocol as number": (table(protocol="5"), "protocol"),
    "a number for a table": ("sweep = [1]", "sweep=1 is not a table"),
    "lists in lists": ("a = " + "[" * 5000, r"sweep\.toml is nested too deeply"),
    "a span for other layers": (table(prior="{span = [1.0, 2.0]}"), "span has shape"),
    "means taken for alternatives": (table(world="{name = 'bandit', means = [0.1, 0.9]}"), "means"),
}


@pytest.mark.parametrize(("text", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_one_clear_error(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        expand(tmp_path, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("agent", "complaint"),
    [
        ("KLearning", r"^agent='KLearning' is a name: give \{'name': 'KLearning'\}, or an agent, KLearning\(\)$"),
        (kl.KLearning, r"^agent=.* is a class: give an agent, KLearning\(\)$"),
    ],
    ids=["a name", "a class"],
)
def test_what_is_no_agent_is_refused(agent, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_spec(SEA, agent, episodes=3)
