"""Encoded sentences and weights in, the best tag of every token out: the one place that decodes."""

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels import background, tagging
from sapo.kernels.types import Ints
from sapo.search.exact import viterbi
from sapo.search.lattice import Parameters, make_lattice


def tag_corpus(corpus: EncodedCorpus, parameters: Parameters) -> Ints:
    """The best label of every token."""
    parameters.check_knows(corpus.rows, corpus.edge_rows)
    tags = np.zeros(corpus.tokens, np.int32)
    steps = corpus.tokens * (parameters.lists.most or parameters.labels) ** 2
    background.call(tagging.tag_sentences, corpus.samples, parameters.arrays, tags, steps=steps)
    if len(corpus.token_bans):
        _tag_again(corpus, parameters, tags)
    return tags


def _tag_again(corpus: EncodedCorpus, parameters: Parameters, tags: Ints) -> None:
    """The sentences where something is forbidden to some tokens."""
    bound = np.append(0, np.cumsum((corpus.token_bans < 0).any(axis=1)))
    for sentence in np.flatnonzero(bound[corpus.offsets[1:]] > bound[corpus.offsets[:-1]]).tolist():
        first, last = corpus.offsets[sentence : sentence + 2]
        tags[first:last] = viterbi(make_lattice(corpus, sentence, parameters)).paths[0]
