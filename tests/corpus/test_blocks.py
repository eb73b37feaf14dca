"""Blocks: sentences in, bytes with places out, and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.blocks import LABEL, Sentence, block_from_sentences, block_sentences, sentence_block
from sapo.corpus.scanner import ScannedOrigin
from sapo.errors import SapoError

ANY_TEXT = st.text(st.characters(), max_size=4)  # the empty string and lone surrogates too


@st.composite
def corpora(draw: st.DrawFn) -> list[Sentence]:
    names = draw(st.sampled_from([("word",), ("word", "pos"), ("form", "lemma", "chunk")]))
    labeled = draw(st.booleans())
    sentences = []
    for length in draw(st.lists(st.integers(0, 4), min_size=1, max_size=5)):
        values = st.lists(ANY_TEXT, min_size=length, max_size=length).map(tuple)
        sentences.append(Sentence({name: draw(values) for name in names}, draw(values) if labeled else None))
    return sentences


@settings(deadline=None, max_examples=100)
@given(corpora())
def test_sentences_come_out_of_a_block_as_they_went_in(sentences: list[Sentence]) -> None:
    assert list(block_sentences(block_from_sentences(sentences))) == sentences


@settings(deadline=None, max_examples=50)
@given(corpora())
def test_a_block_says_where_each_field_of_each_token_stands(sentences: list[Sentence]) -> None:
    block = block_from_sentences(sentences, "name")
    assert block.name == "name"
    assert block.offsets.tolist()[-1] == sum(map(len, sentences)) == len(block.starts) == len(block.ends)
    for name in block.columns:
        data, starts, ends = block.column(name)
        assert starts.flags.c_contiguous
        assert ends.flags.c_contiguous
        found = [data[a:b].tobytes().decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]
        wanted = (sentence.tags or () if name == LABEL else sentence.columns[name] for sentence in sentences)
        assert found == [value for values in wanted for value in values] == block.strings(name)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(ANY_TEXT, max_size=4), max_size=4), st.integers(1, 3))
def test_plain_sentences_become_the_block_that_they_become_token_by_token(words: list[list[str]], width: int) -> None:
    names = ["word", "pos", "chunk"][:width]
    sentences = [[(word, *["x"] * (width - 1)) if width > 1 else word for word in sentence] for sentence in words]
    quick = sentence_block(sentences, names)
    slow = block_from_sentences(
        (Sentence({"word": tuple(one), **{name: ("x",) * len(one) for name in names[1:]}}) for one in words), "input"
    )
    assert quick.data.tobytes() == slow.data.tobytes()
    assert quick.offsets.tolist() == slow.offsets.tolist()
    if words:
        assert quick.columns == slow.columns
        assert quick.ends.tolist() == slow.ends.tolist()


def test_tags_become_the_last_column_called_label() -> None:
    words = {"word": ("a",), "pos": ("b",)}
    assert block_from_sentences([Sentence(words, ("c",))]).columns == ("word", "pos", "label")
    assert block_from_sentences([Sentence(words)]).columns == ("word", "pos")


def test_no_sentences_are_a_block_too() -> None:
    block = block_from_sentences([])
    assert (block.columns, block.offsets.tolist(), list(block_sentences(block))) == (("word",), [0], [])


def test_a_block_of_python_sentences_counts_sentences_and_tokens_from_1() -> None:
    sentences = [Sentence({"word": ("a", "b")}), Sentence({"word": ()}), Sentence({"word": ("c",)})]
    block = block_from_sentences(sentences, "data")
    places = [block.place_of(token) for token in range(3)]
    assert places == ["data: sentence 1, token 1", "data: sentence 1, token 2", "data: sentence 3, token 1"]
    assert [block.place_of_sentence(number) for number in range(2)] == ["data: sentence 1", "data: sentence 2"]
    assert block.first_lines().tolist() == [1, 2, 3]


def test_a_writer_takes_only_blocks_of_its_own_format() -> None:
    with pytest.raises(TypeError, match="expected a block from ScannedOrigin, found None"):
        block_from_sentences([]).origin_as(ScannedOrigin)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (Sentence({"word": ("a",)}, ("X",)), "corpus: sentence 2 has the columns word with tags, unlike those before"),
        (
            Sentence({"word": ("a",), "pos": ("b",)}),
            "corpus: sentence 2 has the columns word, pos without tags, unlike those before",
        ),
        (
            Sentence({"pos": ("a",), "word": ("b",)}, ("X",)),
            "corpus: sentence 2 has the columns pos, word with tags, unlike those before",
        ),
        (
            Sentence({"word": ("a", "b"), "pos": ("c",)}, ("X", "Y")),
            "corpus: sentence 2 has columns of unequal length: 2 word, 1 pos, 2 tags",
        ),
        (
            Sentence({"word": ("a", "b"), "pos": ("c", "d")}, ("X",)),
            "corpus: sentence 2 has columns of unequal length: 2 word, 2 pos, 1 tags",
        ),
    ],
)
def test_sentences_that_do_not_fit_together_are_told_with_their_number(second: Sentence, message: str) -> None:
    first = Sentence({"word": ("a",), "pos": ("b",)}, ("X",))
    with pytest.raises(SapoError) as caught:
        block_from_sentences([first, second])
    assert str(caught.value).startswith(message)


def test_the_words_of_a_sentence_are_its_column_word_or_else_its_first() -> None:
    assert Sentence({"pos": ("x",), "word": ("a",)}).words == ("a",)
    assert Sentence({"form": ("a", "b"), "pos": ("x", "y")}).words == ("a", "b")
    assert len(Sentence({"form": ("a", "b")})) == 2
