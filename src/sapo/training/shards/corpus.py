"""Read the chunks of an epoch: shards in random order, some at a time, with their sentences shuffled."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sapo.errors import DataError
from sapo.features.encoded import EncodedCorpus, Pairs, joined_pairs, observed_pairs
from sapo.learn.samples import Chunk, Counts, draw_order
from sapo.learn.settings import Settings
from sapo.training.plan import BUFFER
from sapo.training.shards.manifest import Manifest, join_shards, load_manifest, open_shard, read_counts

SAMPLE = 1 << 19  # tokens to choose settings on
SHARDS = 3  # a seed for the order of shards, unlike those of sentences, cuts and hidden features (learn/)


class ShardedCorpus:
    """The shards of a cache directory, or some of them, as the training loop takes a corpus (learn/samples.py).

    Each pass takes the shards in another order. A chunk is as many shards as fit into the `buffer` (in tokens; at least
    one), with their sentences shuffled. If all fit, the order is that of training in memory. Where a sentence is cut
    into pieces does not depend on the chunk. So a pass over shards gives the same weights as one in memory with the
    same order of samples.

    The corpus of `part` has the same sentences_in_all: the regularizer is divided among the sentences of all shards.
    """

    def __init__(
        self, directory: str | Path, manifest: Manifest, *, buffer: int = BUFFER, numbers: Sequence[int] | None = None
    ) -> None:
        self.directory = Path(directory)
        self.manifest = manifest
        self.buffer = buffer
        self.numbers = tuple(range(len(manifest.shards)) if numbers is None else numbers)
        self._checked: set[int] = set()
        self._sample: EncodedCorpus | None = None
        self._pairs: Pairs | None = None
        self._counts: Counts | None = None
        self._starts = np.cumsum([0, *(entry.tokens for entry in manifest.shards)]).tolist()
        self._row_starts = np.cumsum([0, *(entry.rows for entry in manifest.shards)]).tolist()

    @property
    def sentences(self) -> int:
        """The number of sentences in a pass."""
        return sum(self.manifest.shards[number].sentences for number in self.numbers)

    @property
    def tokens(self) -> int:
        """The number of tokens in a pass."""
        return sum(self.manifest.shards[number].tokens for number in self.numbers)

    @property
    def sample(self) -> EncodedCorpus:
        """The first shards, in memory, to measure on."""
        if self._sample is None:
            wanted: list[int] = []
            tokens = 0
            for number in self.numbers:
                if wanted and tokens + self.manifest.shards[number].tokens > SAMPLE:
                    break
                wanted.append(number)
                tokens += self.manifest.shards[number].tokens
            self._sample = self.load(wanted)
        return self._sample

    @property
    def counts(self) -> Counts:
        """How often each feature occurs in all shards."""
        if self._counts is None:
            self._counts = Counts(read_counts(self.directory, self.manifest))
        return self._counts

    def pairs(self, edge_features: int, labels: int) -> Pairs:
        """Return the pairs of gold labels that each edge feature was seen with, in all shards."""
        if self._pairs is None:
            pairs = Pairs.none()
            for number in range(len(self.manifest.shards)) if edge_features else ():
                found = observed_pairs(self.open(number), edge_features, labels)
                pairs = found if len(pairs.offsets) == 1 else joined_pairs(pairs, found)[0]
            self._pairs = pairs
        return self._pairs

    def names(self, names: Sequence[str]) -> list[str]:
        """Return names that identify a run, with the buffer and the checksums of these shards added."""
        entries = [self.manifest.shards[number] for number in self.numbers]
        return [*names, f"buffer {self.buffer}", *(text for entry in entries for text in (entry.features, entry.gold))]

    def part(self, numbers: Sequence[int]) -> "ShardedCorpus":
        """Return a corpus of some of the shards, by their numbers in the manifest."""
        return ShardedCorpus(self.directory, self.manifest, buffer=self.buffer, numbers=numbers)

    def open(self, number: int) -> EncodedCorpus:
        """Return one shard, whose arrays are read-only. It is checked when it is first read."""
        corpus = open_shard(self.directory, number, self.manifest, check=number not in self._checked)
        self._checked.add(number)
        return corpus

    def parts(self) -> Iterator[EncodedCorpus]:
        """Yield the shards in their order."""
        for number in self.numbers:
            yield self.open(number)

    def load(self, numbers: Sequence[int]) -> EncodedCorpus:
        """Return shards as one corpus in memory, which kernels can take. They are checked when they are first read."""
        unchecked = {number: number not in self._checked for number in numbers}
        corpus = join_shards(self.directory, self.manifest, unchecked)
        self._checked.update(numbers)
        return corpus

    def chunks(self, settings: Settings, epoch: int) -> Iterator[Chunk]:
        """Yield every sentence once, in another order in each pass."""
        groups = self._groups(settings.seed, epoch)
        for place, group in enumerate(groups):
            keys = (epoch,) if len(groups) == 1 else (epoch, SHARDS, place)
            corpus = self.load(group)
            places = tuple((self._starts[number], self.manifest.shards[number].tokens) for number in group)
            rows = tuple((self._row_starts[number], self.manifest.shards[number].rows) for number in group)
            yield Chunk(corpus, draw_order(corpus.sentences, settings, *keys), places, rows, self.counts)
            del corpus  # before the next one is read

    def _groups(self, seed: int, epoch: int) -> list[list[int]]:
        """Return the shards of each chunk of a pass."""
        if self.tokens <= self.buffer:
            return [list(self.numbers)]
        groups: list[list[int]] = []
        room = 0
        for place in np.random.default_rng([seed, epoch, SHARDS]).permutation(len(self.numbers)).tolist():
            number = self.numbers[place]
            tokens = self.manifest.shards[number].tokens
            if not groups or tokens > room:
                groups.append([])
                room = self.buffer
            groups[-1].append(number)
            room -= tokens
        return [sorted(group) for group in groups]


def open_shards(directory: str | Path, *, buffer: int = BUFFER) -> ShardedCorpus:
    """Return the corpus of a cache directory. Raise SapoError if the directory has none, or an unfinished one."""
    manifest = load_manifest(Path(directory))
    if not manifest.done:
        raise DataError(f"{directory}: its shards are not finished; run the same command again to continue")
    return ShardedCorpus(directory, manifest, buffer=buffer)
