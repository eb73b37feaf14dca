"""sapo cluster: make word clusters from unlabeled text."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from sapo.cli.options import (
    Ticker,
    announce_compiling,
    counted,
    encoding_option,
    quiet_option,
    refuse_same_file,
    tell,
    text_inputs,
)
from sapo.errors import OptionError

if TYPE_CHECKING:
    from sapo.corpus.blocks import Block


@click.command("cluster")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@click.option(
    "--clusters",
    type=int,
    metavar="N",
    help="How many clusters to make: 2 to 2000. Default: 500, or a tenth of the words.",
)
@click.option(
    "--min-count",
    type=int,
    metavar="N",
    help="Leave out words with fewer occurrences. Default: 3, and more for texts above 10 million tokens.",
)
@click.option(
    "--format",
    metavar="NAME",
    help="text (running text), lines (a sentence per line, blanks between tokens), or a format of sapo tag. "
    "Default: inferred from the file extension, and from how the file begins.",
)
@encoding_option
@quiet_option
def cluster_command(
    texts: tuple[str, ...],
    output: str,
    clusters: int | None,
    min_count: int | None,
    format: str | None,
    encoding: str | None,
    quiet: bool,
) -> None:
    """Make word clusters from text.

    sapo cluster news.txt.gz mails.txt -o clusters.txt

    Words that occur between similar neighbors share a cluster, such as months, first names, or verbs of motion. TEXT is
    text without labels, plain or compressed, or - for standard input; of labeled files, the words are read.

    Each line of the result has the path of a cluster in a binary tree, a word, and its count, separated by tabs. A
    prefix of the path is a larger cluster. '#' stands for each digit of a word.
    """
    from sapo.corpus.files import check_writable, write_file
    from sapo.features.clustering import cluster_words

    if texts.count("-") > 1:
        raise OptionError("standard input can be read only once; give - once")
    inputs = [path for text in texts for path in text_inputs(text, format).values()]
    refuse_same_file({f"the input {path}": path for path in inputs}, {"-o": output})
    check_writable(output)
    announce_compiling(quiet)
    ticker, read = Ticker(quiet), Counter[str]()
    blocks = _blocks(texts, format, encoding, read)
    words = cluster_words(blocks, clusters=clusters, min_count=min_count, watch=ticker.tell)
    with write_file(output) as stream:
        stream.writelines(one.line() for one in words)
    ticker.end()
    if not quiet:
        made = f"{len({one.bits for one in words}):,} clusters of {len(words):,} words"
        how = ", ".join(f"{counted(tokens, 'token')} read as {name}" for name, tokens in read.items())
        tell(f"{made}{'' if output == '-' else f' written to {output}'} ({how})")


def _blocks(texts: tuple[str, ...], format: str | None, encoding: str | None, read: Counter[str]) -> "Iterator[Block]":
    """Read all texts, and count the tokens that were read in each format."""
    from sapo.corpus.plain_text import read_text

    for text in texts:
        found, blocks = read_text(text, format=format, encoding=encoding)
        for block in blocks:
            read[found] += int(block.offsets[-1])
            yield block
