"""Files that are not UTF-8: named when they are recognized, and read with their encoding; and zip archives."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapo
from sapo.corpus.files import read_chunks, transcoded, with_encoding, write_file
from sapo.corpus.formats import read
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]
TEXT = "Köln NNP\nliegt VBZ\n\nnah RB\n"
JAPANESE = "これ PRON\nは ADP\n日本語 NOUN\nです AUX\n"


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (TEXT, "latin-1", "latin-1"),
        (TEXT.replace("nah", "“nah”"), "cp1252", "cp1252"),
        (JAPANESE, "euc-jp", "euc-jp"),
        (JAPANESE, "shift-jis", "shift-jis"),
        (TEXT, "utf-16", "utf-16"),
        (TEXT, "utf-16-le", "utf-16-le"),
        (TEXT, "utf-16-be", "utf-16-be"),
    ],
)
def test_an_encoding_is_named_and_then_read(make_file: MakeFile, text: str, encoding: str, named: str) -> None:
    path = make_file(text.encode(encoding), "a.txt")
    with pytest.raises(SapoError, match=rf"not UTF-8.*it looks like .*use `encoding='{named}'`"):
        list(read(path))
    expected = list(read(make_file(text, "b.txt")))
    assert list(read(path, encoding=named)) == expected


def test_jsonl_and_documents_are_read_with_an_encoding_too(make_file: MakeFile, tmp_path: Path) -> None:
    path = make_file('{"tokens": ["Köln"], "tags": ["NNP"]}\n'.encode("utf-16"), "a.jsonl")
    assert next(read(path, encoding="utf-16")).words == ("Köln",)
    (tmp_path / "a.txt").write_bytes("Köln".encode("latin-1"))
    (tmp_path / "a.ann").write_bytes("T1\tLOC 0 4\tKöln\n".encode("latin-1"))
    assert next(read(tmp_path, encoding="latin-1")).words == ("Köln",)
    with pytest.raises(SapoError, match=r"a.txt:1: not UTF-8"):
        list(read(tmp_path))
    export = make_file('[\n{"text": "Köln"}]'.encode("latin-1"), "a.json")
    with pytest.raises(SapoError, match=r"a.json:2: not UTF-8.*use `encoding='latin-1'`"):
        list(read(export, format="label-studio"))
    assert next(read(export, format="label-studio", encoding="latin-1")).words == ("Köln",)


def test_training_takes_an_encoding(make_file: MakeFile) -> None:
    tagger = sapo.train(make_file(TEXT.encode("latin-1"), "a.txt"), encoding="latin-1")
    assert tagger.tag(["Köln"]) == ["NNP"]


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("latin-11", "unknown encoding 'latin-11'; did you mean 'latin-1'?"),
        ("rot13", "unknown encoding 'rot13'; known: utf-8"),
        ("hex", "unknown encoding 'hex'; known: utf-8"),
        ("ascii", r"a.txt: near line 2: not ascii .*; use another `encoding`"),
        ("utf-16", r"a.txt: near line 1: not utf-16 .*; use another `encoding`"),
    ],
)
def test_a_wrong_encoding_is_told(make_file: MakeFile, encoding: str, message: str) -> None:
    path = make_file(b"a X\nK\xf6ln X\n!", "a.txt")
    with pytest.raises(SapoError, match=message):
        list(read(path, encoding=encoding))


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 9), st.sampled_from(["utf-16", "utf-32-le"]))
def test_text_is_transcoded_however_it_is_cut(text: str, size: int, encoding: str) -> None:
    data = text.encode(encoding)
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    assert b"".join(transcoded(pieces, encoding, "a")).decode() == text


def zipped(**files: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        for name, text in files.items():
            archive.writestr(f"folder/{name}.conllu", text)
    return stream.getvalue()


def test_a_zip_archive_of_one_file_is_read(make_file: MakeFile) -> None:
    line = "1\tAnna\t_\tNNP" + "\t_" * 6 + "\n"
    assert next(read(make_file(zipped(a=line), "a.conllu.zip"))).words == ("Anna",)
    with pytest.raises(
        SapoError, match=r"a.zip: is a zip archive of 2 files; unpack it with unzip, and give one of th"
    ):
        list(read(make_file(zipped(a=line, b=line), "a.zip")))
    with pytest.raises(SapoError, match=r"a.zip: broken zip archive"):
        list(read(make_file(zipped(a=line)[:60], "a.zip")))


def test_a_zip_archive_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match="zip archives are read, but not written"), write_file(tmp_path / "a.zip"):
        pass


def test_a_path_without_an_encoding_stays_as_it_is(make_file: MakeFile) -> None:
    path = make_file("a", "a.txt")
    assert with_encoding(path, None) is path
    assert list(read_chunks(with_encoding(path, "latin-1"))) == [b"a", b""]
