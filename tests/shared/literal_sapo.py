"""Tiny corpora, and Algorithm 1 once more: in double precision, over all taggings, one line of the paper at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sapo.features.encoded import EncodedCorpus
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights

Doubles = NDArray[np.float64]
SHARED = 3  # features that many tokens have


def make_corpus(
    seed: int, *, lengths: tuple[int, ...] = (3, 1, 4, 2), labels: int = 3, values: bool = False
) -> EncodedCorpus:
    """Every token has a feature of its own, so that no two taggings score the same by necessity, and shared ones."""
    rng = np.random.default_rng(seed)
    tokens = sum(lengths)
    rows = [[SHARED + token, *rng.integers(SHARED, size=rng.integers(3))] for token in range(tokens)]
    flat = np.array([row for token in rows for row in token], np.int32)
    return EncodedCorpus(
        offsets=np.cumsum([0, *lengths]),
        row_offsets=np.cumsum([0, *map(len, rows)]),
        rows=flat,
        values=rng.normal(size=len(flat) if values else 0).astype(np.float32),
        gold=rng.integers(labels, size=tokens).astype(np.int32),
    )


def make_weights(seed: int, corpus: EncodedCorpus, *, labels: int = 3, transitions: bool = True) -> Weights:
    """Random weights to begin with."""
    rng = np.random.default_rng([seed, 1])
    weights = Weights.zeros(SHARED + corpus.tokens, labels, transitions=transitions)
    weights.features[:] = rng.normal(size=weights.features.shape)
    if transitions:
        weights.edges[:] = rng.normal(size=weights.edges.shape)
    return weights


@dataclass
class Literal:
    """Algorithm 1 with w itself, no scale, and no search: all taggings are scored and sorted."""

    corpus: EncodedCorpus
    features: Doubles
    edges: Doubles
    transitions: bool
    loss: float = 0.0
    candidates: int = 0
    updated: int = 0
    correct: int = 0
    narrowest: float = np.inf  # how far the closest decision was from going the other way
    path: list[tuple[Doubles, Doubles]] = field(default_factory=list)  # w after each sample

    @classmethod
    def like(cls, corpus: EncodedCorpus, weights: Weights) -> "Literal":
        learned = weights.true_weights()
        features, edges = learned.features, learned.edges
        return cls(corpus, features.astype(np.float64), edges.astype(np.float64), weights.transitions)

    def vectors(self, sentence: int, path: tuple[int, ...]) -> tuple[Doubles, Doubles]:
        """F(x, y): how often each feature and each pair of labels occurs."""
        features, edges = np.zeros_like(self.features), np.zeros_like(self.edges)
        first = self.corpus.offsets[sentence]
        for t, label in enumerate(path):
            for i in range(self.corpus.row_offsets[first + t], self.corpus.row_offsets[first + t + 1]):
                features[self.corpus.rows[i], label] += self.corpus.values[i] if len(self.corpus.values) else 1.0
            if t > 0:
                edges[path[t - 1], label] += 1
        return features, edges

    def score(self, sentence: int, path: tuple[int, ...]) -> float:
        features, edges = self.vectors(sentence, path)
        return float((self.features * features).sum() + (self.edges * edges).sum())

    def oracle(self, sentence: int) -> tuple[int, ...]:
        return tuple(self.corpus.gold[self.corpus.offsets[sentence] : self.corpus.offsets[sentence + 1]].tolist())

    def top_n(self, sentence: int, settings: Settings) -> list[tuple[float, tuple[int, ...]]]:
        tokens = int(self.corpus.offsets[sentence + 1] - self.corpus.offsets[sentence])
        labels = len(self.edges)
        ranked = sorted(
            ((self.score(sentence, path), path) for path in product(range(labels), repeat=tokens)), reverse=True
        )
        lowest = ranked[0][0] - np.log(settings.stop_ratio)
        borders = [ranked[0][0] - ranked[1][0]] if len(ranked) > 1 else []
        if len(ranked) > settings.n:
            borders.append(ranked[settings.n - 1][0] - ranked[settings.n][0])
        borders += [abs(score - lowest) for score, _ in ranked[1:]]
        self.narrowest = min([self.narrowest, *borders])
        return [(score, path) for score, path in ranked[: settings.n] if score >= lowest]

    def sample(self, sentence: int, rate: float, settings: Settings) -> None:
        found = self.top_n(sentence, settings)
        oracle = self.oracle(sentence)
        gold_features, gold_edges = self.vectors(sentence, oracle)
        scores = np.array([score for score, _ in found])
        mass = np.exp(scores - scores[0])
        self.loss += scores[0] + np.log(mass.sum()) - self.score(sentence, oracle)
        self.candidates += len(found)
        self.updated += sum(any(path[t] != oracle[t] for _, path in found) for t in range(len(oracle)))
        self.correct += sum(a == b for a, b in zip(found[0][1], oracle, strict=True))
        # w <- w - rate * P_k * F(x, y_k)   for every y_k in Y_n
        for probability, (_, path) in zip(mass / mass.sum(), found, strict=True):
            features, edges = self.vectors(sentence, path)
            self.features -= rate * probability * features
            if self.transitions:
                self.edges -= rate * probability * edges
        # w <- w + rate * F(x, y*)
        self.features += rate * gold_features
        if self.transitions:
            self.edges += rate * gold_edges
        # w <- w - rate * strength / |S| * w
        self.features -= rate * settings.strength / self.corpus.sentences * self.features
        self.edges -= rate * settings.strength / self.corpus.sentences * self.edges
        self.path.append((self.features.copy(), self.edges.copy()))

    @property
    def flat(self) -> Doubles:
        """w as one row: the features, then the pairs of labels."""
        return np.concatenate([self.features.ravel(), self.edges.ravel()])

    def table(self, sentence: int) -> tuple[list[tuple[int, ...]], Doubles]:
        """All taggings, and F(x, y) of each as a row like `flat`. Pairs that are not learned are no features."""
        tokens = int(self.corpus.offsets[sentence + 1] - self.corpus.offsets[sentence])
        paths = list(product(range(len(self.edges)), repeat=tokens))
        pairs = [self.vectors(sentence, path) for path in paths]
        return paths, np.array(
            [np.concatenate([features.ravel(), edges.ravel() * self.transitions]) for features, edges in pairs]
        )

    def step(self, change: Doubles) -> None:
        """w <- w + change, a row like `flat`."""
        features, edges = np.split(change, [self.features.size])
        self.features += features.reshape(self.features.shape)
        self.edges += edges.reshape(self.edges.shape)
        self.path.append((self.features.copy(), self.edges.copy()))

    def average(self) -> tuple[Doubles, Doubles]:
        """The mean of w over all samples so far."""
        features, edges = (np.mean(arrays, axis=0) for arrays in zip(*self.path, strict=True))
        return features, edges


@dataclass(frozen=True)
class Tiny:
    """A corpus, weights and Algorithm 1, each made when called."""

    corpus: Callable[..., EncodedCorpus] = make_corpus
    weights: Callable[..., Weights] = make_weights
    literal: Callable[[EncodedCorpus, Weights], Literal] = Literal.like
