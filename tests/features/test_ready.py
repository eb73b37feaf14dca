"""Features that are made already: all forms of a token, real values, and what is refused."""

import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.errors import DataError, SapoError
from sapo.features import ready
from sapo.features.encoded import EncodedCorpus
from sapo.features.ready import FeatureEncoder, build_feature_encoder


def gold(sentences: list[list[Any]]) -> np.ndarray:
    return np.zeros(sum(map(len, sentences)), np.int32)


def features(encoder: FeatureEncoder, corpus: EncodedCorpus) -> list[dict[str, float]]:
    """Name and value of the features of each token."""
    values = corpus.values if len(corpus.values) else np.ones(len(corpus.rows), np.float32)
    return [
        dict(zip(encoder.feature_names(corpus.rows[a:b]), values[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(corpus.row_offsets.tolist())
    ]


def of_token(token: Any) -> dict[str, float]:
    encoder, corpus = build_feature_encoder([[token]], gold([[token]]))
    (found,) = features(encoder, corpus)
    assert features(encoder, encoder.encode([[token]])) == [found]
    return found


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (["word=the", "suffix=he"], {"word=the": 1, "suffix=he": 1}),
        (("a", "b"), {"a": 1, "b": 1}),
        ([], {}),
        ({}, {}),
        ({"word": "the"}, {"word:the": 1}),
        ({"word": ""}, {"word:": 1}),
        ({"upper": True, "digit": False}, {"upper": 1}),
        ({"length": 3, "score": -0.25, "zero": 0}, {"length": 3, "score": -0.25}),
        ({"a": np.float32(0.5), "b": np.int64(2)}, {"a": 0.5, "b": 2}),
        ({"upper": np.True_, "digit": np.False_}, {"upper": 1}),
        ({"word": {"lower": "the", "length": 3}}, {"word:lower:the": 1, "word:length": 3}),
        ({"a": {"b": {"c": "d", "e": 0.5}}}, {"a:b:c:d": 1, "a:b:e": 0.5}),
        ({"seen": ["a", "b"]}, {"seen:a": 1, "seen:b": 1}),
        ({"seen": ("a", 1)}, {"seen:a": 1, "seen:1": 1}),
        ({"seen": {"b", "a"}}, {"seen:a": 1, "seen:b": 1}),
        ({"seen": frozenset()}, {}),
        ({1: "x"}, {"1:x": 1}),
        ({"größe": "sehr groß"}, {"größe:sehr groß": 1}),
    ],
)
def test_a_token_may_have_many_forms(token: Any, expected: dict[str, float]) -> None:
    assert of_token(token) == expected


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(st.dictionaries(st.text(max_size=3), st.floats(width=32, allow_nan=False, allow_infinity=False))),
        min_size=1,
        max_size=4,
    ).filter(lambda sentences: any(sentences))
)
def test_names_and_values_come_out_as_they_went_in(sentences: list[list[dict[str, float]]]) -> None:
    encoder, corpus = build_feature_encoder(sentences, gold(sentences))
    not_zero = [{name: value for name, value in token.items() if value} for sentence in sentences for token in sentence]
    assert features(encoder, corpus) == not_zero
    assert corpus.offsets.tolist() == list(itertools.accumulate(map(len, sentences), initial=0))


def test_where_all_values_are_1_none_are_stored() -> None:
    assert len(build_feature_encoder([[["a", "b"]]], gold([[[]]]))[1].values) == 0
    assert len(build_feature_encoder([[{"a": 1.0, "b": True}]], gold([[[]]]))[1].values) == 0
    assert len(build_feature_encoder([[{"a": 1.0, "b": 2.0}]], gold([[[]]]))[1].values) == 2


def test_a_feature_of_value_0_has_a_number_but_no_place_in_the_corpus() -> None:
    encoder, corpus = build_feature_encoder([[{"upper": False}, {"upper": 0.0}, {"word": "a"}]], gold([[1, 2, 3]]))
    assert encoder.feature_names(range(encoder.features)) == ["upper", "word:a"]
    assert corpus.row_offsets.tolist() == [0, 0, 0, 1]


