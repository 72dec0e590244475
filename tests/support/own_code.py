"""Code as a reader would write it: a file outside the package."""

import importlib.util
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType


def imported(text: str, path: Path) -> ModuleType:
    """The module of a new file that holds the text. Sources are found by its name for as long as the test runs."""
    path.write_text(dedent(text))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
