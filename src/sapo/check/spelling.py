"""Labels in, labels that may be meant instead out: other case, one letter, or one that almost fits a tag scheme."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sapo.tags.letters import SPAN_LETTERS

OUTSIDE = frozenset("0o\u039f\u03bf\u041e\u043e")  # zero, and letters that look like O: of Greek and Cyrillic too
SPAN = re.compile(r"([BIESLUM])[-_\u2010-\u2015\u2212.:/ ]+(\S.*)", re.IGNORECASE)
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
BLANK = re.compile("[ \xa0\u2007\u202f\u3000]")
UNCLEAR = 0.05  # of the tokens: with more labels of other forms, the labels do not mark spans at all
RARE = 50  # times: a label that is so much rarer than one that looks like it may be a typing error
OFTEN = 3  # a typing error does not occur more often than this


def fits_spans(label: str) -> bool:
    """Return whether a label is O, or a letter of some scheme, '-' and a type.

    >>> [fits_spans(label) for label in ("O", "B-NP", "0", "b-NP", "NN")]
    [True, True, False, False, False]
    """
    letter, _, kind = label.partition("-")
    return label == "O" or (letter in SPAN_LETTERS and bool(kind))


def respelled(label: str) -> str | None:
    """Return the span label that is probably meant, or None.

    >>> [respelled(label) for label in ("0", "o", "b-PER", "B_PER", "B–PER", "M-PER", "O\\u200b", "NN")]
    ['O', 'O', 'B-PER', 'B-PER', 'B-PER', 'I-PER', 'O', None]
    """
    clean = BLANK.sub(" ", INVISIBLE.sub("", label)).strip()
    if clean in OUTSIDE or clean == "O":
        return "O"
    match = SPAN.fullmatch(clean)
    if match is None:
        return None
    letter = match[1].upper()
    return f"{'I' if letter == 'M' else letter}-{match[2]}"  # BMES: the middle of a span


def misfits(counts: Mapping[str, int]) -> dict[str, str | None]:
    """Return the labels that keep the others from being span labels, each with what may be meant.

    Returns nothing if the labels mark spans, or if they do not come near it.

    >>> misfits({"O": 50000, "B-PER": 5000, "I-PER": 2000, "0": 1})
    {'0': 'O'}
    >>> misfits({"NN": 10, "VB": 5, "O": 1}), misfits({"o": 9, "b-per": 1})
    ({}, {'o': 'O', 'b-per': 'B-per'})
    """
    others = {label: respelled(label) for label in counts if not fits_spans(label)}
    spans = [label for label in counts if label != "O" and fits_spans(label)]
    unclear = sum(counts[label] for label, meant in others.items() if meant is None)
    if not others or unclear > (UNCLEAR if spans else 0.0) * sum(counts.values()):
        return {}
    if not spans and all(meant in ("O", None) for meant in others.values()):
        return {}
    by_case = {label.casefold(): label for label in spans}
    return {label: by_case.get(meant.casefold(), meant) if meant else None for label, meant in others.items()}


def case_groups(labels: Iterable[str]) -> list[list[str]]:
    """Return the groups of labels that differ only by case.

    >>> case_groups(["NN", "nn", "VB"])
    [['NN', 'nn']]
    """
    groups = defaultdict(list)
    for label in labels:
        groups[label.casefold()].append(label)
    return [group for group in groups.values() if len(group) > 1]


def typing_errors(counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield rare labels with the frequent ones that differ by one letter, or by two letters swapped.

    Of span labels the types are compared. Labels of one or two letters are too short to tell, and signs in a label,
    as in nn$-tl, often have a meaning of their own.

    >>> list(typing_errors({"O": 9000, "B-PER": 2000, "B-PRE": 1, "NN": 5000, "NNS": 1}))
    [('B-PRE', 'B-PER')]
    """
    for label, count in counts.items():
        if count > OFTEN or not (fits_spans(label) or label.isalpha()):
            continue
        known = [other for other in counts if counts[other] >= RARE * count and _one_apart(label, other)]
        if known:
            yield label, max(known, key=lambda other: counts[other])


def _one_apart(label: str, other: str) -> bool:
    a, b = _type(label), _type(other)
    if min(len(a), len(b)) < 3 or abs(len(a) - len(b)) > 1 or a == b or a.casefold() == b.casefold():
        return False
    if len(a) < len(b):
        a, b = b, a
    at = next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(b))
    if len(a) > len(b):
        return a[at + 1 :] == b[at:]
    return a[at + 1 :] == b[at + 1 :] or (a[at + 2 :] == b[at + 2 :] and a[at : at + 2] == b[at : at + 2][::-1])


def _type(label: str) -> str:
    return label.partition("-")[2] if fits_spans(label) and label != "O" else label
