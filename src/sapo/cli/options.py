"""Options, arguments and messages that several commands share."""

import os
import re
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from sapo.errors import DataError, DataWarning, OptionError, harmless

Files = Mapping[str, str | Path | None]

format_option = click.option(
    "--format",
    metavar="NAME",
    help="columns, conllu, jsonl, csv, json, crfsuite, doccano, prodigy, label-studio, brat, spacy, arrow or (to tag) "
    "text. Default: inferred from the file extension, and from how the file begins.",
)
ray_option = click.option(
    "--ray",
    metavar="ADDRESS",
    help="Work on a Ray cluster: local (the cores of this machine), auto, or the address that ray start prints.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="With --ray: how many workers share the work. Default: the cores of the cluster.",
)
encoding_option = click.option(
    "--encoding", metavar="NAME", help="The encoding of the input, such as latin-1, utf-16 or euc-jp. Default: utf-8."
)
label_option = click.option(
    "--label",
    metavar="COLUMN",
    help="The label: a column's number (0 is the first, -1 the last) or name; for CoNLL-U upos, xpos, feats, "
    "upos+feats, a key of FEATS. "
    "Default: the last column, upos, or 'tags'.",
)
columns_option = click.option(
    "--columns", metavar="NAMES", help="Names of the columns, as word,pos,label. Default: word,pos,chunk,c3,..."
)


def _quieten(context: click.Context, option: click.Parameter, quiet: bool) -> bool:
    if quiet:
        warnings.simplefilter("ignore", DataWarning)
    return quiet


quiet_option = click.option("--quiet", "-q", is_flag=True, callback=_quieten, help="Print only errors.")


class GroupedCommand(click.Command):
    """A command whose help shows its options under headings.

    A subclass says which: `groups` has the names of parameters by heading, and options that it does not name come
    last. Options in `elsewhere` are not shown: the epilog says where to read about them.
    """

    groups: Mapping[str, Sequence[str]] = {}
    elsewhere: Sequence[str] = ()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        rows = {str(one.name): row for one in options if (row := one.get_help_record(ctx)) is not None}
        named = {name for names in self.groups.values() for name in names}
        others = [name for name in rows if name not in named and name not in self.elsewhere]
        width = max(len(rows[name][0]) for name in rows if name not in self.elsewhere)
        for heading, names in {**self.groups, "Other": others}.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{rows[name][0]:{width}}", rows[name][1]) for name in names])


