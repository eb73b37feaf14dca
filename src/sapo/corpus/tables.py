"""Read tables of pandas, polars, Arrow or Hugging Face: a row for each sentence, or a row for each token."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from sapo.corpus.blocks import Block, Sentence, block_from_sentences, check_labels
from sapo.errors import DataError, did_you_mean
from sapo.tags.labels import MISSING

WORDS = ("tokens", "words", "word", "token", "form", "text")
LABELS = ("ner_tags", "tags", "labels", "label", "tag", "ner", "ner_tag", "entity", "pos_tags", "upos", "pos")
SENTENCES = ("sentence", "sentence_id", "sent_id", "sentence #", "sent", "sentence_number")
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


def table_blocks(data: Any, *, labeled: bool = True, name: str = "table", **reading: Any) -> Iterator[Block]:
    """Read a table of Python in blocks. `label` and `columns` name its columns; the first of `columns` is the word."""
    batch: list[Sentence] = []
    wanted = {key: reading.get(key) for key in ("label", "columns")}
    for _, sentence in table_sentences(open_table(data, name), labeled=labeled, **wanted):
        batch.append(sentence)
        if len(batch) == BLOCK:
            yield block_from_sentences(batch, name)
            batch = []
    if batch:
        yield block_from_sentences(batch, name)


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
    known = list(first)
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
    rows = (row for batch in batches for row in zip(*(batch[name] for name in names), strict=True))
    return enumerate(rows, 1)


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
