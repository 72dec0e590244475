"""What the package promises about itself: its public names, its tiers, what no room may know."""

import ast
import re
from functools import cache
from pathlib import Path

import klearning as kl
from klearning.tabular.agents import AGENTS
from klearning.tabular.worlds import WORLDS

PACKAGE = Path(kl.__file__).parent

# a room may import the rooms of tiers above its own, and itself; rooms of one tier do not know each other
TIERS = (
    ("version",),
    ("numerics",),
    ("tabular.models",),
    ("tabular.beliefs",),
    ("tabular.optimism", "tabular.worlds"),
    ("tabular.trials",),
    ("tabular.agents",),
    ("extension", "games", "gpu", "simulators"),
    ("deep",),
    ("lab.experiments", "lab.benchmarks", "lab.theory"),
    ("lab.comparison", "lab.papers"),
    ("lab.report",),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
DOORS = ("numerics", "tabular", "simulators", "deep", "games", "gpu", "lab", "cli")
AT_THE_TOP = ("__init__", "__main__", "version", "extension")
TIER = {room: i for i, rooms in enumerate(TIERS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))
ENTRY = re.compile(r"klearning\.[\w.]+:\w+")


def room_of(path: Path) -> str:
    return _room(path.relative_to(PACKAGE).with_suffix("").parts)


@cache
def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def imported(path: Path) -> set[str]:
    """The modules of ours that a file imports, by any form of import, or names as an entry point."""
    modules = set()
    for node in nodes_of(path.read_text()):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ENTRY.fullmatch(node.value):
            modules.add(node.value.partition(":")[0])
    return {module for module in modules if module.split(".")[0] == "klearning"}


def imported_rooms(path: Path) -> set[str]:
    return {_room(tuple(module.split(".")[1:])) for module in imported(path)}


def _room(parts: tuple[str, ...]) -> str:
    """The longest beginning of a path that is a room; the top if none is."""
    return next((room for n in (2, 1) if (room := ".".join(parts[:n])) in TIER), "__init__")


def test_there_are_eight_doors():
    assert {path.stem for path in PACKAGE.glob("*.py")} == set(AT_THE_TOP)
    assert {path.relative_to(PACKAGE).parts[0] for path in FILES if path.parent != PACKAGE} == set(DOORS)
    assert set(DOORS) | set(AT_THE_TOP) == {room.partition(".")[0] for room in TIER}


def test_nothing_but_the_command_line_needs_the_lab():
    for path in FILES:
        if room_of(path).partition(".")[0] not in ("lab", "cli", "__init__"):
            assert not [room for room in imported_rooms(path) if room.startswith("lab")], path


def test_imports_go_one_way():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {room}, which is not in a tier above it"
        for path in FILES
        for room in imported_rooms(path) - {room_of(path)}
        if TIER[room] >= TIER[room_of(path)]
    ]
    assert not wrong


def test_worlds_and_agents_are_apart():
    for path in (PACKAGE / "tabular" / "agents").rglob("*.py"):
        assert "tabular.worlds" not in imported_rooms(path)
    for path in (PACKAGE / "tabular" / "worlds").rglob("*.py"):
        assert not imported_rooms(path) & {"tabular.agents", "tabular.trials"}


def test_files_know_no_planner():
    """Neither optimism, nor a sweep, nor a particular agent: bytes are bytes."""
    for name in ("numerics/files.py", "simulators/codec.py", "simulators/learner_file.py"):
        path = PACKAGE / name
        assert "tabular.optimism" not in imported_rooms(path)
        modules = {".".join(module.split(".")[:4]) for module in imported(path)}
        assert not modules & {"klearning.tabular.models.soft", "klearning.tabular.models.sweeps"}
        agents = {module for module in modules if module.startswith("klearning.tabular.agents.")}
        assert agents <= {"klearning.tabular.agents.AGENTS", "klearning.tabular.agents.registry"}


def test_a_task_is_seen_by_trials_and_agents_alone():
    """It holds the world. `extension` hands it to agents of readers."""
    seen = {room_of(path) for path in FILES if "klearning.tabular.trials.task.Task" in imported(path)}
    assert seen == {"tabular.trials", "tabular.agents", "extension"}


def test_the_check_sees_every_form_of_import(tmp_path):
    for line in (
        "import klearning.lab.papers.paper",
        "from klearning.lab import papers",
        "def f():\n    from klearning.lab.papers import paper",
        "ENTRY = 'klearning.lab.papers.paper:Paper'",
    ):
        (tmp_path / "x.py").write_text(line)
        assert imported_rooms(tmp_path / "x.py") == {"lab.papers"}


def test_every_agent_and_world_is_a_public_name():
    assert set(AGENTS.ours) | set(WORLDS.ours) <= set(kl.__all__)


def test_report_and_command_line_name_no_paper():
    """Each is one folder, which its figures, and whatever else it brings, are found in."""
    names = [path.name for path in (PACKAGE / "lab" / "papers").iterdir() if (path / "__init__.py").is_file()]
    assert names
    for room in ("lab/report", "cli", "numerics/display", "lab/experiments"):
        for path in (PACKAGE / room).rglob("*"):
            if path.suffix in (".py", ".js", ".html"):
                assert not [name for name in names if name in path.read_text()], f"{path} names a paper"


def test_every_public_name_is_there():
    for name in set(kl.__all__) - {"DeepKLearning"}:  # which needs JAX: tests/deep
        assert name == "__version__" or getattr(kl, name).__doc__, f"{name} has no docstring"


def test_dir_lists_public_names_alone():
    """Pain 15: `moved`, `command`, `forward` and `KINDS` among the names that an editor offers."""
    assert set(dir(kl)) == {*kl.__all__, "deep", "extension", "games"}


def test_nothing_pickles():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert "import pickle" not in text
        assert "allow_pickle=True" not in text


WRITES = {"write_text", "write_bytes", "savez", "savez_compressed", "to_csv", "to_parquet", "tofile"}
WRITERS = (
    "numerics/files.py",
    "numerics/compile/cache.py",
    "cli/streams.py",
)  # files of ours, compiled code, the null device


def test_files_are_written_in_one_place():
    """By `numerics.files`, which follows links and refuses anything but a regular file."""
    for path in FILES:
        if str(path.relative_to(PACKAGE)) in WRITERS:
            continue
        for node in nodes_of(path.read_text()):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                words = [getattr(word, "value", None) for word in [*node.args, *(key.value for key in node.keywords)]]
                modes = [word for word in words if isinstance(word, str) and re.fullmatch("[rwaxbt+]{1,3}", word)]
                writes = name in WRITES or (name in ("open", "fdopen") and re.search("[wax+]", "".join(modes)))
                assert not writes, f"{path}:{node.lineno} writes a file: use numerics.files"
