"""Learn any structure with Algorithm 1: the loop knows samples, candidates, parts and rows, and nothing about chains.

    for each sample x, y* in random order:
        Y_n = the n best candidates under w                     structure.search
        y*  = the parts of the gold output                      structure.oracle
        a_k = P_k, or what another learner gives a candidate    WEIGH
        c   = sum_k a_k, for each part of y*, minus a_k for each part of y_k
        w  += rate * c * F(part)                                structure.rows, only for parts whose c is not 0
        regularize

A candidate is a list of parts, and a part is a number that its structure understands: an action of a parser in a
state, an entry of a list. The score of a candidate is the sum over its parts, and so is its update. Parts that all
candidates share with the oracle cancel, so an update costs as much as the candidates differ.

Chains have a loop of their own (learn/sapo.py), which does the same for a sentence in one call of a kernel.
tests/learn/test_structured.py shows that a chain that is learned as a structure gets the same weights.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapo.errors import OptionError, did_you_mean
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Floats, Longs, pieces_of
from sapo.learn.mira import solve_dual
from sapo.learn.records import out_of_bounds
from sapo.learn.settings import Settings
from sapo.learn.weights import CLOCK, SCALE, SMALLEST_SCALE, STATE_SIZE, STEPS
from sapo.search.lists import CandidateLists, best_of_list

LEAST = 1e-6  # coefficients of parts below it are rounding errors of sums that cancel
SAMPLES_PER_TURN = 256  # between two calls of `watch`
NO_VALUES = np.empty(0, np.float32)


class PartCandidates(NamedTuple):
    """The candidates of a sample, the best one first."""

    parts: Longs  # the parts of all candidates, one candidate after the other
    offsets: Longs  # [found + 1] where the parts of each candidate begin
    scores: Doubles  # [found]

    def of(self, k: int) -> Longs:
        """Return the parts of a candidate."""
        return self.parts[self.offsets[k] : self.offsets[k + 1]]


class PartRows(NamedTuple):
    """The features of some parts: which weights they have."""

    rows: Longs  # the features of all parts, one part after the other
    offsets: Longs  # [parts + 1] where the features of each part begin
    values: Floats = NO_VALUES  # of the features; empty if all are 1


class PartStructure(ABC):
    """The encoded samples of a corpus, and how to search their outputs.

    `search`, `oracle` and `rows` are called in this order for each sample, so a structure may keep what it found.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of samples."""

    @abstractmethod
    def search(self, sample: int, weights: "FlatWeights", n: int) -> PartCandidates:
        """Return the n best candidates under the weights, or fewer if there are fewer."""

    @abstractmethod
    def oracle(self, sample: int) -> Longs:
        """Return the parts of the gold output; none if there is nothing to learn from this sample.

        A search that lost the gold output may have returned candidates for the beginning of the sample only. Then this
        returns the gold parts of the same beginning.
        """

    @abstractmethod
    def rows(self, sample: int, parts: Longs) -> PartRows:
        """Return the features of these parts."""

    def cost(self, sample: int, candidates: PartCandidates, oracle: Longs) -> Doubles:
        """Return how wrong each candidate is, for MIRA: the number of gold parts that it does not have."""
        found = len(candidates.scores)
        return np.array([len(np.setdiff1d(oracle, candidates.of(k))) for k in range(found)], np.float64)


class FlatWeights:
    """The weights of a structure as one vector, w = scale * v, with what averaging needs (see learn/weights.py)."""

    def __init__(self, size: int) -> None:
        self.v: Floats = np.zeros(size, np.float32)
        self.sums: Doubles = np.empty(0)  # for averaging; empty before it begins
        self.state: Doubles = np.zeros(STATE_SIZE)
        self.state[SCALE] = 1.0

    @property
    def scale(self) -> float:
        return float(self.state[SCALE])

    def reserve(self, size: int) -> None:
        """Make room for at least this many weights."""
        if size > len(self.v):
            size = max(size, 2 * len(self.v))
            self.v = np.concatenate([self.v, np.zeros(size - len(self.v), np.float32)])
            if len(self.sums):
                self.sums = np.concatenate([self.sums, np.zeros(size - len(self.sums))])

    def begin_average(self) -> None:
        """From now on the result is the average of the weights over all steps to come."""
        self._fold()
        self.sums = np.zeros(len(self.v))
        self.state[CLOCK] = self.state[STEPS] = 0

    def add(self, rows: PartRows, amounts: Doubles) -> None:
        """w += amount * F(part), for each part."""
        if len(rows.rows):
            self.reserve(int(rows.rows.max()) + 1)
            add_rows(rows, amounts / self.scale, self.v, self.sums, float(self.state[CLOCK]))

    def end_sample(self, shrink: float) -> None:
        """Shrink the weights by L2, and count a step of the average."""
        self.state[SCALE] *= 1.0 - shrink
        self.state[CLOCK] += self.state[SCALE]
        self.state[STEPS] += 1
        if self.scale < SMALLEST_SCALE:
            self._fold()

    def _fold(self) -> None:
        # The sum of w over all steps is clock * v - sums; it stays the same when v takes the scale over.
        if len(self.sums):
            self.sums -= self.state[CLOCK] * self.v.astype(np.float64)
            self.state[CLOCK] = 0.0
        self.v *= np.float32(self.scale)
        self.state[SCALE] = 1.0

    def true_weights(self) -> Floats:
        """Return w, or its average over the steps since `begin_average`."""
        if not len(self.sums):
            return self.v * np.float32(self.scale)
        steps = max(1.0, float(self.state[STEPS]))
        average: Floats = ((self.v * self.state[CLOCK] - self.sums) / steps).astype(np.float32)
        return average

    @classmethod
    def of(cls, values: Floats) -> "FlatWeights":
        """Return weights to search with."""
        weights = cls(0)
        weights.v = values
        return weights


class GivenLists(PartStructure):
    """Lists of given candidates, and which one of each is right."""

    def __init__(self, lists: CandidateLists, gold: Longs) -> None:
        self.lists = lists
        self.gold = gold  # [samples] the place of the right candidate in its list; -1 if none is right

    def __len__(self) -> int:
        return len(self.lists.offsets) - 1

    def search(self, sample: int, weights: FlatWeights, n: int) -> PartCandidates:
        parts, scores = best_of_list(self.lists, sample, weights.v, weights.scale, n)
        return PartCandidates(parts, np.arange(len(parts) + 1), scores)

    def oracle(self, sample: int) -> Longs:
        place = int(self.gold[sample])
        return np.array([self.lists.offsets[sample] + place][: int(place >= 0)], np.int64)

    def rows(self, sample: int, parts: Longs) -> PartRows:
        offsets, places = pieces_of(self.lists.row_offsets, parts)
        values = self.lists.values
        return PartRows(self.lists.rows[places], offsets, values[places] if len(values) else values)


@kernel
def add_rows(rows: PartRows, amounts: Doubles, v: Floats, sums: Doubles, clock: float) -> None:
    """v[row] += amount * value for each row of each part, and the same times the clock for the average."""
    averaged = len(sums) > 0
    valued = len(rows.values) > 0
    for part in range(len(amounts)):
        amount = amounts[part]
        for i in range(rows.offsets[part], rows.offsets[part + 1]):
            change = amount * float(rows.values[i]) if valued else amount
            v[rows.rows[i]] += change
            if averaged:
                sums[rows.rows[i]] += change * clock


@dataclass(frozen=True, slots=True)
class Sample:
    """What a learner may look at: a sample, its candidates and its oracle."""

    structure: PartStructure
    number: int
    candidates: PartCandidates
    oracle: Longs
    weights: FlatWeights


def softmax_of(sample: Sample) -> Doubles:
    """SAPO: P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))."""
    return softmax_of_scores(sample.candidates.scores)


def softmax_of_scores(scores: Doubles) -> Doubles:
    """Return probabilities in proportion to the exponentials of scores."""
    odds = np.exp(scores - scores[0])
    shares: Doubles = odds / odds.sum()
    return shares


def best_only(sample: Sample) -> Doubles:
    """Perceptron: the best candidate against the oracle."""
    amounts = np.zeros(len(sample.candidates.scores))
    amounts[0] = 1.0
    return amounts


def smallest_step(sample: Sample) -> Doubles:
    """MIRA: the a_k of the smallest change that separates the oracle from all candidates (see learn/mira.py)."""
    candidates, oracle, weights = sample.candidates, sample.oracle, sample.weights
    found = len(candidates.scores)
    parts = np.unique(np.concatenate([candidates.parts, oracle]))
    rows = sample.structure.rows(sample.number, parts)
    weights.reserve(int(rows.rows.max(initial=-1)) + 1)
    distinct, at = np.unique(rows.rows, return_inverse=True)
    values = rows.values if len(rows.values) else np.ones(len(rows.rows), np.float32)
    differences = np.empty((found, len(distinct)))  # D_k = F(x, y*) - F(x, y_k)
    for k in range(found):
        counts = _counts(oracle, parts) - _counts(candidates.of(k), parts)
        differences[k] = np.bincount(at, np.repeat(counts, np.diff(rows.offsets)) * values, len(distinct))
    margins = differences @ (weights.v[distinct].astype(np.float64) * weights.scale)
    wanted = sample.structure.cost(sample.number, candidates, oracle) - margins
    dual = np.zeros(found)
    solve_dual(differences @ differences.T, wanted, found, dual)
    return dual


def _counts(some: Longs, parts: Longs) -> Doubles:
    """Return how often each of the sorted parts is among some of them."""
    return np.bincount(np.searchsorted(parts, some), minlength=len(parts)).astype(np.float64)


# What each candidate gets, whether one candidate is enough, and whether the rate and the regularizer count.
WEIGH: dict[str, tuple[Callable[[Sample], Doubles], bool, bool]] = {
    "sapo": (softmax_of, False, True),
    "perceptron": (best_only, True, False),
    "mira": (smallest_step, True, False),
    "mira-nbest": (smallest_step, False, False),
}


@dataclass(frozen=True, slots=True)
class StructureEpoch:
    """The measurements of an epoch."""

    epoch: int
    rate: float
    right: float  # share of the samples whose best candidate was the oracle
    candidates: float  # mean number
    loss: float  # mean of -log P(oracle); an oracle that was not found counts as LEAST
    score: float | None = None  # what `evaluate` returned


def learn_structure(
    structure: PartStructure,
    weights: FlatWeights,
    settings: Settings,
    *,
    learner: str = "sapo",
    evaluate: Callable[[Floats], float] | None = None,
    watch: Callable[[int, int, int], None] | None = None,
) -> list[StructureEpoch]:
    """Learn weights in place, for all epochs of the settings; return what was measured.

    `evaluate` scores the weights after each epoch, and the epoch with the best score is kept. `watch` is called now and
    then with the epoch and the number of its samples that are done and to be done.
    """
    if learner not in WEIGH:
        raise OptionError(f"unknown learner '{learner}' for structures{did_you_mean(learner, WEIGH)}")
    history: list[StructureEpoch] = []
    best: Floats | None = None
    for epoch in range(1, settings.epochs + 1):
        if settings.average and epoch == settings.averaged_from:
            weights.begin_average()
        done = _learn_epoch(structure, weights, settings, learner, epoch, watch)
        if evaluate is not None:
            now = weights.true_weights()
            score = evaluate(now)
            if best is None or score >= max(record.score or 0.0 for record in history):
                best = now
            done = StructureEpoch(done.epoch, done.rate, done.right, done.candidates, done.loss, score)
        history.append(done)
    final = weights.true_weights() if best is None else best
    weights.v, weights.sums, weights.state = final, np.empty(0), FlatWeights(0).state
    return history


def _learn_epoch(
    structure: PartStructure,
    weights: FlatWeights,
    settings: Settings,
    learner: str,
    epoch: int,
    watch: Callable[[int, int, int], None] | None,
) -> StructureEpoch:
    weigh, one, regularized = WEIGH[learner]
    n = 1 if one else settings.number
    rate = settings.rate_of(epoch) if regularized else 1.0
    shrink = settings.shrink_of(len(structure)) * rate / settings.rate if regularized else 0.0
    right, searched, loss = 0, 0, 0.0
    for done, number in enumerate(_order(len(structure), settings.seed, epoch)):
        candidates = structure.search(number, weights, n)
        oracle = structure.oracle(number)
        if len(candidates.scores) and len(oracle):
            if not math.isfinite(candidates.scores[0]):
                raise out_of_bounds(epoch, settings)
            amounts = weigh(Sample(structure, number, candidates, oracle, weights))
            parts, coefficients = part_coefficients(candidates, oracle, amounts)
            rank = _rank_of(oracle, candidates)
            right += rank == 0
            loss -= math.log(max(amounts[rank] if rank >= 0 else 0.0, LEAST)) if regularized else 0.0
            if len(parts):
                weights.add(structure.rows(number, parts), rate * coefficients)
        searched += len(candidates.scores)
        weights.end_sample(shrink)
        if watch is not None and ((done + 1) % SAMPLES_PER_TURN == 0 or done + 1 == len(structure)):
            watch(epoch, done + 1, len(structure))
    size = max(1, len(structure))
    return StructureEpoch(epoch, rate, right / size, searched / size, loss / size)


def _order(size: int, seed: int, epoch: int) -> Iterator[int]:
    yield from np.random.default_rng([seed, epoch]).permutation(size).tolist()


def part_coefficients(candidates: PartCandidates, oracle: Longs, amounts: Doubles) -> tuple[Longs, Doubles]:
    """Return the parts that an update changes, with their coefficients: sum_k a_k for the oracle, -a_k for y_k.

    >>> two = PartCandidates(np.array([7, 8, 7, 9]), np.array([0, 2, 4]), np.zeros(2))
    >>> parts, coefficients = part_coefficients(two, np.array([7, 8]), np.array([0.75, 0.25]))
    >>> parts.tolist(), coefficients.tolist()
    ([8, 9], [0.25, -0.25])
    """
    together: Longs = np.concatenate([oracle, candidates.parts])
    parts, places = np.unique(together, return_inverse=True)
    each = np.concatenate([np.full(len(oracle), amounts.sum()), -np.repeat(amounts, np.diff(candidates.offsets))])
    coefficients: Doubles = np.bincount(places, each, len(parts)).astype(np.float64)
    kept = np.abs(coefficients) > LEAST
    return parts[kept], coefficients[kept]


def _rank_of(oracle: Longs, candidates: PartCandidates) -> int:
    """Return the place of the candidate that is the oracle; -1 if none is."""
    gold = np.sort(oracle)
    for k in range(len(candidates.scores)):
        parts = candidates.of(k)
        if len(parts) == len(gold) and (np.sort(parts) == gold).all():
            return k
    return -1
