"""Check sentences, words and columns, in one file or between two."""

from collections.abc import Iterator, Sequence
from statistics import median

from sapo.check.findings import ERROR, NOTE, WARNING, Finding, Sheet
from sapo.check.labels import BLANK, INVISIBLE, fits_spans
from sapo.corpus.blocks import LABEL
from sapo.errors import did_you_mean
from sapo.tags.spans import type_of

GIANT = 300  # tokens: no usual sentence is as long
PROPORTION = 15  # times the median length: far too long
WHOLE = 5  # tokens: shorter sentences occur twice by chance


def no_ends(tokens: int, sentences: int) -> str | None:
    """Return what is wrong if sentences hardly ever end.

    >>> no_ends(57811, 1), no_ends(57811, 2000)
    ('one sentence of 57,811 tokens', None)
    """
    if tokens <= GIANT * sentences:
        return None
    return f"one sentence of {tokens:,} tokens" if sentences == 1 else f"sentences have {tokens // sentences:,} tokens"


NO_ENDS_WAY_OUT = "put an empty line after each sentence"


def check_sentences(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the sentences of a file."""
    if not sheet.sentences:
        if not sheet.faults:
            yield Finding("empty", ERROR, sheet.name, "has no sentences")
        return
    if text := no_ends(sheet.tokens, sheet.sentences):
        yield Finding("no-empty-lines", ERROR, sheet.name, text, NO_ENDS_WAY_OUT, (sheet.lines[0],))
        return
    usual = median(sheet.lengths)
    most = max(GIANT, PROPORTION * usual)
    giants = [begin for begin, end in sheet.bounds() if end - begin > most]
    if giants:
        text = f"a very long sentence (the longest has {max(sheet.lengths):,} tokens, the median is {usual:g})"
        lines = [sheet.lines[begin] for begin in giants]
        yield Finding("long-sentence", WARNING, sheet.name, text, "is an empty line missing?").at(lines)
    if usual == 1 and sheet.sentences > 20:
        text = "most sentences have one token"
        yield Finding("short-sentences", WARNING, sheet.name, text, "put empty lines only between sentences")
    yield from _repeated(sheet)


def _repeated(sheet: Sheet) -> Iterator[Finding]:
    words, seen, lines = sheet.words, set[tuple[str, ...]](), []
    if not words:
        return
    for begin, end in sheet.bounds():
        sentence = tuple(words[begin:end])
        if end - begin >= WHOLE and sentence in seen:
            lines.append(sheet.lines[begin])
        seen.add(sentence)
    if lines:
        share = 100 * len(lines) / sheet.sentences
        text = f"{len(lines):,} sentences ({share:.1f} %) occur before in the same file"
        if len(lines) == 1:
            text = "this sentence occurs before in the same file"
        yield Finding("repeated", NOTE, sheet.name, text, lines=(lines[0],))


LOST = "\ufffd"


def check_tokens(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the words of a file."""
    words = sheet.words
    column = next((name for name, values in sheet.columns.items() if values is words), None)
    if column is None:
        return
    distinct = set(words)  # far fewer than tokens
    lost = {word for word in distinct if LOST in word}
    if any(fault.kind == "not-utf8" for fault in sheet.faults):  # such bytes are read as LOST, and reported already
        lost = set()
    # multiword tokens with blanks are part of CoNLL-U
    of_blanks = NOTE if sheet.format == "conllu" else WARNING
    kinds = (
        ("invisible", WARNING, {word for word in distinct if INVISIBLE.search(word)}, "has an invisible character"),
        ("blank", of_blanks, {word for word in distinct if BLANK.search(word)}, "has a blank in it"),
        ("lost-character", WARNING, lost, "has the character for unreadable text"),
        ("empty-word", WARNING, distinct & {""}, "is empty"),
    )
    for kind, severity, found, what in kinds:
        if found:
            first = next(word for word in words if word in found)
            text = f"token {first!a} {what}"[:120]
            yield Finding(kind, severity, sheet.name, text).at(sheet.value_lines(column, found))


FEWEST = 100  # tokens: with less, a column easily looks like the label
EQUAL = 0.999  # of the tokens


def check_columns(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is strange about the columns of a file. In CoNLL-U they have their fixed meanings."""
    if sheet.format == "conllu" or sheet.tokens < FEWEST:
        return
    for number, (name, values) in enumerate(sheet.columns.items()):
        shown = f"column {number} ({name})" if sheet.format == "columns" else f"'{name}'"
        if len(set(values)) == 1:
            text = f"{shown} is '{values[0]}' for every token"
            severity = WARNING if name == LABEL else NOTE
            yield Finding("constant-column", severity, sheet.name, text, "it carries no information")
        elif name != LABEL and len(sheet.counts) > 1:
            yield from _leak(sheet, shown, values, name == "word")


def _leak(sheet: Sheet, shown: str, values: Sequence[str], is_word: bool) -> Iterator[Finding]:
    labels = sheet.labels
    way_out = "remove it unless new text has it, too"
    if sum(map(str.__eq__, values, labels)) >= EQUAL * sheet.tokens:
        text = f"{shown} equals the label, so a model would only learn to copy it"
        yield Finding("leak", ERROR, sheet.name, text, way_out)
        return
    kinds = len(set(values))
    if is_word or kinds * 20 > sheet.tokens:  # many values: each occurs with few labels by chance
        return
    if len(set(zip(values, labels, strict=True))) == kinds:
        text = f"each value of {shown} has always the same label, so a model would only learn to copy it"
        yield Finding("leak", WARNING, sheet.name, text, way_out)


NAMED = 5  # labels, in a finding about many
MANY = 50  # labels: too many to list
NEARLY_ALL = 0.95
SOME = 0.01  # of the sentences: fewer in common may be chance
FEW_KNOWN = 0.3  # of the words: surely another language or another spelling


def check_between(train: Sheet, other: Sheet) -> Iterator[Finding]:
    """Yield what is strange about a file in comparison with the training file."""
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
            yield Finding("unseen-label", NOTE, other.name, text).at(lines)
        else:
            way_out = did_you_mean(label, train.counts).removeprefix("; ") if len(train.counts) < MANY else ""
            yield Finding("unseen-label", WARNING, other.name, text, way_out).at(lines)


def check_overlap(train: Sheet, other: Sheet) -> Iterator[Finding]:
    """Yield a finding if sentences of one file are in the other. Short ones are often equal by chance."""
    if not train.words or not other.words:
        return
    known = {sentence for _, sentence in _sentences(train)}
    shared = [(begin, sentence) for begin, sentence in _sentences(other) if sentence in known]
    count, total = len(shared), other.sentences
    lines = [other.lines[begin] for begin, sentence in shared if len(sentence) >= WHOLE]
    if count == total == train.sentences:
        yield same_data(train.name, other.name)
    elif count >= NEARLY_ALL * total and lines:
        yield same_data(train.name, other.name, f"{count:,} of {total:,}").at(lines[:1])
    elif lines:
        severity = WARNING if len(lines) >= SOME * total else NOTE
        share = f"{len(lines):,} of {total:,} ({100 * len(lines) / total:.1f} %)"
        way_out = SEEN_WAY_OUT if severity == WARNING else ""
        yield Finding("overlap", severity, other.name, SHARED.format(train.name, share), way_out, tuple(lines[:1]))


SHARED = "sentences that are also in {}: {}"
SEEN_WAY_OUT = "scores on it will be too good; use sentences that training does not see"


def same_data(train: str, other: str, share: str = "") -> Finding:
    """Return the finding about a file that has all sentences of the training file, or this large share of them."""
    text = SHARED.format(train, share) if share else f"has the same sentences as {train}"
    return Finding("same-data", ERROR, other, text, SEEN_WAY_OUT)


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
