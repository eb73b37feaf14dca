"""sapo demo: train on the bundled sample, show scores and taggings, then tag what the user types."""

import sys
from typing import TYPE_CHECKING

import click

from sapo.cli.options import announce_compiling

if TYPE_CHECKING:
    from sapo.tagger.tagger import Tagger

SENTENCE = "Maria Lindqvist joined Northwind Bank in Oslo last spring ."
TASKS = {  # for each column: template and description
    "pos": ("pos", "part-of-speech tagger"),
    "chunk": ("chunking", "chunker"),
    "entity": ("ner", "entity tagger"),
}


@click.command("demo")
def demo_command() -> None:
    """Try it on the bundled sample.

    Trains a tagger, a chunker and an entity tagger, and tags what you type.
    """
    from sapo import kernels
    from sapo.corpus.sample import COLUMNS, sample_path
    from sapo.tagger.tagger import Tagger
    from sapo.training.run import train

    announce_compiling()
    taggers: dict[str, Tagger] = {}
    click.echo("training on the bundled sample:")
    for column, (template, what) in TASKS.items():
        started = kernels.clock()
        taggers[column] = train(sample_path("train"), template=template, columns=COLUMNS, label=column)
        seconds = kernels.clock() - started
        name, value = taggers[column].evaluate(sample_path("test")).main
        click.echo(f"  {what:22} {name:8} {100 * value:5.1f} on its held-out part   ({seconds:.1f} s)")
    click.echo()
    show(SENTENCE.split(), taggers)
    if sys.stdin.isatty():
        click.echo("type a sentence, or nothing to end")
        while text := _ask():
            show([text[a:b] for a, b in taggers["pos"].splitter.tokens(text)], taggers)


def _ask() -> str:
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        return ""


def show(words: list[str], taggers: "dict[str, Tagger]") -> None:
    """Print the tags under the words, and the three best taggings with their probabilities."""
    pos = taggers["pos"].tag(words)
    chunks = taggers["chunk"].nbest(list(zip(words, pos, strict=True)), 3)
    entities = taggers["entity"].nbest(words, 3)
    rows = [words, pos, chunks[0].tags, entities[0].tags]
    shown = [*rows, *(tagging.tags for tagging in (*chunks, *entities))]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for title, row in zip(("", "pos", "chunk", "entity"), rows, strict=True):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(f"  {title:7} " + " ".join(cells).rstrip())
    for title, taggings in (("chunk", chunks), ("entity", entities)):
        click.echo(f"  the three best taggings, {title}:")
        for tagging in taggings:
            cells = (cell.ljust(width) for cell, width in zip(tagging.tags, widths, strict=True))
            click.echo(f"  {tagging.probability:7.3f} " + " ".join(cells).rstrip())
    click.echo()
