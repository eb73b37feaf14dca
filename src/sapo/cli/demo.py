"""sapo demo and warm-up: try the bundled sample, or write it as files, and compile everything beforehand."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapo.cli.options import announce_compiling, quiet_option, tell
from sapo.errors import DataError

if TYPE_CHECKING:
    from sapo.tagger.tagger import Tagger

SENTENCE = "Maria Lindqvist joined Northwind Bank in Oslo last spring ."
TASKS = {  # for each column: template and description
    "pos": ("pos", "part-of-speech tagger"),
    "chunk": ("chunking", "chunker"),
    "entity": ("ner", "entity tagger"),
}


@click.command("demo")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@quiet_option
def demo_command(directory: Path | None, quiet: bool) -> None:
    """Try it on the bundled sample, or write the sample as files.

    sapo demo

    trains a tagger, a chunker and an entity tagger on 520 English sentences, and tags what you type.

    sapo demo data

    writes the sentences to the directory data, to try the examples of the documentation with: train.txt, dev.txt,
    test.txt and new.txt (words, parts of speech and chunks), the same as CoNLL-U (train.conllu ...), entities
    (ner-train.txt ...), entities in JSONL as text with spans (ner-train.jsonl ...), and text.txt. Also tickets.csv:
    150 texts of customers, with marked spans. No file is overwritten.
    """
    if directory is None:
        try_sample()
    else:
        write_sample(directory, quiet)


def try_sample() -> None:
    """Train taggers on the sample, and tag what the user types."""
    from sapo import jit
    from sapo.corpus.sample import COLUMNS, sample_path
    from sapo.tagger.tagger import Tagger
    from sapo.training.run import train

    announce_compiling()
    taggers: dict[str, Tagger] = {}
    click.echo("training on the bundled sample:")
    for column, (template, what) in TASKS.items():
        started, before = jit.clock(), jit.compile_seconds()
        taggers[column] = train(sample_path("train"), template=template, columns=COLUMNS, label=column)
        seconds = jit.clock() - started
        name, value = taggers[column].evaluate(sample_path("test")).main
        note = ", without compiling" if jit.compile_seconds() > before else ""
        click.echo(f"  {what:22} {name:8} {100 * value:5.1f} on its held-out part   ({seconds:.1f} s{note})")
    click.echo()
    show(SENTENCE.split(), taggers)
    if sys.stdin.isatty():
        click.echo("type a sentence, or press Enter to stop")
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
    show_rows(dict(zip(("", "pos", "chunk", "entity"), rows, strict=True)), widths)
    for title, taggings in (("chunk", chunks), ("entity", entities)):
        click.echo(f"  the three best taggings, {title}:")
        show_rows({f"{tagging.p_k:7.3f}": tagging.tags for tagging in taggings}, widths)
    click.echo()


def show_rows(rows: Mapping[str, Sequence[str]], widths: Sequence[int]) -> None:
    """Print rows of cells below each other; what does not fit into the terminal follows in another block."""
    room = shutil.get_terminal_size().columns - 10 if sys.stdout.isatty() else sys.maxsize
    first = 0
    while first < len(widths):
        last = first + 1
        while last < len(widths) and sum(widths[first : last + 1]) + last - first <= room:
            last += 1
        for title, row in rows.items():
            cells = (row[at].ljust(widths[at]) for at in range(first, last))
            click.echo(f"  {title:7} " + " ".join(cells).rstrip())
        first = last


def write_sample(directory: Path, quiet: bool) -> None:
    """Write the sample to a directory. Raise SapoError if one of its files is there already."""
    from sapo.corpus.files import write_file
    from sapo.corpus.sample import sample_files

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{directory}: cannot create this directory ({error.strerror or error})") from None
    files = sample_files()
    for name in files:
        if (directory / name).exists():
            raise DataError(f"{directory / name}: already exists; give another directory")
    for name, text in files.items():
        with write_file(directory / name) as stream:
            stream.write(text.encode())
    if not quiet:
        tell(f"wrote {len(files)} files to {directory}: {', '.join(files)}")


@click.command("warm-up")
@quiet_option
def warm_up_command(quiet: bool) -> None:
    """Compile everything beforehand.

    Later commands on this machine, or in an image that is built from here, compile nothing. The compiled code is kept
    in ~/.cache/sapo, or in the directory sapo below NUMBA_CACHE_DIR if that is set.
    """
    from sapo import jit
    from sapo.training.warm_up import warm_up

    announce_compiling(quiet)
    warm_up()
    if not quiet:
        tell(f"everything is compiled ({jit.compile_seconds():.0f} s)")
