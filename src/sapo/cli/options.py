"""Options that several commands share."""

import sys
from typing import Annotated

import typer

FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="columns, conllu or jsonl; by default the ending of the name tells.", metavar="NAME"),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        help="The label: a column's number (0 is the first, -1 the last) or name; for CoNLL-U upos, xpos or a key of "
        "FEATS. Default: the last column, upos, or 'tags'.",
        metavar="COLUMN",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(help="Names of the columns, as word,pos,label. Default: word,pos,chunk,c3,...", metavar="NAMES"),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]


def split_names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def tell(message: str) -> None:
    """Notes go to standard error: standard output belongs to the data."""
    print(message, file=sys.stderr, flush=True)


def announce_compiling(quiet: bool = False) -> None:
    """The first run on a machine compiles the kernels; a person who waits should know why."""
    from sapo import kernels

    if not quiet:
        kernels.on_first_compile(lambda: tell("sapo: compiling for this machine, once; this takes up to a minute"))
