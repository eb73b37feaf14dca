"""sapo demo DIRECTORY writes the bundled sample."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sapo

Run = Callable[..., Any]


def test_the_sample_is_written_once(run: Run, tmp_path: Path) -> None:
    room = tmp_path / "sample"
    done = run("demo", room)
    assert "train.txt" in done.stderr
    assert len(list(sapo.read(room / "train.txt"))) == 416
    assert next(sapo.read(room / "dev.conllu")).tags
    assert "already exists" in run("demo", room, ends=2).stderr


def test_the_sample_is_clean_in_every_format(run: Run, tmp_path: Path) -> None:
    run("demo", tmp_path, "-q")
    for name in ("{}.txt", "{}.conllu", "ner-{}.txt", "ner-{}.jsonl"):
        run("check", *(tmp_path / name.format(part) for part in ("train", "dev", "test")))


@pytest.mark.parametrize("name", ["train.conllu", "ner-train.jsonl"])
def test_a_model_of_the_sample_splits_text(run: Run, tmp_path: Path, name: str) -> None:
    run("demo", tmp_path, "-q")
    tagger = sapo.train(tmp_path / name, epochs=1, rate=0.2, strength=0.3)
    words = [token.text for token in tagger.tag_text("The old dog (not Rex) isn't here.").tokens]
    assert words == ["The", "old", "dog", "(", "not", "Rex", ")", "is", "n't", "here", "."]
