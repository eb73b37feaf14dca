"""Predict the open sentences of a project, and choose which ones to look at next.

A sentence is named by its index. `doubt` says how unsure a model is of one. `Variety` knows the words of all sentences
and which are labeled, and says how much of a sentence is new. `choose` puts both into an order.
"""

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from sapo.apps.teach.task import OUTSIDE, SPANS, blank
from sapo.errors import SapoError, did_you_mean
from sapo.jit.arrays import Doubles, Ints, Longs
from sapo.search.marginals import span_reading
from sapo.search.sums import Sums, sum_corpus
from sapo.tagger import decoding
from sapo.tagger.decoding import encoded_batches
from sapo.tagger.model import Model
from sapo.tags.schemes import Prefix, label_kinds
from sapo.tags.spans import Span, Spans, read_spans


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says about a sentence. Probabilities are over all taggings."""

    tags: tuple[str, ...]  # IOB2, or a label for each token
    probabilities: tuple[float, ...]  # of each tag
    spans: tuple[tuple[Span, float], ...]  # with the probability of each
    sure: float  # the probability of the tagging, by token: its root of the number of tokens
    expected: float  # how many of the spans, or of the tags, the model expects to be right
    likely: float  # how many spans, or tags, it expects there to be

    def differs(self, other: "Prediction", by: float = 0.005) -> bool:
        """Return whether a person would see a difference."""
        if self.tags != other.tags:
            return True
        pairs = zip(self.probabilities, other.probabilities, strict=True)
        return any(abs(one - two) > by for one, two in pairs)


def know_nothing(kind: str, tokens: int) -> Prediction:
    """Return what is said where there is no model."""
    return Prediction(blank(kind, tokens), (0.0,) * tokens, (), 0.0, 0.0, 0.0 if kind == SPANS else float(tokens))


def predict(model: Model, kind: str, sentences: Sequence[Sequence[str]], session: Any = None) -> Iterator[Prediction]:
    """Tag sentences. A model without spans, because it has seen none, marks none."""
    for corpus in encoded_batches(model, sentences, session):
        sums = sum_corpus(corpus, model.tagging, model.temperature)
        marginal, shown = decoding.shown_marginal(model, sums.marginal), model.as_shown(sums.tags)
        shares = np.minimum(marginal[np.arange(len(shown)), shown], 1.0)
        said = _spans(model, sums, marginal, shown) if kind == SPANS else _tags(model, corpus.offsets, shown, shares)
        sure = np.exp(sums.log_best / np.maximum(np.diff(corpus.offsets), 1)).tolist()
        listed = shares.tolist()
        for sentence, (first, last) in enumerate(itertools.pairwise(corpus.offsets.tolist())):
            yield Prediction(
                tuple(said.tags[first:last]),
                tuple(listed[first:last]),
                said.spans[sentence],
                sure[sentence],
                said.expected[sentence],
                said.likely[sentence],
            )


@dataclass(frozen=True, slots=True)
class _Said:
    """What predictions of several sentences have."""

    tags: list[str]  # of all tokens
    spans: list[tuple[tuple[Span, float], ...]]  # of each sentence, and so are the others
    expected: list[float]
    likely: list[float]


def _tags(model: Model, offsets: Longs, shown: Ints, shares: Doubles) -> _Said:
    counts = np.diff(offsets).astype(float).tolist()
    return _Said(decoding.label_names(model, shown), [()] * len(counts), _totals(shares, offsets).tolist(), counts)


def _spans(model: Model, sums: Sums, marginal: Doubles, shown: Ints) -> _Said:
    kinds, offsets = label_kinds(model.outer_labels), sums.corpus.offsets
    found = read_spans(kinds, shown, offsets)
    chances = np.zeros(len(found.starts))
    if len(chances):
        chances = np.minimum(sums.span_probabilities(span_reading(model.labels), found, kinds.type_names), 1.0)
    begins = (kinds.prefixes == Prefix.BEGIN) | (kinds.prefixes == Prefix.SINGLE)
    owned = np.searchsorted(found.starts, offsets)  # the first span of each sentence
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(owned))
    starts, ends = (found.starts - offsets[owners]).tolist(), (found.ends - offsets[owners]).tolist()
    names = [kinds.type_names[number] for number in found.types.tolist()]
    pairs = list(zip(map(Span, starts, ends, names), chances.tolist(), strict=True))
    return _Said(
        _iob2(found, kinds.type_names, len(shown)),
        [tuple(pairs[first:last]) for first, last in itertools.pairwise(owned.tolist())],
        _totals(chances, owned).tolist(),
        _totals(marginal[:, begins].sum(axis=1), offsets).tolist(),
    )


def _iob2(spans: Spans, types: Sequence[str], tokens: int) -> list[str]:
    """Return a tag for each token."""
    places = np.zeros(tokens, np.int64)
    sizes = spans.ends - spans.starts
    ends = np.cumsum(sizes)
    inside = np.arange(ends[-1] if len(ends) else 0) + np.repeat(spans.starts - ends + sizes, sizes)
    places[inside] = 2 * np.repeat(spans.types, sizes) + 1
    places[spans.starts] = 2 * spans.types
    names = [OUTSIDE, OUTSIDE, *(f"{letter}-{type}" for type in types[1:] for letter in "BI")]
    return [names[place] for place in places.tolist()]


def _totals(values: Doubles, offsets: Longs) -> Doubles:
    """Return the sum of values[offsets[i]:offsets[i + 1]] for each i."""
    sums = np.concatenate([np.zeros(1), np.cumsum(values)])
    return np.maximum(np.diff(sums[offsets]), 0.0)


ORDERS = ("least-sure", "different", "random", "in-order")
LEAST = 3  # tokens that decide how unsure a sentence is
DECAY = 0.5  # what a word is worth counts this much each time that it is labeled
SHORTLIST = 4  # least-sure sentences for each one that is chosen, of which those that differ are taken


def doubt(probabilities: Sequence[float]) -> float:
    """Return how unsure a model is of a sentence, from 0 to 1. `probabilities` are those of the tags of its tokens.

    It is the mean of 1 - probability over the three least sure tokens. The whole sentence would favor long sentences,
    and the mean of all tokens would favor fragments of one or two words, which teach little.

    >>> round(doubt([0.9, 0.5, 1.0, 0.6]), 2)
    0.33
    >>> doubt([0.4]) < doubt([0.4, 0.9, 0.9])
    True
    """
    return sum(sorted((1.0 - share for share in probabilities), reverse=True)[:LEAST]) / LEAST


class Variety:
    """How much there is to learn from the words of each sentence: words that are frequent, and seldom labeled yet.

    A word counts by the logarithm of the number of sentences that have it, and half as much each time that one of
    them is labeled. A word of one sentence counts nothing: no other sentence would gain. A sentence has the sum over
    its words, divided by the root of their number: long sentences are more work.

    >>> variety = Variety([["a", "dog"], ["a", "big", "dog"], ["a", "cat"], ["cat", "and", "a", "mouse"]])
    >>> variety.label(0)
    >>> variety.choose([1, 2, 3], 2)
    [2, 1]
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        numbers: dict[str, int] = {}
        words = [sorted({numbers.setdefault(word.lower(), len(numbers)) for word in one}) for one in sentences]
        self._words: Longs = np.array([word for some in words for word in some], np.int64)
        self._offsets: Longs = np.cumsum([0, *map(len, words)])
        self._sizes: Doubles = np.sqrt(np.maximum(1.0, [len(one) for one in sentences]))
        self._worth: Doubles = np.log(np.maximum(1, np.bincount(self._words, minlength=len(numbers))))
        self._labeled: Longs = np.zeros(len(numbers), np.int64)

    def __len__(self) -> int:
        return len(self._sizes)

    def label(self, sentence: int) -> None:
        """Take a sentence as labeled."""
        self._labeled[self._of(sentence)] += 1

    def unlabel(self, sentence: int) -> None:
        """Take back `label`."""
        self._labeled[self._of(sentence)] -= 1

    def choose(self, sentences: Sequence[int], count: int, weights: Sequence[float] | None = None) -> list[int]:
        """Return the sentences that bring most, best first, each beside those before it.

        `weights` multiply what each of the sentences brings.
        """
        values = self._worth * DECAY**self._labeled
        gains = self._gains(values, sentences)
        factors = np.ones(len(gains)) if weights is None else np.asarray(weights, np.float64)
        # What a sentence brings only falls with others that are chosen, so an old value is an upper bound: look again
        # only at the sentence that seems best, and take it if it still is.
        heap = [(-gain, place) for place, gain in enumerate((gains * factors).tolist())]
        heapq.heapify(heap)
        chosen: list[int] = []
        while heap and len(chosen) < count:
            _, place = heap[0]
            sentence = sentences[place]
            words = self._of(sentence)
            now = float(values[words].sum() / self._sizes[sentence] * factors[place])
            heapq.heapreplace(heap, (-now, place))
            if heap[0][1] == place:
                heapq.heappop(heap)
                chosen.append(sentence)
                values[words] *= DECAY
        return chosen

    def _of(self, sentence: int) -> Longs:
        return self._words[self._offsets[sentence] : self._offsets[sentence + 1]]

    def _gains(self, values: Doubles, sentences: Sequence[int]) -> Doubles:
        sums = np.concatenate([[0.0], np.cumsum(values[self._words])])
        wanted = np.asarray(sentences, np.int64)
        gains: Doubles = (sums[self._offsets[wanted + 1]] - sums[self._offsets[wanted]]) / self._sizes[wanted]
        return gains


