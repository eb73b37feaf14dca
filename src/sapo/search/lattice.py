"""The scores of one sentence: a node for each token and label, an edge for each pair of labels at each step."""

from dataclasses import dataclass, replace

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.pairs import Pairs
from sapo.errors import SapoError
from sapo.kernels import background, score, short, update, viterbi, workspace
from sapo.kernels.types import Floats, Ints, Lists, TaggingWeights
from sapo.search.rows import FeatureRows

ALL_LABELS = Lists(None, np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.uint16))


@dataclass(frozen=True, slots=True)
class Parameters:
    """Learned weights in the form that tagging needs."""

    rows: FeatureRows
    edges: Floats  # [labels, labels] edges[p, y]: y after p
    pairs: Pairs  # which pairs of labels edge features weigh
    pair_weights: Floats  # [entries, 1]
    bans: Floats  # [labels + 2, labels] 0 or minus infinity: y after p; then y at the start; then y at the end
    lists: Lists = ALL_LABELS  # how many labels of a token are worth looking at

    @classmethod
    def plain(cls, features: Floats, edges: Floats) -> "Parameters":
        """Return parameters of a matrix [features, labels], without edge features, and with nothing forbidden."""
        rows = FeatureRows.of_matrix(features)
        return cls(rows, edges, Pairs.none(), np.empty((0, 1), np.float32), no_bans(features.shape[1]))

    @property
    def features(self) -> Floats:
        """The weights of features as a matrix [features, labels]; a copy if they are not stored as one."""
        return self.rows.matrix()

    @property
    def labels(self) -> int:
        return len(self.edges)

    @property
    def blocks(self) -> tuple[Floats, Floats, Floats]:
        """All weights as matrices: of features, of pairs of labels, of edge features."""
        return self.features, self.edges, self.pair_weights

    @property
    def size(self) -> int:
        """The number of weights, including those that are 0."""
        return self.rows.features * self.labels + self.edges.size + self.pair_weights.size

    @property
    def nonzero(self) -> int:
        """The number of weights that are not 0."""
        others = sum(int(np.count_nonzero(block)) for block in (self.edges, self.pair_weights))
        return self.rows.nonzero + others

    @property
    def arrays(self) -> TaggingWeights:
        """The weights in the form that kernels take."""
        pairs = self.pairs
        rows, lists, bound = self.rows.arrays, self.lists, bool(self.lists.most and self.bans.any())
        return TaggingWeights(rows, self.edges, self.pair_weights, pairs.offsets, pairs.codes, self.bans, lists, bound)

    def check_knows(self, rows: Ints, edge_rows: Ints) -> None:
        """Raise an error if the encoder has grown and has features without weights: kernels do not check."""
        if rows.max(initial=-1) >= self.rows.features or edge_rows.max(initial=-1) >= len(self.pairs.offsets) - 1:
            raise SapoError("these weights are older than the features; take the model anew, or work on a snapshot")


def with_bias(parameters: Parameters, bias: Floats) -> Parameters:
    """Return the same weights with bias[y] added to the score of every node of label y.

    One edge enters each token except the first, and the start enters the first. The bias is added to these, so all
    code that handles forbidden edges handles biases, too.
    """
    bans = parameters.bans.copy()
    bans[:-1] += bias
    return replace(parameters, bans=bans)


def no_bans(labels: int) -> Floats:
    return np.zeros((labels + 2, labels), np.float32)


