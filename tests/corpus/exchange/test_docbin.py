"""Files of spaCy, with spaCy itself: read, written, and read by spaCy again."""

import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.corpus.annotations import Annotation
from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.exchange import docbin
from sapo.corpus.formats import FORMATS, format_of, open_output, read, read_blocks
from sapo.errors import DataWarning, SapoError

spacy: Any = pytest.importorskip("spacy", reason="spaCy is an extra; make test installs it")
srsly: Any = pytest.importorskip("srsly")
TEXT = "Anna Lee sings in Oslo.\n\nShe  left."


@pytest.fixture
def doc() -> Any:
    made = spacy.blank("en")(TEXT)
    made.set_ents([made.char_span(0, 8, label="PER"), made.char_span(18, 22, label="LOC")])
    for token in made:
        token.is_sent_start = token.i in (0, 7)
        token.tag_ = "T"
    return made


def saved(path: Path, *docs: Any) -> Path:
    spacy.tokens.DocBin(docs=docs, attrs=["ORTH", "SPACY", "TAG", "ENT_IOB", "ENT_TYPE", "SENT_START"]).to_disk(path)
    return path


def loaded(path: Path) -> list[Any]:
    return list(spacy.tokens.DocBin().from_disk(path).get_docs(spacy.vocab.Vocab()))


def test_tokens_entities_and_sentences_are_those_of_spacy(doc: Any, tmp_path: Path) -> None:
    path = saved(tmp_path / "a.spacy", doc)
    assert format_of(path) == "spacy"
    assert [(one.words, one.tags) for one in read(path)] == [
        (("Anna", "Lee", "sings", "in", "Oslo", "."), ("B-PER", "I-PER", "O", "O", "B-LOC", "O")),
        (("She", "left", "."), ("O", "O", "O")),
    ]


@pytest.mark.parametrize("content", [b"\x80" * 2_000_001, b"\xc0" * 2_000_001, b"\0" * (80 << 20)])
def test_a_small_file_that_would_take_gigabytes_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.spacy"
    path.write_bytes(zlib.compress(b"\xdd\xff\xff\xff\xff" + content, 9))
    with pytest.raises(SapoError, match=r"more than 2,000,000 values; split it|unpacked bytes for each compressed one"):
        list(read(path))


def test_values_are_counted_as_msgpack_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [0, -1, 200, -200, 70_000, -70_000, 1 << 40, -(1 << 40), 1.5, None, True]
    value: list[Any] = [*numbers, "x", "x" * 40, "x" * 300, "x" * 70_000, b"x", b"x" * 300, b"x" * 70_000]
    packed = srsly.msgpack_dumps([value, {"a": value}, [[]] * 20, [[]] * 70_000, {str(n): n for n in range(20)}])
    count = 1 + (1 + len(value)) + (2 + 1 + len(value)) + 21 + 70_001 + 41
    for most, fits in ((count, True), (count - 1, False)):
        monkeypatch.setattr(docbin, "MOST_VALUES", most)
        with nullcontext() if fits else pytest.raises(SapoError, match="split it"):
            docbin._check_values(packed, tmp_path)


def test_predictions_change_entities_and_nothing_else(doc: Any, tmp_path: Path) -> None:
    path, out = saved(tmp_path / "a.spacy", doc), tmp_path / "out.spacy"
    (block,) = read_blocks(path, labeled=False)
    with open_output(out, "spacy") as stream:
        for piece in FORMATS["spacy"].write(
            block, Annotation(np.array([0, 0, 1, 0, 0, 0, 0, 0, 0], np.int32), ["O", "B-X"])
        ):
            stream.write(piece)
    (found,) = loaded(out)
    assert found.text == TEXT
    assert [(ent.text, ent.label_) for ent in found.ents] == [("sings", "X")]
    assert [token.tag_ for token in found] == ["T"] * len(found)


def test_what_comes_from_elsewhere_becomes_a_document_of_spacy(tmp_path: Path) -> None:
    source, there = tmp_path / "a.jsonl", tmp_path / "a.spacy"
    source.write_text('{"text": "\\tIn  preTokyo days\\n", "label": [[8, 13, "LOC"]]}\n')
    with pytest.warns(DataWarning, match="the token is split"):
        convert(Source(source, "doccano"), Target(there))
    (found,) = loaded(there)
    assert found.text == "\tIn  preTokyo days\n"
    assert [(ent.start_char, ent.end_char, ent.label_) for ent in found.ents] == [(8, 13, "LOC")]
    convert(Source(there), Target(tmp_path / "b.jsonl", "doccano"))
    assert '"label": [[8, 13, "LOC"]]' in (tmp_path / "b.jsonl").read_text()


def test_sentences_come_back_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("He B-X\n. O\nNo O\n\nyes O\nshe B-Y\n\n")
    convert(Source(tmp_path / "a.txt"), Target(tmp_path / "a.spacy"))
    convert(Source(tmp_path / "a.spacy"), Target(tmp_path / "b.txt"))
    assert list(read(tmp_path / "b.txt")) == list(read(tmp_path / "a.txt"))


def test_documents_without_entities_are_left_out_of_training(tmp_path: Path) -> None:
    path = tmp_path / "a.spacy"
    spacy.tokens.DocBin(docs=[spacy.blank("en")("Anna sings")], attrs=["ORTH", "SPACY"]).to_disk(path)
    with pytest.warns(DataWarning, match="left out 1 documents whose entities are not known"):
        assert list(read(path)) == []
    assert [one.words for one in read(path, labeled=False)] == [("Anna", "sings")]


def test_a_damaged_or_huge_file_is_refused(doc: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.spacy"
    path.write_bytes(b"no DocBin")
    with pytest.raises(SapoError, match=r"a.spacy: not a file of spaCy"):
        list(read(path))
    path.write_bytes(zlib.compress(b"no DocBin"))
    with pytest.raises(SapoError, match=r"a.spacy: not a file of spaCy, or damaged"):
        list(read(path))
    monkeypatch.setattr(docbin, "LARGEST", 1000)
    path.write_bytes(zlib.compress(b"a" * 2000))
    with pytest.raises(SapoError, match=r"a.spacy: larger than .* when unpacked"):
        list(read(path))