def split_names(columns: str | None) -> list[str] | None:
    """Return names that are separated by commas as a list."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "label"), counted(1200, "token")
    ('1 label', '1,200 tokens')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def refuse_same_file(inputs: Files, outputs: Files) -> None:
    """Raise SapoError if an output would overwrite an input or another output.

    Files are given by the names that the message uses. '-', pipes and devices are ignored: nothing is overwritten.
    """
    from sapo.corpus.files import is_special

    # os.path does not fail where links lead in a circle; opening the file reports it
    seen = {os.path.realpath(path): what for what, path in inputs.items() if path is not None and str(path) != "-"}
    for what, path in outputs.items():
        if path is None or str(path) == "-" or is_special(Path(path)):
            continue
        real = os.path.realpath(path)
        if real in seen:
            raise DataError(f"{path}: {what} would overwrite {seen[real]}; give another name")
        seen[real] = what


def text_inputs(input: str, format: str | None) -> dict[str, str | Path]:
    """Return the files that are read, by the names that messages use."""
    if format != "text" or not Path(input).is_dir():
        return {"the input": input}
    from sapo.corpus.plain_text import files_below

    return {f"the input {file}": file for file in files_below(input)}


def refuse_other_file(target: str | Path, suffix: str = ".sapo") -> None:
    """Raise SapoError if a model would overwrite a file that is not a model of sapo, nor named by this suffix."""
    from sapo.corpus.files import is_model

    path = Path(target)
    if path.suffix != suffix and path.is_file() and path.stat().st_size and not is_model(path, foreign=False):
        raise DataError(f"{target}: is not a model of sapo, and would be overwritten by one; give another name")


def was_given(option: str) -> bool:
    """Return whether the user gave this option of the command that runs."""
    return click.get_current_context().get_parameter_source(option) == click.core.ParameterSource.COMMANDLINE


def parse_numbers(texts: list[str] | tuple[str, ...], option: str) -> list[tuple[str, float]]:
    """Return the labels and numbers in texts such as O=1,B-X=2; a label may contain '=' itself.

    Raises SapoError, with the name of the option, if a text has another form.

    >>> parse_numbers(["O=1,==2", "O=3"], "--bias")
    [('O', 1.0), ('=', 2.0), ('O', 3.0)]
    """
    numbers = []
    for text in texts:
        for part in text.split(","):
            label, equals, number = part.strip().rpartition("=")
            try:
                numbers.append((label, float(number)))
            except ValueError:
                equals = ""
            if not equals or not label:
                raise OptionError(f"{option} must be LABEL=NUMBER, as O=0.5, not '{part}'")
    return numbers


def model_first(model: str, other: str) -> tuple[str, str]:
    """Return a model and what it is to work on; if they were given the other way round, swap them and say so.

    A swapped order is recognized by how a model file begins.
    """
    from sapo.corpus.files import is_model

    if is_model(model) or not is_model(other):
        return model, other
    _tell_order(other, model)
    return other, model


def models_first(systems: tuple[str, ...], gold: str) -> tuple[tuple[str, ...], str]:
    """Return systems and the gold file; if the gold file was given first and all others are models, say so."""
    from sapo.corpus.files import is_model

    first, *others = (*systems, gold)
    if is_model(first) or not all(map(is_model, others)):
        return systems, gold
    _tell_order(*others, first)
    return tuple(others), first


def _tell_order(*files: str) -> None:
    tell(f"sapo: the model comes first; taken as: {click.get_current_context().command_path} {' '.join(files)}")


_OPTIONS = (
    "all_pairs|cluster|clusters|columns|constraints|cross|encoding|format|label|min_count|new_labels|resume|spans|stream|"
    "text|text_format|to|tokens"
)
_PARAMETER = re.compile(rf"`(?:allow_limits\((\w+=\d+)\)|({_OPTIONS})(?:='?(.*?)'?)?)`")


def as_options(message: str) -> str:
    """Return a message with options instead of Python parameters, which the library puts in backquotes.

    >>> as_options("use `format='text'`, or `allow_limits(line=9)`; leave `label` out; train with `constraints=False`")
    'use --format text, or --limit line=9; leave --label out; train with --no-constraints'
    """

    def option(found: re.Match[str]) -> str:
        limit, parameter, value = found.groups()
        if limit:
            return f"--limit {limit}"
        name = {"cluster": "ray"}.get(parameter, parameter).replace("_", "-")
        if value in (None, "True", "False"):
            return f"--no-{name}" if value == "False" else f"--{name}"
        return f"--{name} {value}"

    return _PARAMETER.sub(option, message)


def tell(message: str) -> None:
    """Print a message to standard error; standard output is for data."""
    if (progress := sys.modules.get("sapo.training.progress")) is not None:
        progress.erase_counter()
    print(harmless(as_options(message)), file=sys.stderr, flush=True)


def tell_saved(path: str | Path, following: str = "") -> None:
    """Say that a model was saved, how large it is, and perhaps what follows."""
    size = Path(path).stat().st_size
    tell(f"saved {path} ({f'{size / 1e6:.1f} MB' if size >= 1e6 else f'{size / 1e3:.0f} kB'}){following}")


def announce_compiling(quiet: bool = False) -> None:
    """Show progress if this run has to compile the kernels, so that the user knows why it takes longer."""
    from sapo import jit

    def show(done: int, total: int) -> None:
        from sapo.training.progress import Compiling  # which a run that compiles nothing need not load

        jit.watch_compiling(shown := Compiling())
        shown(done, total)

    if not quiet:
        jit.watch_compiling(show)


class Ticker:
    """Show progress on one changing line, in a terminal only, at most every two seconds."""

    def __init__(self, quiet: bool = False) -> None:
        self.on = not quiet and sys.stderr.isatty()
        self.tokens = 0
        self.started = self.shown = time.perf_counter()

    def add(self, tokens: int) -> None:
        """Report that this many more tokens are done."""
        self.tokens += tokens
        seconds = time.perf_counter() - self.started
        self.tell(f"{self.tokens:,} tokens, {self.tokens / max(seconds, 1e-9):,.0f} per second")

    def tell(self, message: str) -> None:
        """Show a message, unless the last one is less than two seconds old."""
        now = time.perf_counter()
        if self.on and now - self.shown > 2:
            self.shown = now
            print(f"\r{message:<60}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line, if anything was shown."""
        if self.shown > self.started:
            print(file=sys.stderr)
