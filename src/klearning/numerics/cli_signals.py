"""Ctrl-C while the command `klearning` is still importing.

Imports take most of a second, before any code of the command line runs, and a Ctrl-C would end them in a traceback.
`klearning` imports this module first. In the command, and in no other process, Ctrl-C then exits with code 130. The
modules imported here are loaded when Python starts; `signal` is not.
"""

import os
import sys
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

INTERRUPTED = 130  # exit code


def leave(number: int, frame: object) -> None:
    """Exit at once: nothing can be lost yet."""
    os.write(2, b"klearning: stopped\n")
    os._exit(INTERRUPTED)


def is_command() -> bool:
    """Whether this process is the script `klearning`, or `python -m klearning`."""
    script = sys.argv[0].endswith((f"{os.sep}klearning", f"{os.sep}klearning.exe"))
    return script or ("-m", "klearning") in zip(sys.orig_argv, sys.orig_argv[1:])


if is_command() and getsignal(SIGINT) is default_int_handler:  # unless SIGINT is ignored
    signal(SIGINT, leave)
