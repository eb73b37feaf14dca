"""sapo tag: a model and a file in, the tagged file out, as a stream."""

import sys
import time

import click

from sapo.cli.conditions import parse_numbers
from sapo.cli.options import announce_compiling, format_option, quiet_option, refuse_same_file
from sapo.errors import SapoError


@click.command("tag")
@click.argument("model")
@click.argument("input", default="-")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@click.option("--nbest", default=0, help="Give this many taggings of each sentence, best first, with probabilities.")
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
@click.option("--forced", metavar="COLUMN", help="A column (number or name) with tags that are known, '_' elsewhere.")
@click.option("--bias-o", type=float, metavar="NUMBER", help="Short for --bias O=NUMBER.")
@click.option(
    "--bias",
    multiple=True,
    metavar="LABEL=NUMBER",
    help="Add to the score of a label at every token: O=1 finds fewer spans, O=-1 more (see sapo eval --curve).",
)
@quiet_option
def tag_command(
    model: str,
    input: str,
    output: str,
    nbest: int,
    search: str,
    width: int,
    threads: int,
    format: str | None,
    label: str | None,
    forced: str | None,
    bias_o: float | None,
    bias: tuple[str, ...],
    quiet: bool,
) -> None:
    """Tag a file.

    sapo tag chunk.sapo test.txt -o tagged.txt

    MODEL is a file made by sapo train; INPUT is the file to tag, zipped or not, or - for standard input.

    Column files get the tag as a further column; CoNLL-U in the place of the label; JSONL as "tags".
    """
    from sapo.corpus import FORMATS, format_of
    from sapo.corpus.files import write_file
    from sapo.tagger import Tagger

    if nbest < 0:
        raise SapoError(f"--nbest must be 0 or more, not {nbest}")
    if threads < 1:
        raise SapoError(f"--threads must be at least 1, not {threads}")
    refuse_same_file({"the model": model, "-o": output})
    announce_compiling(quiet)
    tagger = Tagger.load(model)
    for name, value in _biases(bias, bias_o).items():
        tagger = tagger.with_bias(name, value)
    chosen = format_of(input, format)
    if chosen == "conllu" and label is None and tagger.model.reader.get("format") != "conllu":
        raise SapoError(
            "this model was not trained on CoNLL-U: tell with --label where its tags go (upos, xpos, Chunk)"
        )
    blocks = tagger.read_blocks(input, format=chosen, label=label)
    ticker = _Ticker(quiet)
    with write_file(output) as stream:
        if nbest:
            for block, ranked in tagger.nbest_blocks(blocks, nbest, search=search, width=width, forced=forced):
                stream.write(FORMATS[chosen].nbest(block, ranked, tagger.labels))
                stream.flush()
                ticker.add(int(block.offsets[-1]))
        else:
            for block, tags in tagger.tag_blocks(blocks, threads=threads, forced=forced):
                stream.write(FORMATS[chosen].tagged(block, tags, tagger.labels))
                stream.flush()
                ticker.add(int(block.offsets[-1]))
    ticker.end()


def _biases(given: tuple[str, ...], on_o: float | None) -> dict[str, float]:
    biases = parse_numbers(given, "--bias")
    if on_o is not None:
        if "O" in biases:
            raise SapoError("--bias-o and --bias O=... say the same; give one of them")
        biases["O"] = on_o
    return biases


class _Ticker:
    """After two seconds, says how far it is; in a terminal only."""

    def __init__(self, quiet: bool) -> None:
        self.on = not quiet and sys.stderr.isatty()
        self.tokens = 0
        self.started = self.told = time.perf_counter()

    def add(self, tokens: int) -> None:
        self.tokens += tokens
        now = time.perf_counter()
        if self.on and now - self.told > 2:
            self.told = now
            speed = self.tokens / (now - self.started)
            print(f"\r{self.tokens:,} tokens, {speed:,.0f} a second ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.told > self.started:
            print(file=sys.stderr)
