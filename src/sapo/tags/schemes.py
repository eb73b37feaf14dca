"""Define the tag schemes in one table of letters; all that labels mean follows from it.

A tag is 'O' or a letter, '-' and a type; notation.py reads labels that are written in another way. The borders of a
sentence count as 'O'. The same spans in five schemes:

    tokens      He    saw   Mary  Ann   Paris  today
    spans       -     -     (---PER---) (PER)  (TIME)
    iob1        O     O     I-PER I-PER B-PER  I-TIME
    iob2        O     O     B-PER I-PER B-PER  B-TIME
    bioes       O     O     B-PER E-PER S-PER  S-TIME
    bilou       O     O     B-PER L-PER U-PER  U-TIME
    bmes        O     O     B-PER E-PER S-PER  S-TIME  (inside: M-PER)

    B-NP I-NP O     prefix: the usual one, and the one that all other modules of tags take
    NP-B NP-I O     suffix: the letter after the type
    B I O           bare: letters alone; there is one type, which is called '_'

A label alone may be anything: O is also a pronoun, S a symbol, NP-B a name. So the notation is read from all labels
together. Where they do not prove to be suffix or bare they are taken as prefix, which changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sapo.errors import SapoError, choice, did_you_mean


@dataclass(frozen=True)
class Scheme:
    """How a scheme writes a span. In every scheme the tag before a tag decides whether it is valid.

    >>> TABLE["bioes"].needs_before, TABLE["bioes"].needs_after
    ({'I': 'B', 'E': 'S'}, {'B': 'S', 'I': 'E'})
    """

    name: str
    first: str  # the letter of the first token of a span
    inside: str
    last: str
    single: str  # the letter of the only token of a span
    rule: str  # in words, for error messages
    touching: str = ""  # the letter of a first token right after a span of the same type, where it has its own

    @cached_property
    def letters(self) -> frozenset[str]:
        """All letters of the scheme, without O."""
        return frozenset((self.first, self.inside, self.last, self.single, self.touching)) - {""}

    @cached_property
    def needs_before(self) -> Mapping[str, str]:
        """The letters that need a span of the same type before them, each with the letter to write if there is none."""
        needs = {self.inside: self.first, self.last: self.single, self.touching: self.first}
        return {letter: instead for letter, instead in needs.items() if letter not in ("", self.first, self.single)}

    @cached_property
    def needs_after(self) -> Mapping[str, str]:
        """The letters whose span must go on, each with the letter to write if it does not."""
        needs = {self.first: self.single, self.inside: self.last}
        return {letter: instead for letter, instead in needs.items() if letter not in (self.last, self.single)}

    @cached_property
    def always_begin(self) -> frozenset[str]:
        """The letters that only a first token has."""
        return frozenset((self.first, self.single, self.touching)) - {self.inside, self.last, ""}

    @cached_property
    def always_end(self) -> frozenset[str]:
        """The letters that only a last token has."""
        return frozenset((self.last, self.single)) - {self.first, self.inside}

    @cached_property
    def can_go_on(self) -> frozenset[str]:
        """The letters after which a span may go on."""
        return self.letters - self.always_end

    def lacks_beginning(self, before: str, letter: str, same_type: bool) -> bool:
        """Tell whether a letter needs a span before it, and the letter before it does not offer one."""
        return letter in self.needs_before and not (same_type and before in self.can_go_on)

    def lacks_end(self, before: str, letter: str, same_type: bool) -> bool:
        """Tell whether the span of the letter before must go on, and this letter does not go on with it."""
        return before in self.needs_after and not (same_type and letter in (self.inside, self.last))

    def may_follow(self, before: str, letter: str, same_type: bool) -> bool:
        """Tell whether a letter may stand right after another.

        >>> iob2 = TABLE["iob2"]
        >>> iob2.may_follow("B", "I", True), iob2.may_follow("B", "I", False), iob2.may_follow("O", "I", False)
        (True, False, False)
        """
        return not (self.lacks_beginning(before, letter, same_type) or self.lacks_end(before, letter, same_type))

    def fits(self, label: str) -> bool:
        """Tell whether a label is O, or a letter of the scheme, '-' and a type.

        >>> [TABLE["iob2"].fits(label) for label in ("O", "B-NP", "S-NP", "B-", "NN")]
        [True, True, False, False, False]
        """
        letter, _, type_name = label.partition("-")
        return label == "O" or (letter in self.letters and bool(type_name))


TABLE: Mapping[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme(
            "iob1",
            first="I",
            inside="I",
            last="I",
            single="I",
            touching="B",
            rule="a span begins with B- only right after a span of the same type, else with I-",
        ),
        Scheme(
            "iob2",
            first="B",
            inside="I",
            last="I",
            single="B",
            rule="a span begins with B- and goes on with I- of the same type",
        ),
        Scheme(
            "bioes",
            first="B",
            inside="I",
            last="E",
            single="S",
            rule="a span is S-, or B- to E- with I- between, all of the same type",
        ),
        Scheme(
            "bilou",
            first="B",
            inside="I",
            last="L",
            single="U",
            rule="a span is U-, or B- to L- with I- between, all of the same type",
        ),
        Scheme(
            "bmes",
            first="B",
            inside="M",
            last="E",
            single="S",
            rule="a span is S-, or B- to E- with M- between, all of the same type",
        ),
        # the next two are only evaluated strictly, never written: io cannot tell touching spans apart
        Scheme("io", first="I", inside="I", last="I", single="I", rule="a span is I- of the same type"),
        Scheme(
            "ioe2",
            first="I",
            inside="I",
            last="E",
            single="E",
            rule="a span ends with E-, with I- of the same type before it",
        ),
    )
}
SCHEMES = ("iob1", "iob2", "bioes", "bilou", "bmes")  # to read, write and keep to
LIKELIEST_FIRST = ("iob2", "iob1", "bioes", "bilou", "bmes")  # short samples are often valid in iob1 and iob2 alike

SPAN_LETTERS = frozenset().union(*(scheme.letters for scheme in TABLE.values()))
ALWAYS_BEGIN = frozenset().union(*(scheme.always_begin for scheme in TABLE.values()))
ALWAYS_END = frozenset().union(*(scheme.always_end for scheme in TABLE.values()))


def scheme_named(name: str) -> Scheme:
    """Return one of SCHEMES by its name. Raise SapoError if there is none.

    >>> scheme_named("iob2").first
    'B'
    """
    name = choice(name, SCHEMES)
    if name not in SCHEMES:
        raise SapoError(f"unknown tag scheme {name!r}{did_you_mean(str(name), SCHEMES)}")
    return TABLE[name]


UNTYPED = "_"  # the type of spans without a type


class Notation(Enum):
    """Where a label has its letter."""

    PREFIX = "B-NP"
    SUFFIX = "NP-B"
    BARE = "B"


def notation_of(labels: Iterable[str]) -> Notation:
    """Return the notation of all labels of a corpus or model.

    Suffix and bare labels must have the letters of one scheme, among them all that a span of several tokens and one
    of a single token need: B and I, or B, E and S, or B, L and U.

    >>> notation_of(["O", "NP-B", "NP-I"]).value, notation_of("BMES").value
    ('NP-B', 'B')
    >>> notation_of(["B", "S", "O", "NN"]).value, notation_of(["O", "B"]).value
    ('B-NP', 'B-NP')
    """
    return _notation_of(frozenset(labels) - {"O"})


@lru_cache(maxsize=64)
def _notation_of(inside: frozenset[str]) -> Notation:
    if not _prefixed(inside):
        if _proves_a_scheme(inside):
            return Notation.BARE
        parts = [label.rpartition("-") for label in inside]
        if all(type_name for type_name, _, _ in parts) and _proves_a_scheme(frozenset(x for _, _, x in parts)):
            return Notation.SUFFIX
    return Notation.PREFIX


def _proves_a_scheme(letters: frozenset[str]) -> bool:
    schemes = (TABLE[name] for name in SCHEMES)
    return len(letters) > 1 and any({x.first, x.last, x.single} <= letters <= x.letters for x in schemes)


def _prefixed(inside: Iterable[str]) -> bool:
    return all(letter in SPAN_LETTERS and type_name for letter, _, type_name in (x.partition("-") for x in inside))


def prefixed(label: str, notation: Notation) -> str:
    """Return a label as letter, '-' and type.

    >>> prefixed("NP-B", Notation.SUFFIX), prefixed("M", Notation.BARE), prefixed("O", Notation.BARE)
    ('B-NP', 'M-_', 'O')
    """
    if notation is Notation.PREFIX or label == "O":
        return label
    if notation is Notation.BARE:
        return f"{label}-{UNTYPED}" if "-" not in label else label
    type_name, dash, letter = label.rpartition("-")
    return f"{letter}{dash}{type_name}"


def written(label: str, notation: Notation) -> str:
    """Return a label of letter, '-' and type in a notation: the way back of `prefixed`.

    >>> written("B-NP", Notation.SUFFIX), written("M-_", Notation.BARE)
    ('NP-B', 'M')
    """
    if notation is Notation.PREFIX or label == "O":
        return label
    letter, dash, type_name = label.partition("-")
    return letter if notation is Notation.BARE else f"{type_name}{dash}{letter}"


def as_prefixed(labels: Sequence[str]) -> list[str]:
    """Return all labels of a corpus or model as letter, '-' and type; others than of spans stay as they are.

    >>> as_prefixed(["O", "NP-B", "NP-I"]), as_prefixed(["NN", "B", "O"])
    (['O', 'B-NP', 'I-NP'], ['NN', 'B', 'O'])
    """
    notation = notation_of(labels)
    return [prefixed(label, notation) for label in labels]


def looks_like_spans(labels: Iterable[str]) -> bool:
    """Tell whether the labels mark spans: each is O, or has a letter of some scheme; and not all are O.

    >>> looks_like_spans(["O", "B-NP", "I-NP"]), looks_like_spans(["NN", "VB", "O"]), looks_like_spans("BIO")
    (True, False, True)
    """
    inside = frozenset(labels) - {"O"}
    return bool(inside) and (_notation_of(inside) is not Notation.PREFIX or _prefixed(inside))


def notation_in(tags: Iterable[str], scheme: Scheme) -> Notation:
    """Return the notation of some tags of a known scheme.

    >>> notation_in(["O", "NP-B"], TABLE["iob2"]).value, notation_in(["O", "B"], TABLE["iob2"]).value
    ('NP-B', 'B')
    """
    inside = [tag for tag in tags if tag != "O"]
    for notation in Notation:  # the usual one first
        if inside and all(scheme.fits(prefixed(tag, notation)) for tag in inside):
            return notation
    return Notation.PREFIX


class Prefix(IntEnum):
    """What a label says about the place of its token in a span."""

    OUTSIDE = 0
    BEGIN = 1
    INSIDE = 2
    END = 3
    SINGLE = 4
    DOT = 5  # conlleval: not the start of a span, even if the type changes
    BRACKET = 6  # conlleval: a span of one token
    OTHER = 7  # conlleval has no rule: only a change of type begins or ends a span


_BY_BEGIN_AND_END = {
    (False, False): Prefix.INSIDE,
    (True, False): Prefix.BEGIN,
    (False, True): Prefix.END,
    (True, True): Prefix.SINGLE,
}
PREFIXES = {
    "O": Prefix.OUTSIDE,
    ".": Prefix.DOT,
    "[": Prefix.BRACKET,
    "]": Prefix.BRACKET,
    **{letter: _BY_BEGIN_AND_END[letter in ALWAYS_BEGIN, letter in ALWAYS_END] for letter in SPAN_LETTERS},
}
_IN_SPANS = frozenset(_BY_BEGIN_AND_END.values())
_FEWEST_LETTERS_FIRST = ("io", "iob2", "ioe2", "bioes")  # bilou has the prefixes of bioes, iob1 those of iob2


@dataclass(frozen=True, slots=True)
class LabelKinds:
    """Prefix and type of every label. Type 0 is the empty type, that of O."""

    prefixes: NDArray[np.int8]  # [labels], values of Prefix
    types: NDArray[np.int32]  # [labels], places in type_names
    type_names: tuple[str, ...]
    scheme: Scheme  # for strict reading: the smallest that has all prefixes, unless gold tags tell (`strict_scheme`)


def label_kinds(labels: Sequence[str]) -> LabelKinds:
    """Return prefix and type of every label, which is split at its first '-', as conlleval does.

    Labels in another notation (see notation.py) are split where that has its letter.

    >>> kinds = label_kinds(["O", "B-cell-type", "I-cell-type", "L-DNA"])
    >>> kinds.type_names
    ('', 'cell-type', 'DNA')
    >>> kinds.types.tolist()
    [0, 1, 1, 2]
    >>> [Prefix(prefix).name for prefix in kinds.prefixes]
    ['OUTSIDE', 'BEGIN', 'INSIDE', 'END']
    >>> kinds.scheme.name
    'bioes'
    """
    type_ids = {"": 0}
    prefixes = np.empty(len(labels), dtype=np.int8)
    types = np.empty(len(labels), dtype=np.int32)
    for i, label in enumerate(as_prefixed(labels)):
        letter, _, type_name = label.partition("-")
        prefixes[i] = PREFIXES.get(letter, Prefix.OTHER)
        types[i] = type_ids.setdefault(type_name, len(type_ids))
    used = _IN_SPANS.intersection(prefixes.tolist())
    scheme = next(name for name in _FEWEST_LETTERS_FIRST if used <= {PREFIXES[x] for x in TABLE[name].letters})
    return LabelKinds(prefixes, types, tuple(type_ids), TABLE[scheme])
