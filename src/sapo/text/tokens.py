"""Cut text without blanks into tokens, by a table of rules that a model keeps.

The text is first cut into atoms: letters, digits, and marks, which are everything else. A rule says which of its
neighbors a mark stays with (see `mark_key`):

    alone   a token of its own: dog|.        left    with what is before it: U.S.
    both    inside a token: o'clock          right   with what follows: -5

It depends on the classes of the atoms before and after the mark:

    i  one letter        a  letters        1  one or two digits        9  more digits        _  a cut, or a mark
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sapo.errors import ModelError

ALONE, LEFT, RIGHT, BOTH = "alone", "left", "right", "both"
WORDS, CHARACTERS, IDEOGRAPHS = "words", "characters", "ideographs"
CLITICS = ("'d", "'ll", "'m", "'re", "'s", "'ve", "n't")
TITLES = ("Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "St.", "Jr.", "Sr.")
KEPT = (*TITLES, "vs.", "etc.", "Inc.", "Co.", "Ltd.", "Corp.", "Ph.D.")
MOST_STRINGS = 100_000  # in a list of a model file
MOST_CLITICS, LONGEST_CLITIC = 1000, 20  # all are tried at each place
EDGE = "_"
_LETTER = r"[^\W\d_]"
# accents stay with the letter before them; some are letters to Python's \w, most are not
ACCENT = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]"
)
ATOM = re.compile(rf"(?:{_LETTER}{ACCENT}*)+|\d+|(?P<mixed>[!?]{{2,}})|(?P<mark>[^\w\s]|_)(?P=mark)*{ACCENT}*|\S")
_EQUAL = re.compile(r"!+|\?+")
IDEOGRAPH = "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_PARTS = re.compile(rf"[{IDEOGRAPH}]|[^{IDEOGRAPH}]+")
# addresses of pages and mail, which no mark cuts
_ADDRESS = re.compile(
    r"(?:(?:https?|ftp)://|www\.)[^\s<>\"“”«»]*[^\s<>\"“”«».,;:!?)\]}'\u2019*]"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)
_SOME_ADDRESS = re.compile(r"@|//|www\.", re.IGNORECASE)
_ALWAYS_ALONE = frozenset('()[]{}"“”„«»—…¿¡\u060c\u061b\u061f\u06d4\u0964\u0965') | frozenset(
    "\u3001\u3002\u3008\u3009\u300a\u300b\u300c\u300d\u300e\u300f\u3010\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)
_SIGNS = frozenset("-+.\u2212")
_DIGITS = ("1", "9")
_LONGEST_KEPT = 12  # atoms
_MORE_CLITICS = 3  # to look at after a clitic: an endless chain would be looked at from each place


@dataclass(frozen=True, slots=True)
class Rules:
    """How to cut text into tokens and sentences.

    >>> Rules.from_json(Rules().as_json()) == Rules()
    True
    """

    unit: str = WORDS  # or each character, or each ideograph and other words whole
    marks: Mapping[str, str] = field(default_factory=dict)  # learned: "a-a" -> "alone"
    runs: str = "'*-.=_`"  # marks that make one token with equal ones after them
    clitics: tuple[str, ...] = CLITICS
    kept: frozenset[str] = frozenset(KEPT)  # tokens that other rules would cut
    pieces: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # words in several tokens: "cannot" -> (3, 3)
    units: frozenset[str] = frozenset()  # letters that are tokens after digits: 5|pm
    ends: Mapping[str, str] = field(default_factory=dict)  # learned: before which classes a token ends a sentence

    def as_json(self) -> dict[str, Any]:
        """Return the rules for the header of a model file."""
        return {
            "unit": self.unit,
            "marks": dict(sorted(self.marks.items())),
            "runs": self.runs,
            "clitics": list(self.clitics),
            "kept": sorted(self.kept),
            "pieces": {word: list(sizes) for word, sizes in sorted(self.pieces.items())},
            "units": sorted(self.units),
            "ends": dict(sorted(self.ends.items())),
        }

    @classmethod
    def from_json(cls, value: Any) -> "Rules":
        """Return the rules of `as_json`. Raise SapoError if the value makes no sense."""
        try:
            rules = cls(
                value["unit"],
                _strings(value["marks"]),
                value["runs"],
                tuple(value["clitics"]),
                frozenset(value["kept"]),
                {word: tuple(sizes) for word, sizes in value["pieces"].items()},
                frozenset(value["units"]),
                _strings(value["ends"]),
            )
            _check(rules)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"the rules for text are damaged ({error!r:.60})") from None
        return rules


def _strings(value: Any) -> dict[str, str]:
    table = dict(value)
    if not all(isinstance(text, str) for pair in table.items() for text in pair):
        raise ValueError("table")
    return table


def _check(rules: Rules) -> None:
    lists = (rules.clitics, rules.kept, rules.units, rules.pieces)
    if rules.unit not in (WORDS, CHARACTERS, IDEOGRAPHS) or not isinstance(rules.runs, str):
        raise ValueError("unit")
    if not all(isinstance(text, str) and text for listed in lists for text in listed):
        raise ValueError("list")
    if any(len(listed) > MOST_STRINGS for listed in lists):
        raise ValueError("size")
    if len(rules.clitics) > MOST_CLITICS or any(len(clitic) > LONGEST_CLITIC for clitic in rules.clitics):
        raise ValueError("clitics")
    if not set(rules.marks.values()) <= {ALONE, LEFT, RIGHT, BOTH}:
        raise ValueError("marks")
    for word, sizes in rules.pieces.items():
        if not all(type(size) is int and size > 0 for size in sizes) or sum(sizes) != len(word):
            raise ValueError("pieces")


def atoms_of(chunk: str, runs: str) -> list[str]:
    """Cut a text without blanks into atoms. Only marks in `runs` stay together with equal ones after them.

    Exclamation and question marks count as equal if both are in `runs`.

    >>> atoms_of("((non-U.S.)...", "."), atoms_of("!!?", "!"), atoms_of("!!?", "!?")
    (['(', '(', 'non', '-', 'U', '.', 'S', '.', ')', '...'], ['!!', '?'], ['!!?'])
    """
    atoms: list[str] = []
    for match in ATOM.finditer(chunk):
        atom, mark = match[0], match["mark"]
        if match["mixed"]:
            whole = "!" in runs and "?" in runs
            equal = [atom] if whole else _EQUAL.findall(atom)
            atoms.extend(part for run in equal for part in ([run] if whole or run[0] in runs else run))
        elif mark and len(atom) > 1 and atom[1] == mark and mark not in runs:
            first = len(atom) - len(atom.lstrip(mark)) - 1
            atoms.extend(mark for _ in range(first))
            atoms.append(atom[first:])
        else:
            atoms.append(atom)
    return atoms


def is_mark(atom: str) -> bool:
    """Return whether an atom is neither letters nor digits.

    >>> is_mark("..."), is_mark("a"), is_mark("7")
    (True, False, False)
    """
    return not atom[0].isalnum()


def side_class(atom: str) -> str:
    """Return the class of an atom next to a mark.

    >>> [side_class(atom) for atom in ("U", "dog", "12", "1990", ")", "")]
    ['i', 'a', '1', '9', '_', '_']
    """
    if not atom or is_mark(atom):
        return EDGE
    if atom[0].isalpha():
        return "i" if len(atom) == 1 else "a"
    return "1" if len(atom) < 3 else "9"


def sides(atoms: list[str], at: int, cut_earlier: bool) -> tuple[str, str]:
    """Return the classes of the atoms before and after the mark `at`.

    `cut_earlier` says that the atom before it begins a token. If not, that atom is part of a word, even if it is a
    mark; so the t of don't is not an initial.

    >>> sides(["U", ".", "-", "based"], 2, False), sides(["don", "'", "t", "."], 3, False), sides(["J", "."], 1, True)
    (('a', 'a'), ('a', '_'), ('i', '_'))
    """
    left = side_class(atoms[at - 1]) if at else EDGE
    if at > 1 and not cut_earlier and (left == EDGE or (left == "i" and atoms[at - 2] in ("'", "\u2019"))):
        left = "a"
    return left, side_class(atoms[at + 1]) if at + 1 < len(atoms) else EDGE


def mark_key(left: str, mark: str, right: str) -> str:
    """Return the key of a mark between two classes, for tables of rules. Longer runs count as two.

    >>> mark_key("a", "-", "a"), mark_key("a", "....", "_")
    ('a-a', 'a.._')
    """
    return f"{left}{mark[:2]}{right}"


def word_key(atoms: list[str], at: int, right: str) -> str:
    """Return the key of a mark after a certain word: prefixes have rules of their own.

    >>> word_key(["non", "-", "linear"], 1, "a")
    'non -a'
    """
    return f"{atoms[at - 1].lower()} {atoms[at][:2]}{right}"


class Words:
    """Cut texts without blanks.

    >>> Words(Rules()).sizes("(U.S.-based).")
    [1, 10, 1, 1]
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._clitic = _clitic_pattern(rules.clitics)
        self._kept_sizes: dict[str, int] = {}  # by first atom: how many atoms the longest kept token has
        for token in rules.kept:
            atoms = atoms_of(token, rules.runs)
            if len(atoms) <= _LONGEST_KEPT:
                self._kept_sizes[atoms[0]] = max(len(atoms), self._kept_sizes.get(atoms[0], 0))

    def sizes(self, chunk: str) -> list[int]:
        """Return the sizes of the tokens of a text without blanks."""
        if self.rules.unit == CHARACTERS:
            return [1] * len(chunk)
        if self.rules.unit == IDEOGRAPHS:
            return [size for part in _PARTS.findall(chunk) for size in self._words(part)]
        return self._words(chunk)

    def _words(self, chunk: str) -> list[int]:
        if chunk.isalpha():
            return self._in_pieces(chunk, [len(chunk)])
        if chunk in self.rules.kept:
            return [len(chunk)]
        found: list[int] = []
        for start, end, whole in self.parts(chunk):
            found.extend([end - start] if whole else self._joined(atoms_of(chunk[start:end], self.rules.runs)))
        return self._in_pieces(chunk, found) if self.rules.pieces else found

    def _in_pieces(self, chunk: str, sizes: list[int]) -> list[int]:
        found: list[int] = []
        at = 0
        for size in sizes:
            pieces = self.rules.pieces.get(chunk[at : at + size].lower(), (size,))
            found.extend(pieces if sum(pieces) == size else (size,))  # a few letters are longer in lower case
            at += size
        return found

    def parts(self, chunk: str) -> Iterator[tuple[int, int, bool]]:
        """Yield the parts of a text without blanks, and whether each is a whole token: an address or a clitic."""
        at = 0
        for address in _ADDRESS.finditer(chunk) if _SOME_ADDRESS.search(chunk) else ():
            yield from self._around_clitics(chunk, at, address.start())
            yield address.start(), address.end(), True
            at = address.end()
        yield from self._around_clitics(chunk, at, len(chunk))

    def _around_clitics(self, chunk: str, at: int, end: int) -> Iterator[tuple[int, int, bool]]:
        if self._clitic is not None:
            for clitic in self._clitic.finditer(chunk, at, end):
                if at < clitic.start():
                    yield at, clitic.start(), False
                yield clitic.start(), clitic.end(), True
                at = clitic.end()
        if at < end:
            yield at, end, False

    def _joined(self, atoms: list[str]) -> list[int]:
        """Join atoms to tokens, from left to right."""
        found: list[int] = []
        cut = True  # before this atom: surely; else a mark may still be cut off
        cut_earlier = True  # before the last atom
        at = 0
        while at < len(atoms):
            count = self._kept(atoms, at) if cut else 1
            atom = atoms[at]
            size = len(atom) if count == 1 else sum(map(len, atoms[at : at + count]))
            cut_after = count > 1
            if count == 1 and is_mark(atom):
                how = self._attachment(atoms, at, cut, cut_earlier)
                cut = cut or how not in (LEFT, BOTH)
                follows_mark = at + 1 < len(atoms) and is_mark(atoms[at + 1])
                cut_after = how == ALONE or (how == LEFT and not follows_mark)
            elif atom.isdecimal() and at + 1 < len(atoms):
                cut_after = atoms[at + 1].lower() in self.rules.units
            if cut:
                found.append(size)
            else:
                found[-1] += size
            at += count
            cut, cut_earlier = cut_after, cut
        return found

    def _kept(self, atoms: Sequence[str], at: int) -> int:
        """Return how many atoms from here on make a kept token; 1 if there is none."""
        longest = min(self._kept_sizes.get(atoms[at], 1), len(atoms) - at)
        for count in range(longest, 1, -1):
            whole = at + count == len(atoms) or is_mark(atoms[at + count]) or is_mark(atoms[at + count - 1])
            if whole and "".join(atoms[at : at + count]) in self.rules.kept:
                return count
        return 1

    def _attachment(self, atoms: list[str], at: int, cut: bool, cut_earlier: bool) -> str:
        left, right = sides(atoms, at, cut_earlier)
        if cut:
            left = EDGE
        mark, marks = atoms[at], self.rules.marks
        return (
            marks.get(word_key(atoms, at, right) if left != EDGE else "")
            or marks.get(mark_key(left, mark, right))
            or default_attachment(left, mark, right)
        )


