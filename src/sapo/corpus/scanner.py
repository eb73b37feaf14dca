"""Files with one token a line in, scanned chunks of whole sentences out. Shared by column files and CoNLL-U."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapo import kernels, limits
from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.errors import SapoError
from sapo.kernels import scan
from sapo.kernels.types import Bytes, Ints, Longs

BOM = b"\xef\xbb\xbf"
# A field of CRFsuite's attribute files such as w[0]=the or pos[-1]|pos[0]=DT|NN, and its name.
ATTRIBUTE = re.compile(r"([A-Za-z_][\w\[\]|+*.,/-]*)=.")
LOOKED_AT = 20  # lines, to recognise such a file


@dataclass(frozen=True, slots=True)
class Layout:
    """How lines are split into fields: by single TABs, or by runs of blanks."""

    columns: int
    tabs: bool
    conllu: bool = False


@dataclass(frozen=True, slots=True)
class Scanned:
    """Whole sentences with the place of their fields; offsets are counted from the start of `data`."""

    layout: Layout
    data: Bytes
    first_line: int
    starts: Ints  # [tokens, columns]
    ends: Ints
    line_starts: Ints  # [tokens]
    line_ends: Ints
    offsets: Longs  # [sentences + 1]

    def line_numbers(self, places: Ints) -> Longs:
        """Return the number of the line of each place in `data`; the first line of the file is 1."""
        numbers: Longs = self.first_line + np.searchsorted(np.flatnonzero(self.data == ord("\n")), places)
        return numbers

    def filled_lines(self) -> int:
        """Count the lines that are not empty: tokens, comments and others."""
        return len(re.findall(rb"(?m)^.*\S", self.data.tobytes()))


def scan_file(path: str | Path, layout: Layout | None = None, *, hint: str = "") -> Iterator[Scanned]:
    """Read a file in pieces of whole sentences. Without a layout, the first line that is a token decides it.

    `hint` ends the message about lines with other numbers of fields, if blanks separate them.
    """
    name = show_path(path)
    pieces: list[bytes] = []  # joined when there may be a whole sentence, since each join copies all of them
    waiting = 0  # bytes in them
    seam = b""  # a line end with nothing but blanks behind it so far
    first_line = 1
    beginning = True
    enough = 0  # bytes to wait for: after a scan without a sentence end, twice as many
    for chunk, final in _with_final(read_chunks(path)):
        pieces.append(chunk)
        waiting += len(chunk)
        ended, seam = _empty_line(seam + chunk)
        if waiting < enough and not final and not ended:
            continue
        rest = b"".join(pieces)
        pieces = [rest]
        if beginning:
            if len(rest) < len(BOM) and not final:
                continue
            rest = rest.removeprefix(BOM)
            pieces = [rest]
            beginning = False
        if layout is None:
            layout = _recognise(rest, final, name)
            if layout is None:
                if final:
                    return
                if len(rest) > limits.current().sentence:
                    raise SapoError(f"{name}:{first_line}: no token in {len(rest) >> 20} MB; is this a column file?")
                enough = 2 * len(rest)
                continue
            limits.check("columns", layout.columns, name, "columns")
        scanned, used, lines = _scan(rest, layout, final, name, first_line, hint)
        if used:
            yield scanned
        elif len(rest) > limits.current().sentence:
            raise no_sentence_end(f"{name}:{first_line}", len(rest))
        enough = 0 if used else 2 * len(rest)
        pieces = [rest[used:]]
        waiting = len(pieces[0])
        first_line += lines


def no_sentence_end(place: str, size: int) -> SapoError:
    """Return the error about a sentence above its limit."""
    way_out = f"sentences end with one (or use --limit sentence={2 * size})"
    return SapoError(f"{place}: no empty line in {size / (1 << 20):.0f} MB; {way_out}")


def _empty_line(new: bytes) -> tuple[bool, bytes]:
    """Return whether an empty line ends here, and how one may begin at the end, to be put before the next bytes.

    >>> _empty_line(b"a X\\n \\n"), _empty_line(b"a X\\n "), _empty_line(b"a X\\nb")
    ((True, b'\\n'), (False, b'\\n'), (False, b''))
    """
    _, end, last = new.rpartition(b"\n")
    return re.search(rb"\n[ \t\r]*\n", new) is not None, end if not last.strip(b" \t\r") else b""


def _with_final(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    for chunk in chunks:
        yield chunk, False
    yield b"", True


def _scan(data: bytes, layout: Layout, final: bool, name: str, first_line: int, hint: str) -> tuple[Scanned, int, int]:
    kernels.prepare(tokens=len(data) // 6)
    check_utf8(data if final else data[: data.rfind(b"\n") + 1], name, first_line)
    _refuse_lone_returns(data, name, first_line)
    array = np.frombuffer(data, np.uint8)
    most = data.count(b"\n") + 1
    starts = np.empty((most, layout.columns), np.int32)
    ends = np.empty((most, layout.columns), np.int32)
    line_starts, line_ends, sentence_ends = (np.empty(most, np.int32) for _ in range(3))
    tokens, sentences, used, lines, fields, at = scan.scan_lines(
        array, layout.tabs, layout.conllu, final, starts, ends, line_starts, line_ends, sentence_ends
    )
    if fields:
        line = data[at:].split(b"\n", 1)[0].rstrip(b"\r")
        number = first_line + data.count(b"\n", 0, at)
        shown = line.decode()[:60]
        raise SapoError(
            f"{name}:{number}: expected {layout.columns} column{'s' * (layout.columns > 1)}, found {fields} ({shown!r})"
            + hint * (not layout.tabs)
        )
    offsets = np.concatenate([np.zeros(1, np.int64), sentence_ends[:sentences].astype(np.int64)])
    scanned = Scanned(
        layout,
        array[:used],
        first_line,
        starts[:tokens],
        ends[:tokens],
        line_starts[:tokens],
        line_ends[:tokens],
        offsets,
    )
    return scanned, used, lines


def _refuse_lone_returns(data: bytes, name: str, first_line: int) -> None:
    """Raise SapoError if a CR does not end a line: it would be part of a word or tag, or make one line of the file."""
    if data.count(b"\r") == data.count(b"\r\n"):
        return
    lone = re.search(rb"\r(?!\n|\Z)", data)  # what follows the last one is not known yet, or nothing does
    if lone is not None:
        line = first_line + data.count(b"\n", 0, lone.start())
        raise SapoError(
            f"{name}:{line}: a carriage return (CR) that ends no line; convert the line endings, "
            "for example with tr '\\r' '\\n'"
        )


def _recognise(data: bytes, final: bool, name: str) -> Layout | None:
    """Return the layout of the first line that is surely a token, or None if there is none yet.

    Raise SapoError if the first lines are those of an attribute file, whose columns mean nothing.
    """
    filled = (line for line in _lines(data, final) if line.strip() and not line.startswith(b"#"))
    if _look_like_attributes(list(itertools.islice(filled, LOOKED_AT))):
        shown = next(line for line in _lines(data, final) if line.strip())[:60].decode("utf-8", "replace")
        raise SapoError(
            f"{name}: looks like attributes of CRFsuite ({shown!r}), not like columns; use --format crfsuite"
        )
    first = None
    for line in _lines(data, final):
        if line.strip() and not line.startswith(b"-DOCSTART-"):
            if not line.startswith(b"#"):
                first = line
                break
            first = first or line
    if first is None or (first.startswith(b"#") and not final):
        return None
    first = first.rstrip(b"\r")
    if b"\t" in first:
        return Layout(first.count(b"\t") + 1, tabs=True)
    return Layout(len(re.findall(rb"[^ \t]+", first)), tabs=False)


def _lines(data: bytes, final: bool) -> Iterator[bytes]:
    """Yield the lines of a block, one at a time: most readers look at the first ones only."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start:end]
        start = end + 1
    if final:
        yield data[start:]


