"""An executor from outside the package: one generator, handed over or chosen by name."""

from click.testing import CliRunner

from klearning.cli import commands
from klearning.lab.experiments.executors import EXECUTORS, do
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import LocalExecutor, sweep
from tests.lab.experiments.test_store import contents

SWEEP = '[[sweep]]\nworld = {name = "river_swim"}\nagent = {name = "Random"}\nepisodes = 5\nseeds = 2\n'


class Backwards:
    """The last job first, one after the other."""

    def __init__(self, workers=None):
        pass

    def run(self, jobs, progress):
        for job in reversed(jobs):
            yield do(job, progress=progress)


def test_a_sweep_takes_it(tmp_path):
    specs = [make_spec({"name": "river_swim"}, {"name": "Random"}, episodes=5, seeds=[seed]) for seed in range(3)]
    came = []
    mine, ours = Store(tmp_path / "mine"), Store(tmp_path / "ours")
    sweep(specs, mine, executor=Backwards(), finished=lambda outcome: came.append(outcome.spec.seed))
    sweep(specs, ours, executor=LocalExecutor(1))
    assert came == [2, 1, 0]
    assert contents(mine.path) == contents(ours.path)


def test_the_command_line_knows_it_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(EXECUTORS, "backwards", Backwards)
    (tmp_path / "two.toml").write_text(SWEEP)
    words = ["sweep", str(tmp_path / "two.toml"), "--store", str(tmp_path / "store"), "--executor", "backwards"]
    assert CliRunner().invoke(commands, words).exit_code == 0
    assert len(Store(tmp_path / "store").rows()) == 2
