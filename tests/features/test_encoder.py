"""Text in, features out: against the slow and obvious way, through both doors, in one block or in many."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo import jit
from sapo.corpus.blocks import Block, Sentence, block_from_sentences, sentence_block
from sapo.corpus.formats import read_blocks
from sapo.errors import SapoError
from sapo.features.building import build_encoder
from sapo.features.encoded import EncodedCorpus, join_encoded
from sapo.features.encoder import Session, freeze
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates, template_text

COLUMNS = ("word", "pos", "label")
LINES = [
    "word[0]",
    "word[-1]",
    "word[2]",
    "word[-3] & word[0]",
    "pos[-1] & pos[0] & pos[1]",
    "word & word",
    "suffix(word, 2)",
    "suffix(lower(word[-1]), 1) & pos",
    "shape(word[1])",
    "substrings(word, 2)",
    "pos & substrings(word[-1], 3) & word[1]",
    "classes(word) & pos[-1]",
    "classes(word[1])",
    "bias",
]
WORDS = st.text("abAB1-é", min_size=1, max_size=4)
TAGS = st.sampled_from(["N", "V", "D"])
# what stands in a column file as it is: no blank, TAB or line ending, nothing that looks like a comment
FIELDS = st.text(
    st.characters(exclude_characters=" \t\r\n\ufeff#", exclude_categories=["Cs"]), min_size=1, max_size=5
).filter(lambda field: field.strip() != "" and field != "-DOCSTART-")


@st.composite
def texts(draw: st.DrawFn, words: st.SearchStrategy[str] = WORDS, min_size: int = 1) -> list[Sentence]:
    rows = draw(st.lists(st.lists(st.tuples(words, TAGS), min_size=1, max_size=5), min_size=min_size, max_size=5))
    return [Sentence({"word": tuple(w for w, _ in row), "pos": tuple(t for _, t in row)}) for row in rows]


def same(one: EncodedCorpus, other: EncodedCorpus) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("offsets", "row_offsets", "rows", "gold")
    )


@settings(deadline=None, max_examples=80)
@given(train=texts(), lines=st.lists(st.sampled_from(LINES), min_size=1, unique=True), min_count=st.integers(1, 3))
def test_the_features_of_training_are_those_of_the_slow_twin(
    twin: Any, as_block: Any, build: Any, named: Any, train: list[Sentence], lines: list[str], min_count: int
) -> None:
    templates = parse_templates("\n".join(lines), COLUMNS)
    expected = twin(templates).corpus(train)
    counts = Counter(name for token in expected for name in token)
    known = {name for name, count in counts.items() if count >= min_count}
    encoder, corpus = build([as_block(train)], templates, min_count)
    names = encoder.feature_names(range(encoder.features))
    assert sorted(names) == sorted(known)
    assert named(encoder, corpus) == [Counter(name for name in token if name in known) for token in expected]
    assert [counts[name] for name in names] == sorted((counts[name] for name in names), reverse=True)


@settings(deadline=None, max_examples=80)
@given(train=texts(), text=texts(min_size=0), lines=st.lists(st.sampled_from(LINES), min_size=1, unique=True))
def test_a_session_gives_new_text_the_known_features_and_no_others(
    twin: Any, as_block: Any, build: Any, named: Any, train: list[Sentence], text: list[Sentence], lines: list[str]
) -> None:
    templates = parse_templates("\n".join(lines), COLUMNS)
    encoder, _ = build([as_block(train)], templates)
    known = {name for token in twin(templates).corpus(train) for name in token}
    expected = [Counter(name for name in token if name in known) for token in twin(templates).corpus(text)]
    session = encoder.session()
    for _ in range(2):  # the second time, its new words are remembered ones
        if text:
            assert named(encoder, session.encode(as_block(text))) == expected


@settings(deadline=None, max_examples=50)
@given(train=texts(), lines=st.lists(st.sampled_from(LINES), min_size=1, unique=True))
def test_training_and_a_session_encode_the_same_text_alike(
    as_block: Any, build: Any, train: list[Sentence], lines: list[str]
) -> None:
    templates = parse_templates("\n".join(lines), COLUMNS)
    encoder, corpus = build([as_block(train)], templates)
    assert same(encoder.session().encode(as_block(train), corpus.gold), corpus)


@settings(deadline=None, max_examples=50)
@given(train=texts(), other=texts(), lines=st.lists(st.sampled_from(LINES), min_size=1, unique=True))
def test_it_does_not_matter_how_a_text_is_cut_into_blocks(
    as_block: Any, build: Any, train: list[Sentence], other: list[Sentence], lines: list[str]
) -> None:
    templates = parse_templates("\n".join(lines), COLUMNS)
    whole, corpus = build([as_block(train)], templates)
    cut, corpus_of_cut = build([as_block([sentence]) for sentence in train], templates)
    assert same(corpus, corpus_of_cut)
    assert whole.feature_names(range(whole.features)) == cut.feature_names(range(cut.features))
    session = cut.session()
    parts = [session.encode(as_block([sentence])) for sentence in other]
    assert same(join_encoded(parts), whole.session().encode(as_block(other)))


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_a_file_and_python_strings_give_the_same_features(
    tmp_path_factory: pytest.TempPathFactory, build: Any, separator: str
) -> None:
    path = tmp_path_factory.mktemp("doors") / "text.txt"
    templates = parse_templates("\n".join(LINES), COLUMNS)

    def from_file(text: list[Sentence]) -> list[Block]:
        lines = [
            "".join(f"{word}{separator}{pos}{separator}X\n" for word, pos in zip(*text.columns.values(), strict=True))
            for text in text
        ]
        path.write_text("\n".join(lines), "utf-8", newline="\n")
        return list(read_blocks(path))

    def from_python(text: list[Sentence]) -> Block:
        tokens = [list(zip(*sentence.columns.values(), strict=True)) for sentence in text]
        return sentence_block(tokens, ["word", "pos"], [["X"] * len(sentence) for sentence in tokens])

    @settings(deadline=None, max_examples=60)
    @given(train=texts(FIELDS), other=texts(FIELDS))
    def check(train: list[Sentence], other: list[Sentence]) -> None:
        one, corpus = build(from_file(train), templates)
        two, corpus_of_two = build([from_python(train)], templates)
        assert same(corpus, corpus_of_two)
        assert one.feature_names(range(one.features)) == two.feature_names(range(two.features))
        session = one.session()
        assert same(
            join_encoded([session.encode(block) for block in from_file(other)]),
            two.session().encode(from_python(other)),
        )

    check()


def test_an_unknown_word_keeps_the_features_of_its_parts(as_block: Any, build: Any, named: Any) -> None:
    templates = parse_templates("word\nsuffix(word, 3)\nshape(word)\nclasses(word)", COLUMNS)
    encoder, _ = build([as_block([Sentence({"word": ("Walking", "x"), "pos": ("V", "X")})])], templates)
    (found,) = named(encoder, encoder.session().encode(as_block([Sentence({"word": ("Singing",), "pos": ("V",)})])))
    assert set(found) == {
        "suffix(word[0], 3) = ing",
        "shape(word[0]) = Aaaaaaa",
        "classes(word[0]) = capital",
        "classes(word[0]) = first-capital",
    }


def test_a_session_that_has_seen_too_many_new_words_forgets_them_and_goes_on(
    as_block: Any, build: Any, named: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapo.features.encoder.NEW_WORDS", 2)
    encoder, _ = build(
        [as_block([Sentence({"word": ("an",), "pos": ("X",)})])], parse_templates("suffix(word, 1)", COLUMNS)
    )
    session = encoder.session()
    for words in (("in", "on", "up"), ("at", "un"), ("us", "an", "on", "so")):
        found = named(encoder, session.encode(as_block([Sentence({"word": words, "pos": ("X",) * len(words)})])))
        assert [bool(token) for token in found] == [word.endswith("n") for word in words]


def test_the_borders_of_a_sentence_are_told_apart_by_their_distance(as_block: Any, build: Any, named: Any) -> None:
    templates = parse_templates("word[-2]\nword[1]", COLUMNS)
    encoder, corpus = build([as_block([Sentence({"word": ("a", "b", "c"), "pos": ("X", "X", "X")})])], templates)
    assert [sorted(token) for token in named(encoder, corpus)] == [
        ["word[-2] = <2 before the start>", "word[1] = b"],
        ["word[-2] = <1 before the start>", "word[1] = c"],
        ["word[-2] = a", "word[1] = <1 past the end>"],
    ]


def test_rare_features_are_left_out(as_block: Any, build: Any) -> None:
    text = [Sentence({"word": tuple("aab"), "pos": tuple("XXY")})]
    templates = parse_templates("word\npos", COLUMNS)
    assert [build([as_block(text)], templates, count)[0].features for count in (1, 2, 3)] == [4, 2, 0]


def test_text_without_any_known_feature_can_be_encoded(as_block: Any, build: Any) -> None:
    templates = parse_templates("word\nword & pos\nsubstrings(pos, 1)", COLUMNS)
    encoder, corpus = build([as_block([Sentence({"word": ("a",), "pos": ("X",)})])], templates, 9)
    assert encoder.features == 0
    assert corpus.row_offsets.tolist() == [0, 0]


def test_labels_are_numbered_in_the_order_they_come() -> None:
    block = block_from_sentences([Sentence({"word": tuple("abcd")}, ("N", "O", "N", "A"))])
    labels = StringTable()
    _, corpus = build_encoder([block], parse_templates("word", ("word", "label")), labels)
    assert labels.strings() == ["N", "O", "A"]
    assert corpus.gold.tolist() == [0, 1, 0, 2]


def test_a_block_without_a_needed_column_is_named(as_block: Any, build: Any) -> None:
    encoder, _ = build([as_block([Sentence({"word": ("a",), "pos": ("X",)})])], parse_templates("word & pos", COLUMNS))
    block = block_from_sentences([Sentence({"word": ("a",)}, ("X",))], "new.txt")
    with pytest.raises(SapoError, match=r"new\.txt: has no column 'pos', which the features need; it has word"):
        encoder.session().encode(block)


def test_a_template_that_joins_too_much_is_named(as_block: Any, build: Any) -> None:
    line = " & ".join(f"word[{i}]" for i in range(20))
    with pytest.raises(SapoError, match=r"template 'word\[0\] & .* joins too many different values .* leave one"):
        build([as_block([Sentence({"word": tuple("abcdefgh"), "pos": ("X",) * 8})])], parse_templates(line, COLUMNS))


CRFPP_CHUNKING = """# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]

