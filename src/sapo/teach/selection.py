"""What a tagger says about open sentences in, those that a person should look at next out.

A sentence is named by its index. `doubt` says how unsure a model is of one. `Variety` knows the words of all sentences
and which are labelled, and says how much of a sentence is new. `choose` puts both into an order.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from sapo.errors import SapoError, did_you_mean
from sapo.kernels.types import Doubles, Longs

ORDERS = ("least-sure", "different", "random", "in-order")
LEAST = 3  # tokens that decide how unsure a sentence is
DECAY = 0.5  # what a word is worth counts this much each time that it is labelled
SHORTLIST = 4  # least-sure sentences for each one that is chosen, of which those that differ are taken


def doubt(probabilities: Sequence[float]) -> float:
    """Return how unsure a model is of a sentence, from 0 to 1. `probabilities` are those of the tags of its tokens.

    It is the mean of 1 - probability over the three least sure tokens. The whole sentence would favour long sentences,
    and the mean of all tokens would favour fragments of one or two words, which teach little.

    >>> round(doubt([0.9, 0.5, 1.0, 0.6]), 2)
    0.33
    >>> doubt([0.4]) < doubt([0.4, 0.9, 0.9])
    True
    """
    return sum(sorted((1.0 - share for share in probabilities), reverse=True)[:LEAST]) / LEAST


class Variety:
    """How much there is to learn from the words of each sentence: words that are frequent, and seldom labelled yet.

    A word counts by the logarithm of the number of sentences that have it, and half as much each time that one of
    them is labelled. A word of one sentence counts nothing: no other sentence would gain. A sentence has the sum over
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
        self._labelled: Longs = np.zeros(len(numbers), np.int64)

    def __len__(self) -> int:
        return len(self._sizes)

    def label(self, sentence: int) -> None:
        """Take a sentence as labelled."""
        self._labelled[self._of(sentence)] += 1

    def unlabel(self, sentence: int) -> None:
        """Take back `label`."""
        self._labelled[self._of(sentence)] -= 1

    def choose(self, sentences: Sequence[int], count: int, weights: Sequence[float] | None = None) -> list[int]:
        """Return the sentences that bring most, best first, each beside those before it.

        `weights` multiply what each of the sentences brings.
        """
        values = self._worth * DECAY**self._labelled
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
