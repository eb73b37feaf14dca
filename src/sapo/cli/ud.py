"""sapo ud: learn Universal Dependencies from a treebank, annotate text with them, score and draw trees."""

from typing import TYPE_CHECKING

import click

from sapo.cli.options import (
    Ticker,
    announce_compiling,
    encoding_option,
    quiet_option,
    refuse_same_file,
    tell,
    tell_saved,
)
from sapo.cli.train import clusters_option, names_option, parse_names, unlabeled_option
from sapo.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sapo.corpus.treebank import UDSentence
    from sapo.training.ud import UD

INPUTS = ("text", "conllu", "horizontal")
TREES = ("text", "svg")
input_option = click.option(
    "--input",
    "kind",
    default="text",
    show_default=True,
    metavar="NAME",
    help="text (raw), conllu (keep its sentences, tokens and words), or horizontal (a sentence per line, words "
    "separated by blanks).",
)


@click.group("ud")
def ud_command() -> None:
    """Learn Universal Dependencies from a treebank: tokens, tags, lemmas and trees.

    sapo ud train treebank.conllu -o en.sapo

    sapo ud tag en.sapo text.txt -o text.conllu

    docs/how-to/ud.md goes through all of it.
    """


@ud_command.command("train")
@click.argument("treebank")
@click.option("--dev", metavar="FILE", help="A treebank that chooses the epoch of the parser.")
@click.option("--output", "-o", default="ud.sapo", show_default=True, metavar="FILE", help="Where to write.")
@click.option("--epochs", "-e", type=click.IntRange(1, 1000), metavar="N", help="Epochs of each step, at most.")
@click.option("--seed", default=0, show_default=True, help="Fixes everything that is random.")
@clusters_option
@unlabeled_option
@names_option
@click.option(
    "--vectors", metavar="FILE", help="Word vectors of word2vec, GloVe or fastText, or in a safetensors file."
)
@encoding_option
@quiet_option
def train_command(
    treebank: str,
    dev: str | None,
    output: str,
    epochs: int | None,
    seed: int,
    clusters: tuple[str, ...],
    unlabeled: tuple[str, ...],
    names: tuple[str, ...],
    vectors: str | None,
    encoding: str | None,
    quiet: bool,
) -> None:
    """Train a pipeline on a treebank in CoNLL-U.

    It learns how text is cut into sentences, tokens and words, UPOS, XPOS, FEATS, lemmas and trees. Each step is
    trained on what the one before says about sentences that it has not seen. Clusters, names and vectors are for UPOS,
    XPOS and FEATS; clusters also for trees.
    """
    from sapo.corpus.files import check_writable, with_encoding
    from sapo.training.ud import UD

    inputs = {"the treebank": treebank, "--dev": dev, "--vectors": vectors}
    inputs |= {f"the clusters {path}": path for path in clusters} | {f"the text {path}": path for path in unlabeled}
    refuse_same_file(inputs, {"-o": output})
    check_writable(output)
    announce_compiling(quiet)
    ud = UD.train(
        with_encoding(treebank, encoding),
        dev=None if dev is None else with_encoding(dev, encoding),
        seed=seed,
        epochs=epochs,
        progress=None if quiet else tell,
        clusters=clusters,
        unlabeled=unlabeled,
        names=parse_names(names),
        vectors=vectors,
    )
    ud.save(output)
    if not quiet:
        tell_saved(output)


@ud_command.command("tag")
@click.argument("model")
@click.argument("file", default="-")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@input_option
@click.option("--tree", metavar="NAME", help="Draw trees instead of CoNLL-U: as text or svg (of one sentence).")
@encoding_option
@quiet_option
def tag_command(
    model: str, file: str, output: str, kind: str, tree: str | None, encoding: str | None, quiet: bool
) -> None:
    """Annotate a text, and write it as CoNLL-U.

    FILE is a text, or sentences that are already cut into words (--input), or - for standard input.
    """
    from sapo.corpus.files import with_encoding, write_file
    from sapo.training.ud import UD

    _check_choice("--input", kind, INPUTS)
    refuse_same_file({"the model": model, "the input": file}, {"-o": output})
    announce_compiling(quiet)
    ud = UD.load(model)
    ticker = Ticker(quiet)
    found = ud.annotate(_sentences(ud, with_encoding(file, encoding), kind))
    with write_file(output) as stream:
        for tokens, written in _written(found, tree):
            stream.write(written.encode())
            ticker.add(tokens)
    ticker.end()