@dataclass(frozen=True, slots=True)
class Lattice:
    """The scores of one sentence. A tagging scores the sum of its nodes and edges; minus infinity forbids one.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> lattice.path_score([0, 1])
    2.0
    """

    node: Floats  # [tokens, labels]
    edge: Floats  # [labels, labels] edge[p, y]: y after p; or [tokens, labels, labels] where steps differ
    lists: Ints | None = None  # [tokens, nodes] the label of each node, where few are worth looking at
    whole: int = 0  # then: how many labels there are

    @property
    def tokens(self) -> int:
        return len(self.node)

    @property
    def labels(self) -> int:
        """The number of labels; a token may have fewer nodes."""
        return self.whole or int(self.node.shape[1])

    def to_labels(self, paths: Ints) -> Ints:
        """Return paths [n, tokens] of nodes as labels."""
        return paths if self.lists is None else self.lists[np.arange(self.tokens), paths]

    @property
    def steps(self) -> Floats:
        """The edges in the form that kernels take: one stage for all steps, or one for each token."""
        return self.edge if self.edge.ndim == 3 else self.edge[np.newaxis]

    @property
    def steps_to(self) -> Floats:
        """The same, transposed: [stage, y, p]."""
        return np.ascontiguousarray(self.steps.transpose(0, 2, 1))

    def path_score(self, path: "Ints | list[int]") -> float:
        nodes = np.asarray(path, np.int32)
        if self.lists is not None:
            there = (self.lists == nodes[:, np.newaxis]) & (self.node > -np.inf)
            if not there.any(axis=1).all():
                return -np.inf
            nodes = there.argmax(axis=1).astype(np.int32)
        return float(score.path_score(self.node, self.steps, nodes, len(path)))

    def tempered(self, temperature: float) -> "Lattice":
        """Return the lattice with all scores divided by the temperature. The order of taggings stays the same."""
        if temperature == 1.0:
            return self
        return replace(self, node=self.node / temperature, edge=self.edge / temperature)


def make_lattice(corpus: EncodedCorpus, sentence: int, parameters: Parameters, *, exact: bool = True) -> Lattice:
    """Return the lattice of one sentence of a corpus under these weights.

    With many labels, and unless `exact`, a token has nodes only for the labels that score best.
    """
    if not exact and parameters.lists.most and not len(corpus.token_bans):
        lattice = _short_lattice(corpus, sentence, parameters)
        if lattice is not None:
            return lattice
    first, last = int(corpus.offsets[sentence]), int(corpus.offsets[sentence + 1])
    T, L = last - first, parameters.labels
    rows = corpus.rows[corpus.row_offsets[first] : corpus.row_offsets[last]]
    parameters.check_knows(rows, _edge_rows(corpus, first, last))
    node = np.empty((T, L), np.float32)
    edge = np.empty((workspace.stages_of(corpus.edge_row_offsets, max(T, 1)), L, L), np.float32)
    score.fill_lattice(first, T, corpus.samples, parameters.arrays, 1.0, node, edge, edge[:0])
    if len(corpus.token_bans):
        node += corpus.token_bans[first:last]
    return Lattice(node, edge)


def _short_lattice(corpus: EncodedCorpus, sentence: int, parameters: Parameters) -> Lattice | None:
    """Return the lattice with few labels a token; None where all that is left is forbidden."""
    first, last = int(corpus.offsets[sentence]), int(corpus.offsets[sentence + 1])
    T = last - first
    rows = corpus.rows[corpus.row_offsets[first] : corpus.row_offsets[last]]
    parameters.check_knows(rows, _edge_rows(corpus, first, last))
    few = parameters.lists.most or 0
    work = background.call(workspace.make_workspace, max(T, 1), parameters.labels, max(T, 1), 1, few, steps=T * few**2)
    totals = np.zeros(update.BY_RANK)
    short.fill_short(first, T, corpus.samples, parameters.arrays, 1.0, short.SCORES, work, totals)
    if T:
        work.edge[0] = 0.0
        viterbi.best_scores(work.node, work.edge, T, work.best, work.row)
        if not (work.best[T - 1] > -np.inf).any():
            return None
    return Lattice(work.node[:T], work.edge[: max(T, 1)], work.lists[:T], parameters.labels)


def _edge_rows(corpus: EncodedCorpus, first: int, last: int) -> Ints:
    """The edge features of these tokens."""
    offsets = corpus.edge_row_offsets
    return corpus.edge_rows[offsets[first] : offsets[last]] if len(offsets) > 1 else corpus.edge_rows
