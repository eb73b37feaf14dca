"""python -m laboratory data: list, find and fetch public corpora."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapo.cli.options import quiet_option, tell
from sapo.errors import SapoError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from laboratory.datasets.fetching import Progress
    from laboratory.datasets.registry import Corpus

    Corpora = Mapping[str, Corpus]


@click.group("data")
@click.pass_context
def data_command(context: click.Context) -> None:
    """List and fetch public corpora.

    Corpora in the directory SAPO_DATA are used as they are; others are fetched into the cache.
    """
    from laboratory.datasets.registry import CORPORA

    context.obj = context.obj or CORPORA  # a caller may pass other corpora


@data_command.command("list")
@click.pass_obj
def list_command(corpora: "Corpora") -> None:
    """Show the corpora, their licenses, and where they are."""
    from laboratory.datasets.registry import locate
    from sapo.evaluate.scores import text_table

    rows = [("NAME", "TASK", "TOKENS", "LICENSE", "WHERE")]
    for corpus in corpora.values():
        found = locate(corpus)
        rows.append((corpus.name, corpus.task, f"{corpus.tokens:,}", corpus.terms, found[0] if found else "not here"))
    click.echo("\n".join(text_table(rows, left=(0, 1, 3, 4))))


@data_command.command("path")
@click.argument("name")
@click.pass_obj
def path_command(corpora: "Corpora", name: str) -> None:
    """Print the directory of a corpus on this machine."""
    from laboratory.datasets.registry import find_corpus

    directory = find_corpus(name, corpora=corpora)
    if directory is None:
        raise SapoError(f"{name}: not on this machine; get it with: python -m laboratory data get {name}")
    click.echo(directory)


@data_command.command("get")
@click.argument("name")
@click.option(
    "--sha256", "accept", metavar="HEX", multiple=True, help="The checksum of a file for which sapo has none."
)
@click.option("--trust", is_flag=True, help="Accept a file for which sapo has no checksum, and store its checksum.")
@click.option("--from", "directory", metavar="DIRECTORY", help="The Penn Treebank that you bought, for wsj.")
@quiet_option
@click.pass_obj
def get_command(
    corpora: "Corpora", name: str, accept: tuple[str, ...], trust: bool, directory: str | None, quiet: bool
) -> None:
    """Fetch a corpus unless it is on this machine, and print its directory.

    python -m laboratory data get conll2000, or python -m laboratory data get wsj --from treebank_3/parsed/mrg/wsj
    """
    from laboratory.datasets.fetching import fetch
    from laboratory.datasets.registry import known_corpus

    corpus = known_corpus(name, corpora)
    for given in accept:
        if not re.fullmatch("[0-9a-fA-F]{64}", given):
            raise SapoError(f"--sha256: expected 64 hexadecimal digits, found '{given}'")
    if directory is not None:
        where = _bring(corpus, directory, quiet)
    else:
        with _progress(quiet) as progress:
            where = fetch(name, corpora=corpora, accept=accept, trust=trust, progress=progress)
    if not quiet:
        tell(f"{name}: {corpus.tokens:,} tokens, columns {' '.join(corpus.columns)}")
        tell(f"license: {corpus.license}")
        tell(f"cite: {corpus.citation}")
    click.echo(where)


def _bring(corpus: "Corpus", directory: str, quiet: bool) -> Path:
    from laboratory.datasets.fetching import bring_treebank

    if corpus.name != "wsj":
        raise SapoError(f"--from: is for wsj, which must be bought; {corpus.name} is fetched without it")
    where, counts = bring_treebank(directory)
    if not quiet:
        tell("sentences: " + ", ".join(f"{part} {count:,}" for part, count in counts.items()))
    return where


@contextmanager
def _progress(quiet: bool) -> "Iterator[Progress | None]":
    """Yield a function that shows progress: a bar in a terminal, otherwise a line for each download; None if quiet."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        seen = set()

        def line(url: str, done: int, of: int) -> None:
            if url not in seen:
                seen.add(url)
                tell(f"fetching {url}")

        yield line


def _bar() -> "Iterator[Progress]":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {}

        def move(url: str, done: int, of: int) -> None:
            if url not in tasks:
                tasks[url] = bar.add_task(url.rpartition("/")[2], total=None)
            bar.update(tasks[url], completed=done, total=of or None)

        yield move
