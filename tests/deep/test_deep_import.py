"""What is imported when: the core needs no networks."""

import subprocess
import sys


def test_the_core_imports_no_networks():
    """Nor does the list of what the extra `deep` has: JAX is imported when one of them is asked for."""
    script = (
        "import sys, klearning, klearning.deep, klearning.cli; from klearning.agents import AGENTS\n"
        "assert 'DeepKLearning' in AGENTS.elsewhere and 'DeepKLearning' not in AGENTS\n"
        "assert not {'jax', 'optax'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_jax_one_line_says_what_to_install():
    script = "import sys; sys.modules['jax'] = None\nfrom klearning.deep import DeepKLearning"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert answer.stderr.splitlines()[-1] == "ImportError: klearning.deep needs jax: pip install 'klearning[deep]'"
