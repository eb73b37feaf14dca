"""Handle labels: missing ones, morphology, the scheme that a model learns, and whether data fits a model.

A model may learn more letters than the file has: whether B-NP ends right away (S-NP) or goes on is useful to know. The
output is translated back label by label: S-NP is shown as B-NP and E-NP as I-NP. For valid taggings this is one to one.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sapo.errors import DataError, OptionError
from sapo.jit.arrays import Bools, Ints, Longs
from sapo.tags.schemes import ALWAYS_BEGIN, SCHEMES, SPAN_LETTERS, TABLE, looks_like_spans
from sapo.tags.spans import type_of

MISSING = "\0"  # stands for None among strings; no file has it as a tag
NAMED = 5  # labels in a message about many
NO_FEATURES = "_"
_FEATURE = r"[^|=]+=[^|]+"
_FEATURES = rf"_|{_FEATURE}(?:\|{_FEATURE})*"
# the shortest part of speech that leaves nothing but features, because XPOS may contain '|', too
_WITH_POS = re.compile(rf"(.+?)\|({_FEATURES})", re.DOTALL)
# of UD; CONJ is of its version 1
_UPOS = re.compile("ADJ|ADP|ADV|AUX|CCONJ|CONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X|_")
IOB2 = TABLE["iob2"]
SHOWN = {letter: IOB2.first if letter in ALWAYS_BEGIN else IOB2.inside for letter in SPAN_LETTERS}
# labels can be shown in IOB2 one by one if each letter says whether a span begins
LEARNABLE = tuple(name for name in SCHEMES if {TABLE[name].first, TABLE[name].single} <= TABLE[name].always_begin)


def open_missing(labels: Sequence[str], gold: Ints, marks: Collection[str], what: str) -> tuple[list[str], Ints]:
    """Return the labels without the marks, and the gold tags in them, with -1 for each mark.

    `what` names the data in the message. Raise SapoError if every tag is missing.

    >>> open_missing(["A", "_", "B"], np.array([0, 1, 2], np.int32), ["_"], "data")
    (['A', 'B'], array([ 0, -1,  1], dtype=int32))
    """
    kept = [label for label in labels if label not in marks]
    if not kept:
        raise DataError(f"{what}: every tag is missing; at least one must be there")
    if len(kept) == len(labels):
        return kept, gold
    place = {label: number for number, label in enumerate(kept)}
    return kept, np.array([place.get(label, -1) for label in labels], np.int32)[gold]


def refuse_missing(labels: Sequence[str], marks: Collection[str], what: str) -> None:
    """Raise SapoError if a mark is among the labels: where a span with a missing tag ends is not known.

    >>> refuse_missing(["A", "B"], ["_"], "data")
    """
    for label in labels:
        if label in marks:
            shown = "" if label == MISSING else f" ('{label}')"
            raise DataError(
                f"{what}: some tags are missing{shown}; evaluation needs all of them: leave such sentences out"
            )


def in_order(features: str) -> str | None:
    """Return features in the order of UD, each once; None if this is not a list of KEY=VALUE.

    >>> in_order("Number=Sing|Case=Acc,Nom|Number=Sing"), in_order("_"), in_order("Case=Nom|Sing")
    ('Case=Acc,Nom|Number=Sing', '_', None)
    """
    if not re.fullmatch(_FEATURES, features):
        return None
    return "|".join(sorted(set(features.split("|")), key=lambda feature: (feature.lower(), feature)))


def split_pos(label: str) -> tuple[str, str] | None:
    """Return the part of speech before features, and the features; None if the label does not have both.

    >>> split_pos("NOUN|Case=Nom|Number=Sing"), split_pos("X|_"), split_pos("NN|SIN|Case=Nom")
    (('NOUN', 'Case=Nom|Number=Sing'), ('X', '_'), ('NN|SIN', 'Case=Nom'))
    >>> split_pos("NOUN") is None
    True
    """
    match = _WITH_POS.fullmatch(label)
    return None if match is None else (match[1], match[2])


def read_morphology(labels: Sequence[str]) -> list[Mapping[str, str]] | None:
    """Return for each label its values by key; None unless all labels are morphology, and some have a feature.

    The part of speech has the key upos if all are those of UD, and otherwise pos. The values of a repeated key are
    joined by a comma, as UD writes several values.

    >>> read_morphology(["NOUN|Case=Nom", "X|_"])
    [{'upos': 'NOUN', 'Case': 'Nom'}, {'upos': 'X'}]
    >>> read_morphology(["_", "Case=Nom|Case=Acc"])
    [{}, {'Case': 'Acc,Nom'}]
    >>> read_morphology(["NN", "VB"]) is None
    True
    """
    if not any("=" in label for label in labels):  # a quick answer for all other labels
        return None
    bare = [in_order(label) for label in labels]
    if all(bare):
        return [_values(features or NO_FEATURES) for features in bare]
    parts = [part for part in map(split_pos, labels) if part is not None]
    if len(parts) < len(labels) or all(features == NO_FEATURES for _, features in parts):
        return None
    name = "upos" if all(_UPOS.fullmatch(pos) for pos, _ in parts) else "pos"
    return [({} if pos == "_" else {name: pos}) | _values(in_order(features) or features) for pos, features in parts]


def _values(features: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for feature in features.split("|"):
        key, equals, value = feature.partition("=")
        if equals:
            values[key] = f"{values[key]},{value}" if key in values else value
    return values


@dataclass(frozen=True, slots=True)
class LearnedLabels:
    """Labels as a model learns them, the gold tags in them, and the name by which each label is shown."""

    labels: list[str]
    gold: Ints  # -1 if any label is correct, -2 - s if each label in allowed[s] is
    shown: tuple[str, ...]  # one per label
    mended: int  # number of spans that began with I-
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

    `known` are labels that come first in the new list. With `complete` a type has all its labels, even those that do
    not occur: a few sentences may have no span of a single token. Raise SapoError if the scheme is not in LEARNABLE, or
    if a label is not IOB2.

    >>> learn_as("bioes", ["O", "B-NP", "I-NP"], np.array([1, 2, 0, 1], np.int32), np.array([0, 4])).labels
    ['B-NP', 'E-NP', 'O', 'S-NP']
    """
    if scheme not in LEARNABLE:
        raise OptionError(f"scheme must be one of {', '.join(LEARNABLE)}, not {scheme}")
    for label in labels:
        if not IOB2.fits(label):
            raise OptionError(f"scheme {scheme}: tags must be IOB2, that is O, B-TYPE and I-TYPE, not '{label}'")
    tokens = _places_in_spans(labels, gold, offsets)
    types, type_of, goes_on = tokens.types, tokens.type_of, tokens.goes_on
    table = TABLE[scheme]
    letters = (table.first, table.inside, table.last, table.single)
    two_ways = np.where(goes_on, table.inside != table.last, table.first != table.single)
    either = tokens.inside & tokens.open_end & two_ways
    settled = tokens.known & ~either
    place = np.where(goes_on, np.where(tokens.has_next, 1, 2), np.where(tokens.has_next, 0, 3))  # in `letters`
    codes = np.where(tokens.inside, 1 + 4 * type_of + place, 0)

    number = {label: i for i, label in enumerate(known)}
    learned_of = np.zeros(4 * len(types) + 1, np.int32)
    found, at = np.unique(codes[settled], return_index=True)
    for code in found[np.argsort(at)].tolist():  # in the order of their first occurrence
        name = f"{letters[(code - 1) % 4]}-{types[(code - 1) // 4]}" if code else "O"
        learned_of[code] = number.setdefault(name, len(number))
    if complete or not settled.all():  # a missing tag may need a label that does not occur
        for name in (f"{letter}-{kind}" for kind in types if kind for letter in letters):
            if shown_name(name) in labels:
                number.setdefault(name, len(number))
    learned = np.where(settled, learned_of[codes], np.int32(-1))

    sets, set_of = np.unique(2 * type_of[either] + goes_on[either], return_inverse=True)
    learned[either] = -2 - set_of
    cases = [
        (s, f"{letter}-{types[code // 2]}")
        for s, code in enumerate(sets.tolist())
        for letter in ((table.inside, table.last) if code % 2 else (table.first, table.single))
    ]
    for _, name in cases:  # a mended span may need a B- that does not occur
        number.setdefault(name, len(number))
    allowed = np.zeros((len(sets), len(number)), np.bool_)
    for s, name in cases:
        allowed[s, number[name]] = True
    return LearnedLabels(list(number), learned, tuple(map(shown_name, number)), tokens.mended, allowed)


