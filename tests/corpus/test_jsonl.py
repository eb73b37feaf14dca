"""JSONL: tokens with tags or text with spans, what is kept on the way out, and what each wrong line says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.corpus.annotations import Annotation, Placement
from sapo.corpus.blocks import Sentence
from sapo.corpus.formats import read, read_blocks
from sapo.corpus.jsonl import SENTENCES, write, write_sentence
from sapo.errors import SapoError, allow_limits

MakeFile = Callable[[bytes | str, str], Path]
TagWithGold = Callable[..., bytes]


def lines(*records: Any) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def parsed(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


# tokens


def test_tokens_and_tags_are_words_and_labels(make_file: MakeFile) -> None:
    path = make_file(lines({"tokens": ["Zoë", "sings"], "tags": ["B-PER", "O"]}), "a.jsonl")
    assert list(read(path)) == [Sentence({"word": ("Zoë", "sings")}, ("B-PER", "O"))]


def test_every_list_of_strings_as_long_as_the_tokens_is_a_column(make_file: MakeFile) -> None:
    record = {
        "id": 7,
        "tokens": ["a", "b"],
        "pos": ["X", "Y"],
        "tags": ["O", "O"],
        "heads": [1, 0],
        "topics": ["one", "two", "three"],
        "mixed": ["x", None],
        "lemma": ["a", "b"],
        "meta": {"tokens": ["c"]},
    }
    path = make_file(lines(record), "a.jsonl")
    (sentence,) = read(path)
    assert sentence.columns == {"word": ("a", "b"), "pos": ("X", "Y"), "lemma": ("a", "b")}
    assert next(read_blocks(path)).columns == ("word", "pos", "lemma", "label")


def test_another_key_may_hold_the_labels_and_the_tags_are_no_column_then(make_file: MakeFile) -> None:
    path = make_file(lines({"tokens": ["a"], "pos": ["X"], "tags": ["O"]}), "a.jsonl")
    assert list(read(path, label="pos")) == [Sentence({"word": ("a",)}, ("X",))]


def test_without_labels_old_tags_are_neither_asked_for_nor_a_column(make_file: MakeFile) -> None:
    path = make_file(lines({"tokens": ["a"], "pos": ["X"], "tags": ["O"]}, {"tokens": ["b"], "pos": ["Y"]}), "a.jsonl")
    assert list(read(path, labeled=False)) == [
        Sentence({"word": ("a",), "pos": ("X",)}),
        Sentence({"word": ("b",), "pos": ("Y",)}),
    ]


def test_a_list_that_is_as_long_as_the_tokens_here_and_there_is_no_column(make_file: MakeFile) -> None:
    records = [
        {"tokens": ["a"], "tags": ["O"], "pos": ["X"], "authors": ["me"]},
        {"tokens": ["b"], "tags": ["O"], "pos": ["Y"], "authors": ["me", "you"]},
        {"tokens": ["c"], "tags": ["O"], "pos": ["Z"]},
    ]
    block = next(read_blocks(make_file(lines(*records), "a.jsonl")))
    assert block.columns == ("word", "pos", "label")
    assert block.strings("pos") == ["X", "Y", "Z"]


FULL = {"tokens": ["a"], "tags": ["O"], "pos": ["X"]}


@pytest.mark.parametrize(
    "lacking", [{"tokens": ["a"], "tags": ["O"]}, {**FULL, "pos": ["X", "Y"]}, {**FULL, "pos": [7]}]
)
@pytest.mark.parametrize(("before", "after"), [(1, 0), (0, 1), (3, 2), (SENTENCES, 0), (SENTENCES + 2, 2)])
def test_a_line_without_a_column_that_the_others_have_is_told(
    make_file: MakeFile, lacking: dict[str, Any], before: int, after: int
) -> None:
    path = make_file(lines(*[FULL] * before, lacking, *[FULL] * after), "a.jsonl")
    with pytest.raises(
        SapoError, match=rf"a\.jsonl:{before + 1}: has no 'pos' for each token, which other lines have; "
    ):
        list(read_blocks(path))


def test_a_sentence_without_tokens_is_a_sentence(make_file: MakeFile, tag_with_gold: TagWithGold) -> None:
    text = lines({"tokens": [], "tags": []}, {"tokens": ["a"], "tags": ["O"]}, {"tokens": [], "tags": []})
    path = make_file(text, "a.jsonl")
    assert [len(sentence) for sentence in read(path)] == [0, 1, 0]
    assert tag_with_gold(path).decode() == text


@pytest.mark.parametrize(
    "text",
    [
        '{"tokens": ["a"], "tags": ["O"]}\n{"tokens": ["b"], "tags": ["O"]}',
        '\n\n{"tokens": ["a"], "tags": ["O"]}\r\n \r\n{"tokens": ["b"], "tags": ["O"]}\r\n',
        '\ufeff{"tokens":["\\u0061"],"tags":["O"]}\n  {"tags": ["O"], "tokens": ["b"]}  \n',
    ],
)
def test_empty_lines_line_endings_and_the_way_of_writing_do_not_matter(make_file: MakeFile, text: str) -> None:
    assert [sentence.words for sentence in read(make_file(text, "a.jsonl"))] == [("a",), ("b",)]


def test_strings_may_hold_anything(make_file: MakeFile, tag_with_gold: TagWithGold) -> None:
    words = ["", " ", "\n", "\t", '"', "\\", "\u2028", "\x00", "🦀", "#", "-DOCSTART-"]
    path = make_file(lines({"tokens": words, "tags": words[::-1]}), "a.jsonl")
    assert list(read(path)) == [Sentence({"word": tuple(words)}, tuple(words[::-1]))]
    assert tag_with_gold(path) == path.read_bytes()


@pytest.mark.parametrize("count", [499, 500, 501, 1200])
def test_long_files_come_in_several_blocks_and_lose_nothing(make_file: MakeFile, count: int) -> None:
    path = make_file(lines(*({"tokens": [str(i)], "tags": ["O"]} for i in range(count))), "a.jsonl")
    assert [sentence.words for sentence in read(path)] == [(str(i),) for i in range(count)]
    assert all(len(block.offsets) <= 501 for block in read_blocks(path))


# text


TEXT = "Zoë Li saw Oslo."
SPANS = [(0, 6, "PER"), (11, 15, "LOC")]
TAGS = ("B-PER", "I-PER", "O", "B-LOC", "O")


@pytest.mark.parametrize("key", ["spans", "entities"])
@pytest.mark.parametrize(
    "form",
    [
        lambda start, end, kind: {"start": start, "end": end, "label": kind},
        lambda start, end, kind: {"start": start, "end": end, "type": kind},
        lambda start, end, kind: {"label": kind, "end": end, "start": start, "id": 5, "text": "..."},
        lambda start, end, kind: [start, end, kind],
    ],
    ids=["label", "type", "more", "list"],
)
def test_text_with_spans_in_any_accepted_form_becomes_words_and_tags(
    make_file: MakeFile, form: Callable[[int, int, str], Any], key: str
) -> None:
    path = make_file(lines({"text": TEXT, key: [form(*span) for span in reversed(SPANS)]}), "a.jsonl")
    (sentence,) = read(path)
    assert sentence.words == ("Zoë", "Li", "saw", "Oslo", ".")
    assert sentence.tags == TAGS
    assert sentence.text == TEXT
    assert sentence.offsets == ((0, 3), (4, 6), (7, 10), (11, 15), (15, 16))


def test_text_without_labels_needs_no_spans(make_file: MakeFile) -> None:
    (sentence,) = read(make_file(lines({"text": TEXT}), "a.jsonl"), labeled=False)
    assert (sentence.words, sentence.tags) == (("Zoë", "Li", "saw", "Oslo", "."), None)


def test_places_are_counted_in_characters_not_bytes(make_file: MakeFile) -> None:
    text = "🦀🦀 Ωmega x"
    (sentence,) = read(make_file(lines({"text": text, "spans": [[3, 8, "X"]]}), "a.jsonl"))
    assert dict(zip(sentence.words, sentence.tags or (), strict=True))["Ωmega"] == "B-X"


def test_tokens_are_stronger_than_text(make_file: MakeFile) -> None:
    (sentence,) = read(make_file(lines({"text": "a b.", "tokens": ["a", "b."], "tags": ["O", "X"]}), "a.jsonl"))
    assert (sentence.words, sentence.text) == (("a", "b."), "a b.")


def test_empty_text_has_no_sentences_and_stays_a_line(make_file: MakeFile, tag_with_gold: TagWithGold) -> None:
    path = make_file(lines({"text": "", "spans": []}, {"text": "a", "spans": []}), "a.jsonl")
    assert [sentence.words for sentence in read(path)] == [("a",)]
    assert [record["text"] for record in parsed(tag_with_gold(path))] == ["", "a"]


def test_a_line_of_text_is_a_document_that_is_cut_into_sentences_and_written_as_one_line(
    make_file: MakeFile, tag_with_gold: TagWithGold
) -> None:
    record = {"id": "T-7", "text": "Zoë is here. Oslo waits.", "spans": [{"start": 13, "end": 17, "label": "LOC"}]}
    path = make_file(lines(record), "a.jsonl")
    first, second = read(path)
    assert (first.words, second.words) == (("Zoë", "is", "here", "."), ("Oslo", "waits", "."))
    assert (first.document, second.document) == ("T-7", "T-7")
    (tagged,) = parsed(tag_with_gold(path))
    assert tagged["spans"] == record["spans"]
    assert tagged["tags"] == ["O", "O", "O", "O", "B-LOC", "O", "O"]


def test_a_span_that_cuts_a_token_splits_it(make_file: MakeFile) -> None:
    text = "Both LumiLamp/SolarPack broke."
    (sentence,) = read(make_file(lines({"text": text, "spans": [[5, 13, "PRODUCT"]]}), "a.jsonl"))
    assert sentence.words == ("Both", "LumiLamp", "/SolarPack", "broke", ".")


# wrong lines


GOOD = {"tokens": ["a"], "tags": ["O"]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "not JSON ("),
        ("a NN", "not JSON ("),
        ('{"tokens": ["a"]} {"tokens": ["b"]}', "not JSON (Extra data"),
        ("[" * 100_000, "not JSON ("),
        ("[]", 'expected an object such as {"tokens": [...]}, found list'),
        ('"a"', 'expected an object such as {"tokens": [...]}, found str'),
        ("null", 'expected an object such as {"tokens": [...]}, found NoneType'),
        ("{}", "has neither 'tokens' nor 'text'; known here: nothing"),
        ({"words": ["a"], "tags": ["O"]}, "has neither 'tokens' nor 'text'; known here: words, tags"),
        ({"text": 5}, "has neither 'tokens' nor 'text'; known here: text"),
        ({"tokens": "a", "tags": ["O"]}, "'tokens' must be a list of strings, found 'a'"),
        ({"tokens": None, "tags": ["O"]}, "'tokens' must be a list of strings, found None"),
        ({"tokens": ["a", 5], "tags": ["O", "O"]}, "'tokens' must be a list of strings, found 5 in it"),
        ({"tokens": [["a"]], "tags": ["O"]}, "'tokens' must be a list of strings, found ['a'] in it"),
        ({"tokens": ["a"], "tags": "O"}, "'tags' must be a list of strings, found 'O'"),
        ({"tokens": ["a"], "tags": [0]}, "'tags' must be a list of strings, found 0 in it"),
        ({"tokens": ["a"]}, "has no 'tags'; known here: tokens"),
        ({"tokens": ["a"], "tags": []}, "1 tokens but 0 tags"),
        ({"tokens": ["a", "b"], "tags": ["O"] * 3}, "2 tokens but 3 tags"),
        ({"text": "a b"}, "has no list 'spans'; known here: text"),
        ({"text": "a b", "spans": {}}, "has no list 'spans'; known here: text, spans"),
        ({"text": "a b", "spans": [5]}, 'a span must have "start", "end" and "label", found 5'),
        ({"text": "a b", "spans": [[0, 1]]}, 'a span must have "start", "end" and "label", found [0, 1]'),
        ({"text": "a b", "spans": [[0, 1, 2]]}, 'a span must have "start", "end" and "label", found [0, 1, 2]'),
        ({"text": "a b", "spans": [["0x", 1, "X"]]}, 'a span must have "start", "end" and "label", found '),
        ({"text": "a b", "spans": [[0.5, 1, "X"]]}, 'a span must have "start", "end" and "label", found '),
        ({"text": "a b", "spans": [[True, 1, "X"]]}, 'a span must have "start", "end" and "label", found '),
        ({"text": "a b", "spans": "[[0, 1"}, "the spans are not JSON ("),
        ({"text": "a b", "spans": "0:1"}, "spans must be start, end and label"),
        ({"text": "a b", "spans": [{"start": 0, "label": "X"}]}, 'a span must have "start", "end" and "label", found '),
        ({"text": "a b", "spans": [{"start": 0, "end": 1}]}, 'a span must have "start", "end" and "label", found '),
        ({"text": "ab c", "spans": [[0, 9, "X"]]}, "span 0:9 'X' is not in the text, which has 4 characters"),
        ({"text": "ab c", "spans": [[-4, 2, "X"]]}, "span -4:2 'X' is not in the text, which has 4 characters"),
        ({"text": "ab c", "spans": [[3, 2, "X"]]}, "span 3:2 'X' is not in the text"),
        ({"text": "", "spans": [[0, 1, "X"]]}, "span 0:1 'X' is not in the text, which has 0 characters"),
        ({"text": "ab c", "spans": [[0, 2, ""]]}, 'a span must have "start", "end" and "label", found '),
    ],
)
def test_a_wrong_line_is_told_with_file_line_and_what_was_found(
    make_file: MakeFile, record: str | dict[str, Any], message: str
) -> None:
    line = record if isinstance(record, str) else json.dumps(record)
    path = make_file(f"{lines(GOOD)}\n{line}\n{lines(GOOD)}", "wrong.jsonl")
    with pytest.raises(SapoError) as caught:
        list(read(path))
    assert str(caught.value).startswith(f"{path}:3: {message}")
    assert "\n" not in str(caught.value)


def test_a_long_wrong_value_is_shown_in_short(make_file: MakeFile) -> None:
    path = make_file(lines({"tokens": "a" * 1000, "tags": []}), "wrong.jsonl")
    with pytest.raises(SapoError) as caught:
        list(read(path))
    assert len(str(caught.value)) < len(str(path)) + 150


def test_a_missing_label_is_told_by_its_name(make_file: MakeFile) -> None:
    path = make_file(lines(GOOD), "a.jsonl")
    with pytest.raises(
        SapoError, match=r"a\.jsonl:1: has no 'ner'; known here: tokens, tags; name the key with `label`$"
    ):
        list(read(path, label="ner"))


def test_a_line_that_is_not_utf8_is_told_with_file_line_and_byte(make_file: MakeFile) -> None:
    path = make_file(lines(GOOD).encode() + '{"tokens": ["é"]}'.encode("latin-1"), "latin.jsonl")
    with pytest.raises(SapoError, match=r"latin\.jsonl:2: not UTF-8: byte 0xe9 at place 14 of the line"):
        list(read(path))


def test_columns_have_their_names_already(make_file: MakeFile) -> None:
    with pytest.raises(SapoError, match="the columns of JSONL have their names"):
        next(read_blocks(make_file(lines(GOOD), "a.jsonl"), columns=["word", "tag"]))


def test_a_line_that_never_ends_is_not_read_for_ever(make_file: MakeFile) -> None:
    path = make_file('{"tokens": ["' + "a" * 2000, "long.jsonl")
    with (
        allow_limits(line=1000),
        pytest.raises(SapoError, match=r"long\.jsonl:1: line longer than .*; write one sentence a line"),
    ):
        list(read(path))


# tagging


def test_a_record_comes_out_with_new_tags_and_all_that_it_brought(make_file: MakeFile) -> None:
    records: list[dict[str, Any]] = [
        {"id": 7, "tokens": ["a", "ö"], "tags": ["old", "old"], "score": 0.5, "meta": {"x": [None, True]}},
        {"tokens": ["c"], "pos": "X"},
    ]
    block = next(read_blocks(make_file(lines(*records), "a.jsonl"), labeled=False))
    found = b"".join(write(block, Annotation(np.array([1, 0, 1], np.int32), ["A", "Ä"])))
    assert parsed(found) == [{**records[0], "tags": ["Ä", "A"]}, {**records[1], "tags": ["Ä"]}]
    assert "ö" in found.decode()


def test_tagged_text_gets_tokens_tags_and_spans(make_file: MakeFile) -> None:
    block = next(read_blocks(make_file(lines({"text": TEXT, "id": 1}), "a.jsonl"), labeled=False))
    labels = ["O", "B-PER", "I-PER", "B-LOC"]
    assert parsed(b"".join(write(block, Annotation(np.array([1, 2, 0, 3, 0], np.int32), labels)))) == [
        {
            "text": TEXT,
            "id": 1,
            "tags": list(TAGS),
            "tokens": ["Zoë", "Li", "saw", "Oslo", "."],
            "spans": [{"start": 0, "end": 6, "label": "PER"}, {"start": 11, "end": 15, "label": "LOC"}],
        }
    ]


def test_tagged_text_gets_no_spans_where_tags_are_no_spans(make_file: MakeFile) -> None:
    block = next(read_blocks(make_file(lines({"text": "a b"}), "a.jsonl"), labeled=False))
    (record,) = parsed(b"".join(write(block, Annotation(np.array([0, 1], np.int32), ["DT", "NN"]))))
    assert record == {"text": "a b", "tags": ["DT", "NN"], "tokens": ["a", "b"]}


@pytest.mark.parametrize(
    "record",
    [
        {"tokens": ["a", "b"], "tags": ["X", "Y"]},
        {"tags": ["X", "Y"], "id": "1", "tokens": ["a", "ä"], "n": 1.5, "none": None},
    ],
)
def test_tagging_with_the_own_tags_gives_back_the_same_bytes(
    make_file: MakeFile, tag_with_gold: TagWithGold, record: dict[str, Any]
) -> None:
    text = lines(record, record)
    assert tag_with_gold(make_file(text, "a.jsonl")).decode() == text


# writing


def test_a_sentence_is_written_as_tokens_columns_and_tags() -> None:
    sentence = Sentence({"word": ("ä", "b"), "pos": ("X", "Y")}, ("O", "O"))
    assert write_sentence(sentence) == '{"tokens": ["ä", "b"], "pos": ["X", "Y"], "tags": ["O", "O"]}\n'
    assert write_sentence(Sentence({"word": ("a",)})) == '{"tokens": ["a"]}\n'


def test_a_sentence_is_written_as_text_with_spans() -> None:
    sentence = Sentence({"word": ("Zoë", "Li", "saw", "Oslo", ".")}, TAGS)
    assert json.loads(write_sentence(sentence, Placement(text=True))) == {
        "text": "Zoë Li saw Oslo .",
        "spans": [{"start": 0, "end": 6, "label": "PER"}, {"start": 11, "end": 15, "label": "LOC"}],
    }


def test_text_that_is_known_is_written_as_it_was() -> None:
    offsets = ((0, 3), (4, 6), (7, 10), (11, 15), (15, 16))
    sentence = Sentence({"word": ("Zoë", "Li", "saw", "Oslo", ".")}, TAGS, text=TEXT, offsets=offsets)
    assert json.loads(write_sentence(sentence, Placement(text=True)))["text"] == TEXT


@pytest.mark.parametrize("scheme_tags", [("I-A", "I-A", "B-A"), ("B-A", "E-A", "S-A"), ("B-A", "L-A", "U-A")])
def test_spans_are_found_in_tags_of_every_scheme(scheme_tags: tuple[str, ...]) -> None:
    record = json.loads(write_sentence(Sentence({"word": ("aa", "b", "c")}, scheme_tags), Placement(text=True)))
    assert [(span["start"], span["end"]) for span in record["spans"]] == [(0, 4), (5, 6)]


def test_text_without_tags_is_written_without_spans() -> None:
    assert json.loads(write_sentence(Sentence({"word": ("a", "b")}), Placement(text=True))) == {"text": "a b"}


def test_tags_that_are_no_spans_cannot_be_written_as_text() -> None:
    with pytest.raises(SapoError, match=r"^'NN' is not a span tag such as O or B-PER; leave `text` out$"):
        write_sentence(Sentence({"word": ("a", "b")}, ("O", "NN")), Placement(text=True))
