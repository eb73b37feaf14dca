"""Feature kernels against a slow twin that makes string features, token by token and template by template."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.blocks import Block, Sentence, block_from_sentences
from sapo.features.building import build_encoder
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import TemplateEncoder
from sapo.features.strings import StringTable
from sapo.features.template import Atom, Template, TemplateSet, parse_templates

Tokens = list[tuple[str, str]]  # word and pos

WORD = st.sampled_from(["a", "b", "ab", "Ab", "abc", "x-1", "é", "", "zz"])
NEW_WORD = st.one_of(WORD, st.sampled_from(["abcd", "B", "new", "1"]))
POS = st.sampled_from(["D", "N", "V"])
ATOM = st.tuples(
    st.sampled_from(
        ["word{}", "pos{}", "lower(word{})", "suffix(word{}, 2)", "shape(word{})", "prefix(lower(word{}), 3)"],
    ),
    st.integers(-3, 3),
).map(lambda atom: atom[0].format(f"[{atom[1]}]"))
MANY = st.tuples(st.sampled_from(["substrings(word{}, 2)", "classes(word{})"]), st.integers(-2, 2)).map(
    lambda atom: atom[0].format(f"[{atom[1]}]")
)


@st.composite
def template_lines(draw: st.DrawFn) -> str:
    atoms = draw(st.lists(ATOM, min_size=1, max_size=3))
    if draw(st.booleans()):
        atoms[draw(st.integers(0, len(atoms) - 1))] = draw(MANY)
    return " & ".join(atoms)


TEMPLATES = st.lists(st.one_of(template_lines(), template_lines(), st.just("bias")), min_size=1, max_size=5)


def sentences(word: st.SearchStrategy[str], most: int) -> st.SearchStrategy[list[Tokens]]:
    return st.lists(st.lists(st.tuples(word, POS), min_size=1, max_size=6), min_size=1, max_size=most)


def block_of(corpus: list[Tokens]) -> Block:
    return block_from_sentences(
        Sentence({"word": tuple(w for w, _ in tokens), "pos": tuple(p for _, p in tokens)}, ("X",) * len(tokens))
        for tokens in corpus
    )


def slow_values(atom: Atom, tokens: Tokens, at: int) -> list[str]:
    place = at + atom.offset
    if place < 0:
        return [f"<{-place} before the start>"]
    if place >= len(tokens):
        return [f"<{place - len(tokens) + 1} past the end>"]
    return atom.view.apply(dict(zip(("word", "pos"), tokens[place], strict=True))[atom.view.column])


def slow_features(template: Template, tokens: Tokens, at: int, title: str) -> Iterator[str]:
    """One feature for every choice of a value for each atom; none where an atom has no value."""
    joined = [""]
    for number, atom in enumerate(template.atoms):
        values = slow_values(atom, tokens, at)
        joined = [left + (" & " if number else "") + value for value in values for left in joined]
    yield from (f"{title} = {value}" if template.atoms else title for value in joined)


def slow_names(templates: TemplateSet, corpus: list[Tokens]) -> list[list[str]]:
    """The features of each token, in the order of the templates. Those of one bag carry one name."""
    titles: dict[object, str] = {}
    for template in templates.templates:
        titles.setdefault(bag(template), str(template))
    return [
        [
            name
            for template in templates.templates
            for name in slow_features(template, tokens, at, titles[bag(template)])
        ]
        for tokens in corpus
        for at in range(len(tokens))
    ]


def bag(template: Template) -> object:
    return template if template.bag is None else (template.bag, tuple(atom.view for atom in template.atoms))


def names(encoder: TemplateEncoder, encoded: EncodedCorpus) -> list[list[str]]:
    of_row = encoder.feature_names(range(encoder.features))
    assert len(set(of_row)) == encoder.features  # a name is one feature
    flat = [of_row[row] for row in encoded.rows.tolist()]
    ends = encoded.row_offsets.tolist()
    assert (ends[0], ends[-1]) == (0, len(flat))
    return [flat[a:b] for a, b in pairwise(ends)]


def check(templates: TemplateSet, train: list[Tokens], new: list[Tokens], min_count: int) -> None:
    labels = StringTable()
    encoder, encoded = build_encoder([block_of(train)], templates, labels, min_count=min_count)
    slow = slow_names(templates, train)
    counts = Counter(name for token in slow for name in token)
    kept = {name for name, count in counts.items() if count >= min_count}
    assert encoder.features == len(kept)
    assert names(encoder, encoded) == [[name for name in token if name in kept] for token in slow]
    frequencies = [counts[name] for name in encoder.feature_names(range(encoder.features))]
    assert frequencies == sorted(frequencies, reverse=True)
    # other text: only what training has shown is known, and the session remembers new words from block to block
    session = encoder.session()
    for part in (new, train, new):
        expected = [[name for name in token if name in kept] for token in slow_names(templates, part)]
        assert names(encoder, session.encode(block_of(part))) == expected


@given(TEMPLATES, sentences(WORD, 4), sentences(NEW_WORD, 3), st.integers(1, 3))
@settings(deadline=None, max_examples=80)
def test_features_equal_their_slow_twins(
    lines: list[str], train: list[Tokens], new: list[Tokens], min_count: int
) -> None:
    check(parse_templates("\n".join(lines), ["word", "pos", "label"]), train, new, min_count)


CRFPP_LINE = st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 1)), min_size=1, max_size=3).map(
    lambda atoms: "U:" + "/".join(f"%x[{row},{column}]" for row, column in atoms)
)


@given(st.lists(CRFPP_LINE, min_size=1, max_size=5), sentences(WORD, 4), sentences(NEW_WORD, 3))
@settings(deadline=None, max_examples=50)
def test_crfpp_templates_of_one_name_share_their_features(
    lines: list[str], train: list[Tokens], new: list[Tokens]
) -> None:
    check(parse_templates("\n".join(lines), ["word", "pos", "label"]), train, new, 1)


@pytest.mark.parametrize(
    ("template", "features"),
    [
        ("U1:%x[0,0]\nU2:%x[0,0]", 4),
        ("U1:%x[0,0]\nU2:%x[1,0]", 4),
        ("U:%x[0,0]\nU:%x[1,0]", 3),
        ("U:%x[0,0]\nU:%x[0,1]", 3),
    ],
)
def test_crfpp_templates_share_features_by_name_and_columns(template: str, features: int) -> None:
    corpus: list[Tokens] = [[("a", "N"), ("b", "N")]]
    templates = parse_templates(template, ["word", "pos", "label"])
    encoder, encoded = build_encoder([block_of(corpus)], templates, StringTable())
    assert encoder.features == len(set(encoded.rows.tolist())) == features
    assert encoded.row_offsets.tolist() == [0, 2, 4]


def features_of(template: str, words: list[str]) -> list[list[str]]:
    corpus = [[(word, "N") for word in words]]
    encoder, encoded = build_encoder(
        [block_of(corpus)], parse_templates(template, ["word", "pos", "label"]), StringTable()
    )
    return [[name.partition(" = ")[2] for name in token] for token in names(encoder, encoded)]


def test_positions_outside_of_a_sentence_are_told_apart() -> None:
    assert features_of("word[-2]", ["a", "b", "c"]) == [["<2 before the start>"], ["<1 before the start>"], ["a"]]
    assert features_of("word[2]", ["a", "b", "c"]) == [["c"], ["<1 past the end>"], ["<2 past the end>"]]
    assert features_of("word[-50] & word[50]", ["a"]) == [["<50 before the start> & <50 past the end>"]]


def test_a_many_valued_view_outside_of_a_sentence_makes_one_feature() -> None:
    assert features_of("pos & substrings(word[-1], 1) & word", ["ab", "c"]) == [
        ["N & <1 before the start> & ab"],
        ["N & < & c", "N & a & c", "N & b & c", "N & > & c"],
    ]


def test_a_word_without_a_value_makes_no_feature() -> None:
    assert features_of("suffix(word, 3) & word[-1]", ["abc", "ab", "xyz"]) == [
        ["abc & <1 before the start>"],
        [],
        ["xyz & ab"],
    ]
    assert features_of("classes(word)", ["ab", "A"]) == [[], ["capital", "first-capital", "all-capital"]]


def test_sentences_do_not_see_each_other() -> None:
    corpus: list[Tokens] = [[("a", "N")], [("b", "N")], [("c", "N"), ("d", "N")]]
    templates = parse_templates("word[-1] & word[1]", ["word", "pos", "label"])
    encoder, encoded = build_encoder([block_of(corpus)], templates, StringTable())
    assert [name.partition(" = ")[2] for token in names(encoder, encoded) for name in token] == [
        "<1 before the start> & <1 past the end>",
        "<1 before the start> & <1 past the end>",
        "<1 before the start> & d",
        "c & <1 past the end>",
    ]


@pytest.mark.parametrize("words", [40, 900])
def test_keys_of_many_bits_are_told_apart(words: int) -> None:
    # four joined values of ten bits and more: keys beyond 32 bits
    rng = np.random.default_rng(words)
    train = [[(f"w{i}", "N") for i in rng.integers(words, size=8).tolist()] for _ in range(60)]
    check(parse_templates("word[-1] & word & word[1] & word[2]", ["word", "pos", "label"]), train, train[:9], 1)
