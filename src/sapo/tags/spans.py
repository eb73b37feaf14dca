"""Read spans from tags and write tags for spans.

`tags_to_spans` and `spans_to_tags` follow a scheme strictly. `loose_spans`, and `read_spans` for a whole corpus, need
no scheme: some letters begin a span in every scheme that has them, some end one, and a change of type does both. So
invalid tags have a reading, too: I-X after O begins a span, and so does a change of type. The rules are those of the
Perl script conlleval for IOB tags, and of its well-known Python version for E and S. With other letters, spans begin
where conlleval begins them; conlleval may forget such a span without ending it, here it ends where the next one begins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sapo.errors import DataError
from sapo.tags.schemes import (
    ALWAYS_BEGIN,
    ALWAYS_END,
    PREFIXES,
    LabelKinds,
    Prefix,
    Scheme,
    notation_in,
    prefixed,
    scheme_named,
    written,
)

_Number = TypeVar("_Number", np.int8, np.int32)


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
    sapo.errors.DataError: token 1: 'I-PER' cannot follow 'O' in iob2; \
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
            raise DataError(f"span {span.start}:{span.end} has an empty type; a type is one character or more")
        if span.start < before.end:
            raise DataError(
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

    The notation stays the same: bare letters stay bare, and letters after the type stay there.

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
        raise DataError(f"span {_show(span)} is empty; its end must be after its start")
    if span.start < 0 or span.end > length:
        raise DataError(
            f"span {_show(span)} is out of range; the sentence has {length} tokens, so keep within 0:{length}"
        )


def _check_tags(tags: Sequence[str], scheme: Scheme) -> None:
    """Raise SapoError for the first tag that breaks the scheme."""
    before, before_letter, before_type = "O", "O", ""
    for position, tag in enumerate(tags):
        letter, _, tag_type = tag.partition("-")
        if not scheme.fits(tag):
            expected = ", ".join(f"{known}-TYPE" for known in sorted(scheme.letters))
            raise DataError(
                f"token {position}: {tag!r} is not a tag of {scheme.name}; "
                f"expected O, {expected}, with a type after the '-'"
            )
        same_type = tag_type == before_type
        if scheme.lacks_beginning(before_letter, letter, same_type):
            place = f"cannot follow {before!r}" if position else "cannot begin a sentence"
            way_out = f"write '{scheme.needs_before[letter]}-{tag_type}'"
            raise DataError(f"token {position}: {tag!r} {place} in {scheme.name}; {scheme.rule}: {way_out}")
        if scheme.lacks_end(before_letter, letter, same_type):
            way_out = f"write '{scheme.needs_after[before_letter]}-{before_type}' at token {position - 1}"
            raise DataError(
                f"token {position}: {tag!r} cannot follow {before!r} in {scheme.name}; {scheme.rule}: {way_out}"
            )
        before, before_letter, before_type = tag, letter, tag_type
    if scheme.lacks_end(before_letter, "O", False):
        way_out = f"write '{scheme.needs_after[before_letter]}-{before_type}'"
        raise DataError(
            f"token {len(tags) - 1}: {before!r} cannot end a sentence in {scheme.name}; {scheme.rule}: {way_out}"
        )


def _show(span: Span) -> str:
    return f"{span.start}:{span.end} {span.type!r}"


def loose_spans(tags: Sequence[str]) -> list[Span]:
    """Return the spans of tags that may break every scheme, such as those that a model predicts.

    >>> loose_spans(["O", "I-NP", "I-NP", "I-VP", "S-NP", "E-NP"])
    [Span(start=1, end=3, type='NP'), Span(start=3, end=4, type='VP'), Span(start=4, end=5, type='NP'), \
Span(start=5, end=6, type='NP')]
    """
    return [Span(start, end, kind) for start, end, kind in span_borders(tags)]


def span_borders(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the start, the end and the type of each span of `loose_spans`."""
    found: list[tuple[int, int, str]] = []
    before, start, kind = "O", 0, ""  # an empty kind: no span is open
    for position, tag in enumerate(tags):
        if not joined(before, tag):
            if kind:
                found.append((start, position, kind))
            start, kind = position, type_of(tag)
        before = tag
    if kind:
        found.append((start, len(tags), kind))
    return found


@lru_cache(maxsize=1 << 14)
def joined(before: str, tag: str) -> bool:
    """Return whether a tag continues the span of the tag before it. Without a letter, as in '-NP', it never does.

    >>> joined("B-NP", "I-NP"), joined("I-NP", "B-NP"), joined("E-NP", "I-NP"), joined("I-NP", "I-VP")
    (True, False, False, False)
    """
    letter_before, _, kind_before = before.partition("-")
    letter, _, kind = tag.partition("-")
    if not (letter_before and letter and kind):
        return False
    return kind == kind_before and letter_before not in ALWAYS_END and letter not in ALWAYS_BEGIN


@lru_cache(maxsize=1 << 14)
def type_of(tag: str) -> str:
    """Return the type of the span that a tag belongs to, and an empty string for O.

    >>> type_of("B-cell-type"), type_of("O")
    ('cell-type', '')
    """
    return tag.partition("-")[2]


_OUT = {Prefix.OUTSIDE, Prefix.DOT}


