"""Tests lie where their sources lie."""

from pathlib import Path

import klearning as kl

PACKAGE, TESTS = Path(kl.__file__).parent, Path(__file__).parents[1]
OF_ALL = {"browser", "contract", "extending", "golden", "laws", "pages", "support"}  # concern the whole package
DEVICE = "gpu/device"  # what runs in Numba's simulator of CUDA, in a session of its own


def test_a_folder_of_tests_is_a_folder_of_sources():
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert {folder for folder in folders - OF_ALL - {DEVICE} if not (PACKAGE / folder).is_dir()} == set()


def test_every_package_of_the_top_has_tests():
    doors = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert doors <= {path.name for path in TESTS.iterdir()}
