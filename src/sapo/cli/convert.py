"""sapo convert: write a corpus in another format or tag scheme."""

import click

from sapo.cli.options import (
    announce_compiling,
    columns_option,
    encoding_option,
    label_option,
    quiet_option,
    refuse_same_file,
    split_names,
    tell,
)
from sapo.errors import SapoError


@click.command("convert")
@click.argument("input")
@click.argument("output", default="-")
@click.option("--from", "source_format", metavar="NAME", help="The format of the input, as of sapo train --format.")
@click.option("--to", "target_format", metavar="NAME", help="The format of the output.")
@click.option("--scheme", metavar="NAME", help="Write the tags as iob1, iob2, bioes, bilou or bmes.")
@click.option("--from-scheme", metavar="NAME", help="The scheme of the input; recognised by default.")
@click.option("--text", is_flag=True, help="Write JSONL as running text with character spans.")
@encoding_option
@label_option
@click.option("--no-label", is_flag=True, help="The file has no labels.")
@columns_option
@click.option("--keep", metavar="NAMES", help="The columns to write, as word,lemma. Default: all; from CoNLL-U, word.")
@click.option(
    "--into", metavar="COLUMN", help="Where the label goes in CoNLL-U: upos, xpos, feats, upos+feats or a key of FEATS."
)
@quiet_option
def convert_command(
    input: str,
    output: str,
    source_format: str | None,
    target_format: str | None,
    scheme: str | None,
    from_scheme: str | None,
    text: bool,
    encoding: str | None,
    label: str | None,
    no_label: bool,
    columns: str | None,
    keep: str | None,
    into: str | None,
    quiet: bool,
) -> None:
    """Convert formats and tag schemes.

    sapo convert train.conllu train.txt --label xpos, or sapo convert a.txt b.txt --scheme bioes
    """
    from sapo.corpus.conversion import Source, Target, convert
    from sapo.corpus.encodings import with_encoding
    from sapo.corpus.formats import format_of

    if text and format_of(output, target_format) != "jsonl":
        raise SapoError("--text writes JSONL; name the output .jsonl, or give --to jsonl")
    refuse_same_file({"the input": input}, {"the output": output})
    announce_compiling(quiet)
    done = convert(
        Source(
            with_encoding(input, encoding),
            source_format,
            label,
            split_names(columns),
            labelled=not no_label,
            scheme=from_scheme,
        ),
        Target(output, target_format, split_names(keep), into=into, scheme=scheme, text=text),
    )
    if not quiet and output != "-":
        lost = f"; this format has no place for: {'; '.join(done.lost)}" if done.lost else ""
        tell(f"{done.sentences:,} sentences written to {output}{lost}")
