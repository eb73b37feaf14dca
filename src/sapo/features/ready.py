"""Encode ready-made features: strings, or dictionaries with real values, for each token.

    ["word=the", "suffix=he"]                        every feature has the value 1
    {"word": "the", "upper": False, "length": 3}     'word:the' 1, 'upper' 0, 'length' 3
    {"word": {"lower": "the"}, "seen": ["a", "b"]}   'word:lower:the', 'seen:a', 'seen:b'

Dictionaries have the same meaning as in python-crfsuite. Sentences come as lists of such tokens from Python, or as
blocks of a file with ready-made features. A feature of value 0 has a number, but is not in the encoded corpus: it adds
nothing to any score.

A token has some twenty features, and making their names ('word:the') would take most of the time. So an entry, which is
a feature with a value, is looked up by key and value as the token has them: two look-ups in dictionaries, and a name
only for a new entry.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from numbers import Number
from typing import Any

import numpy as np

from sapo.corpus.blocks import Block
from sapo.errors import DataError
from sapo.features.encoded import EncodedCorpus
from sapo.features.strings import StringTable
from sapo.jit.arrays import Bools, Floats, Ints, Longs, offsets_of

Token = Sequence[str] | Mapping[str, Any]
Sentences = Iterable[Sequence[Token]] | Block
Place = Callable[[int, int], str]  # from the indices of a sentence and a token in it to the beginning of a message
LARGEST = float(np.finfo(np.float32).max)
ROOM = 1000  # new features that a growing encoder has room for from the start
REMEMBERED = 200_000  # entries that a memory keeps: a tagger in a service has some ten megabytes of them


class _OtherFormError(Exception):
    """Raised for a form of feature that has no short cut."""


class Entries:
    """The entries read so far, with the name and the value of each.

    >>> entries = Entries()
    >>> numbers, per_token, per_sentence = entries.read([[{"word": "the", "upper": False}, ["word:the"]]])
    >>> numbers.tolist(), per_token, per_sentence
    ([0, 1, 2], [2, 1], [2])
    >>> entries.names, entries.values
    (['word:the', 'upper', 'word:the'], [1.0, 0.0, 1.0])
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[float] = []
        self.taken = 0  # entries whose names and values `take_new` has returned
        self._plain = _Plain(self)
        self._by_key = _ByKey(self)

    def read(
        self, sentences: Iterable[Sequence[Token]], first: int = 0, place: Place | None = None
    ) -> tuple[Ints, list[int], list[int]]:
        """Return the numbers of all entries, how many each token has, and how many tokens each sentence has.

        `first` is how many sentences came before these, for messages; `place` returns the place of a token.
        """
        place = place or _place
        plain, by_key = self._plain, self._by_key
        numbers: list[int] = []
        per_token: list[int] = []
        per_sentence: list[int] = []
        for number, sentence in enumerate(sentences, first):
            for position, token in enumerate(sentence):
                try:
                    if isinstance(token, dict):
                        found = [by_key[key][value] for key, value in token.items()]
                    elif isinstance(token, list | tuple):
                        found = [plain[name] for name in token]
                    else:
                        raise _OtherFormError
                except (_OtherFormError, TypeError):  # a TypeError is a value that cannot be looked up, such as a list
                    found = self._nested(token) or self._other(token, place(number, position))
                numbers += found
                per_token.append(len(found))
            per_sentence.append(len(sentence))
        return np.array(numbers, np.int32), per_token, per_sentence

    def new(self, name: str, value: float) -> int:
        """Add an entry and return its number."""
        self.names.append(name)
        self.values.append(value)
        return self.taken + len(self.names) - 1

    def take_new(self) -> tuple[list[str], list[float]]:
        """Return the names and values of the entries that are new since the last call, and forget them."""
        new = self.names, self.values
        self.taken += len(self.names)
        self.names, self.values = [], []
        return new

    def _nested(self, token: Token) -> list[int]:
        """Return the entries of a dictionary of dictionaries and values; an empty list for any other token."""
        try:
            return self._by_key.nested(token) if isinstance(token, dict) else []
        except (_OtherFormError, TypeError):
            return []

    def _other(self, token: Token, place: str) -> list[int]:
        pairs = feature_pairs(token, place)
        return [self._plain[name] if value == 1 else self.new(name, value) for name, value in pairs]


