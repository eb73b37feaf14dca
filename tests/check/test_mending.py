"""What is safe to mend is mended, and nothing else is touched."""

import json
from pathlib import Path

import pytest

from sapo.check.mending import mend
from sapo.corpus.sample import sample_path
from sapo.errors import SapoError

SAMPLE = sample_path("test").read_text("utf-8")


def mended(tmp_path: Path, text: str, name: str = "in.txt") -> tuple[str, dict[str, int]]:
    source, target = tmp_path / name, tmp_path / f"out.{name.rpartition('.')[2]}"
    source.write_bytes(text.encode())
    done = mend(source, target)
    return target.read_text("utf-8"), {what: count for what, count in done.items() if count}


def test_a_clean_file_stays_as_it_is(tmp_path: Path) -> None:
    assert mended(tmp_path, SAMPLE) == (SAMPLE, {})


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda text: text.replace("\tO\n", "\t0\n", 1), "label '0' to 'O'"),
        (lambda text: text.replace("\tO\n", "\to\n", 3), "label 'o' to 'O'"),
        (lambda text: text.replace("\tB-PER\n", "\tb-per\n", 1), "label 'b-per' to 'B-PER'"),
        (lambda text: "word\tpos\tchunk\tner\n" + text, "header"),
        (lambda text: "\ufeff" + text, "byte order mark"),
        (lambda text: text.replace("\n", "\r"), "line ends"),
        (lambda text: text.replace("\t", " ", 3), "separators"),
        (lambda text: text.replace("\t", "\u200b\t", 1), "invisible characters"),
        (lambda text: text.replace("\n", "\t\n").replace("\n\t\n", "\n\n"), "TABs at the end of lines"),
    ],
)
def test_what_is_safe_to_mend_is_mended(tmp_path: Path, wrong, what: str) -> None:  # type: ignore[no-untyped-def]
    text, done = mended(tmp_path, wrong(SAMPLE))
    assert text == SAMPLE
    assert list(done) == [what]


def test_a_typing_error_needs_a_person(tmp_path: Path) -> None:
    wrong = SAMPLE.replace("\tB-PER\n", "\tB-PRE\n", 1)
    assert mended(tmp_path, wrong) == (wrong, {})


def test_comments_and_other_lines_of_conllu_are_kept(tmp_path: Path) -> None:
    text = "# text = no\n1-2\tx" + "\t_" * 8 + "\n1\tn\u200bo\tno" + "\t_" * 7 + "\n\n"
    assert mended(tmp_path, text, "in.conllu")[0] == text.replace("\u200b", "")


def test_jsonl_is_mended_record_by_record(tmp_path: Path) -> None:
    records = [{"tokens": ["Anna", "sings"], "tags": ["B-PER", "O"], "id": 7}, {"tokens": ["a\u200b"], "tags": ["o"]}]
    text, done = mended(tmp_path, "".join(json.dumps(record) + "\n" for record in records), "in.jsonl")
    assert [json.loads(line) for line in text.splitlines()] == [records[0], {"tokens": ["a"], "tags": ["O"]}]
    assert done == {"invisible characters": 1, "labels": 1}


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(b"caf\xe9\tNN\n")
    with pytest.raises(SapoError, match="iconv"):
        mend(source, tmp_path / "out.txt")
    assert not (tmp_path / "out.txt").exists()
