"""Pipes that close, terminals that are dumb, narrow or know no ✓: nothing is lost and nothing crashes."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from klearning.cli.display import cell, plain, show_table
from klearning.version import __version__
from tests.support.commands import COMMAND, klearning

FULL = Path("/dev/full")
ASCII = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
LATIN = {**os.environ, "PYTHONIOENCODING": "latin-1"}
SMALL = ("run", "-w", "depth=3", "-n", "5", "-s", "2", "--no-figure")


def test_a_module_too():
    done = subprocess.run([sys.executable, "-m", "klearning", "--version"], capture_output=True, text=True, timeout=300)
    assert done.stdout == f"klearning, version {__version__}\n"
    assert klearning("--version").stdout == done.stdout


@pytest.mark.thin(3)
@pytest.mark.parametrize("args", [("agents",), SMALL, ("--help",)], ids=lambda args: args[0])
def test_a_reader_that_goes_away(args):
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([*COMMAND, *args], stdout=write, stderr=subprocess.PIPE, text=True, timeout=300)
    finally:
        os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.thin(2)
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("args", [("agents",), ("--help",)], ids=lambda args: args[0])
def test_a_full_disk_is_one_line(args):
    with FULL.open("w") as full:
        done = subprocess.run([*COMMAND, *args], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "No space left" in done.stderr


@pytest.mark.parametrize("environment", [pytest.param(ASCII, marks=pytest.mark.slow), LATIN], ids=["ascii", "latin-1"])
def test_signs_that_the_encoding_has_not(environment, tmp_path):
    more = [("worlds",), SMALL, ("reproduce", "figure3", "--protocol", "text")] if environment is ASCII else []
    for args in (("agents",), ("run", "-w", "dépth=3"), *more):
        done = subprocess.run(
            [*COMMAND, *args], capture_output=True, encoding="latin-1", env=environment, cwd=tmp_path, timeout=300
        )
        assert done.returncode == (2 if "dépth=3" in args else 0), done.stderr
        assert "Traceback" not in done.stderr
    if environment is ASCII:
        assert done.stdout.isascii()
        assert "\n  yes " in done.stdout or "\n  no " in done.stdout  # for ✓ or ✗


def test_a_narrow_terminal():
    """Nothing is cut off, and no line is longer than the terminal."""
    done = klearning(*SMALL, env={**os.environ, "COLUMNS": "40"})
    assert max(map(len, done.stdout.splitlines())) <= 40
    assert "…" not in done.stdout
    for word in ("seed", "first hit", "regret"):
        assert word in done.stdout
    done = klearning("agents", env={**os.environ, "COLUMNS": "40"})
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_tables_turn_into_lines_where_they_do_not_fit(monkeypatch, capsys):
    rows = [{"problem": "CliffWalking", "agent": "optimistic Q-learning", "episodes": [1, None]}]
    monkeypatch.setenv("COLUMNS", "100")
    show_table(rows, title="wide")
    assert "│ CliffWalking │" in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "40")
    show_table(rows, title="narrow")
    assert (
        capsys.readouterr().out == "narrow\nproblem: CliffWalking\n  agent: optimistic Q-learning\n  episodes: 1, –\n"
    )


def test_cells_and_json():
    assert [cell(x) for x in (None, float("nan"), 0.123456, 12345, [1, None], "x")] == [
        "–",
        "–",
        "0.1235",
        "12345",
        "1, –",
        "x",
    ]
    assert plain({"a": (1.0, float("inf")), 2: None}) == {"a": [1.0, None], "2": None}


def on_terminal(args, **variables):
    """What a command writes to a terminal, both streams, and its exit code."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **variables}
    process = subprocess.Popen([*COMMAND, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        written += chunk
    os.close(ours)
    return written.decode(), process.wait(timeout=300)


@pytest.mark.slow
def test_colours_only_where_they_are_wanted():
    fancy, code = on_terminal(["worlds"])
    assert code == 0
    assert "\x1b[1m" in fancy
    assert "\x1b" not in on_terminal(["worlds"], NO_COLOR="1")[0]


@pytest.mark.slow
def test_a_dumb_terminal_is_not_drawn_over():
    written, code = on_terminal(["learn", "FrozenLake-v1", "-n", "20"], TERM="dumb")
    assert code == 0
    assert "\x1b" not in written
    assert "mean return" in written


@pytest.mark.slow
def test_the_live_view_on_a_terminal():
    written, code = on_terminal(["learn", "FrozenLake-v1", "-n", "20"])
    assert code == 0
    assert "mean of 20" in written
    lines = [line.rstrip() for line in written.rstrip().splitlines()]
    (returns,) = (i for i, line in enumerate(lines) if line.endswith("over the last 20"))
    assert lines[returns + 1].startswith("greedy play returns")


def test_results_that_go_to_a_file_hold_no_live_view(tmp_path):
    done = klearning("learn", "FrozenLake-v1", "-n", "20", "--json")
    assert json.loads(done.stdout)["episodes"] == 20


def test_a_warning_is_a_line_of_ours():
    done = klearning("learn", "CliffWalking-v1", "--horizon", "20", "-n", "5", "-p", "sd=0.1")
    assert done.returncode == 0
    assert "klearning: warning: reward=" in done.stderr
    assert ".py" not in done.stderr
