"""Layouts of sparse weights: time and memory of learning and tagging beside a dense matrix, on real corpora.

    SAPO_DATA=... python benchmarks/layouts.py [TASK | frozen ...]

SAPO learns from each corpus for some passes with dense weights, and what it changes is recorded. Every layout then
replays these changes, and scores the same sentences with the weights that come out. Times are of the processor, the
best of several rounds in which the layouts take turns. The prototypes are in layout_kernels.py.
"""

import gzip
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import layout_kernels as lk
from layout_kernels import Blocks, Chains, Corpus, Hash, Slack, Trace, jit
from sapo.features.encoded import Samples
from sapo.jit.arrays import Floats, Ints, Longs
from sapo.learn import sapo
from sapo.learn.update import update
from sapo.learn.weights import Parts
from sapo.search import lattice, viterbi
from sapo.search.chain import run_search
from sapo.training.data import Prepared, prepare

DATA = Path(os.environ["SAPO_DATA"])
PASSES = 5
ROUNDS = 7
SENTENCES = 5_000  # at most: a few thousand show what more would
N = 5  # candidates of SAPO
RATE = 0.05

TASKS: dict[str, tuple[str, str, str | None]] = {
    "bc2gm": ("zoo/bc2gm/train.txt.gz", "ner", None),
    "chunking": ("conll2000/train.txt.gz", "chunking", None),
    "xpos": ("ud-ewt/train.conllu.gz", "pos", "xpos"),
    "brown": ("zoo/brown-pos/train.txt.gz", "pos", None),
    "feats": ("zoo/ud-estonian-ewt/train.conllu.gz", "pos", "feats"),
}

score_sentence, search_n, normalize, update_all = (
    lattice.score_sentence,
    run_search,
    sapo.normalize,
    update,
)


# What SAPO changes.


@jit
def learn(
    order: Longs, samples: Samples, parts: Parts, rate: float, tokens: Ints, labels: Ints, deltas: Floats
) -> tuple[int, int]:
    """One pass of SAPO; write down the touched tokens, and after each one's labels and changes a label of -1."""
    L = parts.nodes.v.shape[1]
    longest = 1
    for s in order:
        longest = max(longest, samples.offsets[s + 1] - samples.offsets[s])
    node = np.empty((longest, L), np.float32)
    best = np.empty((longest, L), np.float32)
    edge = np.empty((1, L, L), np.float32)
    edge_to = np.empty((1, L, L), np.float32)
    row = np.empty(L, np.float32)
    delta = np.zeros(L, np.float32)
    paths = np.empty((N, longest), np.int32)
    scores = np.empty(N, np.float64)
    probability = np.empty(N, np.float64)
    touched, written = 0, 0
    for s in order:
        first = samples.offsets[s]
        T = samples.offsets[s + 1] - first
        gold = samples.gold[first : first + T]
        score_sentence(first, T, samples, parts, 1.0, node, edge, edge_to)
        found = search_n(0, node, edge, edge_to, T, N, 0, np.inf, best, row, paths, scores)
        normalize(scores, found, probability)
        for t in range(T):
            before = written
            for k in range(-1, found):
                y = gold[t] if k < 0 else paths[k, t]
                delta[y] += rate if k < 0 else -rate * probability[k]
                new = True
                for j in range(before, written):
                    new = new and labels[j] != y
                if new:
                    labels[written] = y
                    written += 1
            for j in range(before, written):
                deltas[j] = delta[labels[j]]
                delta[labels[j]] = 0.0
            if written == before + 1:  # all agree: nothing changes
                written = before
                continue
            tokens[touched] = first + t
            labels[written] = -1
            touched += 1
            written += 1
        update_all(first, T, samples, gold, paths, probability, found, 1.0, rate, parts, 0.0, row)
    return touched, written


def record(prepared: Prepared, order: Longs, passes: int = PASSES, parts: Parts | None = None) -> list[Trace]:
    """The changes of each pass, starting from these weights or from none."""
    parts = parts or prepared.zero_weights().parts
    room = int(prepared.corpus.tokens) * (N + 2)
    traces = []
    for number in range(passes):
        tokens, labels, deltas = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.float32)
        touched, written = learn(order, prepared.corpus.samples, parts, RATE * 0.9**number, tokens, labels, deltas)
        labels, deltas = labels[:written], deltas[:written]
        ends = np.flatnonzero(labels < 0)
        offsets = np.append(0, ends - np.arange(len(ends))).astype(np.int64)
        kept = labels >= 0
        traces.append(Trace(tokens[:touched].copy(), offsets, labels[kept], deltas[kept]))
    return traces


