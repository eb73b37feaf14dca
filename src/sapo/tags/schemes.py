"""Tags of one sentence in, spans of tokens out, and back; in iob1, iob2, bioes and bilou.

A tag is 'O' or a letter, '-' and a type. In every scheme a tag is allowed or not by the tag before it alone,
and the borders of a sentence count as 'O'. So one table of letters serves all four:

    tokens      He    saw   Mary  Ann   Paris  today
    spans       -     -     (---PER---) (PER)  (TIME)
    iob1        O     O     I-PER I-PER B-PER  I-TIME
    iob2        O     O     B-PER I-PER B-PER  B-TIME
    bioes       O     O     B-PER E-PER S-PER  S-TIME
    bilou       O     O     B-PER L-PER U-PER  U-TIME
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sapo.errors import SapoError

SCHEMES = ("iob1", "iob2", "bioes", "bilou")

# The order of recognise_scheme: the commonest first, as short samples are often valid in iob1 and iob2 alike.
_LIKELIEST_FIRST = ("iob2", "iob1", "bioes", "bilou")


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens start, ..., end - 1 of a sentence belong together and are of this type.

    >>> Span(2, 4, "PER")
    Span(start=2, end=4, type='PER')
    """

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class _Letters:
    """How a scheme writes a span, and which neighbours its letters ask for."""

    first: str
    inside: str
    last: str
    single: str
    goes_on: Mapping[str, str]  # letter that needs a span of its type before it -> letter to write without one
    unfinished: Mapping[str, str]  # letter that needs its span to go on after it -> letter to write if it does not
    rule: str

    @property
    def all(self) -> frozenset[str]:
        return frozenset((self.first, self.inside, self.last, self.single, *self.goes_on))


_LETTERS = {
    "iob1": _Letters(
        first="I",
        inside="I",
        last="I",
        single="I",
        goes_on={"B": "I"},
        unfinished={},
        rule="a span begins with B- only right after a span of the same type, else with I-",
    ),
    "iob2": _Letters(
        first="B",
        inside="I",
        last="I",
        single="B",
        goes_on={"I": "B"},
        unfinished={},
        rule="a span begins with B- and goes on with I- of the same type",
    ),
    "bioes": _Letters(
        first="B",
        inside="I",
        last="E",
        single="S",
        goes_on={"I": "B", "E": "S"},
        unfinished={"B": "S", "I": "E"},
        rule="a span is S-, or B- to E- with I- between, all of the same type",
    ),
    "bilou": _Letters(
        first="B",
        inside="I",
        last="L",
        single="U",
        goes_on={"I": "B", "L": "U"},
        unfinished={"B": "U", "I": "L"},
        rule="a span is U-, or B- to L- with I- between, all of the same type",
    ),
}

_STAYS_OPEN = frozenset("BI")  # in every scheme a span can go on after these
_ALWAYS_BEGINS = frozenset("BSU")  # in every scheme a span begins at these


def tags_to_spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """Return the spans a tagged sentence holds, in order; a sequence that breaks the scheme is an error.

    >>> tags_to_spans(["O", "B-PER", "I-PER", "B-LOC"], "iob2")
    [Span(start=1, end=3, type='PER'), Span(start=3, end=4, type='LOC')]
    >>> tags_to_spans(["O", "I-PER"], "iob2")
    Traceback (most recent call last):
    ...
    sapo.errors.SapoError: token 1: 'I-PER' cannot follow 'O' in iob2; \
a span begins with B- and goes on with I- of the same type: write 'B-PER'
    """
    fault = _first_fault(tags, scheme, _letters_of(scheme))
    if fault is not None:
        raise SapoError(fault)
    spans: list[Span] = []
    start, span_type = 0, ""  # an empty type: no span is open
    for position, tag in enumerate([*tags, "O"]):
        letter, _, tag_type = tag.partition("-")
        if letter in _ALWAYS_BEGINS or tag_type != span_type:
            if span_type:
                spans.append(Span(start, position, span_type))
            start, span_type = position, tag_type
    return spans


