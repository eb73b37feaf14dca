"""Find the names of a list (a gazetteer) in sentences, however their words are cut.

Lists and corpora rarely agree on tokens: Coca-Cola and Coca - Cola, O'Neil and O 'Neil, U.S. and U. S. are the same
names. So names and tokens are cut further, into atoms: runs of letters, runs of digits, single marks, and single
ideographs. A name matches tokens that have its atoms in the same order; it begins and ends where a token does. Curly
apostrophes count as straight ones, and short dashes as hyphens.

A list is a trie of atoms in flat arrays. Node 0 is the root; the others are in breadth-first order, so the children of
a node are next to each other, those of later nodes follow, and siblings are sorted by atom. A file needs two numbers
for each node but the root: its atom, and flags. The k-th group of siblings belongs to the k-th node with children.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sapo import jit
from sapo.corpus.files import check_utf8, parse_json, show_path
from sapo.corpus.scanner import read_lines
from sapo.errors import LISTED, DataError, OptionError, check_limit, did_you_mean
from sapo.features.strings import StringTable, array_of, fields, narrow, widen, within
from sapo.jit import inlined, kernel
from sapo.jit.arrays import Bools, Bytes, Growable, Ints, Longs, offsets_of
from sapo.text.tokens import ACCENT, IDEOGRAPH

KEY = "name"  # the column of CSV, or the key of JSONL, unless the caller gives another
LONGEST = 1000  # characters of a name, and therefore atoms
AT_ONCE = 1_000_000  # characters of names that are cut together
REMEMBERED = 100_000  # distinct words whose atoms are kept while texts are tagged
INTERNING = 30  # pairs of labels that take as long as numbering an atom (see `jit.prepare`)
NAME, ALIAS, PARENT, LAST = 1, 2, 4, 8  # flags: a name ends here, or another form of one; has children; last sibling
LINES = ("COLUMN[-1]", "COLUMN[0]", "COLUMN[1]")  # pairs of them and shapes gain nothing on dev files
B, I, O = range(3)  # noqa: E741
TAGS = b"BIO"
PACKED = (".gz", ".zip")
_LETTER = rf"[^\W\d_{IDEOGRAPH}]"
_ATOM = re.compile(rf"\n|{_LETTER}+(?:{ACCENT}+{_LETTER}*)*|\d+|\S")
_ALIKE = (("\u2019", "'"), ("\u02bc", "'"), ("\u2010", "-"), ("\u2011", "-"), ("\u2013", "-"))  # apostrophes, hyphens
_NOT = re.compile(r"n['\u2019\u02bc]t(?![^\W\d_])", re.IGNORECASE)  # don't is cut as do n't or as don 't


class Trie(NamedTuple):
    """A trie of atoms. The children of node i are the nodes from `children[i]` to `children[i + 1]`."""

    first: Ints  # [atoms] the child of the root with this atom, or -1: it is looked up for each token
    children: Ints  # [nodes + 1]
    atoms: Ints  # [nodes]
    ends: Bools  # [nodes] whether a name ends here


class NameList:
    """Names of one kind, and where they occur in sentences.

    >>> names = NameList.of(["New York", "Coca-Cola"])
    >>> words = fields(["new", "York", "'s", "Coca", "-", "Cola"])
    >>> data, starts, ends = names.fields(*words, np.array([0, 6]))
    >>> b" ".join(data[a:b].tobytes() for a, b in zip(starts, ends)).decode()
    'B I O B I I'
    """

    kind = "names"
    of_words = False

    def __init__(self, table: StringTable, atoms: Ints, flags: Bytes, *, any_case: bool) -> None:
        self.any_case = any_case
        self._table, self._atoms, self._flags = table, atoms, flags  # without the root
        self._trie = _trie_of(table, atoms, flags)
        self._local = threading.local()  # the words that each thread has seen

    @classmethod
    def read(cls, path: str | Path, *, any_case: bool = True, column: str | None = None) -> "NameList":
        """Read a file with one name per line, or CSV, TSV or JSONL with a column or a key for them, by its file name.

        Empty lines and lines that begin with # are skipped. `column` is 'name' by default, or else the first column.
        """
        return cls._of_places(read_names(path, column), show_path(path), any_case)

    @classmethod
    def of(cls, names: Iterable[str], *, any_case: bool = True) -> "NameList":
        """Return a list of these names."""
        if isinstance(names, str):
            raise OptionError(f"expected a list of names, found the text '{names:.40}'; read a file with NameList.read")
        return cls._of_places(enumerate(names, 1), "names", any_case)

    @classmethod
    def _of_places(cls, names: Iterable[tuple[int, str]], place: str, any_case: bool) -> "NameList":
        """Return the list of names, each of which has a line number for messages."""
        table, atoms, sizes, flags = StringTable(), [], [], []
        count = 0
        with jit.no_garbage(lasting=False):  # collecting would take a third of the time
            for batch in _batches(names, place):
                count += len(batch)
                check_limit("names", count, place, "names")
                forms, aliases = _forms(batch)
                data, starts, ends, lengths = _cut(forms + aliases, any_case)
                jit.prepare(pairs=INTERNING * len(starts))
                atoms.append(table.add_fields(data, starts, ends))
                sizes.append(lengths)
                flags.append(np.repeat(np.array([NAME, ALIAS], np.uint8), [len(forms), len(aliases)]))
        if not len(table):
            what = f"name with a letter or a digit among {count:,}" if count else "names"
            raise DataError(f"{place}: no {what}; write one name per line")
        nodes = _grow(np.concatenate(atoms), np.concatenate(sizes), np.concatenate(flags))
        return cls(table, *nodes, any_case=any_case)

    def __len__(self) -> int:
        """Return the number of distinct names."""
        return int(np.count_nonzero(self._flags & NAME))

    def fields(self, data: Bytes, starts: Ints, ends: Ints, offsets: Longs) -> tuple[Bytes, Ints, Ints]:
        """Return B, I or O for each word of a block as a column: of the longest names from left to right.

        `offsets` says where sentences begin and end; a name is inside one sentence.
        """
        seen = getattr(self._local, "seen", None)
        if seen is None or len(seen.words) > REMEMBERED:
            seen = self._local.seen = _SeenWords()
        words = seen.number(data, starts, ends, self._table, self.any_case)
        found = np.full(len(words), O, np.int32)
        find_names(words, offsets, seen.offsets.used, seen.atoms.used, self._trie, found)
        return np.frombuffer(bytearray(TAGS), np.uint8), found, found + np.int32(1)

    def lines(self, column: str) -> list[str]:
        """Return the templates that use the names, which are in this column."""
        return [line.replace("COLUMN", column) for line in LINES]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        return {
            "atoms": narrow(self._atoms),
            "flags": self._flags,
            "any_case": np.array([self.any_case], np.uint8),
            **self._table.small_arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], name: str) -> "NameList":
        """Return the list of `arrays`; raise ValueError or KeyError if these do not fit together."""
        any_case = array_of(arrays, f"{name}.any_case", np.uint8)
        if any_case.tolist() not in ([0], [1]):
            raise ValueError(name)
        table = StringTable.from_small_arrays(arrays, name)
        atoms, flags = widen(arrays, f"{name}.atoms"), array_of(arrays, f"{name}.flags", np.uint8)
        return cls(table, atoms, flags, any_case=bool(any_case[0]))


class _SeenWords:
    """The words of texts so far, with their atoms: -1 for atoms that no name has."""

    def __init__(self) -> None:
        self.words = StringTable()
        self.offsets = Growable(np.zeros(1, np.int64))
        self.atoms = Growable(np.empty(0, np.int32))

    def number(self, data: Bytes, starts: Ints, ends: Ints, table: StringTable, any_case: bool) -> Ints:
        """Return the numbers of words; cut those that are new."""
        words = self.words.add_fields(data, starts, ends)
        before = self.offsets.count - 1
        if len(self.words) > before:
            new = [word.replace("\n", " ") for word in self.words.strings(before)]
            data, starts, ends, sizes = _cut(new, any_case)
            self.atoms.append(table.find_fields(data, starts, ends))
            self.offsets.append(self.offsets.used[-1] + np.cumsum(sizes))
        return words


def _batches(names: Iterable[tuple[int, str]], place: str) -> Iterator[list[str]]:
    """Yield names together until they have a million characters: the objects of their atoms take 100 times as much."""
    batch, size = [], 0
    for number, name in names:
        if not isinstance(name, str):
            raise DataError(f"{place}:{number}: a name must be a text, found {name!r:.40}; put quotes around it")
        if len(name) > LONGEST:
            raise DataError(
                f"{place}:{number}: a name of {len(name):,} characters is longer than {LONGEST:,} ('{name[:30]}...'); "
                "write one name per line"
            )
        batch.append(name)
        size += len(name)
        if size > AT_ONCE:
            yield batch
            batch, size = [], 0
    yield batch


def _forms(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names that do not consist of marks only, and other forms of some of them."""
    forms = [name.replace("\n", " ") for name in names if name[:1].isalnum() or any(map(str.isalnum, name))]
    if _NOT.search("\n".join(forms)) is None:  # one search is faster than many
        return forms, []
    return forms, [_NOT.sub(r" \g<0>", form) for form in forms if _NOT.search(form)]


