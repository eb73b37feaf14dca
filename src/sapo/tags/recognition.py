"""Recognize the scheme that tags follow, and list the transitions it forbids.

Bans have the form that kernels take: float32[labels + 2, labels], 0 or minus infinity. [p, y] is y after p, row
`labels` is y at the start of a sentence, row `labels + 1` is y at its end. Counts of transitions have the same form.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from sapo.jit.arrays import Floats, Ints, Longs
from sapo.tags.schemes import (
    LIKELIEST_FIRST,
    TABLE,
    Notation,
    Scheme,
    as_prefixed,
    looks_like_spans,
    notation_of,
    prefixed,
)

Transition = tuple[str | None, str | None]  # None is the border of a sentence
TOO_MANY = 0.1  # of the tags of spans: with more faults than this the tags follow no scheme


def scheme_bans(labels: Sequence[str], scheme: str) -> Floats:
    """Return the bans of a scheme. All labels must fit it.

    >>> scheme_bans(["O", "B-NP", "I-NP"], "iob2").tolist()[0]  # after O
    [0.0, 0.0, -inf]
    """
    return _scheme_bans(tuple(as_prefixed(labels)), scheme).copy()


@lru_cache(maxsize=16)  # learning sentence by sentence asks for the same ones again and again
def _scheme_bans(labels: tuple[str, ...], scheme: str) -> Floats:
    table = TABLE[scheme]
    letters = ["O", *sorted(table.letters)]
    letter = np.array([letters.index(label.partition("-")[0]) for label in [*labels, "O"]])
    names = {name: number for number, name in enumerate(dict.fromkeys(label.partition("-")[2] for label in labels))}
    kind = np.array([*(names[label.partition("-")[2]] for label in labels), -1])
    # whether a label may follow another depends on their letters, and on whether they have the same type
    fits = np.array([[[table.may_follow(p, y, same) for same in (False, True)] for y in letters] for p in letters])
    same = (kind[:, np.newaxis] == kind).astype(np.int64)
    allowed = fits[letter[:, np.newaxis], letter, same]
    bans = np.where(allowed, 0, -np.inf).astype(np.float32)
    L = len(labels)
    all_bans: Floats = np.concatenate([bans[:L, :L], bans[L:, :L], bans[:L, L:].T])  # the borders count as 'O'
    return all_bans


def transition_counts(gold: Ints, offsets: Longs, labels: int) -> Longs:
    """Return how often each label follows each other one, begins a sentence and ends one: [labels + 2, labels].

    Tags below 0 are missing or open, and are not counted.

    >>> transition_counts(np.array([0, 1, 1], np.int32), np.array([0, 2, 3]), 2).tolist()
    [[0, 1], [0, 0], [1, 1], [0, 2]]
    """
    rows, tags, _ = _neighbors(gold, offsets, labels)
    counts: Longs = np.bincount(rows * labels + tags, minlength=(labels + 2) * labels).reshape(labels + 2, labels)
    return counts


def first_forbidden(bans: Floats, gold: Ints, offsets: Longs) -> int | None:
    """Return the number, from 0, of the first sentence with a forbidden transition; None if there is none.

    >>> bans = np.zeros((4, 2), np.float32)
    >>> bans[0, 1] = -np.inf  # label 1 may not follow label 0
    >>> first_forbidden(bans, np.array([1, 0, 0, 1], np.int32), np.array([0, 2, 4]))
    1
    """
    rows, tags, sentences = _neighbors(gold, offsets, bans.shape[1])
    broken = bans[rows, tags] < 0
    return int(sentences[broken].min()) if broken.any() else None


def _neighbors(gold: Ints, offsets: Longs, labels: int) -> tuple[Longs, Longs, Longs]:
    """Return row and column of every pair of neighbors in the shape of bans, and its sentence."""
    sizes = np.diff(offsets)
    filled = np.flatnonzero(sizes > 0)
    starts, ends = offsets[:-1][filled], offsets[1:][filled] - 1
    sentence_of = np.repeat(np.arange(len(sizes)), sizes)
    inside = np.ones(len(gold), bool)
    inside[starts] = False
    after = np.flatnonzero(inside)
    rows = np.concatenate([gold[after - 1], np.full(len(starts), labels), np.full(len(ends), labels + 1)])
    places = np.concatenate([after, starts, ends])
    tags = gold[places]
    known = (rows >= 0) & (tags >= 0)
    return rows[known].astype(np.int64), tags[known].astype(np.int64), sentence_of[places[known]]


def recognize(labels: Sequence[str], counts: Longs) -> tuple[str, Longs] | None:
    """Return the scheme with the fewest faults in the gold tags, and how often each forbidden transition occurs.

    `counts` are those of `transition_counts`. Return None if the labels fit no scheme, or if more than a tenth of the
    tags of spans are faults.

    >>> labels, counts = ["O", "B-NP", "I-NP"], np.array([[1, 3, 0], [1, 0, 2], [2, 0, 0], [1, 0, 0], [1, 0, 0]])
    >>> scheme, faults = recognize(labels, counts)
    >>> scheme, int(faults.sum())
    ('iob2', 0)
    >>> recognize(["NN", "VB"], np.ones((4, 2), np.int64)) is None
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


def recognize_scheme(tag_sequences: Iterable[Sequence[str]]) -> str | None:
    """Return the first of iob2, iob1, bioes, bilou and bmes in which every sentence is valid.

    Return None if there is no such scheme, or not a single tag.

    >>> recognize_scheme([["O", "I-NP", "I-NP"], ["I-NP", "B-NP"]])
    'iob1'
    >>> recognize_scheme([["PRP", "VBD", "NNP"]]) is None
    True
    """
    seen: set[Transition] = set()
    candidates = [(notation, scheme) for notation in Notation for scheme in LIKELIEST_FIRST]
    for tags in tag_sequences:
        new = set(pairwise([None, *tags, None])) - seen if tags else None
        if new:  # rare after the first sentences
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

    Of several with the same faults it is the first of iob2, iob1, bioes, bilou, bmes, ioe2 and ioe1. Return None if
    gold has no tag of a span, or none of the schemes fits.

    >>> strict_scheme(["O", "I-NP", "B-NP"], np.array([0, 1, 1, 2], np.int32), np.array([0, 4])).name
    'iob1'
    """
    used = np.unique(gold)
    names = as_prefixed(labels)
    own = [names[number] for number in used.tolist()]
    if not looks_like_spans(own):
        return None
    counts = transition_counts(np.searchsorted(used, gold).astype(np.int32), offsets, len(own))
    found = _faults(own, counts, (*LIKELIEST_FIRST, "ioe2", "ioe1"))
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