class Word(str):
    """Shows itself otherwise than it is, as members of an Enum of strings do."""

    __slots__ = ()

    def __str__(self) -> str:
        return "shown"


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([{"a": True}, {"a": 1}, {"a": 1.0}, {"a": np.True_}, {"a": Fraction(1)}, {"a": Decimal(1)}], {"a": 1}),
        ([{"a": "b"}, {"a": Word("b")}, ["a:b"], ("a:b",), {"a": ["b"]}, {Word("a"): "b"}], {"a:b": 1}),
        ([{"a:b": "c"}, {"a": "b:c"}, {"a": {"b": "c"}}], {"a:b:c": 1}),
        ([{"a": 0.5}, {"a": np.float32(0.5)}, {"a": Fraction(1, 2)}, {"a": Decimal("0.5")}], {"a": 0.5}),
    ],
)
def test_what_means_the_same_is_the_same_feature_whatever_came_before(
    tokens: list[Any], expected: dict[str, float]
) -> None:
    for order in itertools.permutations(tokens, 3):
        encoder, corpus = build_feature_encoder([list(order)], gold([list(order)]))
        assert features(encoder, corpus) == [expected] * 3
        assert encoder.features == 1


def test_a_number_as_a_key_is_not_taken_for_an_equal_one() -> None:
    sentence: list[Any] = [{1: "x"}, {True: "x"}, {1.0: "x"}]
    encoder, corpus = build_feature_encoder([sentence], gold([sentence]))
    assert features(encoder, corpus) == [{"1:x": 1}, {"True:x": 1}, {"1.0:x": 1}]


def test_a_session_that_forgets_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, _ = build_feature_encoder([[{"a": "x", "b": 2.0}]], gold([[1]]))
    monkeypatch.setattr("sapo.features.ready.REMEMBERED", 1)
    session = encoder.session()
    for _ in range(3):
        assert features(encoder, session.encode([[{"a": "x", "b": 3.0, "new": "z"}]])) == [{"a:x": 1, "b": 3}]


def test_unknown_features_are_left_out_and_the_others_keep_their_values() -> None:
    encoder, _ = build_feature_encoder([[{"a": 2.0, "b": "x"}]], gold([[{}]]))
    corpus = encoder.encode([[{"new": 7.0, "a": 3.0}, {"b": "y"}], [], [{"b": "x"}]])
    assert features(encoder, corpus) == [{"a": 3.0}, {}, {"b:x": 1.0}]
    assert corpus.offsets.tolist() == [0, 2, 2, 3]


def test_the_most_frequent_come_first_and_rare_ones_are_left_out() -> None:
    sentences = [[["a", "b"], ["b"], ["c", "b"]], [["c"]]]
    encoder, _ = build_feature_encoder(sentences, gold(sentences))
    assert encoder.feature_names(range(encoder.features)) == ["b", "c", "a"]
    encoder, corpus = build_feature_encoder(sentences, gold(sentences), min_count=2)
    assert features(encoder, corpus) == [{"b": 1}, {"b": 1}, {"c": 1, "b": 1}, {"c": 1}]


