"""What the package promises about itself: its public names, its imports."""

import ast
from pathlib import Path

import pytest

import klearning as kl

PACKAGE = Path(kl.__file__).parent

# each module may import those to its left
ORDER = (
    "version", "interrupts", "compiled", "elementary", "rows", "checks", "unseen", "bellman", "split", "tiling", "importing", "mdp",
    "beliefs", "bonuses", "temperature", "cone", "regret", "theory", "worlds", "walking", "environments", "binning",
    "dm", "simulate", "contract", "agents", "memories", "files", "spaces", "saving", "learner", "watching", "training",
    "benchmarks", "experiments", "figures", "papers", "report", "__init__", "cli", "__main__",
)  # fmt: skip


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "klearning":
            parts = node.module.split(".")[1:]
            rooms |= {parts[0]} if parts else {a.name if a.name in ORDER else "__init__" for a in node.names}
        assert not isinstance(node, ast.ImportFrom) or node.level == 0, f"relative import in {path}"
    return rooms


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    here = ORDER.index(room_of(path))
    for room in imported_rooms(path):
        assert room in ORDER, f"{room} has no place in the order"
        assert ORDER.index(room) <= here, f"{path.name} imports {room}, which comes after it"


def test_worlds_and_agents_are_apart():
    for path in (PACKAGE / "agents").rglob("*.py"):
        assert "worlds" not in imported_rooms(path)
    for path in (PACKAGE / "worlds").rglob("*.py"):
        assert not imported_rooms(path) & {"agents", "simulate"}


def test_every_public_name_is_there():
    for name in kl.__all__:
        assert name == "__version__" or getattr(kl, name).__doc__, f"{name} has no docstring"


def test_nothing_pickles():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert "import pickle" not in text
        assert "allow_pickle=True" not in text
