"""Options that several commands share."""

import sys
from collections.abc import Mapping
from pathlib import Path

import click

from sapo.errors import SapoError

Files = Mapping[str, str | Path | None]

format_option = click.option(
    "--format", metavar="NAME", help="columns, conllu or jsonl; by default the ending of the name tells."
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
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")


def split_names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def refuse_same_file(inputs: Files, outputs: Files) -> None:
    """What is read must not be written over, and two outputs must not be one file; each has a name for the message.

    '-' is no file; streams, pipes and devices are written to, not over.
    """
    from sapo.corpus.files import is_special

    seen = {Path(path).resolve(): what for what, path in inputs.items() if path is not None and str(path) != "-"}
    for what, path in outputs.items():
        if path is None or str(path) == "-" or is_special(Path(path)):
            continue
        real = Path(path).resolve()
        if real in seen:
            raise SapoError(f"{path}: cannot be {seen[real]} and {what} at once; give another name")
        seen[real] = what


def tell(message: str) -> None:
    """Notes go to standard error: standard output belongs to the data."""
    print(message, file=sys.stderr, flush=True)


def announce_compiling(quiet: bool = False) -> None:
    """The first run on a machine compiles the kernels; a person who waits should know why."""
    from sapo import kernels

    if not quiet:
        kernels.on_first_compile(lambda: tell("sapo: compiling what this command needs, once; this may take a minute"))