def _begins(new_type: bool, before: Prefix, here: Prefix) -> bool:
    """Return whether a span begins at a token with prefix `here`."""
    return (
        here in {Prefix.BEGIN, Prefix.SINGLE, Prefix.BRACKET}
        or (before in {Prefix.OUTSIDE, Prefix.END, Prefix.SINGLE} and here in {Prefix.INSIDE, Prefix.END})
        or (new_type and here not in _OUT)
    )


def _ended(new_type: bool, before: Prefix, here: Prefix) -> bool:
    """Return whether the span of the token before ended with it."""
    return (
        before in {Prefix.END, Prefix.SINGLE, Prefix.BRACKET}
        or (before in {Prefix.BEGIN, Prefix.INSIDE} and here in {Prefix.OUTSIDE, Prefix.BEGIN, Prefix.SINGLE})
        or (new_type and before not in _OUT)
    )


_CASES = [(new_type, before, here) for new_type in (False, True) for before in Prefix for here in Prefix]
_BEGINS = np.array([_begins(*case) for case in _CASES])
_ENDED = np.array([_ended(*case) for case in _CASES])


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in the order of the text. Token numbers continue from sentence to sentence."""

    starts: NDArray[np.int64]  # [spans], first token
    ends: NDArray[np.int64]  # [spans], one past the last token
    types: NDArray[np.int32]  # [spans], places in LabelKinds.type_names


def read_spans(
    kinds: LabelKinds, tags: NDArray[np.int32], offsets: NDArray[np.int64], *, strict: bool = False
) -> Spans:
    """Return the spans of all sentences. No span crosses the border of a sentence.

    `tags` has the label of every token, sentence after sentence; sentence s is tags[offsets[s]:offsets[s + 1]].
    `strict` keeps only the spans that are well-formed in the scheme of the labels: B I* in IOB2, B I* E or S in BIOES,
    I* E in IOE2, in IOB1 I+, or B I* right after a span of the same type, and in IOE1 I+, or I* E right before one. The
    scheme is that of `kinds`.

    >>> from sapo.tags.schemes import label_kinds
    >>> kinds = label_kinds(["O", "B-NP", "I-NP", "I-VP"])
    >>> tags, offsets = np.array([1, 2, 3, 0, 2, 2], dtype=np.int32), np.array([0, 5, 6])
    >>> found = read_spans(kinds, tags, offsets)
    >>> [(a, b, kinds.type_names[t]) for a, b, t in zip(found.starts.tolist(), found.ends.tolist(), found.types)]
    [(0, 2, 'NP'), (2, 3, 'VP'), (4, 5, 'NP'), (5, 6, 'NP')]
    >>> strictly = read_spans(kinds, tags, offsets, strict=True)
    >>> strictly.starts.tolist(), strictly.ends.tolist()
    ([0], [2])
    """
    first = np.zeros(len(tags), dtype=np.bool_)
    first[offsets[:-1][offsets[:-1] < len(tags)]] = True  # an empty last sentence begins past the last token

    prefix, type_ = kinds.prefixes.take(tags), kinds.types.take(tags)
    # the first token of a sentence is treated as if it followed O
    prefix_before = _shifted(prefix, first, Prefix.OUTSIDE)
    new_type = type_ != _shifted(type_, first, 0)

    case = (new_type * len(Prefix) + prefix_before) * len(Prefix) + prefix  # the place in _CASES
    begins, ended = _BEGINS.take(case), _ENDED.take(case)
    borders = np.flatnonzero(begins | ended | first)
    next_borders = np.append(borders, len(tags))[1:]
    is_start = begins[borders]
    starts = borders[is_start]
    found = Spans(starts, next_borders[is_start], type_[starts])
    return _well_formed(found, prefix, ~new_type, kinds.scheme) if strict else found


def _shifted(values: NDArray[_Number], first: NDArray[np.bool_], at_border: int) -> NDArray[_Number]:
    """Return the value of the token before, or `at_border` for the first token of a sentence."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[first] = at_border
    return before


def _well_formed(found: Spans, prefix: NDArray[np.int8], same_type: NDArray[np.bool_], scheme: Scheme) -> Spans:
    """Keep only well-formed spans of a scheme; `same_type` says whether the token before has the same type."""
    first, inside, last, single = (
        PREFIXES[letter] for letter in (scheme.first, scheme.inside, scheme.last, scheme.single)
    )
    opening, closing = prefix[found.starts], prefix[found.ends - 1]
    others_so_far = np.append(0, np.cumsum(prefix != inside))
    others = others_so_far[found.ends - 1] - others_so_far[found.starts + 1]  # between the two
    one, opens, closes = opening == single, opening == first, closing == last
    if scheme.touching:
        touching = (opening == PREFIXES[scheme.touching]) & same_type[found.starts]
        one, opens = one | touching, opens | touching
    if scheme.parting:
        parting = (closing == PREFIXES[scheme.parting]) & np.append(same_type, False)[found.ends]
        one, closes = one | parting, closes | parting
    keep = np.where(found.ends - found.starts == 1, one, opens & (others == 0) & closes)
    return Spans(found.starts[keep], found.ends[keep], found.types[keep])
