"""Structures in plain Python are learned, checked, and refused where they break a promise."""

from collections.abc import Callable, Sequence
from itertools import permutations

import pytest

from sapo.errors import DataError, SapoError
from sapo.learn.settings import Settings
from sapo.training.structure import check_structure, train_structure

Part = tuple[int, int]  # a row and its column


class Assignment:
    """Match rows with columns: the output is a permutation, searched by listing them all."""

    def outputs(self, x: Sequence[str]) -> list[tuple[int, ...]]:
        return list(permutations(range(len(x))))

    def search(self, x: Sequence[str], score: Callable[[Part], float], n: int) -> list[list[Part]]:
        every = [self.parts(x, y) for y in self.outputs(x)]
        return sorted(every, key=lambda parts: -sum(map(score, parts)))[:n]

    def parts(self, x: Sequence[str], y: tuple[int, ...]) -> list[Part]:
        return list(enumerate(y))

    def output(self, x: Sequence[str], parts: Sequence[Part]) -> tuple[int, ...]:
        return tuple(column for _, column in sorted(parts))

    def features(self, x: Sequence[str], part: Part) -> list[str]:
        row, column = part
        return [f"{x[row]} at {column}", f"{x[row]} moves {column - row}"]


PAIRS = [
    (("verb", "noun"), (1, 0)),
    (("noun", "verb"), (0, 1)),
    (("verb", "noun", "adverb"), (1, 0, 2)),
    (("adverb", "verb", "noun"), (2, 1, 0)),
]


@pytest.mark.parametrize("learner", ["sapo", "perceptron", "mira", "mira-nbest"])
def test_every_learner_learns_an_own_structure(learner: str) -> None:
    model = train_structure(PAIRS, Assignment(), learner=learner, settings=Settings(epochs=20, average=0.5))
    assert [model.predict(x) for x, _ in PAIRS] == [y for _, y in PAIRS]
    best = model.nbest(PAIRS[2][0], 3)
    assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
    assert sum(one.probability for one in best) == pytest.approx(1)


def test_an_explanation_adds_up_to_the_score() -> None:
    model = train_structure(PAIRS, Assignment())
    x = PAIRS[2][0]
    best = model.nbest(x, 1)[0]
    assert sum(model.explain(x, best.output).values()) == pytest.approx(best.score)


def test_a_structure_that_keeps_its_promises_passes() -> None:
    check_structure(Assignment(), PAIRS)
    check_structure(Assignment(), PAIRS, n=1)


class Unordered(Assignment):
    def search(self, x: Sequence[str], score: Callable[[Part], float], n: int) -> list[list[Part]]:
        return super().search(x, score, n)[::-1]


class Repeating(Assignment):
    def search(self, x: Sequence[str], score: Callable[[Part], float], n: int) -> list[list[Part]]:
        return super().search(x, score, 1) * min(n, 2)


class Inexact(Assignment):
    def search(self, x: Sequence[str], score: Callable[[Part], float], n: int) -> list[list[Part]]:
        return super().search(x, score, 10)[1 : n + 1]


class Greedy(Assignment):
    def search(self, x: Sequence[str], score: Callable[[Part], float], n: int) -> list[list[Part]]:
        return super().search(x, score, n)[:1]


class Lossy(Assignment):
    def output(self, x: Sequence[str], parts: Sequence[Part]) -> tuple[int, ...]:
        return tuple(range(len(x)))


class Fickle(Assignment):
    calls = 0

    def features(self, x: Sequence[str], part: Part) -> list[str]:
        self.calls += 1
        return [*super().features(x, part), f"call {self.calls}"]


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (Unordered(), "after one with a lower score"),
        (Repeating(), "the same candidate twice"),
        (Inexact(), "did not find the 5 best"),
        (Greedy(), "did not find the 5 best"),
        (Lossy(), "is not y"),
        (Fickle(), "must always return the same"),
    ],
)
def test_a_broken_promise_is_named(structure: Assignment, message: str) -> None:
    with pytest.raises(SapoError, match=message):
        check_structure(structure, PAIRS)


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(DataError, match="nothing to learn from"):
        train_structure([], Assignment())
