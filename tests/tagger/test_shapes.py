"""Sentences in any container of Python, and clear words for what is none."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo

TAGGED = [
    [("the", "DT"), ("dog", "NN"), ("runs", "VB")],
    [("a", "DT"), ("cat", "NN")],
    [("the", "DT"), ("cat", "NN"), ("sleeps", "VB"), (".", ".")],
]
PAIRS = [([word for word, _ in one], [tag for _, tag in one]) for one in TAGGED]


class Series:
    """A column of a table, as of pandas: no Sequence, but with a method that gives a list."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def to_list(self) -> list[Any]:
        return self.values


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return sapo.train(PAIRS, template="pos", epochs=5)


@pytest.mark.parametrize("make", [list, tuple, np.array, Series, iter, lambda words: np.array(words, object)])
def test_a_sentence_may_be_any_container_of_words(tagger: sapo.Tagger, make: Any) -> None:
    expected = tagger.tag(["the", "cat"])
    assert tagger.tag(make(["the", "cat"])) == expected
    assert tagger.tag_many([make(["the", "cat"]), make(["a"])])[0] == expected
    assert tagger.nbest(make(["the", "cat"]), 1)[0].tags == expected
    assert tagger.marginals(make(["the", "cat"])) == tagger.marginals(["the", "cat"])
    assert tagger.probability(make(["the", "cat"]), np.array(expected)) == tagger.probability(["the", "cat"], expected)


def test_a_string_is_no_sentence_and_the_message_names_tag_text(tagger: sapo.Tagger) -> None:
    message = "sentence 1: expected a list of tokens, found the string 'the cat'; .* Tagger.tag_text"
    with pytest.raises(sapo.SapoError, match=message):
        tagger.tag("the cat")
    with pytest.raises(sapo.SapoError, match=message):
        tagger.tag_many(["the cat", "a dog"])
    for wrong in ({"the": 1}, {"the"}, b"the", 5, None):
        with pytest.raises(sapo.SapoError, match="sentence 1: expected a list of tokens, found"):
            tagger.tag(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_table_is_refused_and_the_way_out_works(tagger: sapo.Tagger, package: str) -> None:
    table = pytest.importorskip(package).DataFrame({"sentence": ["1", "1", "2"], "word": ["the", "cat", "a"]})
    pipeline = sapo.Pipeline({"pos": tagger})
    for single in (tagger.tag, tagger.nbest, tagger.marginals, tagger.spans, pipeline.tag):
        with pytest.raises(
            sapo.SapoError, match=rf"sentence 1: expected lists of tokens, found a table \({package} Dat"
        ):
            single(table)
    for many in (tagger.tag_many, tagger.marginal_arrays, pipeline.tag_many):
        with pytest.raises(
            sapo.SapoError, match=rf"^sentences: expected lists of tokens, found a table \({package} Dat"
        ):
            many(table)
    for texts in (tagger.tag_texts, pipeline.tag_texts):
        with pytest.raises(sapo.SapoError, match="a list of texts, not a DataFrame; give its column of texts"):
            texts(table)
    sentences = [one.words for one in sapo.read(table, labeled=False)]  # as the message says
    assert tagger.tag_many(sentences) == tagger.tag_many([["the", "cat"], ["a"]])
    assert tagger.tag(table["word"]) == tagger.tag(["the", "cat", "a"])


def test_what_holds_no_sentences_is_refused(tagger: sapo.Tagger, tmp_path: Path) -> None:
    for wrong in ({("the", "cat"): 1}, 5, None):
        with pytest.raises(sapo.SapoError, match=r"^sentences: expected a list of sentences, found"):
            tagger.tag_many(wrong)  # type: ignore[arg-type]
    with pytest.raises(sapo.SapoError, match="a list of texts, not a dict"):
        tagger.tag_texts({"The cat": 1})
    with pytest.raises(sapo.SapoError, match="expected a list of tokens, found the string 'the cat'"):
        sapo.Pipeline({"pos": tagger}).tag("the cat")
    (tmp_path / "text").write_text("the\ncat\n")
    with (tmp_path / "text").open() as file, pytest.raises(sapo.SapoError, match="expected a list of tokens, found"):
        tagger.tag(file)  # type: ignore[arg-type]


def test_sentences_of_words_with_tags_train_and_are_evaluated_as_pairs(tagger: sapo.Tagger) -> None:
    assert sapo.train(TAGGED, template="pos", epochs=5).model.parameters.nonzero == tagger.model.parameters.nonzero
    assert sapo.train(PAIRS, dev=TAGGED, template="pos", epochs=1).labels == tagger.labels
    assert tagger.evaluate(TAGGED) == tagger.evaluate(PAIRS)
    assert tagger.evaluate(PAIRS).correct_tokens == sum(
        found == gold for words, tags in PAIRS for found, gold in zip(tagger.tag(words), tags, strict=True)
    )


def test_the_tag_is_the_last_of_several_columns() -> None:
    chunks = [[("the", "DT", "B-NP"), ("dog", "NN", "I-NP"), ("runs", "VB", "B-VP")]]
    tagger = sapo.train(chunks, template="chunking", epochs=2)
    assert tagger.columns == ("word", "pos")
    assert tagger.evaluate(chunks).tokens == 3


def test_pairs_of_sentences_of_two_tokens_stay_pairs() -> None:
    tagger = sapo.train([[("a", "dog"), ("DT", "NN")], [("the", "cat"), ("DT", "NN")]], template="pos", epochs=1)
    assert tagger.labels == ("DT", "NN")


def test_words_with_tags_are_refused_by_tag_with_the_way_out(tagger: sapo.Tagger) -> None:
    with pytest.raises(sapo.SapoError, match=r"token 1: expected a string.*give \[word for word, tag in sentence\]"):
        tagger.tag(TAGGED[0])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (5, "expected the path of a file, a table, or pairs of tokens and tags, found 5"),
        (None, "expected the path of a file, a table, or pairs of tokens and tags, found None"),
        ({"tokens": 1}, "expected the path of a file, a table, or pairs of tokens and tags, found"),
        ([], "data: has no sentences"),
        (["the cat"], "data: sentence 1 must be a pair of tokens and tags, found 'the cat'"),
        ([["the", "cat", "sleeps"]], "data: sentence 1 must be a pair of tokens and tags"),
        ([("the cat", ["DT", "NN"])], "data: sentence 1: expected a list of tokens, found the string 'the cat'"),
        ([(["the", "cat"], ["DT"])], "data: sentence 1 has 2 tokens but 1 tags"),
        ([(["the", "cat"], ["DT", None])], "tag"),
        ([(["the", "cat"], ["X", "Y"])], "data: the model knows none of its labels"),
        ([(["the", "cat"], ["DT", 3])], "data: sentence 1 has the tag 3; tags are strings"),
    ],
)
def test_what_cannot_be_evaluated_is_told(tagger: sapo.Tagger, data: Any, message: str) -> None:
    with pytest.raises(sapo.SapoError, match=message):
        tagger.evaluate(data)


def test_sentences_that_were_read_are_evaluated(tagger: sapo.Tagger) -> None:
    sentences = [sapo.Sentence({"word": tuple(words)}, tuple(tags)) for words, tags in PAIRS]
    assert tagger.evaluate(sentences) == tagger.evaluate(PAIRS)
