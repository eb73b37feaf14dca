"""The sentences of a pass, chunk by chunk, each with the order of its samples.

A corpus in memory is one chunk. A corpus in shards on disk (training/shards) has several, of which one is in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Longs
from sapo.learn.hiding import Counts
from sapo.learn.settings import Settings


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some sentences, and the order in which a pass learns from them."""

    corpus: EncodedCorpus
    order: Longs
    places: tuple[tuple[int, int], ...]  # which tokens of the whole these are: runs, as the first one and how many
    row_places: tuple[tuple[int, int], ...]  # the same of the features of tokens
    counts: Counts | None = None  # how often each feature occurs in the whole; None if this is the whole


class Sharded(Protocol):
    """A corpus that is not in memory. All its tags are known."""

    @property
    def sentences(self) -> int:
        """How many sentences a pass learns from."""

    @property
    def tokens(self) -> int:
        """How many tokens they have."""

    @property
    def sample(self) -> EncodedCorpus:
        """Some of the sentences, in memory, to measure on."""

    def parts(self) -> Iterator[EncodedCorpus]:
        """Yield all sentences in their order, a part at a time."""

    def chunks(self, settings: Settings, epoch: int) -> Iterator[Chunk]:
        """Yield every sentence once, in another order in each pass. The order depends on seed and pass alone."""


Corpus = EncodedCorpus | Sharded


def chunks_of(corpus: Corpus, settings: Settings, epoch: int) -> Iterator[Chunk]:
    """Yield the chunks of a pass."""
    if isinstance(corpus, EncodedCorpus):
        order = draw_order(corpus.sentences, settings, epoch)
        yield Chunk(corpus, order, ((0, corpus.tokens),), ((0, len(corpus.rows)),))
    else:
        yield from corpus.chunks(settings, epoch)


def sample_of(corpus: Corpus) -> EncodedCorpus:
    """Return sentences to measure on: the corpus itself if it is in memory."""
    return corpus if isinstance(corpus, EncodedCorpus) else corpus.sample


def parts_of(corpus: Corpus) -> Iterator[EncodedCorpus]:
    """Yield all sentences in their order; those in memory at once."""
    if isinstance(corpus, EncodedCorpus):
        yield corpus
    else:
        yield from corpus.parts()


def draw_order(sentences: int, settings: Settings, *keys: int) -> Longs:
    """Return the order of the samples in a pass, or in a chunk of one; `keys` are the numbers of both.

    Each pass has its own generator, so that a resumed run draws the same order as one that never stopped.
    """
    rng = np.random.default_rng([settings.seed, *keys])
    if settings.order == "draw":
        return rng.integers(sentences, size=sentences)
    return rng.permutation(sentences)
