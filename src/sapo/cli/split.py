"""sapo split: split a labelled file into parts for training, development and testing."""

from pathlib import Path

import click

from sapo.cli.options import encoding_option, format_option, label_option, quiet_option, refuse_same_file, tell
from sapo.errors import SapoError


@click.command("split")
@click.argument("input")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="The directory to write to.")
@click.option(
    "--parts",
    default="80,10,10",
    show_default=True,
    metavar="SHARES",
    help="The sizes of train, dev and test; of train and test if there are two.",
)
@click.option(
    "--by",
    type=click.Choice(["sentence", "document"], case_sensitive=False),
    default="sentence",
    show_default=True,
    help="What stays together.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Equal seeds give equal parts.")
@format_option
@encoding_option
@label_option
@quiet_option
def split_command(
    input: str,
    output: Path,
    parts: str,
    by: str,
    seed: int,
    format: str | None,
    encoding: str | None,
    label: str | None,
    quiet: bool,
) -> None:
    """Split a file into train, dev and test.

    sapo split all.txt -o data

    Writes data/train.txt, data/dev.txt and data/test.txt. Each label, or type of span, has about the same share in
    every part. Sentences stay whole, or documents with --by document: -DOCSTART- in column files, # newdoc or the
    beginning of sent_id in CoNLL-U, the key 'document' in JSONL.
    """
    from sapo.corpus.encodings import with_encoding
    from sapo.corpus.files import check_readable, write_file
    from sapo.corpus.splitting import NAMES, split_units
    from sapo.corpus.units import read_units

    shares = parse_shares(parts)
    check_readable(input)
    ending = "".join(Path(input).suffixes[-2:] if input.endswith(".gz") else Path(input).suffixes[-1:]) or ".txt"
    files = [output / f"{name}{ending}" for name in NAMES[len(shares)]]
    refuse_same_file({"the input": input}, {f"the part {path.name}": path for path in files})
    source = with_encoding(input, encoding)
    units = read_units(source, documents=by == "document", format=format, label=label)
    split = split_units(units, shares, seed=seed)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SapoError(f"{output}: cannot create this directory ({error.strerror or error})") from None
    for path, part in zip(files, split, strict=True):
        with write_file(path) as stream:
            stream.writelines(unit.data for unit in part)
        if not quiet:
            sentences, tokens = sum(unit.sentences for unit in part), sum(unit.tokens for unit in part)
            tell(f"wrote {path}: {sentences:,} sentences, {tokens:,} tokens")


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
        raise SapoError(f"--parts must be two or three positive numbers, as 80,10,10, not '{text}'")
    return shares
