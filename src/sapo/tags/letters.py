"""The table of tag schemes: which letter each scheme gives to a token of a span. All that labels mean follows from it.

A tag is 'O' or a letter, '-' and a type; notation.py reads labels that are written in another way. The borders of a
sentence count as 'O'. The same spans in five schemes:

    tokens      He    saw   Mary  Ann   Paris  today
    spans       -     -     (---PER---) (PER)  (TIME)
    iob1        O     O     I-PER I-PER B-PER  I-TIME
    iob2        O     O     B-PER I-PER B-PER  B-TIME
    bioes       O     O     B-PER E-PER S-PER  S-TIME
    bilou       O     O     B-PER L-PER U-PER  U-TIME
    bmes        O     O     B-PER E-PER S-PER  S-TIME  (inside: M-PER)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

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
