"""The best tagging of many sentences, and the probabilities of its labels and spans over all taggings.

The same as `tag_corpus` and `distribution` for each sentence, but several times as fast where the sentences are short.
"""

import math
from dataclasses import dataclass

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import background, sums
from sapo.kernels.spans import Spans as WantedSpans
from sapo.kernels.types import Doubles, Ints
from sapo.search.decode import tag_corpus
from sapo.search.lattice import Parameters, make_lattice
from sapo.search.probabilities import SLOW, SpanReading, distribution
from sapo.tags import Span, Spans


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of each sentence: the best tagging, and the probabilities of labels."""

    corpus: EncodedCorpus
    parameters: Parameters
    temperature: float
    tags: Ints  # [tokens] of the best tagging
    marginal: Doubles  # [tokens, labels] P(the token has the label)
    log_best: Doubles  # [sentences] log P(the best tagging)
    lattices: sums.Lattices | None  # if all are summed at once

    def span_probabilities(self, reading: SpanReading, spans: Spans, names: tuple[str, ...]) -> Doubles:
        """Return the probability of each span; its type is a place in `names`."""
        offsets = self.corpus.offsets
        found = np.zeros(len(spans.starts))
        owners = np.searchsorted(offsets, spans.starts, side="right") - 1
        starts, ends = spans.starts - offsets[owners], spans.ends - offsets[owners]
        if self.lattices is None:
            for sentence in np.unique(owners).tolist():
                places = np.flatnonzero(owners == sentence)
                wanted = [Span(int(starts[i]), int(ends[i]), names[spans.types[i]]) for i in places]
                lattice = make_lattice(self.corpus, sentence, self.parameters).tempered(self.temperature)
                found[places] = distribution(lattice).span_probabilities(reading, wanted)
            return found
        there = self.log_best[owners] > -math.inf
        numbers = np.array([reading.number_of(name) if name else 0 for name in names], np.int32)
        shares = np.zeros(int(there.sum()))
        background.call(
            sums.sum_spans,
            offsets,
            self.lattices,
            reading.types,
            reading.joined,
            np.searchsorted(owners[there], np.arange(len(offsets))),
            WantedSpans(starts[there].astype(np.int32), ends[there].astype(np.int32), numbers[spans.types[there]]),
            shares,
            steps=SLOW * self.corpus.tokens * self.parameters.labels**2,
        )
        found[there] = shares
        return found


def sum_corpus(corpus: EncodedCorpus, parameters: Parameters, temperature: float = 1.0) -> Sums:
    """Find the best tagging of each sentence, and sum over all taggings."""
    many_labels = bool(parameters.lists.most)
    if many_labels or len(corpus.edge_row_offsets) > 1 or len(corpus.token_bans):
        return _one_by_one(corpus, parameters, temperature)
    parameters.check_knows(corpus.rows, corpus.edge_rows)
    T, L = corpus.tokens, parameters.labels
    tags, log_best = np.zeros(T, np.int32), np.zeros(corpus.sentences)
    node, edge = np.empty((T, L), np.float32), np.empty((1, L, L), np.float32)
    alpha, beta, marginal = (np.empty((T, L)) for _ in range(3))
    lattices = sums.Lattices(node, edge, alpha, beta, marginal)
    arrays = corpus.samples, parameters.arrays, temperature, tags, lattices, log_best
    background.call(sums.sum_sentences, *arrays, steps=SLOW * T * L * L)
    return Sums(corpus, parameters, temperature, tags, marginal, log_best, lattices)


def _one_by_one(corpus: EncodedCorpus, parameters: Parameters, temperature: float) -> Sums:
    tags = tag_corpus(corpus, parameters)
    marginal, log_best = np.empty((corpus.tokens, parameters.labels)), np.zeros(corpus.sentences)
    for sentence in range(corpus.sentences):
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        whole = distribution(make_lattice(corpus, sentence, parameters, exact=False).tempered(temperature))
        marginal[first:last] = whole.marginal
        log_best[sentence] = min(whole.lattice.path_score(tags[first:last]) - whole.log_z, 0.0)
        if math.isnan(log_best[sentence]):  # all is forbidden
            log_best[sentence] = -math.inf
    return Sums(corpus, parameters, temperature, tags, marginal, log_best, None)
