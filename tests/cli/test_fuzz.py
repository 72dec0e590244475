"""Hundreds of argument lists that a person might get wrong: one line and an exit code, never a traceback.

What would run for long is replaced by a stand-in, so that only reading, checking and building are tried, on every path.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import klearning.cli as cli
from klearning.cli.options import PRIOR_OPTIONS, option_names
from klearning.tabular.agents import AGENTS
from klearning.tabular.worlds import WORLDS
from tests.cli.test_help import all_commands

TRIES = 200
SMALL = [x for name in ("depth", "states", "horizon", "capacity", "visits") for x in (f"{name}=3", f"{name}=2")]


class Reached(Exception):
    """The arguments were good: from here on it would run."""


def stand_in(*args, **kwargs):
    raise Reached


WORDS = st.sampled_from(
    ["", " ", "-", "--", "=", "0", "1", "3", "-1", "1.5", "nan", "inf", "1e400", "9" * 30, "ten", "0,1", ",", "1,,2",
     "no/such", "é", "\udcff", "\n", "%s", "{}", "None", "true", "[]", "deep_see", "KLerning", "text", "figure9",
     "[red]", "a" * 500]
)  # fmt: skip
NAMES = st.sampled_from(
    [*WORLDS, *AGENTS, "FrozenLake-v1", "CliffWalking-v1", "NoSuch-v7", "Blackjack-v1", "CartPole-v1"]
)
KEYS = st.sampled_from(
    sorted(
        {name for thing in (*WORLDS.values(), *AGENTS.values()) for name in option_names(thing)} | set(PRIOR_OPTIONS)
    )
)
PAIRS = st.one_of(st.sampled_from(SMALL), st.builds("{}={}".format, KEYS, WORDS), st.text(max_size=5))
FLAGS = sorted(
    {flag for _, command in all_commands() for option in command.params for flag in option.opts if flag[0] == "-"}
)
PATHS = [path[1:] for path, _ in all_commands()]
TOKENS = st.one_of(
    WORDS.map(lambda word: [word]),
    NAMES.map(lambda name: [name]),
    st.tuples(st.sampled_from(["-w", "-a", "-p", "-e"]), PAIRS).map(list),
    st.tuples(st.sampled_from(FLAGS), st.one_of(WORDS, NAMES)).map(list),
    st.sampled_from(FLAGS).map(lambda flag: [flag]),
)
LINES = st.tuples(st.sampled_from(PATHS), st.lists(TOKENS, max_size=5)).map(
    lambda parts: [*parts[0], *(word for token in parts[1] for word in token)]
)


# lines that Click has nothing to say against, so that the values themselves are tried


def options(flag, keys):
    return st.lists(
        st.tuples(st.just(flag), st.builds("{}={}".format, st.sampled_from([*keys, "nokey"]), WORDS)), max_size=2
    )


def values(*flags):
    return st.lists(st.tuples(st.sampled_from(flags), WORDS), max_size=2)


def flat(parts):
    return [word for part in parts for word in ([part] if isinstance(part, str) else flat(part))]


@st.composite
def deep_lines(draw):
    agent = draw(st.sampled_from([*AGENTS]))
    own, prior = options("-a", option_names(AGENTS[agent])), options("-p", PRIOR_OPTIONS)
    kind = draw(st.sampled_from(["run", "run", "learn", "bsuite", "gymnasium", "reproduce", "store"]))
    if kind == "run":
        world = draw(st.sampled_from([*WORLDS]))
        rest = (options("-w", option_names(WORLDS[world])), own, prior, values("-n", "-s", "--threads"))
        return flat(["run", world, agent, "--no-figure", *map(draw, rest)])
    if kind == "learn":
        place = draw(
            st.sampled_from(["FrozenLake-v1", "CliffWalking-v1", "klearning/DeepSea-v0", "klearning/Bandit-v0"])
        )
        keys = ["map_name", "is_slippery", "depth", "means", "noise", "numbering", "max_episode_steps"]
        rest = (options("-e", keys), own, prior, values("-n", "-s", "--horizon", "--evaluate-every"))
        return flat(["learn", place, agent, *map(draw, rest)])
    if kind == "bsuite":
        place = draw(st.sampled_from(["deep_sea", "bandit", "deep_sea_stochastic"]))
        return flat(["benchmark", "bsuite", place, agent, draw(own), draw(values("-n", "-s", "--first"))])
    if kind == "gymnasium":
        return flat(["benchmark", "gymnasium", "CliffWalking", draw(values("--agents", "-s", "--most"))])
    if kind == "reproduce":
        return flat(["reproduce", "figure2", draw(values("--seeds", "--depths", "--protocol", "--store", "--out"))])
    return flat(["store", draw(st.sampled_from(["ls", "verify", "gc"])), draw(values("--store"))])


@pytest.fixture
def nothing_runs(monkeypatch, tmp_path):
    import klearning.lab.benchmarks.bsuite.sweep
    import klearning.lab.benchmarks.gymnasium.toy_text
    import klearning.lab.report
    import klearning.simulators.learn

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("klearning.tabular.trials.trial.Task", stand_in)  # world, prior and agent are built by then
    monkeypatch.setattr(klearning.simulators.learn, "optimal_value", stand_in)
    monkeypatch.setattr("klearning.simulators.learner.Learner.act", stand_in)
    monkeypatch.setattr("klearning.cli.stores.sweep_specs", stand_in)
    monkeypatch.setattr(klearning.lab.benchmarks.gymnasium.toy_text, "tune_textbook", stand_in)
    monkeypatch.setattr("webbrowser.open", lambda address: True)


def exit_code(arguments):
    with pytest.raises((SystemExit, Reached)) as end:
        cli.main(arguments)
    return 0 if isinstance(end.value, Reached) else end.value.code


def check(arguments, capsys):
    code = exit_code(arguments)
    errors = capsys.readouterr().err
    assert code in (0, 1, 2), (arguments, errors)
    assert "Traceback" not in errors
    if code == 2:
        said = [line for line in errors.splitlines() if not line.startswith("klearning: warning:")]
        assert len(said) == 1, (arguments, errors)
        assert said[0].startswith("klearning: ")


fuzz = settings(
    max_examples=TRIES, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@fuzz
@given(arguments=LINES)
@pytest.mark.filterwarnings("ignore")  # Gymnasium's, about old environments
def test_no_line_gives_a_traceback(nothing_runs, capsys, arguments):
    check(arguments, capsys)


@pytest.mark.slow
@fuzz
@given(arguments=deep_lines())
@pytest.mark.filterwarnings("ignore")
def test_no_value_gives_a_traceback(nothing_runs, capsys, arguments):
    check(arguments, capsys)
