"""Click's shell completion, adapted to NAME=VALUE words: Bash splits words at =, and no space may follow NAME=."""

from typing import ClassVar

import click
from click.shell_completion import BashComplete, CompletionItem, ZshComplete, add_completion_class, shell_complete

VARIABLE = "_KLEARNING_COMPLETE"  # as Click derives it from the program's name


class Bash(BashComplete):
    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"
    )
    typed = ""  # the part of the word before the last =, which Bash completes separately

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words = join_pairs([*args, incomplete])
        self.typed = words[-1].rpartition("=")[0] + "=" if "=" in words[-1] else ""
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{item.value.removeprefix(self.typed)}"


class Zsh(ZshComplete):
    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = ZshComplete.source_template.replace(
        "compadd -U -V unsorted -a completions",
        """if [[ "${completions[1]}" == *= ]]; then compadd -U -S '' -V unsorted -a completions
        else compadd -U -V unsorted -a completions
        fi""",
    )


def join_pairs(words: list[str]) -> list[str]:
    """Undo Bash's splitting: depth, =, 20 become depth=20."""
    joined: list[str] = []
    for word in words:
        if joined and (word == "=" or joined[-1].endswith("=")) and not joined[-1].startswith("-"):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def complete(commands: click.Group, instruction: str) -> int:
    """Print a completion script (instruction bash_source, …) or completions (bash_complete, …); the exit code."""
    for shell in (Bash, Zsh):
        add_completion_class(shell)
    return shell_complete(commands, {}, "klearning", VARIABLE, instruction)
