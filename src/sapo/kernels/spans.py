"""What forward-backward gives in, the probabilities of spans over all taggings out.

A span is there if all its labels have its type, each is joined to the next, and neither the label before it nor the
label after it is joined to it. Labels of a sentence are a Markov chain, forwards and backwards, so that

    P(span) = sum over its labels y_start ... y_last of  P(y_start) * P(no joined label before | y_start)
              * product of P(y_t | y_t-1) * P(no joined label after | y_last)
"""

import math
from typing import NamedTuple

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Bools, Doubles, Floats, Ints


class Spans(NamedTuple):
    """Spans of a sentence."""

    starts: Ints
    ends: Ints  # one past the last token
    types: Ints


@kernel
def span_probabilities(
    node: Floats,  # [T, L]
    edge: Floats,  # [stages, L, L]
    alpha: Doubles,  # [T, L] as forward_backward_logs gives them
    beta: Doubles,  # [T, L]
    marginal: Doubles,  # [T, L]
    types: Ints,  # [L] the type of each label
    joined: Bools,  # [L, L] whether y after p goes on with the span of p
    spans: Spans,
    probabilities: Doubles,  # [spans] out
) -> None:
    """Sum over the taggings that have each span."""
    starts, ends, span_types = spans
    T, L = node.shape
    many = edge.shape[0] > 1
    mass = np.empty(L, np.float64)
    after = np.empty(L, np.float64)
    nexts = np.empty(L, np.float64)
    for i in range(len(starts)):
        start, end = starts[i], ends[i]
        for y in range(L):
            mass[y] = marginal[start, y] if types[y] == span_types[i] else 0.0
            if start > 0 and mass[y] > 0.0:
                mass[y] *= apart_before(edge[start if many else 0], alpha[start - 1], joined, y)

        # mass[q] = sum of mass[p] * P(q | p) over the p that q is joined to
        for t in range(start + 1, end):
            nexts[:] = 0.0
            for p in range(L):
                if mass[p] > 0.0:
                    chances_after(edge[t if many else 0], node[t], beta[t], p, after)
                    for q in range(L):
                        if joined[p, q] and types[q] == span_types[i]:
                            nexts[q] += mass[p] * after[q]
            mass[:] = nexts

        total = 0.0
        for p in range(L):
            if mass[p] > 0.0:
                apart = 1.0
                if end < T:
                    chances_after(edge[end if many else 0], node[end], beta[end], p, after)
                    apart = 0.0
                    for q in range(L):
                        if not joined[p, q]:
                            apart += after[q]
                total += mass[p] * apart
        probabilities[i] = min(total, 1.0)


@kernel
def apart_before(step: Floats, alpha: Doubles, joined: Bools, y: int) -> float:
    """P(the label before y does not join it | y)"""
    top = -np.inf
    for p in range(len(alpha)):
        top = max(top, alpha[p] + np.float64(step[p, y]))
    whole = 0.0
    apart = 0.0
    for p in range(len(alpha)):
        part = math.exp(alpha[p] + np.float64(step[p, y]) - top)
        whole += part
        if not joined[p, y]:
            apart += part
    return apart / whole


@kernel
def chances_after(step: Floats, node: Floats, beta: Doubles, p: int, after: Doubles) -> None:
    """after[q] = P(the label after p is q | p)"""
    top = -np.inf
    for q in range(len(beta)):
        after[q] = np.float64(step[p, q]) + np.float64(node[q]) + beta[q]
        top = max(top, after[q])
    whole = 0.0
    for q in range(len(beta)):
        after[q] = math.exp(after[q] - top)
        whole += after[q]
    for q in range(len(beta)):
        after[q] /= whole
