"""Test whether two systems differ, from what they did on the same sentences.

Randomization (Noreen 1989; Yeh 2000) tests the score itself: if the systems are equally good, it makes no difference
which of the two gave which output. So swap the outputs of random sentences, and count how often the difference in F1 is
at least as large as the observed one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapo.errors import DataError, OptionError
from sapo.evaluate.scores import correct_spans, fraction
from sapo.tags.schemes import label_kinds, looks_like_spans
from sapo.tags.spans import read_spans

EXACT = 1 << 12  # try all swaps if there are at most this many: always for 12 sentences that differ
_CELLS = 1 << 20  # coins at a time
_ROUNDING = 1e-12  # differences closer than this are equal, computed in two ways


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """Numbers of spans or tokens for each sentence: in gold, found, and correct."""

    gold: NDArray[np.int64]  # [sentences]
    found: NDArray[np.int64]
    correct: NDArray[np.int64]

    @property
    def f1(self) -> float:
        """The F1 of all sentences together; for counts of tokens, the accuracy."""
        return fraction(2 * int(self.correct.sum()), self._size)

    @property
    def _size(self) -> int:
        return int(self.gold.sum() + self.found.sum())

    def _shares(self) -> NDArray[np.float64]:
        """Return by how much each sentence moves the F1, to first order."""
        shares: NDArray[np.float64] = (2 * self.correct - self.f1 * (self.gold + self.found)) / max(1, self._size)
        return shares


def difference_error(a: SentenceCounts, b: SentenceCounts) -> float:
    """Return the standard error of the difference in F1 between two systems on the same sentences.

    It is smaller than that of either score, because most sentences are hard or easy for both.

    >>> gold = np.full(100, 2)
    >>> a, b = (SentenceCounts(gold, gold, np.array(right * 25)) for right in ([2, 1, 2, 1], [2, 1, 2, 2]))
    >>> round(difference_error(a, a), 3), round(difference_error(a, b), 3)
    (0.0, 0.022)
    """
    return math.sqrt(float(np.square(a._shares() - b._shares()).sum()))


def sentence_counts(
    labels: Sequence[str], gold: NDArray[np.int32], predicted: NDArray[np.int32], offsets: NDArray[np.int64]
) -> SentenceCounts:
    """Count by sentence what the main score counts: spans if the labels mark spans, or else tokens."""
    if looks_like_spans(labels):
        return span_counts(labels, gold, predicted, offsets)
    return token_counts(gold, predicted, offsets)


def token_counts(gold: NDArray[np.int32], predicted: NDArray[np.int32], offsets: NDArray[np.int64]) -> SentenceCounts:
    """Count tokens by sentence. Every token counts as found, so that F1 over these counts is the accuracy.

    >>> counts = token_counts(np.array([1, 2, 0]), np.array([1, 0, 0]), np.array([0, 2, 3]))
    >>> counts.gold.tolist(), counts.correct.tolist()
    ([2, 1], [1, 1])
    """
    right_so_far = np.append(0, np.cumsum(gold == predicted))
    tokens = np.diff(offsets)
    return SentenceCounts(tokens, tokens, right_so_far[offsets[1:]] - right_so_far[offsets[:-1]])


def span_counts(
    labels: Sequence[str], gold: NDArray[np.int32], predicted: NDArray[np.int32], offsets: NDArray[np.int64]
) -> SentenceCounts:
    """Count spans by sentence, as conlleval reads them.

    >>> gold, predicted = np.array([1, 2, 1], dtype=np.int32), np.array([1, 1, 1], dtype=np.int32)
    >>> counts = span_counts(["O", "B-NP", "I-NP"], gold, predicted, np.array([0, 2, 3]))
    >>> counts.gold.tolist(), counts.found.tolist(), counts.correct.tolist()
    ([1, 1], [2, 1], [0, 1])
    """
    kinds = label_kinds(labels)
    gold_spans, found_spans = (read_spans(kinds, tags, offsets) for tags in (gold, predicted))
    correct = correct_spans(kinds, gold_spans, found_spans, len(gold))

    def by_sentence(starts: NDArray[np.int64]) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = np.bincount(
            np.searchsorted(offsets, starts, side="right") - 1, minlength=len(offsets) - 1
        )
        return counts

    return SentenceCounts(
        by_sentence(gold_spans.starts), by_sentence(found_spans.starts), by_sentence(found_spans.starts[correct])
    )


def bootstrap_interval(
    counts: SentenceCounts,
    groups: Sequence[int] | None = None,
    *,
    rounds: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the interval that holds the F1 of this share of the samples drawn from the sentences, with replacement.

    `groups` numbers the document of each sentence, if whole documents are to be drawn. For accuracy give counts of
    tokens. This is the percentile bootstrap (Efron 1979): it says how much the score may differ on other sentences of
    the same kind. Without any error all samples would be alike; then the rule of three bounds it: 3 errors in the
    number of gold spans.

    >>> counts = SentenceCounts(np.full(50, 2), np.full(50, 2), np.array([2, 1] * 25))
    >>> low, high = bootstrap_interval(counts)
    >>> low < 0.75 < high, high - low < 0.2
    (True, True)
    """
    rows = np.column_stack([counts.gold, counts.found, counts.correct]).astype(np.float64)
    if groups is not None:
        places = np.unique(np.asarray(groups), return_inverse=True)[1]
        joined = np.zeros((int(places.max(initial=-1)) + 1, 3))
        np.add.at(joined, places, rows)
        rows = joined
    if not len(rows):
        return 0.0, 0.0
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), rounds) @ rows  # [rounds, 3]
    both = drawn[:, 0] + drawn[:, 1]
    scores = np.divide(2 * drawn[:, 2], both, out=np.zeros(rounds), where=both > 0)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2]).tolist()
    if low == high == 1:
        low = max(0.0, 1 - 3 / float(rows[:, 0].sum()))
    return low, high


