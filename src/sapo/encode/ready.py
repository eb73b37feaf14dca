"""The second door: features that are made already, as strings or dictionaries a token, with real values.

    ["word=the", "suffix=he"]                        every feature has the value 1
    {"word": "the", "upper": False, "length": 3}     'word:the' 1, 'upper' 0, 'length' 3
    {"word": {"lower": "the"}, "seen": ["a", "b"]}   'word:lower:the', 'seen:a', 'seen:b'

The dictionaries mean what they mean to python-crfsuite.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.kernels.types import Ints

Token = Sequence[str] | Mapping[str, Any]
ROOM = 1000  # new features that a growing encoder has room for from the start
LARGEST = float(np.finfo(np.float32).max)


class FeatureEncoder:
    """Names of features, numbered in the order of their frequency."""

    kind = "features"

    def __init__(self, names: StringTable) -> None:
        self.names = names

    @property
    def features(self) -> int:
        return len(self.names)

    @property
    def edge_features(self) -> int:
        return 0

    @property
    def transitions(self) -> bool:
        return True

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        return [self.names[int(row)] for row in rows]

    def edge_feature_names(self, rows: Iterable[int]) -> list[str]:
        return []

    def edge_groups(self) -> Ints:
        return np.empty(0, np.int32)

    def groups(self) -> Ints:
        """Features of one name ('word' of 'word:the' or 'word=the') are one group."""
        names = [re.split("[:=]", name, maxsplit=1)[0] for name in self.names.strings()]
        return StringTable().add(names)

    def header(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"names.{key}": array for key, array in self.names.arrays().items()}

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "FeatureEncoder":
        return cls(StringTable.from_arrays(arrays, "names"))

    def encode(
        self, sentences: Iterable[Sequence[Token]], gold: Ints | None = None, *, first: int = 0
    ) -> EncodedCorpus:
        """Unknown features are left out. `first` is the number of the first sentence, for messages."""
        names, values, per_token, per_sentence = _flatten(sentences, first)
        return _encoded(self.names.find(names), values, per_token, per_sentence, gold)


class GrowingFeatureEncoder(FeatureEncoder):
    """A copy of an encoder that learns new features in place. What is known keeps its number."""

    def __init__(self, encoder: FeatureEncoder) -> None:
        super().__init__(encoder.names.copy(room=ROOM))

    def grow(self, sentences: Iterable[Sequence[Token]], gold: Ints) -> EncodedCorpus:
        """Add the features of new sentences, and encode these."""
        names, values, per_token, per_sentence = _flatten(sentences)
        return _encoded(self.names.add(names), values, per_token, per_sentence, gold)

    def frozen(self) -> FeatureEncoder:
        """What is known now, in arrays of its own."""
        return FeatureEncoder(self.names.copy())


def build_feature_encoder(
    sentences: Iterable[Sequence[Token]], gold: Ints, *, min_count: int = 1
) -> tuple[FeatureEncoder, EncodedCorpus]:
    """Number the features that occur often enough, the most frequent first."""
    names, values, per_token, per_sentence = _flatten(sentences)
    found = StringTable()
    first = found.add(names)
    counts = np.bincount(first, minlength=len(found))
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i] >= min_count]
    row_of = np.full(len(found) + 1, -1, np.int32)
    row_of[order] = np.arange(len(order), dtype=np.int32)
    encoder = FeatureEncoder(StringTable(found[i] for i in order))
    return encoder, _encoded(row_of[first], values, per_token, per_sentence, gold)


def _encoded(
    rows: Ints, values: list[float], per_token: list[int], per_sentence: list[int], gold: Ints | None
) -> EncodedCorpus:
    known = rows >= 0
    owner = np.repeat(np.arange(len(per_token)), per_token)[known]
    kept = np.bincount(owner, minlength=len(per_token))
    weights = np.array(values, np.float32)[known]
    return EncodedCorpus(
        np.cumsum([0, *per_sentence], dtype=np.int64),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)]),
        rows[known],
        np.empty(0, np.float32) if (weights == 1).all() else weights,
        np.empty(0, np.int32) if gold is None else gold,
    )


def _flatten(
    sentences: Iterable[Sequence[Token]], first: int = 0
) -> tuple[list[str], list[float], list[int], list[int]]:
    names: list[str] = []
    values: list[float] = []
    per_token: list[int] = []
    per_sentence: list[int] = []
    for number, sentence in enumerate(sentences, first):
        for position, token in enumerate(sentence):
            before = len(names)
            for name, value in _pairs(token, f"sentence {number}, token {position}"):
                names.append(name)
                values.append(value)
            per_token.append(len(names) - before)
        per_sentence.append(len(sentence))
    return names, values, per_token, per_sentence


def _pairs(token: Token, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(token, Mapping):
        for key, value in token.items():
            yield from _pair(str(key), value, place)
    elif isinstance(token, str) or not isinstance(token, Iterable):
        raise SapoError(f"{place}: expected a list or dictionary of features, found {token!r:.60}")
    else:
        for name in token:
            if not isinstance(name, str):
                raise SapoError(f"{place}: expected the name of a feature, found {name!r}")
            yield name, 1.0


def _pair(key: str, value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, str):
        yield f"{key}:{value}", 1.0
    elif isinstance(value, bool | int | float | np.number | np.bool_):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not abs(number) <= LARGEST:  # NaN too
            raise SapoError(f"{place}: feature {key!r} is {number}; values must be finite and fit single precision")
        yield key, number
    elif isinstance(value, Mapping):
        for inner, deeper in value.items():
            for name, number in _pair(str(inner), deeper, place):
                yield f"{key}:{name}", number
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in sorted(value, key=str) if isinstance(value, (set, frozenset)) else value:
            yield f"{key}:{item}", 1.0
    else:
        raise SapoError(f"{place}: feature {key!r} has the value {value!r}; use a string, a number or true/false")
