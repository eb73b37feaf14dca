"""The structured perceptron (Collins 2002): find the best tagging; if it is wrong, move towards the oracle.

    w <- w + rate * (F(x, y*) - F(x, y))

The rate is 1, and there is no regularizer. `perceptron-avg` returns the average of w over all steps.
"""

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Longs
from sapo.learn.loop import Step, linear_pass
from sapo.learn.rows import ALL_ROWS, has_room
from sapo.learn.settings import Settings
from sapo.learn.update import Rivals, count_update, end_sample, update
from sapo.learn.weights import CLOCK, Parts, Weights, tagging_weights
from sapo.search.chain import count_search, find_oracle, open_chain, score_chain, to_labels
from sapo.search.lattice import LOSS, path_score
from sapo.search.viterbi import best_path, best_scores


@kernel
def perceptron_samples(
    order: Longs, samples: Samples, parts: Parts, state: Doubles, rate: float, totals: Doubles
) -> int:
    """Learn from each sample in turn; return how many there were before there was no room for new weights."""
    weights = tagging_weights(parts)
    work = open_chain(order, samples, weights, 1)
    path = work.paths[0]
    work.coefficients[0] = 1.0
    rivals = Rivals(work.oracle, work.paths, work.coefficients, 1, 1.0)
    for done in range(len(order)):
        first = samples.offsets[order[done]]
        T = samples.offsets[order[done] + 1] - first
        if T == 0:
            continue
        if not has_room(samples.row_offsets[first + T] - samples.row_offsets[first], parts.nodes):
            return done
        score_chain(first, T, samples, weights, 1.0, work, totals)
        # search the best output y
        best_scores(work.node, work.edge, T, work.best, work.row)
        best_path(work.best, work.edge_to, T, path)
        gold = samples.gold[first : first + T]
        find_oracle(gold, samples.allowed, T, 1, work)
        totals[LOSS] += path_score(work.node, work.edge, path, T) - path_score(work.node, work.edge, work.oracle, T)
        count_search(gold, samples.allowed, T, 1, work, totals)
        # w <- w + rate * (F(x, y*) - F(x, y))
        to_labels(T, 1, weights, work)
        count_update(update(first, T, samples, rivals, rate, parts, state[CLOCK], work, ALL_ROWS), totals)
        end_sample(0.0, state)
    return len(order)


def perceptron_step(weights: Weights, corpus: EncodedCorpus, rate: float, settings: Settings, totals: Doubles) -> Step:
    """Return a function that learns from a run of samples."""
    samples, state = corpus.samples, weights.state
    return lambda run, parts: perceptron_samples(run, samples, parts, state, 1.0, totals)


perceptron_pass = linear_pass(perceptron_step)
