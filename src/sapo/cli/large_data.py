"""Options of `sapo train` for data that does not fit into memory, or has more features than a model should have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--hash-bits",
        type=int,
        metavar="NUMBER",
        help="Use no dictionary: number features by a hash with this number of bits. 22 suits most data.",
    ),
    click.option(
        "--stream",
        type=click.Path(path_type=Path),
        metavar="DIRECTORY",
        help="For data larger than memory: read it into shards in this directory, and learn from them. What is there "
        "already is used. The checkpoint is there, too.",
    ),
)


def large_data_options(command: F) -> F:
    """Add the options about large data to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
