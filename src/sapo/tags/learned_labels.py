"""IOB2 gold tags in, the same spans in the scheme that a model learns out.

A model may learn more letters than the file has: whether B-NP ends right away (S-NP) or goes on is worth knowing. The
way back goes label by label: S-NP is shown as B-NP and E-NP as I-NP. For valid taggings it is one to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapo.errors import SapoError
from sapo.kernels.types import Bools, Ints, Longs
from sapo.tags.letters import ALWAYS_BEGIN, SCHEMES, SPAN_LETTERS, TABLE

IOB2 = TABLE["iob2"]
SHOWN = {letter: IOB2.first if letter in ALWAYS_BEGIN else IOB2.inside for letter in SPAN_LETTERS}
# labels can be shown in IOB2 one by one where each letter says whether a span begins
LEARNABLE = tuple(name for name in SCHEMES if {TABLE[name].first, TABLE[name].single} <= TABLE[name].always_begin)


@dataclass(frozen=True, slots=True)
class LearnedLabels:
    """Labels as a model learns them, the gold tags in them, and the name by which each label is shown."""

    labels: list[str]
    gold: Ints  # -1 where any label will do, -2 - s where one of allowed[s] will
    shown: tuple[str, ...]  # one per label
    mended: int  # how many spans began with I-
    allowed: Bools  # [sets, labels]


def shown_name(label: str) -> str:
    """Return the IOB2 name of a label of any scheme in LEARNABLE.

    >>> shown_name("S-NP"), shown_name("E-NP"), shown_name("O")
    ('B-NP', 'I-NP', 'O')
    """
    letter, dash, kind = label.partition("-")
    return SHOWN[letter] + dash + kind if dash else label


def learn_as(
    scheme: str, labels: Sequence[str], gold: Ints, offsets: Longs, *, known: Sequence[str] = (), complete: bool = False
) -> LearnedLabels:
    """Rewrite IOB2 gold tags in another scheme. A span that begins with I- is read as if it began with B-.

    A missing tag (-1) stays missing. If one follows a token of a span, it is not known whether the span ends there: if
    the scheme has a letter for each case, the token may have either label, and both are among the labels.

    `known` are labels that come first in the new list. With `complete` a type has all its labels, also those that occur
    nowhere: a few sentences may have no span of a single token. Raise SapoError if the scheme is not in LEARNABLE, or
    if a label is not IOB2.

    >>> learn_as("bioes", ["O", "B-NP", "I-NP"], np.array([1, 2, 0, 1], np.int32), np.array([0, 4])).labels
    ['B-NP', 'E-NP', 'O', 'S-NP']
    """
    if scheme not in LEARNABLE:
        raise SapoError(f"scheme must be one of {', '.join(LEARNABLE)}, not {scheme}")
    for label in labels:
        if not IOB2.fits(label):
            raise SapoError(f"scheme {scheme}: tags must be IOB2, that is O, B-TYPE and I-TYPE, and there is '{label}'")
    tokens = _places_in_spans(labels, gold, offsets)
    types, type_of, goes_on = tokens.types, tokens.type_of, tokens.goes_on
    table = TABLE[scheme]
    letters = (table.first, table.inside, table.last, table.single)
    two_ways = np.where(goes_on, table.inside != table.last, table.first != table.single)
    either = tokens.inside & tokens.open_end & two_ways
    told = tokens.told & ~either
    place = np.where(goes_on, np.where(tokens.has_next, 1, 2), np.where(tokens.has_next, 0, 3))  # in `letters`
    codes = np.where(tokens.inside, 1 + 4 * type_of + place, 0)

    number = {label: i for i, label in enumerate(known)}
    learned_of = np.zeros(4 * len(types) + 1, np.int32)
    found, at = np.unique(codes[told], return_index=True)
    for code in found[np.argsort(at)].tolist():  # in the order they come
        name = f"{letters[(code - 1) % 4]}-{types[(code - 1) // 4]}" if code else "O"
        learned_of[code] = number.setdefault(name, len(number))
    if complete or not told.all():  # a gap may need a label that stands nowhere else
        for name in (f"{letter}-{kind}" for kind in types if kind for letter in letters):
            if shown_name(name) in labels:
                number.setdefault(name, len(number))
    learned = np.where(told, learned_of[codes], np.int32(-1))

    sets, set_of = np.unique(2 * type_of[either] + goes_on[either], return_inverse=True)
    learned[either] = -2 - set_of
    cases = [
        (s, f"{letter}-{types[code // 2]}")
        for s, code in enumerate(sets.tolist())
        for letter in ((table.inside, table.last) if code % 2 else (table.first, table.single))
    ]
    for _, name in cases:  # a span that is mended may need a B- that stands nowhere
        number.setdefault(name, len(number))
    allowed = np.zeros((len(sets), len(number)), np.bool_)
    for s, name in cases:
        allowed[s, number[name]] = True
    return LearnedLabels(list(number), learned, tuple(map(shown_name, number)), tokens.mended, allowed)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where each token stands in its span, as far as the tags tell."""

    types: list[str]  # '' is that of O
    type_of: Longs  # [tokens], places in `types`; without meaning where the tag is missing
    told: Bools  # the tag is there
    inside: Bools  # the token is in a span
    goes_on: Bools  # it continues the span of the token before it
    has_next: Bools  # the token after it continues its span
    open_end: Bools  # the next tag of the sentence is missing
    mended: int  # how many spans begin with I-


def _places_in_spans(labels: Sequence[str], gold: Ints, offsets: Longs) -> _Places:
    parts = [label.partition("-") for label in labels]
    types = list(dict.fromkeys(kind for _, _, kind in parts))
    type_of = np.array([types.index(kind) for _, _, kind in parts])[gold]
    told = gold >= 0
    inside = told & np.array([bool(kind) for _, _, kind in parts])[gold]
    with_i = told & np.array([letter == IOB2.inside for letter, _, _ in parts])[gold]
    first = offsets[:-1][np.diff(offsets) > 0]
    goes_on = with_i.copy()
    goes_on[1:] &= ~told[:-1] | (inside[:-1] & (type_of[1:] == type_of[:-1]))
    goes_on[first] = False
    open_end = np.append(~told[1:], False)
    open_end[first - 1] = False
    has_next = np.append(goes_on[1:], False)
    mended = int(np.count_nonzero(with_i & ~goes_on))
    return _Places(types, type_of, told, inside, goes_on, has_next, open_end, mended)
