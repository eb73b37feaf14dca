"""A block knows where it stands in its file, and its format writes it back as it was."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.annotations import Annotation, Placement, number_tags
from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.formats import FORMATS, format_of, read_blocks

MakeFile = Callable[[bytes | str, str], Path]

# a file is a list of sentences: the lines before each (a comment or none), its words, and the empty lines behind it
FILES = st.lists(
    st.tuples(st.booleans(), st.lists(st.sampled_from(["a", "dog", "Ä#"]), min_size=1, max_size=4), st.integers(1, 3)),
    min_size=1,
    max_size=6,
)


def column_lines(comment: bool, words: list[str]) -> list[str]:
    return [*(["# id = 7"] if comment else []), *(f"{word}\tX" for word in words)]


def conllu_lines(comment: bool, words: list[str]) -> list[str]:
    rows = [f"{i}\t{word}\t_\tX\t_\tNumber=Sing\t_\t_\t_\t_" for i, word in enumerate(words, 1)]
    return [*(["# id = 7"] if comment else []), rows[0], "1.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_", *rows[1:]]


def jsonl_lines(comment: bool, words: list[str]) -> list[str]:
    return [json.dumps({"tokens": words, "tags": ["X"] * len(words), **({"id": 7} if comment else {})})]


LINES = {"a.txt": column_lines, "a.conllu": conllu_lines, "a.jsonl": jsonl_lines}


def one_block(make_file: MakeFile, name: str, lines: list[str], label: str | None = None) -> Block:
    (block,) = read_blocks(make_file("\n".join(lines) + "\n", name), label=label)
    return block


@pytest.mark.parametrize("name", LINES)
@settings(deadline=None, derandomize=True, max_examples=50)
@given(FILES)
def test_every_token_has_the_line_that_it_stands_in(
    make_file: MakeFile, name: str, corpus: list[tuple[bool, list[str], int]]
) -> None:
    lines: list[str] = []
    expected, first = [], []
    for comment, words, empty in corpus:
        mine = LINES[name](comment, words)
        numbers = [len(lines) + at for at, line in enumerate(mine, 1) if not line.startswith(("# ", "1.1"))]
        first.append(numbers[0])
        expected += numbers if len(numbers) == len(words) else numbers * len(words)  # JSONL has one line for all
        lines += [*mine, *[""] * empty]
    block = one_block(make_file, name, lines)
    assert block.first_lines().tolist() == first
    places = [block.place_of(token) for token in range(len(expected))]
    assert places == [f"{block.name}:{line}" for line in expected]
    assert [block.place_of_sentence(number) for number in range(len(first))] == [
        f"{block.name}:{line}: this sentence" for line in first
    ]


@pytest.mark.parametrize(
    ("name", "label", "into"),
    [
        ("a.txt", None, "upos"),
        ("a.conllu", None, "upos"),
        ("a.conllu", "Number", "Number"),
        ("a.jsonl", None, "upos"),
    ],
)
@settings(deadline=None, derandomize=True, max_examples=50)
@given(FILES)
def test_a_block_with_its_own_tags_is_written_as_it_was_read(
    make_file: MakeFile, name: str, label: str | None, into: str, corpus: list[tuple[bool, list[str], int]]
) -> None:
    empty_lines = name != "a.jsonl"  # which a file of records need not keep
    lines = [
        line
        for comment, words, empty in corpus
        for line in (*LINES[name](comment, words), *[""] * (empty * empty_lines))
    ]
    block = one_block(make_file, name, lines, label)
    format = format_of(name)
    labels, tags = number_tags(block.strings(LABEL))
    gold = Annotation(tags, labels, placement=Placement(into))
    found = b"".join(FORMATS[format].write(block, gold)).decode()
    expected = [json.dumps(json.loads(line), ensure_ascii=False) for line in lines] if not empty_lines else lines
    assert found == "\n".join(expected) + "\n"
