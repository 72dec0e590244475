"""In a real Jupyter kernel: what follows learning is seen, and ■ stops it with nothing lost."""

import queue
import time

import pytest
from jupyter_client.manager import start_new_kernel

pytestmark = pytest.mark.slow
SECONDS = 300.0  # kernels may have to be compiled


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    cells = Cells(manager, client)
    assert not contents(cells.run(IMPORTS), "error")
    yield cells
    client.stop_channels()
    manager.shutdown_kernel(now=True)


class Cells:
    """Runs cells as a notebook does."""

    def __init__(self, manager, client):
        self.manager, self.client = manager, client

    def run(self, code, interrupt_at=None):
        """Messages of a cell, by kind; ■ once it has printed ``interrupt_at``, and a moment has passed."""
        request, messages, end = self.client.execute(code), [], time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1.0)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            messages.append((kind, content))
            if interrupt_at is not None and interrupt_at in content.get("text", ""):
                time.sleep(1.0)
                self.manager.interrupt_kernel()
                interrupt_at = None
            if content.get("execution_state") == "idle":
                return messages
        raise AssertionError(f"the cell did not end: {messages}")


def contents(messages, *kinds):
    return [content for kind, content in messages if kind in kinds]


def text(messages):
    return "".join(content["text"] for content in contents(messages, "stream"))


IMPORTS = """
import sys
import gymnasium as gym
import klearning as kl
env = gym.make("FrozenLake-v1")
"""
LEARN = """
with kl.callbacks.LiveView(per_second=1000) as view:
    learner = kl.learn(kl.PSRL(), env, episodes=40, horizon=10, callbacks=[view])
print("ipywidgets" in sys.modules)
"""


def test_a_live_view_is_drawn_over(kernel):
    messages = kernel.run(LEARN)
    assert not contents(messages, "error")
    assert len(contents(messages, "display_data")) == 1
    updates = contents(messages, "update_display_data")
    assert len(updates) > 5
    assert "episode 40" in updates[-1]["data"]["text/html"]
    names = {
        content["transient"]["display_id"] for content in contents(messages, "display_data", "update_display_data")
    }
    assert len(names) == 1
    assert text(messages).endswith("False\n")  # nothing of it needs a widget


def test_progress_of_a_run_is_drawn_over_from_its_threads(kernel):
    messages = kernel.run("r = kl.run(kl.PSRL(), kl.deep_sea(4), episodes=500, seeds=4, progress=True)\nr")
    assert len(contents(messages, "display_data")) == 1
    assert "2000/2000" in contents(messages, "update_display_data")[-1]["data"]["text/html"]
    shown = contents(messages, "execute_result")[0]["data"]
    assert shown["text/plain"].startswith("Runs(PSRL()")
    assert "<table" in shown["text/html"]


def test_interrupting_loses_nothing(kernel):
    messages = kernel.run(
        "def say(report):\n    if report.episode == 1:\n        print('GO', flush=True)\n"
        "learner = kl.learn(kl.PSRL(), env, episodes=10**8, horizon=10, callbacks=[say])",
        "GO",
    )
    (error,) = contents(messages, "error")
    assert error["ename"] == "Interrupted"
    assert "sys.last_value.learner" in error["evalue"]
    done = kernel.run(
        "learner = sys.last_value.learner\nbefore = learner.episodes_done\nkl.learn(learner, env, episodes=3)\n"
        "print(before > 0, learner.episodes_done - before, learner.under_way)"
    )
    assert text(done) == "True 3 False\n"


def test_interrupting_a_run_ends_it(kernel):
    messages = kernel.run(
        "print('GO', flush=True)\nkl.run(kl.PSRL(), kl.deep_sea(10), episodes=10**8, progress=True)", "GO"
    )
    assert contents(messages, "error")[0]["ename"] == "KeyboardInterrupt"
    assert text(kernel.run("print(6 * 7)")) == "42\n"


@pytest.mark.parametrize("end", ["", ";", ".show()", ".savefig('x.png')"])
def test_a_comparison_is_seen_once(kernel, end, tmp_path):
    """However the cell ends, as the pictures of runs and plans are."""
    code = f"figure = kl.compare({{'a': [1.0, 2.0, 3.0], 'b': [2.0, 3.0, 5.0]}}).plot()\nfigure{end}"
    for cell in (code.replace("x.png", f"{tmp_path}/x.png"), "figure"):
        messages = kernel.run(cell)
        assert not contents(messages, "error")
        shown = contents(messages, "display_data", "execute_result")
        assert sum("image/png" in content["data"] for content in shown) == 1
