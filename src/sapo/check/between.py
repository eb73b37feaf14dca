"""Findings about two files together: the same sentences in both, labels and words that only one has."""

from collections.abc import Iterator, Sequence

from sapo.check.finding import ERROR, NOTE, WARNING, Finding, at_lines
from sapo.check.sentences import WHOLE
from sapo.check.sheet import Sheet
from sapo.check.spelling import fits_spans
from sapo.errors import did_you_mean
from sapo.tags import type_of

NAMED = 5  # labels, in a finding about many
MANY = 50  # labels: too many to list
NEARLY_ALL = 0.95
SOME = 0.01  # of the sentences: fewer in common may be chance
FEW_KNOWN = 0.3  # of the words: surely another language or another spelling


def check_between(train: Sheet, other: Sheet) -> Iterator[Finding]:
    """Yield what is strange about a file beside the one that is trained on."""
    if not train.tokens or not other.tokens:
        return
    if train.format == other.format == "columns" and len(train.columns) != len(other.columns):
        text = f"has {len(other.columns)} columns, but {train.name} has {len(train.columns)}"
        yield Finding("unlike-columns", ERROR, other.name, text, "both must have the same columns")
        return
    yield from check_overlap(train, other)
    yield from _unseen_labels(train, other)
    if train.words and other.words:
        yield _known_words(train, other)


def _unseen_labels(train: Sheet, other: Sheet) -> Iterator[Finding]:
    unseen = [label for label in other.counts if label not in train.counts]
    if len(unseen) > NAMED:
        named = ", ".join(f"{label!r}" for label in unseen[:NAMED])
        text = f"{len(unseen):,} of its {len(other.counts):,} labels ({named}, …) never occur in {train.name}"
        severity = ERROR if len(unseen) == len(other.counts) else WARNING
        way_out = "are these files of the same task?" if severity == ERROR else ""
        yield Finding("unseen-label", severity, other.name, text, way_out, tuple(other.label_lines(unseen[0])[:1]))
        return
    types = {type_of(label) for label in train.counts}
    for label in unseen:
        text, lines = f"label {label!r} never occurs in {train.name}", other.label_lines(label)
        if fits_spans(label) and type_of(label) in types:  # such as I-X, where training has only B-X
            yield at_lines("unseen-label", NOTE, other.name, text, "", lines)
        else:
            way_out = did_you_mean(label, train.counts).removeprefix("; ") if len(train.counts) < MANY else ""
            yield at_lines("unseen-label", WARNING, other.name, text, way_out, lines)


def check_overlap(train: Sheet, other: Sheet) -> Iterator[Finding]:
    """Yield a finding if sentences of one file are in the other. Short ones are often equal by chance."""
    if not train.words or not other.words:
        return
    known = {sentence for _, sentence in _sentences(train)}
    shared = [(begin, sentence) for begin, sentence in _sentences(other) if sentence in known]
    count, total = len(shared), other.sentences
    lines = [other.lines[begin] for begin, sentence in shared if len(sentence) >= WHOLE]
    way_out = "scores on it will be too good; use sentences that training does not see"
    if count == total == train.sentences:
        text = f"has the same sentences as {train.name}"
        yield Finding("same-data", ERROR, other.name, text, way_out)
    elif count >= NEARLY_ALL * total and lines:
        text = f"sentences that are also in {train.name}: {count:,} of {total:,}"
        yield Finding("same-data", ERROR, other.name, text, way_out, tuple(lines[:1]))
    elif lines:
        severity = WARNING if len(lines) >= SOME * total else NOTE
        share = f"{100 * len(lines) / total:.1f} %"
        text = f"sentences that are also in {train.name}: {len(lines):,} of {total:,} ({share})"
        yield Finding("overlap", severity, other.name, text, way_out if severity == WARNING else "", tuple(lines[:1]))


def _sentences(sheet: Sheet) -> Iterator[tuple[int, tuple[str, ...]]]:
    words: Sequence[str] = sheet.words
    return ((begin, tuple(words[begin:end])) for begin, end in sheet.bounds())


def _known_words(train: Sheet, other: Sheet) -> Finding:
    known, words = set(train.words), other.words
    share = sum(word in known for word in words) / len(words)
    distinct = set(words)
    of_distinct = len(distinct & known) / len(distinct)
    shares = f"{100 * share:.1f} % of its tokens, and {100 * of_distinct:.1f} % of its different words"
    text = f"{shares}, occur in {train.name}"
    if share < FEW_KNOWN:
        return Finding("known-words", WARNING, other.name, text, "do both have the same language and spelling?")
    return Finding("known-words", NOTE, other.name, text)
