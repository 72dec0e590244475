"""The notebooks, executed from the first cell to the last in a real kernel."""

import nbclient
import nbformat
import pytest

from tools import notebooks

SECONDS = 300  # for one cell: kernels may have to be compiled


def execute(notebook, folder):
    return nbclient.NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()


def test_there_are_two():
    assert [page.stem for page in notebooks.PAGES] == ["exploration", "simulator"]
    for page in notebooks.PAGES:
        cells = notebooks.read(page).cells
        assert sum(cell.cell_type == "code" for cell in cells) > 10
        assert all("```" not in cell.source for cell in cells if cell.cell_type == "code")


@pytest.mark.slow
@pytest.mark.parametrize("page", notebooks.PAGES, ids=lambda page: page.stem)
def test_every_cell_runs(page, tmp_path):
    executed = execute(notebooks.read(page), tmp_path)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", ())]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) >= (8 if page.stem == "exploration" else 1)
    warned = [output.text for output in outputs if output.output_type == "stream" and "Warning" in output.text]
    assert not warned


@pytest.mark.slow
def test_a_cell_that_fails_is_noticed(tmp_path):
    broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="ZeroDivisionError"):
        execute(broken, tmp_path)
