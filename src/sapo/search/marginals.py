"""Sum over all taggings of a lattice: the normalizer, marginals, and the probabilities of spans.

A span is there if all its labels have its type, each is joined to the next, and neither the label before it nor the
label after it is joined to it. Labels of a sentence are a Markov chain, forwards and backwards, so that

    P(span) = sum over its labels y_start ... y_last of  P(y_start) * P(no joined label before | y_start)
              * product of P(y_t | y_t-1) * P(no joined label after | y_last)

Over all taggings (`Distribution`, by forward-backward, exact): of a tagging, of a token's label (marginals), of a span.
Over the n best taggings alone (`top_n_...`, the paper's P_k): of a token's label, of a span. How much of the first kind
the n best have is `top_n_mass`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sapo.errors import ModelError, OptionError
from sapo.jit import call_interruptibly, in_numpy, kernel
from sapo.jit.arrays import Bools, Doubles, Floats, Ints, Reals
from sapo.search.lattice import Lattice
from sapo.search.topn import Candidates
from sapo.tags.schemes import as_prefixed, looks_like_spans
from sapo.tags.spans import Span, joined, loose_spans, type_of

WIDEST = 600.0  # exp(-600) is still a number, exp(-750) is 0
SMALLEST = 1e-40  # of what is reached: another step of exp(-600) and it is still a number


@kernel
def row_spread(scores: Reals, rows: int) -> float:
    """How far the scores of one row are apart at most."""
    widest = 0.0
    for t in range(rows):
        widest = max(widest, spread(scores[t : t + 1]))
    return widest


@kernel
def step_spread(edge: Reals, T: int) -> float:
    """How far the edges of one step are apart at most."""
    if edge.shape[0] == 1:
        return spread(edge[0])
    widest = 0.0
    for t in range(1, T):
        widest = max(widest, spread(edge[t]))
    return widest


def _spread(scores: Reals) -> float:
    allowed = scores[scores != -np.inf]
    return float(allowed.max()) - float(allowed.min()) if allowed.size else 0.0


@kernel
@in_numpy(_spread)
def spread(scores: Reals) -> float:
    """How far scores are apart at most, those that are forbidden left out."""
    low = np.inf
    high = -np.inf
    for p in range(scores.shape[0]):
        for y in range(scores.shape[1]):
            score = np.float64(scores[p, y])
            if score > -np.inf or np.isnan(score):
                low = min(low, score)
            high = max(high, score)
    return high - low if high > -np.inf else 0.0


@kernel
def log_add(a: float, b: float) -> float:
    """log(exp(a) + exp(b))"""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@kernel
def forward_backward_log(
    node: Reals, edge: Reals, T: int, alpha: Doubles, beta: Doubles, marginal: Doubles, pairs: Doubles
) -> float:
    """The same in logarithms, for scores of any size; a constant is taken off each row, to keep all digits."""
    # alpha[t,y] = node[t,y] + log sum_p exp(alpha[t-1,p] + edge[t,p,y]), beta likewise from the end
    L = node.shape[1]
    many = edge.shape[0] > 1
    log_z = 0.0
    for t in range(T):
        step = edge[t if many else 0]
        for y in range(L):
            total = 0.0 if t == 0 else -np.inf
            if t > 0:
                for p in range(L):
                    total = log_add(total, alpha[t - 1, p] + np.float64(step[p, y]))
            alpha[t, y] = total + np.float64(node[t, y])
        taken = log_sum(alpha[t])
        if taken == -np.inf:
            return -np.inf
        log_z += taken
        for y in range(L):
            alpha[t, y] -= taken

    for p in range(L):
        beta[T - 1, p] = 0.0
        marginal[T - 1, p] = math.exp(alpha[T - 1, p])
    clear_pairs(pairs, T)
    for t in range(T - 2, -1, -1):
        stage = t + 1 if many else 0
        step = edge[stage]
        for p in range(L):
            beta[t, p] = -np.inf
            for y in range(L):
                reach = np.float64(step[p, y]) + np.float64(node[t + 1, y]) + beta[t + 1, y]
                beta[t, p] = log_add(beta[t, p], reach)
            marginal[t, p] = alpha[t, p] + beta[t, p]
        mass = log_sum(marginal[t])
        for p in range(L):
            for y in range(L):
                reach = np.float64(step[p, y]) + np.float64(node[t + 1, y]) + beta[t + 1, y]
                pairs[stage, p, y] += math.exp(alpha[t, p] + reach - mass)
            marginal[t, p] = math.exp(marginal[t, p] - mass)
        taken = log_sum(beta[t])
        for p in range(L):
            beta[t, p] -= taken
    return log_z


@kernel
def clear_pairs(pairs: Doubles, T: int) -> None:
    for stage in range(min(T, pairs.shape[0])):
        for p in range(pairs.shape[1]):
            for y in range(pairs.shape[2]):
                pairs[stage, p, y] = 0.0


@kernel
def log_sum(row: Doubles) -> float:
    total = -np.inf
    for y in range(len(row)):
        total = log_add(total, row[y])
    return total


def _forward_backward_scaled(
    node: Reals, edge: Reals, T: int, alpha: Doubles, beta: Doubles, marginal: Doubles, pairs: Doubles
) -> tuple[bool, float]:
    if not row_spread(node, T) + 2.0 * step_spread(edge, T) <= WIDEST:
        return False, 0.0
    many, log_z = edge.shape[0] > 1, 0.0
    stages = slice(1, T) if many else slice(0, 1)
    pairs[: T if many else 1] = 0.0
    tops, factor = np.zeros(max(T, 1)), np.zeros((T if many else 1, *edge.shape[1:]))
    tops[stages] = edge[stages].max(axis=(1, 2))
    tops[tops == -np.inf] = 0.0
    factor[stages] = np.exp(edge[stages].astype(np.float64) - tops[stages, None, None])
    highest = node[:T].max(axis=1).astype(np.float64)
    weight, divisor = np.exp(node[:T] - np.where(highest == -np.inf, 0.0, highest)[:, None]), np.empty(T)
    for t in range(T):
        if highest[t] == -np.inf:
            return True, -np.inf
        stage = t if many else 0
        alpha[t] = alpha[t - 1] @ factor[stage] * weight[t] if t else weight[t]
        divisor[t] = alpha[t].sum()
        if not divisor[t] > 0.0:
            return True, -np.inf
        alpha[t] /= divisor[t]
        if ((alpha[t] > 0.0) & (alpha[t] < SMALLEST)).any():
            return False, 0.0
        log_z += (tops[stage] if t else 0.0) + highest[t] + math.log(divisor[t])
    beta[T - 1], marginal[T - 1] = alpha[T - 1] > 0.0, alpha[T - 1]
    for t in range(T - 2, -1, -1):
        stage = t + 1 if many else 0
        reach = factor[stage] * (weight[t + 1] * beta[t + 1] / divisor[t + 1])
        reach[alpha[t] <= 0.0] = 0.0
        beta[t] = reach.sum(axis=1)
        pairs[stage] += alpha[t][:, None] * reach
        marginal[t] = alpha[t] * beta[t]
    return True, log_z


@kernel
@in_numpy(_forward_backward_scaled)
def forward_backward_scaled(
    node: Reals,  # [T, L]
    edge: Reals,  # [stages, L, L]
    T: int,
    alpha: Doubles,  # [T, L] work
    beta: Doubles,  # [T, L] work
    marginal: Doubles,  # [T, L] out: P(y_t = y | x) over all taggings
    pairs: Doubles,  # [stages, L, L] out: expected number of each pair of labels, over all steps or at each
) -> tuple[bool, float]:
    """Return whether it could be done, and log Z.

    Each row is divided by its sum, so that no sentence is too long; node scores are taken relative to the best of
    their row and edge scores to the best of their step, so that none is too large. It cannot be done where scores are
    so far apart that products of their exponentials would vanish.
    """
    if not row_spread(node, T) + 2.0 * step_spread(edge, T) <= WIDEST:
        return False, 0.0
    L = node.shape[1]
    many = edge.shape[0] > 1
    stages = T if many else 1
    clear_pairs(pairs, T)
    factor = np.empty((stages, L, L), np.float64)
    tops = np.zeros(stages, np.float64)
    for stage in range(1 if many else 0, stages):
        tops[stage] = edge[stage].max()
        if tops[stage] == -np.inf:
            tops[stage] = 0.0
        for p in range(L):
            for y in range(L):
                factor[stage, p, y] = math.exp(float(edge[stage, p, y]) - tops[stage])

    # alpha[t,y] = exp(node[t,y]) * sum_p alpha[t-1,p] * exp(edge[t,p,y]), each row divided by its sum
    log_z = 0.0
    weight = np.empty((T, L), np.float64)
    divisor = np.empty(T, np.float64)
    for t in range(T):
        top = -np.inf
        for y in range(L):
            top = max(top, float(node[t, y]))
        if top == -np.inf:
            return True, -np.inf
        for y in range(L):
            weight[t, y] = math.exp(float(node[t, y]) - top)
            alpha[t, y] = 1.0 if t == 0 else 0.0
        if t > 0:
            stage = t if many else 0
            step = factor[stage]
            log_z += tops[stage]
            for p in range(L):
                a = alpha[t - 1, p]
                for y in range(L):
                    alpha[t, y] += a * step[p, y]
        total = 0.0
        for y in range(L):
            alpha[t, y] *= weight[t, y]
            total += alpha[t, y]
        if not total > 0.0:
            return True, -np.inf
        faint = False
        for y in range(L):
            alpha[t, y] /= total
            faint |= 0.0 < alpha[t, y] < SMALLEST
        if faint:  # where much is forbidden a detour may lose more and more, and still win in the end
            return False, 0.0
        divisor[t] = total
        log_z += top + math.log(total)

    # beta[t,p] = sum_y exp(edge[t+1,p,y]) * exp(node[t+1,y]) * beta[t+1,y], divided alike: alpha * beta are marginals.
    # Unreachable nodes (alpha = 0) get beta = 0; no reachable node reads it.
    later = np.empty(L, np.float64)
    for y in range(L):
        beta[T - 1, y] = 1.0 if alpha[T - 1, y] > 0.0 else 0.0
        marginal[T - 1, y] = alpha[T - 1, y]
    for t in range(T - 2, -1, -1):
        stage = t + 1 if many else 0
        step = factor[stage]
        expected = pairs[stage]
        for y in range(L):
            later[y] = weight[t + 1, y] * beta[t + 1, y] / divisor[t + 1]
        for p in range(L):
            a = alpha[t, p]
            total = 0.0
            if a > 0.0:  # alpha * beta is at most 1, but where alpha is 0, beta can outgrow all numbers
                for y in range(L):
                    reach = step[p, y] * later[y]
                    total += reach
                    expected[p, y] += a * reach
            beta[t, p] = total
            marginal[t, p] = a * total
    return True, log_z


@kernel
def forward_backward(
    node: Reals,  # [T, L]
    edge: Reals,  # [stages, L, L]
    T: int,
    alpha: Doubles,  # [T, L] work
    beta: Doubles,  # [T, L] work
    marginal: Doubles,  # [T, L] out: P(y_t = y | x) over all taggings
    pairs: Doubles,  # [stages, L, L] out: expected number of each pair of labels, over all steps or at each
) -> float:
    """Return log Z, the log of the sum of exp(score) over all taggings; minus infinity where all are forbidden."""
    done, log_z = forward_backward_scaled(node, edge, T, alpha, beta, marginal, pairs)
    return log_z if done else forward_backward_log(node, edge, T, alpha, beta, marginal, pairs)


@kernel
def forward_backward_logs(
    node: Reals,  # [T, L]
    edge: Reals,  # [stages, L, L]
    T: int,
    alpha: Doubles,  # [T, L] out: log of what leads to each node, itself counted; each row up to a constant
    beta: Doubles,  # [T, L] out: log of what follows each node that something leads to; each row up to a constant
    marginal: Doubles,  # [T, L] out
    pairs: Doubles,  # [stages, L, L] out
) -> float:
    """The same for those who go on from alpha and beta."""
    done, log_z = forward_backward_scaled(node, edge, T, alpha, beta, marginal, pairs)
    if not done:
        return forward_backward_log(node, edge, T, alpha, beta, marginal, pairs)
    if log_z > -np.inf:
        for t in range(T):
            for y in range(node.shape[1]):
                alpha[t, y] = math.log(alpha[t, y]) if alpha[t, y] > 0.0 else -np.inf
                beta[t, y] = math.log(beta[t, y]) if beta[t, y] > 0.0 else -np.inf
    return log_z


class WantedSpans(NamedTuple):
    """Spans of a sentence."""

    starts: Ints
    ends: Ints  # one past the last token
    types: Ints


@kernel
def span_probabilities(
    node: Floats,  # [T, L]
    edge: Floats,  # [stages, L, L]
    alpha: Doubles,  # [T, L] as forward_backward_logs gives them
    beta: Doubles,  # [T, L]
    marginal: Doubles,  # [T, L]
    types: Ints,  # [L] the type of each label
    joined: Bools,  # [L, L] whether y after p goes on with the span of p
    spans: WantedSpans,
    probabilities: Doubles,  # [spans] out
) -> None:
    """Sum over the taggings that have each span."""
    starts, ends, span_types = spans
    T, L = node.shape
    many = edge.shape[0] > 1
    mass = np.empty(L, np.float64)
    after = np.empty(L, np.float64)
    nexts = np.empty(L, np.float64)
    for i in range(len(starts)):
        start, end = starts[i], ends[i]
        for y in range(L):
            mass[y] = marginal[start, y] if types[y] == span_types[i] else 0.0
            if start > 0 and mass[y] > 0.0:
                mass[y] *= apart_before(edge[start if many else 0], alpha[start - 1], joined, y)

        # mass[q] = sum of mass[p] * P(q | p) over the p that q is joined to
        for t in range(start + 1, end):
            nexts[:] = 0.0
            for p in range(L):
                if mass[p] > 0.0:
                    chances_after(edge[t if many else 0], node[t], beta[t], p, after)
                    for q in range(L):
                        if joined[p, q] and types[q] == span_types[i]:
                            nexts[q] += mass[p] * after[q]
            mass[:] = nexts

        total = 0.0
        for p in range(L):
            if mass[p] > 0.0:
                apart = 1.0
                if end < T:
                    chances_after(edge[end if many else 0], node[end], beta[end], p, after)
                    apart = 0.0
                    for q in range(L):
                        if not joined[p, q]:
                            apart += after[q]
                total += mass[p] * apart
        probabilities[i] = min(total, 1.0)


@kernel
def apart_before(step: Floats, alpha: Doubles, joined: Bools, y: int) -> float:
    """P(the label before y does not join it | y)"""
    top = -np.inf
    for p in range(len(alpha)):
        top = max(top, alpha[p] + np.float64(step[p, y]))
    whole = 0.0
    apart = 0.0
    for p in range(len(alpha)):
        part = math.exp(alpha[p] + np.float64(step[p, y]) - top)
        whole += part
        if not joined[p, y]:
            apart += part
    return apart / whole


@kernel
def chances_after(step: Floats, node: Floats, beta: Doubles, p: int, after: Doubles) -> None:
    """after[q] = P(the label after p is q | p)"""
    top = -np.inf
    for q in range(len(beta)):
        after[q] = np.float64(step[p, q]) + np.float64(node[q]) + beta[q]
        top = max(top, after[q])
    whole = 0.0
    for q in range(len(beta)):
        after[q] = math.exp(after[q] - top)
        whole += after[q]
    for q in range(len(beta)):
        after[q] /= whole


SLOW = 10  # times as long as a search take sums: they need exponentials


@dataclass(frozen=True, slots=True)
class Distribution:
    """All taggings of a sentence, each with probability exp(score) / Z, or 0 if all are forbidden."""

    lattice: Lattice
    log_z: float  # log of the sum of exp(score) over all taggings
    marginal: Doubles  # [tokens, labels] P(the token has the label)
    log_alpha: Doubles  # [tokens, labels] of what leads to a node, each row up to a constant
    log_beta: Doubles  # [tokens, labels] of what follows it, where something leads to it

    def probability(self, path: "Ints | list[int]") -> float:
        """Return the probability of one tagging."""
        score = self.lattice.path_score(path)
        return math.exp(min(score - self.log_z, 0.0)) if score > -math.inf else 0.0

    def probabilities(self, candidates: Candidates) -> list[float]:
        """Return the probabilities, over all taggings, of the taggings that a search has found."""
        return [self.probability(path) for path in candidates.paths]

    def top_n_mass(self, candidates: Candidates) -> float:
        """Return the total probability of these candidates."""
        return min(sum(self.probabilities(candidates)), 1.0)

    def log_marginal(self) -> Doubles:
        """The logarithms of the marginals, also of those too small for a floating-point number."""
        if self.log_z == -math.inf or not self.lattice.tokens:
            return np.full_like(self.marginal, -np.inf)
        logs: Doubles = self.log_alpha + self.log_beta
        top = logs.max(axis=1, keepdims=True)
        logs -= top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        lists = self.lattice.lists
        if lists is None:
            return logs
        found = np.full_like(self.marginal, -np.inf)
        tokens = np.arange(len(logs))[:, np.newaxis]
        np.maximum.at(found, (tokens, lists), logs)
        return found

    def span_probabilities(self, reading: "SpanReading", spans: Sequence[Span]) -> Doubles:
        """Return, for each span, the probability that the tagging has exactly this span with this type."""
        found = np.zeros(len(spans))
        if self.log_z == -math.inf or not len(spans):
            return found
        wanted = WantedSpans(
            *(
                np.array(values, np.int32)
                for values in zip(
                    *((span.start, span.end, reading.number_of(span.type)) for span in spans), strict=True
                )
            )
        )
        lattice = self.lattice
        call_interruptibly(
            span_probabilities,
            lattice.node,
            lattice.steps,
            self.log_alpha,
            self.log_beta,
            self.marginal,
            reading.types,
            reading.joined,
            wanted,
            found,
            steps=SLOW * lattice.node.size * lattice.labels,
        )
        return found


def distribution(lattice: Lattice) -> Distribution:
    """Sum over all taggings of a sentence.

    >>> import numpy as np
    >>> both = distribution(Lattice(np.log([[1, 3]]).astype(np.float32), np.zeros((2, 2), np.float32)))
    >>> both.marginal.round(6).tolist(), round(both.probability([1]), 6)
    ([[0.25, 0.75]], 0.75)
    """
    T, L = lattice.node.shape
    alpha, beta, marginal = (np.empty((T, L), np.float64) for _ in range(3))
    if T == 0:
        return Distribution(lattice, 0.0, marginal, alpha, beta)
    node, edge = np.ascontiguousarray(lattice.node), np.ascontiguousarray(lattice.steps)
    pairs = np.empty(edge.shape, np.float64)
    arrays = (node, edge, T, alpha, beta, marginal, pairs)
    log_z = float(call_interruptibly(forward_backward_logs, *arrays, steps=SLOW * T * L * L))
    if log_z == -math.inf:
        marginal[:] = 0.0
    if lattice.lists is not None:
        marginal = _of_labels(marginal, lattice.lists, lattice.labels)
    return Distribution(lattice, log_z, marginal, alpha, beta)


def _of_labels(values: Doubles, lists: Ints, labels: int) -> Doubles:
    """Return values of nodes as values of labels, [tokens, labels]; those of labels without a node are 0."""
    found = np.zeros((len(values), labels))
    np.add.at(found, (np.arange(len(values))[:, np.newaxis], lists), values)
    return found


@dataclass(frozen=True, slots=True)
class SpanReading:
    """How spans are read from labels: as conlleval does, in every scheme, even if a tagging breaks its scheme."""

    names: tuple[str, ...]  # of the types; the first is that of O
    types: Ints  # [labels] places in names
    joined: Bools  # [labels, labels] whether y after p goes on with the span of p

    def number_of(self, type: str) -> int:
        if type not in self.names[1:]:
            raise ModelError(f"the model has no spans of type '{type}'; known: {', '.join(self.names[1:])}")
        return self.names.index(type)


@lru_cache(maxsize=16)
def span_reading(labels: tuple[str, ...]) -> SpanReading:
    """
    >>> reading = span_reading(("O", "B-NP", "I-NP"))
    >>> reading.names, reading.joined[1].tolist()
    (('', 'NP'), [False, False, True])
    """
    if not looks_like_spans(labels):
        raise ModelError(f"spans need labels such as B-NP; this model predicts {', '.join(labels)[:60]}")
    labels = tuple(as_prefixed(labels))
    names = tuple(dict.fromkeys(["", *map(type_of, labels)]))
    types = np.array([names.index(type_of(label)) for label in labels], np.int32)
    return SpanReading(names, types, np.array([[joined(p, y) for y in labels] for p in labels]))


def check_span(start: int, end: int, tokens: int) -> None:
    if not 0 <= start < end <= tokens:
        raise OptionError(
            f"span {start}:{end} is not in the sentence; it has {tokens} tokens, so keep within 0:{tokens}"
        )


def tempered(candidates: Candidates, temperature: float) -> Candidates:
    """Return the same candidates with all scores divided by the temperature."""
    return Candidates(candidates.paths, candidates.scores / temperature)


def top_n_marginals(candidates: Candidates, labels: int) -> Doubles:
    """Return the probability that a token has a label, [tokens, labels], relative to these candidates only.

    >>> top_n_marginals(Candidates(np.array([[0, 1], [1, 1]]), np.log([3, 1])), 2).round(6).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    tokens = np.arange(candidates.paths.shape[1])
    marginal = np.zeros((len(tokens), labels))
    for path, probability in zip(candidates.paths, candidates.p_k.tolist(), strict=True):
        marginal[tokens, path] += probability
    return marginal


def top_n_spans(candidates: Candidates, labels: Sequence[str]) -> dict[Span, float]:
    """Return every span of these candidates, with its probability relative to them only."""
    found: dict[Span, float] = {}
    labels = as_prefixed(labels)
    for path, probability in zip(candidates.paths, candidates.p_k.tolist(), strict=True):
        for span in loose_spans([labels[tag] for tag in path.tolist()]):
            found[span] = found.get(span, 0.0) + probability
    return found
