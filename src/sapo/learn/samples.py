"""Prepare the samples of an epoch: weights, scales, hidden features, pieces of sentences, and their order.

A feature of value x and weight w scores as one of value x * s and weight w / s. But a step of the same rate moves the
score by s^2 times as much: a feature whose values are in the hundreds, such as the index of a token, would drown all
others. So online learners see values that are at most about 1, and the weights are turned back when they are learned.

A word that was seen once predicts its tag, so a learner that always sees the word learns little from its ending and its
neighbors, the only evidence for a new word ("weight undertraining": Sutton, Sindelar and McCallum 2006). So a
feature that occurs c times is hidden with probability a / (a + c), as Kiperwasser and Goldberg (2016) hide words.

A few candidates of a long sentence differ from each other in one or two places, so that a step learns from next to
nothing. The candidates of each piece differ in this piece: together they stand for all combinations. Features still
look at the whole sentence; only the step from one piece to the next is left out. After Sun (2014), "Structure
regularization for structured prediction".

A corpus in memory is one chunk. A corpus in shards on disk (training/shards) has several, of which one is in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sapo.errors import OptionError, did_you_mean
from sapo.features.encoded import EncodedCorpus, Samples
from sapo.jit import kernel
from sapo.jit.arrays import Bools, Doubles, Floats, Ints, Longs, Shorts, pieces_of
from sapo.learn.settings import Settings

BALANCED = "balanced"
LARGEST_WEIGHT = 1e6
NOTHING = "all weights of samples or classes are 0; nothing would be learned"


def importance_of_tokens(
    labels: Sequence[str],
    gold: Ints,  # -1 where the tag is missing: such a token has no class
    offsets: Longs,
    *,
    sample_weight: Sequence[float] | None = None,  # checked, one for each sentence
    class_weight: Mapping[str, float] | str | None = None,
) -> Floats:
    """Return for each token the weight of its sentence times that of its gold tag; empty if all are 1.

    >>> gold, offsets = np.array([0, 0, 0, 1], np.int32), np.array([0, 2, 4])
    >>> importance_of_tokens(["O", "B-X"], gold, offsets, sample_weight=[1, 2], class_weight={"B-X": 3}).tolist()
    [1.0, 1.0, 2.0, 6.0]
    >>> importance_of_tokens(["O", "B-X"], gold, offsets, class_weight="balanced").round(2).tolist()[2:]
    [0.6700000166893005, 2.0]
    """
    tokens = np.ones(len(gold))
    if class_weight is not None:
        of_class = np.append(_class_weights(class_weight, labels, gold), 1.0)  # the last one is for -1
        tokens *= of_class[gold]
    if sample_weight is not None:
        tokens *= np.repeat(sample_weight, np.diff(offsets))
    if (tokens == 1).all():
        return np.empty(0, np.float32)
    if not tokens.any():
        raise OptionError(NOTHING)
    return tokens.astype(np.float32)


def _class_weights(given: Mapping[str, float] | str, labels: Sequence[str], gold: Ints) -> Doubles:
    if isinstance(given, str):
        if given != BALANCED:
            raise OptionError(f"class_weight must be '{BALANCED}' or a weight for labels, not '{given}'")
        counts = np.bincount(gold[gold >= 0], minlength=len(labels))
        balanced: Doubles = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return balanced
    weights = np.ones(len(labels))
    for label, weight in given.items():
        if label not in labels:
            raise OptionError(f"class_weight: no label is '{label}'{did_you_mean(str(label), labels)}")
        weights[list(labels).index(label)] = _checked(weight, f"class_weight of '{label}'")
    return weights


def counted_samples(given: Sequence[float]) -> tuple[list[float], Bools]:
    """Return the weights that are not 0, and which these are: a sentence of weight 0 is left out before it is encoded.

    Raises SapoError if one is not a weight, or if all are 0.

    >>> weights, counted = counted_samples([1, 0, 2])
    >>> weights, counted.tolist()
    ([1.0, 2.0], [True, False, True])
    """
    try:
        listed = list(given)
    except TypeError:
        raise OptionError(f"sample_weight must have a number for each sentence, not be {given!r:.60}") from None
    weights = np.array([_checked(weight, f"sample_weight[{i}]") for i, weight in enumerate(listed)], np.float64)
    if len(weights) and not weights.any():
        raise OptionError(NOTHING)
    counted: Bools = weights > 0
    return weights[counted].tolist(), counted


def _checked(weight: Any, what: str) -> float:
    try:
        value = float(weight)
    except (TypeError, ValueError):
        raise OptionError(f"{what} must be a number, not {weight!r}") from None
    if not 0 <= value <= LARGEST_WEIGHT:  # NaN too
        raise OptionError(f"{what} must be a number from 0 to {LARGEST_WEIGHT:,.0f}, not {weight}")
    return value


LARGEST_EXPONENT = (
    100  # exponent of a factor: float32 must have room for it, for its reciprocal, and for weights times these
)


def scales_of(corpus: EncodedCorpus, features: int) -> Floats:
    """Return a factor for each feature that makes its largest value about 1; empty if all of them are 1.

    They are powers of two: to multiply by them and to divide again changes no number.

    >>> corpus = EncodedCorpus(np.array([0, 2]), np.arange(3), np.array([0, 1], np.int32), np.array([1, 40], "f4"))
    >>> scales_of(corpus, 2).tolist()
    [1.0, 0.03125]
    """
    if not len(corpus.values) or not features:
        return np.empty(0, np.float32)
    largest = np.zeros(features, np.float32)
    np.maximum.at(largest, corpus.rows, np.abs(corpus.values))
    largest[largest == 0] = 1.0
    exponents = np.round(np.log2(largest.astype(np.float64)))
    scales = np.exp2(-np.clip(exponents, -LARGEST_EXPONENT, LARGEST_EXPONENT)).astype(np.float32)
    return np.empty(0, np.float32) if (scales == 1).all() else scales


def scaled(corpus: EncodedCorpus, scales: Floats) -> EncodedCorpus:
    """Return the corpus with each value multiplied by the factor of its feature."""
    if not len(scales) or not len(corpus.rows):
        return corpus
    values = corpus.values if len(corpus.values) else np.ones(len(corpus.rows), np.float32)
    return replace(corpus, values=values * scales[corpus.rows])


HIDDEN = 2  # keeps what is hidden in a pass apart from its order and its cuts
STEPS = 1 << 16  # probabilities are rounded to this: a random number of 64 bits is enough for four rows
EACH = 4
AT_ONCE = 1 << 18  # rows: the random numbers of all of them would determine the peak of memory


@dataclass(slots=True)
class Counts:
    """How often each feature of a corpus occurs.

    >>> Counts(np.array([1, 3])).limits(1.0).tolist()
    [32768, 16384]
    """

    numbers: Longs
    _limits: dict[float, Shorts] = field(default_factory=dict, repr=False)

    def limits(self, amount: float) -> Shorts:
        """Return below which random number each feature is hidden; worked out once for all chunks of a corpus."""
        if amount not in self._limits:
            shares = amount / (amount + np.maximum(self.numbers, 1))
            self._limits = {amount: (STEPS * shares).astype(np.uint16)}
        return self._limits[amount]


def count_features(rows: Ints) -> Longs:
    """Return how often each feature occurs, in parts: np.bincount makes a copy of what it counts.

    >>> count_features(np.array([0, 2, 2], np.int32)).tolist()
    [1, 0, 2]
    """
    counts = np.zeros(int(rows.max(initial=-1)) + 1, np.int64)
    for begin in range(0, len(rows), AT_ONCE):
        part = np.bincount(rows[begin : begin + AT_ONCE])
        counts[: len(part)] += part
    return counts


def hide(
    corpus: EncodedCorpus,
    amount: float,
    seed: int,
    epoch: int,
    *,
    counts: Counts | None = None,
    places: Sequence[tuple[int, int]] | None = None,
) -> EncodedCorpus:
    """Return the corpus without some of its features.

    A chunk of a larger corpus has `counts`, how often each feature occurs in the whole, and `places`: runs of rows of
    the whole, as the first one and how many. What is hidden is then hidden in the whole, too. Each pass has its own
    generator, so that a resumed run hides the same as one that never stopped.
    """
    if counts is None:
        counts = Counts(count_features(corpus.rows))
    limits = counts.limits(amount)
    rows, values = np.empty_like(corpus.rows), np.empty_like(corpus.values)
    offsets = np.zeros_like(corpus.row_offsets)
    token = kept = begin = 0
    for first, count in places or [(0, len(corpus.rows))]:
        for done in range(0, count, AT_ONCE):
            numbers = _row_numbers(seed, epoch, first + done, min(AT_ONCE, count - done))
            token, kept = drop_hidden(begin, numbers, limits, corpus.samples, token, kept, rows, values, offsets)
            begin += len(numbers)
    offsets[token:] = kept
    return replace(corpus, row_offsets=offsets, rows=rows[:kept], values=values[:kept])


@kernel
def drop_hidden(
    begin: int,  # the numbers are those of the features from this one on
    numbers: Shorts,
    limits: Shorts,  # below which a feature is hidden
    samples: Samples,
    token: int,  # the first whose offset is not known yet
    kept: int,  # features so far
    rows: Ints,  # out
    values: Floats,  # out
    offsets: Longs,  # out
) -> tuple[int, int]:
    """Copy the features that are not hidden; return the next token, and how many features were kept."""
    weighted = len(samples.values) > 0
    for i in range(len(numbers)):
        while samples.row_offsets[token] <= begin + i:
            offsets[token] = kept
            token += 1
        f = samples.rows[begin + i]
        rows[kept] = f
        if weighted:
            values[kept] = samples.values[begin + i]
        if numbers[i] >= limits[f]:
            kept += 1
    return token, kept


def _row_numbers(seed: int, epoch: int, first: int, count: int) -> NDArray[np.uint16]:
    """Return the numbers of some rows, of all that the generator of a pass makes."""
    bits = np.random.PCG64(np.random.SeedSequence([seed, epoch, HIDDEN])).advance(first // EACH)
    words = bits.random_raw(-(-(first % EACH + count) // EACH))
    return np.asarray(words, "<u8").view("<u2")[first % EACH :][:count]


CUTS = 1  # keeps the cuts of a pass apart from its order


def cut(
    corpus: EncodedCorpus,
    length: int,
    seed: int,
    epoch: int,
    bans: Floats,
    places: Sequence[tuple[int, int]] | None = None,
) -> tuple[EncodedCorpus, Longs]:
    """Cut sentences at random into pieces of `length` tokens on average, and learn from each piece as a sample.

    Return the corpus of pieces, and the first piece of each sentence. A chunk of a larger corpus has `places`: runs of
    tokens of the whole, as the first one and how many. A sentence is then cut where it would be cut in the whole.

    A piece that begins inside a span looks like a mistake where the tags tell only how spans begin, as in IOB2: there,
    what may not begin a sentence (see `bans` of Parameters) begins no piece. Where they tell how spans end, too, as in
    BIOES, a cut through a span does no harm, and finds more of rare entities (docs/explanation/defaults.md).
    Each pass has its own generator, so that a resumed run cuts in the same places as one that never stopped.
    """
    labels = bans.shape[1]
    parts = [_token_numbers(seed, epoch, first, count) * length < 1 for first, count in places or [(0, corpus.tokens)]]
    cuts = np.concatenate(parts) if len(parts) > 1 else parts[0]
    begins, ends = bans[labels] == 0, bans[labels + 1] == 0
    if ends.all() and not begins.all():
        cuts &= np.append(begins, True)[np.maximum(corpus.gold, -1)]
    borders = corpus.offsets[:-1][np.diff(corpus.offsets) > 0]
    cuts[borders] = False
    offsets = np.sort(np.concatenate([corpus.offsets, np.flatnonzero(cuts)]))
    pieces = replace(corpus, offsets=offsets, cuts=cuts, part_of=corpus.sentences_in_all)
    return pieces, np.searchsorted(offsets, corpus.offsets)


def _token_numbers(seed: int, epoch: int, first: int, count: int) -> Doubles:
    """Return the numbers of some tokens, of all that the generator of a pass makes."""
    bits = np.random.PCG64(np.random.SeedSequence([seed, epoch, CUTS]))  # what `default_rng` takes, too
    return np.random.Generator(bits.advance(first)).random(count)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some sentences, and the order in which a pass learns from them."""

    corpus: EncodedCorpus
    order: Longs
    places: tuple[tuple[int, int], ...]  # which tokens of the whole these are: runs, as the first one and how many
    row_places: tuple[tuple[int, int], ...]  # the same of the features of tokens
    counts: Counts | None = None  # how often each feature occurs in the whole; None if this is the whole


def prepare(chunk: Chunk, settings: Settings, bans: Floats | None, epoch: int, counts: Counts | None = None) -> Chunk:
    """Return the samples of a chunk as a pass learns from them, in their order: some features are hidden, and
    sentences are cut into pieces. `counts` are those of a corpus in memory, if they are known.
    """
    corpus, order = chunk.corpus, chunk.order
    if settings.hide:
        counts = chunk.counts or counts
        corpus = hide(corpus, settings.hide, settings.seed, epoch, counts=counts, places=chunk.row_places)
    if settings.piece and bans is not None:  # networks learn from whole sentences
        corpus, firsts = cut(corpus, settings.piece, settings.seed, epoch, bans, chunk.places)
        _, order = pieces_of(firsts, order)
    return replace(chunk, corpus=corpus, order=order)


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


def counts_of(corpus: Corpus, settings: Settings) -> Counts | None:
    """Return how often each feature of a corpus in memory occurs, if some are to be hidden: every pass needs it."""
    if not settings.hide or not isinstance(corpus, EncodedCorpus):
        return None
    return Counts(count_features(corpus.rows))


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