class _Plain(dict[str, int]):
    """The entries of value 1, by name."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def __missing__(self, name: Any) -> int:
        if not isinstance(name, str):
            raise _OtherFormError
        number = self[name] = self._entries.new("".join([name]), 1.0)
        return number


class _ByKey(dict[str, "_OfKey"]):
    """The entries of each key of dictionaries, whose names begin with `prefix`."""

    def __init__(self, entries: Entries, prefix: str = "") -> None:
        self._entries, self._prefix = entries, prefix

    def __missing__(self, key: Any) -> "_OfKey":
        if not isinstance(key, str):
            raise _OtherFormError
        found = self[key] = _OfKey(self._entries, "".join([self._prefix, key]))
        return found

    def nested(self, token: dict[Any, Any]) -> list[int]:
        """Return the entries of a dictionary whose values may be dictionaries."""
        found: list[int] = []
        for key, value in token.items():
            own = self[key]
            if isinstance(value, dict):
                if own.inner is None:
                    own.inner = _ByKey(self._entries, f"{own.key}:")
                found += own.inner.nested(value)
            else:
                found.append(own[value])
        return found


class _OfKey(dict[Any, int]):
    """The entries of one key, by value. True, 1 and 1.0 are equal, and mean the same."""

    def __init__(self, entries: Entries, key: str) -> None:
        self._entries, self.key = entries, key
        self.inner: _ByKey | None = None  # of values that are dictionaries

    def __missing__(self, value: Any) -> int:
        if isinstance(value, str):
            number = self._entries.new(f"{self.key}:{''.join([value])}", 1.0)
        elif isinstance(value, float | int | np.floating | np.integer | np.bool_) and -LARGEST <= value <= LARGEST:
            number = self._entries.new(self.key, float(value))
            if value not in (0, 1):
                return number  # real numbers are seldom repeated: remembering them only costs memory
        else:
            raise _OtherFormError
        self[value] = number
        return number


def _place(sentence: int, token: int) -> str:
    return f"sentence {sentence + 1}, token {token + 1}"


def feature_pairs(token: Token, place: str) -> Iterator[tuple[str, float]]:
    """Yield the name and the value of each feature of a token; `place` begins the message of an error."""
    if isinstance(token, Mapping):
        for key, value in token.items():
            yield from _pair(_text(key, place), value, place)
    elif isinstance(token, str) or not isinstance(token, Iterable):
        raise DataError(f"{place}: expected a list or dictionary of features, found {token!r:.60}")
    else:
        for name in token:
            if not isinstance(name, str | bytes):
                raise DataError(f"{place}: expected the name of a feature, found {name!r}")
            yield _text(name, place), 1.0


def _pair(key: str, value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, str | bytes):
        yield f"{key}:{_text(value, place)}", 1.0
    elif isinstance(value, Number | np.bool_) and not isinstance(value, complex | np.complexfloating):
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            number = math.inf
        if not abs(number) <= LARGEST:  # NaN too
            raise DataError(f"{place}: feature {key!r} is {number}; values must be finite and fit single precision")
        yield key, number
    elif isinstance(value, Mapping):
        for inner, deeper in value.items():
            for name, number in _pair(_text(inner, place), deeper, place):
                yield f"{key}:{name}", number
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in sorted(value, key=str) if isinstance(value, (set, frozenset)) else value:
            yield f"{key}:{_text(item, place)}", 1.0
    else:
        raise DataError(f"{place}: feature {key!r} has the value {value!r}; use a string, a number or true/false")


def _text(value: Any, place: str) -> str:
    """Return a name or value as text; bytes are read as UTF-8, as python-crfsuite does."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{place}: feature {value!r:.60} is not UTF-8") from None


