"""What the package promises about itself: its public names, its tiers, what no room may know."""

import ast
import re
from pathlib import Path

import klearning as kl
from klearning.agents import AGENTS
from klearning.worlds import WORLDS

PACKAGE = Path(kl.__file__).parent

# a room may import the rooms of tiers above its own, and itself; rooms of one tier do not know each other
TIERS = (
    ("version", "registry"),
    ("arrays",),
    ("models", "statistics"),
    ("beliefs",),
    ("optimism", "worlds"),
    ("trials",),
    ("agents",),
    ("extension", "games", "gpu", "storage", "theory"),
    ("environments",),
    ("deep",),
    ("experiments", "benchmarks"),
    ("figures",),
    ("comparison", "papers"),
    ("report",),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
TIER = {room: i for i, rooms in enumerate(TIERS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))
ENTRY = re.compile(r"klearning\.[\w.]+:\w+")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The modules of ours that a file imports, by any form of import, or names as an entry point."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ENTRY.fullmatch(node.value):
            modules.add(node.value.partition(":")[0])
    return {module for module in modules if module.split(".")[0] == "klearning"}


def imported_rooms(path: Path) -> set[str]:
    return {_room(module.split(".")[1:]) for module in imported(path)}


def _room(parts: list[str]) -> str:
    return parts[0] if parts and parts[0] in TIER else "__init__"


def test_nothing_lies_at_the_top():
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "version"}
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(TIER) - {"__init__", "__main__", "version"}


def test_imports_go_one_way():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {room}, which is not in a tier above it"
        for path in FILES
        for room in imported_rooms(path) - {room_of(path)}
        if TIER[room] >= TIER[room_of(path)]
    ]
    assert not wrong


def test_worlds_and_agents_are_apart():
    for path in (PACKAGE / "agents").rglob("*.py"):
        assert "worlds" not in imported_rooms(path)
    for path in (PACKAGE / "worlds").rglob("*.py"):
        assert not imported_rooms(path) & {"agents", "trials"}


def test_storage_knows_no_planner():
    """Neither optimism, nor a sweep, nor a particular agent: bytes are bytes."""
    for path in (PACKAGE / "storage").rglob("*.py"):
        assert "optimism" not in imported_rooms(path)
        modules = {".".join(module.split(".")[:3]) for module in imported(path)}
        assert not modules & {"klearning.models.soft", "klearning.models.sweeps"}
        agents = {module for module in modules if module.startswith("klearning.agents.")}
        assert agents <= {"klearning.agents.AGENTS", "klearning.agents.registry"}


def test_a_task_is_seen_by_trials_and_agents_alone():
    """It holds the world. `extension` hands it to agents of readers."""
    seen = {room_of(path) for path in FILES if "klearning.trials.task.Task" in imported(path)}
    assert seen == {"trials", "agents", "extension"}


def test_the_check_sees_every_form_of_import(tmp_path):
    for line in (
        "import klearning.papers.paper",
        "from klearning import papers",
        "def f():\n    from klearning.papers import paper",
        "ENTRY = 'klearning.papers.paper:Paper'",
    ):
        (tmp_path / "x.py").write_text(line)
        assert imported_rooms(tmp_path / "x.py") == {"papers"}


def test_every_agent_and_world_is_a_public_name():
    assert set(AGENTS.ours) | set(WORLDS.ours) <= set(kl.__all__)


def test_report_and_command_line_name_no_paper():
    """Each is one folder, which its figures, and whatever else it brings, are found in."""
    names = [path.name for path in (PACKAGE / "papers").iterdir() if (path / "__init__.py").is_file()]
    assert names
    for room in ("report", "cli", "figures", "experiments"):
        for path in (PACKAGE / room).rglob("*"):
            if path.suffix in (".py", ".js", ".html"):
                assert not [name for name in names if name in path.read_text()], f"{path} names a paper"


def test_every_public_name_is_there():
    for name in set(kl.__all__) - {"DeepKLearning"}:  # which needs JAX: tests/deep
        assert name == "__version__" or getattr(kl, name).__doc__, f"{name} has no docstring"


def test_nothing_pickles():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert "import pickle" not in text
        assert "allow_pickle=True" not in text


WRITES = {"write_text", "write_bytes", "savez", "savez_compressed", "to_csv", "to_parquet", "tofile"}
WRITERS = ("storage/files.py", "arrays/cache.py", "cli/streams.py")  # files of ours, compiled code, the null device


def test_files_are_written_in_one_place():
    """By `storage.files`, which follows links and refuses what is no regular file."""
    for path in FILES:
        if str(path.relative_to(PACKAGE)) in WRITERS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                words = [getattr(word, "value", None) for word in [*node.args, *(key.value for key in node.keywords)]]
                modes = [word for word in words if isinstance(word, str) and re.fullmatch("[rwaxbt+]{1,3}", word)]
                writes = name in WRITES or (name in ("open", "fdopen") and re.search("[wax+]", "".join(modes)))
                assert not writes, f"{path}:{node.lineno} writes a file: use storage.files"
