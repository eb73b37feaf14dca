"""Compute the gradient of a sentence and SAPO's update for several n: the paper's ∇f_z(w) and s_z(w).

    ∇f_z(w) = sum over all y of P(y|x,w) F(x,y) - F(x,y*)     the stochastic gradient, equation (4)
    s_z(w)  = sum over Y_n of P_k F(x,y_k) - F(x,y*)          SAPO's update term, equation (5)
    δ_z(w)  = ∇f_z(w) - s_z(w)

Neither has the regularizer, which is the same in both. Learners change the weights without making these vectors; here
they are made, in double precision and over the features of the sentence alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus, Pairs
from sapo.jit.arrays import Doubles, Ints
from sapo.search.lattice import Lattice, Parameters, make_lattice
from sapo.search.marginals import forward_backward
from sapo.search.topn import top_n


@dataclass(frozen=True, slots=True)
class SentenceGradients:
    """Vectors over the same weights: those that the sentence can change."""

    gradient: Doubles  # [weights]
    updates: Doubles  # [sizes, weights]
    mass: Doubles  # [sizes] P(Y_n|x,w): the share of the top-n taggings among all
    loss: float  # -log P(y*|x,w)

    @property
    def length(self) -> float:
        """‖∇f_z(w)‖"""
        return float(np.linalg.norm(self.gradient))

    @property
    def distances(self) -> Doubles:
        """‖δ_z(w)‖ for each n."""
        return np.asarray(np.linalg.norm(self.updates - self.gradient, axis=1))

    @property
    def cosines(self) -> Doubles:
        """The cosine of the angle between both, for each n; 0 if one of them is zero."""
        lengths = np.linalg.norm(self.updates, axis=1) * self.length
        return np.asarray(
            np.divide(self.updates @ self.gradient, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        )


def sentence_gradients(
    corpus: EncodedCorpus, sentence: int, parameters: Parameters, sizes: Sequence[int], *, transitions: bool = True
) -> SentenceGradients:
    """Return the gradient and, for each n of `sizes`, the update of one sentence.

    `transitions` says whether pairs of labels are learned. Raise SapoError if a gold tag is missing.
    """
    lattice = make_lattice(corpus, sentence, parameters)
    gold = corpus.gold[corpus.offsets[sentence] : corpus.offsets[sentence + 1]]
    if (gold < 0).any():
        raise SapoError(
            f"sentence {sentence}: gradients need a sentence with all its tags, and some are missing; leave it out"
        )
    nodes, pairs, mass, log_z = expectations(lattice, sizes)
    hard_nodes, hard_pairs = np.zeros((1, *nodes.shape[1:])), np.zeros((1, *pairs.shape[1:]))
    _count(gold[np.newaxis], hard_nodes, hard_pairs)
    nodes -= hard_nodes
    pairs -= hard_pairs
    vectors = np.concatenate(
        [
            _of_features(corpus, sentence, nodes),
            pairs.sum(axis=1).reshape(len(pairs), -1)[:, : pairs[0, 0].size * transitions],
            _of_edge_features(corpus, sentence, parameters.pairs, pairs),
        ],
        axis=1,
    )
    return SentenceGradients(vectors[0], vectors[1:], mass, log_z - lattice.path_score(gold))


def expectations(lattice: Lattice, sizes: Sequence[int]) -> tuple[Doubles, Doubles, Doubles, float]:
    """Return how often each label [1 + sizes, T, L] and pair [1 + sizes, stages, L, L] is expected; P(Y_n|x,w); log Z.

    First over all taggings, then over the top n for each n. Y_n holds Y_m for m < n, so one search is enough.
    """
    T, L = lattice.node.shape
    stages = len(lattice.steps)
    nodes = np.zeros((1 + len(sizes), T, L))
    pairs = np.zeros((1 + len(sizes), stages, L, L))
    work = np.empty((2, T, L))
    log_z = float(forward_backward(lattice.node, lattice.steps, T, work[0], work[1], nodes[0], pairs[0]))
    candidates = top_n(lattice, n=max(sizes))
    found = len(candidates)
    included = np.arange(found) < np.array(sizes)[:, np.newaxis]  # [sizes, found]
    mass = np.minimum(1.0, (included * np.exp(candidates.scores - log_z)).sum(axis=1))
    weight = included * np.exp(candidates.scores - candidates.scores[0])  # exp(score - log_z) may be too small to share
    share = weight / weight.sum(axis=1, keepdims=True)
    hard_nodes, hard_pairs = np.zeros((found, T, L)), np.zeros((found, stages, L, L))
    _count(candidates.paths, hard_nodes, hard_pairs)
    nodes[1:] = (share @ hard_nodes.reshape(found, -1)).reshape(nodes[1:].shape)
    pairs[1:] = (share @ hard_pairs.reshape(found, -1)).reshape(pairs[1:].shape)
    return nodes, pairs, mass, log_z


def _count(paths: Ints, nodes: Doubles, pairs: Doubles) -> None:
    """Add the labels and the pairs of each tagging."""
    k, t = np.ogrid[: paths.shape[0], : paths.shape[1]]
    nodes[k, t, paths] += 1.0
    np.add.at(pairs, (k, t[:, 1:] * (pairs.shape[1] > 1), paths[:, :-1], paths[:, 1:]), 1.0)


def _of_features(corpus: EncodedCorpus, sentence: int, nodes: Doubles) -> Doubles:
    """Turn [vectors, T, L] of tokens into [vectors, features of the sentence * L]."""
    first, last = corpus.offsets[sentence], corpus.offsets[sentence + 1]
    begin, end = corpus.row_offsets[first], corpus.row_offsets[last]
    features, row = np.unique(corpus.rows[begin:end], return_inverse=True)
    token = np.repeat(np.arange(last - first), np.diff(corpus.row_offsets[first : last + 1]))
    has = np.zeros((len(features), last - first))
    np.add.at(has, (row, token), corpus.values[begin:end] if len(corpus.values) else 1.0)
    return np.asarray(has @ nodes).reshape(len(nodes), -1)


def _of_edge_features(corpus: EncodedCorpus, sentence: int, known: Pairs, pairs: Doubles) -> Doubles:
    """Turn [vectors, T, L, L] of steps into [vectors, pairs of the sentence's edge features]."""
    if pairs.shape[1] == 1 or not len(known.codes):
        return np.zeros((len(pairs), 0))
    first, last = corpus.offsets[sentence], corpus.offsets[sentence + 1]
    L = pairs.shape[-1]
    flat = pairs.reshape(*pairs.shape[:2], L * L)
    totals: dict[int, Doubles] = {}
    for t in range(1, int(last - first)):
        for e in corpus.edge_rows[corpus.edge_row_offsets[first + t] : corpus.edge_row_offsets[first + t + 1]].tolist():
            span = slice(int(known.offsets[e]), int(known.offsets[e + 1]))
            totals[e] = totals.get(e, 0.0) + flat[:, t, known.codes[span]]
    return np.concatenate([np.zeros((len(pairs), 0)), *totals.values()], axis=1)
