"""Check labels: a header, labels that almost fit a scheme, spellings, labels seen once."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from sapo.check.findings import ERROR, NOTE, WARNING, Finding, Sheet
from sapo.tags.recognition import recognize, transition_counts
from sapo.tags.schemes import SPAN_LETTERS, looks_like_spans

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


_TITLES = """
    word words token tokens form text sentence sentence# sent id lemma pos upos xpos postag postags pos-tag pos-tags
    chunk chunks chunktag chunk-tag ner nertag nertags ner-tag ner-tags netag tag tags label labels entity entities iob
    bio bioes class feats deprel head gold
"""
TITLES = frozenset(_TITLES.split())  # of columns, in a header
NAMED = 5  # labels, in a finding about many
SHORT = 100  # tokens: in a shorter file a label is easily seen once


def is_header(values: Sequence[str]) -> bool:
    """Return whether a line of a file has the titles of columns.

    >>> is_header(["Word", "POS", "ner_tag"]), is_header(["label", "NN"])
    (True, False)
    """
    return len(values) > 1 and all(map(is_title, values))


def is_title(value: str) -> bool:
    """Return whether a value may be the title of a column."""
    return value.strip().lower().replace("_", "-").replace(" ", "") in TITLES


def header_line(sheet: Sheet) -> int | None:
    """Return the line of the header, or None."""
    if not sheet.tokens or sheet.format != "columns":
        return None
    return sheet.lines[0] if is_header([values[0] for values in sheet.columns.values()]) else None


def check_labels(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the labels of a file. A label is named once, by the gravest finding."""
    if not sheet.labels:
        return
    left = dict(sheet.counts)  # the labels of which nothing was found
    if (line := header_line(sheet)) is not None:
        yield Finding("header", ERROR, sheet.name, "a header, which would be learned as a token", "remove it", (line,))
        left = {label: count for label, count in left.items() if sheet.label_lines(label) != [line]}
    unclean = partial(_unclean, blanks_are_usual=sheet.format == "conllu")
    for finder in (misfit_findings, unclean, case_findings, _typing_errors):
        for label, finding in list(finder(sheet.name, left)):
            left.pop(label, None)
            yield finding.at(sheet.label_lines(label))
    yield from _once(sheet, left)
    if looks_like_spans(sheet.counts):
        yield from _broken_spans(sheet)


LabelFindings = Iterator[tuple[str, Finding]]  # each with the label that it is about, and without lines


def misfit_findings(name: str, counts: Mapping[str, int]) -> LabelFindings:
    """Yield a finding for each label that keeps the others from being span labels."""
    fitting = sum(count for label, count in counts.items() if fits_spans(label))
    for label, meant in misfits(counts).items():
        text = f"label {label!r} looks like a span label but is not spelled like one"
        if fitting:
            text = (
                f"label {label!r} does not fit the span labels (such as B-X, I-X, O) of the other {fitting:,} tokens, "
                "so training would not look for spans"
            )
        way_out = (
            f"did you mean {meant!r}?" if meant else "correct it; if it marks a missing tag, say so with --missing"
        )
        yield label, Finding("near-scheme", ERROR, name, text, way_out)


def case_findings(name: str, counts: Mapping[str, int]) -> LabelFindings:
    """Yield a finding for each label that differs from a more frequent one only by case."""
    for group in case_groups(counts):
        usual = max(group, key=lambda label: counts[label])
        for label in group:
            if label != usual:
                text = f"label {label!r} differs from {usual!r} ({counts[usual]:,} tokens) only by case"
                yield label, Finding("case", WARNING, name, text, "use one spelling")


def _unclean(name: str, counts: Mapping[str, int], blanks_are_usual: bool) -> LabelFindings:
    for label in counts:
        invisible = INVISIBLE.search(label) is not None
        if invisible or (BLANK.search(label) and not blanks_are_usual):
            text = f"label {label!a} has {'an invisible character' if invisible else 'a blank in it'}"
            yield label, Finding("unclean-label", ERROR if invisible else WARNING, name, text, "remove it")


def _typing_errors(name: str, counts: Mapping[str, int]) -> LabelFindings:
    for label, meant in typing_errors(counts):
        sure = fits_spans(label) or len(label) > 4  # short tags such as VBD and VBZ are often one letter apart
        text = f"label {label!r} is rare and looks like {meant!r} ({counts[meant]:,} tokens)"
        yield label, Finding("similar-label", WARNING if sure else NOTE, name, text, f"did you mean {meant!r}?")


def _once(sheet: Sheet, counts: Mapping[str, int]) -> Iterator[Finding]:
    rare = [label for label, count in counts.items() if count == 1]
    if sheet.tokens < SHORT or not rare:
        return
    lines = {label: line for line, label in zip(sheet.lines, sheet.labels, strict=True) if counts.get(label) == 1}
    if len(rare) > NAMED:
        named = ", ".join(f"{label!r}" for label in rare[:NAMED])
        text = f"{len(rare):,} labels occur once: {named}, …"
        yield Finding("once", NOTE, sheet.name, text).at(sorted(lines.values()))
        return
    for label in rare:
        yield Finding("once", NOTE, sheet.name, f"label {label!r} occurs once", lines=(lines[label],))


def _broken_spans(sheet: Sheet) -> Iterator[Finding]:
    """Yield what breaks the tag scheme that most of the tags follow."""
    names = list(sheet.counts)
    numbers = {label: number for number, label in enumerate(names)}
    missing = len(names)
    gold = np.array([numbers.get(label, missing) for label in sheet.labels], np.int32)
    if missing in gold:  # a sentence with missing tags has no transitions to judge
        return
    found = recognize(names, transition_counts(gold, np.array(sheet.offsets, np.int64), len(names)))
    if found is None:
        yield Finding(
            "scheme", WARNING, sheet.name, "the labels mark spans but follow neither IOB1, IOB2, BIOES nor BILOU"
        )
        return
    scheme, faults = found
    if not faults.any():
        return
    start, end = len(names), len(names) + 1
    broken: list[tuple[int, str]] = []  # the line, and what is wrong there
    for begin, stop in sheet.bounds():
        tags = gold[begin:stop].tolist()
        for line, (before, tag) in zip(sheet.lines[begin:stop], pairwise([start, *tags]), strict=True):
            if faults[before, tag]:
                where = "first in a sentence" if before == start else f"after '{names[before]}'"
                broken.append((line, f"'{names[tag]}' {where}"))
        if faults[end, tags[-1]]:
            broken.append((sheet.lines[stop - 1], f"'{names[tags[-1]]}' last in a sentence"))
    text = f"{broken[0][1]} breaks {scheme.upper()}, which the other tags follow"
    yield Finding("scheme", WARNING, sheet.name, text, "correct the tags").at((line for line, _ in broken))
