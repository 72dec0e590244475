"""Fifteen pains of new users, each by what they typed, what an earlier version answered, and what this one answers.

    python -m bench.pains [NUMBER ...]

`before` is what the users wrote down of version fb63e55. Every line is typed in an empty folder with the files of
`FILES` in it, as a shell command, as Python or as the cell of a notebook. What is kept is the last line that is
printed, or what the row's `pick` makes of all lines. NUMBERs choose pains. Writes docs/evidence/data/seams.pains.json.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.record import record

HERE = Path(__file__).parents[1]
HEADINGS = ("pain", "typed", "before", "now", "test")
MOST = 130  # characters of a line that are shown
SECONDS = 900

Pick = Callable[[str], str]


def last(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "(nothing)"


def having(*words: str) -> Pick:
    """The lines with one of these words."""

    def pick(text: str) -> str:
        return " / ".join(x.strip() for x in text.splitlines() if any(word in x for word in words)) or last(text)

    return pick


def closing(text: str) -> str:
    """The last lines of `klearning learn`, without the words between."""
    return having("greedy")(text).replace("on average over 100 draws from the belief, given the states met, ", "… ")


def metadata(text: str) -> str:
    links = re.findall(r"\]\(([^)]+)\)", text)
    relative = sum(not link.startswith(("http", "#")) for link in links)
    head, _, _ = text.partition("\n\n")
    counts = {name: len(re.findall(rf"^{name}:", head, re.M)) for name in ("Project-URL", "Author", "Classifier")}
    return ", ".join(f"{name} {count}" for name, count in counts.items()) + f"; {relative} relative links"


class Pain(NamedTuple):
    number: int
    name: str
    typed: str
    before: str
    test: str
    first: str = ""  # commands before it, not shown
    pick: Pick = last
    kind: str = "python"  # or "shell", "cell"
    shown: str = ""  # in place of what is typed
    cold: bool = False  # with an empty cache of kernels


CLINIC = "klearning learn clinic.py:Clinic --horizon 40 -n 1000"
PAINS = (
    Pain(
        1, "bins are lost", 'kl.load("cold.npz").predict(ColdStore().reset(seed=1)[0])',
        "ValueError: observation={'temp': array([5.]), …} is outside Dict('door': Discrete(2), …)",
        "cli/test_learn.py::test_bins_are_kept_exported_and_resumed",
        "klearning learn users.py:ColdStore --horizon 48 --bins temp=9 --bins price=4 --quantiles -n 9 --save cold.npz",
    ),
    Pain(
        1, "other bins are resumed", "klearning learn MountainCar-v0 --bins 10 -n 8 --resume car.npz", "saved: car.npz",
        "simulators/test_bins.py::test_edges_are_saved_and_nothing_else_is_resumed",
        "klearning learn MountainCar-v0 --bins 10 --quantiles -n 5 -p sd=1 --save car.npz", kind="shell",
    ),
    Pain(
        2, "a suggested prior looks like failure", CLINIC,
        "in a clinic like this: mean return −56 over 250 episodes, −24 over the last 100 of 1,000",
        "simulators/test_suggest_prior.py::test_one_extreme_reward_does_not_set_the_hope_of_all",
        pick=having("mean return"), kind="shell",
    ),
    Pain(
        3, "the closing line is off tenfold", CLINIC,
        "a greedy episode costs about 59.8 ± 2 more than the best (5, in truth)",
        "simulators/test_deployment.py::test_what_the_prior_hopes_of_actions_never_tried_is_told_apart",
        pick=closing, kind="shell", shown="the same",
    ),
    Pain(
        3, "the same after few episodes", "klearning learn FrozenLake-v1 -n 5",
        "(nothing says that the prior dominates)",
        "simulators/test_deployment.py::test_a_hope_beyond_all_returns_is_the_priors",
        pick=lambda text: closing(text).partition(" / ")[2], kind="shell",
    ),
    Pain(
        5, "not fit for an index", "unzip -p dist/*.whl '*/METADATA'",
        "Project-URL 0, Author 0, Classifier 4; 37 lines with relative links", "contract/test_metadata.py",
        'cd "$TREE" && python -m hatchling build -t wheel -d "$OLDPWD/dist"', metadata, "shell",
    ),
    Pain(
        6, "a notebook shows no comparison", 'kl.compare({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 5.0]}).plot();',
        "(nothing)", "simulators/test_jupyter.py::test_a_comparison_is_seen_once", kind="cell",
    ),
    Pain(
        7, "the second agent compiles in silence",
        "for agent in (kl.KLearning(), kl.VAPOR()): kl.run(agent, kl.deep_sea(4), episodes=2, seeds=1)",
        "one line for the first agent; then VAPOR, 75 s without a word",
        "numerics/test_cache.py::test_what_takes_more_than_two_seconds_says_what_it_is_for",
        pick=having("ompil"), cold=True,
    ),
    Pain(
        8, "`kl.learn` has half the comforts",
        'kl.learn(kl.KLearning(), "FrozenLake-v1", prior="suggest", steps=1e4, progress=False, save="lake.npz")',
        "TypeError for progress= and save=; steps=1e5 is refused",
        "simulators/test_learn.py::test_it_is_saved_at_the_end_and_on_an_interrupt_and_resumed",
    ),
    Pain(
        9, "the deep learner is a stranger", 'kl.learn(kl.DeepKLearning(), gym.make("CartPole-v1"), steps=50)',
        "AttributeError; a repr of 400 characters; no table, export or HTML",
        "deep/test_learner.py::test_a_deep_learner_has_the_words_of_the_other",
    ),
    Pain(
        11, "0 solved of a world without a goal", "klearning store ls --store store",
        "443d…  12 seeds  0 solved  lock(digits=6…)",
        "lab/experiments/test_store.py::test_a_world_without_a_goal_has_no_solved_seeds",
        "klearning sweep bandit.toml --store store", having("seeds"), "shell",
    ),
    Pain(
        12, "a simulator of the old Gym", "kl.learn(kl.PSRL(), OldGym(), horizon=3)",
        "TypeError: klearning.environments.learn.Moment() argument after * must be an iterable, not int",
        "simulators/test_learn.py::test_foreign_shapes_get_one_clear_line",
    ),
    Pain(
        13, "`certify` is hidden", 'kl.certify(kl.learn(kl.KLearning(), gym.make("FrozenLake-v1"), episodes=50))',
        "TypeError: missing 1 required positional argument: 'policy'",
        "simulators/test_deployment.py::test_a_learner_is_certified_by_its_greedy_policy",
    ),
    Pain(
        14, "the site begins with a list", "grep -c '^!' docs/README.md",
        "0", "pages/test_style.py::test_the_front_page_begins_with_a_sentence_code_and_a_picture", kind="shell",
    ),
    Pain(
        15, "the value of a forbidden action", "masked().about(0)", "-1e+80",
        "simulators/test_deployment.py::test_what_is_not_allowed_is_said_so", pick=having("e+", "not allowed"),
    ),
    Pain(
        15, "`4-6` has no advice", "klearning reproduce figure2 --depths 4-6", "… is not a whole number",
        "cli/test_cli.py::test_a_mistake_is_one_line_and_exit_code_2", kind="shell",
    ),
    Pain(
        15, "options are listed twice", "klearning run deep_sea KLearning -p foo=1",
        "'mean','sd','noise','a','b','mean','sd','noise'",
        "cli/test_cli.py::test_a_mistake_is_one_line_and_exit_code_2", kind="shell",
    ),
    Pain(
        15, "a wrong guess", "klearning reproduce figure9", "did you mean 'figure4'?",
        "cli/test_cli.py::test_a_mistake_is_one_line_and_exit_code_2", kind="shell",
    ),
    Pain(
        15, "`dir(kl)` shows what is not public", '{"moved", "command", "forward", "KINDS"} & {*dir(kl)}',
        "{'moved', 'command', 'forward', 'KINDS'}", "contract/test_surface.py::test_dir_lists_public_names_alone",
    ),
)  # fmt: skip

FILES = {
    "users.py": '''
import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete


class ColdStore(gym.Env):
    """Temperature, a price without end and a door; the cooling is off or on."""

    observation_space = Dict({"temp": Box(-20.0, 20.0, (1,)), "price": Box(0.0, np.inf, (1,)), "door": Discrete(2)})
    action_space = Discrete(2)

    def see(self):
        price = np.array([self.np_random.lognormal(0.0, 0.5)], np.float32)
        return {"temp": np.array([self.temp], np.float32), "price": price, "door": int(self.np_random.integers(2))}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.temp, self.clock = 5.0, 0
        return self.see(), {}

    def step(self, cool):
        self.temp += (-3.0 if cool else 1.5) + 0.3 * self.np_random.normal()
        self.clock += 1
        return self.see(), -0.2 * cool - abs(self.temp - 4.0) / 8.0, False, self.clock == 48, {}


class OldGym:
    """reset returns an observation alone, step returns four things."""

    observation_space, action_space, spec, unwrapped = Discrete(2), Discrete(2), None, None

    def reset(self, seed=None):
        return 0

    def step(self, action):
        return 1, 1.0, True, {}


def masked():
    """A learner that may not take action 1."""
    import klearning as kl

    learner = kl.Learner(kl.KLearning(), Discrete(2), Discrete(3), 3)
    learner.act(0, [1, 0, 1])
    learner.observe(1.0, 1, terminated=True)
    learner.end_episode()
    return learner
''',
    "bandit.toml": '''
[[sweep]]
world = {name = "bandit"}
agent = {name = "KLearning"}
episodes = 20
seeds = 3
''',
    "cell.py": '''
import sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
shown = []
client.execute_interactive("import klearning as kl", output_hook=lambda message: None)
client.execute_interactive(sys.argv[1], output_hook=lambda message: shown.append(message))
kinds = [kind for message in shown for kind in message["content"].get("data", {})]
print(", ".join(sorted({*kinds})) or "(nothing)")
client.stop_channels()
manager.shutdown_kernel(now=True)
''',
}  # fmt: skip

PRELUDE = """
import ast, sys, warnings
warnings.simplefilter("ignore")
import gymnasium as gym
import klearning as kl
from users import ColdStore, OldGym, masked
*lines, end = ast.parse(sys.argv[1]).body
exec(compile(ast.Module(lines, []), "typed", "exec"))
if isinstance(end, ast.Expr):
    print(repr(eval(compile(ast.Expression(end.value), "typed", "eval"))))
