"""A mistake in a command line, as click found it, in; one line that also names the help out."""

import re
from collections.abc import Sequence

import click

MOVED = ("experiment", "report")  # commands of the laboratory, which is not in the package


def usage_line(error: click.ClickException, app: click.Command, words: Sequence[str]) -> str:
    """`words` are the command line of `app`.

    >>> app = click.Group("sapo", commands=[click.Command("train")])
    >>> usage_line(click.NoSuchOption("--foo", possibilities=["--log", "--form"]), app, ["train", "--foo"])
    'sapo train: no such option --foo; did you mean --form or --log? See sapo train --help'
    """
    if isinstance(app, click.Group) and words and words[0] in MOVED and words[0] not in app.commands:
        return f"sapo: '{words[0]}' moved out of the package; in a clone: python -m laboratory {words[0]} …"
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = _path(app, words) if context is None else context.command_path
    told = _told(error)
    see = " See" if told.endswith("?") else "; see"
    return f"{command}: {told}{see} {command} --help"


def _path(app: click.Command, words: Sequence[str]) -> str:
    """The command that was called: some mistakes of options do not bring it along."""
    if isinstance(app, click.Group) and words and words[0] in app.commands:
        return f"{app.name} {_path(app.commands[words[0]], words[1:])}"
    return str(app.name)


def _told(error: click.ClickException) -> str:
    """The message without line breaks and full stop, in our words where those of click differ between its versions."""
    if isinstance(error, click.NoSuchOption):
        nearest = " or ".join(sorted(error.possibilities or ())[:3])
        return f"no such option {error.option_name}{f'; did you mean {nearest}?' if nearest else ''}"
    message = " ".join(error.format_message().split())
    message = re.sub(r"\.\s+Did you mean", "; did you mean", message).rstrip(".")
    return message[:1].lower() + message[1:]
