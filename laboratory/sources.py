"""Read the sentences of a task: training, dev (if there is one) and test."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from laboratory.biodata import tagged_corpora
from laboratory.datasets.treebank import read_sections
from laboratory.setup import SMALL_TEST, SMALL_TRAIN, Say, Setup
from laboratory.tasks import Task
from sapo.corpus.blocks import Sentence
from sapo.corpus.formats import read
from sapo.errors import SapoError


@dataclass(frozen=True, slots=True)
class Sentences:
    train: list[Sentence]
    dev: list[Sentence] | None
    test: list[Sentence]


def uses_treebank(task: Task, setup: Setup) -> bool:
    return setup.treebank is not None and task.name == "pos-wsj"


def has_dev(task: Task, setup: Setup) -> bool:
    """Return whether the strength is tuned on a dev set; if not, cross-validation does it."""
    return task.dev or uses_treebank(task, setup)


def source_files(task: Task, setup: Setup, say: Say = lambda message: None) -> dict[str, Path]:
    """Return the files of train, dev and test. Raise SapoError if one is missing."""
    if task.name == "bioner":
        first = SMALL_TRAIN if setup.small else None
        train, test = tagged_corpora(setup.data, setup.directory(task) / "cache", first=first, say=say)
        return {"train": train, "test": test}
    parts = ("train", "dev", "test") if task.dev else ("train", "test")
    files = {part: setup.data / task.directory / f"{part}{task.ending}" for part in parts}
    for path in files.values():
        if not path.is_file():
            raise SapoError(f"{path}: no such file; {task.name} needs it, and SAPO_DATA names the directory to look in")
    return files


def check_sources(task: Task, setup: Setup, say: Say) -> None:
    """Check before hours of work that all data is there; make the columns of bioner now."""
    if uses_treebank(task, setup) and setup.treebank is not None:
        read_sections(setup.treebank, "test")
    else:
        source_files(task, setup, say)


def read_task(task: Task, setup: Setup) -> Sentences:
    """Return all sentences, or the first ones for a small version."""
    if uses_treebank(task, setup) and setup.treebank is not None:
        parts = {part: _first(part, read_sections(setup.treebank, part), setup) for part in ("train", "dev", "test")}
    else:
        parts = {
            part: _first(part, read(path, label=task.label, columns=task.file_columns), setup)
            for part, path in source_files(task, setup).items()
        }
    chosen = {part: [_as_task(sentence, task) for sentence in sentences] for part, sentences in parts.items()}
    return Sentences(chosen["train"], chosen.get("dev"), chosen["test"])


def only_type(tags: Iterable[str], kind: str) -> tuple[str, ...]:
    """Keep the tags of one type of span; all others become O.

    >>> only_type(["B-NP", "I-NP", "B-VP", "O", "B-NP"], "NP")
    ('B-NP', 'I-NP', 'O', 'O', 'B-NP')
    """
    return tuple(tag if tag.partition("-")[2] == kind else "O" for tag in tags)


def _as_task(sentence: Sentence, task: Task) -> Sentence:
    tags = sentence.tags or ()
    if task.only is not None:
        tags = only_type(tags, task.only)
    return Sentence({name: sentence.columns[name] for name in task.columns}, tags)


def _first(part: str, sentences: Iterable[Sentence], setup: Setup) -> list[Sentence]:
    if not setup.small:
        return list(sentences)
    return list(itertools.islice(sentences, SMALL_TRAIN if part == "train" else SMALL_TEST))
