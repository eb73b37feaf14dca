"""sapo split and sapo sample write files to work with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.sample import sample_path

Run = Callable[..., Any]


def test_a_file_is_split_into_three(run: Run, tmp_path: Path) -> None:
    done = run("split", sample_path("train"), "-o", tmp_path / "data")
    sizes = [len(list(sapo.read(tmp_path / "data" / f"{part}.txt"))) for part in ("train", "dev", "test")]
    assert sum(sizes) == 416
    assert f"wrote {tmp_path / 'data' / 'dev.txt'}: {sizes[1]} sentences" in done.stderr


def test_two_parts_are_train_and_test(run: Run, tmp_path: Path) -> None:
    run("split", sample_path("test"), "-o", tmp_path, "--parts", "3,1", "-q")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.txt", "train.txt"]


def test_a_part_never_replaces_the_input(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(sample_path("test").read_bytes())
    done = run("split", path, "-o", tmp_path, ends=2)
    assert "would overwrite the input" in done.stderr
    assert path.read_bytes() == sample_path("test").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--parts", "80"], "two or three positive numbers"),
        (["--parts", "80,0,20"], "two or three positive numbers"),
        (["--by", "document"], "has no documents"),
        (["--label", "9"], "there is no column 9"),
    ],
)
def test_wrong_options_are_one_line(run: Run, tmp_path: Path, options: list[str], message: str) -> None:
    done = run("split", sample_path("test"), "-o", tmp_path / "data", *options, ends=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_the_sample_is_written_once(run: Run, tmp_path: Path) -> None:
    room = tmp_path / "sample"
    done = run("sample", room)
    assert "train.txt" in done.stderr
    assert len(list(sapo.read(room / "train.txt"))) == 416
    assert next(sapo.read(room / "dev.conllu")).tags
    assert "already exists" in run("sample", room, ends=2).stderr


def test_the_sample_is_clean_in_every_format(run: Run, tmp_path: Path) -> None:
    run("sample", tmp_path, "-q")
    for name in ("{}.txt", "{}.conllu", "ner-{}.txt", "ner-{}.jsonl"):
        run("check", *(tmp_path / name.format(part) for part in ("train", "dev", "test")))


@pytest.mark.parametrize("name", ["train.conllu", "ner-train.jsonl"])
def test_a_model_of_the_sample_splits_text(run: Run, tmp_path: Path, name: str) -> None:
    run("sample", tmp_path, "-q")
    tagger = sapo.train(tmp_path / name, epochs=1, rate=0.2, strength=0.3)
    words = [token.text for token in tagger.tag_text("The old dog (not Rex) isn't here.").tokens]
    assert words == ["The", "old", "dog", "(", "not", "Rex", ")", "is", "n't", "here", "."]
