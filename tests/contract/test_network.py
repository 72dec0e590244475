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
CALLS = {
    "import": "import klearning",
    "run": "from klearning.cli import main; main(['run', '-w', 'depth=3', '-n', '5', '-s', '1', '--out', 'x.png'])",
    "learn": "from klearning.cli import main; main(['learn', 'FrozenLake-v1', '-n', '3', '--save', 'x.npz'])",
    "reproduce": "from klearning.cli import main; main(['reproduce', 'figure1'])",
}


def test_the_guard_sees_a_connection():
    code = GUARD + "import socket\nsocket.create_connection(('127.0.0.1', 9), timeout=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "RuntimeError: socket." in done.stderr


@pytest.mark.parametrize("code", CALLS.values(), ids=CALLS.keys())
def test_no_connection_is_opened(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", GUARD + code], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "RuntimeError" not in done.stderr
