"""Cut the training data into lanes, and the lanes into parts.

A lane is what one worker of the run learns from in all passes; a part is what it learns from between two mixings. Which
process does a part does not matter: the part and the weights that it begins with decide what is learned. So a run has
the same result with many processes or few, and if one of them dies, another one does its part again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from sapo.features.encoded import EncodedCorpus, subset
from sapo.jit.arrays import Ints, Longs
from sapo.learn.samples import Chunk, Counts, draw_order
from sapo.learn.settings import Settings
from sapo.training.shards.corpus import ShardedCorpus, open_shards

LANES = 3  # keeps the lanes apart from the orders and cuts of passes


@dataclass(frozen=True, slots=True)
class LanePart:
    """The samples of a lane between two mixings of a pass. Passes count from 1, lanes and mixings from 0."""

    epoch: int
    mixing: int
    lane: int
    of: int  # mixings a pass
    lanes: int = 1

    def __str__(self) -> str:
        return f"part {self.mixing + 1} of {self.of} of lane {self.lane + 1} in epoch {self.epoch}"


class Lanes(Protocol):
    """Where workers find the samples of a part."""

    @property
    def count(self) -> int:
        """How many lanes there are."""

    def chunks(self, part: LanePart, settings: Settings) -> Iterator[Chunk]:
        """Yield the samples of a part, in the order to learn from them."""


@dataclass(slots=True)
class MemoryLanes:
    """Lanes of a corpus in memory. `fetch` gets the corpus of a lane; those that were used stay."""

    count: int
    fetch: Callable[[int], EncodedCorpus]
    counts: Counts  # how often each feature occurs in all lanes
    loaded: dict[int, EncodedCorpus] = field(default_factory=dict)

    def chunks(self, part: LanePart, settings: Settings) -> Iterator[Chunk]:
        """Yield one chunk: the next samples of the lane in the order of this pass."""
        if part.lane not in self.loaded:
            self.loaded[part.lane] = self.fetch(part.lane)
        lane = self.loaded[part.lane]
        order = draw_order(lane.sentences, settings, part.epoch, LANES, part.lane)
        some = subset(lane, np.array_split(order, part.of)[part.mixing])
        yield _chunk(some, np.arange(some.sentences), lane.part_of, self.counts, part)


@dataclass(slots=True)
class ShardLanes:
    """Lanes of a corpus in shards, in a directory that all workers see under the same name."""

    count: int
    directory: str
    opened: ShardedCorpus | None = None  # by a worker, when it begins

    def chunks(self, part: LanePart, settings: Settings) -> Iterator[Chunk]:
        """Yield the samples of a part: runs of sentences of one shard after the other.

        A pass goes through the shards of a lane in random order, and through each run in random order.
        """
        if self.opened is None:
            self.opened = open_shards(self.directory)
        corpus = self.opened
        numbers = _dealt(len(corpus.numbers), self.count, settings.seed)[part.lane]
        numbers = np.random.default_rng([settings.seed, part.epoch, LANES, part.lane]).permutation(numbers)
        entries = [corpus.manifest.shards[number] for number in numbers.tolist()]
        ends = np.cumsum([entry.sentences for entry in entries])
        first, last = (int(ends[-1]) * at // part.of for at in (part.mixing, part.mixing + 1))
        share = -(-corpus.sentences // self.count)
        for number, entry, end in zip(numbers.tolist(), entries, ends.tolist(), strict=True):
            begin = end - entry.sentences
            if first >= end or last <= begin:
                continue
            low, high = max(0, first - begin), min(entry.sentences, last - begin)
            some = _run(corpus.open(number), low, high)
            order = draw_order(some.sentences, settings, part.epoch, LANES, part.lane, number)
            yield _chunk(some, order, share, corpus.counts, part, number)


def _chunk(corpus: EncodedCorpus, order: Longs, part_of: int, counts: Counts, part: LanePart, shard: int = 0) -> Chunk:
    """Return sentences as a chunk. No two chunks of a pass are cut alike."""
    some = replace(_writable(corpus), part_of=part_of)
    first = (1 + (shard * part.lanes + part.lane) * part.of + part.mixing) << 36
    return Chunk(some, order, ((first, some.tokens),), ((first, len(some.rows)),), counts)


def _run(corpus: EncodedCorpus, first: int, last: int) -> EncodedCorpus:
    """Return neighboring sentences of a shard: as `subset` does, but without looking for each of their rows."""
    tokens = slice(*corpus.offsets[[first, last]].tolist())
    rows = slice(*corpus.row_offsets[[tokens.start, tokens.stop]].tolist())
    edges: tuple[Longs, Ints] = corpus.edge_row_offsets, corpus.edge_rows
    if len(edges[0]) > 1:
        edge_rows = slice(*edges[0][[tokens.start, tokens.stop]].tolist())
        edges = edges[0][tokens.start : tokens.stop + 1] - edge_rows.start, edges[1][edge_rows]
    return EncodedCorpus(
        corpus.offsets[first : last + 1] - tokens.start,
        corpus.row_offsets[tokens.start : tokens.stop + 1] - rows.start,
        corpus.rows[rows],
        corpus.values[rows],
        corpus.gold[tokens],
        *edges,
        words=corpus.words[tokens],
    )


def _writable(corpus: EncodedCorpus) -> EncodedCorpus:
    """Return a corpus without read-only arrays, for which kernels would be compiled again.

    Those of files and of the object store are read-only; what a subset does not copy of them is small or empty.
    """
    arrays: Any = {name: getattr(corpus, name) for name in corpus.__dataclass_fields__ if name != "part_of"}
    return replace(corpus, **{name: array.copy() for name, array in arrays.items() if not array.flags.writeable})


def cut_lanes(corpus: EncodedCorpus, count: int, seed: int) -> Iterator[EncodedCorpus]:
    """Yield the corpus of each lane: a part of the sentences each, drawn at random."""
    for sentences in _dealt(corpus.sentences, count, seed):
        yield replace(subset(corpus, sentences), part_of=-(-corpus.sentences // count))


def _dealt(things: int, count: int, seed: int) -> list[Longs]:
    drawn = np.random.default_rng([seed, LANES]).permutation(things)
    return [np.sort(some) for some in np.array_split(drawn, count)]
