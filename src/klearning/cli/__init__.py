"""The command line: a thin coat over `run`, `learn`, the paper's figures and the store."""

import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import shell_complete

from klearning.cli.completion import VARIABLE
from klearning.cli.streams import abandon_output, prepare_streams, visible
from klearning.cli.teaching import LazyGroup
from klearning.numerics.command import STOPPED, Interruptible, finish
from klearning.version import __version__

FAILED, BAD_INPUT, INTERRUPTED, NO_READER = 1, 2, STOPPED, 141

HELP = f"""\b
Exit codes:
  0    done
  {FAILED}    something failed: a run, a check, a disk, an extra that is not installed
  {BAD_INPUT}    your input: one line on stderr names the field, the value and the fix
  {INTERRUPTED}  interrupted (Ctrl-C)
  {NO_READER}  whoever read the output stopped reading, as in `klearning agents | head -1`

\b
Results go to stdout, progress and complaints to stderr. --json prints results for programs.
`klearning COMMAND --help` has examples; `klearning completion --help` says how to complete with TAB.
"""


# each by the module that has it, which is imported when the command is called, or listed
COMMANDS = {
    "run": "run",
    "compare": "compare",
    "learn": "learn",
    "agents": "lists",
    "worlds": "lists",
    "games": "lists",
    "reproduce": "reproduce",
    "report": "report",
    "sweep": "stores",
    "store": "stores",
    "benchmark": "benchmark",
    "warm-up": "warm_up",
    "completion": "completion",
}


@click.group(
    cls=LazyGroup,
    places={name: f"{__name__}.{module}" for name, module in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=["klearning run", "klearning learn FrozenLake-v1 --episodes 500", "klearning --version"],
    epilog=HELP,
)
@click.version_option(__version__, prog_name="klearning")
def commands() -> None:
    """Bayesian reinforcement learning that explores on purpose."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: what a person gets wrong is one line on stderr and exit code 2, never a traceback."""
    prepare_streams()
    try:
        with Interruptible():
            code = _call(arguments)
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        code = 0
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        _complain(f"{error.format_message()} (see {context.command_path if context else 'klearning'} --help)")
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain("stopped")
        code = INTERRUPTED
    except BrokenPipeError:
        code = NO_READER
    except (ValueError, OverflowError) as error:
        _complain(str(error))
        code = BAD_INPUT
    except MemoryError as error:
        _complain(f"not enough memory: {str(error) or 'make the world, or what is run in it, smaller'}")
        code = FAILED
    except (ImportError, OSError) as error:
        _complain(str(error))
        code = FAILED
    abandon_output()
    finish(code)
    sys.exit(code)


def _call(arguments: Sequence[str] | None) -> int:
    """The exit code that the command chose. Click's own `main` would take a closed pipe for a failure."""
    if question := os.environ.get(VARIABLE):
        return shell_complete(commands, {}, "klearning", VARIABLE, question)
    try:
        with commands.make_context("klearning", list(sys.argv[1:] if arguments is None else arguments)) as context:
            commands.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    return 0


def _complain(message: str) -> None:
    print(f"klearning: {visible(' '.join(message.split()))}", file=sys.stderr)
