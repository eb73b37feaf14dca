"""Search words with the regular expressions of Wapiti, in a time that does not explode.

Such an expression is a row of characters, each of which may have a `?` (once or not, once if possible) or a `*` (any
number of times, as few as possible). `.` is any character. A letter after a backslash is a class: a (letter), d
(digit), l (lowercase letter), p (punctuation), s (space), u (uppercase letter), w (letter or digit), and the capital is
everything else. `^` at the start and `$` at the end are the ends of the word. As in Wapiti, a character is a byte of
UTF-8, and classes are those of ASCII.

Python's `re` tries all ways to match, which may be very many. So it only gets short words and expressions with few
quantifiers; for all others, a table of where the rest of the expression matches takes one step for each byte and item.
"""

import re
import string
from functools import lru_cache

from sapo.errors import DataError

LONGEST = 200  # bytes of an expression
SHORT = 64  # bytes of words that `re` may search
FEW = 6  # items with `?` or `*` that `re` may try, at most one of them with `*`
ALL = frozenset(range(256))
CLASSES = {
    "a": string.ascii_letters,
    "d": string.digits,
    "l": string.ascii_lowercase,
    "p": string.punctuation,
    "s": string.whitespace,
    "u": string.ascii_uppercase,
    "w": string.ascii_letters + string.digits,
}
SETS = {ord(name): frozenset(letters.encode()) for name, letters in CLASSES.items()}
SETS |= {ord(chr(name).upper()): ALL - letters for name, letters in SETS.items()}
ONCE, OPTIONAL, REPEATED = 0, ord("?"), ord("*")


class Regex:
    """An expression that can be searched for.

    >>> Regex(".?.?$").find("walking"), Regex("^\\\\u*$").find("Oslo"), Regex("o*n").find("moon")
    ('ng', None, 'oon')
    """

    def __init__(self, text: str) -> None:
        self.text, data = text, text.encode("utf-8", "surrogatepass")
        if len(data) > LONGEST:
            raise DataError(f'the regular expression "{text:.60}..." is longer than {LONGEST} bytes; make it shorter')
        self.at_start, self.at_end = data.startswith(b"^"), False
        self.items: list[tuple[frozenset[int], int]] = []
        at = int(self.at_start)
        while at < len(data):
            if data[at:] == b"$":
                self.at_end = True
                break
            at = self._take_item(data, at)
        self._prepare()

    def _take_item(self, data: bytes, at: int) -> int:
        """Read one character with its quantifier; return the place after it."""
        if data[at] in (OPTIONAL, REPEATED):
            raise DataError(
                f'"{chr(data[at])}" follows no character in the regular expression "{self.text}"; write \\ before it'
            )
        if data[at:] == b"\\":
            raise DataError(
                f'a single \\ ends the regular expression "{self.text}"; write \\\\ for the character itself'
            )
        if data[at : at + 1] == b"\\":
            at += 1
            letters = SETS.get(data[at], frozenset(data[at : at + 1]))
        else:
            letters = ALL if data[at : at + 1] == b"." else frozenset(data[at : at + 1])
        at += 1
        quantifier = data[at] if at < len(data) and data[at] in (OPTIONAL, REPEATED) else ONCE
        self.items.append((letters, quantifier))
        return at + (quantifier != ONCE)

    def _prepare(self) -> None:
        quantifiers = [quantifier for _, quantifier in self.items]
        self.simple = quantifiers.count(REPEATED) <= 1 and len(quantifiers) - quantifiers.count(ONCE) <= FEW
        written = {ONCE: b"", OPTIONAL: b"?", REPEATED: b"*?"}
        pattern = [
            (b"." if letters == ALL else b"[%b]" % b"".join(b"\\x%02x" % letter for letter in sorted(letters)))
            + written[quantifier]
            for letters, quantifier in self.items
        ]
        compiled = re.compile(b"".join(pattern) + b"\\Z" * self.at_end, re.DOTALL)
        self.quick = compiled.match if self.at_start else compiled.search
        # bit i stands for item i
        self.matching = [
            sum(1 << i for i, (letters, _) in enumerate(self.items) if byte in letters) for byte in range(256)
        ]
        self.repeated = sum(1 << i for i, quantifier in enumerate(quantifiers) if quantifier == REPEATED)
        self.skipped = sum(1 << i for i, quantifier in enumerate(quantifiers) if quantifier != ONCE)
        runs = "".join("1" if quantifier != ONCE else " " for quantifier in quantifiers).split()
        self.longest_run = max(map(len, runs), default=0)

    def find(self, word: str) -> str | None:
        """Return the first part of the word that matches, or None. Bytes of a part of a letter become surrogates."""
        data = word.encode("utf-8", "surrogatepass")
        if self.simple and len(data) <= SHORT:
            found = self.quick(data)
            part = None if found is None else found[0]
        else:
            part = self.find_in_table(data)
        return None if part is None else part.decode("utf-8", "surrogateescape")

    def find_in_table(self, data: bytes) -> bytes | None:
        """Return the first part that matches, in time proportional to the bytes, whatever the expression."""
        end, count = len(data), len(self.items)
        rest = [0] * (end + 1)  # bit i of rest[p]: items from i on match at p
        for at in range(end, -1, -1):
            here = 1 << count if at == end or not self.at_end else 0
            if at < end:
                after = rest[at + 1]
                here |= self.matching[data[at]] & (after & self.repeated | after >> 1 & ~self.repeated)
            for _ in range(self.longest_run):
                here |= here >> 1 & self.skipped
            rest[at] = here
        starts = range(1 if self.at_start else end + 1)
        start = next((at for at in starts if rest[at] & 1), None)
        if start is None:
            return None
        at = start
        for item, (letters, quantifier) in enumerate(self.items):
            if quantifier == REPEATED:
                while not rest[at] >> item + 1 & 1:
                    at += 1
            elif quantifier == ONCE or (at < end and data[at] in letters and rest[at + 1] >> item + 1 & 1):
                at += 1
        return data[start:at]


compiled_regex = lru_cache(maxsize=1000)(Regex)