def choose(
    order: str,
    sentences: Sequence[int],
    count: int,
    *,
    doubts: Sequence[float] | None = None,
    variety: Variety | None = None,
    seed: int = 0,
) -> list[int]:
    """Return those of the open sentences that come next in an order, which is one of `ORDERS`.

    `least-sure` needs the doubt of each of the sentences; with a variety it takes sentences that differ from each
    other. `different` needs a variety. `random` is the same order for the same seed, whatever was taken out. Raises
    SapoError if the order is unknown.

    >>> choose("least-sure", [3, 5, 8], 2, doubts=[0.1, 0.3, 0.2])
    [5, 8]
    """
    if order == "in-order":
        return list(sentences[:count])
    if order == "random":
        return sorted(sentences, key=lambda sentence: (_mixed(sentence, seed), sentence))[:count]
    if order == "different" and variety is not None:
        return variety.choose(sentences, count)
    if order == "least-sure" and doubts is not None:
        return _least_sure(sentences, count, np.asarray(doubts, np.float64), variety)
    if order not in ORDERS:
        raise SapoError(f"unknown order '{order}'{did_you_mean(order, ORDERS)}")
    raise ValueError(f"the order {order} needs {'a variety' if order == 'different' else 'doubts'}")


def _least_sure(sentences: Sequence[int], count: int, doubts: Doubles, variety: Variety | None) -> list[int]:
    """Return the least sure sentences; with a variety, those of a short list that differ most."""
    places = np.argsort(-doubts, kind="stable")
    if variety is None:
        return [sentences[place] for place in places[:count].tolist()]
    listed = [sentences[place] for place in places[: count * SHORTLIST].tolist()]
    return variety.choose(listed, count)