def _look_like_attributes(lines: list[bytes]) -> bool:
    r"""Return whether lines are those of an attribute file, not of a column file.

    Each has a label and at least two attributes of different names, and few other fields.

    >>> _look_like_attributes([b"B-NP\tw[0]=a\tpos[0]=DT", b"I-NP\tw[0]=dog\tpos[0]=NN\t__EOS__"])
    True
    >>> _look_like_attributes([b"dog\tNOUN\tNumber=Sing", b"runs\tVERB\tNumber=Sing"])
    False
    """
    for line in lines:
        label, *fields = line.decode("utf-8", "replace").rstrip("\r").split("\t")
        names = [found[1] for field in fields if (found := ATTRIBUTE.match(field))]
        if "=" in label or len(set(names)) < 2 or 2 * len(names) < len(fields):
            return False
    return bool(lines)


def refuse_empty(scanned: Scanned, column: int, name: str) -> None:
    """Raise SapoError if a label is empty: surely a mistake, such as a TAB at the end of each line."""
    empty = np.flatnonzero(scanned.starts[:, column] == scanned.ends[:, column])
    if len(empty):
        at = int(scanned.line_starts[empty[0]])
        line = scanned.first_line + scanned.data[:at].tobytes().count(b"\n")
        shown = scanned.data[at : int(scanned.line_ends[empty[0]])].tobytes().decode()[:60]
        raise SapoError(
            f"{name}:{line}: the label, column {column}, is empty ({shown!r}); is there a TAB too many? "
            "Otherwise give the label's column with --label"
        )


def sentence_regions(scanned: Scanned) -> list[tuple[int, int]]:
    """Return where the lines of each sentence begin and end, with comments before it and other lines behind it."""
    whole = scanned.data.tobytes()
    regions = []
    begin = 0
    for first, last in itertools.pairwise(scanned.offsets.tolist()):
        end = int(scanned.line_ends[last - 1])
        while True:  # an empty node may stand behind the last word
            line = whole.find(b"\n", end) + 1
            stop = whole.find(b"\n", line)
            stop = len(whole) if stop < 0 else stop
            if not line or not whole[line:stop].strip():
                break
            if last < len(scanned.line_starts) and line >= scanned.line_starts[last]:
                break
            end = stop
        while begin < int(scanned.line_starts[first]) and whole[begin] in b" \t\r\n":
            begin += 1
        regions.append((begin, end))
        begin = end
    return regions
