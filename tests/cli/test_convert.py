"""sapo convert --split writes parts of a file, as they are or converted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.sample import sample_path

Run = Callable[..., Any]
PARTS = ("train", "dev", "test")
SPLIT = ("--split", "80,10,10")


def test_a_file_is_split_into_three(run: Run, tmp_path: Path) -> None:
    done = run("convert", sample_path("train"), tmp_path / "data", *SPLIT)
    sizes = [len(list(sapo.read(tmp_path / "data" / f"{part}.txt"))) for part in PARTS]
    assert sum(sizes) == 416
    assert f"wrote {tmp_path / 'data' / 'dev.txt'}: {sizes[1]} sentences" in done.stderr


def test_two_parts_are_train_and_test(run: Run, tmp_path: Path) -> None:
    run("convert", sample_path("test"), tmp_path, "--split", "3,1", "-q")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.txt", "train.txt"]


def test_equal_seeds_give_equal_parts(run: Run, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run("convert", sample_path("test"), tmp_path / name, *SPLIT, "--seed", seed, "-q")
    a, b, c = ((tmp_path / name / "train.txt").read_bytes() for name in "abc")
    assert a == b != c


def test_a_part_is_compressed_as_the_input_is(run: Run, tmp_path: Path) -> None:
    run("convert", sample_path("test"), tmp_path / "all.txt.gz", "-q")
    run("convert", tmp_path / "all.txt.gz", tmp_path / "data", *SPLIT, "-q")
    assert [(tmp_path / "data" / f"{part}.txt.gz").read_bytes()[:2] for part in PARTS] == [b"\x1f\x8b"] * 3


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--to", "jsonl"), "{}.jsonl"),
        (("--to", "conllu", "--into", "xpos"), "{}.conllu"),
        (("--scheme", "bioes"), "{}.txt"),
        (("--keep", "word"), "{}.txt"),
    ],
)
def test_a_split_conversion_has_the_sentences_of_the_conversion(
    run: Run, tmp_path: Path, options: tuple[str, ...], name: str
) -> None:
    columns = ("--columns", "word,pos,chunk,entity", "--label", "chunk")
    whole = tmp_path / name.format("whole")
    run("convert", sample_path("test"), whole, *columns, *options, "-q")
    run("convert", sample_path("test"), tmp_path, *columns, *options, *SPLIT, "-q")
    parts = "".join((tmp_path / name.format(part)).read_text() for part in PARTS)
    assert sorted(filter(None, parts.splitlines())) == sorted(filter(None, whole.read_text().splitlines()))


def test_annotations_are_converted_and_split_at_once(run: Run, tmp_path: Path) -> None:
    export = tmp_path / "export.jsonl"
    export.write_text('{"text": "Anna naps.", "label": [[0, 4, "PER"]]}\n' * 10)
    run("convert", export, tmp_path / "data", "--from", "doccano", "--to", "jsonl", *SPLIT)
    tags = [sentence.tags for part in PARTS for sentence in sapo.read(tmp_path / "data" / f"{part}.jsonl")]
    assert tags == [("B-PER", "O", "O")] * 10


def test_sentences_without_labels_can_be_split(run: Run, tmp_path: Path) -> None:
    run("convert", sample_path("test"), tmp_path / "words.txt", "--keep", "word", "--no-label", "-q")
    run("convert", tmp_path / "words.txt", tmp_path / "data", "--no-label", *SPLIT, "-q")
    sizes = [len(list(sapo.read(tmp_path / "data" / f"{part}.txt", labeled=False))) for part in PARTS]
    assert min(sizes) > 0
    assert sum(sizes) == len(list(sapo.read(sample_path("test"))))


def test_a_part_never_replaces_the_input(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(sample_path("test").read_bytes())
    done = run("convert", path, tmp_path, *SPLIT, ends=2)
    assert "would overwrite the input" in done.stderr
    assert path.read_bytes() == sample_path("test").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["DATA", "--split", "80"], "two or three positive numbers"),
        (["DATA", "--split", "80,0,20"], "two or three positive numbers"),
        (["DATA", *SPLIT, "--by", "document"], "test.txt: has no documents"),
        (["DATA", *SPLIT, "--scheme", "bioes", "--by", "document"], "test.txt: has no documents"),
        (["DATA", *SPLIT, "--label", "9"], "there is no column 9"),
        (["DATA", *SPLIT, "--text"], "--text writes JSONL"),
        (["DATA", *SPLIT, "--to", "text"], "text cannot be split; give a file with labels"),
        ([*SPLIT], "--split writes files; name their directory: sapo convert"),
        (["DATA", "--seed", "1"], "--by and --seed are for --split"),
        (["DATA", "--by", "sentence"], "--by and --seed are for --split"),
    ],
)
def test_wrong_options_are_one_line(run: Run, tmp_path: Path, options: list[str], message: str) -> None:
    given = [tmp_path / "data" if option == "DATA" else option for option in options]
    done = run("convert", sample_path("test"), *given, ends=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()
