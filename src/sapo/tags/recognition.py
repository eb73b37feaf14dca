"""Tags in, the scheme that they follow out: of whole sentences, or of counts of transitions."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sapo.kernels.types import Ints, Longs
from sapo.tags.bans import scheme_bans
from sapo.tags.letters import LIKELIEST_FIRST, TABLE, Scheme
from sapo.tags.notation import Notation, as_prefixed, looks_like_spans, notation_of, prefixed
from sapo.tags.transitions import Transition, transition_counts

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
    scheme, faults = min(
        _faults(as_prefixed(labels), counts), key=lambda found: int(found[1].sum()), default=("", counts)
    )
    spans = [number for number, label in enumerate(labels) if label != "O"]
    in_spans = int(counts[:-1, spans].sum())  # the start and every step: each tag once
    return (scheme, faults) if scheme and int(faults.sum()) <= TOO_MANY * in_spans else None


def recognise_scheme(tag_sequences: Iterable[Sequence[str]]) -> str | None:
    """Return the first of iob2, iob1, bioes, bilou and bmes in which every sentence is valid.

    Return None if there is no such scheme, or not a single tag.

    >>> recognise_scheme([["O", "I-NP", "I-NP"], ["I-NP", "B-NP"]])
    'iob1'
    >>> recognise_scheme([["PRP", "VBD", "NNP"]]) is None
    True
    """
    seen: set[Transition] = set()
    candidates = [(notation, scheme) for notation in Notation for scheme in LIKELIEST_FIRST]
    for tags in tag_sequences:
        new = set(pairwise([None, *tags, None])) - seen if tags else None
        if new:  # seldom, after the first sentences
            seen |= new
            labels, counts = _counted(new)
            valid = [
                (notation, scheme)
                for notation in {notation for notation, _ in candidates}
                for scheme, faults in _faults([prefixed(label, notation) for label in labels], counts)
                if not faults.any()
            ]
            candidates = [candidate for candidate in candidates if candidate in valid]
            if not candidates:
                return None
    if not seen:
        return None
    notation = notation_of({label for pair in seen for label in pair if label is not None})
    return next((scheme for one, scheme in candidates if one is notation), None)


def strict_scheme(labels: Sequence[str], gold: Ints, offsets: Longs) -> Scheme | None:
    """Return the scheme by which spans are well-formed: of those that fit the gold labels, the one with fewest faults.

    Of several with the same faults it is the first of iob2, iob1, bioes, bilou, bmes and ioe2. Return None if gold has
    no tag of a span, or none of the schemes fits.

    >>> strict_scheme(["O", "I-NP", "B-NP"], np.array([0, 1, 1, 2], np.int32), np.array([0, 4])).name
    'iob1'
    """
    used = np.unique(gold)
    names = as_prefixed(labels)
    own = [names[number] for number in used.tolist()]
    if not looks_like_spans(own):
        return None
    counts = transition_counts(np.searchsorted(used, gold).astype(np.int32), offsets, len(own))
    found = _faults(own, counts, (*LIKELIEST_FIRST, "ioe2"))
    scheme, _ = min(found, key=lambda one: int(one[1].sum()), default=("", counts))
    return TABLE.get(scheme)


def faults_in(labels: Sequence[str], counts: Longs, scheme: str) -> Longs:
    """Return the counts of what a scheme forbids, and 0 elsewhere. All labels must fit the scheme.

    >>> faults_in(["O", "I-NP"], np.array([[3, 1], [1, 4], [2, 0], [2, 0]]), "iob2").tolist()
    [[0, 1], [0, 0], [0, 0], [0, 0]]
    """
    return np.where(scheme_bans(labels, scheme) < 0, counts, 0)


def _faults(
    labels: Sequence[str], counts: Longs, schemes: Sequence[str] = LIKELIEST_FIRST
) -> Iterator[tuple[str, Longs]]:
    """Yield the schemes that all labels fit, the likeliest first, each with the counts of what it forbids."""
    for scheme in schemes:
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
