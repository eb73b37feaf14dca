"""Missing tags, weights of tokens and bans: every learner equals a literal twin with one long vector F(x, y).

The twin scores all taggings that are allowed. Those that keep to the gold tags, of which some are missing and some are
sets, stand for the oracle: in a CRF all of them by their share, else the best, and the others are none of its rivals.
The update counts each token's features, and the pair of labels that ends there, by the token's importance.
"""

import dataclasses
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles
from sapo.learn import LEARNERS
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.lattice import LOSS

LABELS = 3
SETS = np.array([[True, True, False], [False, True, True]])


def bound(tiny: Any, seed: int, *, missing: bool, weighted: bool, banned: bool) -> tuple[EncodedCorpus, Weights]:
    corpus = tiny.corpus(seed)
    weights = tiny.weights(seed, corpus)
    rng = np.random.default_rng([seed, 5])
    gold = corpus.gold.copy()
    if banned:  # 2 never follows 0, and 1 does not end a sentence
        weights.bans[0, 2] = weights.bans[LABELS + 1, 1] = -np.inf
        gold[:] = np.where(gold == 2, 0, gold)
        gold[corpus.offsets[1:] - 1] = 0
    if missing:
        kind = rng.random(corpus.tokens)
        sets = np.where(kind < 0.3, np.array([-2, -2, -3])[gold], gold)
        gold[:] = np.where(kind < 0.6, sets, np.where(kind < 0.8, -1, gold))
    importance = rng.uniform(0, 3, corpus.tokens if weighted else 0).astype(np.float32)
    return dataclasses.replace(corpus, gold=gold, importance=importance, allowed=SETS), weights


class Twin:
    def __init__(self, corpus: EncodedCorpus, weights: Weights) -> None:
        learned = weights.true_weights()
        self.corpus, self.bans = corpus, weights.bans.copy()
        self.shapes = learned.features.shape, learned.edges.shape
        self.w: Doubles = np.concatenate([learned.features.ravel(), learned.edges.ravel()]).astype(np.float64)

    def vector(self, sentence: int, path: tuple[int, ...], *, counted: bool) -> Doubles:
        """F(x, y); where it is counted for an update, each token by its importance."""
        corpus, first = self.corpus, int(self.corpus.offsets[sentence])
        features, edges = np.zeros(self.shapes[0]), np.zeros(self.shapes[1])
        for t, label in enumerate(path):
            by = float(corpus.importance[first + t]) if counted and len(corpus.importance) else 1.0
            for i in range(corpus.row_offsets[first + t], corpus.row_offsets[first + t + 1]):
                features[corpus.rows[i], label] += by
            if t:
                edges[path[t - 1], label] += by
        return np.concatenate([features.ravel(), edges.ravel()])

    def ranked(self, sentence: int) -> list[tuple[float, tuple[int, ...]]]:
        T = int(np.diff(self.corpus.offsets)[sentence])
        found = []
        for path in product(range(LABELS), repeat=T):
            steps = [(LABELS, path[0]), (LABELS + 1, path[-1]), *pairwise(path)]
            if all(self.bans[row, y] == 0 for row, y in steps):
                found.append((float(self.w @ self.vector(sentence, path, counted=False)), path))
        return sorted(found, key=lambda entry: -entry[0])

    def wrong(self, sentence: int, path: tuple[int, ...]) -> int:
        """How many of its tags the gold tags do not allow."""
        first, last = self.corpus.offsets[sentence : sentence + 2]
        may_be = {-1: {0, 1, 2}, -2: {0, 1}, -3: {1, 2}, 0: {0}, 1: {1}, 2: {2}}
        return sum(y not in may_be[g] for g, y in zip(self.corpus.gold[first:last].tolist(), path, strict=True))

    def kept(self, sentence: int) -> list[tuple[float, tuple[int, ...]]]:
        return [(score, path) for score, path in self.ranked(sentence) if not self.wrong(sentence, path)]

    def expected(self, sentence: int, found: list[tuple[float, tuple[int, ...]]]) -> tuple[float, Doubles]:
        """The log of the sum of exp(score), and the mean of F(x, y), each y by its share."""
        mass = np.exp([score - found[0][0] for score, _ in found])
        vectors = [self.vector(sentence, path, counted=True) for _, path in found]
        return found[0][0] + float(np.log(mass.sum())), mass / mass.sum() @ np.array(vectors)

    def step(self, sentence: int, n: int, rate: float, strength: float) -> float:
        """Return the loss before it. An n of 0 is the CRF."""
        kept, found = self.kept(sentence), self.ranked(sentence)
        if n:
            kept = kept[:1]
            found = [(score, path) for score, path in found[:n] if path == kept[0][1] or self.wrong(sentence, path)]
        (log_kept, wanted), (log_mass, expected) = self.expected(sentence, kept), self.expected(sentence, found)
        self.w += rate * (wanted - expected)
        self.w *= 1 - rate * strength / self.corpus.sentences
        return log_mass - log_kept

    def mira_step(self, sentence: int) -> None:
        path, oracle = self.ranked(sentence)[0][1], self.kept(sentence)[0][1]
        if path == oracle:
            return
        apart = self.vector(sentence, oracle, counted=False) - self.vector(sentence, path, counted=False)
        wrong = self.wrong(sentence, path)
        by = max(0.0, wrong - float(self.w @ apart)) / float(apart @ apart)
        self.w += by * (self.vector(sentence, oracle, counted=True) - self.vector(sentence, path, counted=True))


@pytest.mark.parametrize(
    ("missing", "weighted", "banned"),
    [(True, False, False), (False, True, False), (False, False, True), (True, True, True)],
)
@pytest.mark.parametrize("name", ["sapo", "crf", "perceptron", "mira"])
@pytest.mark.parametrize("seed", range(3))
def test_a_learner_equals_its_literal_twin(
    tiny: Any, seed: int, name: str, missing: bool, weighted: bool, banned: bool
) -> None:
    corpus, weights = bound(tiny, seed, missing=missing, weighted=weighted, banned=banned)
    twin = Twin(corpus, weights)
    order = [*range(corpus.sentences)] * 2
    regularized = name in ("sapo", "crf")
    n = {"sapo": 4, "crf": 0, "perceptron": 1, "mira": 1}[name]
    settings = Settings(n=max(n, 1), strength=0.7 if regularized else 0.0)
    rate = 0.3 if regularized else 1.0
    totals = np.zeros(20)
    list(LEARNERS[name].run(weights, corpus, np.array(order, np.int64), rate, settings, totals))
    loss = 0.0
    for sentence in order:
        if name == "mira":
            twin.mira_step(sentence)
        else:
            loss += twin.step(sentence, n, rate, settings.strength)
    assert name == "mira" or totals[LOSS] == pytest.approx(loss, abs=2e-3)
    learned = weights.true_weights()
    flat = np.concatenate([learned.features.ravel(), learned.edges.ravel()])
    np.testing.assert_allclose(flat, twin.w, atol=3e-4)


def test_n_best_mira_learns_from_bound_samples_too(tiny: Any) -> None:
    corpus, weights = bound(tiny, 1, missing=True, weighted=False, banned=True)
    for _ in range(5):
        order = np.arange(corpus.sentences, dtype=np.int64)
        list(LEARNERS["mira-nbest"].run(weights, corpus, order, 1.0, Settings(n=9), np.zeros(20)))
    twin = Twin(corpus, weights)
    for sentence in range(corpus.sentences):
        assert twin.wrong(sentence, twin.ranked(sentence)[0][1]) == 0
