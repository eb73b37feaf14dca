"""Ready-made features in (strings or dictionaries for each token, with real values), integers out.

    ["word=the", "suffix=he"]                        every feature has the value 1
    {"word": "the", "upper": False, "length": 3}     'word:the' 1, 'upper' 0, 'length' 3
    {"word": {"lower": "the"}, "seen": ["a", "b"]}   'word:lower:the', 'seen:a', 'seen:b'

Sentences come as lists of such tokens from Python, or as blocks of a file with ready-made features.

Dictionaries mean what they mean to python-crfsuite. A feature of value 0 has a number, but is not in the encoded
corpus: it adds nothing to any score.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sapo.corpus import Block
from sapo.encode.encoded import EncodedCorpus
from sapo.encode.feature_entries import Entries, Token
from sapo.encode.strings import StringTable
from sapo.errors import SapoError
from sapo.kernels.types import Bools, Floats, Ints, Longs

Sentences = Iterable[Sequence[Token]] | Block
ROOM = 1000  # new features that a growing encoder has room for from the start
REMEMBERED = 1_000_000  # entries that a session keeps


class FeatureEncoder:
    """Names of features, numbered in the order of their frequency."""

    kind = "features"
    linear = True
    columns: Mapping[str, StringTable] = {}  # none is read

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

    def growing(self) -> "GrowingFeatureEncoder":
        """Return a copy that learns new features in place."""
        return GrowingFeatureEncoder(self)

    def description(self) -> dict[str, Any]:
        """Return what there is to show beside the features: nothing."""
        return {}

    def header(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"names.{key}": array for key, array in self.names.small_arrays().items()}

    def session(self) -> "FeatureSession":
        return FeatureSession(self)

    def encode(self, sentences: Sentences, gold: Ints | None = None, *, first: int = 0) -> EncodedCorpus:
        """Encode sentences, without unknown features. `first` is how many came before these, for messages."""
        return self.session().encode(sentences, gold, first=first)


class FeatureSession:
    """Encode batch after batch, and look up every feature only once. Threads must not share a session."""

    def __init__(self, encoder: FeatureEncoder) -> None:
        self._names = encoder.names
        self._begin()

    def _begin(self) -> None:
        self._entries = Entries()
        self._rows: Ints = np.empty(0, np.int32)  # [entries] of the feature, -1 where it is unknown
        self._values: Floats = np.empty(0, np.float32)  # [entries]

    def encode(self, sentences: Sentences, gold: Ints | None = None, *, first: int = 0) -> EncodedCorpus:
        if len(self._entries.names) > REMEMBERED:
            self._begin()
        numbers, per_token, per_sentence = _read(self._entries, sentences, first)
        known = len(self._rows)
        self._rows = np.concatenate([self._rows, self._names.find(self._entries.names[known:])])
        self._values = np.concatenate([self._values, np.array(self._entries.values[known:], np.float32)])
        return _encoded(self._rows[numbers], self._values[numbers], per_token, per_sentence, gold)


class GrowingFeatureEncoder(FeatureEncoder):
    """A copy of an encoder that learns new features in place. Known ones keep their numbers."""

    def __init__(self, encoder: FeatureEncoder) -> None:
        super().__init__(encoder.names.copy(room=ROOM))

    def grow(self, sentences: Sentences, gold: Ints) -> EncodedCorpus:
        """Add the features of new sentences, and encode the sentences."""
        entries = Entries()
        numbers, per_token, per_sentence = _read(entries, sentences)
        rows = self.names.add(entries.names)
        values = np.array(entries.values, np.float32)
        return _encoded(rows[numbers], values[numbers], per_token, per_sentence, gold)

    def frozen(self) -> FeatureEncoder:
        """Return what is known now, in its own arrays."""
        return FeatureEncoder(self.names.copy())


def build_feature_encoder(
    sentences: Iterable[Sequence[Token]], gold: Ints, *, min_count: int = 1
) -> tuple[FeatureEncoder, EncodedCorpus]:
    """Number the features that occur at least `min_count` times, the most frequent first, and encode the sentences."""
    encoder, corpus = build_from_batches([sentences], min_count=min_count)
    return encoder, replace(corpus, gold=gold)


def build_from_batches(batches: Iterable[Sentences], *, min_count: int = 1) -> tuple[FeatureEncoder, EncodedCorpus]:
    """Do as `build_feature_encoder`, with sentences that come in batches or blocks, without gold tags."""
    entries = Entries()
    parts, per_token, per_sentence = [np.empty(0, np.int32)], list[int](), list[int]()
    for batch in batches:
        part, tokens, lengths = _read(entries, batch)
        parts.append(part)
        per_token += tokens
        per_sentence += lengths
    numbers = np.concatenate(parts)
    found = StringTable()
    feature = found.add(entries.names)  # several entries are one feature where their values differ
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
        raise SapoError(
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
    values = values[kept]
    return EncodedCorpus(
        np.cumsum([0, *per_sentence], dtype=np.int64),
        _counted(kept, per_token),
        rows[kept],
        np.empty(0, np.float32) if (values == 1).all() else values,
        np.empty(0, np.int32) if gold is None else gold,
    )


def _counted(chosen: Bools, per_token: list[int]) -> Longs:
    """Return where each token's share of what is chosen begins, and where the last ends."""
    so_far = np.concatenate([np.zeros(1, np.int64), np.cumsum(chosen)])
    return so_far[np.cumsum([0, *per_token], dtype=np.int64)]