class FeatureEncoder:
    """Names of features, numbered in the order of their frequency, as an `Encoder` (see features/encoder.py)."""

    kind = "features"
    linear = True
    columns: Mapping[str, StringTable] = {}  # none is read

    def __init__(self, names: StringTable) -> None:
        self.names = names
        self._memories: list[_Memory] = []

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

    def growing(self) -> "GrowingFeatureEncoder":
        return GrowingFeatureEncoder(self)

    def description(self) -> dict[str, Any]:
        return {}

    def header(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"names.{key}": array for key, array in self.names.small_arrays().items()}

    def session(self) -> "FeatureSession":
        return FeatureSession(self.names, self._memories)

    def encode(self, sentences: Sentences, gold: Ints | None = None, *, first: int = 0) -> EncodedCorpus:
        """Encode sentences, without unknown features. `first` is how many came before these, for messages."""
        return self.session().encode(sentences, gold, first=first)


class FeatureSession:
    """Encode batch after batch, and look up every feature only once.

    What was looked up is kept in a memory. A session takes one from `memories`, which all sessions of an encoder
    share, for the time of one batch: so a later call remembers what an earlier one has seen, and two threads never
    use the same memory.
    """

    def __init__(self, names: StringTable, memories: "list[_Memory]") -> None:
        self._names, self._memories = names, memories

    def encode(self, sentences: Sentences, gold: Ints | None = None, *, first: int = 0) -> EncodedCorpus:
        try:
            memory = self._memories.pop()
        except IndexError:
            memory = _Memory()
        corpus = memory.encode(self._names, sentences, gold, first)
        if memory.entries.taken <= REMEMBERED:
            self._memories.append(memory)
        return corpus


class _Memory:
    """The entries that were looked up, with the feature and the value of each."""

    def __init__(self) -> None:
        self.entries = Entries()
        self._rows: Ints = np.empty(
            0, np.int32
        )  # [entries and room for more] of the feature; -1 if it is unknown or the value is 0
        self._values: Floats = np.empty(0, np.float32)  # [the same]
        self._weighted = False  # whether there are other values than 0 and 1

    def encode(self, names: StringTable, sentences: Sentences, gold: Ints | None, first: int) -> EncodedCorpus:
        numbers, per_token, per_sentence = _read(self.entries, sentences, first)
        if self.entries.names:
            self._look_up(names)
        rows = self._rows[numbers]
        kept = rows >= 0
        return EncodedCorpus(
            _sums(per_sentence),
            _counted(kept, per_token),
            rows[kept],
            _unless_ones(self._values[numbers][kept]) if self._weighted else np.empty(0, np.float32),
            np.empty(0, np.int32) if gold is None else gold,
        )

    def _look_up(self, names: StringTable) -> None:
        first = self.entries.taken
        new, found = self.entries.take_new()
        values, end = np.array(found, np.float32), first + len(new)
        if end > len(self._rows):  # twice as much room, so that few calls copy what is there
            self._rows = np.concatenate([self._rows[:first], np.empty(end, np.int32)])
            self._values = np.concatenate([self._values[:first], np.empty(end, np.float32)])
        self._rows[first:end] = np.where(values != 0, names.find(new), -1)
        self._values[first:end] = values
        self._weighted = self._weighted or not bool(((values == 0) | (values == 1)).all())


