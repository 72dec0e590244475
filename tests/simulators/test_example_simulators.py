"""The warehouse and the workshop of examples/: they do what their texts say, and their models are theirs."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import klearning as kl
from bench import deployed
from examples import warehouse, workshop

NAMES = list(deployed.SIMULATORS)


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_finds_nothing_wrong(name):
    check_env(deployed.SIMULATORS[name].make(), skip_render_check=True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "levels"), [("warehouse", (10, 14, 18)), ("workshop", (4, 3, 2))])
def test_the_model_is_the_simulators(name, levels):
    """What a rule earns in 200 episodes is what the model says, within four standard errors (6 in 100,000 by luck)."""
    simulator = deployed.SIMULATORS[name]
    rule = simulator.rule(*levels)
    earned = deployed.returns(simulator, rule, first=0)
    exact = deployed.value_of_rule(simulator, rule)
    assert abs(earned.mean() - exact) < 4.0 * earned.std(ddof=1) / np.sqrt(len(earned))
    assert deployed.value_of_chance(simulator) < exact < deployed.optimum(simulator)


@pytest.mark.parametrize(
    ("name", "morning", "action"),
    [("warehouse", warehouse.Morning(3, 2, 1, 1), 2), ("workshop", workshop.Morning(2, 3, 0, 1), 0)],
)
def test_a_row_of_the_model_is_the_simulators(name, morning, action):
    """20,000 days from one morning: what follows, and what is paid, within 4.5 standard errors.

    There are some 30 such numbers, so that luck alone fails 2 times in 10,000.
    """
    simulator, days = deployed.SIMULATORS[name], 20_000
    model = simulator.model()
    number = {tuple(x.values()): s for s, x in enumerate(model.observations)}
    env = simulator.make()
    env.reset(seed=0)
    counts, paid = np.zeros(len(number)), np.zeros(days)
    for i in range(days):
        env.morning = morning
        _, paid[i], *_ = env.step(action)
        counts[number[tuple(env.morning)]] += 1
    s = number[tuple(morning)]
    row = model.transitions[s, action]
    assert (np.abs(counts - days * row) <= 4.5 * np.sqrt(days * row * (1.0 - row))).all()
    assert abs(paid.mean() - model.reward[s, action]) < 4.5 * paid.std() / np.sqrt(days)


def test_a_day_in_the_warehouse():
    """12 fit; sold 15 each, kept 1 each, ordered 4 each and 8 once, sent away 3 each."""
    morning = warehouse.Morning(stock=9, today=3, tomorrow=1, busy=0)
    assert warehouse.day(morning, order=0, customers=2) == (10, 2 * 15 - 10)
    assert warehouse.day(morning, order=2, customers=0) == (12, -12 - 2 * 2 * 4 - 8)
    assert warehouse.day(morning._replace(stock=1, today=0), order=0, customers=4) == (0, 15 - 3 * 3)
    env = warehouse.Warehouse()
    env.reset(seed=0)
    days = [env.step(order)[0] for order in (4, 1, 0)]
    assert [(seen["today"], seen["tomorrow"]) for seen in days] == [(0, 4), (4, 1), (1, 0)]


def test_what_the_fitter_may_do():
    names = [workshop.JOBS[job] + ", order" * order for job, order in workshop.ACTIONS]

    def possible(*morning):
        return {name for name, flag in zip(names, workshop.allowed(workshop.Morning(*morning)), strict=True) if flag}

    assert possible(0, 0, 2, 0) == {"none"}
    assert possible(0, 3, 0, 1) == {"none", "overhaul 2"}
    assert possible(5, 0, 1, 2) == {"none", "replace 1"}
    assert possible(0, 5, 0, 0) == {"none", "none, order"}
    everything = workshop.Morning(3, 4, 1, 0)
    assert all(workshop.allowed(everything))
    assert workshop.work(everything, names.index("overhaul 1")) == ([2, 4], [False, True], 1, 0, 2 * 50.0 - 40.0)
    assert workshop.work(everything, names.index("replace 2, order")) == ([3, 0], [True, False], 0, 2, 70.0 - 150.0)
    nothing = workshop.work(workshop.Morning(5, 0, 0, 1), 0)
    assert workshop.work(workshop.Morning(5, 0, 0, 1), names.index("replace 1")) == nothing
    assert nothing == ([5, 0], [False, True], 0, 0, -50.0 + 200.0)


@pytest.mark.parametrize("name", NAMES)
def test_luck_is_the_same_whatever_is_done(name):
    """After ten days the stream of random numbers stands where it stood for another policy."""
    ends = []
    for action in (0, 1):
        env = deployed.SIMULATORS[name].make()
        env.reset(seed=3)
        for _ in range(10):
            env.step(action)
        ends.append(env.np_random.random())
    assert ends[0] == ends[1]


def deploy(monkeypatch, *arguments):
    """The script itself, without Stable-Baselines3, on two episodes."""
    monkeypatch.setattr(deployed, "find_spec", lambda module: None)
    monkeypatch.setattr("sys.argv", ["deployed", *map(str, arguments), "--episodes", "2"])
    deployed.main()


def named(table):
    return {line.split(" | ")[0].removeprefix("| ").split(", ε")[0] for line in table.splitlines()[2:]}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("warehouse", marks=pytest.mark.slow), "workshop"])
def test_every_method_of_ours_deploys(name, monkeypatch, capsys, tmp_path):
    """A row each, what is missing is said, and the tables are beside the results."""
    steps = 25 * deployed.SIMULATORS[name].days
    deploy(monkeypatch, name, "--seeds", 1, "--steps", steps, "--out", tmp_path / "results.json")
    printed = capsys.readouterr()
    assert "Stable-Baselines3 is not installed" in printed.err
    *_, methods, priors, tried = printed.out.split("\n\n")
    assert named(methods) == set(deployed.methods(name))
    assert named(priors) == {deployed.BY_HAND, *deployed.other_priors(name)}
    assert len(tried.splitlines()) == 2 + len(deployed.Q_SETTINGS)
    assert (tmp_path / "results.md").read_text() == printed.out


@pytest.mark.slow
def test_a_task_that_is_done_is_not_done_again(monkeypatch, capsys, tmp_path):
    """Nor does another seed change it; of four settings the seeds are of the one that was best in the search."""
    learnt, by_agent = [], deployed.by_agent

    def counted(simulator, setting, seed, steps):
        learnt.append(seed)
        return by_agent(simulator, setting, seed, steps)

    monkeypatch.setattr(deployed.Study, "warm_up", lambda study, names: None)
    monkeypatch.setattr(deployed, "by_agent", counted)
    out = tmp_path / "new" / "results.json"
    arguments = "workshop", "--only", "Q-learning", "--steps", 1100, "--out", out
    deploy(monkeypatch, *arguments, "--seeds", 1)
    assert learnt == [deployed.SEARCH_SEED] * 4 + [0]
    first = capsys.readouterr().out
    deploy(monkeypatch, *arguments, "--seeds", 1)
    assert (len(learnt), capsys.readouterr().out) == (5, first)
    deploy(monkeypatch, *arguments, "--seeds", 3)
    assert learnt[5:] == [1, 2]
    tasks = json.loads(out.read_text())["tasks"]
    best = max((task for task in tasks if task["search"]), key=lambda task: task["mean"])
    assert {task["setting"] for task in tasks if not task["search"]} == {best["setting"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a file of results"),
        ("[]", "not a file of results"),
        ('{"simulator": "workshop", "steps": 28000, "episodes": 200, "tasks": []}', "holds results of"),
    ],
)
def test_other_results_are_left_alone(monkeypatch, tmp_path, text, message):
    out = tmp_path / "results.json"
    out.write_text(text)
    with pytest.raises(SystemExit, match=message):
        deploy(monkeypatch, "workshop", "--steps", 1100, "--out", out)
    assert out.read_text() == text


@pytest.mark.slow
def test_processes_change_no_result(tmp_path, capsys):
    study = deployed.Study("workshop", steps=1100, episodes=2, seeds=3)
    means = []
    for processes in (1, 3):
        results = deployed.Results(tmp_path / f"{processes}.json", study)
        deployed.do_all(study, ["random", "K-learning, both"], results, processes)
        means.append({task: outcome.mean for task, outcome in results.outcomes.items()})
    assert means[0] == means[1]
    assert len(means[0]) == 6


def test_networks_see_every_state_apart():
    simulator = deployed.SIMULATORS["workshop"]
    env = deployed.Encoded(simulator)
    observations = simulator.model().observations
    assert len({env.encode(observation, 7).tobytes() for observation in observations}) == len(observations) == 324
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    for _ in range(simulator.days - 1):
        assert not env.step(0)[2]
    seen, _, terminated, truncated, _ = env.step(0)
    assert (terminated, truncated, seen[-1]) == (True, False, 1.0)


def test_masks_are_learnt_from():
    """What is not allowed is never done: each mask that a learner was told is the workshop's own."""
    env = gymnasium.wrappers.TimeLimit(workshop.Workshop(), workshop.DAYS)
    learner = kl.learn(kl.KLearning(), env, episodes=5, prior=deployed.SIMULATORS["workshop"].prior)
    for s, mask in learner.masks.known.items():
        assert mask.tolist() == workshop.allowed(workshop.Morning(**learner.observations.point(s - 1)))
