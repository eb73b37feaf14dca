"""MIRA (Crammer & Singer 2003; McDonald et al. 2005): the smallest change that separates the oracle from its rivals.

    minimize |w' - w|^2 / 2  subject to  w'.F(x, y*) - w'.F(x, y_k) >= loss(y*, y_k)  for the candidates y_k

The loss is the Hamming loss: the number of wrong tags; of tokens whose tag is open, those that it does not allow.
`mira` has one candidate, the best tagging; `mira-nbest` has the n best taggings, and each adds a constraint. There is
no rate, no regularizer and no limit on the step (no C), so the weights keep growing on data that cannot be separated,
as the paper shows.

The dual has one variable a_k >= 0 per constraint, and w' = w + sum_k a_k * D_k with D_k = F(x, y*) - F(x, y_k).
Hildreth's algorithm goes round the variables, setting each to its best value with the others fixed, until nothing
moves; it needs only the products D_j.D_k. With one candidate the first round is the closed form
a = max(0, (loss - margin) / |D|^2).
"""

import math
from typing import NamedTuple

import numpy as np

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.features.hashing import find_key
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Ints, Longs
from sapo.learn.loop import Step, linear_pass, search_of
from sapo.learn.rows import ALL_ROWS, has_room
from sapo.learn.settings import Settings
from sapo.learn.update import Rivals, count_update, end_sample, update
from sapo.learn.weights import CLOCK, Parts, Weights, tagging_weights
from sapo.search.chain import (
    Search,
    allows,
    count_search,
    find_candidates,
    find_oracle,
    is_short,
    open_chain,
    score_chain,
    to_labels,
)
from sapo.search.lattice import LOSS, find_pair, path_score

ROUNDS = 1000
SMALL = 1e-9
SEED = 1_000_000_007  # no file chooses the weights of a sample, so it need not be a secret


class Differences(NamedTuple):
    """The differences D_k as a table: slot -> entry -> its value in each D_k."""

    slots: Ints  # empty between samples, and a seed
    keys: Longs  # [entries] the weight that an entry stands for
    places: Ints  # [entries] the slot of each entry
    values: Doubles  # [entries, n]


@kernel
def mira_samples(order: Longs, samples: Samples, parts: Parts, state: Doubles, search: Search, totals: Doubles) -> int:
    """Learn from each sample in turn; return how many there were before there was no room for new weights."""
    n = search.n
    weights = tagging_weights(parts)
    work = open_chain(order, samples, weights, n)
    node, edge, oracle, paths, dual = work.node, work.edge, work.oracle, work.paths, work.coefficients
    wanted = np.empty(n, np.float64)  # loss - margin: by how much a constraint is broken
    gram = np.empty((n, n), np.float64)
    table = make_differences(1024, n)
    for done in range(len(order)):
        first = samples.offsets[order[done]]
        T = samples.offsets[order[done] + 1] - first
        if T == 0:
            continue
        if not has_room(samples.row_offsets[first + T] - samples.row_offsets[first], parts.nodes):
            return done
        score_chain(first, T, samples, weights, 1.0, work, totals)
        # search the top-n outputs
        found = find_candidates(search, T, work)
        if found == 0:  # training diverged
            totals[LOSS] += np.nan
            return len(order)
        gold = samples.gold[first : first + T]
        found = find_oracle(gold, samples.allowed, T, found, work)
        count_search(gold, samples.allowed, T, found, work, totals)

        oracle_score = path_score(node, edge, oracle, T)
        hinge = 0.0
        for k in range(found):
            wrong = 0
            for t in range(T):
                if paths[k, t] != oracle[t] and (is_short(work) or not allows(gold[t], paths[k, t], samples.allowed)):
                    wrong += 1
            wanted[k] = wrong - (oracle_score - path_score(node, edge, paths[k], T))
            hinge = max(hinge, wanted[k])
        totals[LOSS] += hinge
        touched = 0
        if hinge > SMALL:
            # w <- w + sum_k a_k * D_k, with the a_k that solve the dual
            to_labels(T, found, weights, work)
            room = 2 * difference_room(first, T, samples, oracle, paths, found)
            size = len(table.slots) - 1
            if room > size:
                while size < room:
                    size *= 2
                table = make_differences(size, n)
            count = differences(first, T, samples, parts, oracle, paths, found, table)
            multiply_differences(table, count, found, gram)
            solve_dual(gram, wanted, found, dual)
            mass = 0.0
            for k in range(found):
                mass += dual[k]
            rivals = Rivals(oracle, paths, dual, found, mass)
            touched = update(first, T, samples, rivals, 1.0, parts, state[CLOCK], work, ALL_ROWS)
        count_update(touched, totals)
        end_sample(0.0, state)
    return len(order)


