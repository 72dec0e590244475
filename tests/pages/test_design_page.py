"""The page on design shows the packages there are, and their import order."""

import re

from tests.contract.test_surface import DOORS, TIER, TIERS
from tests.support.doc_blocks import ROOT

PAGE = (ROOT / "docs" / "design.md").read_text()


def section(name: str) -> str:
    return PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_the_tiers_are_those_of_the_test():
    lines = re.findall(r"^    (\S.*)$", section("Import order"), re.M)
    assert [tuple(line.split(", ")) for line in lines] == list(TIERS)


def test_every_room_has_a_line():
    assert re.findall(r"^        (\w+)/ +\S", section("The packages"), re.M) == list(DOORS)
    rooms = re.findall(r"^            (\w+)/ +\S", section("The packages"), re.M)
    parts = {path.parent.name for path in (ROOT / "src" / "klearning" / "numerics").glob("*/__init__.py")}
    assert sorted(rooms) == sorted([*parts, *(room.partition(".")[2] for room in TIER if "." in room)])
