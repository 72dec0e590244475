"""Nothing of ours opens a network connection: everything that is run here would be refused one, and needs none."""

import subprocess
import sys

import pytest

GUARD = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"):
        raise RuntimeError(f"{event} {arguments}")
sys.addaudithook(refuse)
"""
COMMANDS = [
    ["run", "-w", "depth=3", "-n", "5", "-s", "1", "--out", "x.png"],
    ["learn", "FrozenLake-v1", "-n", "3", "--save", "x.npz"],
    ["reproduce", "figure1"],
]
CODE = f"""
from klearning.cli import main
for command in {COMMANDS}:
    try:
        main(command)
    except SystemExit as end:
        assert end.code in (0, None), end.code
print("all done")
"""


def test_the_guard_sees_a_connection():
    code = GUARD + "import socket\nsocket.create_connection(('127.0.0.1', 9), timeout=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "RuntimeError: socket." in done.stderr


@pytest.mark.slow
def test_no_connection_is_opened(tmp_path):
    """By importing the package, and by what its commands do."""
    done = subprocess.run(
        [sys.executable, "-c", GUARD + CODE], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all done\n")
    assert "RuntimeError" not in done.stderr
