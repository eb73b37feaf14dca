"""Which reader a file gets, and looking at the first block without losing it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sapo.corpus.formats import FORMATS, format_of, read, read_blocks
from sapo.corpus.labeled import first_and_all
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.txt", "columns"),
        ("train", "columns"),
        ("train.conll", "columns"),
        ("train.iob2", "columns"),
        ("train.tsv.gz", "columns"),
        ("-", "columns"),
        ("train.conllu", "conllu"),
        ("train.conll-u", "conllu"),
        ("train.CONLLU", "conllu"),
        ("train.conllu.gz", "conllu"),
        ("en.v2.15.conllu", "conllu"),
        ("train.jsonl", "jsonl"),
        ("train.ndjson.gz", "jsonl"),
        ("train.json", "json"),
        ("train.JSONL.GZ", "jsonl"),
        ("data.jsonl/train", "columns"),
        ("train.jsonl.txt", "columns"),
        (Path("a.conllu/b.jsonl"), "jsonl"),
    ],
)
def test_the_ending_of_the_name_tells_the_format(name: str | Path, expected: str) -> None:
    assert format_of(name) == expected


@pytest.mark.parametrize("given", FORMATS)
@pytest.mark.parametrize("name", ["a.txt", "a.conllu", "a.jsonl", "-"])
def test_a_given_format_is_stronger_than_the_name(name: str, given: str) -> None:
    assert format_of(name, given) == given


@pytest.mark.parametrize("given", ["", "CoNLL", "tsv"])
def test_an_unknown_format_is_told_with_the_known_ones(given: str) -> None:
    with pytest.raises(
        SapoError, match=rf"^unknown format '{given}'; (known: columns, conllu, jsonl, text|did you mean)"
    ):
        format_of("a.txt", given)
    with pytest.raises(SapoError, match="unknown format"):
        list(read("a.txt", format=given))


CONTENT = {
    "columns": "Anna NNP\nsings VBZ\n",
    "conllu": "1\tAnna\t_\tNNP\t_\t_\t_\t_\t_\t_\n2\tsings\t_\tVBZ\t_\t_\t_\t_\t_\t_\n",
    "jsonl": '{"tokens": ["Anna", "sings"], "tags": ["NNP", "VBZ"]}\n',
}


@pytest.mark.parametrize("format", CONTENT)
def test_every_format_can_be_read_from_a_file_of_any_name(make_file: MakeFile, format: str) -> None:
    (sentence,) = read(make_file(CONTENT[format], "corpus.dat"), format=format)
    assert (sentence.words, sentence.tags) == (("Anna", "sings"), ("NNP", "VBZ"))


@pytest.mark.parametrize("format", ["columns", "conllu", "jsonl"])
def test_every_format_tells_a_missing_file(format: str) -> None:
    with pytest.raises(SapoError, match="nowhere: no such file"):
        list(read("nowhere", format=format))


@pytest.mark.parametrize("format", CONTENT)
def test_every_format_can_be_read_without_labels(make_file: MakeFile, format: str) -> None:
    (sentence,) = read(make_file(CONTENT[format], "corpus.dat"), format=format, labeled=False)
    assert (sentence.words, sentence.tags) == (("Anna", "sings"), None)


@pytest.mark.parametrize("format", CONTENT)
def test_the_first_block_is_seen_and_all_blocks_still_come(make_file: MakeFile, format: str) -> None:
    path = make_file(CONTENT[format], "corpus.dat")
    first, blocks = first_and_all(read_blocks(path, format=format), "corpus.dat")
    assert first.strings("word") == ["Anna", "sings"]
    assert [block.strings("label") for block in blocks] == [["NNP", "VBZ"]]


@pytest.mark.parametrize("format", [*CONTENT, "crfsuite", "doccano", "prodigy"])
def test_a_corpus_without_a_sentence_is_told(make_file: MakeFile, format: str) -> None:
    path = make_file("\n\n", "empty.dat")
    with pytest.raises(SapoError, match=r"^empty\.dat: has no sentences$"):
        first_and_all(read_blocks(path, format=format), "empty.dat")
