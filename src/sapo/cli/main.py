"""The command `sapo`: its subcommands, and a one-line message for every user error."""

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, NoReturn

import click

from sapo import __version__, limits
from sapo.cli.mistakes import usage_line
from sapo.cli.streams import prepare_streams
from sapo.errors import DataWarning, FileWarning, SapoError, harmless

# in the order of use
GROUPS = {
    "Start": ("demo", "sample"),
    "Data": ("check", "convert"),
    "Train": ("train", "teach"),
    "Use": ("tag", "pipeline", "serve", "assist"),
    "Judge": ("eval", "errors", "compare", "explain"),
    "Models": ("inspect", "calibrate", "prune", "warm-up"),
}

# A command makes many objects while it loads, and next to no cycles: looking for them takes a tenth of a short command.
FEW_COLLECTIONS = (100_000, 10, 10)


class CommandTable(MutableMapping[str, click.Command]):
    """All commands by name. The file of a command is loaded when it is looked up, so that the others take no time."""

    def __init__(self) -> None:
        self.modules = {name: name.replace("-", "_") for names in GROUPS.values() for name in names}
        self.modules["eval"] = "evaluate"
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
    """Train a tagger, chunker or entity recogniser on your own data in seconds, and use it."""
    limits.set_limits(**dict(limits.parse(text) for text in raised))


def main() -> None:
    """Run the command `sapo`."""
    run_commands(app, "sapo")


def run_commands(app: click.Group, name: str, obj: object = None) -> None:
    """Run a command; `obj` is the object of its click context.

    Exit with 2 after a user error, 130 after Ctrl-C, 143 after SIGTERM, 141 if the reader of the output is gone.
    """
    if f"_{name.upper()}_COMPLETE" in os.environ:
        from sapo.cli.completion import complete_files

        complete_files(app)
    # With colours for its errors, numba would write an escape sequence when the command ends.
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
        _leave(str(error), 2)
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

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, DataWarning | FileWarning):
            print(f"sapo: warning: {message}", file=sys.stderr, flush=True)
        else:
            as_usual(message, category, *where, **more)

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
        if (kernels := sys.modules.get("sapo.kernels")) is not None:
            kernels.end_processes()  # what Python would do at its end
        os._exit(code)
    sys.exit(code)
