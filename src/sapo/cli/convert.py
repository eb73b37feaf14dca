"""sapo convert: from one format or tag scheme to another."""

from typing import Annotated

import typer

from sapo.cli.options import ColumnsOption, LabelOption, QuietOption, announce_compiling, split_names, tell


def convert_command(
    input: Annotated[str, typer.Argument(help="A file, zipped or not; - for standard input.")],
    output: Annotated[str, typer.Argument(help="Where to write; - for standard output.")] = "-",
    source_format: Annotated[
        str | None, typer.Option("--from", help="columns, conllu or jsonl; by default the name tells.", metavar="NAME")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="columns, conllu or jsonl; by default the name tells.", metavar="NAME")
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(help="Write the tags as iob1, iob2, bioes or bilou.", metavar="NAME")
    ] = None,
    from_scheme: Annotated[
        str | None, typer.Option(help="The scheme they are in; recognised by default.", metavar="NAME")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="JSONL as running text with character spans.")] = False,
    label: LabelOption = None,
    no_label: Annotated[bool, typer.Option("--no-label", help="The file has no labels.")] = False,
    columns: ColumnsOption = None,
    keep: Annotated[
        str | None,
        typer.Option(help="The columns to write, as word,lemma. Default: all; from CoNLL-U, word.", metavar="NAMES"),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(help="Where the label goes in CoNLL-U: upos, xpos or a key of FEATS.", metavar="COLUMN"),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Convert: sapo convert train.conllu train.txt --label xpos, or sapo convert a.txt b.txt --scheme bioes"""
    from sapo.corpus.converting import convert

    announce_compiling(quiet)
    count = convert(
        input,
        output,
        source_format=source_format,
        target_format=target_format,
        label=label,
        columns=split_names(columns),
        labelled=not no_label,
        keep=split_names(keep),
        into=into,
        source_scheme=from_scheme,
        target_scheme=scheme,
        text=text,
    )
    if not quiet and output != "-":
        tell(f"{count:,} sentences written to {output}")