# The layouts: each makes room when a replay stops.


class Layout(Protocol):
    def score(self, corpus: Corpus, node: Floats) -> float: ...
    def replay(self, corpus: Corpus, trace: Trace) -> None: ...
    @property
    def bytes(self) -> int: ...


class Dense:
    def __init__(self, features: int, labels: int, *, averaged: bool = False) -> None:
        self.weights = np.zeros((features, labels), np.float32)
        self.sums = np.zeros((features if averaged else 0, labels), np.float32)

    def score(self, corpus: Corpus, node: Floats) -> float:
        return lk.score_dense(corpus, self.weights, node)

    def replay(self, corpus: Corpus, trace: Trace) -> None:
        lk.replay_dense(corpus, trace, 0, self.weights, self.sums)

    @property
    def bytes(self) -> int:
        return self.weights.nbytes + self.sums.nbytes


class BlockPool:
    """Fields of an entry lie together (8 bytes, 16 with sums) or in arrays of their own (6 bytes, 10 with sums)."""

    def __init__(
        self,
        features: int,
        labels: int,
        *,
        together: bool = True,
        ordered: bool = False,
        limit: int | None = None,
        averaged: bool = False,
    ) -> None:
        self.labels, self.together, self.ordered, self.averaged = labels, together, ordered, averaged
        self.limit = limit or labels + 2  # never dense
        self.blocks = self._room(np.zeros(features, np.int64), 1 << 12, 16)
        self.blocks.state[[lk.USED, lk.REUSE]] = 2, 1

    def _room(self, head: Longs, entries: int, rows: int) -> Blocks:
        state = np.zeros(lk.STATE_SIZE, np.int64)
        dense = np.zeros((rows, self.labels), np.float32)
        dense_sums = np.zeros_like(dense if self.averaged else dense[:0])
        state[lk.END], state[lk.DENSE_END] = entries, rows
        if self.together:
            memory = np.zeros((entries, 4 if self.averaged else 2), np.int32)
            floats = memory.view(np.float32)
            sums = floats[:, 2] if self.averaged else floats[:0, 1]
            return Blocks(head, memory[:, 0], floats[:, 1], sums, memory[:, 1], dense, dense_sums, state)
        weights = np.zeros(entries, np.float32)
        sums = np.zeros_like(weights if self.averaged else weights[:0])
        links = weights.view(np.int32)
        return Blocks(head, np.zeros(entries, np.uint16), weights, sums, links, dense, dense_sums, state)

    def grow(self, entries: int, rows: int) -> None:
        """Make room for more entries and rows; at least double what is there."""
        old = self.blocks
        state = old.state
        if state[lk.USED] + entries > state[lk.END]:
            entries = int(max(2 * state[lk.END], state[lk.USED] + entries))
        else:
            entries = int(state[lk.END])
        rows = int(
            2 * state[lk.DENSE_END] if state[lk.DENSE_USED] + rows > state[lk.DENSE_END] else state[lk.DENSE_END]
        )
        new = self._room(old.head, entries, rows)
        for name in ("labels", "weights", "sums", "dense", "dense_sums"):
            before = getattr(old, name)
            getattr(new, name)[: len(before)] = before
        new.state[:] = state
        new.state[lk.END], new.state[lk.DENSE_END] = entries, rows
        self.blocks = new

    def score(self, corpus: Corpus, node: Floats) -> float:
        return lk.score_blocks(corpus, self.blocks, node)

    def replay(self, corpus: Corpus, trace: Trace) -> None:
        begin = 0
        while (begin := lk.replay_blocks(corpus, trace, begin, self.blocks, self.limit, self.ordered)) < len(trace[0]):
            self.grow(lk.FEATURES * 4 * self.limit, lk.FEATURES)

    @property
    def bytes(self) -> int:
        entry = (16 if self.averaged else 8) if self.together else (10 if self.averaged else 6)
        row = 4 * self.labels * (2 if self.averaged else 1)
        state = self.blocks.state
        return int(self.blocks.head.nbytes + entry * state[lk.USED] + row * state[lk.DENSE_USED])


