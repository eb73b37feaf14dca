"""SAPO: search-based probabilistic online learning (Algorithm 1 of the paper).

    repeat
        draw a sample z = (x, y*) at random from the training set S
        search the top-n outputs Y_n = {y_1 ... y_n} under w
        P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))
        w <- w - rate * P_k * F(x, y_k)             for every y_k in Y_n
        w <- w + rate * F(x, y*)
        w <- w - rate * strength / |S| * grad R(w)  with R(w) = |w|^2 / 2 for L2
    until convergence

With n = 1 this is the structured perceptron; with n = all taggings it is the stochastic gradient of a CRF.

If tags are open, y* is the best tagging compatible with the known tags, and other compatible taggings are dropped
from Y_n. The mean over the top-n of what the tags allow, instead of F(x, y*), would be the gradient of a CRF for
n = all, but with few candidates it does harm. Compatible candidates differ from each other in open tokens only, those
of Y_n in other tokens, too: each step would make the second-best tags of open tokens more probable
(docs/how-to/partial-labels.md).
"""

import math

import numpy as np

from sapo.features.encoded import EncodedCorpus, Samples
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Longs
from sapo.learn.loop import Step, linear_pass, rates_of, search_of
from sapo.learn.rows import has_room
from sapo.learn.settings import Settings
from sapo.learn.update import Rates, Rivals, count_update, regularize, update
from sapo.learn.weights import CLOCK, SCALE, Parts, Weights, tagging_weights
from sapo.search.chain import (
    Search,
    count_search,
    find_candidates,
    find_oracle,
    open_chain,
    score_chain,
    to_labels,
)
from sapo.search.lattice import BY_RANK, LOSS, path_score


@kernel
def sapo_samples(
    order: Longs,  # which sentences to learn from, in this order
    samples: Samples,
    parts: Parts,  # the weights: changed
    state: Doubles,  # changed
    search: Search,
    rates: Rates,
    totals: Doubles,  # added to
) -> int:
    """Learn from each sample in turn; return how many there were before there was no room for new weights."""
    weights = tagging_weights(parts)
    work = open_chain(order, samples, weights, search.n)
    for done in range(len(order)):
        first = samples.offsets[order[done]]
        T = samples.offsets[order[done] + 1] - first
        if T == 0:
            continue
        if not has_room(samples.row_offsets[first + T] - samples.row_offsets[first], parts.nodes):
            return done
        # search the top-n outputs Y_n
        score_chain(first, T, samples, weights, state[SCALE], work, totals)
        found = find_candidates(search, T, work)
        if found == 0:  # training diverged
            totals[LOSS] += np.nan
            return len(order)
        gold = samples.gold[first : first + T]
        found = find_oracle(gold, samples.allowed, T, found, work)
        # P_k = exp(w.F(x, y_k)) / sum over Y_n of exp(w.F(x, y))
        log_mass = softmax(work.scores, found, work.coefficients)
        totals[LOSS] += log_mass - path_score(work.node, work.edge, work.oracle, T)
        count_search(gold, samples.allowed, T, found, work, totals)
        for k in range(min(found, len(totals) - BY_RANK)):
            totals[BY_RANK + k] += work.coefficients[k]
        # w <- w + rate * (F(x, y*) - sum_k P_k F(x, y_k)), in terms of v = w / scale
        to_labels(T, found, weights, work)
        rivals = Rivals(work.oracle, work.paths, work.coefficients, found, 1.0)
        step = rates.rate / state[SCALE]
        count_update(update(first, T, samples, rivals, step, parts, state[CLOCK], work), totals)
        # w <- w - rate * strength / |S| * grad R(w)
        regularize(first, T, samples, rates, parts, state)
    return len(order)


@kernel
def softmax(scores: Doubles, found: int, probability: Doubles) -> float:
    """P_k = exp(score_k) / sum of exp(score) over Y_n; return the log of that sum."""
    mass = 0.0
    for k in range(found):
        probability[k] = math.exp(scores[k] - scores[0])
        mass += probability[k]
    for k in range(found):
        probability[k] /= mass
    return float(scores[0]) + math.log(mass)


def sapo_step(weights: Weights, corpus: EncodedCorpus, rate: float, settings: Settings, totals: Doubles) -> Step:
    """Return a function that learns from a run of samples."""
    samples, state = corpus.samples, weights.state
    search = search_of(settings, n=settings.number, margin=math.log(settings.stop_ratio))
    rates = rates_of(rate, settings, corpus.sentences_in_all)
    return lambda run, parts: sapo_samples(run, samples, parts, state, search, rates, totals)


sapo_pass = linear_pass(sapo_step)
