"""sapo tag: a model and a file in, the tagged file out, as a stream."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from sapo.cli.options import announce_compiling, format_option, quiet_option, refuse_same_file
from sapo.cli.ticker import Ticker
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.corpus import Block


@click.command("tag")
@click.argument("model")
@click.argument("input", default="-")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@click.option("--nbest", default=0, help="Give this many taggings of each sentence, best first, with probabilities.")
@click.option("--marginals", is_flag=True, help="Give the probability of each tag, over all taggings.")
@click.option("--spans", is_flag=True, help="Give the probability of each span, over all taggings.")
@click.option(
    "--search",
    default="topn",
    show_default=True,
    metavar="NAME",
    help="With --nbest: topn, astar (both exact) or beam.",
)
@click.option("--width", default=50, show_default=True, help="Width of the beam.")
@click.option("--threads", default=1, show_default=True, help="Tag in several threads; the result is the same.")
@format_option
@click.option("--label", metavar="COLUMN", help="Where the tag goes in CoNLL-U: upos, xpos or a key of FEATS.")
@quiet_option
def tag_command(
    model: str,
    input: str,
    output: str,
    nbest: int,
    marginals: bool,
    spans: bool,
    search: str,
    width: int,
    threads: int,
    format: str | None,
    label: str | None,
    quiet: bool,
) -> None:
    """Tag a file.

    sapo tag chunk.sapo test.txt -o tagged.txt

    MODEL is a file made by sapo train; INPUT is the file to tag, zipped or not, or - for standard input.

    Column files get the tag as a further column; CoNLL-U in the place of the label; JSONL as "tags".

    What each probability is over tells docs/probabilities.md.
    """
    from sapo.corpus import FORMATS, format_of
    from sapo.corpus.files import write_file
    from sapo.tagger import Tagger

    if nbest < 0:
        raise SapoError(f"--nbest must be 0 or more, not {nbest}")
    if (nbest > 0) + marginals + spans > 1:
        raise SapoError("--nbest, --marginals and --spans are different outputs; choose one")
    if threads < 1:
        raise SapoError(f"--threads must be at least 1, not {threads}")
    refuse_same_file({"the model": model, "-o": output})
    announce_compiling(quiet)
    tagger = Tagger.load(model)
    chosen = format_of(input, format)
    if chosen == "conllu" and label is None and tagger.model.reader.get("format") != "conllu":
        raise SapoError(
            "this model was not trained on CoNLL-U: tell with --label where its tags go (upos, xpos, Chunk)"
        )
    blocks = tagger.read_blocks(input, format=chosen, label=label)
    writer, labels = FORMATS[chosen], tagger.labels
    ticker = Ticker(quiet)
    results: Iterator[tuple[Block, bytes]]
    if nbest:
        ranked = tagger.nbest_blocks(blocks, nbest, search=search, width=width, threads=threads)
        results = ((block, writer.nbest(block, found, labels)) for block, found in ranked)
    elif marginals:
        probable = tagger.marginal_blocks(blocks, threads=threads)
        results = ((block, writer.with_marginals(block, *found, labels)) for block, found in probable)
    elif spans:
        bounded = tagger.span_blocks(blocks, threads=threads)
        results = ((block, writer.with_spans(block, *found, labels)) for block, found in bounded)
    else:
        tagged = tagger.tag_blocks(blocks, threads=threads)
        results = ((block, writer.tagged(block, tags, labels)) for block, tags in tagged)
    with write_file(output) as stream:
        for block, text in results:
            stream.write(text)
            stream.flush()
            ticker.add(int(block.offsets[-1]))
    ticker.end()
