"""The objective f(w) over some sentences, with its gradient: small enough to be brought to its optimum.

    f(w) = 1/|S| (- sum of log P(y*|x,w) + λ ‖w‖² / 2)      the mean over the training set: see bound.py

w is one vector in double precision: the weights of features, then those of pairs of labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from laboratory.theory.sentence_gradients import expectations
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles
from sapo.search.lattice import Parameters, make_lattice
from sapo.search.marginals import forward_backward


@dataclass(frozen=True, slots=True)
class Expected:
    """The terms of the theorem at one w."""

    gradient: Doubles  # [weights] ∇f(w)
    updates: Doubles  # [sizes, weights] s(w) = E_z[s_z(w)] for each n
    longest: Doubles  # [sizes] the largest ‖s_z(w)‖


class Problem:
    def __init__(self, corpus: EncodedCorpus, features: int, labels: int, strength: float) -> None:
        self.corpus, self.labels, self.strength = corpus, labels, strength
        self.features = features
        self.has = np.zeros((corpus.tokens, features))  # [tokens, features] F of each token
        token = np.repeat(np.arange(corpus.tokens), np.diff(corpus.row_offsets))
        np.add.at(self.has, (token, corpus.rows), corpus.values if len(corpus.values) else 1.0)
        self.sentences = [slice(int(a), int(b)) for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)]
        counts = [_counts(corpus.gold[span], labels) for span in self.sentences]
        gold_nodes = np.concatenate([nodes for nodes, _ in counts])
        self.gold = self._vector(gold_nodes, sum(pairs for _, pairs in counts))
        self.gold_counts = counts

    @property
    def size(self) -> int:
        return (self.features + self.labels) * self.labels

    @property
    def modulus(self) -> float:
        """c: the regularizer's λ / |S|. The loss adds nothing: along w that favor no label over another it is flat."""
        return self.strength / len(self.sentences)

    def zero(self) -> Doubles:
        return np.zeros(self.size)

    def parameters(self, w: Doubles) -> Parameters:
        features, edges = self._blocks(w)
        return Parameters.plain(features.astype(np.float32), edges.astype(np.float32))

    def value(self, w: Doubles) -> tuple[float, Doubles]:
        """Return f(w) and ∇f(w), by forward-backward over all taggings."""
        features, edges = self._blocks(w)
        scores: Any = self.has @ features  # kernels are compiled for double precision, too
        steps: Any = np.ascontiguousarray(edges)[np.newaxis]
        marginals = np.empty_like(scores)
        pairs = np.zeros((1, self.labels, self.labels))
        expected, total = np.zeros_like(edges), 0.0
        for span in self.sentences:
            node = np.ascontiguousarray(scores[span])
            T = len(node)
            work = np.empty((2, *node.shape))
            part = np.empty_like(node)
            total += forward_backward(node, steps, T, work[0], work[1], part, pairs)
            marginals[span] = part
            expected += pairs[0]
        loss = total - self.gold @ w + self.strength / 2 * w @ w
        gradient = self._vector(marginals, expected) - self.gold + self.strength * w
        return float(loss) / len(self.sentences), gradient / len(self.sentences)

    def expected(self, w: Doubles, sizes: Sequence[int]) -> Expected:
        """Return ∇f(w), and for each n s(w) and the largest ‖s_z(w)‖, all over the whole training set."""
        parameters = self.parameters(w)
        penalty = self.modulus * w
        total, longest = np.zeros((1 + len(sizes), self.size)), np.zeros(len(sizes))
        for sentence, span in enumerate(self.sentences):
            nodes, pairs, _, _ = expectations(make_lattice(self.corpus, sentence, parameters), sizes)
            gold_nodes, gold_pairs = self.gold_counts[sentence]
            by_feature = self.has[span].T @ (nodes - gold_nodes)
            by_pair = pairs[:, 0] - gold_pairs
            terms = np.concatenate([by_feature.reshape(len(nodes), -1), by_pair.reshape(len(nodes), -1)], axis=1)
            terms += penalty
            total += terms
            longest = np.maximum(longest, np.linalg.norm(terms[1:], axis=1))
        total /= len(self.sentences)
        return Expected(total[0], total[1:], longest)

    def _blocks(self, w: Doubles) -> tuple[Doubles, Doubles]:
        features, edges = np.split(w, [self.features * self.labels])
        return features.reshape(-1, self.labels), edges.reshape(self.labels, self.labels)

    def _vector(self, nodes: Doubles, pairs: Any) -> Doubles:
        return np.concatenate([(self.has.T @ nodes).ravel(), np.asarray(pairs).ravel()])


def _counts(path: Any, labels: int) -> tuple[Doubles, Doubles]:
    """Return which label each token has, and how often each pair of labels occurs."""
    pairs = np.zeros((labels, labels))
    np.add.at(pairs, (path[:-1], path[1:]), 1.0)
    return np.eye(labels)[path], pairs
