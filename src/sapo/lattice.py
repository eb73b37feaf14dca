"""The scores of one sentence: a node for each token and label, an edge for each pair of labels."""

from dataclasses import dataclass

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import score
from sapo.kernels.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Lattice:
    """A tagging scores the sum of its nodes and edges; minus infinity forbids one.

    >>> import numpy as np
    >>> lattice = Lattice(np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32))
    >>> lattice.path_score([0, 1])
    2.0
    """

    node: Floats  # [tokens, labels]
    edge: Floats  # [labels, labels] edge[p, y]: y after p

    @property
    def tokens(self) -> int:
        return len(self.node)

    @property
    def labels(self) -> int:
        return len(self.edge)

    def path_score(self, path: "Ints | list[int]") -> float:
        return float(score.path_score(self.node, self.edge, np.asarray(path, np.int32), len(path)))


def make_lattice(corpus: EncodedCorpus, sentence: int, weights: Floats, edge: Floats) -> Lattice:
    """The lattice of one sentence of a corpus under these weights."""
    first, last = int(corpus.offsets[sentence]), int(corpus.offsets[sentence + 1])
    node = np.empty((last - first, weights.shape[1]), np.float32)
    score.score_nodes(first, last, corpus.row_offsets, corpus.rows, corpus.values, weights, 1.0, node)
    return Lattice(node, edge)
