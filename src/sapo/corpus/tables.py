"""Read tables of pandas, polars, Arrow or Hugging Face, and what CSV files and JSON arrays hold.

A row is a sentence (lists of words and labels), a token (with the number of its sentence), a document (a text with
its spans), or a span of a document (start, end and label). Which one it is follows from the names of the columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from sapo.corpus.annotations import CharSpan
from sapo.corpus.blocks import Block, Sentence, check_labels
from sapo.corpus.exchange.documents import ID_KEYS, Document, Notices, make_span, read_spans
from sapo.corpus.jsonl import Record, RecordReading, document_record, record_blocks
from sapo.errors import DataError, did_you_mean
from sapo.tags.labels import MISSING
from sapo.text.splitter import Splitter

WORDS = ("tokens", "words", "word", "token", "form", "text")
LABELS = ("ner_tags", "tags", "labels", "label", "tag", "ner", "ner_tag", "entity", "pos_tags", "upos", "pos")
SENTENCES = ("sentence", "sentence_id", "sent_id", "sentence #", "sent", "sentence_number")
TEXTS = ("text", "content", "body", "message", "ticket", "description", "comment", "review", "raw_text", "sentence")
SURE_SPANS = ("spans", "entities", "annotations")
SPANS = (*SURE_SPANS, "labels", "label", "marks", "ner", "tags")  # the others only if the cells look like spans
STARTS = ("start", "begin", "start_offset", "start_char", "span_start", "begin_offset")
ENDS = ("end", "stop", "end_offset", "end_char", "span_end")
TYPES = ("label", "type", "entity", "tag", "category", "entity_type", "entity_label", "span_label")
LINE = "\x00line"  # a column with the line of each row in its file; without it, rows are counted
BLOCK = 500  # sentences
REMEMBERED = 100_000  # sentence ids of a table, to notice one that comes again; the first ones, and as many recent ones
Batch = Mapping[str, Sequence[Any]]  # columns by name


@dataclass(frozen=True, slots=True)
class Table:
    """A table in pieces of some rows, and the names of labels that are numbers."""

    name: str  # for messages
    batches: Iterable[Batch]
    class_names: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Which columns of a table are what."""

    words: tuple[str, ...]  # the word, and further columns
    label: str | None
    sentence: str | None  # None if each row is a sentence

    def names(self) -> list[str]:
        """Return the names that templates use: the first is the word, and `pos_tags` or `POS` is called pos."""
        return ["word", *(name.lower().removesuffix("_tags") for name in self.words[1:])]


def open_table(data: Any, name: str) -> Table:
    """Return a table of Python; raise SapoError if it is something else of its package."""
    package = type(data).__module__.partition(".")[0]
    kind = type(data).__name__
    if kind in ("DatasetDict", "IterableDatasetDict"):
        raise DataError(f"{name}: a {kind} has several splits; give one of them: {', '.join(data)}")
    if package == "datasets":
        features = data.features or {}
        found = {key: names for key in features if (names := class_names(features[key])) is not None}
        return Table(name, ({key: list(rows[key]) for key in rows} for rows in data.iter(BLOCK)), found)
    if package == "pyarrow" and kind in ("Table", "RecordBatch"):
        return Table(name, [{key: data.column(key).to_pylist() for key in data.schema.names}])
    if package == "pandas" and kind == "DataFrame":
        return Table(name, [{str(key): data[key].tolist() for key in data.columns}])
    if package == "polars" and kind == "DataFrame":
        return Table(name, [{key: data[key].to_list() for key in data.columns}])
    raise DataError(f"{name}: expected a table with columns for words and labels, found a {kind} of {package}")


def class_names(feature: Any) -> Sequence[str] | None:
    """Return the names of a ClassLabel of Hugging Face, or of a list of them; None for all else.

    >>> class_names({"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}, "_type": "Sequence"})
    ['O', 'B-PER']
    """
    for _ in range(3):
        if isinstance(feature, list) and len(feature) == 1:
            feature = feature[0]
        names = feature.get("names") if isinstance(feature, dict) else getattr(feature, "names", None)
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
        feature = feature.get("feature") if isinstance(feature, dict) else getattr(feature, "feature", None)
    return None


def table_blocks(
    data: Any,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    labeled: bool = True,
    splitter: Splitter | None = None,
    name: str = "table",
) -> Iterator[Block]:
    """Read a table, of Python or opened, in blocks.

    `label` and `columns` name its columns: `label` that of the labels or spans, the first of `columns` that of the
    words or texts. `splitter` cuts texts.
    """
    table = data if isinstance(data, Table) else open_table(data, name)
    notices = Notices(table.name)
    how = RecordReading("tags", labeled, splitter or Splitter(), notices)
    yield from record_blocks(_records(table, label, columns, how), table.name, labeled)
    notices.close()


