"""A text without blanks in, the sizes of its tokens out."""

import re
from collections.abc import Iterator, Sequence

from sapo.text.atoms import ACCENT, EDGE, atoms_of, is_mark, mark_key, sides, word_key
from sapo.text.rules import ALONE, BOTH, CHARACTERS, IDEOGRAPHS, LEFT, RIGHT, Rules

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
_MORE_CLITICS = 3  # behind a clitic, that are looked at: a chain without end would be looked at from each place


class Words:
    """Cuts texts without blanks.

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
    """Return how the Penn Treebank, about, cuts a mark between two classes of neighbours.

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
    """Return a pattern for clitics with straight or curly apostrophes, before no letter.

    If no word stands before it, there is no apostrophe behind it either: 's' is a letter in quotes.
    """
    if not clitics:
        return None
    any_of = "|".join(re.escape(one) for one in sorted(clitics, key=len, reverse=True)).replace("'", "['\u2019]")
    more = rf"(?:{any_of}){{0,{_MORE_CLITICS}}}?"
    within_word = rf"(?:(?<=[^\W_])|(?<=\.)|(?<={ACCENT})|(?!['\u2019]))(?:{any_of})(?={more}(?![^\W_]))"
    return re.compile(rf"{within_word}|(?:{any_of})(?={more}(?![^\W_]|['\u2019]))", re.IGNORECASE)
