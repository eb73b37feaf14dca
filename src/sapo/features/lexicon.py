"""Number the words of a file of clusters or vectors, find them in any spelling, and pack them for a model."""

import lzma
import re
from collections.abc import Callable, Iterable

import numpy as np

from sapo import jit
from sapo.errors import DataError
from sapo.features.strings import StringTable
from sapo.jit.arrays import Bools, Bytes, Ints

MOST_BYTES = 1 << 30  # of the words of a model, unpacked
UNPACKING = 1 << 28  # bytes of memory that unpacking them may take
WORD = 15  # pairs of labels that take as long as numbering a word, if kernels are interpreted
_DIGIT = re.compile(r"\d")


def _hashed(word: str) -> str:
    return _DIGIT.sub("#", word)


def _zeroed(word: str) -> str:
    return _DIGIT.sub("0", word)


_SPELLINGS: tuple[Callable[[str], str], ...] = (
    str.lower,
    _hashed,
    lambda word: _hashed(word.lower()),
    _zeroed,
    lambda word: _zeroed(word.lower()),
)
# the same for the bytes of words in ASCII: most words, and many times as fast
_BYTES = [
    np.array([ord(spelling(chr(byte))) if byte < 128 else byte for byte in range(256)], np.uint8)
    for spelling in _SPELLINGS
]


class Lexicon:
    """Words, numbered in the order given. A word that is missing has the number of its nearest spelling.

    >>> from sapo.features.strings import fields
    >>> Lexicon(["####", "paris"]).numbers(*fields(["Paris", "1984", "Rome"])).tolist()
    [1, 0, -1]
    """

    def __init__(self, words: Iterable[str]) -> None:
        text = "\n".join(listed := list(words)).encode("utf-8", "surrogatepass")
        if len(text) > MOST_BYTES:
            raise DataError(f"{len(text):,} bytes of words are more than {MOST_BYTES:,}; give fewer words")
        self._table = _table_of_lines(text) if listed else StringTable()
        self._packed: Bytes | None = None

    def __len__(self) -> int:
        return len(self._table)

    def numbers(self, data: Bytes, starts: Ints, ends: Ints) -> Ints:
        """Return the number of each word, -1 if it is unknown in all spellings."""
        words = self._table.find_fields(data, starts, ends)
        unknown = np.flatnonzero(words < 0)
        if len(unknown):
            distinct = StringTable()
            which = distinct.add_fields(data, starts[unknown], ends[unknown])
            words[unknown] = self._nearest(distinct)[which]
        return words

    def _nearest(self, words: StringTable) -> Ints:
        """Return the known word that is nearest to each of these: in lower case, with another sign for digits."""
        found = np.full(len(words), -1, np.int32)
        data, starts, ends = words.fields()
        foreign = _marked(data >= 128, starts, ends)
        digits = _marked((data >= ord("0")) & (data <= ord("9")), starts, ends)
        for place in np.flatnonzero(foreign).tolist():
            digits[place] = _DIGIT.search(words[place]) is not None
        left = np.arange(len(words))
        for spelling, of_bytes in zip(_SPELLINGS, _BYTES, strict=True):
            plain, others = left[~foreign[left]], left[foreign[left]]
            found[plain] = self._table.find_fields(of_bytes[data], starts[plain], ends[plain])
            found[others] = self._table.find([spelling(words[place]) for place in others.tolist()])
            # without a digit, the spellings after the first are the same; most unknown words have none
            left = left[(found[left] < 0) & digits[left]]
            if not len(left):
                break
        return found

    def packed(self) -> Bytes:
        """Return the words for a model file. If they are sorted, they take a quarter of their bytes."""
        if self._packed is None:  # takes a second for 400,000 words, and pruning to a size asks for it many times
            text = "\n".join(self._table.strings()).encode("utf-8", "surrogatepass")
            self._packed = np.frombuffer(lzma.compress(text, lzma.FORMAT_XZ, preset=6), np.uint8)
        return self._packed

    @classmethod
    def unpacked(cls, packed: Bytes) -> "Lexicon":
        """Return the words of a model file; raise ValueError if they are not packed, not distinct, or too many."""
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=UNPACKING)
        try:
            text = unpacker.decompress(packed.tobytes(), MOST_BYTES)
        except lzma.LZMAError:
            raise ValueError("words") from None
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("words")
        text.decode("utf-8", "surrogatepass")
        lexicon = cls.__new__(cls)
        lexicon._table, lexicon._packed = _table_of_lines(text), packed
        if len(lexicon) != text.count(b"\n") + 1:
            raise ValueError("words")
        return lexicon


def _marked(marks: Bools, starts: Ints, ends: Ints) -> Bools:
    """Return which words have a marked byte."""
    before = np.append(0, np.cumsum(marks))
    return before[ends] > before[starts]


def _table_of_lines(text: bytes) -> StringTable:
    """Return the table of words with newlines between them: 400,000 Python strings would take half a second."""
    data = np.frombuffer(text, np.uint8)
    ends = np.append(np.flatnonzero(data == ord("\n")), len(data)).astype(np.int32)
    jit.prepare(pairs=WORD * len(ends))
    table = StringTable()
    table.add_fields(data, np.append(np.int32(0), ends[:-1] + np.int32(1)), ends)
    return table
