"""MIRA over a run of samples: the smallest change of the weights that separates the oracle from its rivals.

For a sample with the candidates y_1 ... y_n (Crammer & Singer 2003; McDonald et al. 2005, k-best MIRA):

    minimise |w' - w|^2 / 2  subject to  w'.F(x, y*) - w'.F(x, y_k) >= loss(y*, y_k)  for every k

The loss is the Hamming loss: the number of wrong tags, of tokens whose tag is open those that it does not allow. The
dual has one variable a_k >= 0 a constraint, and
w' = w + sum_k a_k * D_k with D_k = F(x, y*) - F(x, y_k). Hildreth's algorithm goes round the variables, setting each
to its best value with the others fixed, until nothing moves; it needs only the products D_j.D_k. With one candidate
the first round is the closed form a = max(0, (loss - margin) / |D|^2).
"""

import numpy as np

from sapo.kernels._jit import kernel
from sapo.kernels.oracle import allows, complete
from sapo.kernels.score import path_score, score_sentence, stages_of
from sapo.kernels.searches import search_n
from sapo.kernels.tables import hash_key
from sapo.kernels.types import Doubles, Ints, Longs, Parts, Samples
from sapo.kernels.update import (
    CANDIDATES,
    CLOCK,
    LOSS,
    TOKENS,
    count_correct,
    count_updates,
    end_sample,
    find_pair,
    longest_of,
    update,
)

ROUNDS = 1000
SMALL = 1e-9


@kernel
def mira_samples(
    order: Longs,
    samples: Samples,
    parts: Parts,
    state: Doubles,
    search: int,
    n: int,
    width: int,
    totals: Doubles,
) -> None:
    L = parts.nodes.v.shape[1]
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    edge = np.empty((stages, L, L), np.float32)
    edge_to = np.empty((stages, L, L), np.float32)
    row = np.empty(L, np.float32)
    oracle = np.empty(longest, np.int32)
    paths = np.empty((n, longest), np.int32)
    scores = np.empty(n, np.float64)
    wanted = np.empty(n, np.float64)  # loss - margin: by how much a constraint is broken
    gram = np.empty((n, n), np.float64)
    dual = np.empty(n, np.float64)
    # the differences D_k as a table: slot -> entry -> its value in each D_k
    slots = np.zeros(1024, np.int32)
    keys = np.empty(512, np.int64)
    places = np.empty(512, np.int32)
    entries = np.empty((512, n), np.float64)

    for sentence in order:
        first = samples.offsets[sentence]
        last = samples.offsets[sentence + 1]
        T = last - first
        if T == 0:
            continue
        score_sentence(first, T, samples, parts, 1.0, node, edge, edge_to)
        found = search_n(search, node, edge, edge_to, T, n, width, np.inf, best, row, paths, scores)
        if found == 0:  # scores are no numbers any more; the loop will tell
            totals[LOSS] += np.nan
            return
        gold = samples.gold[first:last]
        complete(gold, samples.allowed, node, edge, edge_to, T, best, row, oracle)
        totals[CANDIDATES] += found
        totals[TOKENS] += T
        count_correct(T, oracle, paths[0], totals)

        oracle_score = path_score(node, edge, oracle, T)
        hinge = 0.0
        for k in range(found):
            wrong = 0
            for t in range(T):
                if not allows(gold[t], paths[k, t], samples.allowed):
                    wrong += 1
            wanted[k] = wrong - (oracle_score - path_score(node, edge, paths[k], T))
            hinge = max(hinge, wanted[k])
        totals[LOSS] += hinge
        if hinge <= SMALL:
            count_updates(0, totals)
            end_sample(0.0, parts, state)
            continue

        room = difference_room(first, T, samples, oracle, paths, found)
        if 2 * room > len(slots):
            size = len(slots)
            while size < 2 * room:
                size *= 2
            slots = np.zeros(size, np.int32)
            keys = np.empty(size // 2, np.int64)
            places = np.empty(size // 2, np.int32)
            entries = np.empty((size // 2, n), np.float64)
        count = differences(first, T, samples, parts, oracle, paths, found, slots, keys, places, entries)
        for j in range(found):
            for k in range(j + 1):
                total = 0.0
                for e in range(count):
                    total += entries[e, j] * entries[e, k]
                gram[j, k] = total
                gram[k, j] = total
        for e in range(count):
            slots[places[e]] = 0
        solve_dual(gram, wanted, found, dual)

        # w <- w + sum_k a_k * D_k
        mass = 0.0
        for k in range(found):
            mass += dual[k]
        touched = update(first, T, samples, oracle, paths, dual, found, mass, 1.0, parts, state[CLOCK], row)
        count_updates(touched, totals)
        end_sample(0.0, parts, state)


@kernel
def solve_dual(gram: Doubles, wanted: Doubles, found: int, dual: Doubles) -> None:
    """Hildreth's algorithm: maximise sum_k a_k wanted_k - |sum_k a_k D_k|^2 / 2 over a >= 0."""
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
    first: int,
    T: int,
    samples: Samples,
    parts: Parts,
    oracle: Ints,
    paths: Ints,
    found: int,
    slots: Ints,  # empty, with room
    keys: Longs,  # out, with room
    places: Ints,  # out: the slot of each entry
    entries: Doubles,  # out
) -> int:
    """D_k for every candidate, as entries by weight: nodes first, then edges, then pairs; return their number."""
    row_offsets, rows, values = samples.row_offsets, samples.rows, samples.values
    edge_base = parts.nodes.v.size
    L = parts.edges.v.shape[0]
    pair_base = edge_base + L * L
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
                    at = int(rows[i]) * L
                    count = add_entry(at + gold, k, value, found, slots, keys, places, entries, count)
                    count = add_entry(at + y, k, -value, found, slots, keys, places, entries, count)
            if t == 0 or (y == gold and paths[k, t - 1] == oracle[t - 1]):
                continue
            true_pair = int(oracle[t - 1]) * L + gold
            pair = int(paths[k, t - 1]) * L + y
            if parts.with_edges:
                count = add_entry(edge_base + true_pair, k, 1.0, found, slots, keys, places, entries, count)
                count = add_entry(edge_base + pair, k, -1.0, found, slots, keys, places, entries, count)
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
    mask = len(slots) - 1
    slot = hash_key(key) & mask
    while slots[slot] != 0 and keys[slots[slot] - 1] != key:
        slot = (slot + 1) & mask
    if slots[slot] == 0:
        keys[count] = key
        places[count] = slot
        for j in range(found):
            entries[count, j] = 0.0
        count += 1
        slots[slot] = count
    entries[slots[slot] - 1, k] += value
    return count
