"""The structured perceptron (Collins 2002): find the best tagging; if it is wrong, move towards the oracle.

    w <- w + rate * (F(x, y*) - F(x, y))

The rate is 1, and there is no regularizer. `perceptron-avg` returns the average of w over all steps.
"""

from collections.abc import Iterator

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Longs
from sapo.learn.loop import learn_run, runs_of
from sapo.learn.rows import has_room
from sapo.learn.settings import Settings
from sapo.learn.update import Rivals, complete, count_correct, count_updates, end_sample, update
from sapo.learn.weights import CLOCK, Parts, Weights, tagging_weights
from sapo.search.lattice import (
    CANDIDATES,
    LOSS,
    TOKENS,
    fill_learning,
    labels_left,
    longest_of,
    make_workspace,
    path_score,
    stages_of,
    to_labels,
)
from sapo.search.viterbi import best_path, best_scores


@kernel
def perceptron_samples(
    order: Longs, samples: Samples, parts: Parts, state: Doubles, rate: float, totals: Doubles
) -> int:
    """w <- w + rate * (F(x, y*) - F(x, y)), with y the best tagging; return how many samples there was room for."""
    longest = longest_of(order, samples.offsets)
    stages = stages_of(samples.edge_row_offsets, longest)
    most = parts.lists.most
    left = labels_left(order, samples, most)
    work = make_workspace(longest, parts.edges.v.shape[0], stages, 1, left)
    node, edge, oracle, path = work.node, work.edge, work.oracle, work.paths[0]
    work.coefficients[0] = 1.0
    rivals = Rivals(oracle, work.paths, work.coefficients, 1, 1.0)
    weights = tagging_weights(parts)
    for done in range(len(order)):
        first = samples.offsets[order[done]]
        T = samples.offsets[order[done] + 1] - first
        if T == 0:
            continue
        if not has_room(samples.row_offsets[first + T] - samples.row_offsets[first], parts.nodes):
            return done
        fill_learning(first, T, samples, weights, 1.0, left, most, work, totals)
        best_scores(node, edge, T, work.best, work.row)
        best_path(work.best, work.edge_to, T, path)
        if left == 0:
            complete(samples.gold[first : first + T], samples.allowed, T, work)
        totals[LOSS] += path_score(node, edge, path, T) - path_score(node, edge, oracle, T)
        totals[CANDIDATES] += 1
        totals[TOKENS] += T
        count_correct(T, oracle, path, totals)
        if left > 0:
            to_labels(T, 1, most, work)
        touched = update(first, T, samples, rivals, rate, parts, state[CLOCK], work)
        count_updates(touched, totals)
        end_sample(0.0, parts, state)
    return len(order)


def perceptron_pass(
    weights: Weights, corpus: EncodedCorpus, order: Longs, rate: float, settings: Settings, totals: Doubles
) -> Iterator[int]:
    """Learn from the sentences in this order; yield the number of samples after each run of them.

    What is counted on the way is added to `totals` (see learn/update.py).
    """
    samples, state = corpus.samples, weights.state

    def learn(run: Longs, parts: Parts) -> int:
        return perceptron_samples(run, samples, parts, state, 1.0, totals)

    for run in runs_of(order):
        learn_run(weights, corpus, run, settings, learn)
        yield len(run)
