"""Take sequences of tokens and labels from any container: lists, arrays, columns of tables. Needs no scikit-learn."""

from collections.abc import Iterable, Mapping
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np

from sapo.corpus.blocks import TO_LIST
from sapo.errors import DataError

Label = str | int
LabeledSequences = list[tuple[list[Any], list[str]]]


def plain_sequences(values: Any, name: str) -> list[list[Any]]:
    """Return each sequence as a list. `name` is the argument's name in messages.

    Raises SapoError if this is not a sequence of sequences.

    >>> plain_sequences((sentence.split() for sentence in ["no rain", "sun"]), "X")
    [['no', 'rain'], ['sun']]
    >>> plain_sequences(["no", "rain"], "X")
    Traceback (most recent call last):
    ...
    sapo.errors.DataError: X[0] must be a sequence, not 'no'; one sentence alone is [sentence]
    """
    if hasattr(values, "columns"):  # a table iterates over its column names
        raise DataError(f"{name} is a table; give the column that holds the sequences, one of {list(values.columns)}")
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise DataError(f"{name} must hold sequences, not {values!r:.60}")
    return [_listed(sequence, f"{name}[{number}]") for number, sequence in enumerate(values)]


def _listed(sequence: Any, place: str) -> list[Any]:
    if type(sequence) is list:
        return sequence
    for method in TO_LIST:
        if hasattr(sequence, method):
            sequence = getattr(sequence, method)()
            break
    if isinstance(sequence, Mapping):
        raise DataError(f"{place} must be a sequence, not a row or the features of one token: {sequence!r:.60}")
    if isinstance(sequence, str | bytes) or not isinstance(sequence, Iterable):
        raise DataError(f"{place} must be a sequence, not {sequence!r:.60}; one sentence alone is [sentence]")
    return list(sequence)


def token_sequences(X: Any, *, name: str = "X", columns: bool = False) -> list[list[Any]]:
    """Return sequences of tokens as lists.

    A token that is a list stays a list of features, or becomes a tuple of columns if `columns` is true.
    """
    found = plain_sequences(X, name)
    first: Any = next((sequence[0] for sequence in found if sequence), None)
    if hasattr(first, "tolist"):  # rows of arrays
        found = [[token.tolist() if hasattr(token, "tolist") else token for token in tokens] for tokens in found]
        first = first.tolist()
    if columns and isinstance(first, list):
        return [[tuple(token) if isinstance(token, list) else token for token in tokens] for tokens in found]
    return found


def labeled_pairs(
    X: Any, y: Any, *, columns: bool = False, names: tuple[str, str] = ("X", "y")
) -> tuple[LabeledSequences, type[Label]]:
    """Return sequences of tokens with their labels as strings, and the type that the labels had: str or int.

    Raises SapoError if X and y do not fit together, or a label is neither a string nor an integer.
    """
    if y is None:
        raise DataError(f"{names[1]} is missing; give the labels of each sequence")
    tokens = token_sequences(X, name=names[0], columns=columns)
    labels = plain_sequences(y, names[1])
    if len(tokens) != len(labels):
        raise DataError(f"{names[0]} has {len(tokens)} sequences, but {names[1]} has {len(labels)}")
    if not tokens:
        raise DataError(f"{names[0]} has no sequences")
    for number, (sequence, own) in enumerate(zip(tokens, labels, strict=True)):
        if not sequence:
            raise DataError(f"{names[0]}[{number}] is empty; leave it out")
        if len(sequence) != len(own):
            raise DataError(
                f"{names[0]}[{number}] has {len(sequence)} tokens, but {names[1]}[{number}] has {len(own)} labels"
            )
    kind, as_strings = _label_strings(labels, names[1])
    return list(zip(tokens, as_strings, strict=True)), kind


def _label_strings(labels: list[list[Any]], name: str) -> tuple[type[Label], list[list[str]]]:
    kinds = set(map(type, chain.from_iterable(labels)))
    if kinds == {str}:
        return str, labels
    kind = int if isinstance(labels[0][0], Integral) else str
    for number, sequence in enumerate(labels):
        for place, label in enumerate(sequence):
            if isinstance(label, bool | np.bool_) or not isinstance(label, Integral if kind is int else str):
                rule = "must be a string, or a whole number in all places"
                raise DataError(f"{name}[{number}][{place}]: a label {rule}, not {label!r}")
    if kind is int:
        return int, [[str(int(label)) for label in sequence] for sequence in labels]
    return str, [list(map(str, sequence)) for sequence in labels]


def feature_sequences(sequences: list[list[Any]]) -> list[list[Any]]:
    """Return tokens as lists or dictionaries; CRFsuite also accepts tuples and sets of feature names."""
    if any(isinstance(tokens[0], tuple | set | frozenset) for tokens in sequences if tokens):
        return [[token if isinstance(token, dict | str) else sorted(token) for token in tokens] for tokens in sequences]
    return sequences