def _mixed(number: int, seed: int) -> int:
    """Return a number that looks random, always the same for the same arguments (the finaliser of SplitMix64)."""
    mask = (1 << 64) - 1
    mixed = (number * 0x9E3779B97F4A7C15 + (seed + 1) * 0xD1B54A32D192ED03) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    return mixed ^ (mixed >> 31)


KEPT = 5000  # whole predictions
LOOKED = 1000  # sentences at a time that may turn out to be tagged already
POOL = 1000  # sentences that are tagged anew, in idle time, after each change of the model


@dataclass(frozen=True, slots=True)
class Mark:
    """What is kept of a prediction: how sure the model was, and the tags as a number that tells them apart."""

    sure: float
    doubt: float
    version: int  # of the model
    tags: int


class Cache:
    """Predictions by sentence. `predict` makes new ones."""

    def __init__(self, predict: Callable[[Sequence[int]], Sequence[Prediction]]) -> None:
        self._predict = predict
        self._whole: OrderedDict[int, tuple[int, Prediction]] = OrderedDict()  # the version and the prediction
        self.marks: dict[int, Mark] = {}
        self._queue: deque[int] = deque()  # all sentences: those without a prediction, then the oldest first
        self._version, self._left = -1, 0  # of those that have a prediction, how many to look at for this version

    def last(self, sentence: int) -> Prediction | None:
        """Return the last prediction that is still known, of whatever version."""
        found = self._whole.get(sentence)
        return None if found is None else found[1]

    def fresh(self, sentences: Iterable[int], version: int) -> dict[int, Prediction]:
        """Return predictions of this version of the model; what is missing is made."""
        wanted = list(dict.fromkeys(sentences))
        missing = [one for one in wanted if self._whole.get(one, (-1,))[0] != version]
        for one, prediction in zip(missing, self._predict(missing), strict=True):
            self._whole[one] = (version, prediction)
            self.marks[one] = Mark(prediction.sure, doubt(prediction.probabilities), version, hash(prediction.tags))
        found = {one: self._whole[one][1] for one in wanted}
        for one in wanted:
            self._whole.move_to_end(one)
        while len(self._whole) > max(KEPT, len(wanted)):
            self._whole.popitem(last=False)
        return found

    def refresh(self, sentences: Collection[int], version: int, count: int) -> bool:
        """Make a few predictions that are missing or old; return whether there are more to make.

        All sentences get a first prediction; of those that have one, the oldest are made again. `sentences` only grow.
        """
        if len(sentences) > len(self._queue):
            self._queue.extendleft(reversed(list(islice(sentences, len(self._queue), None))))
        if self._version != version:
            self._version, self._left = version, min(POOL, len(self._queue))
        taken: list[int] = []
        for _ in range(min(LOOKED, len(self._queue))):
            if len(taken) == count or not self._more():
                break
            one = self._queue[0]
            self._queue.rotate(-1)
            self._left -= one in self.marks
            if one not in self.marks or self.marks[one].version != version:
                taken.append(one)
        self.fresh(taken, version)
        return self._more()

    def _more(self) -> bool:
        return bool(self._queue) and (self._left > 0 or self._queue[0] not in self.marks)
