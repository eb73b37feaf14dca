"""Turn click's usage errors into one line that also names the help."""

import re
from collections.abc import Sequence

import click

from sapo.errors import did_you_mean, nearest


def usage_line(error: click.ClickException, app: click.Command, words: Sequence[str]) -> str:
    """Return the message for a usage error. `words` are the command line of `app`.

    >>> app = click.Group("sapo", commands=[click.Command("train")])
    >>> usage_line(click.NoSuchOption("--foo", possibilities=["--log", "--form"]), app, ["train", "--foo"])
    'sapo train: no such option --foo; did you mean --form or --log? See sapo train --help'
    """
    context = _context(error)
    command = _path(app, words) if context is None else context.command_path
    message = _message(error)
    if isinstance(app, click.Group) and words and words[0] not in app.commands and not words[0].startswith("-"):
        message = f"no such command '{words[0]}'{did_you_mean(words[0], app.commands)}"
    see = " See" if message.endswith("?") else "; see"
    return f"{command}: {message}{see} {command} --help"


def _path(app: click.Command, words: Sequence[str]) -> str:
    """Return the command that was called; some of click's errors do not contain it."""
    if isinstance(app, click.Group) and words and words[0] in app.commands:
        return f"{app.name} {_path(app.commands[words[0]], words[1:])}"
    return str(app.name)


def _message(error: click.ClickException) -> str:
    """Return the message without line breaks and full stop; in our words if click's differ between versions."""
    if isinstance(error, click.NoSuchOption):
        options, name = _options(error), error.option_name.lstrip("-").replace("-", "_")
        if error.ctx and any(name in (one.name, one.human_readable_name.lower()) for one in _arguments(error.ctx)):
            usage = " ".join(error.ctx.command.collect_usage_pieces(error.ctx)[1:])
            return f"no such option {error.option_name}; give it without a name: {error.ctx.command_path} {usage}"
        close = nearest(name, options)
        meant = options[close] if close else " or ".join(sorted(error.possibilities or ())[:3])
        return f"no such option {error.option_name}{f'; did you mean {meant}?' if meant else ''}"
    message = " ".join(error.format_message().split()).replace("valid integer range", "valid integer")
    message = re.sub(r"\.\s+Did you mean", "; did you mean", message).rstrip(".")
    context = _context(error)
    if message.startswith("Got unexpected extra argument") and context is not None and context.command.name == "train":
        message += "; the dev file comes after --dev"
    return message[:1].lower() + message[1:]


def _context(error: click.ClickException) -> click.Context | None:
    """Return the context of the command that was called wrongly; some of click's errors do not have it."""
    return error.ctx if isinstance(error, click.UsageError) else None


def _arguments(context: click.Context) -> list[click.Parameter]:
    return [one for one in context.command.params if isinstance(one, click.Argument)]


def _options(error: click.NoSuchOption) -> dict[str, str]:
    """Return the long options of the command, by their names in Python."""
    options = [option for option in error.ctx.command.params if isinstance(option, click.Option)] if error.ctx else []
    names = [name for option in options if not option.hidden for name in option.opts if name.startswith("--")]
    return {name[2:].replace("-", "_"): name for name in (*names, "--help")}
