"""Labels that would break a file are told before a byte of it is written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sapo.corpus.formats import read_blocks
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]
CONLLU = "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n"


@pytest.mark.parametrize(
    ("name", "text", "label", "tag", "message"),
    [
        ("a.txt", "a X\n", None, "Y Z", "the tag 'Y Z' contains a blank and cannot be written to this file; sep"),
        ("a.txt", "a X\n", None, "Y\nZ", r"the tag 'Y\\nZ' contains a blank and cannot be .*; write JSONL"),
        ("a.txt", "a\tX\n", None, "Y\tZ", r"the tag 'Y\\tZ' contains a blank .*; write JSONL"),
        ("a.txt", "a\tX\n", None, "", "an empty tag cannot be written to this file; write JSONL"),
        ("a.txt", "a\tX\n", None, "\ud800", "half of a surrogate pair"),
        ("a.conllu", CONLLU, "xpos", "Y\nZ", r"the tag 'Y\\nZ' contains a blank"),
        ("a.conllu", CONLLU, "Chunk", "Y|Z=1", r"the tag 'Y\|Z=1' cannot be written to FEATS, where \| and"),
    ],
)
def test_a_label_that_would_break_the_file_is_refused(
    make_file: MakeFile, name: str, text: str, label: str | None, tag: str, message: str
) -> None:
    (block,) = read_blocks(make_file(text, name), label=label, labeled=False)
    with pytest.raises(SapoError, match=message):
        block.check_labels(["O", tag])


@pytest.mark.parametrize(
    ("name", "text", "label", "tag"),
    [
        ("a.txt", "a X\n", None, "Y|Z=1"),
        ("a.txt", "a\tX\n", None, "Y Z"),
        ("a.conllu", CONLLU, "xpos", "Y Z|W=1"),
        ("a.conllu", CONLLU, "Chunk", "Y Z"),
        ("a.jsonl", '{"tokens": ["a"]}', None, "Y\n\tZ|="),
    ],
)
def test_a_label_that_the_file_can_hold_is_not(
    make_file: MakeFile, name: str, text: str, label: str | None, tag: str
) -> None:
    (block,) = read_blocks(make_file(text, name), label=label, labeled=False)
    block.check_labels(["O", tag])
