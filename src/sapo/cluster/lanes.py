"""Cut the training data into lanes, and the lanes into parts.

A lane is what one worker of the run learns from in all passes; a part is what it learns from between two mixings. Which
process does a part does not matter: the part and the weights that it begins with decide what is learned. So a run has
the same result with many processes or few, and if one of them dies, another one does its part again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.subset import subset
from sapo.kernels.types import Longs
from sapo.learn.chunks import Chunk, draw_order
from sapo.learn.settings import Settings
from sapo.training.shards.corpus import ShardedCorpus, open_shards

LANES = 3  # keeps the lanes apart from the orders and cuts of passes


@dataclass(frozen=True, slots=True)
class Part:
    """The samples of a lane between two mixings of a pass. Passes count from 1, lanes and mixings from 0."""

    epoch: int
    mixing: int
    lane: int
    of: int  # mixings a pass

    def __str__(self) -> str:
        return f"part {self.mixing + 1} of {self.of} of lane {self.lane + 1} in epoch {self.epoch}"


class Lanes(Protocol):
    """Where workers find the samples of a part."""

    @property
    def count(self) -> int:
        """How many lanes there are."""

    def chunks(self, part: Part, settings: Settings) -> Iterator[Chunk]:
        """Yield the samples of a part, in the order to learn from them."""


@dataclass(slots=True)
class MemoryLanes:
    """Lanes of a corpus in memory. `fetch` gets the corpus of a lane; those that were used stay."""

    count: int
    fetch: Callable[[int], EncodedCorpus]
    counts: Longs  # how often each feature occurs in all lanes
    loaded: dict[int, EncodedCorpus] = field(default_factory=dict)

    def chunks(self, part: Part, settings: Settings) -> Iterator[Chunk]:
        """Yield one chunk: the next samples of the lane in the order of this pass."""
        if part.lane not in self.loaded:
            self.loaded[part.lane] = _own_arrays(self.fetch(part.lane))
        lane = self.loaded[part.lane]
        order = draw_order(lane.sentences, settings, part.epoch, LANES, part.lane)
        corpus = subset(lane, np.array_split(order, part.of)[part.mixing])
        corpus = replace(corpus, part_of=lane.part_of)
        first = (1 + part.lane * part.of + part.mixing) << 40  # no part is cut like another one
        places, row_places = ((first, corpus.tokens),), ((first, len(corpus.rows)),)
        yield Chunk(corpus, np.arange(corpus.sentences), places, row_places, self.counts)


@dataclass(frozen=True, slots=True)
class ShardLanes:
    """Lanes of a corpus in shards, in a directory that all workers see under the same name."""

    count: int
    directory: str
    buffer: int

    def chunks(self, part: Part, settings: Settings) -> Iterator[Chunk]:
        """Yield the shards of a part, as many at a time as the buffer has room for."""
        corpus = open_shards(self.directory, buffer=self.buffer)
        mine = lane_shards(len(corpus.numbers), self.count, settings.seed)[part.lane]
        order = np.random.default_rng([settings.seed, part.epoch, LANES, part.lane]).permutation(mine)
        numbers = np.array_split(order, part.of)[part.mixing]
        share = corpus.sentences // self.count
        if len(numbers):
            for chunk in corpus.part(numbers.tolist()).chunks(settings, part.epoch):
                yield replace(chunk, corpus=replace(chunk.corpus, part_of=share))


def cut_lanes(corpus: EncodedCorpus, count: int, seed: int) -> Iterator[EncodedCorpus]:
    """Yield the corpus of each lane: a part of the sentences each, drawn at random."""
    for sentences in _dealt(corpus.sentences, count, seed):
        yield replace(subset(corpus, sentences), part_of=-(-corpus.sentences // count))


def lane_shards(shards: int, count: int, seed: int) -> Sequence[Longs]:
    """Return the shards of each lane."""
    return _dealt(shards, count, seed)


def shard_lanes(corpus: ShardedCorpus, count: int) -> ShardLanes:
    """Return the lanes of a corpus in shards."""
    return ShardLanes(count, str(corpus.directory.resolve()), corpus.buffer)


def _dealt(things: int, count: int, seed: int) -> list[Longs]:
    drawn = np.random.default_rng([seed, LANES]).permutation(things)
    return [np.sort(some) for some in np.array_split(drawn, count)]


def _own_arrays(corpus: EncodedCorpus) -> EncodedCorpus:
    """Return a copy: arrays from the object store are read-only, for which kernels would be compiled anew."""
    names = ("offsets", "row_offsets", "rows", "values", "gold", "edge_row_offsets", "edge_rows", "importance")
    copies: Any = {name: np.array(getattr(corpus, name)) for name in (*names, "allowed", "words")}
    return replace(corpus, **copies)
