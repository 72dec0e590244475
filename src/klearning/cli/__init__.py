"""The command line."""

import os
import sys
from collections.abc import Sequence

import click

from klearning.cli.help import LazyGroup
from klearning.cli.interrupts import Interruptible, finish
from klearning.cli.streams import abandon_output, prepare_streams, visible
from klearning.numerics.cli_signals import INTERRUPTED
from klearning.version import __version__

FAILED, BAD_INPUT, NO_READER = 1, 2, 141

HELP = f"""\b
Exit codes:
  0    done
  {FAILED}    failed: a run, a check, a disk, or an extra that is not installed
  {BAD_INPUT}    invalid input: one line on stderr names the field, the value and the fix
  {INTERRUPTED}  interrupted (Ctrl-C)
  {NO_READER}  the reader closed the pipe, as in `klearning agents | head -1`

\b
Results go to stdout, progress and errors to stderr. --json prints results for programs.
`klearning COMMAND --help` shows examples.

\b
Shell completion with TAB:
  eval "$(_KLEARNING_COMPLETE=bash_source klearning)"          in ~/.bashrc
  eval "$(_KLEARNING_COMPLETE=zsh_source klearning)"           in ~/.zshrc
  _KLEARNING_COMPLETE=fish_source klearning | source           in ~/.config/fish/config.fish
"""


# each by its module, which is imported when the command is called or listed
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
}


@click.group(
    cls=LazyGroup,
    modules={name: f"{__name__}.{module}" for name, module in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=["klearning run", "klearning learn FrozenLake-v1 --episodes 500", "klearning --version"],
    epilog=HELP,
)
@click.version_option(__version__, prog_name="klearning")
def commands() -> None:
    """Bayesian reinforcement learning that explores on purpose."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: invalid input gives one line on stderr and exit code 2, never a traceback."""
    prepare_streams()
    try:
        with Interruptible():
            code = _call(arguments)
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        code = 0
    except click.UsageError as error:
        _complain(f"{error.format_message()} (see {error.ctx.command_path if error.ctx else 'klearning'} --help)")
        code = error.exit_code
    except click.ClickException as error:
        _complain(f"{error.format_message()} (see klearning --help)")
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
        _complain(f"not enough memory: {str(error) or 'choose a smaller world, or run less at a time'}")
        code = FAILED
    except (ImportError, OSError) as error:
        _complain(str(error))
        code = FAILED
    abandon_output()
    finish(code)
    sys.exit(code)


def _call(arguments: Sequence[str] | None) -> int:
    """The exit code that the command chose. Click's own `main` would treat a closed pipe as a failure."""
    if instruction := os.environ.get("_KLEARNING_COMPLETE"):
        from klearning.cli.completion import complete

        return complete(commands, instruction)
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
