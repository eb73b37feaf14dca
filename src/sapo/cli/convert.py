"""sapo convert: write a corpus in another format or tag scheme, split it, or convert a model."""

from pathlib import Path

import click

from sapo.cli.options import (
    announce_compiling,
    columns_option,
    encoding_option,
    label_option,
    quiet_option,
    refuse_other_file,
    refuse_same_file,
    split_names,
    tell,
    tell_saved,
)
from sapo.errors import OptionError


@click.command("convert")
@click.argument("input")
@click.argument("output", default="-")
@click.option("--from", "source_format", metavar="NAME", help="The format of the input, as of sapo train --format.")
@click.option("--to", "target_format", metavar="NAME", help="The format of the output.")
@click.option("--scheme", metavar="NAME", help="Write the tags as iob1, iob2, bioes, bilou or bmes.")
@click.option("--from-scheme", metavar="NAME", help="The scheme of the input; recognized by default.")
@click.option("--text", is_flag=True, help="Write JSONL as running text with character spans.")
@encoding_option
@label_option
@click.option("--no-label", is_flag=True, help="The file has no labels.")
@columns_option
@click.option("--keep", metavar="NAMES", help="The columns to write, as word,lemma. Default: all; from CoNLL-U, word.")
@click.option(
    "--into", metavar="COLUMN", help="Where the label goes in CoNLL-U: upos, xpos, feats, upos+feats or a key of FEATS."
)
@click.option(
    "--split",
    metavar="SHARES",
    help="Split the file into train, dev and test of these sizes, as 80,10,10, or into train and test, as 80,20. "
    "OUTPUT is the directory to write them to.",
)
@click.option(
    "--by",
    type=click.Choice(["sentence", "document"], case_sensitive=False),
    help="What --split keeps together. Default: document if the file has ten or more, else sentence.",
)
@click.option("--seed", type=click.IntRange(0), help="Equal seeds give equal parts of --split. Default: 0.")
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
    split: str | None,
    by: str | None,
    seed: int | None,
    quiet: bool,
) -> None:
    """Convert formats and tag schemes, and split files.

    sapo convert train.conllu train.txt --label xpos, or sapo convert a.txt b.txt --scheme bioes

    sapo convert all.txt data --split 80,10,10

    Writes data/train.txt, data/dev.txt and data/test.txt. Each label, or type of span, has about the same share in
    every part. Documents stay whole: texts with spans, -DOCSTART- in column files, # newdoc or the beginning of
    sent_id in CoNLL-U, the key 'document' or 'id' in JSONL. Equal sentences stay together.

    sapo convert usaddr.crfsuite usaddr.sapo

    Converts a model of CRFsuite, and back, if the model has ready-made features.
    """
    from sapo.corpus.files import is_model

    if is_model(input):
        _convert_model(input, output, quiet)
        return
    from sapo.corpus.conversion import Source, Target, convert, part_paths, split_corpus
    from sapo.corpus.files import with_encoding
    from sapo.corpus.formats import format_of

    path, names = with_encoding(input, encoding), split_names(columns)
    source = Source(path, source_format, label, names, labeled=not no_label, scheme=from_scheme)
    target = Target(output, target_format, split_names(keep), into=into, scheme=scheme, text=text)
    shares = [] if split is None else parse_shares(split)
    if split is None and (by is not None or seed is not None):
        raise OptionError("--by and --seed are for --split; add --split 80,10,10")
    if shares and output == "-":
        raise OptionError(f"--split writes files; name their directory: sapo convert {input} data --split {split}")
    paths = part_paths(source, target, len(shares)) if shares else [Path(output)]
    if text and format_of(paths[0], target_format) != "jsonl":
        raise OptionError("--text writes JSONL; name the output .jsonl, or give --to jsonl")
    refuse_same_file(
        {"the input": input}, {f"the part {path.name}" if shares else "the output": path for path in paths}
    )
    announce_compiling(quiet)
    if shares:
        parts, lost = split_corpus(source, target, shares, documents=_by(by), seed=seed or 0)
        written = [
            f"wrote {part.path}: "
            + (f"{part.documents:,} documents, " if part.documents is not None else "")
            + f"{part.sentences:,} sentences, {part.tokens:,} tokens"
            for part in parts
        ]
    else:
        done = convert(source, target)
        lost, written = done.lost, [f"{done.sentences:,} sentences written to {output}"]
    if not quiet and output != "-":
        tell("\n".join(written) + (f"; this format cannot store: {'; '.join(lost)}" if lost else ""))


def _convert_model(source: str, target: str, quiet: bool) -> None:
    """Write a model as a file of sapo or of CRFsuite, as the name of the output says."""
    from sapo.corpus.files import check_writable
    from sapo.tagger.file import load_model, save_model
    from sapo.tagger.foreign import save_crfsuite

    suffix = Path(target).suffix.lower()
    if suffix not in (".sapo", ".crfsuite"):
        raise OptionError(f"'{source}' is a model: give an output that ends in .sapo or .crfsuite, not '{target}'")
    refuse_same_file({"the input": source}, {"the output": Path(target)})
    check_writable(target)
    refuse_other_file(target, suffix)
    save = save_model if suffix == ".sapo" else save_crfsuite
    save(load_model(source), target)
    if not quiet:
        tell_saved(target)


def _by(given: str | None) -> bool | None:
    """Return whether to split by document; None lets the file decide."""
    return None if given is None else given.lower() == "document"


def parse_shares(text: str) -> list[float]:
    """Return the sizes of parts.

    >>> parse_shares("80,10,10")
    [80.0, 10.0, 10.0]
    """
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) not in (2, 3) or not all(0 < share < float("inf") for share in shares):
        raise OptionError(f"--split must be two or three positive numbers, as 80,10,10, not '{text}'")
    return shares