@dataclass(frozen=True, slots=True)
class Randomization:
    """The result of a randomization test."""

    difference: float  # in F1 or accuracy, above 0 if the first system is better
    p: float  # two-sided
    rounds: int  # number of swaps
    exact: bool  # whether these are all possible swaps


def randomization_test(
    a: SentenceCounts,
    b: SentenceCounts,
    *,
    rounds: int = 10_000,
    seed: int = 0,
    exact: int = EXACT,
    watch: Callable[[int], None] | None = None,
) -> Randomization:
    """Test whether the F1 of a and b is the same; for accuracy give counts of tokens (`token_counts`).

    At random, p = (swaps with a difference as large + 1) / (rounds + 1). If at most `exact` swaps can give
    different results, all of them are tried, each by its probability, and `rounds` and `seed` have no effect.
    `watch` is called now and then with the number of rounds done.

    >>> gold = np.array([3, 2, 4, 3, 1])
    >>> a, b = (SentenceCounts(gold, gold, np.array(right)) for right in ([3, 2, 3, 3, 1], [2, 1, 3, 1, 0]))
    >>> result = randomization_test(a, b)
    >>> round(result.difference, 4), result.p, result.exact
    (0.3846, 0.125, True)
    """
    _check(a, b, rounds, seed)
    gold = int(a.gold.sum())
    both = np.array([(a.correct + b.correct).sum(), (a.found + b.found).sum()])
    moves = _moves(np.column_stack([a.correct - b.correct, a.found - b.found]))
    observed = np.array([[(a.correct - b.correct).sum(), (a.found - b.found).sum()]])
    difference = float(_differences(observed, both, gold)[0])

    def as_large(moved: NDArray[np.float64]) -> NDArray[np.bool_]:
        large: NDArray[np.bool_] = np.abs(_differences(moved, both, gold)) >= abs(difference) - _ROUNDING
        return large

    kinds, sizes = np.unique(moves, axis=0, return_counts=True)
    arrangements = math.prod(n + 1 for n in sizes.tolist())
    if arrangements <= max(1, exact):  # 1: there is nothing to swap
        moved, chances = _all_swaps(kinds, sizes)
        return Randomization(difference, min(1.0, float(chances[as_large(moved)].sum())), arrangements, exact=True)
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS // len(moves))
    count = 0
    for done in range(0, rounds, at_once):
        count += int(as_large(_coins(rng, min(at_once, rounds - done), len(moves)) @ moves).sum())
        if watch is not None:
            watch(min(done + at_once, rounds))
    return Randomization(difference, (count + 1) / (rounds + 1), rounds, exact=False)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for multiple comparisons, by Holm's step-down method.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return corrected


def _moves(differences: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what sentences add to the differences of correct and of found, without the sign, which a swap inverts.

    Without signs the same coins give the same p, whichever system comes first.
    """
    differences = differences[differences.any(axis=1)]
    negative = (differences[:, 0] < 0) | ((differences[:, 0] == 0) & (differences[:, 1] < 0))
    return np.where(negative[:, np.newaxis], -differences, differences).astype(np.float64)


def _coins(rng: np.random.Generator, rounds: int, sentences: int) -> NDArray[np.float64]:
    """Return 1 or -1 for every round and sentence, each from one random bit."""
    words = rng.integers(0, 1 << 64, (rounds, -(-sentences // 64)), dtype=np.uint64).astype("<u8", copy=False)
    coins = np.unpackbits(words.view(np.uint8), axis=1, count=sentences).astype(np.float64)
    coins *= 2
    coins -= 1
    return coins


def _all_swaps(kinds: NDArray[np.float64], sizes: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all results that swaps can have, and their probabilities.

    Of n sentences with the same move, k keep the sign and n - k invert it: together (2k - n) moves. Which k these are
    makes no difference, so there are n + 1 cases instead of 2^n.
    """
    moved, chances = np.zeros((1, 2)), np.ones(1)
    for move, n in zip(kinds, sizes.tolist(), strict=True):
        steps = np.arange(-n, n + 1, 2)[:, np.newaxis] * move
        moved = (moved[:, np.newaxis] + steps).reshape(-1, 2)
        chances = np.outer(chances, [math.comb(n, k) / 2**n for k in range(n + 1)]).ravel()
    return moved, chances


def _differences(moved: NDArray[np.float64], both: NDArray[np.int64], gold: int) -> NDArray[np.float64]:
    """Return F1 of the first minus F1 of the second, from the differences and the sums of their correct and found."""
    return _f1(both + moved, gold) - _f1(both - moved, gold)


def _f1(doubled: NDArray[np.float64], gold: int) -> NDArray[np.float64]:
    """Return F1 = 2 correct / (gold + found), given rows of [2 correct, 2 found]."""
    whole = 2 * gold + doubled[:, 1]
    return np.divide(2 * doubled[:, 0], whole, out=np.zeros(len(doubled)), where=whole > 0)


def _check(a: SentenceCounts, b: SentenceCounts, rounds: int, seed: int) -> None:
    if len({len(row) for counts in (a, b) for row in (counts.gold, counts.found, counts.correct)}) != 1:
        raise DataError("randomization test: both systems must have counts of the same sentences")
    if not np.array_equal(a.gold, b.gold):
        raise DataError("randomization test: both systems must have the same counts of gold")
    if rounds < 1:
        raise OptionError(f"randomization test: rounds must be at least 1, found {rounds}")
    if seed < 0:
        raise OptionError(f"randomization test: the seed must be 0 or more, found {seed}")
