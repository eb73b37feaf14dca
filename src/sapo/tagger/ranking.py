"""Rank the n best taggings of a sentence: with their probabilities, among each other and among all taggings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sapo.corpus.predictions import RankedTagging
from sapo.kernels.types import Doubles, Ints
from sapo.model import Model
from sapo.search import Candidates
from sapo.search.probabilities import Distribution, tempered
from sapo.search.stream import PATHS, StreamedSearch


def ranked(model: Model, found: Candidates, distribution: Distribution) -> list[RankedTagging]:
    """Return the candidates of a sentence with their probabilities."""
    shares = tempered(found, model.temperature).probabilities.tolist()
    exact = distribution.probabilities(found)
    return [RankedTagging(*values) for values in zip(model.as_shown(found.paths), shares, exact, strict=True)]


@dataclass(frozen=True, slots=True)
class ManyRanked:
    """The same for many candidates, which are made on demand, some hundred at a time."""

    model: Model
    distribution: Distribution
    scores: Doubles  # [found]
    paths: Callable[[int, int], Ints]  # of the candidates from one number up to another

    @classmethod
    def of_search(cls, model: Model, distribution: Distribution, search: StreamedSearch) -> "ManyRanked":
        """Return all taggings that a search has found."""
        return cls(model, distribution, search.scores(), search.paths)

    @classmethod
    def of_candidates(cls, model: Model, distribution: Distribution, found: Candidates) -> "ManyRanked":
        """Return these candidates."""
        return cls(model, distribution, found.scores, lambda begin, end: found.paths[begin:end])

    @property
    def mass(self) -> float:
        """How much of the probability of all taggings they have."""
        return min(float(np.exp(self.scores / self.model.temperature - self.distribution.log_z).sum()), 1.0)

    def __iter__(self) -> Iterator[RankedTagging]:
        top = self.scores[:1] / self.model.temperature
        odds = np.exp(self.scores / self.model.temperature - top)
        shares = odds / odds.sum()
        for begin in range(0, len(shares), PATHS):
            some = self.paths(begin, min(begin + PATHS, len(shares)))
            for path, shown, share in zip(some, self.model.as_shown(some), shares[begin:].tolist(), strict=False):
                yield RankedTagging(shown, share, self.distribution.probability(path))