@ud_command.command("eval")
@click.argument("model")
@click.argument("gold")
@quiet_option
def eval_command(model: str, gold: str, quiet: bool) -> None:
    """Score a pipeline, or a CoNLL-U file, against a gold treebank by the rules of the CoNLL 2018 shared task.

    MODEL is a file made by sapo ud train: it annotates the raw text of the treebank, and then its gold words. Or it is
    a CoNLL-U file of the same text, of any system.
    """
    from sapo.corpus.files import is_model
    from sapo.corpus.treebank import read_treebank
    from sapo.evaluate.conll18 import score, table
    from sapo.training.ud import UD

    sentences = list(read_treebank(gold))
    if not sentences:
        raise OptionError(f"{gold}: no sentences to score")
    if not is_model(model):
        click.echo(table(score(sentences, list(read_treebank(model)))))
        return
    announce_compiling(quiet)
    for name, scores in UD.load(model).evaluate(sentences).items():
        click.echo(f"from {name}\n{table(scores)}\n")


@ud_command.command("draw")
@click.argument("treebank", default="-")
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to write; - for standard output.")
@click.option("--tree", default="text", show_default=True, metavar="NAME", help="text, or svg (of one sentence).")
@click.option("--sentence", type=click.IntRange(1), metavar="N", help="Draw only this sentence, counted from 1.")
def draw_command(treebank: str, output: str, tree: str, sentence: int | None) -> None:
    """Draw the trees of a CoNLL-U file."""
    import itertools

    from sapo.corpus.files import write_file
    from sapo.corpus.treebank import read_treebank

    refuse_same_file({"the treebank": treebank}, {"-o": output})
    sentences = read_treebank(treebank)
    if sentence is not None:
        sentences = itertools.islice(sentences, sentence - 1, sentence)
    with write_file(output) as stream:
        for _, written in _written(sentences, tree):
            stream.write(written.encode())


def _sentences(ud: "UD", path: "str | Path", kind: str) -> "Iterator[UDSentence]":
    from sapo.corpus.files import check_utf8, read_whole, show_path
    from sapo.corpus.scanner import read_lines
    from sapo.corpus.treebank import plain_sentence, read_treebank

    if kind == "conllu":
        yield from read_treebank(path)
    elif kind == "horizontal":
        for number, line in read_lines(path):
            check_utf8(line, show_path(path), number)
            if words := line.decode().split():
                yield plain_sentence(words)
    else:
        data = read_whole(path)
        check_utf8(data, show_path(path), 1)
        yield from ud.cut(data.decode("utf-8-sig"))


def _written(sentences: "Iterable[UDSentence]", tree: str | None) -> "Iterator[tuple[int, str]]":
    """Yield the number of words and what is written of each sentence."""
    from sapo.cli.drawing import draw_svg, draw_text

    if tree is not None:
        _check_choice("--tree", tree, TREES)
    for number, sentence in enumerate(sentences):
        if tree == "svg" and number:
            raise OptionError(
                "--tree svg draws one sentence, and there are more; choose one with sapo ud draw --sentence"
            )
        draw = sentence.to_conllu() if tree is None else draw_svg(sentence) if tree == "svg" else draw_text(sentence)
        yield len(sentence.words), draw + "\n" * (tree == "text")


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    from sapo.errors import did_you_mean

    if value not in choices:
        raise OptionError(f"{option} must be {', '.join(choices)}, not {value!r:.40}{did_you_mean(value, choices)}")
