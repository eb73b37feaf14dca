"""The doctor and the ordinary reader agree on what a token, a comment and a sentence is."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sapo.check.doctor import examine
from sapo.check.mending import mend
from sapo.check.reading import read_sheet
from sapo.cli.check import check_page, findings_text
from sapo.corpus.formats import read
from sapo.errors import SapoError

fields = st.sampled_from(["a", "#", "=", "-DOCSTART-", "b", "O", "\u00e9"])
lines = st.one_of(st.just([]), st.lists(fields, min_size=3, max_size=3), st.lists(fields, min_size=1, max_size=4))


@given(st.lists(lines, max_size=12), st.sampled_from(["\t", " ", "  "]), st.sampled_from(["\n", "\r\n"]))
def test_a_file_that_can_be_read_is_read_alike(rows: list[list[str]], separator: str, end: str) -> None:
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "train.txt"
        path.write_bytes("".join(separator.join(row) + end for row in [["a", "b", "O"], *rows]).encode())
        sheet = read_sheet(path)
        try:
            expected = list(read(path))
        except SapoError:
            return
        assert not sheet.faults
        assert list(sheet.words) == [word for sentence in expected for word in sentence.words]
        assert list(sheet.labels) == [tag for sentence in expected for tag in sentence.tags or ()]
        assert sheet.lengths == [len(sentence) for sentence in expected]


@given(st.binary(max_size=200), st.sampled_from(["columns", "conllu", "jsonl"]))
def test_any_bytes_are_examined_or_refused(data: bytes, format: str) -> None:
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "train.txt"
        path.write_bytes(data)
        try:
            report = examine([path, path], format=format)
        except SapoError:
            return
        findings_text(report)
        check_page(report)


text = st.text(st.sampled_from('ab\t \n\r#=-O0o\u200b\xa0B{}[]":,1'), max_size=120)


@given(text, st.sampled_from(["columns", "conllu", "jsonl"]))
def test_any_text_is_examined_and_mended_or_refused(written: str, format: str) -> None:
    with tempfile.TemporaryDirectory() as room:
        path, new, again = (Path(room) / name for name in ("train.txt", "new.txt", "again.txt"))
        path.write_bytes(written.encode())
        try:
            mend(path, new, format=format)
            mend(new, again, format=format)
            report = examine([new, path], format=format)
        except SapoError:
            return
        check_page(report)
        assert again.read_bytes() == new.read_bytes()


def test_running_text_is_told_in_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("".join(" ".join(["word"] * size) + "\n" for size in range(3, 30)), "utf-8")
    (finding,) = [finding for finding in examine([path]).findings if finding.kind == "columns"]
    assert finding.way_out == "does each line hold one token?"


def test_many_broken_records_are_told_in_few_findings(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text("".join(f'{{"text": {number}}}\n["{number}"]\n{"{" * number}\n' for number in range(200)), "utf-8")
    assert len(examine([path]).findings) < 15
