"""Define the network of a sentence, and set the number of PyTorch's threads.

    words, capitals, columns, characters, features ──▶ BiLSTM ──▶ linear ──▶ emissions [B, T, L] ──▶ output layer

The top-n loss has an escape that the loss over all taggings does not have: if all scores shrink to zero, it is only
log n, whatever the tags are; for the perceptron it is 0. A linear learner starts there and moves away. A network gets
there in its first pass and stays, with scores that are little more than noise. So SAPO and the perceptron add the
cross-entropy of the tokens to their own loss, with the weight `token_loss`, which keeps the scores up; and SAPO adds
`margin` to the scores of wrong labels, so that scores of zero have a high loss. With both at 0 the loss is the paper's.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from sapo.jit.arrays import Floats
from sapo.neural.inputs import CAPITALS, UNKNOWN, SentenceBatch
from sapo.neural.layers import SequenceLayer, make_layer
from sapo.neural.options import NeuralOptions

CAPITAL_SIZE = 5
FILTER = 3  # width of the CNN's filters, in characters

_lock = Lock()
_inside = 0
_before = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread in this context; after the last of several, as many as before the first."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                torch.set_num_threads(_before)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch use `count` threads in this context."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of labels and vocabularies, without the unknown word."""

    labels: int
    words: int
    columns: tuple[int, ...]
    chars: int
    features: int


class Network(nn.Module):
    """One of the neural systems. Its random numbers come from PyTorch's generator."""

    def __init__(
        self, sizes: Sizes, options: NeuralOptions, *, layer: str, n: int = 5, stop_ratio: float = math.inf
    ) -> None:
        super().__init__()
        self.sizes, self.options = sizes, options
        # sparse: only the rows of a batch have a gradient, which is fast with large vocabularies
        self.words = nn.Embedding(sizes.words + 1, options.word_size, sparse=True)
        self.capitals = nn.Embedding(CAPITALS, CAPITAL_SIZE)
        self.columns = nn.ModuleList(nn.Embedding(size + 1, options.column_size) for size in sizes.columns)
        width = options.word_size + CAPITAL_SIZE + options.column_size * len(sizes.columns)
        for table in (self.words, self.capitals, *self.columns):
            _spread(table.weight, table.embedding_dim)
        self.chars: nn.Module | None = None
        if options.chars != "none":
            reader = CharacterCnn if options.chars == "cnn" else CharacterLstm
            self.chars = reader(sizes.chars, options.char_size)
            width += 2 * options.char_size
        self.features: nn.EmbeddingBag | None = None
        if options.features:
            self.features = nn.EmbeddingBag(max(1, sizes.features), options.feature_size, mode="sum", sparse=True)
            nn.init.uniform_(self.features.weight, -0.05, 0.05)
            width += options.feature_size
        self.dropout = nn.Dropout(options.dropout)
        self.lstm = nn.LSTM(
            width,
            options.hidden,
            options.depth,
            bidirectional=True,
            dropout=options.dropout if options.depth > 1 else 0.0,
        )
        self.linear = nn.Linear(2 * options.hidden, sizes.labels)
        self.token_loss = options.token_loss or 0.0
        self.layer: SequenceLayer = make_layer(
            layer, sizes.labels, n=n, stop_ratio=stop_ratio, margin=options.margin or 0.0
        )

    def use_vectors(self, numbers: Tensor, vectors: Floats) -> None:
        """Initialize the words of these numbers with vectors, scaled to the variance of random ones."""
        with torch.no_grad():
            given = torch.from_numpy(vectors)
            deviation = float(given.std(correction=0)) or 1.0
            self.words.weight[numbers] = given / deviation * math.sqrt(1 / self.options.word_size)

    def emissions(self, batch: SentenceBatch) -> Tensor:
        """Return the emissions, [tokens, L], in the order of the batch."""
        words = batch.words
        if not len(words):
            return self.linear.weight.new_zeros((0, self.sizes.labels))
        if self.training and self.options.word_dropout:
            words = words.masked_fill(torch.rand(words.shape) < self.options.word_dropout, UNKNOWN)
        parts = [self.words(words), self.capitals(batch.capitals)]
        parts += [table(batch.columns[:, place]) for place, table in enumerate(self.columns)]
        if self.chars is not None:
            parts.append(self.chars(batch.chars)[batch.forms])
        if self.features is not None:
            parts.append(self.features(batch.rows, batch.row_offsets))
        seen = self.dropout(torch.cat(parts, dim=1))
        read, _ = self.lstm(PackedSequence(seen, batch.sizes))
        return self.linear(self.dropout(read.data))

    def forward(self, batch: SentenceBatch, gold: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of a batch and its emissions, [B, T, L]. `gold` are the tags, int64[tokens]."""
        flat = self.emissions(batch)
        emissions = batch.padded(flat)
        mask = torch.arange(batch.shape[1]) < batch.lengths.unsqueeze(1)
        loss = self.layer(emissions, batch.padded(gold), mask)
        if self.token_loss:
            loss = loss + self.token_loss * functional.cross_entropy(flat, gold, reduction="sum") / len(batch.lengths)
        return loss, emissions

    def w_complexity(self) -> float:
        """Return the mean |w| over all weights."""
        total = sum(float(parameter.detach().abs().sum(dtype=torch.float64)) for parameter in self.parameters())
        return total / sum(parameter.numel() for parameter in self.parameters())


class CharacterCnn(nn.Module):
    """Read a word with filters over its characters; return the largest answer of each filter."""

    def __init__(self, chars: int, size: int) -> None:
        super().__init__()
        self.table = nn.Embedding(chars + 2, size, padding_idx=0)
        self.filters = nn.Conv1d(size, 2 * size, FILTER, padding=FILTER // 2)

    def forward(self, chars: Tensor) -> Tensor:
        answers = self.filters(self.table(chars + 1).transpose(1, 2))
        largest = answers.masked_fill((chars < 0).unsqueeze(1), -math.inf).amax(2)
        return torch.where((chars >= 0).any(1, keepdim=True), largest, 0.0)  # 0 for an empty word


class CharacterLstm(nn.Module):
    """Read the characters of a word with an LSTM; return its last state in both directions."""

    def __init__(self, chars: int, size: int) -> None:
        super().__init__()
        self.table = nn.Embedding(chars + 1, size)
        self.lstm = nn.LSTM(size, size, bidirectional=True, batch_first=True)

    def forward(self, chars: Tensor) -> Tensor:
        lengths = (chars >= 0).sum(1).clamp(min=1)
        seen = self.table(chars.clamp(min=0))
        packed = nn.utils.rnn.pack_padded_sequence(seen, lengths, batch_first=True, enforce_sorted=False)
        ends = self.lstm(packed)[1][0]
        return torch.cat([ends[0], ends[1]], dim=1)


def _spread(weight: Tensor, size: int) -> None:
    """Initialize uniformly with variance 1 / size, so that the vector of a word has a length of about 1."""
    nn.init.uniform_(weight, -math.sqrt(3 / size), math.sqrt(3 / size))
