"""sapo tag: tag a file with a model, as a stream."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapo.cli.options import (
    Ticker,
    announce_compiling,
    encoding_option,
    format_option,
    model_first,
    parse_numbers,
    quiet_option,
    ray_option,
    refuse_same_file,
    tell,
    text_inputs,
    was_given,
    workers_option,
)
from sapo.errors import LARGEST_OPTION, MOST_THREADS, DataError, OptionError, check_limit

if TYPE_CHECKING:
    from sapo.tagger.decoding import Output


@click.command("tag")
@click.argument("model")
@click.argument("input", default="-")
@click.option("--text", metavar="TEXT", help="Tag this text instead of a file.")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@click.option(
    "--nbest", type=int, metavar="N", help="Give this many taggings of each sentence, best first, with probabilities."
)
@click.option("--marginals", is_flag=True, help="Give the probability of each tag, over all taggings.")
@click.option("--spans", is_flag=True, help="Give the probability of each span, over all taggings.")
@click.option(
    "--search",
    metavar="NAME",
    help="topn, astar (both exact) or beam. Default: Viterbi for the best tagging, topn for --nbest.",
)
@click.option("--width", default=50, show_default=True, help="Width of the beam.")
@click.option("--exact", is_flag=True, help="Look at all labels of each token, even if there are more than 300.")
@click.option("--threads", default=1, show_default=True, help="Tag in several threads; the result is the same.")
@format_option
@encoding_option
@click.option(
    "--to", metavar="NAME", help="Write tagged text as columns, jsonl or conllu. Default: by the extension of -o."
)
@click.option(
    "--label", metavar="COLUMN", help="Where the tag goes in CoNLL-U: upos, xpos, feats, upos+feats or a key of FEATS."
)
@click.option(
    "--forced",
    metavar="COLUMN",
    help="A column (number or name) with known tags: a tag, A|B for one of several, or '_'.",
)
@click.option("--bias-o", type=float, metavar="NUMBER", help="Short for --bias O=NUMBER.")
@click.option(
    "--bias",
    multiple=True,
    metavar="LABEL=NUMBER",
    help="Add to the score of a label at every token: O=1 finds fewer spans, O=-1 more (see sapo eval --curve).",
)
@ray_option
@workers_option
@quiet_option
def tag_command(
    model: str,
    input: str,
    text: str | None,
    output: str,
    nbest: int | None,
    marginals: bool,
    spans: bool,
    search: str | None,
    width: int,
    exact: bool,
    threads: int,
    format: str | None,
    encoding: str | None,
    to: str | None,
    label: str | None,
    forced: str | None,
    bias_o: float | None,
    bias: tuple[str, ...],
    ray: str | None,
    workers: int | None,
    quiet: bool,
) -> None:
    """Tag a file.

    sapo tag chunk.sapo test.txt -o tagged.txt

    MODEL is a file made by sapo train; INPUT is the file to tag, plain or compressed, or - for standard input.

    In column files, the tag is a new last column; in CoNLL-U, it replaces the label; in JSONL, it goes into "tags".

    Raw text (--text, or a file with --format text) is split into sentences and tokens: see docs/how-to/text.md. With
    --format text, INPUT may be a folder of texts: the result is one JSONL file, which names the file of each sentence.

    With --ray, INPUT and -o are directories, or addresses such as s3://bucket/texts: see docs/how-to/cluster.md.

    docs/explanation/probabilities.md explains each probability.
    """
    from sapo.tagger.decoding import Output

    _check_numbers(nbest, width, threads)
    asked = Output(
        nbest=nbest or 0,
        marginals=marginals,
        spans=spans,
        search=search,
        width=width,
        threads=threads,
        forced=forced,
        exact=exact,
    )
    _check(asked)
    model, input = model_first(model, input)
    if text is None and " " in input.strip() and not Path(input).exists():
        raise DataError(f"{input}: no such file; to tag a text, write --text before it")
    biases = _biases(bias, bias_o)
    reading = {"format": format, "label": label, "encoding": encoding, "to": to}
    if ray is not None:
        if text is not None or "-" in (input, output):
            raise OptionError("--ray takes directories: give INPUT and -o")
        tag_on_cluster(ray, workers, model, (input, output), asked, biases, quiet, **reading)
        return
    refuse_without_ray("workers")
    refuse_same_file({"the model": model, **text_inputs(input, format)}, {"-o": output})
    announce_compiling(quiet)
    calibrated = _tag(model, (input, output), text, asked, biases, quiet, **reading)
    if (asked.nbest or asked.marginals or asked.spans) and not calibrated and not quiet:
        tell(f"sapo: the probabilities are not calibrated; to calibrate them: sapo calibrate {model} DEV")


def _tag(
    model: str,
    files: tuple[str, str],
    text: str | None,
    asked: "Output",
    biases: dict[str, float],
    quiet: bool,
    **reading: str | None,
) -> bool:
    """Tag a file or a text; return whether the probabilities of the model are calibrated."""
    from sapo.corpus.formats import format_of, open_output
    from sapo.tagger.files import tagged_file, tagged_text
    from sapo.tagger.tagger import Tagger

    input, output = files
    format = reading["format"]
    tagger = Tagger.load(model)
    for name, value in biases.items():
        tagger = tagger.with_bias(name, value)
    ticker = Ticker(quiet)
    if reading["to"] is None and (text is not None or format == "text"):
        reading["to"] = format_of(output)
    if text is not None:
        _check_text(text, input, format, reading["encoding"])
        results = tagged_text(tagger, text, asked, to=reading["to"], label=reading["label"])
    else:
        results = tagged_file(tagger, input, asked, **reading)
    with open_output(output, "text" if text is not None else format_of(input, format)) as stream:
        for tokens, written in results:
            stream.write(written)
            stream.flush()
            ticker.add(tokens)
    ticker.end()
    return tagger.model.calibrated


def _check(asked: "Output") -> None:
    """Raise SapoError if options do not go together."""
    if (asked.nbest > 0) + asked.marginals + asked.spans > 1:
        raise OptionError("--nbest, --marginals and --spans are different outputs; choose one")
    if asked.search is not None and (asked.marginals or asked.spans):
        raise OptionError("--search is for the best tagging and for --nbest; leave it out with --marginals and --spans")
    if was_given("width") and asked.search != "beam":
        raise OptionError("--width is for --search beam; add that, or leave it out")


def _check_numbers(nbest: int | None, width: int, threads: int) -> None:
    """Raise SapoError if a number is out of its range."""
    if nbest is not None and nbest < 1:
        raise OptionError(f"--nbest must be at least 1, not {nbest:,}")
    check_limit("n", nbest or 0, "--nbest", "taggings")
    for name, number, most in (("width", width, LARGEST_OPTION), ("threads", threads, MOST_THREADS)):
        if not 1 <= number <= most:
            rule = "at least 1" if number < 1 else f"at most {most:,}"
            raise OptionError(f"--{name} must be {rule}, not {number:,}")


def _check_text(text: str, input: str, format: str | None, encoding: str | None) -> None:
    """Raise SapoError if there is an input besides the text, or the text is not a string."""
    if input != "-":
        raise OptionError(f"--text and the file {input} are two inputs; give one of them")
    if format not in (None, "text"):
        raise OptionError(f"--text is plain text, not {format}; leave --format out")
    if encoding is not None:
        raise OptionError("--encoding is for files; leave it out with --text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OptionError("--text is not UTF-8; put it into a file that is, and use --format text") from None


def _biases(given: tuple[str, ...], on_o: float | None) -> dict[str, float]:
    biases: dict[str, float] = {}
    for label, number in parse_numbers(given, "--bias"):
        biases[label] = biases.get(label, 0.0) + number
    if on_o is not None:
        if "O" in biases:
            raise OptionError("--bias-o and --bias O=... say the same; give one of them")
        biases["O"] = on_o
    return biases


def refuse_without_ray(*names: str) -> None:
    """Raise SapoError if an option was given that is of no use without --ray."""
    for name in names:
        if was_given(name):
            raise OptionError(f"--{name} is for --ray; add --ray local, or leave it out")


def tag_on_cluster(
    address: str,
    workers: int | None,
    model: str,
    directories: tuple[str, str],
    asked: "Output",
    biases: dict[str, float],
    quiet: bool,
    **reading: str | None,
) -> None:
    """Tag the files of a directory. Raise SapoError in the end if some could not be tagged."""
    from pathlib import Path

    from sapo.apps.ray.connection import load_ray
    from sapo.apps.ray.tagging import Job, tag_directory
    from sapo.corpus.files import check_readable

    load_ray()
    check_readable(model)
    job = Job(Path(model).read_bytes(), asked, biases, **reading)
    job.tagger()  # a model that cannot be loaded is reported here, once
    say = (lambda message: None) if quiet else tell
    ticker, files, failed = Ticker(quiet), 0, 0
    for done in tag_directory(*directories, job, address=address, workers=workers, say=say):
        if done.error:
            failed += 1
            tell(f"sapo: {done.error}")
        files += 1
        ticker.add(done.tokens)
    ticker.end()
    say(f"{files - failed:,} files, {ticker.tokens:,} tokens tagged into {directories[1]}")
    if failed:
        raise OptionError(
            f"{failed:,} of {files:,} files could not be tagged; correct them, and run the same command again"
        )
