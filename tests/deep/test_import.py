"""What is imported when: the core needs no networks."""

import subprocess
import sys

# Ctrl-C while JAX imports its extensions, which do not bear one
INTERRUPT = """
import os, signal, sys
imports = []
def hook(event, arguments):
    if event == "import" and arguments[0].startswith("jax"):
        imports.append(arguments[0])
        if len(imports) == 14:
            assert imports[-1].startswith("jaxlib."), imports
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(hook)
"""


def test_the_core_imports_no_networks():
    """Nor does the list of what the extra `deep` has: JAX is imported when one of them is asked for."""
    script = (
        "import sys, klearning, klearning.deep, klearning.cli; from klearning.tabular.agents import AGENTS\n"
        "assert 'DeepKLearning' in AGENTS.elsewhere and 'DeepKLearning' not in AGENTS\n"
        "assert not {'jax', 'optax'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_jax_one_line_says_what_to_install():
    script = "import sys; sys.modules['jax'] = None\nfrom klearning.deep import DeepKLearning"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert answer.stderr.splitlines()[-1] == "ImportError: klearning.deep needs jax: pip install jax optax"


def test_an_interrupt_waits_until_jax_is_whole():
    script = (
        "from klearning import deep\n"
        "try:\n    deep.DQN\n"
        "except KeyboardInterrupt:\n    print('stopped', deep.DQN.__name__, len(imports) > 14)"
    )
    answer = subprocess.run([sys.executable, "-c", INTERRUPT + script], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "stopped DQN True\n", "")


def test_so_it_does_in_the_command(tmp_path):
    script = tmp_path / "klearning"
    script.write_text(INTERRUPT + "from klearning.cli import main\nmain()")
    command = [sys.executable, script, "learn", "CartPole-v1", "DeepKLearning", "-n", "1"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (130, "klearning: stopped\n")
