"""Output that arrives: on terminals that know no ✓, in pipes that close early, on disks that are full."""

import codecs
import io
import os
import sys
import warnings
from pathlib import Path
from typing import TextIO
from unicodedata import category

# how signs of ours are written where the encoding has none of them; any other is a question mark
PLAIN = {
    "✓": "yes", "✗": "no", "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "·": "*", "±": "+-",
    "≤": "<=", "≥": ">=",
    "τ": "tau", "σ": "sigma", "ρ": "rho", "π": "pi", "β": "beta", "μ": "mu", "µ": "u", "ε": "eps", "√": "sqrt",
    "‘": "'", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


# kinds of signs that steer, or are not seen: controls, directions of writing, ends of lines, halves of signs
STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def spell_out(error: UnicodeError) -> tuple[str, int]:
    """For `codecs.register_error`: what cannot be encoded is spelt in ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def visible(text: str) -> str:
    """A text in one line that shows what is in it: what would steer a terminal is escaped, as Python writes it."""
    if text.isprintable():
        return text
    return "".join(sign if category(sign) not in STEERING else ascii(sign)[1:-1] for sign in text)


def prepare_streams() -> None:
    """No sign is an error, a closed stream takes what nobody reads, and a warning is a line like any other of ours."""
    codecs.register_error("spell_out", spell_out)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115, open to the end
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
    print(f"klearning: warning: {visible(str(message))}", file=file or sys.stderr)


def abandon_output() -> None:
    """Nobody takes what is left in the buffer: without this Python would try once more at its end, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