else:
    exec(compile(ast.Module([end], []), "typed", "exec"))
"""


def answer(pain: Pain) -> str:
    """What is said to what is typed, as one short line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in {**FILES, "prelude.py": PRELUDE}.items():
            (folder / file).write_text(text)
        shutil.copy(HERE / "examples" / "clinic.py", folder)
        (folder / "docs").symlink_to(HERE / "docs")
        environment = {**os.environ, "PYTHONPATH": f"{HERE / 'src'}:{folder}", "TREE": str(HERE), "COLUMNS": "200"}
        if pain.cold:
            environment |= {"XDG_CACHE_HOME": str(folder / "cache")}
        bash(pain.first, folder, environment)
        if pain.kind == "shell":
            text = bash(pain.typed, folder, environment)
        else:
            file = {"python": "prelude.py", "cell": "cell.py"}[pain.kind]
            text = output([sys.executable, file, pain.typed], folder, environment)
        found = pain.pick(text).replace(str(folder) + "/", "")
    return found if len(found) <= MOST else found[: MOST - 1] + "…"


def bash(line: str, folder: Path, environment: dict[str, str]) -> str:
    """With the commands of this interpreter."""
    own = f'klearning() {{ {sys.executable} -m klearning "$@"; }}; python() {{ {sys.executable} "$@"; }}; '
    return output(["bash", "-c", own + line], folder, environment)


def output(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    return done.stdout


def cell(text: str) -> str:
    """For a table: as code, without what would end the cell."""
    text = text.replace("|", "\\|").replace("`", "'")
    return f"`{text}`"


def main(*numbers: str) -> None:
    rows = []
    for pain in PAINS:
        if not numbers or str(pain.number) in numbers:
            typed, test = pain.shown or cell(pain.typed), f"`{pain.test}`"
            rows.append([f"{pain.number}: {pain.name}", typed, cell(pain.before), cell(answer(pain)), test])
            print(*rows[-1], sep="\n    ", flush=True)
            record("seams.pains", "python -m bench.pains", HEADINGS, rows, keep=bool(numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])
