"""Read a file of any format leniently: what training would refuse becomes a finding.

Columns and CoNLL-U are scanned by corpus/scanner.py, as for training. Only the layout is found in another way: there
the first line decides, here the majority, so that a strange first line is found.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sapo.check.findings import ERROR, NOTE, WARNING, Finding, Sheet
from sapo.corpus.blocks import LABEL, Sentence
from sapo.corpus.columns import name_columns
from sapo.corpus.conllu import COLUMNS, FEATS, Place, place_of
from sapo.corpus.exchange.documents import Notices
from sapo.corpus.files import read_whole, show_path, with_encoding
from sapo.corpus.formats import format_of, read_blocks
from sapo.corpus.jsonl import Record, RecordReading, json_lines, read_record
from sapo.corpus.labeled import borders_of, with_evidence
from sapo.corpus.scanner import BOM, Layout, Scanned, scan_leniently
from sapo.errors import DataWarning, SapoError, check_limit
from sapo.text.learning import Evidence, rules_of, unlearned

LONE_RETURN = re.compile(rb"\r(?!\n)")


def read_text(path: str | Path) -> tuple[list[str], list[Finding]]:
    """Return the lines of a file without their ends. Bytes that are not UTF-8 become the replacement character.

    Raises SapoError if the file cannot be read at all.
    """
    name = show_path(path)
    data = read_whole(path)
    findings: list[Finding] = []
    if data.startswith(BOM):
        data = data.removeprefix(BOM)
        findings.append(Finding("bom", NOTE, name, "begins with a byte order mark, which is ignored", lines=(1,)))
    if lone := LONE_RETURN.search(data.removesuffix(b"\r")):
        way_out = "convert the line ends, for example with tr '\\r' '\\n'"
        line = data.count(b"\n", 0, lone.start()) + 1
        findings.append(Finding("line-ends", ERROR, name, "a carriage return ends no line", way_out, (line,)))
    raw = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    check_limit("line", max(map(len, raw.split(b"\n"))), name, "bytes in a line")
    try:
        return raw.decode("utf-8").split("\n"), findings
    except UnicodeDecodeError:
        lines = raw.split(b"\n")
    bad = list(_undecodable(lines))
    way_out = "name the encoding (--encoding latin-1), or convert the file with iconv"
    findings.append(Finding("not-utf8", ERROR, name, "the line is not UTF-8", way_out).at(bad))
    return [line.decode("utf-8", "replace") for line in lines], findings


def _undecodable(lines: list[bytes]) -> Iterator[int]:
    for number, line in enumerate(lines, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            yield number


BLANKS = " \t"
SIZES = 5  # wrong numbers of columns that are reported one by one
DOCSTART = re.compile(r"-DOCSTART-(?:[ \t]|$)")


def split_fields(line: str, tabs: bool) -> list[str]:
    """Return the fields of a line.

    >>> split_fields("a  DT\\tB-NP ", tabs=False), split_fields("New York\\tB-LOC", tabs=True)
    (['a', 'DT', 'B-NP'], ['New York', 'B-LOC'])
    """
    return line.split("\t") if tabs else [field for field in re.split("[ \t]+", line) if field]


def find_layout(lines: Sequence[str], conllu: bool) -> Layout:
    """Return the layout that most lines have.

    >>> find_layout(["word", "a DT B-NP", "dog NN I-NP"], conllu=False)
    Layout(columns=3, tabs=False, conllu=False)
    """
    if conllu:
        return Layout(len(COLUMNS), tabs=True, conllu=True)
    tokens = [line for line in lines if line.strip(BLANKS) and not line.startswith("#") and not DOCSTART.match(line)]
    tokens = tokens or [line for line in lines if line.strip(BLANKS)]
    tabs = 2 * sum("\t" in line for line in tokens) > len(tokens)
    sizes = Counter(len(split_fields(line, tabs)) for line in tokens)
    return Layout(max(sizes, key=lambda size: (sizes[size], size), default=0), tabs)


@dataclass(frozen=True, slots=True)
class ScannedText:
    """The lines of a file, and what the scanner finds in them."""

    lines: list[str]
    layout: Layout
    scanned: Scanned
    uneven: list[int]  # lines with a wrong number of fields
    loose: list[int]  # token lines that separate their fields by blanks instead of TABs

    @property
    def token_lines(self) -> list[int]:
        """The number of the line of each token."""
        numbers: list[int] = self.scanned.line_numbers(self.scanned.line_starts).tolist()
        return numbers

    def strings(self, column: int) -> list[str]:
        """Return the fields of a column."""
        data, scanned = self.scanned.data.tobytes(), self.scanned
        places = zip(scanned.starts[:, column].tolist(), scanned.ends[:, column].tolist(), strict=True)
        return [data[start:end].decode() for start, end in places]


def scan_text(lines: list[str], conllu: bool, name: str) -> ScannedText:
    """Scan lines as the ordinary reader does, but in the layout of most lines; uneven lines are skipped."""
    layout = find_layout(lines, conllu)
    scanned, uneven = scan_leniently("\n".join(lines).encode(), layout, name)
    fields = {number: split_fields(lines[number - 1], tabs=False) for number in uneven if layout.tabs}
    loose = {number: "\t".join(found) for number, found in fields.items() if len(found) == layout.columns}
    if loose:
        even = (loose.get(number, line) for number, line in enumerate(lines, 1))
        scanned, uneven = scan_leniently("\n".join(even).encode(), layout, name)
    return ScannedText(lines, layout, scanned, uneven, list(loose))


def read_lines(
    path: str | Path, *, conllu: bool, label: str | None, columns: Sequence[str] | None, marks: frozenset[str]
) -> Sheet:
    """Read a column file or CoNLL-U. Raise SapoError if the file cannot be read, or the label names no column."""
    name = show_path(path)
    lines, faults = read_text(path)
    text = scan_text(lines, conllu, name)
    faults += _faults(name, text)
    count, numbers = text.layout.columns, text.token_lines
    if conllu:
        named: dict[str, Sequence[str]] = {"word": text.strings(1)}
        named[LABEL] = _conllu_labels(text, place_of(label or "upos"))
    elif count < 2 and label is None:
        named = {"word": text.strings(0)} if count else {}
        if numbers:
            faults.append(_one_column(name, named["word"]))
    else:
        names = name_columns(count, label, columns, True, name)
        named = {column: text.strings(at) for at, column in enumerate(names)}
    offsets = text.scanned.offsets.tolist()
    sheet = Sheet(name, "conllu" if conllu else "columns", named, numbers, offsets, faults, marks)
    if empty := sheet.value_lines(LABEL, {""}) if LABEL in named else []:
        way_out = "is there a TAB too many? Otherwise give the label's column with --label"
        faults.append(Finding("empty-label", ERROR, name, "the label is empty", way_out).at(empty))
    return sheet


def _faults(name: str, text: ScannedText) -> Iterator[Finding]:
    lines, layout = text.lines, text.layout
    what = "CoNLL-U has 10 columns" if layout.conllu else f"expected {layout.columns} columns, as most lines have"
    by_size: dict[int, list[int]] = {}
    for number in text.uneven:
        by_size.setdefault(len(split_fields(lines[number - 1], layout.tabs)), []).append(number)
    if len(by_size) > SIZES:
        sizes = f"{min(by_size)} to {max(by_size)}"
        message = f"{what}, found {sizes} in {len(text.uneven):,} lines"
        yield Finding("columns", ERROR, name, message, "does each line hold one token?", (text.uneven[0],))
        by_size = {}
    for size, numbers in by_size.items():
        message, way_out = (
            f"{what}, found {size} ({lines[numbers[0] - 1][:60]!r})",
            "add the missing columns, or an empty line",
        )
        if size > layout.columns:
            way_out = "remove the columns too many, or put TABs between columns if tokens hold blanks"
        yield Finding("columns", ERROR, name, message, way_out).at(numbers)
    if text.loose:
        message = "columns are separated by blanks, unlike most lines, which have TABs"
        yield Finding("separators", ERROR, name, message, "separate all columns by single TABs").at(text.loose)
    elif not layout.tabs:
        mixed = [number for number, line in enumerate(lines, 1) if "\t" in line.strip(BLANKS)]
        if mixed:  # the ordinary reader takes TABs for blanks, unless the first line has one
            severity = ERROR if mixed[0] == 1 else WARNING
            message = "TABs between columns, where most lines have blanks"
            yield Finding("separators", severity, name, message, "separate all columns by single TABs").at(mixed)


def _one_column(name: str, values: Sequence[str]) -> Finding:
    for separator, what in ((",", "commas"), (";", "semicolons"), ("|", "bars"), ("/", "slashes")):
        if 10 * sum(separator in value for value in values) > 9 * len(values):
            return Finding(
                "one-column", ERROR, name, f"has one column, with {what} in it", f"replace the {what} by TABs"
            )
    return Finding("one-column", ERROR, name, "has one column", "a training file needs a word and a label on each line")


def _conllu_labels(text: ScannedText, place: Place) -> list[str]:
    if place.key is not None:
        pattern = re.compile(rf"(?:^|\|){re.escape(place.key)}=([^|]*)")
        found = map(pattern.search, text.strings(FEATS))
        return [match[1] if match else "_" for match in found]
    if place.whole_feats and place.first != FEATS:
        return list(map("{}|{}".format, text.strings(place.first), text.strings(FEATS)))
    return text.strings(place.first)


MESSAGES = 10  # about records, that are reported one by one


def read_json(path: str | Path, *, label: str | None, marks: frozenset[str]) -> Sheet:
    """Read JSONL. A line that cannot be read becomes a finding; the others are read."""
    name = show_path(path)
    records, empty, wrong = list[Record](), list[int](), dict[str, list[int]]()
    evidence = Evidence()
    with _caught(name) as about_spans:
        how = RecordReading(label or "tags", notices=Notices(name))
        for number, line in json_lines(path):
            place = f"{name}:{number}"
            try:
                record = read_record(line, place, how)
            except SapoError as error:
                wrong.setdefault(str(error).removeprefix(f"{place}: "), []).append(number)
                continue
            if not any(map(len, record.sentences)):
                empty.append(number)
                continue
            records.append(record)
            for sentence in record.sentences:
                evidence.add(sentence.words, sentence.text)
            evidence.borders += borders_of(record.cut)
        how.notices.close()
    faults = [Finding("record", ERROR, name, text).at(lines) for text, lines in list(wrong.items())[:MESSAGES]]
    if others := list(wrong.values())[MESSAGES:]:
        lines = [line for group in others for line in group]
        faults.append(Finding("record", ERROR, name, "the line cannot be read, for other reasons").at(lines))
    faults += [*about_spans, *_inside_tokens(name, evidence)]
    if empty:
        faults.append(Finding("no-tokens", ERROR, name, "this sentence has no tokens", "leave it out").at(empty))
    sentences = [sentence for record in records for sentence in record.sentences]
    kept = [key for key in _keys(sentences) if all(key in one.columns for one in sentences)]
    columns: dict[str, Sequence[str]] = {
        key: [value for one in sentences for value in one.columns[key]] for key in kept
    }
    columns[LABEL] = [tag for one in sentences for tag in one.tags or ()]
    sizes = [len(one) for one in sentences]
    numbers = [record.line for record in records for one in record.sentences for _ in range(len(one))]
    return Sheet(name, "jsonl", columns, numbers, _offsets(sizes), faults, marks)


@contextmanager
def _caught(name: str) -> Iterator[list[Finding]]:
    """Give a list that has, at the end, the warnings of a reader about spans that it changed or left out."""
    found: list[Finding] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield found
    found += (_placed("span", name, str(one.message)) for one in caught if issubclass(one.category, DataWarning))


def _inside_tokens(name: str, evidence: Evidence) -> list[Finding]:
    """Return a finding for each span that cuts a token where a model of this file would not split text."""
    messages = unlearned(evidence, rules_of(evidence)) if evidence.borders else []
    way_out = "is it marked correctly? A model splits text there only if the data often does"
    found = [replace(_placed("inside-token", name, message), way_out=way_out) for message in messages]
    lines = [line for one in found[MESSAGES:] for line in one.lines]
    more = [Finding("inside-token", WARNING, name, "a span begins or ends inside a token", way_out).at(lines)]
    return found[:MESSAGES] + (more if lines else [])


def _placed(kind: str, name: str, message: str) -> Finding:
    """Return a warning as a finding in its line."""
    place = re.match(re.escape(name) + r":(\d+): ", message)
    if place is None:
        return Finding(kind, WARNING, name, message.removeprefix(f"{name}: "))
    return Finding(kind, WARNING, name, message[place.end() :], lines=(int(place[1]),))


def _keys(sentences: Sequence[Sentence]) -> list[str]:
    return list(dict.fromkeys(key for one in sentences for key in one.columns)) or ["word"]


def read_other(
    path: str | Path, format: str, *, label: str | None, columns: Sequence[str] | None, marks: frozenset[str]
) -> Sheet:
    """Read any format with its ordinary reader; what it refuses is a finding, and the sheet ends there."""
    name = show_path(path)
    faults: list[Finding] = []
    values: dict[str, list[str]] = {}
    lines, sizes = list[int](), list[int]()
    evidence = Evidence()
    with _caught(name) as about_spans:
        try:
            for block in with_evidence(read_blocks(path, format=format, label=label, columns=columns), evidence):
                lengths = np.diff(block.offsets).tolist()
                for key in block.columns:
                    values.setdefault(key, []).extend(block.strings(key))
                for first, length in zip(block.first_lines().tolist(), lengths, strict=True):
                    lines.extend([first] * length)
                sizes += lengths
        except SapoError as error:
            faults.append(Finding("unreadable", ERROR, name, str(error).removeprefix(f"{name}: ")))
    faults += [*about_spans, *_inside_tokens(name, evidence)]
    return Sheet(name, format, values or {"word": []}, lines, _offsets(sizes), faults, marks)


def _offsets(sizes: Sequence[int]) -> list[int]:
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    return offsets


def read_sheet(
    path: str | Path,
    *,
    format: str | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    missing: str | None = None,
    encoding: str | None = None,
) -> Sheet:
    """Read a labeled file. The arguments are those of `sapo.read`; `missing` stands for a missing tag.

    Raises SapoError if there is no such file, or an option is wrong.
    """
    found = format_of(path, format)
    path = with_encoding(path, encoding)
    marks = frozenset() if missing is None else frozenset([missing])
    if found in ("columns", "conllu"):
        return read_lines(path, conllu=found == "conllu", label=label, columns=columns, marks=marks)
    if found == "jsonl":
        return read_json(path, label=label, marks=marks)
    return read_other(path, found, label=label, columns=columns, marks=marks)
