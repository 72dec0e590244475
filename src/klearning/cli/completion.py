"""`klearning completion`: the script that lets a shell complete commands, agents, worlds and their options.

The scripts are Click's, with two changes: no space follows NAME=, and Bash, which takes words apart at =, gets
what comes after it.
"""

from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ZshComplete,
    add_completion_class,
    get_completion_class,
)

from klearning.cli.display import say
from klearning.cli.teaching import Command

VARIABLE = "_KLEARNING_COMPLETE"  # as Click derives it from the program's name
SHELLS = ("bash", "zsh", "fish")
LASTING = {
    "bash": "klearning completion bash > ~/.local/share/bash-completion/completions/klearning",
    "zsh": "klearning completion zsh > a folder of your $fpath, as _klearning",
    "fish": "klearning completion fish > ~/.config/fish/completions/klearning.fish",
}


class Bash(BashComplete):
    """Bash's own."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"
    )
    taken = ""  # what Bash has on the line already, of the word that is completed

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words = glue([*args, incomplete])
        self.taken = words[-1].rpartition("=")[0] + "=" if "=" in words[-1] else ""
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{item.value.removeprefix(self.taken)}"


class Zsh(ZshComplete):
    """Zsh's own."""

    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = ZshComplete.source_template.replace(
        "compadd -U -V unsorted -a completions",
        'if [[ "${completions[1]}" == *= ]]; then\n'
        "            compadd -U -S '' -V unsorted -a completions\n"
        "        else\n"
        "            compadd -U -V unsorted -a completions\n"
        "        fi",
    )


def glue(words: list[str]) -> list[str]:
    """Put together what Bash took apart: depth, =, 20 are one word; so are depth, = at the end of the line."""
    glued: list[str] = []
    for word in words:
        if glued and (word == "=" or glued[-1].endswith("=")) and not glued[-1].startswith("-"):
            glued[-1] += word
        else:
            glued.append(word)
    return glued


add_completion_class(Bash)
add_completion_class(Zsh)


@click.command(
    cls=Command,
    short_help="Print a script for completion with TAB.",
    examples=["klearning completion bash", "klearning completion zsh", "klearning completion fish"],
    epilog="\b\nTo keep it:\n" + "\n".join(f"  {line}" for line in LASTING.values()),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that teaches a SHELL to complete klearning's commands, names and options.

    For this shell only: eval "$(klearning completion bash)" (or zsh); klearning completion fish | source
    """
    maker = get_completion_class(shell)
    assert maker is not None  # Click knows all three
    say(maker(ctx.find_root().command, {}, "klearning", VARIABLE).source())
