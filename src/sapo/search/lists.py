"""Find the best of given candidates: outputs that another program proposed, each with features of its own.

A candidate is one part. This is reranking (Collins 2000): the n best outputs of a tagger, a translator or a language
model, scored again by features of whole outputs.
"""

from typing import NamedTuple

import numpy as np

from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Floats, Longs


class CandidateLists(NamedTuple):
    """The lists of all samples, one after the other."""

    offsets: Longs  # [samples + 1] where the candidates of a sample begin
    row_offsets: Longs  # [candidates + 1] where the features of a candidate begin
    rows: Longs  # the features
    values: Floats  # their values; empty if all are 1


def best_of_list(lists: CandidateLists, sample: int, v: Floats, scale: float, n: int) -> tuple[Longs, Doubles]:
    """Return the n best candidates of a sample and their scores. Of equal ones, the one that came first is better."""
    first, last = int(lists.offsets[sample]), int(lists.offsets[sample + 1])
    scores = np.empty(last - first)
    score_list(lists, first, last, v, scale, scores)
    order = np.argsort(-scores, kind="stable")[:n]
    return order + first, scores[order]


@kernel
def score_list(lists: CandidateLists, first: int, last: int, v: Floats, scale: float, scores: Doubles) -> None:
    """Write the score of each candidate from `first` to `last`. A feature without a weight counts as 0."""
    valued = len(lists.values) > 0
    for candidate in range(first, last):
        total = 0.0
        for i in range(lists.row_offsets[candidate], lists.row_offsets[candidate + 1]):
            row = lists.rows[i]
            if 0 <= row < len(v):
                total += float(v[row]) * float(lists.values[i]) if valued else float(v[row])
        scores[candidate - first] = scale * total
