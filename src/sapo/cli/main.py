"""The command `sapo`: its subcommands, its streams, completion, and a one-line message for every user error."""

import gc
import io
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from sapo import __version__
from sapo.cli.options import as_options
from sapo.errors import DataWarning, FileWarning, SapoError, did_you_mean, harmless, nearest, parse_limit, set_limits

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Commands in the order of use, each with its file.
GROUPS = {
    "Start": {"quickstart": "quickstart", "demo": "demo"},
    "Data": {"check": "check", "convert": "convert", "cluster": "cluster"},
    "Train": {"train": "train", "distil": "distil", "teach": "teach"},
    "Use": {"tag": "tag", "pipeline": "pipeline", "ud": "ud", "rerank": "rerank", "edits": "edits", "serve": "serve"},
    "Judge": {"eval": "evaluate", "errors": "errors", "compare": "compare", "explain": "explain"},
    "Models": {"inspect": "inspect", "calibrate": "calibrate", "prune": "prune", "warm-up": "demo"},
}

# names of files in the help, which a shell completes
FILES = {"DIRECTORY", "FILE", "FILE [DEV] [TEST]", "A B [C ...]", "OLD", "OUT", "PAGE", "PATH"}

# A command makes many objects while it loads, and next to no cycles: looking for them takes a tenth of a short command.
FEW_COLLECTIONS = (100_000, 10, 10)


class CommandTable(MutableMapping[str, click.Command]):
    """All commands by name. The file of a command is loaded when it is looked up, so that the others take no time."""

    def __init__(self) -> None:
        self.modules = {name: module for group in GROUPS.values() for name, module in group.items()}
        self.more: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name in self.more:
            return self.more[name]
        module = import_module(f"sapo.cli.{self.modules[name]}")
        command: click.Command = vars(module)[f"{name.replace('-', '_')}_command"]
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self.more[name] = command

    def __delitem__(self, name: str) -> None:
        del (self.more if name in self.more else self.modules)[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.modules, **self.more})

    def __len__(self) -> int:
        return len({**self.modules, **self.more})

    def __contains__(self, name: object) -> bool:
        return name in self.modules or name in self.more


class ReaderGoneError(Exception):
    """The reader of the output is gone, as in `sapo tag ... | head -1`; click would handle a BrokenPipeError itself."""


class TerminatedError(SystemExit):
    """SIGTERM has arrived. Nothing in between catches this by accident."""

    code: int


class Commands(click.Group):
    """Commands in the order of use, under headings. Notices when the reader of the output is gone."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:{width}}", self.commands[name].get_short_help_str(formatter.width)) for name in names]
                )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGoneError from None


@click.group("sapo", cls=Commands, commands=CommandTable(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="sapo %(version)s")
@click.option(
    "--limit", "raised", multiple=True, metavar="NAME=VALUE", help="Raise a limit: see docs/explanation/security.md."
)
def app(raised: tuple[str, ...]) -> None:
    """Train a tagger, chunker or entity recognizer on your own data in seconds, and use it."""
    set_limits(**dict(parse_limit(text) for text in raised))


def main() -> None:
    """Run the command `sapo`."""
    run_commands(app, "sapo")


def run_commands(app: click.Group, name: str, obj: object = None) -> None:
    """Run a command; `obj` is the object of its click context.

    Exit with 2 after a user error, 130 after Ctrl-C, 143 after SIGTERM, 141 if the reader of the output is gone.
    """
    if f"_{name.upper()}_COMPLETE" in os.environ:
        complete_files(app)
    # With colors for its errors, numba would write an escape sequence when the command ends.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    gc.set_threshold(*FEW_COLLECTIONS)
    prepare_streams()
    _show_data_warnings()
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    if sys.stdout is None:  # closed by the caller, as in `sapo ... >&-`
        print("sapo: standard output: cannot be written (it is closed)", file=sys.stderr)
        sys.exit(2)
    try:
        try:
            app(prog_name=name, standalone_mode=False, obj=obj)
        finally:
            sys.stdout.flush()
            gc.freeze()  # Python looks for garbage at its end, too
    except SapoError as error:
        _leave(as_options(str(error)), 2)
    except (ReaderGoneError, BrokenPipeError):
        _leave("", 141)
    except OSError as error:
        _leave(f"standard output: cannot be written ({error.strerror or error})", 2)
    except click.ClickException as error:
        # `sapo` alone shows the help; older versions of click do not have this error
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
        else:
            print(harmless(usage_line(error, app, sys.argv[1:])), file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _leave("interrupted", 130, at_once=True)
    except TerminatedError as error:
        _leave("", error.code, at_once=True)
    except MemoryError:
        _leave("not enough memory; try a larger --min-count or a smaller file", 2)


def _show_data_warnings() -> None:
    """Print a warning about data or files as one line, and others as Python does."""
    as_usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, DataWarning | FileWarning):
            print(f"sapo: warning: {as_options(str(message))}", file=sys.stderr, flush=True)
        else:
            as_usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def _terminated(number: int, frame: object) -> NoReturn:
    """Exit by an exception, so that half-written files are removed."""
    raise TerminatedError(128 + number)


def _leave(message: str, code: int, *, at_once: bool = False) -> NoReturn:
    """Exit; `at_once` does not wait for threads that still run kernels."""
    if message:
        print(f"sapo: {message}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # do not try to write it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if at_once and threading.active_count() > 1:
        if (jit := sys.modules.get("sapo.jit")) is not None:
            jit.end_processes()  # what Python would do at its end
        os._exit(code)
    sys.exit(code)


class Notes(io.FileIO):
    """Standard error that drops what cannot be written, because a model that took hours is worth more."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


