"""Treat a sentence as a structure that learners search: its scores, its n best candidates, and its oracle.

A learner opens a chain for a run of samples and calls these operations on each of them. Everything special about chains
is in here: short lists of labels, and tags that are open. A gold tag is a label, or -1 if any will do, or -2 - s if one
of allowed[s] will.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sapo.errors import OptionError, choice, did_you_mean
from sapo.features.encoded import Samples
from sapo.jit import inlined, kernel
from sapo.jit.arrays import Bools, Doubles, Ints, Longs, Reals
from sapo.search.astar import astar, astar_n
from sapo.search.beam import beam, beam_n
from sapo.search.lattice import (
    CANDIDATES,
    CORRECT,
    LEARNING,
    SEARCHED,
    TOKENS,
    Lattice,
    Workspace,
    fill_lattice,
    fill_short,
    make_workspace,
    stages_of,
)
from sapo.search.topn import Candidates, check_n, find_top_n, top_n
from sapo.search.viterbi import best_path, best_scores
from sapo.search.weights import TaggingWeights

SEARCHES = ("topn", "astar", "beam")
UNTAGGED, PARTLY, FULLY = 0, 1, 2  # whether no gold tag is known, some, or all


class Search(NamedTuple):
    """Which search to use, and what to ask it for."""

    n: int
    margin: float  # leave out taggings that score this much less than the best one
    astar: bool | None = None  # True: by A*
    width: int | None = None  # of the beam: by beam search


@kernel
def open_chain(order: Longs, samples: Samples, weights: TaggingWeights, n: int) -> Workspace:
    """Return room for the lattice of the longest of these sentences, and for n candidates."""
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    left = labels_left(order, samples, weights.lists.most)
    return make_workspace(longest, weights.edges.shape[0], stages, n, left)


@kernel
def longest_of(order: Longs, offsets: Longs) -> int:
    """Return the number of tokens of the longest of these sentences, at least 1."""
    longest = 1
    for sentence in order:
        longest = max(longest, offsets[sentence + 1] - offsets[sentence])
    return longest


@kernel
def labels_left(order: Longs, samples: Samples, most: int | None) -> int:
    """Return how many labels a token keeps, 0 for all of them: where a gold tag is open, all labels are looked at."""
    if most is None:
        return 0
    for sentence in order:
        for token in range(samples.offsets[sentence], samples.offsets[sentence + 1]):
            if samples.gold[token] < 0:
                return 0
    return most


@kernel
@inlined
def is_short(work: Workspace) -> bool:
    """Return whether nodes are places in short lists of labels; then every gold tag is known."""
    return len(work.lists) > 0


@kernel
@inlined
def score_chain(
    first: int,  # the sentence begins at this token
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    work: Workspace,  # node, edge and edge_to out; of short lists, the oracle too
    totals: Doubles,
) -> None:
    """Score the nodes and edges of a sentence to learn from."""
    _score_chain(first, T, samples, weights, scale, weights.lists.most, work, totals)


@kernel
def _score_chain(
    first: int,
    T: int,
    samples: Samples,
    weights: TaggingWeights,
    scale: float,
    most: int | None,  # an argument, so that None keeps the branch from being compiled
    work: Workspace,
    totals: Doubles,
) -> None:
    if most is not None:
        if is_short(work):
            fill_short(first, T, samples, weights, scale, LEARNING, work, totals)
            return
    fill_lattice(first, T, samples, weights, scale, work.node, work.edge, work.edge_to)


@kernel
@inlined
def find_candidates(search: Search, T: int, work: Workspace) -> int:
    """Search the n best taggings Y_n; write them to `work.paths` and `work.scores`, and return how many were found.

    None are found if the scores are no longer numbers.
    """
    return _find_candidates(search, search.astar, search.width, T, work)


@kernel
def _find_candidates(search: Search, astar: bool | None, width: int | None, T: int, work: Workspace) -> int:
    node, edge, edge_to, row = work.node, work.edge, work.edge_to, work.row
    paths, scores = work.paths, work.scores
    n, margin = search.n, search.margin
    if astar is not None:
        return astar_n(node, edge, edge_to, T, margin, paths, scores, row)
    if width is not None:
        found = beam_n(node, edge, T, n, width, margin, paths, scores)
        if found > 0:
            return found  # else all that the beam held ran into what is forbidden: search exactly
    taken = best_scores(node, edge, T, work.best, row)
    found = find_top_n(work.best, edge_to, T, n, margin, paths, scores, row)
    for k in range(found):
        scores[k] += taken
    return found


@kernel
def find_oracle(gold: Ints, allowed: Bools, T: int, found: int, work: Workspace) -> int:
    """Write the oracle y* to `work.oracle`, and return how many candidates are its rivals.

    If tags are open, the oracle is the best tagging compatible with the known tags, and other candidates that are
    compatible are dropped: nothing says that they are wrong.
    """
    if is_short(work):  # scoring the chain has written it
        return found
    if how_tagged(gold) != FULLY:
        found, among = keep_rivals(gold, allowed, T, found, work)
        if among:
            return found
    complete(gold, allowed, T, work)
    return found


@kernel
def keep_rivals(gold: Ints, allowed: Bools, T: int, found: int, work: Workspace) -> tuple[int, bool]:
    """Drop all but the best candidate compatible with the gold tags; return the new count and whether one was found.

    That candidate is the oracle.
    """
    paths, scores, oracle = work.paths, work.scores, work.oracle
    left = 0
    among = False
    for k in range(found):
        compatible = True
        for t in range(T):
            if not allows(gold[t], paths[k, t], allowed):
                compatible = False
                break
        if compatible and among:
            continue
        if compatible:
            among = True
            for t in range(T):
                oracle[t] = paths[k, t]
        scores[left] = scores[k]
        for t in range(T):
            paths[left, t] = paths[k, t]
        left += 1
    return left, among


@kernel
def how_tagged(gold: Ints) -> int:
    """Whether nothing is known of these tokens, something, or the tag of each."""
    known = False
    is_open = False
    for t in range(len(gold)):
        known |= gold[t] != -1
        is_open |= gold[t] < 0
    if not is_open:
        return FULLY
    return PARTLY if known else UNTAGGED


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


@kernel
def count_search(gold: Ints, allowed: Bools, T: int, found: int, work: Workspace, totals: Doubles) -> None:
    """Count the candidates, and the correct tags of the best one, before places in short lists become labels."""
    totals[SEARCHED] += 1
    totals[CANDIDATES] += found
    totals[TOKENS] += T
    for t in range(T):
        y = work.paths[0, t]
        if y == work.oracle[t] if is_short(work) else allows(gold[t], y, allowed):
            totals[CORRECT] += 1


@kernel
@inlined
def to_labels(T: int, found: int, weights: TaggingWeights, work: Workspace) -> None:
    """Turn the oracle and the candidates from places in short lists into labels; without lists they are labels."""
    _to_labels(T, found, weights.lists.most, work)


@kernel
def _to_labels(T: int, found: int, most: int | None, work: Workspace) -> None:
    if most is None:
        return
    if is_short(work):
        for t in range(T):
            work.oracle[t] = work.lists[t, work.oracle[t]]
            for k in range(found):
                work.paths[k, t] = work.lists[t, work.paths[k, t]]


def check_search(name: str, n: int) -> str:
    """Return the name of a search in lower case. Raise SapoError if there is none, or nothing to search for.

    >>> check_search("TopN", 5)
    'topn'
    """
    check_n(n)
    found = choice(name, SEARCHES)
    if found not in SEARCHES:
        raise OptionError(f"unknown search '{name}'{did_you_mean(str(name), SEARCHES)}")
    return found


def search_n(name: str, lattice: Lattice, *, n: int, width: int = 50) -> Candidates:
    """Return the n best taggings by the named search. If a beam finds only forbidden ones, search exactly."""
    exact: dict[str, Callable[..., Candidates]] = {"topn": top_n, "astar": astar}
    found = beam(lattice, n=n, width=width) if name == "beam" else exact[name](lattice, n=n)
    return found if len(found) else top_n(lattice, n=n)
