"""Tags in, the scheme that they follow out: of whole sentences, or of counts of transitions."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sapo.kernels.types import Longs
from sapo.tags.bans import scheme_bans
from sapo.tags.letters import LIKELIEST_FIRST, TABLE, looks_like_spans
from sapo.tags.transitions import Transition

TOO_MANY = 0.1  # of the tags of spans: with more faults than this the tags follow no scheme


def recognise(labels: Sequence[str], counts: Longs) -> tuple[str, Longs] | None:
    """Return the scheme with the fewest faults in the gold tags, and how often each forbidden transition occurs.

    `counts` are those of `transition_counts`. Return None if the labels fit no scheme, or if more than a tenth of the
    tags of spans are faults.

    >>> labels, counts = ["O", "B-NP", "I-NP"], np.array([[1, 3, 0], [1, 0, 2], [2, 0, 0], [1, 0, 0], [1, 0, 0]])
    >>> scheme, faults = recognise(labels, counts)
    >>> scheme, int(faults.sum())
    ('iob2', 0)
    >>> recognise(["NN", "VB"], np.ones((4, 2), np.int64)) is None
    True
    """
    if not looks_like_spans(labels):
        return None
    scheme, faults = min(_faults(labels, counts), key=lambda found: int(found[1].sum()), default=("", counts))
    spans = [number for number, label in enumerate(labels) if label != "O"]
    in_spans = int(counts[:-1, spans].sum())  # the start and every step: each tag once
    return (scheme, faults) if scheme and int(faults.sum()) <= TOO_MANY * in_spans else None


def recognise_scheme(tag_sequences: Iterable[Sequence[str]]) -> str | None:
    """Return the first of iob2, iob1, bioes and bilou in which every sentence is valid.

    Return None if there is no such scheme, or not a single tag.

    >>> recognise_scheme([["O", "I-NP", "I-NP"], ["I-NP", "B-NP"]])
    'iob1'
    >>> recognise_scheme([["PRP", "VBD", "NNP"]]) is None
    True
    """
    seen: set[Transition] = set()
    candidates = list(LIKELIEST_FIRST)
    for tags in tag_sequences:
        new = set(pairwise([None, *tags, None])) - seen if tags else None
        if new:  # seldom, after the first sentences
            seen |= new
            valid = [scheme for scheme, faults in _faults(*_counted(new)) if not faults.any()]
            candidates = [scheme for scheme in candidates if scheme in valid]
            if not candidates:
                return None
    return candidates[0] if seen else None


def faults_in(labels: Sequence[str], counts: Longs, scheme: str) -> Longs:
    """Return the counts of what a scheme forbids, and 0 elsewhere. All labels must fit the scheme.

    >>> faults_in(["O", "I-NP"], np.array([[3, 1], [1, 4], [2, 0], [2, 0]]), "iob2").tolist()
    [[0, 1], [0, 0], [0, 0], [0, 0]]
    """
    return np.where(scheme_bans(labels, scheme) < 0, counts, 0)


def _faults(labels: Sequence[str], counts: Longs) -> Iterator[tuple[str, Longs]]:
    """Yield the schemes that all labels fit, the likeliest first, each with the counts of what it forbids."""
    for scheme in LIKELIEST_FIRST:
        if all(map(TABLE[scheme].fits, labels)):
            yield scheme, faults_in(labels, counts, scheme)


def _counted(transitions: Iterable[Transition]) -> tuple[list[str], Longs]:
    """Return the labels of these transitions, and their counts in the shape of bans: 1 for each."""
    pairs = list(transitions)
    labels = sorted({label for pair in pairs for label in pair if label is not None})
    place = {label: number for number, label in enumerate(labels)}
    counts = np.zeros((len(labels) + 2, len(labels)), np.int64)
    for before, after in pairs:
        if after is None:
            counts[len(labels) + 1, place[before or ""]] = 1
        else:
            counts[len(labels) if before is None else place[before], place[after]] = 1
    return labels, counts
