"""JSONL: columns that get lost or mixed up, a wrong line number, and text that is not UTF-8 on the way out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.formats import read, read_blocks
from sapo.errors import SapoError, allow_limits

MakeFile = Callable[[bytes | str, str], Path]


def test_a_key_called_label_does_not_take_the_place_of_the_tags(make_file: MakeFile) -> None:
    # the block has two columns called 'label' and finds the first
    path = make_file('{"tokens": ["a"], "label": ["other"], "tags": ["gold"]}\n', "a.jsonl")
    assert next(read_blocks(path)).strings("label") == ["gold"]


def test_without_labels_a_key_called_label_is_not_the_label(make_file: MakeFile) -> None:
    path = make_file('{"tokens": ["a"], "label": ["other"]}\n', "a.jsonl")
    assert "label" not in next(read_blocks(path, labeled=False)).columns


def test_a_sentence_without_tokens_does_not_take_the_columns_from_the_others(make_file: MakeFile) -> None:
    records = [{"tokens": ["a"], "pos": ["X"], "tags": ["O"]}, {"tokens": [], "pos": [], "tags": []}]
    path = make_file("\n".join(map(json.dumps, records)), "a.jsonl")
    assert next(read_blocks(path)).columns == ("word", "pos", "label")


def test_a_line_that_is_too_long_is_told_with_its_own_number(make_file: MakeFile) -> None:
    # the complete lines of the same chunk are not counted yet
    path = make_file('{"tokens": [], "tags": []}\n{"tokens": ["' + "a" * 2000, "long.jsonl")
    with allow_limits(line=1000), pytest.raises(SapoError, match=r"long\.jsonl:2: line longer than"):
        list(read(path))


@pytest.mark.parametrize("ending", ["txt", "conllu", "jsonl"])
def test_half_a_surrogate_is_refused_or_written_so_that_it_can_be_read(make_file: MakeFile, ending: str) -> None:
    # JSON may hold "\ud800"; it is written as bytes that are not UTF-8, which the reader refuses
    source, target = make_file('{"tokens": ["\\ud800"], "tags": ["O"]}\n', "a.jsonl"), make_file("", f"b.{ending}")
    try:
        convert(Source(source), Target(target))
    except SapoError:
        return
    assert [sentence.words for sentence in read(target)] == [("\ud800",)]
