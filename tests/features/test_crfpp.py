"""CRF++ template files: macros, bags, transitions, and the marks beyond the borders, as CRF++ expands them."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.blocks import Sentence
from sapo.errors import SapoError
from sapo.features.template import parse_templates

COLUMNS = ("word", "pos", "label")


def expanded(line: str, sentence: Sentence, at: int) -> str:
    """The string that CRF++ makes of a line at a token: `U01:%x[-1,0]` gives 'U01:the' or 'U01:_B-1'."""
    rows = list(zip(*sentence.columns.values(), strict=True))

    def value(macro: re.Match[str]) -> str:
        place = at + int(macro[1])
        if place < 0:
            return f"_B{place}"
        if place >= len(rows):
            return f"_B+{place - len(rows) + 1}"
        return rows[place][int(macro[2])]

    return re.sub(r"%x\[(-?\d+),(\d+)\]", value, line)


def sentence(text: str) -> Sentence:
    pairs = [token.split("/") for token in text.split()]
    return Sentence({"word": tuple(word for word, _ in pairs), "pos": tuple(pos for _, pos in pairs)})


def test_macros_are_atoms_and_b_is_the_transitions() -> None:
    parsed = parse_templates("# Unigram\n\nU05:%x[-1,0]/%x[ 0 , 1 ]\nU06\n\n# Bigram\nB\n", COLUMNS)
    assert list(map(str, parsed.templates)) == ["word[-1] & pos[0]", "bias"]
    assert parsed.transitions
    assert not parse_templates("U05:%x[+1,0]", COLUMNS).transitions


LINES = [
    "U00:%x[-2,0]",
    "U01:%x[0,0]",
    "U02:%x[1,0]",
    "U03:%x[-1,0]/%x[0,0]",
    "U04:%x[-1,1]/%x[0,1]/%x[1,1]",
    "U05:%x[0,0]/%x[2,1]",
    "U06",
    # bags: lines with one name share their features
    "U07:%x[-1,0]",
    "U07:%x[0,0]",
    "U07:%x[1,0]",
    "U08:%x[-1,1]/%x[1,1]",
    "U08:%x[0,1]/%x[1,1]",
]


@settings(deadline=None, max_examples=80)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("NV")), min_size=1, max_size=5),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.sampled_from(LINES), min_size=1, unique=True),
)
def test_features_are_shared_and_counted_as_in_crfpp(
    as_block: Any, build: Any, rows: list[list[tuple[str, str]]], lines: list[str]
) -> None:
    lines = [*lines, "U99:%x[0,0]"]  # so that it is a CRF++ file in any case
    text = [Sentence({"word": tuple(w for w, _ in row), "pos": tuple(p for _, p in row)}) for row in rows]
    expected = [expanded(line, one, at) for one in text for at in range(len(one)) for line in lines]
    encoder, corpus = build([as_block(text)], parse_templates("\n".join(lines), COLUMNS))
    assert encoder.features == len(set(expected))
    # equal strings have equal rows, and only they
    assert len(corpus.rows) == len(expected)
    assert len(set(zip(expected, corpus.rows.tolist(), strict=True))) == len(set(expected)) == len(set(corpus.rows))


def test_lines_of_one_name_are_one_bag(as_block: Any, build: Any, named: Any) -> None:
    bag = parse_templates("U00:%x[0,0]\nU00:%x[1,0]", COLUMNS)
    encoder, corpus = build([as_block([sentence("a/N b/N a/N")])], bag)
    assert [sum(token.values()) for token in named(encoder, corpus)] == [2, 2, 2]
    assert encoder.features == 3  # a, b, and one past the end
    apart = parse_templates("U00:%x[0,0]\nU01:%x[1,0]", COLUMNS)
    assert build([as_block([sentence("a/N b/N a/N")])], apart)[0].features == 5


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("U00:%x[0,2]", "uses the label itself"),
        ("U00:%x[0,3]", "uses the column 'c3', which is not there; the columns are word, pos"),
        ("U00:%x[-51,0]", "row -51, which is not between -50 and 50"),
        ("U00:%x[51,0]", "row 51, which is not between -50 and 50"),
        ("U00:%x[0]", "expected %x[row,column]"),
        ("U00:%x[0,-1]", "expected %x[row,column]"),
        ("U00:%x[a,0]", "expected %x[row,column]"),
        ("U00:%x0,0", "expected %x[row,column]"),
        ("U00:%x[" + "9" * 5000 + ",0]", "expected %x[row,column]"),
        ("U00:%x[0," + "9" * 5000 + "]", "expected %x[row,column]"),
        ("word[0]", "expected a line that begins with U, B"),
        ("U00:%q[0,0]", "expected %x[row,column], found '%q[0,0]'"),
        ("U00:%%x[0,0]", "expected %x[row,column], found '%'"),
        ("U00:%x[0,0]/%x[1,0", "expected %x[row,column], found '%x[1,0'"),
        ("U00:%x[0,0]/x[1,0]", "expected %x[row,column], found 'x[1,0]'"),
        ("u00:%m[0,0]", "%m needs a regular expression"),
        ('u00:%x[0,0,"."]', "%x takes no regular expression"),
        ('u00:%t[0,0,"a**"]', '"*" follows no character'),
        ("u00:%x[@1,0]", "found '%x[@1,0]'"),
        ("B01:%x[0,2]", "uses the label itself"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_file_and_line(line: str, complaint: str) -> None:
    with pytest.raises(SapoError) as told:
        parse_templates(f"# Unigram\nU00:%x[0,0]\n{line}\nB\n", COLUMNS, "template")
    message = str(told.value)
    assert message.startswith("template:3: ")
    assert complaint in message
    assert line[:200] in message  # the rest of a long one is left out
    assert "\n" not in message


def test_patterns_of_wapiti_are_functions_and_stars_make_edge_features_too() -> None:
    text = '# comment\n*\nU:a=%X[-1,0]/%x[0,1]  # comment\n*:b=%m[ 0,0,"^.?"]\n*:c=%T[1,0,"\\u"]\nb\n'
    parsed = parse_templates(text, COLUMNS)
    assert [str(template) for template in parsed.templates] == [
        "bias",
        "ascii_lower(word[-1]) & pos[0]",
        'match(word[0], "^.?")',
        'test(word[1], "\\u")',
        'label[-1] & match(word[0], "^.?")',
        'label[-1] & test(word[1], "\\u")',
    ]
    assert parsed.transitions
    assert {template.bag for template in parsed.templates} == {"*", "u:a=%/%", "*:b=%", "*:c=%"}


def test_columns_are_counted_as_in_the_file() -> None:
    with pytest.raises(SapoError, match="uses the label itself"):
        parse_templates("U00:%x[0,0]", ("label", "word", "pos"))
    (template,) = parse_templates("U00:%x[0,2]", ("word", "label", "pos")).templates
    assert str(template) == "pos[0]"
