"""The doctor and the review of mistakes read all formats: annotations, ready-made features, and other encodings."""

from functools import partial
from pathlib import Path

import pytest

import sapo
from sapo.check.doctor import examine, quick_findings
from sapo.corpus.formats import read_blocks
from sapo.errors import SapoError
from sapo.tagger.errors import find_errors

ATTRIBUTES = "B-PER\tw=Anna\tupper\nO\tw=sings\nO\tw=and\nO\tw=sings\nO\tw=.\n\n"


def test_ready_made_features_have_no_words_to_compare(tmp_path: Path) -> None:
    train, dev = tmp_path / "train.crfsuite", tmp_path / "dev.crfsuite"
    train.write_text(ATTRIBUTES + ATTRIBUTES.replace("w=", "W="))
    dev.write_text(ATTRIBUTES.replace("w=", "word="))
    report = examine([train, dev])
    assert [finding.kind for finding in report.findings if finding.kind in ("repeated", "overlap", "same-data")] == []
    assert (report.clean, report.files[0].tokens) == (True, 10)


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("a.crfsuite", ATTRIBUTES, ("w=Anna", "w=sings")),
        (
            "a.jsonl",
            '{"features": [{"w": "Anna"}, ["w=sings"], []], "tags": ["B-PER", "O", "O"]}\n',
            ("w:Anna", "w=sings"),
        ),
    ],
)
def test_mistakes_show_the_first_feature_of_a_token(
    tmp_path: Path, name: str, content: str, shown: tuple[str, ...]
) -> None:
    path, wrong = tmp_path / name, tmp_path / f"wrong-{name}"
    path.write_text(content * 5)
    wrong.write_text(content.replace("B-PER", "O"))
    report = find_errors(sapo.train(path, epochs=5), wrong)
    assert [mistake.words[:2] for mistake in report.mistakes] == [shown]


def test_annotations_are_examined(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Anna sings.", "label": [[0, 4, "PER"]]}\n{"text": "Oslo", "label": [[0, 4, "per"]]}\n')
    report = examine([path], format="doccano")
    assert report.files[0].tokens == 4
    assert any("'B-per'" in finding.text and finding.lines == (2,) for finding in report.findings)


def test_files_in_another_encoding_are_examined(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("Köln B-LOC\nist O\nda o\n\n".encode("latin-1"))
    read = partial(read_blocks, path, encoding="latin-1")
    (finding,) = quick_findings({"B-LOC": 1, "O": 1, "o": 1}, 3, 1, "a.txt", read)
    assert finding.lines == (3,)
    assert not any(finding.kind == "not-utf8" for finding in examine([path], encoding="latin-1").findings)
    with pytest.raises(SapoError, match="unknown encoding"):
        examine([path], encoding="latin-x")
