"""Shell completion: names of files for every argument and option that takes one.

click completes commands and options by itself. It knows nothing of our files, which are plain strings, so that `-` can
stand for standard input; and once a shell completes a command, it no longer completes files on its own.
"""

from collections.abc import Iterator

import click
from click.shell_completion import CompletionItem

FILES = {
    "DIRECTORY",
    "FILE",
    "FILE [DEV] [TEST]",
    "A B [C ...]",
    "OLD",
    "OUT",
    "PAGE",
    "PATH",
}  # as the help calls them


def complete_files(group: click.Group) -> None:
    """Let every parameter of the commands that may be a file complete names of files."""
    for parameter in _parameters(group):
        argument = isinstance(parameter, click.Argument) and parameter.name not in ("name", "sentence")
        named = parameter.metavar in FILES or parameter.name in ("template", "output")
        if argument or named or isinstance(parameter.type, click.Path):
            parameter._custom_shell_complete = _files


def _parameters(command: click.Command) -> Iterator[click.Parameter]:
    yield from command.params
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from _parameters(inner)


def _files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave it to the shell: it knows its directories best."""
    return [CompletionItem(incomplete, type="file")]
