"""Tables in files: CSV and TSV, and JSON arrays of objects, as pandas writes them.

    id,text,spans                                     one row for each document; spans also as JSON
    T-7,Anna sings in Oslo.,0:4:PER; 14:18:LOC

    id,text,start,end,label                           one row for each span; rows with the same id are a document
    T-7,Anna sings in Oslo.,0,4,PER

    [{"id": "T-7", "text": "Anna sings in Oslo.", "spans": [{"start": 0, "end": 4, "label": "PER"}]}]

corpus/tables.py knows what the columns mean. A file is written with a row for each document and its spans as JSON.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from sapo.corpus.annotations import DEFAULT, Annotation, Placement
from sapo.corpus.blocks import Block, Sentence
from sapo.corpus.exchange import label_studio
from sapo.corpus.exchange.documents import ID_KEYS, Notices
from sapo.corpus.exchange.format import check_span_labels, read_array
from sapo.corpus.files import LineSink, check_utf8, show_path, write_file
from sapo.corpus.jsonl import RecordReading, record_blocks, record_of
from sapo.corpus.jsonl import write as write_records
from sapo.corpus.jsonl import write_sentence as write_record
from sapo.corpus.scanner import read_lines
from sapo.corpus.tables import (
    BLOCK,
    ENDS,
    LABELS,
    LINE,
    SENTENCES,
    SPANS,
    STARTS,
    TEXTS,
    WORDS,
    Batch,
    Table,
    table_blocks,
)
from sapo.errors import DataError, current_limits
from sapo.text.splitter import Splitter

DELIMITERS = ",;\t|"
KNOWN = frozenset((*TEXTS, *SPANS, *STARTS, *ENDS, *ID_KEYS, *WORDS, *LABELS, *SENTENCES))


def read_csv(path: str | Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV file by the names in its first row, each with the line in which it begins.

    The delimiter is that of the first row. Cells may be quoted and hold line feeds. Empty rows are left out.
    """
    name = show_path(path)
    lines = _lines(path, name)
    first = next(lines, "")
    said = first.strip().lower()
    skipped = said.startswith("sep=") and len(said) == 5  # by Excel
    if skipped:
        first = next(lines, "")
    delimiter = said[4] if skipped else _delimiter(first)
    csv.field_size_limit(max(csv.field_size_limit(), current_limits().line))
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        line = reader.line_num + 1 + skipped
        try:
            cells = next(reader, None)
        except csv.Error as error:
            way = (
                "close the quote"
                if "end of data" in str(error)
                else "put quotes around the cell, and double those in it"
            )
            raise DataError(f"{name}:{line}: the row that begins here is not CSV ({error}); {way}") from None
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1)]
            for title in header:
                if header.count(title) > 1:
                    raise DataError(f"{name}:{line}: two columns are called '{title}'; rename one of them")
            continue
        while len(cells) > len(header) and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(header):
            raise DataError(
                f"{name}:{line}: has {len(cells)} cells, but the first row has {len(header)}; "
                f"put quotes around a cell that contains '{delimiter}'"
            )
        yield line, dict(zip(header, cells, strict=True))


def _lines(path: str | Path, name: str) -> Iterator[str]:
    for number, line in read_lines(path, "write one row a line"):
        check_utf8(line, name, number)
        yield line.decode() + "\n"


def _delimiter(line: str) -> str:
    """Return the delimiter that gives the most names that are known in the first row, and then the most cells."""

    def names(delimiter: str) -> tuple[int, int]:
        try:
            cells = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:
            return 0, 0
        return sum(cell.strip().lower() in KNOWN for cell in cells), len(cells)

    return max(DELIMITERS, key=names)


def _batches(rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[Batch]:
    names: list[str] = []  # of the first rows; later ones have them, too
    while group := list(islice(rows, BLOCK)):
        names = list(dict.fromkeys([*names, *(name for _, row in group for name in row)]))
        yield {
            LINE: [line for line, _ in group],
            **{name: [row.get(name) for _, row in group] for name in names},
        }


class RowFormat:
    """A format of rows. `read` yields them with their lines; `open_output` makes a file of lines of JSON."""

    def __init__(
        self,
        name: str,
        read: Callable[[str | Path], Iterator[tuple[int, dict[str, Any]]]],
        open_output: Callable[[str | Path], AbstractContextManager[Any]],
        texts_only: bool,
    ) -> None:
        self._name, self._read, self.open_output, self._texts_only = name, read, open_output, texts_only

    def read_blocks(
        self,
        path: str | Path,
        *,
        label: str | None = None,
        columns: Sequence[str] | None = None,
        labeled: bool = True,
        splitter: Splitter | None = None,
    ) -> Iterator[Block]:
        """Read a file in blocks. `label` and `columns` name its columns, `splitter` cuts texts."""
        rows, name = self._read(path), show_path(path)
        first = next(rows, None)
        if first is None:
            return
        rows = chain([first], rows)
        if not isinstance(first[1].get("tokens"), list):
            yield from table_blocks(
                Table(name, _batches(rows)), label=label, columns=columns, labeled=labeled, splitter=splitter
            )
            return
        notices = Notices(name)
        how = RecordReading(label or "tags", labeled, splitter or Splitter(), notices)
        records = (record_of(values, line, f"{name}:{line}", how) for line, values in rows)
        yield from record_blocks(records, name, labeled)
        notices.close()

    def write(self, block: Block, added: Annotation) -> Iterator[bytes]:
        """Yield a line of JSON for each row, with what was added: see `sapo.corpus.jsonl.write`."""
        if self._texts_only:
            if block.origin is None or block.origin.cuts() is None:
                raise DataError(
                    f"{block.name}: {self._name} is written with a text in each row, and this file has tokens; "
                    "convert it with sapo convert to columns or JSONL"
                )
            if added.placement is not None:
                check_span_labels(added.labels, self._name)
                added = replace(added, placement=replace(added.placement, text=True))
        return write_records(block, added)

    def write_sentence(self, sentence: Sentence, placement: Placement = DEFAULT) -> str:
        """Return a sentence as a row: a text with spans, or, in JSON, tokens and tags."""
        if self._texts_only:
            check_span_labels(sentence.tags or (), self._name)
            placement = replace(placement, text=True)
        return write_record(sentence, placement)


class CsvFile(LineSink):
    """Collects lines of JSON as rows of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []

    def add(self, line: bytes) -> None:
        row = json.loads(line)
        if "spans" in row:  # they say the same, in a form that a person can read
            for key in ("tokens", "tags", "token_spans"):
                row.pop(key, None)
        self.rows.append(row)

    def content(self, delimiter: str) -> bytes:
        stream = io.StringIO(newline="")
        names = list(dict.fromkeys(name for row in self.rows for name in row)) or ["id", "text", "spans"]
        writer = csv.DictWriter(stream, names, restval="", delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in self.rows)
        return stream.getvalue().encode("utf-8", "surrogatepass")


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


@contextmanager
def _open_csv(path: str | Path) -> Iterator[CsvFile]:
    with write_file(path) as stream:
        collected = CsvFile()
        yield collected
        stream.write(collected.content("\t" if ".tsv" in Path(path).suffixes[-2:] else ","))


def _read_array(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, place, record in read_array(path):
        if isinstance(record.get("data"), dict) and ("annotations" in record or "completions" in record):
            raise DataError(f"{place}: a task of Label Studio; use `format='label-studio'` for its exports")
        yield line, record


CSV = RowFormat("CSV", read_csv, _open_csv, texts_only=True)
JSON = RowFormat("JSON", _read_array, label_studio.open_output, texts_only=False)