@dataclass(frozen=True, slots=True)
class _Places:
    """The place of each token in its span, as far as it is known."""

    types: list[str]  # '' is that of O
    type_of: Longs  # [tokens], places in `types`; meaningless if the tag is missing
    known: Bools  # the tag is not missing
    inside: Bools  # the token is in a span
    goes_on: Bools  # it continues the span of the token before it
    has_next: Bools  # the token after it continues its span
    open_end: Bools  # the next tag of the sentence is missing
    mended: int  # number of spans that begin with I-


def _places_in_spans(labels: Sequence[str], gold: Ints, offsets: Longs) -> _Places:
    parts = [label.partition("-") for label in labels]
    types = list(dict.fromkeys(kind for _, _, kind in parts))
    type_of = np.array([types.index(kind) for _, _, kind in parts])[gold]
    known = gold >= 0
    inside = known & np.array([bool(kind) for _, _, kind in parts])[gold]
    with_i = known & np.array([letter == IOB2.inside for letter, _, _ in parts])[gold]
    first = offsets[:-1][np.diff(offsets) > 0]
    goes_on = with_i.copy()
    goes_on[1:] &= ~known[:-1] | (inside[:-1] & (type_of[1:] == type_of[:-1]))
    goes_on[first] = False
    open_end = np.append(~known[1:], False)
    open_end[first - 1] = False
    has_next = np.append(goes_on[1:], False)
    mended = int(np.count_nonzero(with_i & ~goes_on))
    return _Places(types, type_of, known, inside, goes_on, has_next, open_end, mended)