class GrowingFeatureEncoder(FeatureEncoder):
    """A copy of an encoder that learns new features in place. Known features keep their numbers."""

    def __init__(self, encoder: FeatureEncoder) -> None:
        super().__init__(encoder.names.copy(room=ROOM))

    def grow(self, sentences: Sentences, gold: Ints) -> EncodedCorpus:
        """Add the features of new sentences, and encode the sentences."""
        entries = Entries()
        numbers, per_token, per_sentence = _read(entries, sentences)
        rows = self.names.add(entries.names)
        values = np.array(entries.values, np.float32)
        return _encoded(rows[numbers], values[numbers], per_token, per_sentence, gold)

    def session(self) -> FeatureSession:
        return FeatureSession(self.names, [])  # what another remembers as unknown may be known by now

    def frozen(self) -> FeatureEncoder:
        """Return a copy that does not grow."""
        return FeatureEncoder(self.names.copy())


def build_feature_encoder(
    sentences: Iterable[Sequence[Token]], gold: Ints, *, min_count: int = 1
) -> tuple[FeatureEncoder, EncodedCorpus]:
    """Number the features that occur at least `min_count` times, the most frequent first, and encode the sentences."""
    encoder, corpus = build_from_batches([sentences], min_count=min_count)
    return encoder, replace(corpus, gold=gold)


def build_from_batches(batches: Iterable[Sentences], *, min_count: int = 1) -> tuple[FeatureEncoder, EncodedCorpus]:
    """Do what `build_feature_encoder` does, for sentences in batches or blocks, without gold tags."""
    entries = Entries()
    parts, per_token, per_sentence = [np.empty(0, np.int32)], list[int](), list[int]()
    for batch in batches:
        part, tokens, lengths = _read(entries, batch)
        parts.append(part)
        per_token += tokens
        per_sentence += lengths
    numbers = np.concatenate(parts)
    found = StringTable()
    feature = found.add(entries.names)  # entries with the same name and different values are one feature
    counts = np.bincount(feature[numbers], minlength=len(found))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= min_count]
    row_of = np.full(len(found), -1, np.int32)
    row_of[order] = np.arange(len(order), dtype=np.int32)
    name = np.empty(len(found), np.int64)
    name[feature] = np.arange(len(feature))
    encoder = FeatureEncoder(StringTable(entries.names[entry] for entry in name[order].tolist()))
    rows, values = row_of[feature][numbers], np.array(entries.values, np.float32)[numbers]
    corpus = _encoded(rows, values, per_token, per_sentence, None)
    zero = (rows >= 0) & (values == 0)
    if not zero.any():
        return encoder, corpus
    return encoder, replace(corpus, zero_offsets=_counted(zero, per_token), zero_rows=rows[zero])


def _read(entries: Entries, sentences: Sentences, first: int = 0) -> tuple[Ints, list[int], list[int]]:
    if not isinstance(sentences, Block):
        return entries.read(sentences, first)
    block = sentences
    if block.features is None:
        raise DataError(
            f"{block.name}: has no ready-made features, which the model was trained on; "
            "use a file of CRFsuite, or JSONL with 'features'"
        )
    return entries.read(
        block.features, place=lambda sentence, token: block.place_of(int(block.offsets[sentence]) + token)
    )


def _encoded(
    rows: Ints, values: Floats, per_token: list[int], per_sentence: list[int], gold: Ints | None
) -> EncodedCorpus:
    kept = (rows >= 0) & (values != 0)
    return EncodedCorpus(
        _sums(per_sentence),
        _counted(kept, per_token),
        rows[kept],
        _unless_ones(values[kept]),
        np.empty(0, np.int32) if gold is None else gold,
    )


def _unless_ones(values: Floats) -> Floats:
    """Return the values, or none if all are 1."""
    return np.empty(0, np.float32) if (values == 1).all() else values


def _sums(counts: list[int]) -> Longs:
    """Return offsets; of a short list, Python makes them faster than NumPy."""
    return np.array(list(accumulate(counts, initial=0)), np.int64)


def _counted(chosen: Bools, per_token: list[int]) -> Longs:
    """Return the offsets of the tokens among the chosen entries."""
    return offsets_of(chosen)[_sums(per_token)]