class SlackRows:
    """Begin with the gold pairs; lay out anew when a twentieth of the entries waits."""

    def __init__(self, features: int, labels: int, *, pairs: Longs) -> None:
        counts = np.bincount(pairs // labels, minlength=features).astype(np.int32)
        self.rows = self._room(counts)
        starts = np.repeat(self.rows.starts[:-1] - np.append(0, np.cumsum(counts)[:-1]), counts)
        self.rows.labels[starts + np.arange(len(pairs))] = pairs % labels
        self.rows.counts[:] = counts

    def _room(self, counts: Ints) -> Slack:
        starts = np.append(0, np.cumsum(counts + counts // 2 + 1)).astype(np.int64)
        waiting = max(20_000, int(counts.sum()) // 20)
        return Slack(
            starts,
            np.zeros(len(counts), np.int32),
            np.zeros(starts[-1], np.uint16),
            np.zeros(starts[-1], np.float32),
            np.zeros(waiting, np.int32),
            np.zeros(waiting, np.int32),
            np.zeros(waiting, np.float32),
            np.zeros(1, np.int64),
        )

    def _lay_out(self) -> None:
        old = self.rows
        waits = np.bincount(old.waiting_rows[: old.waiting[0]], minlength=len(old.counts)).astype(np.int32)
        self.rows = self._room(old.counts + waits)
        lk.lay_out(old, self.rows)

    def score(self, corpus: Corpus, node: Floats) -> float:
        return lk.score_slack(corpus, self.rows, node)

    def replay(self, corpus: Corpus, trace: Trace) -> None:
        begin = 0
        while (begin := lk.replay_slack(corpus, trace, begin, self.rows)) < len(trace.tokens):
            self._lay_out()
        self._lay_out()

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.rows)


class HashTable:
    def __init__(self, features: int, labels: int) -> None:
        self.labels = labels
        self.table = self._room(1 << 14)

    def _room(self, slots: int) -> Hash:
        return Hash(np.zeros(slots, np.int64), np.zeros(slots, np.float32), np.zeros(1, np.int64))

    def score(self, corpus: Corpus, node: Floats) -> float:
        return lk.score_hash(corpus, self.table, node)

    def replay(self, corpus: Corpus, trace: Trace) -> None:
        begin = 0
        while (begin := lk.replay_hash(corpus, trace, begin, self.table, self.labels)) < len(trace.tokens):
            old, self.table = self.table, self._room(2 * len(self.table.keys))
            lk.rehash(old, self.table)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.table)


class ChainedEntries:
    def __init__(self, features: int, labels: int) -> None:
        self.chains = self._room(np.zeros(features, np.int32), 1 << 12, np.ones(1, np.int64))

    def _room(self, head: Ints, entries: int, used: Longs) -> Chains:
        memory = np.zeros((entries, 3), np.int32)
        return Chains(head, memory[:, 0], memory.view(np.float32)[:, 1], memory[:, 2], used)

    def score(self, corpus: Corpus, node: Floats) -> float:
        return lk.score_chains(corpus, self.chains, node)

    def replay(self, corpus: Corpus, trace: Trace) -> None:
        begin = 0
        while (begin := lk.replay_chains(corpus, trace, begin, self.chains)) < len(trace.tokens):
            old, count = self.chains, len(self.chains.labels)
            self.chains = self._room(old.head, 2 * count, old.used)
            for name in ("labels", "weights", "next"):
                getattr(self.chains, name)[:count] = getattr(old, name)

    @property
    def bytes(self) -> int:
        return int(self.chains.head.nbytes + 12 * self.chains.used[0])


# Measuring.


def layouts_for(features: int, labels: int, pairs: Longs) -> dict[str, Callable[[], Layout]]:
    """What is compared. Rows are dense from some number of entries; L/8 is at least 2, and 1 for 8 labels."""

    def blocks(**options: Any) -> Callable[[], Layout]:
        return lambda: BlockPool(features, labels, **options)

    def part(k: int) -> int:
        return 1 if labels <= 8 else max(2, labels // k)

    return {
        "dense": lambda: Dense(features, labels),
        "blocks, fields apart": blocks(together=False),
        "blocks, fields together": blocks(),
        "blocks, together, in order": blocks(ordered=True),
        "blocks, together, dense from L/2": blocks(limit=part(2)),
        "blocks, together, dense from L/4": blocks(limit=part(4)),
        "blocks, together, dense from L/8": blocks(limit=part(8)),
        "blocks, apart, dense from L/8": blocks(limit=part(8), together=False),
        "blocks, together, dense from L/16": blocks(limit=part(16)),
        "dense rows when touched": blocks(limit=1),
        "gold pairs with slack": lambda: SlackRows(features, labels, pairs=pairs),
        "chains": lambda: ChainedEntries(features, labels),
        "hash": lambda: HashTable(features, labels),
        "dense, averaged": lambda: Dense(features, labels, averaged=True),
        "blocks, together, dense from L/8, averaged": blocks(limit=part(8), averaged=True),
        "blocks, apart, dense from L/8, averaged": blocks(limit=part(8), together=False, averaged=True),
    }


def timed(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def read(task: str) -> Prepared:
    path, template, label = TASKS[task]
    if task != "brown":
        return prepare(DATA / path, template=template, label=label)
    # The matrix of the whole corpus is too large; sentences with the rarest labels have all labels between them.
    pairs = []
    for sentence in gzip.decompress((DATA / path).read_bytes()).decode().split("\n\n"):
        lines = [line.split("\t") for line in sentence.split("\n") if line]
        if lines:
            pairs.append(([line[0] for line in lines], [line[-1] for line in lines]))
    count = Counter(tag for _, tags in pairs for tag in tags)
    pairs.sort(key=lambda pair: min(count[tag] for tag in pair[1]))
    return prepare(pairs[:SENTENCES], template=template)


def measure(task: str) -> None:
    prepared = read(task)
    encoded, features, labels = prepared.corpus, prepared.encoder.features, len(prepared.labels)
    order = np.random.default_rng(0).permutation(encoded.sentences)[:SENTENCES]
    traces = record(prepared, order)
    corpus = Corpus(order, encoded.offsets, encoded.row_offsets, encoded.rows)
    lengths = np.diff(encoded.offsets)
    tokens = int(lengths[order].sum())
    node = np.empty((lengths.max(), labels), np.float32)
    owners = np.repeat(encoded.gold, np.diff(encoded.row_offsets))
    pairs = np.unique(encoded.rows.astype(np.int64) * labels + owners)
    print(f"\n### {task}: {labels} labels, {features:,} features, {tokens:,} tokens; touched in each pass: ", end="")
    print(", ".join(f"{len(trace.tokens) / tokens:.1%}" for trace in traces), end="; ")
    print(f"labels of a touched token: {len(traces[-1].labels) / len(traces[-1].tokens):.2f}")

    made, reference = {}, None
    results: dict[str, list[float]] = {}
    for name, make in layouts_for(features, labels, pairs).items():
        results[name] = [np.inf] * 3
        for _ in range(3):
            made[name] = layout = make()
            results[name][1] = min(results[name][1], timed(lambda: layout.replay(corpus, traces[0])))  # noqa: B023
            for trace in traces[1:-1]:
                layout.replay(corpus, trace)
            results[name][2] = min(results[name][2], timed(lambda: layout.replay(corpus, traces[-1])))  # noqa: B023
        if reference is None:
            reference = made[name]
            assert isinstance(reference, Dense)
            describe(reference, corpus)
        check(reference, layout, corpus, node)
    few = corpus._replace(order=order[:100])
    for _ in range(ROUNDS):
        for name, layout in made.items():
            part, share = (few, lengths[order[:100]].sum()) if name == "hash" else (corpus, tokens)
            results[name][0] = min(results[name][0], timed(lambda: layout.score(part, node)) / share)  # noqa: B023
    print("\n| layout | score, ns a token | to dense | first pass, ns a touched token | to dense ", end="")
    print("| last pass | to dense | MB |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, (scoring, growing, changing) in results.items():
        base = results["dense, averaged" if "averaged" in name else "dense"]
        ns = scoring * 1e9, growing * 1e9 / len(traces[0].tokens), changing * 1e9 / len(traces[-1].tokens)
        ratios = scoring / base[0], growing / base[1], changing / base[2]
        cells = " | ".join(f"{a:,.0f} | {b:.2f}" for a, b in zip(ns, ratios, strict=True))
        print(f"| {name} | {cells} | {made[name].bytes / 1e6:.1f} |", flush=True)


def describe(dense: Dense, corpus: Corpus) -> None:
    used = (dense.weights != 0).sum(axis=1)
    seen = used[corpus.rows]
    print(
        f"\nLabels a feature uses: {used.mean():.2f} in the mean, none at all {np.mean(used == 0):.1%} of the features;"
    )
    print(f"where a token has the feature: {seen.mean():.1f}, none {np.mean(seen == 0):.1%}", end="; ")
    print(f"features a token: {len(corpus.rows) / (len(corpus.row_offsets) - 1):.1f}")


def check(reference: Dense, layout: Layout, corpus: Corpus, node: Floats) -> None:
    """All layouts have the same weights in the end."""
    for s in corpus.order[:5]:
        one = corpus._replace(order=np.array([s]))
        T = corpus.offsets[s + 1] - corpus.offsets[s]
        reference.score(one, node)
        expected = node[:T].copy()
        layout.score(one, node)
        np.testing.assert_allclose(node[:T], expected, atol=1e-3)


# Tagging with weights that do not change any more.


def frozen() -> None:
    """Ways to score the test set of CoNLL-2000 with a model of the training set."""
    path, template, _ = TASKS["chunking"]
    prepared = prepare(DATA / path, dev=DATA / path.replace("train", "test"), template=template)
    assert prepared.dev is not None
    encoded, test, labels = prepared.corpus, prepared.dev.corpus, len(prepared.labels)
    order = np.random.default_rng(0).permutation(encoded.sentences)
    parts = prepared.zero_weights().parts
    record(prepared, order, parts=parts)
    weights, edges, bans = parts.nodes.v, parts.edges.v, parts.bans
    corpus = Corpus(np.arange(test.sentences), test.offsets, test.row_offsets, test.rows)
    node = np.empty((np.diff(test.offsets).max(), labels), np.float32)

    kept = (weights != 0).any(axis=1)
    known = renumbered(corpus, np.where(kept, np.cumsum(kept) - 1, -1))
    some = np.ascontiguousarray(weights[kept])
    ways: dict[str, tuple[Callable[[], float], float, float]] = {}
    ways["dense"] = lambda: lk.score_dense(corpus, weights, node), weights.nbytes, len(corpus.rows)
    ways["dense, no rows of zeros"] = lambda: lk.score_dense(known, some, node), some.nbytes, len(known.rows)
    for name, limit in (("sparse", labels + 1), ("dense from L/2", 11), ("dense from L/4", 5), ("dense from L/8", 2)):
        ways[name] = mixed(known, some, limit, node)
    folded, fewer = fold(prepared, weights, corpus)
    ways["folded"] = lambda: lk.score_dense(fewer, folded, node), folded.nbytes, len(fewer.rows)
    best = dict.fromkeys(ways, np.inf)
    for _ in range(3 * ROUNDS):
        for name, (work, _, _) in ways.items():
            best[name] = min(best[name], timed(work))
    print("\n### Frozen: scoring the test set of CoNLL-2000, 22 labels\n")
    print("| rows | ns a token | to dense | rows a token | MB |\n|---|--:|--:|--:|--:|")
    for name, (_, size, rows) in ways.items():
        ns = best[name] * 1e9 / test.tokens
        ratio = best[name] / best["dense"]
        print(f"| {name} | {ns:.0f} | {ratio:.2f} | {rows / test.tokens:.1f} | {size / 1e6:.1f} |")

    tag_all(
        {"dense": (weights, corpus), "dense, no rows of zeros": (some, known), "folded": (folded, fewer)}, edges, bans
    )


def tag_all(ways: dict[str, tuple[Floats, Corpus]], edges: Floats, bans: Floats) -> None:
    """Scoring and Viterbi, also with labels that do not exist up to 24 and 32, which make whole vectors."""
    cases = {
        (name, wide): (corpus, padded(weights, edges, bans, wide))
        for name, (weights, corpus) in ways.items()
        for wide in (weights.shape[1], 24, 32)
    }
    best, found = dict.fromkeys(cases, np.inf), {}
    for _ in range(3 * ROUNDS):
        for case, (corpus, arrays) in cases.items():
            tags = found[case] = np.zeros(corpus.offsets[-1], np.int32)
            best[case] = min(best[case], timed(lambda: tag_sentences(corpus, arrays, tags)))  # noqa: B023
    print("\n| scoring and Viterbi | labels in memory | ns a token | to today | other tags |\n|---|--:|--:|--:|--:|")
    today = next(iter(cases))
    for case, seconds in best.items():
        other = np.count_nonzero(found[case] != found[today])
        ns = seconds * 1e9 / len(found[case])
        print(f"| {case[0]} | {case[1]} | {ns:.0f} | {seconds / best[today]:.2f} | {other} |")


def padded(weights: Floats, edges: Floats, bans: Floats, labels: int) -> tuple[Floats, Floats, Floats]:
    """The same with more labels, which are forbidden."""
    L = weights.shape[1]
    wide = np.zeros((len(weights), labels), np.float32)
    wide[:, :L] = weights
    wide_edges = np.zeros((labels, labels), np.float32)
    wide_edges[:L, :L] = edges
    wide_bans = np.full((labels + 2, labels), -np.inf, np.float32)
    wide_bans[:L, :L], wide_bans[-2:, :L] = bans[:L], bans[L:]
    return wide, wide_edges, wide_bans


def tag_sentences(corpus: Corpus, arrays: tuple[Floats, Floats, Floats], tags: Ints) -> None:
    weights, edges, bans = arrays
    floats, ints, longs = np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64)
    pairs = np.empty((0, 1), np.float32)
    viterbi.tag_sentences(
        corpus.offsets,
        corpus.row_offsets,
        corpus.rows,
        floats,
        longs,
        ints,
        weights,
        edges,
        pairs,
        longs,
        ints,
        bans,
        tags,
    )


def renumbered(corpus: Corpus, numbers: Longs) -> Corpus:
    """The same with other numbers of features; those of -1 are left out."""
    rows = numbers[corpus.rows]
    kept = np.append(0, np.cumsum(rows >= 0))
    return corpus._replace(row_offsets=kept[corpus.row_offsets], rows=rows[rows >= 0].astype(np.int32))


def mixed(corpus: Corpus, weights: Floats, limit: int, node: Floats) -> tuple[Callable[[], float], float, float]:
    """Dense rows first, then sparse ones."""
    used = (weights != 0).sum(axis=1)
    order = np.argsort(used < limit, kind="stable")
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    D = int((used >= limit).sum())
    dense, sparse = np.ascontiguousarray(weights[order[:D]]), weights[order[D:]]
    rows, places = np.nonzero(sparse)
    starts = np.append(0, np.cumsum(used[order[D:]])).astype(np.int32)
    entries = places.astype(np.uint16), sparse[rows, places]
    other = renumbered(corpus, numbers)
    size = dense.nbytes + starts.nbytes + sum(array.nbytes for array in entries)
    return lambda: lk.score_frozen(other, dense, starts, *entries, node), size, len(other.rows)


def fold(prepared: Prepared, weights: Floats, test: Corpus) -> tuple[Floats, Corpus]:
    """Add the row of a feature to those of features that imply it: `pos[0] = NN` to `pos[0] & pos[1] = NN & VB`.

    A token that has the larger feature then does not need the smaller one. Each template is folded into the smallest
    template that has all of its atoms.
    """
    encoder: Any = prepared.encoder
    group = encoder.tables.groups()
    atoms = [frozenset(table.atoms) for table in encoder.layout.tables[: encoder.layout.node_tables]]
    parent = [
        min((b for b in range(len(atoms)) if atoms[a] < atoms[b]), key=lambda b: len(atoms[b]), default=-1)
        for a in range(len(atoms))
    ]
    train = by_template(prepared.corpus.row_offsets, prepared.corpus.rows, group, len(atoms))
    folded = weights.copy()
    for a in sorted(range(len(atoms)), key=lambda a: len(atoms[a])):
        if parent[a] >= 0:
            child, whole = train[:, a], train[:, parent[a]]
            both = (child >= 0) & (whole >= 0)
            child_of = np.full(len(weights), -1)
            child_of[whole[both]] = child[both]
            found = np.flatnonzero(child_of >= 0)
            folded[found] += folded[child_of[found]]
    grid = by_template(test.row_offsets, test.rows, group, len(atoms))
    kept = grid >= 0
    for a, b in enumerate(parent):
        if b >= 0:
            kept[:, a] &= grid[:, b] < 0
    fewer = test._replace(row_offsets=np.append(0, np.cumsum(kept.sum(axis=1))), rows=grid[kept].astype(np.int32))
    for token in range(0, len(grid), 1000):  # the scores stay the same
        mine = slice(*fewer.row_offsets[token : token + 2])
        whole = slice(*test.row_offsets[token : token + 2])
        np.testing.assert_allclose(
            folded[fewer.rows[mine]].sum(axis=0), weights[test.rows[whole]].sum(axis=0), atol=1e-3
        )
    return folded, fewer


def by_template(row_offsets: Longs, rows: Ints, group: Ints, templates: int) -> Longs:
    """The feature of each token and template, or -1."""
    grid = np.full((len(row_offsets) - 1, templates), -1)
    grid[np.repeat(np.arange(len(grid)), np.diff(row_offsets)), group[rows]] = rows
    return grid


def main() -> None:
    for name in sys.argv[1:] or [*TASKS, "frozen"]:
        if name == "frozen":
            frozen()
        else:
            measure(name)


if __name__ == "__main__":
    main()
