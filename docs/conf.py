"""How Sphinx makes the site of the Markdown: `make site`. What is our own about it is in tools/site.py.

The source folder is the project, so that links between its pages, README.md and CONTRIBUTING.md among them, are those
that a reader of the Markdown follows.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

project = "klearning"
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**.md", "examples/README.md"]
exclude_patterns = [".*", "out", "src", "tests"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "tools.site"]
smartquotes = False
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types of other packages, and those of ours that are not public

# anchors as the usual hosts of Markdown make them
myst_heading_anchors = 4

# a notebook is run again when it has changed; nothing of the network for its widgets
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "out" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # a first cell compiles
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

# docstrings: `code` is code, fields stand in the order of the source
default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_class_signature = "mixed"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
python_maximum_signature_line_length = 90

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "klearning"
html_copy_source = False
html_show_copyright = False
html_use_index = html_domain_indices = False
html_additional_pages = {"index": "index.html"}
templates_path = ["_templates"]
copybutton_prompt_text = ">>> "
