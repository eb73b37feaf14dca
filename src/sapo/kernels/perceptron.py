"""The structured perceptron (Collins 2002) over a run of samples."""

from sapo.kernels._jit import kernel
from sapo.kernels.oracle import complete
from sapo.kernels.score import path_score
from sapo.kernels.short import fill_learning, labels_left, to_labels
from sapo.kernels.types import Doubles, Longs, Parts, Rivals, Samples
from sapo.kernels.update import (
    CANDIDATES,
    CLOCK,
    LOSS,
    TOKENS,
    count_correct,
    count_updates,
    end_sample,
    update,
)
from sapo.kernels.viterbi import best_path, best_scores
from sapo.kernels.weights import has_room, tagging_weights
from sapo.kernels.workspace import longest_of, make_workspace, stages_of


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
