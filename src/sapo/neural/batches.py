"""Make batches of sentences, as tensors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sapo.kernels.types import Longs
from sapo.neural.inputs import Inputs

BUCKETS = 20  # number of batches whose sentences are sorted by length together


@dataclass(frozen=True, slots=True)
class Batch:
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


def make_batch(inputs: Inputs, sentences: Longs, *, chars: bool) -> Batch:
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
    return Batch(
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
    begins = inputs.row_offsets[tokens]
    sizes = inputs.row_offsets[tokens + 1] - begins
    offsets = np.cumsum(sizes) - sizes
    places = np.repeat(begins - offsets, sizes) + np.arange(int(sizes.sum()))
    return offsets, inputs.rows[places]
