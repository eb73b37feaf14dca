"""Compute the probabilities of a lattice: two kinds, with different names.

Over all taggings (`Distribution`, by forward-backward, exact): of a tagging, of a token's label (marginals), of a span.
Over the n best taggings alone (`top_n_...`, the paper's P_k): of a token's label, of a span. How much of the first kind
the n best have is `top_n_mass`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sapo.errors import SapoError
from sapo.kernels import background, forward
from sapo.kernels import spans as span_kernels
from sapo.kernels.types import Bools, Doubles, Ints
from sapo.search import Candidates
from sapo.search.lattice import Lattice
from sapo.tags import Span, as_prefixed, joined, looks_like_spans, loose_spans, type_of

SLOW = 10  # times as long as a search take sums: they need exponentials


@dataclass(frozen=True, slots=True)
class Distribution:
    """All taggings of a sentence, each with probability exp(score) / Z, or 0 if all are forbidden."""

    lattice: Lattice
    log_z: float  # log of the sum of exp(score) over all taggings
    marginal: Doubles  # [tokens, labels] P(the token has the label)
    log_alpha: Doubles  # [tokens, labels] of what leads to a node, each row up to a constant
    log_beta: Doubles  # [tokens, labels] of what follows it, where something leads to it

    def probability(self, path: "Ints | list[int]") -> float:
        """Return the probability of one tagging."""
        score = self.lattice.path_score(path)
        return math.exp(min(score - self.log_z, 0.0)) if score > -math.inf else 0.0

    def probabilities(self, candidates: Candidates) -> list[float]:
        """Return the probabilities, over all taggings, of the taggings that a search has found."""
        return [self.probability(path) for path in candidates.paths]

    def top_n_mass(self, candidates: Candidates) -> float:
        """Return the total probability of these candidates."""
        return min(sum(self.probabilities(candidates)), 1.0)

    def log_marginal(self) -> Doubles:
        """The logarithms of the marginals, also of those too small for a floating-point number."""
        if self.log_z == -math.inf or not self.lattice.tokens:
            return np.full_like(self.marginal, -np.inf)
        logs: Doubles = self.log_alpha + self.log_beta
        top = logs.max(axis=1, keepdims=True)
        logs -= top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        lists = self.lattice.lists
        if lists is None:
            return logs
        found = np.full_like(self.marginal, -np.inf)
        tokens = np.arange(len(logs))[:, np.newaxis]
        np.maximum.at(found, (tokens, lists), logs)
        return found

    def span_probabilities(self, reading: "SpanReading", spans: Sequence[Span]) -> Doubles:
        """Return, for each span, the probability that the tagging has exactly this span with this type."""
        found = np.zeros(len(spans))
        if self.log_z == -math.inf or not len(spans):
            return found
        wanted = span_kernels.Spans(
            *(
                np.array(values, np.int32)
                for values in zip(
                    *((span.start, span.end, reading.number_of(span.type)) for span in spans), strict=True
                )
            )
        )
        lattice = self.lattice
        background.call(
            span_kernels.span_probabilities,
            lattice.node,
            lattice.steps,
            self.log_alpha,
            self.log_beta,
            self.marginal,
            reading.types,
            reading.joined,
            wanted,
            found,
            steps=SLOW * lattice.node.size * lattice.labels,
        )
        return found


def distribution(lattice: Lattice) -> Distribution:
    """Sum over all taggings of a sentence.

    >>> import numpy as np
    >>> both = distribution(Lattice(np.log([[1, 3]]).astype(np.float32), np.zeros((2, 2), np.float32)))
    >>> both.marginal.round(6).tolist(), round(both.probability([1]), 6)
    ([[0.25, 0.75]], 0.75)
    """
    T, L = lattice.node.shape
    alpha, beta, marginal = (np.empty((T, L), np.float64) for _ in range(3))
    if T == 0:
        return Distribution(lattice, 0.0, marginal, alpha, beta)
    node, edge = np.ascontiguousarray(lattice.node), np.ascontiguousarray(lattice.steps)
    pairs = np.empty(edge.shape, np.float64)
    arrays = (node, edge, T, alpha, beta, marginal, pairs)
    log_z = float(background.call(forward.forward_backward_logs, *arrays, steps=SLOW * T * L * L))
    if log_z == -math.inf:
        marginal[:] = 0.0
    if lattice.lists is not None:
        marginal = _of_labels(marginal, lattice.lists, lattice.labels)
    return Distribution(lattice, log_z, marginal, alpha, beta)


def _of_labels(values: Doubles, lists: Ints, labels: int) -> Doubles:
    """Return values of nodes as values of labels, [tokens, labels]; those of labels without a node are 0."""
    found = np.zeros((len(values), labels))
    np.add.at(found, (np.arange(len(values))[:, np.newaxis], lists), values)
    return found


@dataclass(frozen=True, slots=True)
class SpanReading:
    """How spans are read from labels: as conlleval does, in every scheme, even if a tagging breaks its scheme."""

    names: tuple[str, ...]  # of the types; the first is that of O
    types: Ints  # [labels] places in names
    joined: Bools  # [labels, labels] whether y after p goes on with the span of p

    def number_of(self, type: str) -> int:
        if type not in self.names[1:]:
            raise SapoError(f"the model has no spans of type '{type}'; known: {', '.join(self.names[1:])}")
        return self.names.index(type)


@lru_cache(maxsize=16)
def span_reading(labels: tuple[str, ...]) -> SpanReading:
    """
    >>> reading = span_reading(("O", "B-NP", "I-NP"))
    >>> reading.names, reading.joined[1].tolist()
    (('', 'NP'), [False, False, True])
    """
    if not looks_like_spans(labels):
        raise SapoError(f"spans need labels such as B-NP; this model predicts {', '.join(labels)[:60]}")
    labels = tuple(as_prefixed(labels))
    names = tuple(dict.fromkeys(["", *map(type_of, labels)]))
    types = np.array([names.index(type_of(label)) for label in labels], np.int32)
    return SpanReading(names, types, np.array([[joined(p, y) for y in labels] for p in labels]))


def check_span(start: int, end: int, tokens: int) -> None:
    if not 0 <= start < end <= tokens:
        raise SapoError(f"span {start}:{end} is not in the sentence; it has {tokens} tokens, so keep within 0:{tokens}")


def tempered(candidates: Candidates, temperature: float) -> Candidates:
    """Return the same candidates with all scores divided by the temperature."""
    return Candidates(candidates.paths, candidates.scores / temperature)


def top_n_marginals(candidates: Candidates, labels: int) -> Doubles:
    """Return the probability that a token has a label, [tokens, labels], relative to these candidates only.

    >>> top_n_marginals(Candidates(np.array([[0, 1], [1, 1]]), np.log([3, 1])), 2).round(6).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    tokens = np.arange(candidates.paths.shape[1])
    marginal = np.zeros((len(tokens), labels))
    for path, probability in zip(candidates.paths, candidates.probabilities.tolist(), strict=True):
        marginal[tokens, path] += probability
    return marginal


def top_n_spans(candidates: Candidates, labels: Sequence[str]) -> dict[Span, float]:
    """Return every span of these candidates, with its probability relative to them only."""
    found: dict[Span, float] = {}
    labels = as_prefixed(labels)
    for path, probability in zip(candidates.paths, candidates.probabilities.tolist(), strict=True):
        for span in loose_spans([labels[tag] for tag in path.tolist()]):
            found[span] = found.get(span, 0.0) + probability
    return found