U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
U18:%x[1,1]/%x[2,1]

U20:%x[-2,1]/%x[-1,1]/%x[0,1]
U21:%x[-1,1]/%x[0,1]/%x[1,1]
U22:%x[0,1]/%x[1,1]/%x[2,1]

# Bigram
B
"""


def test_crfpp_and_the_preset_find_338551_features_in_conll_2000(corpora: Path, build: Callable[..., Any]) -> None:
    jit.compile_kernels()  # as training does: this is no work for interpreted ones
    blocks = list(read_blocks(corpora / "conll2000" / "train.txt.gz"))
    one, corpus = build(blocks, parse_templates(CRFPP_CHUNKING, COLUMNS))
    two, corpus_of_two = build(blocks, parse_templates(template_text("chunking")[0], COLUMNS))
    assert one.features == two.features == 338_551
    assert (corpus.sentences, corpus.tokens) == (8_936, 211_727)
    assert same(corpus, corpus_of_two)


@settings(deadline=None, max_examples=80)
@given(train=texts(), test=texts(), lines=st.lists(st.sampled_from(LINES), min_size=1, unique=True))
def test_what_a_memory_knows_of_words_gives_the_same_features(
    as_block: Any, build: Any, train: list[Sentence], test: list[Sentence], lines: list[str]
) -> None:
    templates = parse_templates("\n".join([*lines, "label[-1] & shape(word)"]), COLUMNS)
    encoder, _ = build([as_block(train)], templates, 1)
    frozen = freeze(encoder).encoder
    for _ in range(2):  # the second time, all words are remembered
        for sentence in [*test, *train]:
            block = as_block([sentence])
            found, expected = frozen.session().encode(block), Session(frozen).encode(block)
            assert same(found, expected)
            assert np.array_equal(found.edge_rows, expected.edge_rows)
            # what training has not seen has other numbers, which say nothing
            known = len(frozen.strings["word"])
            assert np.minimum(found.words, known).tolist() == np.minimum(expected.words, known).tolist()
    assert len(frozen._memories) == 1
    growing = encoder.growing()
    growing.session().encode(as_block(test))
    assert not growing._memories  # it may learn what a memory would have as unknown


def test_a_memory_keeps_no_long_words(as_block: Any, build: Any) -> None:
    encoder = build([as_block([Sentence({"word": ("a", "b")})])], parse_templates("word[0]", ("word",)), 1)[0]
    for words, known in ((("a", "new"), [2]), (("a", "x" * 65), [2]), (("\u00e9" * 32,), [3])):
        encoder.session().encode(as_block([Sentence({"word": words})]))
        assert [len(memory) for memory in encoder._memories] == known
