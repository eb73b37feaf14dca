"""Gold tags that may be open in, what they allow out.

A gold tag is a label, or -1 where any will do, or -2 - s where one of allowed[s] will. The
CRF learns all taggings that keep to the tags; learners that need one oracle take the best of these under the weights.
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.types import Bools, Ints, Reals
from sapo.kernels.viterbi import best_path, best_scores
from sapo.kernels.workspace import Workspace

UNTAGGED, PARTLY, FULLY = 0, 1, 2


@kernel
def how_tagged(gold: Ints) -> int:
    """Whether nothing is known of these tokens, something, or the tag of each."""
    told = False
    is_open = False
    for t in range(len(gold)):
        told |= gold[t] != -1
        is_open |= gold[t] < 0
    if not is_open:
        return FULLY
    return PARTLY if told else UNTAGGED


@kernel
def allows(tag: int, y: int, allowed: Bools) -> bool:
    """Whether a token with this gold tag may have the label y."""
    if tag >= 0:
        return tag == y
    return tag == -1 or bool(allowed[-2 - tag, y])


@kernel
def bind(
    gold: Ints,  # [T]
    allowed: Bools,  # [sets, L]
    node: Reals,  # [T, L]
    T: int,
    bound: Reals,  # [T, L] out: node, and minus infinity where the gold tag is another
) -> None:
    for t in range(T):
        for y in range(node.shape[1]):
            bound[t, y] = node[t, y] if allows(gold[t], y, allowed) else -np.inf


@kernel
def complete(gold: Ints, allowed: Bools, T: int, work: Workspace) -> None:
    """Write the best tagging that keeps to the gold tags to `work.oracle`; `work` holds the lattice."""
    oracle = work.oracle
    if how_tagged(gold) == FULLY:
        for t in range(T):
            oracle[t] = gold[t]
        return
    bound = np.empty((T, work.node.shape[1]), np.float32)
    bind(gold, allowed, work.node, T, bound)
    best_scores(bound, work.edge, T, work.best, work.row)
    best_path(work.best, work.edge_to, T, oracle)
