"""One HTML file that stands alone: what it shows, the data, and the scripts that show them."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

from klearning.numerics.display.markup import Html, safe
from klearning.version import __version__

SCRIPTS = ("drawing.js", "chart.js", "films.js", "simplex.js", "page.js")
LIMIT = 3_000_000  # bytes
TITLE = "Exploring on purpose"  # of a paper's page


def document(
    body: Html, scripts: Sequence[str], data: Mapping[str, object], lead: str, maker: str, title: str = TITLE
) -> str:
    """The whole file: its title, its first words, its sections, the data that scripts show, and what made it."""
    style = _part("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join([*map(_part, SCRIPTS), *scripts]) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_part("report.html")).substitute(
        policy=policy,
        style=style,
        script=script,
        body=body,
        data=as_json(data),
        version=__version__,
        title=safe(title),
        lead=safe(lead),
        maker=safe(maker),
    )


def _part(name: str) -> str:
    return (files("klearning.lab.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def as_json(data: object) -> str:
    """JSON that may stand within a script element: no text can end it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
