"""Sentences with many taggings are searched when their turn comes; what is written is the same as for a few."""

from pathlib import Path

import pytest

import sapo
from sapo.tagger import decoding
from sapo.tagger.decoding import Output
from sapo.tagger.files import tagged_file

SENTENCES = [(["a", "dog", "barks"], ["DT", "NN", "VB"]), (["the", "cat"], ["DT", "NN"])]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
@pytest.mark.parametrize("search", ["topn", "astar", "beam"])
@pytest.mark.parametrize("threads", [1, 2])
def test_few_and_many_are_written_alike(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, search: str, threads: int
) -> None:
    tagger = sapo.train(SENTENCES, template="pos", epochs=3, rate=0.1, strength=1.0)
    path = tmp_path / name
    path.write_text("a\ncat\nbarks\n\ndog\n\n" if name == "a.txt" else '{"tokens": ["a", "dog"]}\n{"tokens": []}\n')

    def written() -> bytes:
        output = Output(nbest=7, search=search, threads=threads)
        return b"".join(piece for _, piece in tagged_file(tagger, path, output))

    few = written()
    monkeypatch.setattr(decoding, "FEW", 1)
    assert written() == few


def test_a_column_file_is_tagged_without_a_text_splitter(tmp_path: Path) -> None:
    tagger = sapo.train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=2)
    (tmp_path / "a.txt").write_text("a\ndog\n")
    assert b"".join(piece for _, piece in tagged_file(tagger, tmp_path / "a.txt", Output())) == b"a DT\ndog NN\n"
    assert tagger._splitter is None
