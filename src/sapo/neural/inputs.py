"""Turn text into the integers that a network reads, in batches of tensors.

The `Vocabulary` of the training data numbers words, characters and column values from 1; 0 is everything unknown. A
`Reader` turns blocks into `Inputs`, and `make_batch` turns some of their sentences into tensors.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sapo.corpus.blocks import Block
from sapo.features.encoder import TemplateEncoder
from sapo.features.knowledge import NOTHING
from sapo.features.strings import StringTable
from sapo.jit.arrays import Ints, Longs, joined_offsets, pieces_of

UNKNOWN = 0  # the number of everything that training has not seen
CAPITALS = 5  # kinds of capitalization
REMEMBERED = 100_000  # spellings of a stream to remember
BUCKETS = 20  # number of batches whose sentences are sorted by length together
_DIGITS = re.compile(r"\d")


def plain_word(word: str) -> str:
    """Return the word as word vectors have it: in lower case, with every digit replaced by 0.

    >>> plain_word("Room-12")
    'room-00'
    """
    return _DIGITS.sub("0", word.lower())


def capitals(word: str) -> int:
    """Return the kind of capitalization: lower case, Capitalized, UPPER CASE, mixed, or no letters.

    >>> [capitals(word) for word in ("the", "The", "THE", "iPod", "12")]
    [0, 1, 2, 3, 4]
    """
    if not any(letter.isalpha() for letter in word):
        return 4
    if word == word.lower():
        return 0
    if word == word.upper():
        return 2
    return 1 if word[:1].isupper() and word[1:] == word[1:].lower() else 3


def word_column_of(columns: Sequence[str]) -> str:
    """Return the column of the words: 'word', or else the first one."""
    return "word" if "word" in columns else columns[0]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Sentences as integers. Sentence s has the tokens offsets[s], ..., offsets[s + 1] - 1."""

    offsets: Longs  # [sentences + 1]
    words: Longs  # [tokens]
    capitals: Longs  # [tokens]
    columns: Longs  # [tokens, further columns]
    forms: Longs  # [tokens] the spelling of each token
    char_offsets: Longs  # [spellings + 1]
    chars: Longs  # the characters of each spelling
    row_offsets: Longs  # [tokens + 1] token t has the features rows[row_offsets[t]] ...
    rows: Longs

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Longs:
        """The number of tokens of each sentence."""
        return np.diff(self.offsets)


