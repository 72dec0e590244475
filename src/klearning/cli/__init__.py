"""The command line: a thin coat over `run`, the paper's figures and the store."""

import sys

import click

from klearning.cli.learning import agents, run, worlds
from klearning.cli.paper import reproduce
from klearning.cli.report import report
from klearning.cli.simulators import benchmark, learn
from klearning.cli.stores import store, sweep
from klearning.version import __version__

BAD_INPUT = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="klearning")
def commands() -> None:
    """Bayesian reinforcement learning that explores on purpose."""


for command in (run, learn, agents, worlds, reproduce, report, sweep, store, benchmark):
    commands.add_command(command)


def main() -> None:
    """Entry point: what a person gets wrong is one line on stderr and exit code 2, never a traceback."""
    try:
        commands(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
    except click.ClickException as error:
        print(f"klearning: {error.format_message()} (see klearning --help)", file=sys.stderr)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        print("klearning: stopped", file=sys.stderr)
        sys.exit(130)
    except ValueError as error:
        print(f"klearning: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (ImportError, OSError) as error:
        print(f"klearning: {error}", file=sys.stderr)
        sys.exit(1)
