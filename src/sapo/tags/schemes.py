"""Define the tag schemes in one table of letters; all that labels mean follows from it.

A tag is 'O', or a letter, '-' and a type. The borders of a sentence count as 'O'. The same spans in five schemes:

    tokens      He    saw   Mary  Ann   Paris  today
    spans       -     -     (---PER---) (PER)  (TIME)
    iob1        O     O     I-PER I-PER B-PER  I-TIME
    iob2        O     O     B-PER I-PER B-PER  B-TIME
    bioes       O     O     B-PER E-PER S-PER  S-TIME
    bilou       O     O     B-PER L-PER U-PER  U-TIME
    bmes        O     O     B-PER E-PER S-PER  S-TIME  (inside: M-PER)

Labels are written in one of three notations:

    B-NP I-NP O     prefix: the usual one, which all other modules of tags expect
    NP-B NP-I O     suffix: the letter after the type
    B I O           bare: letters alone; there is one type, which is called '_'

A single label may mean anything: O is also a pronoun, S a symbol, NP-B a name. So the notation is recognized from all
labels together. Unless they prove to be suffix or bare, they are taken as prefix, which changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from sapo.errors import OptionError, choice, did_you_mean

UNTYPED = "_"  # the type of spans without a type


@dataclass(frozen=True)
class Scheme:
    """How a scheme writes a span. In every scheme, whether a tag is valid depends only on the tag before it.

    >>> TABLE["bioes"].needs_before, TABLE["bioes"].needs_after
    ({'I': 'B', 'E': 'S'}, {'B': 'S', 'I': 'E'})
    """

    name: str
    first: str  # the letter of the first token of a span
    inside: str
    last: str
    single: str  # the letter of the only token of a span
    rule: str  # in words, for error messages
    touching: str = ""  # the letter of a first token right after a span of the same type, if it has its own
    parting: str = ""  # the letter of a last token right before a span of the same type, if it has its own

    @cached_property
    def letters(self) -> frozenset[str]:
        """All letters of the scheme, without O."""
        return frozenset((self.first, self.inside, self.last, self.single, self.touching, self.parting)) - {""}

    @cached_property
    def needs_before(self) -> Mapping[str, str]:
        """The letters that need a span of the same type before them, and the letter to write if there is none."""
        needs = {self.inside: self.first, self.last: self.single, self.touching: self.first}
        return {letter: instead for letter, instead in needs.items() if letter not in ("", self.first, self.single)}

    @cached_property
    def needs_after(self) -> Mapping[str, str]:
        """The letters that need a tag of the same type after them, and the letter to write if there is none."""
        needs = {self.first: self.single, self.inside: self.last, self.parting: self.last}
        return {letter: instead for letter, instead in needs.items() if letter not in ("", self.last, self.single)}

    @cached_property
    def always_begin(self) -> frozenset[str]:
        """The letters that only a first token has."""
        return frozenset((self.first, self.single, self.touching)) - {self.inside, self.last, ""}

    @cached_property
    def always_end(self) -> frozenset[str]:
        """The letters that only a last token has."""
        return frozenset((self.last, self.single, self.parting)) - {self.first, self.inside, ""}

    @cached_property
    def can_go_on(self) -> frozenset[str]:
        """The letters after which a span may go on."""
        return self.letters - self.always_end

    def lacks_beginning(self, before: str, letter: str, same_type: bool) -> bool:
        """Return whether a letter needs a span before it, but the letter before it does not offer one."""
        return letter in self.needs_before and not (same_type and before in self.can_go_on)

    def lacks_end(self, before: str, letter: str, same_type: bool) -> bool:
        """Return whether the letter before needs a tag of the same type after it, but this letter is none."""
        following = (self.first, self.single, self.parting) if before == self.parting else (self.inside, self.last)
        return before in self.needs_after and not (same_type and letter in following)

    def may_follow(self, before: str, letter: str, same_type: bool) -> bool:
        """Return whether a letter may follow another.

        >>> iob2 = TABLE["iob2"]
        >>> iob2.may_follow("B", "I", True), iob2.may_follow("B", "I", False), iob2.may_follow("O", "I", False)
        (True, False, False)
        """
        return not (self.lacks_beginning(before, letter, same_type) or self.lacks_end(before, letter, same_type))

    def fits(self, label: str) -> bool:
        """Return whether a label is O, or a letter of the scheme, '-' and a type.

        >>> [TABLE["iob2"].fits(label) for label in ("O", "B-NP", "S-NP", "B-", "NN")]
        [True, True, False, False, False]
        """
        letter, _, type_name = label.partition("-")
        return label == "O" or (letter in self.letters and bool(type_name))


# The letters of a first, inside, last and single token; those of a first token right after a span of the same type, and
# of a last token right before one, if they have their own.
TABLE: Mapping[str, Scheme] = {
    name: Scheme(name, first, inside, last, single, rule, *own)
    for name, (first, inside, last, single), own, rule in (
        ("iob1", "IIII", ("B",), "a span begins with B- only right after a span of the same type, else with I-"),
        ("iob2", "BIIB", (), "a span begins with B- and goes on with I- of the same type"),
        ("bioes", "BIES", (), "a span is S-, or B- to E- with I- between, all of the same type"),
        ("bilou", "BILU", (), "a span is U-, or B- to L- with I- between, all of the same type"),
        ("bmes", "BMES", (), "a span is S-, or B- to E- with M- between, all of the same type"),
        # the others are only evaluated strictly, never written: io cannot separate touching spans
        ("io", "IIII", (), "a span is I- of the same type"),
        ("ioe1", "IIII", ("", "E"), "a span ends with E- only right before a span of the same type, else with I-"),
        ("ioe2", "IIEE", (), "a span ends with E-, with I- of the same type before it"),
    )
}
SCHEMES = ("iob1", "iob2", "bioes", "bilou", "bmes")  # that can be read, written and enforced
LIKELIEST_FIRST = ("iob2", "iob1", "bioes", "bilou", "bmes")  # short samples are often valid in both iob1 and iob2

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
        raise OptionError(f"unknown tag scheme {name!r}{did_you_mean(str(name), SCHEMES)}")
    return TABLE[name]


class Notation(Enum):
    """Where the letter of a label is."""

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
    """Return a label of letter, '-' and type in a notation: the inverse of `prefixed`.

    >>> written("B-NP", Notation.SUFFIX), written("M-_", Notation.BARE)
    ('NP-B', 'M')
    """
    if notation is Notation.PREFIX or label == "O":
        return label
    letter, dash, type_name = label.partition("-")
    return letter if notation is Notation.BARE else f"{type_name}{dash}{letter}"


def as_prefixed(labels: Sequence[str]) -> list[str]:
    """Return all labels of a corpus or model as letter, '-' and type; labels that do not mark spans stay as they are.

    >>> as_prefixed(["O", "NP-B", "NP-I"]), as_prefixed(["NN", "B", "O"])
    (['O', 'B-NP', 'I-NP'], ['NN', 'B', 'O'])
    """
    notation = notation_of(labels)
    return [prefixed(label, notation) for label in labels]


def looks_like_spans(labels: Iterable[str]) -> bool:
    """Return whether the labels mark spans: each is O, or has a letter of some scheme; and not all are O.

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
    """The place of a token in a span, by its label."""

    OUTSIDE = 0
    BEGIN = 1
    INSIDE = 2
    END = 3
    SINGLE = 4
    DOT = 5  # conlleval: not the start of a span, even if the type changes
    BRACKET = 6  # conlleval: a span of one token
    OTHER = 7  # conlleval has no rule, so only a change of type begins or ends a span


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
    scheme: Scheme  # for strict reading: the smallest that has all prefixes, unless gold decides (`strict_scheme`)


def label_kinds(labels: Sequence[str]) -> LabelKinds:
    """Return prefix and type of every label, which is split at its first '-', as conlleval does.

    Labels in another notation are split where their letter is.

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