def _cut(strings: Sequence[str], any_case: bool) -> tuple[Bytes, Ints, Ints, Longs]:
    """Return the atoms of strings without line feeds, as bytes with starts and ends, and how many each has."""
    text = "\n".join([*strings, ""])  # cut at once: twice as fast as one by one
    for one, other in _ALIKE:
        text = text.replace(one, other)
    if any_case:
        text = text.lower().replace("\u03c2", "\u03c3")  # a final sigma depends on what follows
    data, starts, ends = fields(_ATOM.findall(text))
    between = data[starts] == ord("\n")
    sizes = np.diff(np.flatnonzero(between), prepend=-1) - 1
    return data, starts[~between], ends[~between], sizes


def _grow(atoms: Ints, sizes: Longs, flags: Bytes) -> tuple[Ints, Bytes]:
    """Return the atoms and the flags of the nodes of a trie of names, level by level."""
    begins = offsets_of(sizes)[:-1]
    parents = np.zeros(len(sizes), np.int64)  # of the next atom of each name that goes on
    found_atoms, found_flags = [], []
    first = 1  # node of this level
    depth = 0
    while len(parents):
        keys, nodes = np.unique((parents << 32) | atoms[begins + depth], return_inverse=True)
        depth += 1
        marks = np.zeros(len(keys), np.uint8)
        marks[np.append(keys[1:] >> 32 != keys[:-1] >> 32, True)] = LAST
        goes_on = sizes > depth
        marks[nodes[goes_on]] |= PARENT
        for flag in (NAME, ALIAS):
            marks[nodes[~goes_on & (flags == flag)]] |= flag
        found_atoms.append((keys & 0xFFFFFFFF).astype(np.int32))
        found_flags.append(marks)
        parents = first + nodes[goes_on]
        first += len(keys)
        begins, sizes, flags = begins[goes_on], sizes[goes_on], flags[goes_on]
    return np.concatenate(found_atoms), np.concatenate(found_flags)


