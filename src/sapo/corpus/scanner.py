"""Find the fields and sentences in the bytes of files with one token per line."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sapo import jit
from sapo.corpus.blocks import Block, Origin, Sentence, block_sentences
from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.errors import DataError, SapoError, check_limit, current_limits
from sapo.jit import kernel
from sapo.jit.arrays import Bools, Bytes, Ints, Longs

TAB, NEWLINE, RETURN, BLANK, HASH, EQUALS, DASH, DOT = 9, 10, 13, 32, 35, 61, 45, 46
DOCSTART = (45, 68, 79, 67, 83, 84, 65, 82, 84, 45)  # -DOCSTART-


@kernel
def scan_lines(
    data: Bytes,  # [size] a whole number of sentences, or the rest of the file if final
    tabs: bool,  # fields are separated by single TABs, otherwise by runs of blanks
    conllu: bool,  # '#' always begins a comment; lines with an ID such as 3-4 or 8.1 are no words
    final: bool,  # the file ends here
    starts: Ints,  # [lines, columns] out: first byte of each field of each token
    ends: Ints,  # [lines, columns] out: one past its last byte
    line_starts: Ints,  # [lines] out: first byte of each token's line
    line_ends: Ints,  # [lines] out: one past its last byte, line ending left out
    sentence_ends: Ints,  # [lines] out: number of tokens up to the end of each sentence
    uneven: Ints,  # [lines] out: where lines with another number of fields begin; empty: stop at the first one
) -> tuple[int, int, int, int, int, int]:
    """Return tokens, sentences, bytes used, lines used, and fields and start of the first uneven line.

    Bytes after the last sentence end are left for the next call unless `final`. The fields are 0 where all
    lines are even, or uneven lines are skipped.
    """
    size = len(data)
    columns = starts.shape[1]
    skipped = 0
    token = sentence = used = used_lines = lines = 0
    begin = 0  # first token of the current sentence
    a = 0
    while a < size:
        b = a
        while b < size and data[b] != NEWLINE:
            b += 1
        if b == size and not final:
            break
        following = b + 1 if b < size else b
        if b > a and data[b - 1] == RETURN:
            b -= 1
        lines += 1

        if tabs:
            fields = _split_at_tabs(data, a, b, token, starts, ends)
        else:
            fields = _split_at_blanks(data, a, b, token, starts, ends)
        word = False
        breaks = False
        if fields == 0:
            breaks = True
        elif data[a] == HASH and (conllu or (token == begin and _is_comment(fields, token, starts, ends, data))):
            pass
        elif _is_docstart(data, a, b):
            breaks = True
        elif conllu and _is_loose(data, starts[token, 0], ends[token, 0]):
            pass
        elif fields != columns and skipped < len(uneven):
            uneven[skipped] = a
            skipped += 1
        elif fields != columns:
            return token, sentence, used, lines, fields, a
        else:
            word = True

        if word:
            line_starts[token] = a
            line_ends[token] = b
            token += 1
        a = following
        if breaks:
            if token > begin:
                sentence_ends[sentence] = token
                sentence += 1
                begin = token
            used = a
            used_lines = lines
    if final:
        if token > begin:
            sentence_ends[sentence] = token
            sentence += 1
        return token, sentence, size, lines, 0, 0
    return begin, sentence, used, used_lines, 0, 0


@kernel
def _split_at_tabs(data: Bytes, a: int, b: int, token: int, starts: Ints, ends: Ints) -> int:
    """Split a line at single TABs and return its fields; those beyond the expected ones are only counted."""
    i = a
    while i < b and (data[i] == BLANK or data[i] == TAB):
        i += 1
    if i == b:
        return 0
    fields = 0
    i = a
    for j in range(a, b + 1):
        if j == b or data[j] == TAB:
            if fields < starts.shape[1]:
                starts[token, fields] = i
                ends[token, fields] = j
            fields += 1
            i = j + 1
    return fields


@kernel
def _split_at_blanks(data: Bytes, a: int, b: int, token: int, starts: Ints, ends: Ints) -> int:
    """Split a line at runs of blanks, as `_split_at_tabs` does at TABs."""
    fields = 0
    i = a
    while i < b:
        while i < b and (data[i] == BLANK or data[i] == TAB):
            i += 1
        if i == b:
            break
        j = i
        while j < b and data[j] != BLANK and data[j] != TAB:
            j += 1
        if fields < starts.shape[1]:
            starts[token, fields] = i
            ends[token, fields] = j
        fields += 1
        i = j
    return fields


@kernel
def _is_comment(fields: int, token: int, starts: Ints, ends: Ints, data: Bytes) -> bool:
    """'#' may be a word: before a sentence, `# key = value` and a wrong number of fields mean a comment."""
    if fields != starts.shape[1]:
        return True
    if fields < 3 or ends[token, 0] - starts[token, 0] != 1:
        return False
    if ends[token, 2] - starts[token, 2] != 1:
        return False
    return bool(data[starts[token, 2]] == EQUALS)


@kernel
def _is_docstart(data: Bytes, start: int, end: int) -> bool:
    """The line begins with the word -DOCSTART-."""
    if end - start < len(DOCSTART):
        return False
    after = start + len(DOCSTART)
    if after < end and data[after] != BLANK and data[after] != TAB:
        return False
    for i in range(len(DOCSTART)):
        if data[start + i] != DOCSTART[i]:
            return False
    return True


@kernel
def _is_loose(data: Bytes, start: int, end: int) -> bool:
    """A multiword token (3-4) or an empty node (8.1)."""
    for i in range(start, end):
        if data[i] == DASH or data[i] == DOT:
            return True
    return False


@kernel
def splice(
    data: Bytes,  # [size] the input as it came
    cut_starts: Ints,  # [tokens] the bytes that the piece replaces, in order
    cut_ends: Ints,  # [tokens]
    pieces: Bytes,  # all pieces, one after the other
    piece_offsets: Ints,  # [pieces + 1]
    piece: Ints,  # [tokens] which piece goes there
    out: Bytes,  # large enough
) -> int:
    """Copy the input with one piece put in at each token; return the bytes written."""
    written = 0
    copied = 0
    for token in range(len(piece)):
        for i in range(copied, cut_starts[token]):
            out[written] = data[i]
            written += 1
        for i in range(piece_offsets[piece[token]], piece_offsets[piece[token] + 1]):
            out[written] = pieces[i]
            written += 1
        copied = cut_ends[token]
    for i in range(copied, len(data)):
        out[written] = data[i]
        written += 1
    return written


BOM = b"\xef\xbb\xbf"
# A field of CRFsuite's attribute files such as w[0]=the or pos[-1]|pos[0]=DT|NN, and its name.
ATTRIBUTE = re.compile(r"([A-Za-z_][\w\[\]|+*.,/-]*)=.")
LOOKED_AT = 20  # lines, to recognize such a file
INTERPRETED = 1 << 18  # bytes of a whole file: to load compiled code would take longer than to scan so few
STOP = np.empty(0, np.int32)  # no room for uneven lines: the first one ends the scan


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
            layout = _recognize(rest, final, name)
            if layout is None:
                if final:
                    return
                if len(rest) > current_limits().sentence:
                    raise DataError(f"{name}:{first_line}: no token in {len(rest) >> 20} MB; is this a column file?")
                enough = min(2 * len(rest), current_limits().sentence + 1)
                continue
            check_limit("columns", layout.columns, name, "columns")
        jit.prepare(tokens=len(rest) // 6)
        scanned, used, lines = _scan(rest, layout, final, name, first_line, hint)
        if used:
            yield scanned
        elif len(rest) > current_limits().sentence:
            raise no_sentence_end(f"{name}:{first_line}", len(rest))
        enough = 0 if used else min(2 * len(rest), current_limits().sentence + 1)
        pieces = [rest[used:]]
        waiting = len(pieces[0])
        first_line += lines


def no_sentence_end(place: str, size: int) -> SapoError:
    """Return the error about a sentence above its limit."""
    way_out = f"sentences end with one (or use `allow_limits(sentence={2 * size})`)"
    return DataError(f"{place}: no empty line in {size / (1 << 20):.0f} MB; {way_out}")


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


def scan_leniently(data: bytes, layout: Layout, name: str) -> tuple[Scanned, list[int]]:
    """Scan a whole file, and skip lines with another number of fields; return the numbers of these lines, too."""
    if len(data) > INTERPRETED:
        jit.prepare(tokens=len(data) // 6)
    uneven = np.full(data.count(b"\n") + 1, -1, np.int32)
    scanned, _, _ = _scan(data, layout, True, name, 1, "", uneven)
    return scanned, scanned.line_numbers(uneven[uneven >= 0]).tolist()


def _scan(
    data: bytes, layout: Layout, final: bool, name: str, first_line: int, hint: str, uneven: Ints = STOP
) -> tuple[Scanned, int, int]:
    check_utf8(data if final else data[: data.rfind(b"\n") + 1], name, first_line)
    _refuse_lone_returns(data, name, first_line)
    array = np.frombuffer(data, np.uint8)
    most = data.count(b"\n") + 1
    starts = np.empty((most, layout.columns), np.int32)
    ends = np.empty((most, layout.columns), np.int32)
    line_starts, line_ends, sentence_ends = (np.empty(most, np.int32) for _ in range(3))
    tokens, sentences, used, lines, fields, at = scan_lines(
        array, layout.tabs, layout.conllu, final, starts, ends, line_starts, line_ends, sentence_ends, uneven
    )
    if fields:
        line = data[at:].split(b"\n", 1)[0].rstrip(b"\r")
        number = first_line + data.count(b"\n", 0, at)
        shown = line.decode()[:60]
        raise DataError(
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
        raise DataError(
            f"{name}:{line}: a carriage return (CR) that ends no line; convert the line endings, "
            "for example with tr '\\r' '\\n'"
        )


def _recognize(data: bytes, final: bool, name: str) -> Layout | None:
    """Return the layout of the first line that is surely a token, or None if there is none yet.

    Raise SapoError if the first lines are those of an attribute file, whose columns mean nothing.
    """
    filled = (line for line in _lines(data, final) if line.strip() and not line.startswith(b"#"))
    if _look_like_attributes(list(itertools.islice(filled, LOOKED_AT))):
        shown = next(line for line in _lines(data, final) if line.strip())[:60].decode("utf-8", "replace")
        raise DataError(
            f"{name}: looks like attributes of CRFsuite ({shown!r}), not like columns; use `format='crfsuite'`"
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
        raise DataError(
            f"{name}:{line}: the label, column {column}, is empty ({shown!r}); is there a TAB too many? "
            "Otherwise give the label's column with `label`"
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


ELSEWHERE = "; write JSONL, which holds every tag"


def check_tag(tag: str, *, tabs: bool) -> None:
    """Raise SapoError if a tag cannot be a field. Single TABs separate the fields if `tabs`, otherwise runs of blanks.

    >>> check_tag("proper noun", tabs=True)
    """
    if not tag:
        raise DataError("an empty tag cannot be written to this file" + ELSEWHERE)
    if re.search(r"[\t\r\n]", tag) or (not tabs and re.search(r"\s", tag, re.ASCII)):
        raise DataError(
            f"the tag {tag!r} contains a blank and cannot be written to this file"
            + (ELSEWHERE if tabs or re.search(r"[\t\r\n]", tag) else "; separate its columns by TABs")
        )
    if re.search("[\ud800-\udfff]", tag):
        raise DataError(f"the tag {tag!r} has half of a surrogate pair, which is not valid text" + ELSEWHERE)


NEWDOC = re.compile(
    rb"^#[ \t]*newdoc(?:[ \t]+id)?[ \t]*=[ \t]*(.*?)[ \t]*\r?$|^#[ \t]*newdoc\b|^-DOCSTART-", re.MULTILINE
)


def last_document(lines: bytes, before: str | None) -> str | None:
    r"""Return the name of the last document that begins in these lines; `before` if none does.

    >>> last_document(b"# newdoc id = T-7\n# text = Hush\n", None)
    'T-7'
    """
    if b"newdoc" in lines or b"-DOCSTART-" in lines:
        for match in NEWDOC.finditer(lines):
            before = match[1].decode() if match[1] else None
    return before


@dataclass(frozen=True, slots=True)
class ScannedOrigin(Origin):
    """The origin of a block from a file with one token a line."""

    scanned: Scanned
    document: str | None = field(default=None, kw_only=True)  # the name of the one that goes on from the block before

    def documents(self) -> list[str | None]:
        """Return the name of the document of each sentence: # newdoc id = NAME begins one."""
        whole = self.scanned.data.tobytes()
        if self.document is None and b"newdoc" not in whole:
            return [None] * (len(self.scanned.offsets) - 1)
        found, name, end = [], self.document, 0
        for first in self.scanned.offsets[:-1].tolist():
            begin = int(self.scanned.line_starts[first]) if first < len(self.scanned.line_starts) else len(whole)
            name = last_document(whole[end:begin], name)
            found.append(name)
            end = begin
        return found

    def document_starts(self, before: Origin | None) -> Bools | None:
        whole = self.scanned.data.tobytes()
        firsts = self.scanned.line_starts[self.scanned.offsets[:-1]]
        starts = np.zeros(len(firsts), np.bool_)
        if b"newdoc" in whole or b"-DOCSTART-" in whole:
            marks = np.array([match.start() for match in NEWDOC.finditer(whole)], np.int64)
            starts = np.diff(np.searchsorted(marks, firsts), prepend=0) > 0
        if isinstance(before, ScannedOrigin) and len(starts):  # a mark may stand behind the last sentence of a block
            last = int(before.scanned.line_starts[-1]) if len(before.scanned.line_starts) else 0
            starts[0] |= NEWDOC.search(before.scanned.data[last:].tobytes()) is not None
        return starts

    def sentences(self, block: Block) -> Iterator[Sentence]:
        for sentence, name in zip(block_sentences(block), self.documents(), strict=True):
            yield sentence if name is None else replace(sentence, document=name)

    def first_lines(self) -> Longs:
        return self.scanned.line_numbers(self.scanned.line_starts[self.scanned.offsets[:-1]])

    def line_of(self, token: int, sentence: int) -> int:
        return int(self.scanned.line_numbers(self.scanned.line_starts[token : token + 1])[0])

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            check_tag(label, tabs=self.scanned.layout.tabs)

    def other_lines(self) -> int:
        filled = len(re.findall(rb"(?m)^.*\S", self.scanned.data.tobytes()))
        return filled - len(self.scanned.line_starts)


def read_lines(path: str | Path, advice: str = "write one sentence a line") -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each line, without its line feed. `advice` ends the message about a long line.

    A line feed at the end of the file begins no further line.
    """
    name = show_path(path)
    pieces: list[bytes] = []  # of a line that has not ended; joined once, since each join copies all of it
    size = number = 0
    for chunk in read_chunks(path):
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*pieces, lines[0]])
            pieces, size = [], 0
        for line in lines:
            number += 1
            yield number, line.removeprefix(BOM) if number == 1 else line
        pieces.append(rest)
        size += len(rest)
        if size > current_limits().line:
            raise too_long(f"{name}:{number + 1}", size, advice)
    if size:
        last = b"".join(pieces)
        yield number + 1, last.removeprefix(BOM) if number == 0 else last


def too_long(place: str, size: int, advice: str) -> SapoError:
    """Return the error about a line above its limit."""
    most = current_limits().line
    return DataError(f"{place}: line longer than {most:,} bytes; {advice}, or use `allow_limits(line={2 * size})`")
