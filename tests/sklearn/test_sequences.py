"""Containers of all kinds come in as they are; what is wrong is named with its place."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sapo import SequenceLabeler
from sapo.errors import SapoError
from sapo.sklearn.sequences import plain_sequences

WORDS = [["a", "dog"], ["the", "cat", "sees"]]
LABELS = [["DT", "NN"], ["DT", "NN", "VB"]]


class Scalar:
    """A list value of Arrow: neither a sequence nor with equality, only `as_py`."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def as_py(self) -> Any:
        return self._value


class Chunked:
    """A column of Arrow: iterates over scalars."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Scalar]:
        return map(Scalar, self._values)


class Series:
    """A column of polars or pandas: iterates over values, which may be series again."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return iter([Series(value) if isinstance(value, list) else value for value in self._values])

    def to_list(self) -> list[Any]:
        return self._values


class Column:
    """A column of a Hugging Face data set: iterates over plain lists, and is read anew each time."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __getitem__(self, place: int) -> Any:
        return self._values[place]


def object_array(values: list[list[Any]]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    for number, value in enumerate(values):
        array[number] = np.array(value)
    return array


@pytest.mark.parametrize(
    "container", [list, tuple, iter, Chunked, Series, object_array, lambda values: (tuple(value) for value in values)]
)
def test_sequences_come_in_any_container(container: Any) -> None:
    labeler = SequenceLabeler(template="pos", epochs=5).fit(container(WORDS), container(LABELS))
    assert labeler.predict(container(WORDS)).tolist() == LABELS
    assert labeler.score(container(WORDS), container(LABELS)) == 1.0
    assert all(type(label) is str for sequence in labeler.predict(container(WORDS)) for label in sequence)


def test_a_container_that_is_only_indexed_is_told_apart_from_sequences() -> None:
    with pytest.raises(SapoError, match="X must hold sequences, not <"):
        plain_sequences(Column(WORDS), "X")


def test_columns_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"tokens": WORDS, "tags": LABELS}, index=[7, 3])
    labeler = SequenceLabeler(epochs=5).fit(frame["tokens"], frame["tags"])
    assert labeler.predict(frame["tokens"]).tolist() == LABELS
    with pytest.raises(SapoError, match="X is a table; give the column"):
        labeler.predict(frame)


def test_columns_of_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"tokens": WORDS, "tags": LABELS})
    assert SequenceLabeler(epochs=5).fit(frame["tokens"], frame["tags"]).predict(frame["tokens"]).tolist() == LABELS


def test_columns_of_arrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"tokens": WORDS, "tags": LABELS})
    assert SequenceLabeler(epochs=5).fit(table["tokens"], table["tags"]).predict(table["tokens"]).tolist() == LABELS


def test_columns_of_hugging_face_datasets() -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"tokens": WORDS, "tags": [[0, 1], [0, 1, 2]]})
    labeler = SequenceLabeler(epochs=5).fit(data["tokens"], data["tags"])
    assert labeler.predict(data["tokens"]).tolist() == [[0, 1], [0, 1, 2]]


class Frame:
    """A table iterates over the names of its columns."""

    columns = ("tokens", "tags")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


NAN = float("nan")


@pytest.mark.parametrize(
    ("X", "y", "complaint"),
    [
        (WORDS, LABELS[:1], "X has 2 sequences, but y has 1"),
        (WORDS, [["DT", "NN"], ["DT"]], "X[1] has 3 tokens, but y[1] has 1 labels"),
        ([["a"], []], [["DT"], []], "X[1] is empty; leave it out"),
        ([], [], "X has no sequences"),
        (["a dog", "the cat"], LABELS, "X[0] must be a sequence, not 'a dog'; one sentence alone is [sentence]"),
        (np.array(["a", "dog"]), LABELS, "X[0] must be a sequence, not 'a'"),
        ("a dog", LABELS, "X must hold sequences, not 'a dog'"),
        (None, LABELS, "X must hold sequences, not None"),
        (5, LABELS, "X must hold sequences, not 5"),
        ({"tokens": WORDS}, LABELS, "X must hold sequences, not {'tokens'"),
        (Frame(), LABELS, "X is a table; give the column that holds the sequences, one of ['tokens', 'tags']"),
        ([{"tokens": ["a"]}], LABELS, "X[0] must be a sequence, not a row or the features of one token: {'tokens'"),
        ([["a"], None], LABELS, "X[1] must be a sequence, not None"),
        ([["a"], NAN], LABELS, "X[1] must be a sequence, not nan"),
        (WORDS, None, "y is missing"),
        (WORDS, ["DT", "NN"], "y[0] must be a sequence, not 'DT'"),
        (
            WORDS,
            [["DT", "NN"], ["DT", NAN, "VB"]],
            "y[1][1]: a label must be a string, or a whole number in all places",
        ),
        (WORDS, [["DT", "NN"], ["DT", None, "VB"]], "y[1][1]: a label must be a string"),
        (WORDS, [[0, 1], [0, "NN", 2]], "y[1][1]: a label must be a string, or a whole number in all places, not 'NN'"),
        (WORDS, [[0, 1], [0, True, 2]], "y[1][1]: a label must be"),
        (WORDS, [[0.5, 1.0], [0, 1, 2]], "y[0][0]: a label must be a string, or a whole number in all places, not 0.5"),
        ([["a", None], ["b"]], [["A", "B"], ["A"]], "sentence 1, token 2: expected a string, found None"),
        ([[{"a": NAN}], [{"a": 1}]], [["A"], ["B"]], "sentence 1, token 1: feature 'a' is nan; values must be finite"),
        ([[{"a": 1}], [{"a": None}]], [["A"], ["B"]], "sentence 2, token 1: feature 'a' has the value None"),
    ],
)
def test_bad_input_is_named(X: Any, y: Any, complaint: str) -> None:
    with pytest.raises(SapoError) as told:
        SequenceLabeler().fit(X, y)
    assert complaint in str(told.value)


def test_bad_input_to_predict_is_named_and_an_empty_sequence_has_no_labels() -> None:
    labeler = SequenceLabeler(template="pos", epochs=2).fit(WORDS, LABELS)
    assert labeler.predict([[], ["a"], []]).tolist() == [[], ["DT"], []]
    assert labeler.predict_marginals([[]]).tolist() == [[]]
    assert labeler.predict([]).tolist() == []
    for call in (labeler.predict, labeler.predict_marginals, labeler.predict_nbest):
        with pytest.raises(SapoError, match=r"X\[0\] must be a sequence, not 'a'"):
            call(["a", "dog"])
        with pytest.raises(SapoError, match=r"(sentence 2, token 1|X\[1\]\[0\]): expected a string, found 5"):
            call([["a"], [5]])
