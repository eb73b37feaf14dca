"""Labels and a tag scheme in, the transitions that the scheme forbids out; gold tags in, their scheme out."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sapo.kernels.types import Floats, Longs
from sapo.tags.schemes import letters_of_scheme, may_follow

LIKELIEST_FIRST = ("iob2", "iob1", "bioes", "bilou")  # short samples are often valid in iob1 and iob2 alike
TOO_MANY = 0.1  # of the tags of spans: with more faults than this the tags follow no scheme


def scheme_bans(labels: Sequence[str], scheme: str) -> Floats:
    """What the scheme forbids. All labels must be of the scheme.

    >>> scheme_bans(["O", "B-NP", "I-NP"], "iob2").tolist()[0]  # after O
    [0.0, 0.0, -inf]
    """
    return _scheme_bans(tuple(labels), scheme).copy()


@lru_cache(maxsize=16)  # learning from single sentences asks for the same ones again and again
def _scheme_bans(labels: tuple[str, ...], scheme: str) -> Floats:
    letters = ["O", *sorted(letters_of_scheme(scheme))]
    letter = np.array([letters.index(label.partition("-")[0]) for label in [*labels, "O"]])
    names = {name: number for number, name in enumerate(dict.fromkeys(label.partition("-")[2] for label in labels))}
    kind = np.array([*(names[label.partition("-")[2]] for label in labels), -1])
    # two tags fit or not by their letters, and by whether they are of the same type
    fits = np.array([[[may_follow(p + "-x", y + t, scheme) for t in ("-y", "-x")] for y in letters] for p in letters])
    same = (kind[:, np.newaxis] == kind).astype(np.int64)
    allowed = fits[letter[:, np.newaxis], letter, same]
    bans = np.where(allowed, 0, -np.inf).astype(np.float32)
    L = len(labels)
    all_bans: Floats = np.concatenate([bans[:L, :L], bans[L:, :L], bans[:L, L:].T])  # the borders count as 'O'
    return all_bans


def recognise(labels: Sequence[str], counts: Longs) -> tuple[str, Longs] | None:
    """The scheme that the gold tags follow best, and how often each forbidden transition occurs in them all the same.

    None where the labels are of no scheme, or have faults almost everywhere.

    >>> recognise(["NN", "VB"], np.ones((4, 2), np.int64)) is None
    True
    """
    inside = [label.partition("-") for label in labels if label != "O"]
    if not inside or not all(letter and kind for letter, _, kind in inside):
        return None
    used = {letter for letter, _, _ in inside}
    best: tuple[int, str, Longs] | None = None
    for scheme in LIKELIEST_FIRST:
        if used <= letters_of_scheme(scheme):
            faults = np.where(scheme_bans(labels, scheme) < 0, counts, 0)
            if best is None or faults.sum() < best[0]:
                best = int(faults.sum()), scheme, faults
    if best is None:
        return None
    spans = [number for number, label in enumerate(labels) if label != "O"]
    in_spans = int(counts[:-1, spans].sum())  # the start and every step: each tag once
    return (best[1], best[2]) if best[0] <= TOO_MANY * in_spans else None
