"""A labelled file in, its sentences or documents out as bytes, with the labels that occur in each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sapo.corpus.blocks import LABEL
from sapo.corpus.files import show_path
from sapo.corpus.formats import format_of, read_blocks
from sapo.corpus.json_records import json_lines, read_record
from sapo.corpus.origins import ScannedOrigin
from sapo.corpus.scanner import sentence_regions
from sapo.errors import SapoError
from sapo.tags import looks_like_spans, type_of

DOCUMENT_KEYS = ("document", "document_id", "doc", "doc_id")  # of JSONL
DOCUMENT_START = re.compile(rb"^(?:-DOCSTART-(?:\s|$)|#\s*newdoc\b)", re.MULTILINE)


@dataclass(slots=True)
class Unit:
    """A sentence, or all sentences of a document."""

    data: bytes  # with an empty line at the end, where the format has one
    labels: frozenset[str]
    sentences: int
    tokens: int
    document: str | None = None  # where a document begins, or what it is called; None inside of one


def read_units(
    path: str | Path, *, documents: bool = False, format: str | None = None, label: str | None = None
) -> list[Unit]:
    """Return the sentences of a labelled file, or its documents.

    A document begins with -DOCSTART- in a column file and with `# newdoc` in CoNLL-U; in JSONL its name is under
    'document', 'doc' or 'doc_id'. Of span labels the types count as labels. Raises SapoError if the file cannot be
    read, or has no documents.
    """
    found = format_of(path, format)
    if found not in ("columns", "conllu", "jsonl"):
        raise SapoError(f"{path}: only columns, conllu and jsonl can be split, not {found}; convert it first")
    units = list(_records(path, label) if found == "jsonl" else _sentences(path, found, label))
    if not units:
        raise SapoError(f"{show_path(path)}: holds no sentence")
    labels = set().union(*(unit.labels for unit in units))
    if looks_like_spans(labels):
        for unit in units:
            unit.labels = frozenset(filter(None, map(type_of, unit.labels)))
    return _documents(units, show_path(path), found == "jsonl") if documents else units


def _sentences(path: str | Path, format: str, label: str | None) -> Iterator[Unit]:
    for block in read_blocks(path, format=format, label=label):
        scanned, tags = block.origin_as(ScannedOrigin).scanned, block.strings(LABEL)
        whole = scanned.data.tobytes()
        for (begin, end), (first, last) in zip(
            sentence_regions(scanned), pairwise(block.offsets.tolist()), strict=True
        ):
            data = whole[begin:end].rstrip(b"\r\n")
            start = DOCUMENT_START.search(data, 0, int(scanned.line_starts[first]) - begin)
            document = None if start is None else data[start.start() :].split(b"\n", 1)[0].decode()
            yield Unit(data + b"\n\n", frozenset(tags[first:last]), 1, last - first, document)


def _records(path: str | Path, label: str | None) -> Iterator[Unit]:
    name = show_path(path)
    for number, line in json_lines(path):
        record = read_record(line, f"{name}:{number}", label or "tags", True)
        document = next((str(record.values[key]) for key in DOCUMENT_KEYS if key in record.values), None)
        labels = frozenset(record.sentence.tags or ())
        yield Unit(line.rstrip(b"\r\n") + b"\n", labels, 1, len(record.sentence), document)


def _documents(units: list[Unit], name: str, named: bool) -> list[Unit]:
    """Join the sentences of each document. If documents are `named`, sentences of one name belong together."""
    if all(unit.document is None for unit in units):
        raise SapoError(
            f"{name}: has no documents (-DOCSTART- in columns, # newdoc in CoNLL-U, 'document' in JSONL); "
            "split it by sentence"
        )
    groups: dict[object, list[Unit]] = {}
    current: object = None
    for number, unit in enumerate(units):
        if named:
            current = unit.document
        elif unit.document is not None:
            current = number
        groups.setdefault(current, []).append(unit)
    return [
        Unit(
            b"".join(unit.data for unit in group),
            frozenset().union(*(unit.labels for unit in group)),
            len(group),
            sum(unit.tokens for unit in group),
        )
        for group in groups.values()
    ]
