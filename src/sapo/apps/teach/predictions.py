"""Predict the open sentences of a project, and choose which ones to look at next.

A sentence is named by its index. `doubt` says how unsure a model is of one. `Variety` knows the words of all sentences
and which are labeled, and says how much of a sentence is new. `choose` puts both into an order.
"""

import heapq
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from sapo.apps.taggers import OUTSIDE, SPANS, doubt
from sapo.apps.teach.state import NOTHING
from sapo.corpus.annotations import TaggedSpan
from sapo.errors import SapoError, did_you_mean
from sapo.jit.arrays import Doubles, Longs
from sapo.tagger.decoding import best_taggings
from sapo.tagger.model import Model


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says about a sentence. Probabilities are over all taggings."""

    tags: tuple[str, ...]  # IOB2, or a label for each token
    probabilities: tuple[float, ...]  # of each tag
    spans: tuple[TaggedSpan, ...]
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
    """Return the prediction where there is no model."""
    tags = (OUTSIDE if kind == SPANS else NOTHING,) * tokens
    return Prediction(tags, (0.0,) * tokens, (), 0.0, 0.0, 0.0 if kind == SPANS else float(tokens))


def predict(model: Model, kind: str, sentences: Sequence[Sequence[str]], session: Any = None) -> Iterator[Prediction]:
    """Tag sentences. A model without spans, because it has seen none, digests none."""
    for one in best_taggings(model, sentences, session):
        tags, tokens, expected, likely = one.tags, len(one.tags), sum(one.probabilities), float(len(one.tags))
        if kind == SPANS:
            tags = [OUTSIDE] * tokens
            for span in one.spans:  # in IOB2
                tags[span.start : span.end] = [f"B-{span.type}", *[f"I-{span.type}"] * (span.end - span.start - 1)]
            expected, likely = sum(span.probability for span in one.spans), one.expected_spans
        spans = tuple(one.spans) if kind == SPANS else ()
        sure = math.exp(one.log_probability / max(tokens, 1))
        yield Prediction(tuple(tags), tuple(one.probabilities), spans, sure, expected, likely)


ORDERS = ("least-sure", "different", "random", "in-order")
DECAY = 0.5  # what a word is worth counts this much each time that it is labeled
SHORTLIST = 4  # least-sure sentences for each one that is chosen, of which those that differ are taken


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
        """Return the sentences that bring most, best first, each given those before it.

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
    """Return a number that looks random, always the same for the same arguments (the finalizer of SplitMix64)."""
    mask = (1 << 64) - 1
    mixed = (number * 0x9E3779B97F4A7C15 + (seed + 1) * 0xD1B54A32D192ED03) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    return mixed ^ (mixed >> 31)


KEPT = 5000  # whole predictions
LOOKED = 1000  # sentences at a time that may turn out to be tagged already
POOL = 1000  # sentences that are tagged again, in idle time, after each change of the model


@dataclass(frozen=True, slots=True)
class PredictionDigest:
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
        self.digests: dict[int, PredictionDigest] = {}
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
            self.digests[one] = PredictionDigest(
                prediction.sure, doubt(prediction.probabilities), version, hash(prediction.tags)
            )
        found = {one: self._whole[one][1] for one in wanted}
        for one in wanted:
            self._whole.move_to_end(one)
        while len(self._whole) > max(KEPT, len(wanted)):
            self._whole.popitem(last=False)
        return found

    def forget(self, sentence: int) -> None:
        """Drop what was said about a sentence."""
        self._whole.pop(sentence, None)
        self.digests.pop(sentence, None)

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
            self._left -= one in self.digests
            if one not in self.digests or self.digests[one].version != version:
                taken.append(one)
        self.fresh(taken, version)
        return self._more()

    def _more(self) -> bool:
        return bool(self._queue) and (self._left > 0 or self._queue[0] not in self.digests)