def unknown_labels(known: Sequence[str], labels: Iterable[str]) -> list[str]:
    """Return the labels that are new. A span label is not new if its type is known: I-X if only B-X was seen.

    >>> unknown_labels(["O", "B-PER"], ["I-PER", "B-PRE", "O"]), unknown_labels(["NN"], ["NN", "NNS"])
    (['B-PRE'], ['NNS'])
    """
    names, types = set(known), set(map(type_of, known)) - {""} if looks_like_spans(known) else set()
    return [label for label in labels if label not in names and not _has_type(label, types)]


def have_common_label(known: Sequence[str], labels: Iterable[str]) -> bool:
    """Return whether some label of the data is known. O does not count, unless the data has no other label.

    >>> have_common_label(["O", "B-PER"], ["O", "B-NP"]), have_common_label(["O", "B-PER"], ["O", "I-PER"])
    (False, True)
    """
    others = [label for label in labels if label != "O"]
    return not others or len(unknown_labels(known, others)) < len(others)


def listed(labels: Sequence[str]) -> str:
    """Return the first few labels, for a message.

    >>> listed(["A", "B"]), listed("ABCDEFG")
    ("'A', 'B'", "'A', 'B', 'C', 'D', 'E', …")
    """
    shown = ", ".join(f"'{label}'" for label in labels[:NAMED])
    return f"{shown}, …" if len(labels) > NAMED else shown


def nearest(label: str, known: Collection[str]) -> str | None:
    """Return the known label that is most similar, or None. A span label is similar only to those of its letter.

    >>> nearest("B-PRE", ["I-PER", "B-PER", "O"]), nearest("VERB", ["O"])
    ('B-PER', None)
    """
    letter, _, kind = label.partition("-")
    front = f"{letter}-" if kind and letter in SPAN_LETTERS else ""
    import difflib  # slow to load, and only for messages

    alike = {other.removeprefix(front): other for other in known if other.startswith(front)}
    close = difflib.get_close_matches(label.removeprefix(front), alike, 1)
    close = close or [other for other in alike if other.lower() == label.removeprefix(front).lower()]
    return alike[close[0]] if close else None


def _has_type(label: str, types: Collection[str]) -> bool:
    letter, _, kind = label.partition("-")
    return letter in SPAN_LETTERS and kind in types