def _trie_of(table: StringTable, atoms: Ints, flags: Bytes) -> Trie:
    """Return the trie of a list; raise ValueError if its arrays do not make one."""
    nodes = len(flags) + 1
    last = np.flatnonzero(flags & LAST)
    parents = np.flatnonzero(np.append(PARENT, flags) & PARENT)
    if not (
        len(atoms) == len(flags)
        and len(last) == len(parents)
        and last[-1] == len(flags) - 1
        and within(atoms, len(table))
        and ((atoms[1:] > atoms[:-1]) | (flags[:-1] & LAST != 0)).all()  # siblings are sorted
    ):
        raise ValueError("name list")
    sizes = np.zeros(nodes, np.int32)
    sizes[parents] = np.diff(last, prepend=-1)
    children = (1 + offsets_of(sizes)).astype(np.int32)
    level = 1  # where the next level begins; a node that is no descendant of the root is never reached
    for _ in range(LONGEST):
        level = int(children[level])
        if level == nodes:
            break
    else:
        raise ValueError("name list")
    first = np.full(len(table), -1, np.int32)
    first[atoms[: sizes[0]]] = np.arange(1, sizes[0] + 1, dtype=np.int32)
    return Trie(first, children, np.append(np.int32(-1), atoms), np.append(False, flags & (NAME | ALIAS) != 0))


