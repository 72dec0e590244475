"""Commands whose help ends with examples; the tests run them."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from klearning.cli.user_imports import import_option


class Command(click.Command):
    """A command with examples and the option `--import`."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(import_option())
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """A group with examples. An unknown command gets a suggestion."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None and not ctx.resilient_parsing and not cmd_name.startswith("-"):
            names = self.list_commands(ctx)
            near = get_close_matches(cmd_name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"give one of {', '.join(names)}"
            raise click.UsageError(f"command {cmd_name!r} is unknown: {hint}", ctx)
        return found


class LazyGroup(Group):
    """A group whose commands are imported on first use; ``modules`` says from where."""

    def __init__(self, *args: Any, modules: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.modules and cmd_name not in self.commands:
            module = import_module(self.modules[cmd_name])
            self.add_command(getattr(module, cmd_name.replace("-", "_")), cmd_name)
        return super().get_command(ctx, cmd_name)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Unwrapped, so that each can be copied."""
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")
