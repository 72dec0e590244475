"""Output that never fails: encodings without ✓, pipes that close early, full disks."""

import codecs
import io
import os
import re
import sys
import warnings
from pathlib import Path
from typing import TextIO
from unicodedata import category

# ASCII for characters that an encoding lacks; any other becomes a question mark
PLAIN = {
    "✓": "yes", "✗": "no", "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "·": "*", "±": "+-",
    "≤": "<=", "≥": ">=",
    "τ": "tau", "σ": "sigma", "ρ": "rho", "π": "pi", "β": "beta", "μ": "mu", "µ": "u", "ε": "eps", "√": "sqrt",
    "‘": "'", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


COLOUR = re.compile("\x1b\\[[0-9;]*m")  # of Gymnasium's warnings
# categories of invisible characters: control, format, surrogate, line and paragraph separators
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def spell_out(error: UnicodeError) -> tuple[str, int]:
    """For `codecs.register_error`: spell characters that cannot be encoded in ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def visible(text: str) -> str:
    """A text on one line, with control characters escaped as Python writes them."""
    if text.isprintable():
        return text
    return "".join(sign if category(sign) not in INVISIBLE else ascii(sign)[1:-1] for sign in text)


def prepare_streams() -> None:
    """Spell out characters that cannot be encoded, replace closed streams by the null device, format warnings."""
    codecs.register_error("spell_out", spell_out)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115, stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spell_out")
    warnings.showwarning = show_warning


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"klearning: warning: {visible(COLOUR.sub('', str(message)))}", file=file or sys.stderr)


def abandon_output() -> None:
    """Discard output that cannot be flushed: Python would try again at exit, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