@kernel
@inlined
def child_of(node: int, atom: int, trie: Trie) -> int:
    """Return the child of a node with this atom, or -1."""
    if atom < 0:
        return -1
    if node == 0:
        return int(trie.first[atom])
    low, high = int(trie.children[node]), int(trie.children[node + 1])
    while low < high:
        middle = (low + high) >> 1
        if trie.atoms[middle] < atom:
            low = middle + 1
        else:
            high = middle
    if low < trie.children[node + 1] and trie.atoms[low] == atom:
        return low
    return -1


@kernel
def find_names(
    words: Ints,  # [tokens]
    sentences: Longs,  # [sentences + 1] into the tokens
    offsets: Longs,  # [distinct words + 1] into the atoms
    atoms: Ints,
    trie: Trie,
    found: Ints,  # [tokens] out: B and I where there is a name
) -> None:
    """Find the longest name that begins at each token, and go on after it. A token without atoms begins no name."""
    for sentence in range(len(sentences) - 1):
        begin, end = int(sentences[sentence]), int(sentences[sentence + 1])
        while begin < end:
            node, after = 0, begin  # `after` is where the longest name so far ends
            for token in range(begin, end):
                word = words[token]
                for place in range(offsets[word], offsets[word + 1]):
                    node = child_of(node, atoms[place], trie)
                    if node < 0:
                        break
                if node <= 0:
                    break
                if trie.ends[node] and offsets[word] < offsets[word + 1]:
                    after = token + 1
            for token in range(begin, after):
                found[token] = I if token > begin else B
            begin = max(after, begin + 1)


def read_names(path: str | Path, column: str | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the names of a file, with their lines; `NameList` checks them."""
    place = show_path(path)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    kind = next((suffix for suffix in reversed(suffixes) if suffix not in PACKED), "")
    if kind not in (".csv", ".tsv", ".jsonl"):
        if column is not None:
            raise OptionError(
                f"{place}: a list with one name per line has no column '{column}'; leave `column` out, or give a file "
                "that ends in .csv, .tsv or .jsonl"
            )
        yield from _lines(path)
        return
    from sapo.corpus.exchange.rows import read_csv  # here, since tagging does not need it

    for number, row in _json_rows(path) if kind == ".jsonl" else read_csv(path):
        if column is None:
            first = KEY if kind == ".jsonl" else next(iter(row))
            column = next((title for title in row if title.lower() == KEY), first)
        if column not in row:
            raise DataError(f"{place}:{number}: has no column '{column}'{did_you_mean(column, list(row)[:LISTED])}")
        yield number, row[column]


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    for number, line in read_lines(path, "write one name per line"):
        if not line.isascii():
            check_utf8(line, show_path(path), number, corpus=False)
        name = line.decode().strip()
        if name and name[0] != "#":
            yield number, name


def _json_rows(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in read_lines(path, "write one object per line"):
        if not line.strip():
            continue
        place = f"{show_path(path)}:{number}"
        check_utf8(line, show_path(path), number, corpus=False)
        try:
            row = parse_json(line.decode())
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: not JSON ({error}); write one object per line") from None
        if not isinstance(row, dict):
            raise DataError(f'{place}: expected an object such as {{"{KEY}": "New York"}}, found {row!r:.40}')
        yield number, row
