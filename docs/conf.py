"""Sphinx settings for `make site`. Our own extension is tools/site.py.

The source folder is the project, so that the links a reader of the Markdown follows also work on the site. README.md
is left out: docs/README.md is the landing page.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

project = "klearning"
root_doc = "docs/README"
include_patterns = ["CHANGELOG.md", "CONTRIBUTING.md", "docs/**.md", "examples/README.md"]
exclude_patterns = [".*", "out", "src", "tests"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "tools.site"]
smartquotes = False
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types of other packages, and those of ours that are not public

# anchors as the usual hosts of Markdown make them; $…$ and $$…$$ are mathematics
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"

# run a notebook again if it has changed; load nothing from the network for its widgets
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
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
copybutton_prompt_text = ">>> "