class Harmless(io.TextIOWrapper):
    """Standard output for text that may come from strangers. Data goes through its buffer, and stays as it is."""

    def write(self, text: str) -> int:
        return super().write(harmless(text))


def prepare_streams() -> None:
    """Prepare the streams, once, when a command begins. Streams that a program has replaced are left alone."""
    real = sys.__stderr__
    if sys.stderr is None:  # closed by the caller, as in `sapo ... 2>&-`
        sys.stderr = _notes(os.open(os.devnull, os.O_WRONLY), "utf-8")
    elif real is not None and sys.stderr is real:
        sys.stderr = _notes(real.fileno(), real.encoding)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout is sys.__stdout__:
        real_out, encoding, line_buffering = sys.stdout, sys.stdout.encoding, sys.stdout.line_buffering
        real_out.flush()
        # half of a surrogate pair cannot be encoded; JSON accepts \ud800
        sys.stdout = Harmless(real_out.detach(), encoding, "backslashreplace", line_buffering=line_buffering)


def _notes(number: int, encoding: str) -> io.TextIOWrapper:
    raw = io.BufferedWriter(Notes(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


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
        if error.ctx and any(name in (one.name, *_words(one)) for one in _arguments(error.ctx)):
            usage = " ".join(error.ctx.command.collect_usage_pieces(error.ctx)[1:])
            return f"no such option {error.option_name}; give it without a name: {error.ctx.command_path} {usage}"
        close = name if name in options else nearest(name, options)
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


def _words(argument: click.Parameter) -> list[str]:
    """Return the names in a metavar such as '[MODEL] FILE'."""
    return re.findall(r"\w+", argument.human_readable_name.lower())


def _options(error: click.NoSuchOption) -> dict[str, str]:
    """Return the long options of the command, and what --set takes, by their names in Python."""
    options = [option for option in error.ctx.command.params if isinstance(option, click.Option)] if error.ctx else []
    names = [name for option in options for name in option.opts if name.startswith("--")]
    settings = {}
    if "--set" in names:
        from sapo.cli.train import declared

        settings = {name: f"--set {name}=VALUE" for name in declared()}
    return {**settings, **{name[2:].replace("-", "_"): name for name in (*names, "--help")}}


def complete_files(group: click.Group) -> None:
    """Let a shell complete names of files for every parameter that may be a file.

    click completes commands and options by itself. Our files are plain strings, so that `-` can stand for standard
    input; and once a shell completes a command, it no longer completes files on its own.
    """
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


def _files(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Leave it to the shell: it knows its directories best."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]
