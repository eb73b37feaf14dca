"""Some sentences of an encoded corpus, as a corpus of their own."""

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.kernels.types import Ints, Longs


def subset(corpus: EncodedCorpus, sentences: Longs) -> EncodedCorpus:
    """Return some sentences of a corpus, in the order given."""
    tokens = _ranges(corpus.offsets, sentences)
    rows = _ranges(corpus.row_offsets, tokens)
    return EncodedCorpus(
        _offsets(corpus.offsets, sentences),
        _offsets(corpus.row_offsets, tokens),
        corpus.rows[rows],
        corpus.values[rows] if len(corpus.values) else corpus.values,
        corpus.gold[tokens],
        *_edge_rows(corpus, tokens),
        corpus.importance[tokens] if len(corpus.importance) else corpus.importance,
        allowed=corpus.allowed,
        words=corpus.words[tokens] if len(corpus.words) else corpus.words,
    )


def _edge_rows(corpus: EncodedCorpus, tokens: Longs) -> tuple[Longs, Ints]:
    if len(corpus.edge_row_offsets) == 1:
        return corpus.edge_row_offsets, corpus.edge_rows
    return _offsets(corpus.edge_row_offsets, tokens), corpus.edge_rows[_ranges(corpus.edge_row_offsets, tokens)]


def _ranges(offsets: Longs, chosen: Longs) -> Longs:
    """offsets[c] up to offsets[c + 1] for every c that is chosen, one after the other."""
    sizes = offsets[chosen + 1] - offsets[chosen]
    begins = np.repeat(offsets[chosen] - np.cumsum(sizes) + sizes, sizes)
    return np.asarray(begins + np.arange(sizes.sum()), np.int64)


def _offsets(offsets: Longs, chosen: Longs) -> Longs:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(offsets[chosen + 1] - offsets[chosen])])
