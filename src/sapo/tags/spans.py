"""Tags of one sentence in, spans of tokens out, and back, by the rules of a scheme."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sapo.errors import SapoError
from sapo.tags.letters import Scheme, scheme_named
from sapo.tags.notation import notation_in, prefixed, written


@dataclass(frozen=True, slots=True)
class Span:
    """The tokens start, ..., end - 1 of a sentence, which belong together, and their type.

    >>> Span(2, 4, "PER")
    Span(start=2, end=4, type='PER')
    """

    start: int
    end: int
    type: str


def tags_to_spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """Return the spans of a tagged sentence, in order. Raise SapoError if the tags break the scheme.

    >>> tags_to_spans(["O", "B-PER", "I-PER", "B-LOC"], "iob2")
    [Span(start=1, end=3, type='PER'), Span(start=3, end=4, type='LOC')]
    >>> tags_to_spans(["O", "I-PER"], "iob2")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: token 1: 'I-PER' cannot follow 'O' in iob2; \
a span begins with B- and goes on with I- of the same type: write 'B-PER'
    """
    letters = scheme_named(scheme)
    _check_tags(tags, letters)
    spans: list[Span] = []
    start, span_type = 0, ""  # an empty type: no span is open
    for position, tag in enumerate([*tags, "O"]):
        letter, _, tag_type = tag.partition("-")
        if letter in letters.always_begin or tag_type != span_type:
            if span_type:
                spans.append(Span(start, position, span_type))
            start, span_type = position, tag_type
    return spans


def spans_to_tags(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """Return the tags of a sentence of `length` tokens.

    Spans may come in any order. Raise SapoError if two overlap, or if one is empty or outside the sentence.

    >>> spans_to_tags([Span(3, 4, "LOC"), Span(1, 3, "PER")], 5, "bioes")
    ['O', 'B-PER', 'E-PER', 'S-LOC', 'O']
    """
    letters = scheme_named(scheme)
    tags = ["O"] * length
    before = Span(0, 0, "")
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        check_token_span(span, length)
        if not span.type:
            raise SapoError(f"span {span.start}:{span.end} has an empty type; a type is one character or more")
        if span.start < before.end:
            raise SapoError(
                f"span {_show(span)} overlaps span {_show(before)}; a token has one tag: drop one of the two"
            )
        size = span.end - span.start
        written = [letters.single] if size == 1 else [letters.first, *letters.inside * (size - 2), letters.last]
        if letters.touching and span.start == before.end and span.type == before.type:
            written[0] = letters.touching
        tags[span.start : span.end] = [f"{letter}-{span.type}" for letter in written]
        before = span
    return tags


def convert_tags(tags: Sequence[str], source: str, target: str) -> list[str]:
    """Rewrite the tags of a sentence from one scheme in another. Raise SapoError if they break the first.

    The notation stays: bare letters stay bare, and letters after the type stay there.

    >>> convert_tags(["I-NP", "I-NP", "B-NP", "O"], "iob1", "bilou")
    ['B-NP', 'L-NP', 'U-NP', 'O']
    >>> convert_tags(["B", "M", "E", "S"], "bmes", "iob2")
    ['B', 'I', 'I', 'B']
    """
    notation = notation_in(tags, scheme_named(source))
    spans = tags_to_spans([prefixed(tag, notation) for tag in tags], source)
    return [written(tag, notation) for tag in spans_to_tags(spans, len(tags), target)]


def check_token_span(span: Span, length: int) -> None:
    """Raise SapoError if a span is empty, or does not lie in a sentence of `length` tokens.

    >>> check_token_span(Span(0, 2, "NP"), 2)
    """
    if span.start >= span.end:
        raise SapoError(f"span {_show(span)} holds no token; its end must lie after its start")
    if span.start < 0 or span.end > length:
        raise SapoError(
            f"span {_show(span)} is out of range; the sentence has {length} tokens, so keep within 0:{length}"
        )


def _check_tags(tags: Sequence[str], scheme: Scheme) -> None:
    """Raise SapoError for the first tag that breaks the scheme."""
    before, before_letter, before_type = "O", "O", ""
    for position, tag in enumerate(tags):
        letter, _, tag_type = tag.partition("-")
        if not scheme.fits(tag):
            expected = ", ".join(f"{known}-TYPE" for known in sorted(scheme.letters))
            raise SapoError(
                f"token {position}: {tag!r} is not a tag of {scheme.name}; "
                f"expected O, {expected}, with a type after the '-'"
            )
        same_type = tag_type == before_type
        if scheme.lacks_beginning(before_letter, letter, same_type):
            place = f"cannot follow {before!r}" if position else "cannot begin a sentence"
            way_out = f"write '{scheme.needs_before[letter]}-{tag_type}'"
            raise SapoError(f"token {position}: {tag!r} {place} in {scheme.name}; {scheme.rule}: {way_out}")
        if scheme.lacks_end(before_letter, letter, same_type):
            way_out = f"write '{scheme.needs_after[before_letter]}-{before_type}' at token {position - 1}"
            raise SapoError(
                f"token {position}: {tag!r} cannot follow {before!r} in {scheme.name}; {scheme.rule}: {way_out}"
            )
        before, before_letter, before_type = tag, letter, tag_type
    if scheme.lacks_end(before_letter, "O", False):
        way_out = f"write '{scheme.needs_after[before_letter]}-{before_type}'"
        raise SapoError(
            f"token {len(tags) - 1}: {before!r} cannot end a sentence in {scheme.name}; {scheme.rule}: {way_out}"
        )


def _show(span: Span) -> str:
    return f"{span.start}:{span.end} {span.type!r}"