@kernel
def make_differences(size: int, n: int) -> Differences:
    """Return a table with this many slots; half of them may be filled."""
    slots = np.zeros(size + 1, np.int32)
    slots[size] = SEED
    return Differences(
        slots,
        np.empty(size // 2, np.int64),
        np.empty(size // 2, np.int32),
        np.empty((size // 2, n), np.float64),
    )


@kernel
def multiply_differences(table: Differences, count: int, found: int, gram: Doubles) -> None:
    """gram[j, k] = D_j.D_k; then empty the slots."""
    slots, places, values = table.slots, table.places, table.values
    for j in range(found):
        for k in range(j + 1):
            total = 0.0
            for e in range(count):
                total += values[e, j] * values[e, k]
            gram[j, k] = total
            gram[k, j] = total
    for e in range(count):
        slots[places[e]] = 0


@kernel
def solve_dual(gram: Doubles, wanted: Doubles, found: int, dual: Doubles) -> None:
    """Hildreth's algorithm: maximize sum_k a_k wanted_k - |sum_k a_k D_k|^2 / 2 over a >= 0."""
    for k in range(found):
        dual[k] = 0.0
    for _ in range(ROUNDS):
        moved = 0.0
        for k in range(found):
            if gram[k, k] <= 0.0:
                continue  # the oracle itself
            slack = wanted[k]
            for j in range(found):
                slack -= gram[k, j] * dual[j]
            new = max(0.0, dual[k] + slack / gram[k, k])
            moved = max(moved, abs(new - dual[k]) * gram[k, k])  # in units of the loss
            dual[k] = new
        if moved <= SMALL:
            break


@kernel
def difference_room(first: int, T: int, samples: Samples, oracle: Ints, paths: Ints, found: int) -> int:
    """How many entries the differences can have at most."""
    with_pairs = len(samples.edge_row_offsets) > 1
    room = 0
    for t in range(T):
        differ = 0
        for k in range(found):
            if paths[k, t] != oracle[t]:
                differ += 1
        if differ > 0:
            rows = samples.row_offsets[first + t + 1] - samples.row_offsets[first + t]
            room += rows * (differ + 1) + 4 * (found + 1)
            if with_pairs:  # the steps into t and from t
                after = min(t + 1, T - 1)
                rows = samples.edge_row_offsets[first + t + 1] - samples.edge_row_offsets[first + t]
                rows += samples.edge_row_offsets[first + after + 1] - samples.edge_row_offsets[first + after]
                room += rows * (found + 1)
    return room


@kernel
def differences(
    first: int, T: int, samples: Samples, parts: Parts, oracle: Ints, paths: Ints, found: int, table: Differences
) -> int:
    """Write D_k of every candidate to a table with empty slots and room; return the number of entries."""
    # a weight's number: those of pairs of labels first, then of edge features, then of features
    row_offsets, rows, values = samples.row_offsets, samples.rows, samples.values
    L = parts.edges.v.shape[0]
    pair_base = L * L
    node_base = pair_base + len(parts.pair_codes)
    slots, keys, places, entries = table
    weighted = len(values) > 0
    with_pairs = len(parts.pair_codes) > 0
    count = 0
    for k in range(found):
        for t in range(T):
            y = int(paths[k, t])
            gold = int(oracle[t])
            if y != gold:
                for i in range(row_offsets[first + t], row_offsets[first + t + 1]):
                    value = float(values[i]) if weighted else 1.0
                    at = node_base + int(rows[i]) * L
                    count = add_entry(at + gold, k, value, found, slots, keys, places, entries, count)
                    count = add_entry(at + y, k, -value, found, slots, keys, places, entries, count)
            if t == 0 or (y == gold and paths[k, t - 1] == oracle[t - 1]):
                continue
            true_pair = int(oracle[t - 1]) * L + gold
            pair = int(paths[k, t - 1]) * L + y
            if parts.with_edges:
                count = add_entry(true_pair, k, 1.0, found, slots, keys, places, entries, count)
                count = add_entry(pair, k, -1.0, found, slots, keys, places, entries, count)
            if with_pairs:
                for i in range(samples.edge_row_offsets[first + t], samples.edge_row_offsets[first + t + 1]):
                    e = samples.edge_rows[i]
                    entry = find_pair(e, true_pair, parts.pair_offsets, parts.pair_codes)
                    if entry >= 0:
                        count = add_entry(pair_base + entry, k, 1.0, found, slots, keys, places, entries, count)
                    entry = find_pair(e, pair, parts.pair_offsets, parts.pair_codes)
                    if entry >= 0:
                        count = add_entry(pair_base + entry, k, -1.0, found, slots, keys, places, entries, count)
    return count


@kernel
def add_entry(
    key: int, k: int, value: float, found: int, slots: Ints, keys: Longs, places: Ints, entries: Doubles, count: int
) -> int:
    """Add to the value of a weight in D_k; return the number of entries, `count` or one more."""
    slot = find_key(key, keys, slots, 0, len(slots) - 2)
    if slots[slot] == 0:
        keys[count] = key
        places[count] = slot
        for j in range(found):
            entries[count, j] = 0.0
        count += 1
        slots[slot] = count
    entries[slots[slot] - 1, k] += value
    return count


def mira_step(weights: Weights, corpus: EncodedCorpus, rate: float, settings: Settings, totals: Doubles) -> Step:
    """Return a function that learns from a run of samples with one candidate, the best tagging."""
    return _step(weights, corpus, 1, settings, totals)


def mira_nbest_step(weights: Weights, corpus: EncodedCorpus, rate: float, settings: Settings, totals: Doubles) -> Step:
    """Return a function that learns from a run of samples with the n best taggings as candidates."""
    return _step(weights, corpus, settings.number, settings, totals)


def _step(weights: Weights, corpus: EncodedCorpus, n: int, settings: Settings, totals: Doubles) -> Step:
    samples, state = corpus.samples, weights.state
    search = search_of(settings, n=n, margin=math.inf)
    return lambda run, parts: mira_samples(run, samples, parts, state, search, totals)


mira_pass, mira_nbest_pass = linear_pass(mira_step), linear_pass(mira_nbest_step)