def _records(table: Table, label: str | None, columns: Sequence[str] | None, how: RecordReading) -> Iterator[Record]:
    batches = iter(table.batches)
    first = next(batches, None)
    if first is None or not any(len(values) for values in first.values()):
        return
    whole = Table(table.name, chain([first], batches), table.class_names)
    layout = _document_layout(first, label, columns, how.labeled, table.name)
    if layout is not None:
        for document in _documents(whole, layout, how.labeled):
            yield document_record(document, how)
        return
    for row, sentence in table_sentences(whole, label=label, columns=columns, labeled=how.labeled):
        further = {name: list(values) for name, values in sentence.columns.items() if name != "word"}
        yield Record(row, {"tokens": list(sentence.words), **further}, (sentence,))


@dataclass(frozen=True, slots=True)
class DocumentLayout:
    """Which columns of a table of texts are what."""

    text: str
    id: str | None
    spans: str | None = None
    places: tuple[str, str, str] | None = None  # start, end and label, if each row is a span

    def others(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that are neither text nor spans nor the name of the document."""
        used = {self.text, self.id, self.spans, LINE, *(self.places or ())}
        return tuple(name for name in known if name not in used)


def _document_layout(
    first: Batch, label: str | None, columns: Sequence[str] | None, labeled: bool, table: str
) -> DocumentLayout | None:
    """Return the layout of a table of texts, or None if it is one of tokens or of lists. `table` is for messages."""
    known = [name for name in first if name != LINE]
    text = _usual(known, TEXTS) if columns is None else columns[0] if len(columns) == 1 else None
    if text is None or text not in first or any(_is_list(value) for value in first[text]):
        return None
    words = any(isinstance(value, str) and len(value.split()) > 1 for value in first[text])
    others = [name for name in known if name != text]
    if _usual(others, WORDS) is not None or (not words and _usual(others, SENTENCES) is not None):
        return None  # a row is a token
    found = DocumentLayout(text, _usual(known, ID_KEYS) or next((name for name in known if _is_id(name)), None))
    if not labeled:
        return found
    start, end = _usual(known, STARTS), _usual(known, ENDS)
    kind = label if label is not None else _usual(known, TYPES)
    if start and end and kind in first:
        return DocumentLayout(text, found.id, places=(start, end, str(kind)))
    if label is not None and label not in first:
        raise DataError(f"{table}: has no column '{label}'{did_you_mean(label, known)}")
    spans = label or next((name for name in known if _holds_spans(name.lower(), first[name])), None)
    if spans is not None:
        return DocumentLayout(text, found.id, spans)
    if not words or _usual(known, LABELS) is not None:
        return None
    raise DataError(
        f"{table}: found no column of spans among {', '.join(known)}; add a column 'spans' with cells such as "
        "0:4:PER; 10:14:LOC, or name it with `label`"
    )


def _is_id(name: str) -> bool:
    return name.lower().replace(" ", "_").endswith("_id")


def _usual(known: Sequence[str], usual: Sequence[str]) -> str | None:
    """Return the first usual name that is there, in any case."""
    by_name = {column.strip().lower().replace(" ", "_"): column for column in reversed(known)}
    return next((by_name[name] for name in usual if name in by_name), None)


def _holds_spans(name: str, values: Sequence[Any]) -> bool:
    if name in SURE_SPANS:
        return True
    filled = [value for value in values if not _is_missing(value)]
    return name in SPANS and bool(filled) and all(map(_looks_like_spans, filled))


def _looks_like_spans(value: Any) -> bool:
    if isinstance(value, str) and not value.lstrip().startswith(("[", "{")):
        return value.lstrip()[:1].isdigit() and ":" in value
    if isinstance(value, str):
        return '"tokens"' not in value and any(letter.isdigit() for letter in value + "0" * (value.strip() == "[]"))
    return _is_list(value) and all(isinstance(one, Mapping) or (_is_list(one) and len(one) == 3) for one in value)


def _is_missing(value: Any) -> bool:
    if _is_list(value):
        return len(value) == 0
    return value is None or value != value or (isinstance(value, str) and not value.strip())  # NaN is not equal


def _documents(table: Table, layout: DocumentLayout, labeled: bool) -> Iterator[Document]:
    rows = _numbered_rows(table.batches)
    if labeled and layout.places is not None:
        yield from _joined_documents(rows, layout, table.name)
        return
    for number, row in rows:
        place = f"{table.name}:{number}"
        text = _text(row, layout.text, place)
        spans = read_spans(row.get(layout.spans), place) if labeled and layout.spans else ()
        source = {name: _plain(value) for name, value in row.items() if name != LINE}
        yield Document(
            place, number, text, spans, source=source, other_keys=layout.others(row), id=_name(row, layout.id)
        )


def _numbered_rows(batches: Iterable[Batch]) -> Iterator[tuple[int, dict[str, Any]]]:
    count = 0
    for batch in batches:
        for values in zip(*batch.values(), strict=True):
            row = dict(zip(batch, values, strict=True))
            count += 1
            yield row.get(LINE, count), row


def _joined_documents(rows: Iterable[tuple[int, dict[str, Any]]], layout: DocumentLayout, table: str) -> list[Document]:
    """Return the documents of a table in which each row is a span. Rows with the same name, or text, are a document."""
    assert layout.places is not None
    groups: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, row in rows:
        key = _name(row, layout.id) if layout.id is not None else _text(row, layout.text, f"{table}:{number}")
        if key is None:
            raise DataError(f"{table}:{number}: the cell '{layout.id}' is empty; write the name of the document in it")
        groups.setdefault(key, []).append((number, row))
    documents = []
    for key, group in groups.items():
        line = group[0][0]
        place = f"{table}:{line}"
        texts = {_text(row, layout.text, f"{table}:{number}"): number for number, row in reversed(group)}
        texts.pop("", None)
        if len(texts) > 1:
            other = sorted(texts.values())[1]
            raise DataError(
                f"{table}:{other}: the text of '{key:.40}' differs from that of line {min(texts.values())}; "
                "give different documents different names"
            )
        spans = tuple(_one_span(row, layout.places, f"{table}:{number}") for number, row in group)
        kept = tuple(span for span in spans if span is not None)
        text, name = next(iter(texts), ""), _name(group[0][1], layout.id)
        source: dict[str, Any] = {} if name is None else {"id": name}
        objects = [{"start": span.start, "end": span.end, "label": span.type} for span in kept]
        source |= {"text": text, "spans": objects}
        others = layout.others(group[0][1])
        documents.append(Document(place, line, text, kept, source=source, other_keys=others, id=name))
    return documents


def _one_span(row: Mapping[str, Any], places: tuple[str, str, str], place: str) -> CharSpan | None:
    parts = [row.get(name) for name in places]
    if all(map(_is_missing, parts)):
        return None
    return make_span(parts, ":".join("" if _is_missing(part) else str(part) for part in parts), place)


def _text(row: Mapping[str, Any], column: str, place: str) -> str:
    value = row.get(column)
    if value is None or value != value:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{place}: '{column}' must be a text, found {value!r:.40}")
    return value


def _name(row: Mapping[str, Any], column: str | None) -> str | None:
    value = None if column is None else row.get(column)
    if _is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():  # a column of integers with a hole
        value = int(value)
    return " ".join(str(value).split())


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None  # NaN, too
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else str(value)


def table_sentences(
    table: Table, *, label: str | None = None, columns: Sequence[str] | None = None, labeled: bool = True
) -> Iterator[tuple[int, Sentence]]:
    """Yield the sentences of a table, each with the number of its first row, from 1."""
    batches = iter(table.batches)
    first = next(batches, None)
    if first is None or not any(len(values) for values in first.values()):
        return
    layout = _layout(first, label, columns, labeled, table)
    names = [*layout.words, *([layout.label] if layout.label is not None else [])]
    rows = _rows(chain([first], batches), [*names, *([layout.sentence] if layout.sentence else [])])
    grouped = _lists(rows, names, table.name) if layout.sentence is None else _runs(rows, layout.sentence, table.name)
    for number, values in grouped:
        place = f"{table.name}:{number}"
        words = [_strings(values[at], name, table, place) for at, name in enumerate(layout.words)]
        tags = None if layout.label is None else _labels(values[-1], layout.label, table, place)
        if len({len(row) for row in [*words, *([] if tags is None else [tags])]}) > 1:
            counts = ", ".join(f"{len(row)} {name}" for row, name in zip(values, names, strict=True))
            raise DataError(f"{place}: columns of unequal length ({counts}); give a label for each token")
        yield number, Sentence(dict(zip(layout.names(), map(tuple, words), strict=True)), tags)


def _layout(first: Batch, label: str | None, columns: Sequence[str] | None, labeled: bool, table: Table) -> TableLayout:
    listed = any(_is_list(value) for value in _samples(first))
    known = [name for name in first if name != LINE]
    words = tuple(columns) if columns else (_first(known, WORDS, "words", "columns", table.name),)
    chosen = label
    if labeled and chosen is None:
        chosen = _first([name for name in known if name not in words], LABELS, "labels", "label", table.name)
    for name in (*words, *([chosen] if chosen is not None and labeled else [])):
        if name not in first:
            raise DataError(f"{table.name}: has no column '{name}'{did_you_mean(name, known)}")
    sentence = None
    if not listed:
        sentence = _first(known, SENTENCES, "sentences", "", table.name)
    return TableLayout(words, chosen if labeled else None, sentence)


def _is_list(value: Any) -> bool:
    """Return whether a value is a list of a table."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def _samples(batch: Batch) -> Iterator[Any]:
    return (values[0] for values in batch.values() if len(values))


def _first(known: Sequence[str], usual: Sequence[str], what: str, option: str, name: str) -> str:
    """Return the first usual name that is there, in any case."""
    by_name = {column.lower(): column for column in reversed(known)}
    for candidate in usual:
        if candidate in by_name:
            return by_name[candidate]
    way = f"name it with {option}" if option else f"call it {usual[0]}, or give a row for each sentence, with lists"
    raise DataError(f"{name}: found no column of {what} among {', '.join(known)}; {way}")


def _rows(batches: Iterable[Batch], names: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    count = 0
    for batch in batches:
        for at, row in enumerate(zip(*(batch[name] for name in names), strict=True)):
            count += 1
            yield batch[LINE][at] if LINE in batch else count, row


def _lists(
    rows: Iterable[tuple[int, tuple[Any, ...]]], names: Sequence[str], table: str
) -> Iterator[tuple[int, list[list[Any]]]]:
    for number, row in rows:
        for name, value in zip(names, row, strict=True):
            if value is not None and not _is_list(value):
                raise DataError(f"{table}:{number}: '{name}' must be a list, found {value!r:.40}")
        yield number, [list(value) if value is not None else [] for value in row]


def _runs(
    rows: Iterable[tuple[int, tuple[Any, ...]]], column: str, table: str
) -> Iterator[tuple[int, list[list[Any]]]]:
    """Join the rows of a sentence, which have the same number or name in the last column, or none behind the first.

    Raises SapoError if a sentence comes again after another one: its tokens would become several sentences.
    """
    first, current, run = 1, None, list[tuple[Any, ...]]()
    earliest, recent = set[str](), set[str]()
    for number, row in rows:
        sentence = None if row[-1] is None or row[-1] != row[-1] or row[-1] == "" else row[-1]  # NaN is not equal
        if sentence is not None and sentence != current:
            if run:
                yield first, [list(values) for values in zip(*run, strict=True)]
            run, first = [], number
            key = repr(sentence)
            if key in earliest or key in recent:
                raise DataError(
                    f"{table}:{number}: the rows of sentence {key:.40} in '{column}' are not together; sort the table "
                    f"by '{column}' and the position of the token, or give different sentences different values"
                )
            if len(recent) == REMEMBERED:
                recent.clear()
            (earliest if len(earliest) < REMEMBERED else recent).add(key)
            current = sentence
        run.append(row[:-1])
    if run:
        yield first, [list(values) for values in zip(*run, strict=True)]


def _strings(values: Sequence[Any], column: str, table: Table, place: str) -> list[str]:
    names = table.class_names.get(column, ())
    found = [names[value] if isinstance(value, int) and 0 <= value < len(names) else value for value in values]
    for at, value in enumerate(found, 1):
        if not isinstance(value, str):
            raise DataError(f"{place}: token {at} of '{column}' must be a string, found {value!r:.40}")
    return found


def _labels(values: Sequence[Any], column: str, table: Table, place: str) -> tuple[str, ...]:
    names = table.class_names.get(column)
    tags = []
    for value in values:
        if isinstance(value, str):
            tags.append(value)
        elif value is None or value != value:
            tags.append(MISSING)
        elif not hasattr(value, "__int__"):
            raise DataError(f"{place}: a label of '{column}' must be a string or a number, found {value!r:.40}")
        elif value < 0:
            tags.append(MISSING)
        elif names is None:
            raise DataError(
                f"{place}: '{column}' holds the number {value} without the names of labels; give strings, "
                "or a dataset of Hugging Face with ClassLabel"
            )
        elif value >= len(names):
            raise DataError(f"{place}: label {value} of '{column}' is unknown; there are {len(names)} names")
        else:
            tags.append(names[int(value)])
    check_labels(tags, place)
    return tuple(tags)
