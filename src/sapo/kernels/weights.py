"""All that reads or changes the weights of features, and nothing else.

`score_features` adds up the weights of a token's features, `change_features` changes them, and the others walk over all
weights of a block: of features, of pairs of labels, or of edge features.

The weights are w = scale * v (see learn/weights.py), and all blocks here are of v. For averaging, `sums` remembers
each change times the clock at which it came; it is empty where nothing is averaged. The clock is the sum of all
scales so far, so that the sum of all w so far is clock * v - sums, whatever the order of changes and shrinkings.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Doubles, Floats, Ints, Part, Parts, Samples, TaggingWeights


@kernel
def tagging_weights(parts: Parts) -> TaggingWeights:
    """Return the weights of a learner as tagging needs them; they are still to be multiplied by the scale."""
    return TaggingWeights(parts.nodes.v, parts.edges.v, parts.pairs.v, parts.pair_offsets, parts.pair_codes, parts.bans)


@kernel
def score_features(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    weights: Floats,  # [features, labels]
    scale: float,
    node: Floats,  # [T, labels] out
) -> None:
    """Add up the weights of each token's features."""
    # node[t,y] = scale * sum over the features f of token t of value[f] * weights[f,y]
    row_offsets, rows, values = samples.row_offsets, samples.rows, samples.values
    L = weights.shape[1]
    weighted = len(values) > 0
    for t in range(T):
        for y in range(L):
            node[t, y] = 0.0
        i = row_offsets[first + t]
        end = row_offsets[first + t + 1]
        if weighted:
            while i < end:
                f = rows[i]
                for y in range(L):
                    node[t, y] += values[i] * weights[f, y]
                i += 1
        while i + 4 <= end:  # four rows at a time: they come from memory together, and the node is written once
            e, f, g, h = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            for y in range(L):
                node[t, y] += (weights[e, y] + weights[f, y]) + (weights[g, y] + weights[h, y])
            i += 4
        while i < end:
            f = rows[i]
            for y in range(L):
                node[t, y] += weights[f, y]
            i += 1
        if scale != 1.0:
            for y in range(L):
                node[t, y] *= scale


@kernel
def change_features(
    token: int,
    samples: Samples,
    labels: Ints,  # [count] the labels whose weights change; not read where these are all labels
    count: int,
    delta: Floats,  # [labels] by what each changes
    nodes: Part,  # changed
    clock: float,
) -> None:
    """Add delta to the weights of all features of a token."""
    rows, values = samples.rows, samples.values
    weights, sums = nodes.v, nodes.sums
    L = weights.shape[1]
    weighted = len(values) > 0
    averaged = len(sums) > 0
    for i in range(samples.row_offsets[token], samples.row_offsets[token + 1]):
        f = rows[i]
        value = values[i] if weighted else np.float32(1.0)
        if count == L:
            for y in range(L):
                weights[f, y] += value * delta[y]
            if averaged:
                for y in range(L):
                    sums[f, y] += value * delta[y] * clock
        else:
            for j in range(count):
                change = value * delta[labels[j]]
                weights[f, labels[j]] += change
                if averaged:
                    sums[f, labels[j]] += change * clock


@kernel
def fold_scale(part: Part, scale: float, clock: float) -> None:
    """Make v the true weights before it outgrows single precision; the sum of all w so far stays what it is."""
    weights, sums = part.v, part.sums
    averaged = len(sums) > 0
    factor = np.float32(scale)
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            if averaged:
                sums[f, y] -= clock * weights[f, y]  # with a clock of 0 the sum is 0 * v - sums
            weights[f, y] *= factor


@kernel
def penalise_row(f: int, part: Part, clock: float, penalty: float) -> None:
    """L1: move each weight towards 0 by what it still owes of the penalty that it could have got, and not past it."""
    weights, sums, received = part.v, part.sums, part.received
    averaged = len(sums) > 0
    for y in range(weights.shape[1]):
        before = weights[f, y]
        if before > 0.0:
            after = max(0.0, before - (penalty + received[f, y]))
        elif before < 0.0:
            after = min(0.0, before + (penalty - received[f, y]))
        else:
            continue
        weights[f, y] = after
        received[f, y] += after - before
        if averaged:
            sums[f, y] += (after - before) * clock


@kernel
def penalise_all(part: Part, clock: float, penalty: float) -> None:
    """The same for all rows of a block."""
    for f in range(part.v.shape[0]):
        penalise_row(f, part, clock, penalty)


@kernel
def absolute_sum(weights: Floats) -> float:
    """Return the sum of |v|, without a second array of the size of the weights."""
    total = 0.0
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            total += abs(float(weights[f, y]))
    return total


@kernel
def squared_sum(weights: Floats) -> float:
    """Return the sum of v^2."""
    total = 0.0
    for f in range(weights.shape[0]):
        for y in range(weights.shape[1]):
            total += np.float64(weights[f, y]) * np.float64(weights[f, y])
    return total


@kernel
def add_squares(weights: Floats, group_of: Ints, squares: Doubles) -> None:
    """squares[g] += sum of the squared weights of the rows of group g."""
    for f in range(weights.shape[0]):
        total = 0.0
        for y in range(weights.shape[1]):
            total += np.float64(weights[f, y]) * np.float64(weights[f, y])
        squares[group_of[f]] += total


@kernel
def scale_groups(part: Part, group_of: Ints, factors: Doubles, clock: float) -> None:
    """Multiply each weight by the factor of its row's group."""
    weights, sums = part.v, part.sums
    averaged = len(sums) > 0
    for f in range(weights.shape[0]):
        factor = factors[group_of[f]]
        for y in range(weights.shape[1]):
            change = weights[f, y] * (factor - 1.0)
            weights[f, y] += change
            if averaged:
                sums[f, y] += change * clock
