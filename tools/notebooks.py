"""The notebooks of docs/notebooks as .ipynb files, for Jupyter and Colab.

    python -m tools.notebooks out/notebooks

They are stored as Markdown without outputs, so that changes can be reviewed.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.read_text().startswith("---"))


def read(page: Path) -> Any:
    """A page as a notebook."""
    notebook = read_myst_markdown_notebook(page.read_text(), path=page)
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.validate(notebook)
    return notebook


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        (out / f"{page.stem}.ipynb").write_text(nbformat.writes(read(page)))  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
