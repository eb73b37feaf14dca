"""Findings about labels: a header, labels that almost fit a scheme, spellings, labels seen once, broken spans."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from sapo.check.finding import ERROR, NOTE, WARNING, Finding, at_lines
from sapo.check.sheet import Sheet
from sapo.check.spelling import BLANK, INVISIBLE, case_groups, fits_spans, misfits, typing_errors
from sapo.tags import looks_like_spans, recognise, transition_counts

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
    return len(values) > 1 and all(
        value.strip().lower().replace("_", "-").replace(" ", "") in TITLES for value in values
    )


def header_line(sheet: Sheet) -> int | None:
    """Return the line of the header, or None."""
    if not sheet.tokens or sheet.format != "columns":
        return None
    return sheet.lines[0] if is_header([values[0] for values in sheet.columns.values()]) else None


def check_labels(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the labels of a file. A label is named once, by the gravest finding."""
    if not sheet.labels:
        return
    counts, told = dict(sheet.counts), set[str]()
    if (line := header_line(sheet)) is not None:
        yield Finding("header", ERROR, sheet.name, "a header, which would be learned as a token", "remove it", (line,))
        told |= {label for label in counts if sheet.label_lines(label) == [line]}
    for label in told:
        del counts[label]
    for finder in (_misfits, _unclean, _cases, _typing_errors, _once):
        for label, finding in finder(sheet, {label: count for label, count in counts.items() if label not in told}):
            told.add(label)
            yield finding
    if looks_like_spans(sheet.counts):
        yield from _broken_spans(sheet)


Found = Iterator[tuple[str, Finding]]


def misfit_text(label: str, fitting: int) -> str:
    """Return what is wrong with a label that almost fits a scheme."""
    if not fitting:
        return f"label {label!r} looks like a span label but is not spelled like one"
    return (
        f"label {label!r} does not fit the span labels (such as B-X, I-X, O) of the other {fitting:,} tokens, "
        "so training would not look for spans"
    )


def misfit_way_out(meant: str | None) -> str:
    """Return what to do about it."""
    return f"did you mean {meant!r}?" if meant else "correct it; if it marks a missing tag, say so with --missing"


def _misfits(sheet: Sheet, counts: Mapping[str, int]) -> Found:
    fitting = sum(count for label, count in counts.items() if fits_spans(label))
    for label, meant in misfits(counts).items():
        text, lines = misfit_text(label, fitting), sheet.label_lines(label)
        yield label, at_lines("near-scheme", ERROR, sheet.name, text, misfit_way_out(meant), lines)


def _unclean(sheet: Sheet, counts: Mapping[str, int]) -> Found:
    for label in counts:
        invisible = INVISIBLE.search(label) is not None
        if invisible or (BLANK.search(label) and sheet.format != "conllu"):
            text = f"label {label!a} has {'an invisible character' if invisible else 'a blank in it'}"
            severity, lines = ERROR if invisible else WARNING, sheet.label_lines(label)
            yield label, at_lines("unclean-label", severity, sheet.name, text, "remove it", lines)


def _cases(sheet: Sheet, counts: Mapping[str, int]) -> Found:
    for group in case_groups(counts):
        usual = max(group, key=lambda label: counts[label])
        for label in group:
            if label != usual:
                text = f"label {label!r} differs from {usual!r} ({counts[usual]:,} tokens) only by case"
                yield (
                    label,
                    at_lines("case", WARNING, sheet.name, text, "use one spelling", sheet.label_lines(label)),
                )


def _typing_errors(sheet: Sheet, counts: Mapping[str, int]) -> Found:
    for label, meant in typing_errors(counts):
        sure = fits_spans(label) or len(label) > 4  # short tags such as VBD and VBZ are often one letter apart
        text = f"label {label!r} is rare and looks like {meant!r} ({counts[meant]:,} tokens)"
        severity, lines = WARNING if sure else NOTE, sheet.label_lines(label)
        yield label, at_lines("similar-label", severity, sheet.name, text, f"did you mean {meant!r}?", lines)


def _once(sheet: Sheet, counts: Mapping[str, int]) -> Found:
    if sheet.tokens < SHORT:
        return
    rare = [label for label, count in counts.items() if count == 1]
    lines = {label: line for line, label in zip(sheet.lines, sheet.labels, strict=True) if counts.get(label) == 1}
    if len(rare) > NAMED:
        named = ", ".join(f"{label!r}" for label in rare[:NAMED])
        text = f"{len(rare):,} labels occur once: {named}, …"
        yield "", at_lines("once", NOTE, sheet.name, text, "", sorted(lines.values()))
    else:
        for label in rare:
            yield label, Finding("once", NOTE, sheet.name, f"label {label!r} occurs once", lines=(lines[label],))


def _broken_spans(sheet: Sheet) -> Iterator[Finding]:
    """Yield what breaks the tag scheme that most of the tags follow."""
    names = list(sheet.counts)
    numbers = {label: number for number, label in enumerate(names)}
    missing = len(names)
    gold = np.array([numbers.get(label, missing) for label in sheet.labels], np.int32)
    if missing in gold:  # a sentence with missing tags has no transitions to judge
        return
    found = recognise(names, transition_counts(gold, np.array(sheet.offsets, np.int64), len(names)))
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
    yield at_lines("scheme", WARNING, sheet.name, text, "correct the tags", (line for line, _ in broken))
