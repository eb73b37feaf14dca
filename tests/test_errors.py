"""What is too large is refused in one line that says how to raise the limit; no reader takes more than linear time."""

import gzip
import io
import re
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sapo
from laboratory.datasets.registry import zip_member
from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.corpus.files import read_chunks
from sapo.corpus.formats import read
from sapo.errors import SapoError, allow_limits, parse_limit
from sapo.features.template import parse_templates
from sapo.features.vectors import read_vectors
from sapo.search.lattice import Lattice
from sapo.search.topn import top_n
from sapo.tags.constraints import parse_rules
from sapo.text.splitter import Splitter
from sapo.training.gold import read_rules

MB = 1 << 20


@pytest.fixture
def bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """32 MB of blanks in 32 KB; the ratio counts from 4 MB on."""
    monkeypatch.setattr("sapo.corpus.files.UNSUSPECTED", 4 * MB)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b" " * (32 * MB)))
    return path


@pytest.mark.parametrize(
    "use",
    [
        lambda path: list(read(path, format="columns")),
        lambda path: list(read(path, format="conllu")),
        lambda path: list(read(path, format="jsonl")),
        lambda path: list(read(path, format="crfsuite")),
        lambda path: list(read(path, format="label-studio")),
        lambda path: list(read(path, format="text", labeled=False)),
        read_rules,
        read_vectors,
    ],
)
def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(bomb: Path, use: Callable[[Path], object]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(SapoError, match=r"bomb\.gz") as told:
            use(bomb)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert re.search(r"`allow_limits\((ratio|line|rules|sentence)=\d+\)`|no token in", str(told.value))
    assert peak < 30 * MB


def test_a_zip_bomb_is_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapo.corpus.files.UNSUSPECTED", 4 * MB)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.txt", "w") as member:
        member.write(b" " * (32 * MB))
    with pytest.raises(SapoError, match=r"allow_limits\(ratio=\d+\)"):
        for _ in read_chunks(path):
            pass


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize(
    "use", [lambda path: list(read_chunks(path)), lambda path: zip_member(path.read_bytes(), name="a.txt")]
)
def test_a_zip_archive_that_unpacks_at_once_is_refused_before_it_fills_the_memory(
    tmp_path: Path, method: int, use: Callable[[Path], object]
) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.txt", b" " * (64 * MB))
    tracemalloc.start()
    try:
        with pytest.raises(SapoError, match=rf"compressed with method {method}, and only deflate is read; unpack it"):
            use(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MB


def test_a_zip_archive_that_lies_about_its_size_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laboratory.datasets.registry.LIMIT", MB)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b" " * (64 * MB))
    lying = stream.getvalue().replace((64 * MB).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    tracemalloc.start()
    try:
        with pytest.raises(SapoError, match=r"not a zip archive with a\.txt in it \(Bad CRC"):
            zip_member(lying, name="a.txt")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MB


def zipped(content: bytes = b"a X\n\n", method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("a.txt", content)
    return bytearray(stream.getvalue())


def test_a_zip_archive_that_ends_too_early_is_not_called_a_gzip_file(tmp_path: Path) -> None:
    data = zipped(bytes(range(256)) * 10, zipfile.ZIP_STORED)
    at = data.index(b"PK\x01\x02")
    for place in (20, 24):  # compressed bytes, and bytes
        struct.pack_into("<I", data, at + place, 10_000_000)
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(SapoError, match=r"a\.zip: broken zip archive \("):
        list(read_chunks(path))


def test_broken_records_of_a_zip_archive_are_one_line(tmp_path: Path) -> None:
    good = zipped()
    central, end = good.index(b"PK\x01\x02"), good.index(b"PK\x05\x06")
    no_name, not_utf8, before = (bytearray(good) for _ in range(3))
    struct.pack_into("<HH", no_name, central + 28, 0, 5)  # the name becomes an extra field
    not_utf8[central + 9], not_utf8[central + 46] = 8, 0xFF  # a flag says that the name is UTF-8
    struct.pack_into("<I", before, end + 12, 1 << 20)  # the directory begins before the file
    path = tmp_path / "a.zip"
    for data in (no_name, not_utf8, before):
        path.write_bytes(data)
        with pytest.raises(SapoError, match=r"a\.zip: broken zip archive \(.+\)$"):
            list(read_chunks(path))


def test_the_directory_of_a_zip_archive_is_not_read_if_it_is_long(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(60_000):
            archive.writestr(f"{number}", b"")
    tracemalloc.start()
    try:
        with pytest.raises(SapoError, match="is a zip archive of many files; unpack it"):
            list(read_chunks(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MB


LONG = {
    "jsonl": b'{"tokens": [' + b"[]," * 3_600_000 + b"0]}\n",
    "doccano": b'{"text": "a", "label": [' + b"[]," * 3_600_000 + b"0]}\n",
    "prodigy": b'{"text": "a", "spans": [' + b"{}," * 3_600_000 + b"0]}\n",
    "crfsuite": b"X\taaaaaaaaaaaaaaa\n" * 700_000,
    "columns": b"a X\n" * 4_500_000,
    "conllu": b"1\ta\ta\tX\t_\t_\t0\t_\t_\t_\n" * 700_000,
}


@pytest.mark.parametrize("format", LONG)
def test_what_is_too_long_is_refused_before_it_takes_many_times_its_size(tmp_path: Path, format: str) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(LONG[format])
    tracemalloc.start()
    try:
        with pytest.raises(SapoError, match=r"allow_limits\((line|sentence)=\d+\)"):
            list(read(path, format=format))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150 * MB


@pytest.mark.parametrize("format", ["jsonl", "doccano", "csv"])
def test_the_tokens_of_a_document_are_counted_while_it_is_cut(tmp_path: Path, format: str) -> None:
    path = tmp_path / "a.txt"
    text = "! " * 50_000
    path.write_text(f"text,spans\na,[]\n{text},[]\n" if format == "csv" else f'{{"text": "a"}}\n{{"text": "{text}"}}\n')
    with allow_limits(tokens=2_000), pytest.raises(SapoError, match=r"a\.txt:[23]: [23],\d+ tokens in a document are"):
        list(read(path, format=format, labeled=False))


def test_a_regular_file_may_pack_well(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"word X\n\n" * 10_000))
    assert len(list(read(path))) == 10_000
    with allow_limits(unzipped=1000), pytest.raises(SapoError, match=r"unpacked bytes are more than 1,000"):
        list(read(path))


def test_a_file_without_any_token_does_not_grow_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "zeros.txt"
    path.write_bytes(b"# comment\n" * 500_000)
    with allow_limits(sentence=MB), pytest.raises(SapoError, match="no token in"):
        list(read(path))


@pytest.mark.parametrize(
    ("text", "name"),
    [("word " * 30 + "X\n", "columns"), ("a X\n" * 30 + "\n", "tokens"), ("a" * 30 + " X\n\n", "token")],
)
def test_columns_sentences_and_tokens_have_a_limit(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert list(read(path))
    with allow_limits(**{name: 20}), pytest.raises(SapoError, match=rf"^\S*a\.txt\S*: .*allow_limits\({name}=3"):
        list(read(path))


def test_sentences_of_python_have_the_same_limits() -> None:
    with allow_limits(tokens=2), pytest.raises(SapoError, match="3 tokens in a sentence are more than 2"):
        block_from_sentences([Sentence({"word": ("a", "b", "c")})])


def test_templates_and_rules_have_a_limit() -> None:
    with pytest.raises(SapoError, match=r"template:1: .*allow_limits\(template_line=\d+"):
        parse_templates("word & " * 3000 + "word", ["word"])
    with allow_limits(templates=2), pytest.raises(SapoError, match=r"allow_limits\(templates=3"):
        parse_templates("word\nword[1]\nword[2]", ["word"])
    with pytest.raises(SapoError, match=r"allow_limits\(rule=\d+"):
        list(parse_rules(["forbid A B" + "*" * 10_000], ["A", "B"]))


def test_a_search_for_more_than_a_thousand_taggings_is_refused() -> None:
    lattice = Lattice(np.zeros((3, 2), np.float32), np.zeros((2, 2), np.float32))
    assert len(top_n(lattice, n=1_000)) == 8
    with pytest.raises(
        SapoError, match=r"^n: 1,001 taggings are more than 1,000; if that is right, use `allow_limits\(n=1001\)`$"
    ):
        top_n(lattice, n=1_001)
    with allow_limits(n=1_001):
        assert len(top_n(lattice, n=1_001)) == 8


def test_a_message_about_a_template_is_short() -> None:
    with pytest.raises(SapoError) as told:
        parse_templates("word & " * 1000 + "?", ["word"])
    assert len(str(told.value)) < 400


@pytest.mark.parametrize("text", ["'s", "n't", "n'tn'tx", "。", "。\uff09", "a@", "www.,", "(", "!?", "\n \n", "'d'll"])
def test_no_text_takes_the_tokenizer_long(text: str) -> None:
    """A clock is no good in a test, but 15 s for 60 KB were: these take less than half a second."""
    whole = (text * 60_000)[:60_000]
    begin = time.process_time()
    Splitter()(whole)
    assert time.process_time() - begin < 5


def test_stars_in_a_rule_are_not_tried_again_and_again() -> None:
    begin = time.process_time()
    with pytest.raises(SapoError, match="no label matches"):
        list(parse_rules(["end " + "*a" * 2000 + "b"], ["a" * 4000]))
    assert time.process_time() - begin < 5
    assert list(parse_rules(["end B-*", "forbid *a*a *"], ["B-a", "aa"])) == [("end", [0], []), ("forbid", [1], [0, 1])]


@pytest.mark.parametrize("digits", [19, 5000])
def test_a_number_of_vectors_that_is_too_long_is_told(tmp_path: Path, digits: int) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("9" * digits + " 3\na 1 2 3\n")
    with pytest.raises(SapoError, match=r"vectors\.txt"):
        read_vectors(path)


@pytest.mark.parametrize(
    "text", ["line", "line=", "line=x", "line=-1", "=3", "line=0", "lines=3", "labels=1M", "line=1PB"]
)
def test_a_limit_that_cannot_be_read_is_told(text: str) -> None:
    def use() -> None:
        name, value = parse_limit(text)
        with allow_limits(**{name: value}):
            pass

    with pytest.raises(SapoError, match="limit"):
        use()


def test_more_labels_than_any_task_has_are_told_with_the_likely_reason() -> None:
    data = [(["a", "b"], ["X", "Y"]), (["c"], ["Z"])]
    with allow_limits(labels=2), pytest.raises(SapoError, match=r"3 labels are more than 2; is it the right column"):
        sapo.train(data, template="pos", epochs=1)


def test_a_limit_is_raised_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a " * 1500 + "X\n\n")
    arguments = ["convert", str(tmp_path / "a.txt"), str(tmp_path / "b.jsonl")]
    for limit, code in ((["--limit", "columns=2K"], 0), ([], 2)):
        done = subprocess.run([sys.executable, "-m", "sapo", *limit, *arguments], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert ("--limit columns=1501" in done.stderr) == (code == 2)
