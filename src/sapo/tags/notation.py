"""Labels in three notations in, the same labels as letter, '-' and type out.

    B-NP I-NP O     prefix: the usual one, and the one that all other modules of tags take
    NP-B NP-I O     suffix: the letter after the type
    B I O           bare: letters alone; there is one type, which is called '_'

A label alone may be anything: O is also a pronoun, S a symbol, NP-B a name. So the notation is read from all labels
together. Where they do not prove to be suffix or bare they are taken as prefix, which changes nothing.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache

from sapo.tags.letters import SCHEMES, SPAN_LETTERS, TABLE, Scheme

UNTYPED = "_"  # the type of spans without a type


class Notation(Enum):
    """Where a label has its letter."""

    PREFIX = "B-NP"
    SUFFIX = "NP-B"
    BARE = "B"


def notation_of(labels: Iterable[str]) -> Notation:
    """Return the notation of all labels of a corpus or model.

    Suffix and bare labels must have the letters of one scheme, among them all that a span of several tokens and one
    of a single token need: B and I, or B, E and S, or B, L and U.

    >>> notation_of(["O", "NP-B", "NP-I"]).value, notation_of("BMES").value
    ('NP-B', 'B')
    >>> notation_of(["B", "S", "O", "NN"]).value, notation_of(["O", "B"]).value
    ('B-NP', 'B-NP')
    """
    return _notation_of(frozenset(labels) - {"O"})


@lru_cache(maxsize=64)
def _notation_of(inside: frozenset[str]) -> Notation:
    if not _prefixed(inside):
        if _proves_a_scheme(inside):
            return Notation.BARE
        parts = [label.rpartition("-") for label in inside]
        if all(type_name for type_name, _, _ in parts) and _proves_a_scheme(frozenset(x for _, _, x in parts)):
            return Notation.SUFFIX
    return Notation.PREFIX


def _proves_a_scheme(letters: frozenset[str]) -> bool:
    schemes = (TABLE[name] for name in SCHEMES)
    return len(letters) > 1 and any({x.first, x.last, x.single} <= letters <= x.letters for x in schemes)


def _prefixed(inside: Iterable[str]) -> bool:
    return all(letter in SPAN_LETTERS and type_name for letter, _, type_name in (x.partition("-") for x in inside))


def prefixed(label: str, notation: Notation) -> str:
    """Return a label as letter, '-' and type.

    >>> prefixed("NP-B", Notation.SUFFIX), prefixed("M", Notation.BARE), prefixed("O", Notation.BARE)
    ('B-NP', 'M-_', 'O')
    """
    if notation is Notation.PREFIX or label == "O":
        return label
    if notation is Notation.BARE:
        return f"{label}-{UNTYPED}" if "-" not in label else label
    type_name, dash, letter = label.rpartition("-")
    return f"{letter}{dash}{type_name}"


def written(label: str, notation: Notation) -> str:
    """Return a label of letter, '-' and type in a notation: the way back of `prefixed`.

    >>> written("B-NP", Notation.SUFFIX), written("M-_", Notation.BARE)
    ('NP-B', 'M')
    """
    if notation is Notation.PREFIX or label == "O":
        return label
    letter, dash, type_name = label.partition("-")
    return letter if notation is Notation.BARE else f"{type_name}{dash}{letter}"


def as_prefixed(labels: Sequence[str]) -> list[str]:
    """Return all labels of a corpus or model as letter, '-' and type; others than of spans stay as they are.

    >>> as_prefixed(["O", "NP-B", "NP-I"]), as_prefixed(["NN", "B", "O"])
    (['O', 'B-NP', 'I-NP'], ['NN', 'B', 'O'])
    """
    notation = notation_of(labels)
    return [prefixed(label, notation) for label in labels]


def looks_like_spans(labels: Iterable[str]) -> bool:
    """Tell whether the labels mark spans: each is O, or has a letter of some scheme; and not all are O.

    >>> looks_like_spans(["O", "B-NP", "I-NP"]), looks_like_spans(["NN", "VB", "O"]), looks_like_spans("BIO")
    (True, False, True)
    """
    inside = frozenset(labels) - {"O"}
    return bool(inside) and (_notation_of(inside) is not Notation.PREFIX or _prefixed(inside))


def notation_in(tags: Iterable[str], scheme: Scheme) -> Notation:
    """Return the notation of some tags of a known scheme.

    >>> notation_in(["O", "NP-B"], TABLE["iob2"]).value, notation_in(["O", "B"], TABLE["iob2"]).value
    ('NP-B', 'B')
    """
    inside = [tag for tag in tags if tag != "O"]
    for notation in Notation:  # the usual one first
        if inside and all(scheme.fits(prefixed(tag, notation)) for tag in inside):
            return notation
    return Notation.PREFIX
