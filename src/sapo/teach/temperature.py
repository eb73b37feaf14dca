"""Fit the temperature of a teaching project to the sentences that people accepted.

The sentences of a project are the best test there is: each one is tagged before it is learned. The temperature that
makes what people accepted most likely is fitted to the last of them, by the rule of `sapo.training.temperature`.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapo.kernels.types import Ints
from sapo.model import Model
from sapo.search import viterbi
from sapo.search.lattice import Lattice
from sapo.search.probabilities import distribution
from sapo.tagger import decoding
from sapo.tagger.streams import encoded_batches
from sapo.training.temperature import LEAST, log_doubts, lowest, smoothed

WINDOW = 60  # sentences
FEWEST = 15
WIDEST = 8.0  # temperatures from an eighth to eight: more is chance


@dataclass(frozen=True, slots=True)
class Test:
    """A sentence before it was learned: its scores without a temperature, and its tags as labels of the model."""

    lattice: Lattice
    gold: Ints  # -1 for a label that the model did not know


class Tests:
    """The last sentences that people accepted."""

    def __init__(self) -> None:
        self._last: deque[Test] = deque(maxlen=WINDOW)
        self.new = 0  # since the last fit

    def add(self, model: Model, words: Sequence[str], tags: Sequence[str], session: Any = None) -> None:
        """Keep a sentence as the model sees it now; `tags` are in the scheme that the model shows."""
        corpus = next(encoded_batches(model, [words], session))
        lattice = decoding.sentence_lattice(model, corpus, 0, exact=True)
        numbers = {label: number for number, label in enumerate(model.labels)}
        gold = [numbers.get(tag, -1) for tag in decoding.learned_tags(model, tags)]
        # the weights of transitions are those of the model, which goes on learning
        kept = Lattice(lattice.node.copy(), lattice.edge.copy())
        self._last.append(Test(kept, np.array(gold, np.int32)))
        self.new += 1

    def taken(self) -> list[Test]:
        """Return the sentences to fit a temperature to; none while there are too few, or nothing new."""
        if len(self._last) < FEWEST or self.new < FEWEST:
            return []
        self.new = 0
        return list(self._last)


def fit(tests: Sequence[Test]) -> float | None:
    """Return the temperature that makes the accepted tags most likely, or None if none is best."""
    best = [viterbi(test.lattice).paths for test in tests]
    possible = [(test, paths[0]) for test, paths in zip(tests, best, strict=True) if len(paths)]

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        total, doubts = 0.0, []
        for test, path in possible:
            logs = distribution(test.lattice.tempered(temperature)).log_marginal()
            known = np.flatnonzero(test.gold >= 0)
            total -= float(np.maximum(logs[known, test.gold[known]], LEAST).sum())
            doubts.append(log_doubts(logs[known], path[known]))
        return smoothed(total, doubts)

    found = lowest(loss, 0.0)
    return None if found is None else min(max(math.exp(found), 1 / WIDEST), WIDEST)
