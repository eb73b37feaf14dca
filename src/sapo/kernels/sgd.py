"""The stochastic gradient of a CRF with L2, on weights that are one vector: the step of Pegasos, as CRFsuite has it.

    eta = 1 / (lam * (t0 + t))
    w <- (1 - eta * lam) w - eta * (E[F(x, y)] - F(x, y*))

w = decay * v, so that L2 shrinks one number instead of all of them.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.flat import add_expected, flat_edges, flat_nodes
from sapo.kernels.forward import forward_backward
from sapo.kernels.score import path_score
from sapo.kernels.types import Doubles, Flat, Longs, Samples
from sapo.kernels.update import CORRECT, LOSS, TOKENS, UPDATED_SAMPLES
from sapo.kernels.workspace import longest_of, stages_of


@kernel
def sgd_samples(
    order: Longs,
    samples: Samples,
    flat: Flat,
    v: Doubles,  # changed
    decay: float,
    time: float,  # t0 + t
    lam: float,
    totals: Doubles,  # changed
) -> float:
    """Learn from sentences; return the decay after them."""
    L = flat.edges.shape[0]
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    node = np.empty((longest, L), np.float64)
    edge = np.empty((stages, L, L), np.float64)
    alpha = np.empty((longest, L), np.float64)
    beta = np.empty((longest, L), np.float64)
    marginal = np.empty((longest, L), np.float64)
    pairs = np.empty((stages, L, L), np.float64)
    for s in order:
        first = samples.offsets[s]
        T = samples.offsets[s + 1] - first
        eta = 1.0 / (lam * time)
        decay *= 1.0 - eta * lam
        time += 1.0
        if T == 0:
            continue
        gold = samples.gold[first : first + T]
        flat_nodes(first, T, samples, flat, v, node)
        flat_edges(first, T, samples, flat, v, edge)
        for t in range(T):
            for y in range(L):
                node[t, y] *= decay
        for stage in range(1 if stages > 1 else 0, T if stages > 1 else 1):
            for p in range(L):
                for y in range(L):
                    edge[stage, p, y] *= decay
        log_z = forward_backward(node, edge, T, alpha, beta, marginal, pairs)
        totals[LOSS] += log_z - path_score(node, edge, gold, T)
        totals[TOKENS] += T
        totals[UPDATED_SAMPLES] += 1
        for t in range(T):
            top = 0
            for y in range(L):
                if marginal[t, y] > marginal[t, top]:
                    top = y
            totals[CORRECT] += top == gold[t]
            marginal[t, gold[t]] -= 1.0
            if t > 0:
                pairs[t if stages > 1 else 0, gold[t - 1], gold[t]] -= 1.0
        add_expected(first, T, samples, flat, -eta / decay, marginal, pairs, v)
    return decay