def default_attachment(left: str, mark: str, right: str) -> str:
    """Return how the Penn Treebank usually cuts a mark between two classes of neighbors.

    >>> default_attachment("a", "-", "a"), default_attachment("a", ".", "_"), default_attachment("_", "-", "1")
    ('both', 'alone', 'right')
    """
    if mark[0] in _ALWAYS_ALONE or len(mark) > 1:
        return ALONE
    if mark == ",":
        return BOTH if left in _DIGITS and right in _DIGITS else ALONE
    if left == EDGE:
        return RIGHT if mark in _SIGNS and right in _DIGITS else ALONE
    if right == EDGE:
        return LEFT if mark == "." and left == "i" else ALONE
    return BOTH


def _clitic_pattern(clitics: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern for clitics with straight or curly apostrophes that no letter follows.

    If there is no word before it, no apostrophe may follow either: 's' is a letter in quotes.
    """
    if not clitics:
        return None
    any_of = "|".join(re.escape(one) for one in sorted(clitics, key=len, reverse=True)).replace("'", "['\u2019]")
    more = rf"(?:{any_of}){{0,{_MORE_CLITICS}}}?"
    within_word = rf"(?:(?<=[^\W_])|(?<=\.)|(?<={ACCENT})|(?!['\u2019]))(?:{any_of})(?={more}(?![^\W_]))"
    return re.compile(rf"{within_word}|(?:{any_of})(?={more}(?![^\W_]|['\u2019]))", re.IGNORECASE)
