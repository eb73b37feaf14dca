"""A directory of corpora as SAPO_DATA would be, made of the sample that comes with the package."""

import dataclasses
import gzip
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import sapo
from laboratory.encoded import TaskData, load_task
from laboratory.setup import Setup
from laboratory.tasks import TASKS, Task
from sapo.corpus.blocks import Sentence
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.features.template import PRESETS

SIZES = {"train": 60, "dev": 20, "test": 30}


def columns_text(sentences: Iterable[Sentence], *names: str) -> str:
    return "".join(
        "".join(" ".join(token) + "\n" for token in zip(*(one.columns[name] for name in names), strict=True)) + "\n"
        for one in sentences
    )


def conllu_text(sentences: Iterable[Sentence]) -> str:
    rows = "\t".join(("{}", "{}", "_", "{}", "{}", *["_"] * 5))
    return "".join(
        "".join(
            rows.format(number, word, pos[:1] if pos[:1].isalpha() else "PUNCT", pos) + "\n"
            for number, (word, pos) in enumerate(zip(one.columns["word"], one.columns["pos"], strict=True), 1)
        )
        + "\n"
        for one in sentences
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture(scope="session")
def sentences() -> dict[str, list[Sentence]]:
    stream = sapo.read(sample_path("train"), columns=COLUMNS, labeled=False)
    return {part: list(itertools.islice(stream, size)) for part, size in SIZES.items()}


@pytest.fixture(scope="session")
def tiny(sentences: dict[str, list[Sentence]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny files with the names and columns of the real ones; `bio` is what bioner keeps in its cache."""
    room = tmp_path_factory.mktemp("data")
    for part, some in sentences.items():
        write(room / "ud-ewt" / f"{part}.conllu.gz", conllu_text(some))
        if part != "dev":
            write(room / "conll2000" / f"{part}.txt.gz", columns_text(some, "word", "pos", "chunk"))
            write(room / "wsj-sample" / f"{part}.txt.gz", columns_text(some, "word", "pos"))
            write(room / "bio" / f"{part}.txt", columns_text(some, *COLUMNS))
    return room


@pytest.fixture
def setup(tiny: Path, tmp_path: Path) -> Setup:
    made = Setup(data=tiny, runs=tmp_path / "runs", passes=2, tuning_passes=1)
    for part in ("train", "test"):
        write(made.directory(TASKS["bioner"]) / "cache" / f"{part}.txt", (tiny / "bio" / f"{part}.txt").read_text())
    return made


Find = Callable[[str], Task]
Load = Callable[[str], tuple[Task, TaskData]]


@pytest.fixture
def find() -> Find:
    """A task with a template that is there, should its own not be."""

    def call(name: str) -> Task:
        task = TASKS[name]
        return task if task.template in PRESETS else dataclasses.replace(task, template="pos")

    return call


@pytest.fixture
def load(setup: Setup, find: Find) -> Load:
    def call(name: str) -> tuple[Task, TaskData]:
        task = find(name)
        return task, load_task(task, setup, task.template)

    return call
