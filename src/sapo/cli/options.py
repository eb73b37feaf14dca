"""Options that several commands share."""

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

import click

from sapo.errors import DataWarning, SapoError, harmless

Files = Mapping[str, str | Path | None]

format_option = click.option(
    "--format",
    metavar="NAME",
    help="columns, conllu, jsonl, crfsuite, doccano, prodigy, label-studio, brat, spacy, arrow or (to tag) text. "
    "Default: inferred from the file extension.",
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


def split_names(columns: str | None) -> list[str] | None:
    """Return names that are separated by commas as a list."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def refuse_same_file(inputs: Files, outputs: Files) -> None:
    """Raise SapoError if an output would overwrite an input or another output.

    Files are given by the names that the message uses. '-', pipes and devices are ignored: nothing is overwritten.
    """
    from sapo.corpus.files import is_special

    # os.path does not fail where links lead in a circle; whoever opens the file tells it
    seen = {os.path.realpath(path): what for what, path in inputs.items() if path is not None and str(path) != "-"}
    for what, path in outputs.items():
        if path is None or str(path) == "-" or is_special(Path(path)):
            continue
        real = os.path.realpath(path)
        if real in seen:
            raise SapoError(f"{path}: {what} would overwrite {seen[real]}; give another name")
        seen[real] = what


def refuse_other_file(target: str | Path) -> None:
    """Raise SapoError if a model would overwrite a file that is not one."""
    from sapo.corpus.files import is_model

    path = Path(target)
    if path.suffix != ".sapo" and path.is_file() and path.stat().st_size and not is_model(path):
        raise SapoError(f"{target}: a model would overwrite this file, which is not one; give another name")


def was_given(option: str) -> bool:
    """Return whether the user gave this option of the command that runs."""
    return click.get_current_context().get_parameter_source(option) == click.core.ParameterSource.COMMANDLINE


def tell(message: str) -> None:
    """Print a message to standard error; standard output is for data."""
    if (progress := sys.modules.get("sapo.training.progress")) is not None:
        progress.erase_counter()
    print(harmless(message), file=sys.stderr, flush=True)


def tell_saved(path: str | Path) -> None:
    """Say that a model was saved, and how large it is."""
    size = Path(path).stat().st_size
    tell(f"saved {path} ({f'{size / 1e6:.1f} MB' if size >= 1e6 else f'{size / 1e3:.0f} kB'})")


def announce_compiling(quiet: bool = False) -> None:
    """Show progress if this run has to compile the kernels, so that the user knows why it takes longer."""
    from sapo import kernels

    def show(done: int, total: int) -> None:
        from sapo.training.progress import Compiling  # which a run that compiles nothing need not load

        kernels.watch_compiling(shown := Compiling())
        shown(done, total)

    if not quiet:
        kernels.watch_compiling(show)
