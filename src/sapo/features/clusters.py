"""Read files of word clusters, and look up the cluster of each word.

Words that occur in the same places are in the same cluster. The path from the root of a tree to a cluster is a string
of bits, whose beginnings stand for larger clusters (Brown et al. 1992). So a word that training has never seen
shares features with words that it has.

These forms of a file are read, each of them also compressed:

    bits<TAB>word<TAB>count    as the tools of Liang (2005) and Owoputi et al. (2013), and `sapo cluster`, write it
    word<TAB>cluster           any name or number of a cluster, or bits
    {"word": 123, ...}         JSON; a string is the name of a cluster, or bits; a number is a path whose first bit is
                               the lowest one, as in the tables of spaCy, and 0 is no cluster
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.files import check_utf8, read_chunks, read_whole, show_path
from sapo.corpus.scanner import read_lines
from sapo.errors import DataError, check_limit
from sapo.features.lexicon import Lexicon
from sapo.features.strings import StringTable, array_of, fields, narrow, widen, within
from sapo.jit.arrays import Bytes, Ints, Longs

PATH_BITS = 20  # of a number in JSON: those of spaCy have at most 18
MOST_NESTED = 10_000  # brackets and braces in a file of JSON: words may have some
_BITS = re.compile(r"[01]+", re.ASCII)


class Clusters:
    """The clusters of words. A word that is missing has the cluster of its nearest spelling, if there is one.

    >>> clusters = Clusters({"paris": "0110", "####": "10", "the": "111"})
    >>> [clusters.find(word) for word in ("Paris", "1984", "The", "Rome")]
    ['0110', '10', '111', None]
    """

    kind = "clusters"
    of_words = True

    def __init__(self, paths: Mapping[str, str]) -> None:
        names = StringTable(dict.fromkeys(paths.values()))
        words = sorted(word for word in paths if "\n" not in word)  # which stands between the words of a model file
        self._set(Lexicon(words), names, names.find([paths[word] for word in words]))

    def _set(self, words: Lexicon, names: StringTable, clusters: Ints) -> None:
        self._words, self._names, self._clusters = words, names, clusters
        data, starts, ends = names.fields()
        # the last one, -1, stands for no cluster: an empty field
        self._data, self._starts, self._ends = data, np.append(starts, np.int32(0)), np.append(ends, np.int32(0))

    def __len__(self) -> int:
        return len(self._words)

    @classmethod
    def read(cls, path: str | Path) -> "Clusters":
        """Read a file; raise SapoError if it has another form or is empty."""
        name = show_path(path)
        chunks = read_chunks(path)
        start = next((chunk for chunk in chunks if chunk.strip()), b"").lstrip()
        paths = _read_json(path, name) if start[:1] == b"{" else _read_lines(path, name)
        if not paths:
            raise DataError(f"{name}: has no word with a cluster; expected lines of bits, word and count")
        return cls(paths)

    def find(self, word: str) -> str | None:
        """Return the cluster of a word, or None."""
        return self.find_all([word])[0]

    def find_all(self, words: Sequence[str]) -> list[str | None]:
        """Return the cluster of each word, None if it has none."""
        numbers = self.numbers(*fields(words)).tolist()
        name_of = {number: self._names[number] for number in set(numbers) if number >= 0}
        return [name_of.get(number) for number in numbers]

    def numbers(self, data: Bytes, starts: Ints, ends: Ints) -> Ints:
        """Return the number of the cluster of each word, -1 if it has none."""
        words = self._words.numbers(data, starts, ends)
        return np.where(words < 0, np.int32(-1), self._clusters[words])

    def fields(self, data: Bytes, starts: Ints, ends: Ints, offsets: Longs) -> tuple[Bytes, Ints, Ints]:
        """Return the clusters of words as a column, which is empty where a word has none."""
        numbers = self.numbers(data, starts, ends)
        return self._data, self._starts[numbers], self._ends[numbers]

    def lines(self, column: str) -> list[str]:
        """Return the templates that use the clusters, which are in this column."""
        return [f"{column}[{at}]" for at in WINDOW] + [
            f"prefix({column}[{at}], {length})" for length in PREFIXES for at in WINDOW
        ]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        return {
            "words": self._words.packed(),
            "clusters": narrow(self._clusters),
            **{f"names.{key}": array for key, array in self._names.small_arrays().items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], name: str) -> "Clusters":
        """Return the clusters of a model file; raise ValueError or KeyError if its arrays do not fit together."""
        names = StringTable.from_small_arrays(arrays, f"{name}.names")
        numbers = widen(arrays, f"{name}.clusters")
        words = Lexicon.unpacked(array_of(arrays, f"{name}.words", np.uint8))
        if len(words) != len(numbers) or not within(numbers, len(names)):
            raise ValueError(name)
        clusters = cls.__new__(cls)
        clusters._set(words, names, numbers)
        return clusters


WINDOW = (-1, 0, 1)  # chosen on dev files, like the lengths: twice as many lines gain nothing
PREFIXES = (4, 6, 10)  # bits


def _read_lines(path: str | Path, name: str) -> dict[str, str]:
    """Return the cluster of each word of a file with a word on each line; the first line of a word counts."""
    paths: dict[str, str] = {}
    bits_first: bool | None = None
    for number, raw in read_lines(path, "write one word per line"):
        check_utf8(raw, name, number, corpus=False)
        line = raw.decode().rstrip("\r")
        parts = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            continue
        if len(parts) not in (2, 3) or not all(parts[:2]):
            raise _broken(name, number, line)
        if bits_first is None:
            bits_first = _BITS.fullmatch(parts[0]) is not None and (len(parts) == 3 or not _BITS.fullmatch(parts[1]))
        bits, word = parts[:2] if bits_first else parts[1::-1]
        if bits_first and not _BITS.fullmatch(bits):
            raise _broken(name, number, line)
        paths.setdefault(word, bits)
        check_limit("words", len(paths), f"{name}:{number}", "words with a cluster")
    return paths


def _broken(name: str, number: int, line: str) -> DataError:
    return DataError(
        f"{name}:{number}: expected bits, a word and its count, or a word and its cluster, separated by tabs; "
        f"found {line[:60]!r}"
    )


def _read_json(path: str | Path, name: str) -> dict[str, str]:
    """Return the cluster of each word of an object in JSON."""
    data = read_whole(path)
    check_utf8(data, name, 1, corpus=False)
    text = data.decode("utf-8-sig")
    if text.count("[") + text.count("{") > MOST_NESTED:
        raise DataError(f"{name}: expected an object of words and clusters, found lists or objects inside it")
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}: is not valid JSON ({error})") from None
    if not isinstance(found, dict):
        raise DataError(f"{name}: expected an object of words and clusters, found {type(found).__name__}")
    paths = {}
    for word, cluster in found.items():
        if isinstance(cluster, str) and cluster:
            paths[word] = cluster
        elif isinstance(cluster, int) and not isinstance(cluster, bool) and 0 <= cluster < 1 << PATH_BITS:
            if cluster:
                paths[word] = format(cluster, "b")[::-1].ljust(PATH_BITS, "0")
        else:
            raise DataError(
                f"{name}: the cluster of {word!r:.60} must be text or a whole number below {1 << PATH_BITS:,}, "
                f"not {cluster!r:.40}"
            )
    check_limit("words", len(paths), name, "words with a cluster")
    return paths
