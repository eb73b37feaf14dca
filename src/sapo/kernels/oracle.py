"""Gold tags in, the oracle tagging out; where tags are missing it is the best completion under the weights."""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Floats, Ints
from sapo.kernels.viterbi import best_path, best_scores


@kernel
def complete(
    gold: Ints,  # [T] -1 where any tag will do
    node: Floats,  # [T, L]
    edge: Floats,  # [stages, L, L]
    edge_to: Floats,
    T: int,
    best: Floats,  # [T, L] work
    row: Floats,  # [L] work
    oracle: Ints,  # [T] out
) -> None:
    missing = False
    for t in range(T):
        oracle[t] = gold[t]
        if gold[t] < 0:
            missing = True
    if not missing:
        return
    bound = node[:T].copy()
    for t in range(T):
        if gold[t] >= 0:
            for y in range(bound.shape[1]):
                if y != gold[t]:
                    bound[t, y] = -np.inf
    best_scores(bound, edge, T, best, row)
    best_path(best, edge_to, T, oracle)
