"""A paper's figures, claims and tables, written from a store alone."""

import json
from pathlib import Path
from typing import NamedTuple

from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import Claim, claims_page
from klearning.lab.papers.paper import FigureSelection
from klearning.numerics.display.canvas import save
from klearning.numerics.files import write_file


class Publication(NamedTuple):
    """The claims and pages of numbers that were written, by file name."""

    claims: dict[str, list[Claim]]
    tables: dict[str, str]


def publish(selection: FigureSelection, store: Store, out: Path) -> Publication:
    """Draw into ``out``, and write claims and tables beside the figures."""
    out.mkdir(parents=True, exist_ok=True)
    published = Publication({}, {})
    for figure in selection.figures:
        results = figure.read(store)
        if (picture := figure.draw(results, selection.command)) is not None:
            save(picture, out / f"{figure.file}.png")
        if claims := figure.claims(results):
            published.claims[figure.file] = claims
        if numbers := figure.table(results):
            published.tables[figure.file] = numbers
            write_file(out / f"{figure.file}.md", f"Command: `{selection.command}`\n\n{numbers}".encode())
    text = "# Claims of the paper, checked\n\n" + f"Command: `{selection.command}`\n\n"
    text += "\n".join(claims_page(claims, name) for name, claims in published.claims.items())
    write_file(out / "claims.md", text.encode())
    data = {name: [{**c.data(), "mark": c.mark} for c in claims] for name, claims in published.claims.items()}
    write_file(out / "claims.json", (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())
    return published