@pytest.mark.parametrize(
    ("token", "complaint"),
    [
        ({"a": float("nan")}, "feature 'a' is nan; values must be finite"),
        ({"a": float("inf")}, "feature 'a' is inf; values must be finite"),
        ({"a": -np.inf}, "feature 'a' is -inf; values must be finite"),
        ({"a": np.float32("nan")}, "feature 'a' is nan; values must be finite"),
        ({"a": 1e39}, "feature 'a' is 1e+39; values must be finite and fit single precision"),
        ({"a": -(10**400)}, "feature 'a' is"),
        ({"a": {"b": float("nan")}}, "feature 'b' is nan; values must be finite"),
        ({"a": None}, "feature 'a' has the value None; use a string, a number or true/false"),
        ({"a": object}, "feature 'a' has the value <class 'object'>"),
        ({"a": 1j}, "feature 'a' has the value 1j"),
        ({"a": np.complex64(1)}, "feature 'a' has the value"),
        ("the", "expected a list or dictionary of features, found 'the'"),
        (5, "expected a list or dictionary of features, found 5"),
        (None, "expected a list or dictionary of features, found None"),
        (["a", 1], "expected the name of a feature, found 1"),
        ([["a"]], "expected the name of a feature, found ['a']"),
    ],
)
def test_a_bad_feature_is_told_with_sentence_and_token(token: Any, complaint: str) -> None:
    sentences: list[list[Any]] = [[["a"]], [["a"], ["b"], token]]
    encoder, _ = build_feature_encoder(sentences[:1], gold(sentences[:1]))
    for refuse in (lambda: build_feature_encoder(sentences, gold(sentences)), lambda: encoder.encode(sentences)):
        with pytest.raises(SapoError) as told:
            refuse()
        assert str(told.value).startswith("sentence 2, token 3: ")
        assert complaint in str(told.value)


def _remembering() -> tuple[list[list[Any]], list[list[Any]]]:
    train = [[{"word": "the", "n": 2.5}, ["word:cat"]], [{"word": "dog", "up": True}]]
    others = [[{"word": "the", "n": 0}, {"word": "new"}], [["word:dog", "x"], {"up": 1, "n": -1.5}], [{"word": "dog"}]]
    return train, others


def test_what_an_encoder_remembers_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    train, others = _remembering()
    for most in (ready.REMEMBERED, 1):  # with 1, everything is forgotten after each call
        monkeypatch.setattr(ready, "REMEMBERED", most)
        encoder, _ = ready.build_feature_encoder(train, np.zeros(3, np.int32))
        for sentences in [[one] for one in (*others, *train, *others)] + [others, train]:
            fresh = ready.FeatureEncoder(encoder.names).encode(sentences)
            found = encoder.encode(sentences)
            for name in ("offsets", "row_offsets", "rows", "values"):
                assert getattr(found, name).tolist() == getattr(fresh, name).tolist()
    with pytest.raises(DataError):
        encoder.encode([[{"word": object()}]])
    assert encoder.encode(train).rows.tolist() == ready.FeatureEncoder(encoder.names).encode(train).rows.tolist()


def test_a_growing_encoder_does_not_remember_that_a_feature_was_unknown() -> None:
    train, others = _remembering()
    growing = ready.build_feature_encoder(train, np.zeros(3, np.int32))[0].growing()
    before = growing.encode(others[:1]).rows
    growing.grow(others[:1], np.zeros(2, np.int32))
    assert len(growing.encode(others[:1]).rows) == len(before) + 1


def test_threads_share_an_encoder() -> None:
    from concurrent.futures import ThreadPoolExecutor

    train, others = _remembering()
    encoder, _ = ready.build_feature_encoder(train, np.zeros(3, np.int32))
    many = [[[{"word": f"w{number % 7}"}, *others[number % 3]]] for number in range(300)]
    expected = [ready.FeatureEncoder(encoder.names).encode(one).rows.tolist() for one in many]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda one: encoder.encode(one).rows.tolist(), many)) == expected


@given(
    st.lists(
        st.recursive(
            st.dictionaries(st.sampled_from("abc"), st.booleans() | st.sampled_from(["x", "y:z", 0.5, -2.0, 1])),
            lambda inner: st.dictionaries(st.sampled_from("abc"), inner | st.sampled_from(["x", 0.5, ["p", "q"]])),
            max_leaves=6,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_dictionaries_in_dictionaries_have_the_features_of_their_pairs(tokens: list[dict[str, Any]]) -> None:
    encoder, corpus = build_feature_encoder([tokens], gold([tokens]))
    pairs = [{name: value for name, value in ready.feature_pairs(token, "here") if value} for token in tokens]
    assert features(encoder, corpus) == pairs