class Vocabulary:
    """The words, characters and column values of the training data. `columns` are the columns that are read."""

    def __init__(
        self,
        columns: Sequence[str],
        words: StringTable,
        values: Mapping[str, StringTable],
        chars: StringTable,
        features: TemplateEncoder | None,
    ) -> None:
        self.columns = tuple(columns)
        self.word_column = word_column_of(columns)
        self.words = words
        self.values = dict(values)  # by further column
        self.chars = chars
        self.features = features  # None if features are not used as inputs

    @classmethod
    def of_blocks(
        cls,
        blocks: Iterable[Block],
        columns: Sequence[str],
        *,
        vectors: Iterable[str] = (),
        features: TemplateEncoder | None = None,
    ) -> "Vocabulary":
        """Return the vocabulary of these blocks, with the words of `vectors` added."""
        word_column = word_column_of(columns)
        words, chars = StringTable(), StringTable()
        values = {name: StringTable() for name in columns if name != word_column}
        spellings = StringTable()
        for block in blocks:
            spellings.add_fields(*NOTHING.fields_of(block, word_column))
            for name, table in values.items():
                table.add_fields(*NOTHING.fields_of(block, name))
        strings = spellings.strings()
        words.add([plain_word(word) for word in strings])
        words.add([plain_word(word) for word in vectors])
        chars.add([letter for word in strings for letter in word])
        return cls(columns, words, values, chars, features)

    def session(self, remembered: float = REMEMBERED) -> "Reader":
        """Return a reader that remembers about this many spellings."""
        return Reader(self, remembered)

    def header(self) -> dict[str, Any]:
        """Return everything but the arrays, for a model file."""
        return {
            "columns": list(self.columns),
            "features": None if self.features is None else self.features.header(),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name, for a model file."""
        tables = {"words": self.words, "chars": self.chars}
        tables.update((f"values.{name}", table) for name, table in self.values.items())
        arrays = {f"{name}.{key}": array for name, table in tables.items() for key, array in table.arrays().items()}
        if self.features is not None:
            arrays.update(self.features.arrays())
        return arrays

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Vocabulary":
        """Return the vocabulary of a model file. Raise ValueError or KeyError if its parts do not fit."""
        columns = header["columns"]
        if not (isinstance(columns, list) and columns and all(isinstance(name, str) for name in columns)):
            raise ValueError("columns")
        features = header["features"]
        return cls(
            columns,
            StringTable.from_arrays(arrays, "words"),
            {
                name: StringTable.from_arrays(arrays, f"values.{name}")
                for name in columns
                if name != word_column_of(columns)
            },
            StringTable.from_arrays(arrays, "chars"),
            None if features is None else TemplateEncoder.from_arrays(features, arrays),
        )


class Reader:
    """Read block after block, looking up each spelling once as long as it is remembered.

    A reader must not be shared between threads.
    """

    def __init__(self, vocabulary: Vocabulary, remembered: float) -> None:
        self._vocabulary = vocabulary
        self._remembered = remembered
        self._features = None if vocabulary.features is None else vocabulary.features.session()
        self._forget()

    def _forget(self) -> None:
        self._spellings = StringTable()
        self._words = np.empty(0, np.int64)  # by spelling
        self._capitals = np.empty(0, np.int64)
        self._chars = np.empty(0, np.int64)
        self._char_offsets = np.zeros(1, np.int64)

    def read(self, block: Block) -> Inputs:
        """Return a block as integers."""
        vocabulary = self._vocabulary
        if len(self._spellings) > self._remembered:
            self._forget()
        forms = self._spellings.add_fields(*NOTHING.fields_of(block, vocabulary.word_column)).astype(np.int64)
        self._learn(self._spellings.strings(len(self._words)))
        further = [table.find_fields(*NOTHING.fields_of(block, name)) for name, table in vocabulary.values.items()]
        row_offsets, rows = np.zeros(1, np.int64), np.empty(0, np.int64)
        if self._features is not None:
            encoded = self._features.encode(block)
            row_offsets, rows = encoded.row_offsets, encoded.rows.astype(np.int64)
        return Inputs(
            block.offsets,
            self._words[forms],
            self._capitals[forms],
            np.stack(further, axis=1).astype(np.int64) + 1 if further else np.empty((len(forms), 0), np.int64),
            forms,
            self._char_offsets,
            self._chars,
            row_offsets,
            rows,
        )

    def _learn(self, new: list[str]) -> None:
        """Look up new spellings."""
        if not new:
            return
        vocabulary = self._vocabulary
        words: Ints = vocabulary.words.find([plain_word(word) for word in new])
        chars: Ints = vocabulary.chars.find([letter for word in new for letter in word])
        self._words = np.concatenate([self._words, words.astype(np.int64) + 1])
        self._capitals = np.concatenate([self._capitals, np.array([capitals(word) for word in new], np.int64)])
        self._chars = np.concatenate([self._chars, chars.astype(np.int64) + 1])
        ends = self._char_offsets[-1] + np.cumsum([len(word) for word in new], dtype=np.int64)
        self._char_offsets = np.concatenate([self._char_offsets, ends])


def read_all(vocabulary: Vocabulary, blocks: Iterable[Block]) -> Inputs:
    """Return all blocks as one."""
    reader = vocabulary.session(math.inf)
    parts = [reader.read(block) for block in blocks]
    last = parts[-1]  # which has the spellings of all blocks
    return Inputs(
        joined_offsets(part.offsets for part in parts),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.capitals for part in parts]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.forms for part in parts]),
        last.char_offsets,
        last.chars,
        joined_offsets(part.row_offsets for part in parts),
        np.concatenate([part.rows for part in parts]),
    )


@dataclass(frozen=True, slots=True)
class SentenceBatch:
    """Sentences as tensors.

    Tokens are in the order in which an LSTM reads them: the first one of every sentence, then the second ...; the
    longest sentence comes first.
    """

    sentences: Longs  # [B] the sentences' numbers in the inputs
    lengths: Tensor  # int64[B]
    sizes: Tensor  # int64[T] how many sentences have a token at each step
    place: Tensor  # int64[tokens] the position of each token in [B * T]
    tokens: Longs  # [tokens] the position of each token in the inputs
    words: Tensor  # int64[tokens]
    capitals: Tensor  # int64[tokens]
    columns: Tensor  # int64[tokens, further columns]
    forms: Tensor  # int64[tokens] into `chars`
    chars: Tensor  # int64[spellings, longest] padded with -1
    row_offsets: Tensor  # int64[tokens]
    rows: Tensor  # int64

    @property
    def shape(self) -> tuple[int, int]:
        """Return (B, T): the number of sentences, and the length of the longest."""
        return len(self.lengths), len(self.sizes)

    def padded(self, values: Tensor) -> Tensor:
        """Return values of tokens, [tokens, ...], as [B, T, ...], padded with zeros."""
        B, T = self.shape
        room = values.new_zeros((B * T, *values.shape[1:]))
        return room.index_copy(0, self.place, values).view(B, T, *values.shape[1:])


def batches_of(
    inputs: Inputs, order: Longs, size: int, *, shuffle: np.random.Generator | None = None
) -> Iterator[Longs]:
    """Yield the sentences of each batch.

    Sentences that are near each other in the order are put into batches by length. With `shuffle`, these batches come
    in random order, so that short sentences do not always come last.
    """
    lengths = inputs.lengths
    for begin in range(0, len(order), size * BUCKETS):
        bucket = order[begin : begin + size * BUCKETS]
        if size > 1:
            bucket = bucket[np.argsort(-lengths[bucket], kind="stable")]
        starts = np.arange(0, len(bucket), size)
        if shuffle is not None and size > 1:
            starts = shuffle.permutation(starts)
        for start in starts.tolist():
            yield bucket[start : start + size]


def make_batch(inputs: Inputs, sentences: Longs, *, chars: bool) -> SentenceBatch:
    """Return these sentences as a batch, longest first; with `chars`, including their characters."""
    sentences = sentences[np.argsort(-inputs.lengths[sentences], kind="stable")]
    lengths = inputs.lengths[sentences]
    T = int(lengths[0]) if len(lengths) else 0
    steps = np.arange(T)[:, np.newaxis]
    inside = steps < lengths  # [T, B]
    step, row = np.nonzero(inside)
    tokens = inputs.offsets[sentences][row] + step
    forms, spellings = np.empty(0, np.int64), np.empty((0, 0), np.int64)
    if chars:
        distinct, forms = np.unique(inputs.forms[tokens], return_inverse=True)
        spellings = _characters(inputs, distinct)
    offsets, rows = _features(inputs, tokens)
    return SentenceBatch(
        sentences,
        torch.from_numpy(lengths.astype(np.int64)),
        torch.from_numpy(inside.sum(1).astype(np.int64)),
        torch.from_numpy(row * T + step),
        tokens,
        torch.from_numpy(inputs.words[tokens]),
        torch.from_numpy(inputs.capitals[tokens]),
        torch.from_numpy(inputs.columns[tokens]),
        torch.from_numpy(forms),
        torch.from_numpy(spellings),
        torch.from_numpy(offsets),
        torch.from_numpy(rows),
    )


def _characters(inputs: Inputs, forms: Longs) -> Longs:
    begins, ends = inputs.char_offsets[forms], inputs.char_offsets[forms + 1]
    longest = max(1, int((ends - begins).max(initial=0)))
    place = np.arange(longest) + begins[:, np.newaxis]
    inside = place < ends[:, np.newaxis]
    found = np.full(place.shape, -1, np.int64)
    found[inside] = inputs.chars[place[inside]]
    return found


def _features(inputs: Inputs, tokens: Longs) -> tuple[Longs, Longs]:
    if len(inputs.row_offsets) == 1:
        return np.zeros(len(tokens), np.int64), np.empty(0, np.int64)
    offsets, places = pieces_of(inputs.row_offsets, tokens)
    return offsets[:-1], inputs.rows[places]
