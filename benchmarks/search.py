"""Viterbi, exact top-n by sidetracks, the paper's A* and beam search side by side: Markdown tables.

    python benchmarks/search.py

Milliseconds of processor time a sentence, and in brackets the ratio to Viterbi. This is the search alone: the node
scores are there already. The lattices are random, seed 0, in the likeness of a trained chunker's: at each token one
label stands out. Each number is the median of several rounds in which the searches take turns, and a round is one call
of a compiled loop over many sentences. The ratio is the median of the rounds' ratios, since a machine's speed wanders.
"""

import statistics
import time
from collections.abc import Callable, Iterable

import numpy as np

from sapo.jit import compile_kernels
from sapo.jit.arrays import Doubles, Floats, Ints
from sapo.jit.kernels import kernel
from sapo.search.astar import astar_n
from sapo.search.beam import beam_n
from sapo.search.topn import find_top_n
from sapo.search.viterbi import best_path, best_scores

ROUNDS = 15
WIDTH = 50

compile_kernels()


@kernel
def run_viterbi(nodes: Floats, edge: Floats, edge_to: Floats, n: int, paths: Ints, scores: Doubles) -> None:
    _, T, L = nodes.shape
    best = np.empty((T, L), np.float32)
    row = np.empty(L, np.float32)
    for node in nodes:
        best_scores(node, edge, T, best, row)
        best_path(best, edge_to, T, paths[0])


@kernel
def run_top_n(nodes: Floats, edge: Floats, edge_to: Floats, n: int, paths: Ints, scores: Doubles) -> None:
    _, T, L = nodes.shape
    best = np.empty((T, L), np.float32)
    row = np.empty(L, np.float32)
    for node in nodes:
        best_scores(node, edge, T, best, row)
        find_top_n(best, edge_to, T, n, np.inf, paths, scores, row)


@kernel
def run_astar(nodes: Floats, edge: Floats, edge_to: Floats, n: int, paths: Ints, scores: Doubles) -> None:
    _, T, L = nodes.shape
    row = np.empty(L, np.float32)
    for node in nodes:
        astar_n(node, edge, edge_to, T, np.inf, paths, scores, row)


@kernel
def run_beam(nodes: Floats, edge: Floats, edge_to: Floats, n: int, paths: Ints, scores: Doubles) -> None:
    T = nodes.shape[1]
    for node in nodes:
        beam_n(node, edge, T, n, WIDTH, np.inf, paths, scores)


SEARCHES: dict[str, Callable[[Floats, Floats, Floats, int, Ints, Doubles], None]] = {
    "Viterbi": run_viterbi,
    "top-n": run_top_n,
    "A*": run_astar,
    f"beam {WIDTH}": run_beam,
}


def milliseconds(tokens: int, labels: int, n: int) -> dict[str, list[float]]:
    """Of each search in each round, for one sentence."""
    sentences = max(4, 2_000_000 // (tokens * labels * (labels + 20)))
    rng = np.random.default_rng(0)
    nodes = 3 * rng.normal(size=(sentences, tokens, labels)).astype(np.float32)
    raised = rng.integers(labels, size=(sentences, tokens, 1))
    np.put_along_axis(nodes, raised, np.take_along_axis(nodes, raised, axis=2) + np.float32(6), axis=2)
    edge = rng.normal(size=(labels, labels)).astype(np.float32)
    arguments = nodes, edge, edge.T.copy(), n, np.empty((n, tokens), np.int32), np.empty(n, np.float64)

    spent: dict[str, list[float]] = {name: [] for name in SEARCHES}
    for measured in [False] + [True] * ROUNDS:  # the first round compiles and warms up
        for name, search in SEARCHES.items():
            started = time.process_time()
            search(*arguments)
            if measured:
                spent[name].append((time.process_time() - started) * 1000 / sentences)
    return spent


def table(varied: str, settings: Iterable[tuple[int, int, int, int]]) -> None:
    """One line for each (value to show, tokens, labels, n)."""
    print(f"| {varied} | {' | '.join(SEARCHES)} |")
    print("|--:" * (1 + len(SEARCHES)) + "|")
    for value, tokens, labels, n in settings:
        spent = milliseconds(tokens, labels, n)
        cells = []
        for times in spent.values():
            ratio = statistics.median(a / b for a, b in zip(times, spent["Viterbi"], strict=True))
            cells.append(f"{statistics.median(times):.4f} ({ratio:.2f})")
        print(f"| {value} | {' | '.join(cells)} |", flush=True)
    print()


def main() -> None:
    print("25 tokens, 22 labels\n")
    table("n", ((n, 25, 22, n) for n in (1, 2, 5, 10, 50, 100)))
    print("n = 5, 22 labels\n")
    table("tokens", ((tokens, tokens, 22, 5) for tokens in (5, 10, 25, 50, 100, 200, 500)))
    print("n = 5, 25 tokens\n")
    table("labels", ((labels, 25, labels, 5) for labels in (3, 10, 22, 45, 200, 1000)))


if __name__ == "__main__":
    main()
