"""Learn a structure of your own: say in plain Python how its outputs are searched, and SAPO learns their weights.

`Structure` is the protocol, `train_structure` learns from pairs of inputs and outputs, and `check_structure` finds out
whether a structure keeps its promises. The loop is that of learn/structured.py; parts and features get numbers here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, Protocol, TypeVar
from zlib import crc32

import numpy as np

from sapo.errors import DataError, SapoError
from sapo.jit.arrays import Doubles, Longs, offsets_of
from sapo.learn.settings import Settings
from sapo.learn.structured import (
    FlatWeights,
    PartCandidates,
    PartRows,
    PartStructure,
    StructureEpoch,
    learn_structure,
    part_coefficients,
    softmax_of_scores,
)

X = TypeVar("X")
In = TypeVar("In", contravariant=True)
Y = TypeVar("Y")
P = TypeVar("P")

Features = Iterable[str] | Mapping[str, float]


class Structure(Protocol[In, Y, P]):
    """How outputs of one kind are searched and described. A part can be any value that can be a key of a dictionary."""

    def search(self, x: In, score: Callable[[P], float], n: int) -> Sequence[Sequence[P]]:
        """Return the n outputs of x whose parts have the highest sums of scores, each as its parts, the best first."""

    def parts(self, x: In, y: Y) -> Sequence[P]:
        """Return the parts of an output."""

    def output(self, x: In, parts: Sequence[P]) -> Y:
        """Return the output that has these parts."""

    def features(self, x: In, part: P) -> Features:
        """Return the features of a part: their names, or names with values."""


@dataclass(frozen=True, slots=True)
class FoundOutput(Generic[Y]):
    """An output that a structure found, with its probability among the n best."""

    output: Y
    score: float
    probability: float  # relative to the candidates that were found


@dataclass(frozen=True)
class StructureModel(Generic[X, Y, P]):
    """A structure and the weights of its features."""

    structure: Structure[X, Y, P]
    weights: Mapping[str, float]
    history: Sequence[StructureEpoch] = ()

    def predict(self, x: X) -> Y:
        """Return the best output of an input."""
        return self.nbest(x, 1)[0].output

    def nbest(self, x: X, n: int) -> list[FoundOutput[Y]]:
        """Return the n best outputs, the best one first."""
        score = _scorer(self.structure, x, self.weights)
        found = self.structure.search(x, score, n)
        if not found:
            raise DataError(f"the structure found no output for {_short(x)}; its search must return at least one")
        scores = np.array([sum(map(score, parts)) for parts in found], np.float64)
        probabilities = softmax_of_scores(scores).tolist()
        return [
            FoundOutput(self.structure.output(x, parts), total, probability)
            for parts, total, probability in zip(found, scores.tolist(), probabilities, strict=True)
        ]

    def explain(self, x: X, y: Y) -> dict[str, float]:
        """Return what each feature adds to the score of an output, the largest amounts first."""
        amounts: dict[str, float] = {}
        for part in self.structure.parts(x, y):
            for name, value in _items(self.structure.features(x, part)):
                amounts[name] = amounts.get(name, 0.0) + value * self.weights.get(name, 0.0)
        return dict(sorted(amounts.items(), key=lambda item: -abs(item[1])))


def train_structure(
    pairs: Iterable[tuple[X, Y]],
    structure: Structure[X, Y, P],
    *,
    settings: Settings | None = None,
    learner: str = "sapo",
    watch: Callable[[int, int, int], None] | None = None,
) -> StructureModel[X, Y, P]:
    """Learn the weights of a structure from pairs of inputs and outputs.

    `learner` is sapo, perceptron, mira or mira-nbest. `watch` is called now and then with the epoch and the number of
    its samples that are done and to be done. The weights are averaged over the second half of the epochs unless the
    settings say otherwise.

    >>> class Choice:
    ...     "The input is a list of words, and the output is one of them."
    ...     def search(self, x, score, n):
    ...         return [[word] for word in sorted(x, key=score, reverse=True)[:n]]
    ...     def parts(self, x, y):
    ...         return [y]
    ...     def output(self, x, parts):
    ...         return parts[0]
    ...     def features(self, x, part):
    ...         return [f"length={len(part)}", f"last={part[-1]}"]
    >>> model = train_structure([(["runs", "ran"], "runs"), (["sees", "saw", "seen"], "sees")], Choice())
    >>> model.predict(["took", "takes"])
    'takes'
    """
    samples = _Samples(list(pairs), structure)
    if not samples.pairs:
        raise DataError("there is nothing to learn from; give at least one pair of an input and an output")
    weights = FlatWeights(0)
    history = learn_structure(
        samples, weights, settings or Settings(epochs=15, average=0.5), learner=learner, watch=watch
    )
    return StructureModel(structure, samples.named(weights.v.tolist()), history)


def check_structure(structure: Structure[X, Y, P], pairs: Iterable[tuple[X, Y]], *, n: int = 5) -> None:
    """Raise SapoError if a structure does not keep its promises on these pairs.

    With weights that are random and fixed: the candidates are different, ordered by score, and at most n; the gold
    output has parts and comes back from them; no candidate that a larger n finds is better than one that a smaller n
    finds; a gold output that scores higher than the best candidate shows that the search is not exact; and an update
    is F(x, y*) - sum_k P_k F(x, y_k). A structure with a method `outputs(x)` that lists all outputs is compared with
    the list.
    """
    for number, (x, y) in enumerate(pairs, 1):
        place = f"pair {number}"
        weights = _RandomWeights()
        score = _scorer(structure, x, weights)
        totals, found = _search(structure, x, score, n, place)
        gold = list(structure.parts(x, y))
        if structure.output(x, gold) != y:
            raise SapoError(f"{place}: output(x, parts(x, y)) is not y but {_short(structure.output(x, gold))}")
        fewer, _ = _search(structure, x, score, max(1, n // 2), place)
        if any(abs(a - b) > 1e-9 for a, b in zip(totals, fewer, strict=False)):
            raise SapoError(f"{place}: the best {len(fewer)} of search(n={n}) are not those of search(n={len(fewer)})")
        listed = getattr(structure, "outputs", None)
        if listed is None:
            gold_score = sum(map(score, gold))
            if gold_score > totals[0] + 1e-9:
                raise SapoError(f"{place}: the gold output scores {gold_score:.6g}, more than the best candidate")
        else:
            every = sorted((sum(map(score, structure.parts(x, one))) for one in listed(x)), reverse=True)
            if len(totals) != min(n, len(every)) or any(abs(a - b) > 1e-9 for a, b in zip(totals, every, strict=False)):
                raise SapoError(f"{place}: search did not find the {n} best of the {len(every)} outputs")
        _check_update(structure, x, y, found, totals, place)


def _search(
    structure: Structure[X, Y, P], x: X, score: Callable[[P], float], n: int, place: str
) -> tuple[list[float], Sequence[Sequence[P]]]:
    """Search, and check what can be checked without the gold output."""
    found = structure.search(x, score, n)
    if not 1 <= len(found) <= n:
        raise SapoError(f"{place}: search(n={n}) returned {len(found)} candidates; return 1 to {n}")
    outputs = [frozenset(parts) for parts in found]
    if len(set(outputs)) < len(outputs):
        raise SapoError(f"{place}: search(n={n}) returned the same candidate twice")
    totals = [float(sum(map(score, parts))) for parts in found]
    if any(a < b - 1e-9 for a, b in pairwise(totals)):
        raise SapoError(f"{place}: search(n={n}) returned a candidate after one with a lower score")
    return totals, found


def _check_update(
    structure: Structure[X, Y, P], x: X, y: Y, found: Sequence[Sequence[P]], totals: Sequence[float], place: str
) -> None:
    samples = _Samples([(x, y)], structure)
    candidates = samples.numbered(0, found, np.array(totals))
    probability = softmax_of_scores(candidates.scores)
    parts, coefficients = part_coefficients(candidates, samples.oracle(0), probability)
    rows = samples.rows(0, parts)
    weights = FlatWeights(0)
    weights.add(rows, coefficients)
    changed = samples.named(weights.v.tolist())
    wanted: dict[str, float] = {}
    every = [(1.0, structure.parts(x, y)), *((-p, one) for p, one in zip(probability.tolist(), found, strict=True))]
    for amount, parts_of_one in every:
        for part in parts_of_one:
            for name, value in _items(structure.features(x, part)):
                wanted[name] = wanted.get(name, 0.0) + amount * value
    for name, amount in wanted.items():
        if not math.isclose(changed.get(name, 0.0), amount, rel_tol=1e-4, abs_tol=1e-4):
            raise SapoError(
                f"{place}: the update of the feature '{name}' is {changed.get(name, 0.0):.6g}, not {amount:.6g}; "
                "features(x, part) must always return the same"
            )


class _Samples(PartStructure, Generic[X, Y, P]):
    """Pairs of inputs and outputs as the learning loop takes them: parts and features are numbers."""

    def __init__(self, pairs: Sequence[tuple[X, Y]], structure: Structure[X, Y, P]) -> None:
        self.pairs = pairs
        self.structure = structure
        self._features: dict[str, int] = {}
        self._parts: dict[P, int] = {}  # of the current sample
        self._rows: dict[P, list[tuple[int, float]]] = {}

    def __len__(self) -> int:
        return len(self.pairs)

    def search(self, sample: int, weights: FlatWeights, n: int) -> PartCandidates:
        self._parts, self._rows = {}, {}
        x = self.pairs[sample][0]
        v, scale = weights.v, weights.scale
        scores: dict[P, float] = {}

        def score(part: P) -> float:
            if part not in scores:
                known = ((row, value) for row, value in self._rows_of(x, part) if row < len(v))
                scores[part] = scale * sum(float(v[row]) * value for row, value in known)
            return scores[part]

        found = self.structure.search(x, score, n)
        return self.numbered(sample, found, np.array([sum(map(score, parts)) for parts in found], np.float64))

    def numbered(self, sample: int, found: Sequence[Sequence[P]], scores: Doubles) -> PartCandidates:
        """Return candidates with numbers for their parts."""
        flat = np.array([self._number(part) for parts in found for part in parts], np.int64)
        return PartCandidates(flat, offsets_of(np.array([len(parts) for parts in found], np.int64)), scores)

    def oracle(self, sample: int) -> Longs:
        x, y = self.pairs[sample]
        return np.array([self._number(part) for part in self.structure.parts(x, y)], np.int64)

    def rows(self, sample: int, parts: Longs) -> PartRows:
        by_number = list(self._parts)
        x = self.pairs[sample][0]
        each = [self._rows_of(x, by_number[number]) for number in parts.tolist()]
        return PartRows(
            np.array([row for rows in each for row, _ in rows], np.int64),
            offsets_of(np.array([len(rows) for rows in each], np.int64)),
            np.array([value for rows in each for _, value in rows], np.float32),
        )

    def named(self, values: Sequence[float]) -> dict[str, float]:
        """Return the weights that are not zero, by the names of their features."""
        return {name: values[row] for name, row in self._features.items() if row < len(values) and values[row]}

    def _number(self, part: P) -> int:
        return self._parts.setdefault(part, len(self._parts))

    def _rows_of(self, x: X, part: P) -> list[tuple[int, float]]:
        if part not in self._rows:
            numbers = self._features
            self._rows[part] = [
                (numbers.setdefault(name, len(numbers)), float(value))
                for name, value in _items(self.structure.features(x, part))
            ]
        return self._rows[part]


class _RandomWeights(dict[str, float]):
    """Weights between -1 and 1 that depend on the name of a feature only."""

    def get(self, name: str, default: float = 0.0) -> float:  # type: ignore[override]
        return crc32(name.encode()) / 2**31 - 1.0


def _scorer(structure: Structure[X, Y, P], x: X, weights: Mapping[str, float]) -> Callable[[P], float]:
    scores: dict[P, float] = {}

    def score(part: P) -> float:
        if part not in scores:
            items = _items(structure.features(x, part))
            scores[part] = sum(value * weights.get(name, 0.0) for name, value in items)
        return scores[part]

    return score


def _items(features: Features) -> Iterable[tuple[str, float]]:
    return features.items() if isinstance(features, Mapping) else ((name, 1.0) for name in features)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
