"""Take the tables and claims that `klearning reproduce` and `bench.deployed` wrote over into docs/evidence/data.

    klearning reproduce study --out out && python -m tools.reproduced out && make pages

`reproduce` writes `claims.json` and one Markdown file of tables per figure, `bench.deployed` one file per simulator.
Tables that are not in the folder stay as they are.
"""

import json
import re
import sys
from pathlib import Path

from bench.record import TABLE, cells_of, record

TABLES = {  # the file of a figure, and the names of its tables in their order
    "figure2_text": ("protocols.text",),
    "figure2_printed": ("protocols.printed",),
    "figure2_gpu_text": ("protocols.gpu",),
    "study": ("bayes_regret.regret", "bayes_regret.growth"),
    "misspecification": ("misspecification.regret",),
    "knowledge": ("theory_to_practice.knowledge",),
    "vapor": ("vapor.paper",),
    "bandits": ("vbos.regret",),
    "deployed_warehouse": ("simulators.warehouse", "simulators.warehouse_priors"),
    "deployed_workshop": ("simulators.workshop", "simulators.workshop_priors"),
}
HEADINGS = ("", "claim", "numbers")


def main(out: Path) -> None:
    for figure, names in TABLES.items():
        page = out / f"{figure}.md"
        if page.exists():
            for name, found in zip(names, TABLE.findall(page.read_text()), strict=False):
                headings, _, *rows = (cells_of(line) for line in found.splitlines())
                if figure == "misspecification":
                    headings, rows = two_agents(headings, rows)
                record(name, command_of(page), headings, rows)
    claimed = out / "claims.json"
    for figure, claims in json.loads(claimed.read_text()).items() if claimed.exists() else ():
        rows = [[claim["mark"], claim["sentence"], claim["numbers"]] for claim in claims]
        record(f"claims.{figure}", command_of(out / "claims.md"), HEADINGS, rows)


def two_agents(headings: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """K-learning with `reward` / Thompson sampling, world by world; if nothing is wrong, one row is enough."""
    worlds = list(dict.fromkeys(heading.rpartition(": ")[0] for heading in headings[1:]))
    places = [
        [headings.index(f"{world}: {who}") for who in ("K-learning, reward", "Thompson sampling")] for world in worlds
    ]
    short = [[row[0], *(f"{row[i]} / {row[j]}" for i, j in places)] for row in rows]
    usual = [["**nothing wrong**", *row[1:]] for row in short if row[0].startswith("**")][:1]
    return ["", *worlds], usual + [row for row in short if not row[0].startswith("**")]


def command_of(page: Path) -> str:
    found = re.search(r"^Command: `(.*)`$", page.read_text(), re.M)
    return found[1] if found else f"python -m bench.deployed {page.stem.rpartition('_')[2]}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