def spans_to_tags(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """Return the tags of a sentence of `length` tokens; spans come in any order and must not overlap.

    >>> spans_to_tags([Span(3, 4, "LOC"), Span(1, 3, "PER")], 5, "bioes")
    ['O', 'B-PER', 'E-PER', 'S-LOC', 'O']
    """
    letters = _letters_of(scheme)
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
        if scheme == "iob1" and span.start == before.end and span.type == before.type:
            written[0] = "B"
        tags[span.start : span.end] = [f"{letter}-{span.type}" for letter in written]
        before = span
    return tags


def convert_tags(tags: Sequence[str], source: str, target: str) -> list[str]:
    """Write a sentence tagged in one scheme in another; nothing is lost on the way.

    >>> convert_tags(["I-NP", "I-NP", "B-NP", "O"], "iob1", "bilou")
    ['B-NP', 'L-NP', 'U-NP', 'O']
    """
    return spans_to_tags(tags_to_spans(tags, source), len(tags), target)


def loose_spans(tags: Sequence[str]) -> list[Span]:
    """Spans of tags that a model made, which may break the rules of every scheme; read as conlleval reads them.

    >>> loose_spans(["O", "I-NP", "I-NP", "I-VP", "S-NP", "E-NP"])
    [Span(start=1, end=3, type='NP'), Span(start=3, end=4, type='VP'), Span(start=4, end=5, type='NP'), \
Span(start=5, end=6, type='NP')]
    """
    spans: list[Span] = []
    before = "O"
    for position, tag in enumerate(tags):
        kind = type_of(tag)
        if joined(before, tag):
            spans[-1] = Span(spans[-1].start, position + 1, kind)
        elif kind:
            spans.append(Span(position, position + 1, kind))
        before = tag
    return spans


def joined(before: str, tag: str) -> bool:
    """Whether a tag goes on with the span of the tag before it; read as conlleval reads them, in every scheme.

    >>> joined("B-NP", "I-NP"), joined("I-NP", "B-NP"), joined("E-NP", "I-NP"), joined("I-NP", "I-VP")
    (True, False, False, False)
    """
    letter_before, _, kind_before = before.partition("-")
    letter, _, kind = tag.partition("-")
    return bool(kind) and kind == kind_before and letter_before not in "ESLU" and letter not in "BSU"


def type_of(tag: str) -> str:
    """The type of the span that a tag belongs to; nothing for O.

    >>> type_of("B-cell-type"), type_of("O")
    ('cell-type', '')
    """
    return tag.partition("-")[2]


def recognise_scheme(tag_sequences: Iterable[Sequence[str]]) -> str | None:
    """Return the first of iob2, iob1, bioes, bilou in which every sentence is valid; None if there is none.

    Sentences without a single tag tell nothing, so their scheme is None too.

    >>> recognise_scheme([["O", "I-NP", "I-NP"], ["I-NP", "B-NP"]])
    'iob1'
    >>> recognise_scheme([["PRP", "VBD", "NNP"]]) is None
    True
    """
    candidates = [(scheme, _LETTERS[scheme]) for scheme in _LIKELIEST_FIRST]
    seen_tag = False
    for tags in tag_sequences:
        seen_tag = seen_tag or len(tags) > 0
        candidates = [
            (scheme, letters) for scheme, letters in candidates if _first_fault(tags, scheme, letters) is None
        ]
        if not candidates:
            return None
    return candidates[0][0] if seen_tag else None


def letters_of_scheme(scheme: str) -> frozenset[str]:
    """The letters that tags of a scheme begin with, 'O' aside.

    >>> sorted(letters_of_scheme("bioes"))
    ['B', 'E', 'I', 'S']
    """
    return _letters_of(scheme).all


def may_follow(before: str, after: str, scheme: str) -> bool:
    """Whether one tag may stand right after another. The borders of a sentence count as 'O'.

    >>> may_follow("B-NP", "I-NP", "iob2"), may_follow("B-VP", "I-NP", "iob2"), may_follow("O", "I-NP", "iob2")
    (True, False, False)
    """
    letters = _letters_of(scheme)
    letter, _, tag_type = after.partition("-")
    before_letter, _, before_type = before.partition("-")
    same_span_possible = before_letter in _STAYS_OPEN and before_type == tag_type
    goes_on = letter in letters.goes_on
    if goes_on and not same_span_possible:
        return False
    return before_letter not in letters.unfinished or (goes_on and same_span_possible)


def _letters_of(scheme: str) -> _Letters:
    if scheme not in _LETTERS:
        raise SapoError(f"unknown tag scheme {scheme!r}; choose one of {', '.join(SCHEMES)}")
    return _LETTERS[scheme]


def _first_fault(tags: Sequence[str], scheme: str, letters: _Letters) -> str | None:
    """Say what breaks the scheme first, or None; recognise_scheme asks often, so no exception here."""
    known = letters.all
    before, before_letter, before_type = "O", "O", ""
    for position, tag in enumerate(tags):
        letter, _, tag_type = tag.partition("-")
        if tag != "O" and (letter not in known or not tag_type):
            expected = ", ".join(f"{known_letter}-TYPE" for known_letter in sorted(known))
            return (
                f"token {position}: {tag!r} is not a tag of {scheme}; expected O, {expected}, with a type after the '-'"
            )
        same_span_possible = before_letter in _STAYS_OPEN and before_type == tag_type
        if letter in letters.goes_on and not same_span_possible:
            place = f"cannot follow {before!r}" if position else "cannot begin a sentence"
            way_out = f"write '{letters.goes_on[letter]}-{tag_type}'"
            return f"token {position}: {tag!r} {place} in {scheme}; {letters.rule}: {way_out}"
        if before_letter in letters.unfinished and not (letter in letters.goes_on and same_span_possible):
            way_out = f"write '{letters.unfinished[before_letter]}-{before_type}' at token {position - 1}"
            return f"token {position}: {tag!r} cannot follow {before!r} in {scheme}; {letters.rule}: {way_out}"
        before, before_letter, before_type = tag, letter, tag_type
    if before_letter in letters.unfinished:
        way_out = f"write '{letters.unfinished[before_letter]}-{before_type}'"
        return f"token {len(tags) - 1}: {before!r} cannot end a sentence in {scheme}; {letters.rule}: {way_out}"
    return None


def check_token_span(span: Span, length: int) -> None:
    """Raise where the span is empty, or not in a sentence of so many tokens."""
    if span.start >= span.end:
        raise SapoError(f"span {_show(span)} holds no token; its end must lie after its start")
    if span.start < 0 or span.end > length:
        raise SapoError(
            f"span {_show(span)} is out of range; the sentence has {length} tokens, so keep within 0:{length}"
        )


def _show(span: Span) -> str:
    return f"{span.start}:{span.end} {span.type!r}"
