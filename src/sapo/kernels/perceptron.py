"""The structured perceptron (Collins 2002) over a run of samples."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.oracle import complete
from sapo.kernels.score import path_score, score_sentence, stages_of
from sapo.kernels.types import Doubles, Longs, Parts, Samples
from sapo.kernels.update import (
    CANDIDATES,
    CLOCK,
    LOSS,
    TOKENS,
    count_correct,
    count_updates,
    end_sample,
    longest_of,
    update,
)
from sapo.kernels.viterbi import best_path, best_scores


@kernel
def perceptron_samples(
    order: Longs, samples: Samples, parts: Parts, state: Doubles, rate: float, totals: Doubles
) -> None:
    """w <- w + rate * (F(x, y*) - F(x, y)), with y the best tagging."""
    L = parts.nodes.v.shape[1]
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    edge = np.empty((stages, L, L), np.float32)
    edge_to = np.empty((stages, L, L), np.float32)
    row = np.empty(L, np.float32)
    oracle = np.empty(longest, np.int32)
    path = np.empty((1, longest), np.int32)
    one = np.ones(1)

    for sentence in order:
        first = samples.offsets[sentence]
        last = samples.offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue
        score_sentence(first, T, samples, parts, 1.0, node, edge, edge_to)
        best_scores(node, edge, T, best, row)
        best_path(best, edge_to, T, path[0])
        complete(samples.gold[first:last], samples.allowed, node, edge, edge_to, T, best, row, oracle)
        totals[LOSS] += path_score(node, edge, path[0], T) - path_score(node, edge, oracle, T)
        totals[CANDIDATES] += 1
        totals[TOKENS] += T
        count_correct(T, oracle, path[0], totals)
        touched = update(first, T, samples, oracle, path, one, 1, 1.0, rate, parts, state[CLOCK], row)
        count_updates(touched, totals)
        end_sample(0.0, parts, state)
