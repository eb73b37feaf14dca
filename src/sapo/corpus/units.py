"""A labelled file in, its sentences or documents out as bytes, with the labels that occur in each."""

import re
from collections import Counter
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
from sapo.text import Splitter

DOCUMENT_KEYS = ("document", "document_id", "doc", "doc_id")  # of JSONL
SENTENCE_NAME = re.compile(rb"^#\s*sent_id\s*=\s*(\S+?)[-_.:]s?\d+\s*$", re.MULTILINE)  # of CoNLL-U, without its number
DOCUMENT_START = re.compile(rb"^(?:-DOCSTART-(?:\s|$)|#\s*newdoc\b)", re.MULTILINE)


@dataclass(slots=True)
class Unit:
    """A sentence, or all sentences of a document."""

    data: bytes  # with an empty line at the end, where the format has one
    labels: Counter[str]  # how many tokens have each
    sentences: int
    tokens: int
    starts: bool = False  # whether a document begins here
    document: str | None = None  # the name of its document, if it is known


def read_units(
    path: str | Path, *, documents: bool = False, format: str | None = None, label: str | None = None
) -> list[Unit]:
    """Return the sentences of a labelled file, or its documents.

    A document begins with -DOCSTART- in a column file and with `# newdoc` in CoNLL-U, where without it the document is
    what `sent_id` has before its number; in JSONL its name is under 'document', 'doc' or 'doc_id'. Of span labels the
    types count as labels. Raises SapoError if the file cannot be read, or has no documents.
    """
    found = format_of(path, format)
    if found not in ("columns", "conllu", "jsonl"):
        raise SapoError(f"{path}: only columns, conllu and jsonl can be split, not {found}; convert it first")
    units = list(_records(path, label) if found == "jsonl" else _sentences(path, found, label))
    if not units:
        raise SapoError(f"{show_path(path)}: has no sentences")
    labels = set().union(*(unit.labels for unit in units))
    if looks_like_spans(labels):
        for unit in units:
            unit.labels = _by_type(unit.labels)
    return _documents(units, show_path(path)) if documents else units


def _by_type(labels: Counter[str]) -> Counter[str]:
    types: Counter[str] = Counter()
    for label, count in labels.items():
        types[type_of(label)] += count
    del types[""]  # O
    return types


def _sentences(path: str | Path, format: str, label: str | None) -> Iterator[Unit]:
    for block in read_blocks(path, format=format, label=label):
        scanned, tags = block.origin_as(ScannedOrigin).scanned, block.strings(LABEL)
        whole = scanned.data.tobytes()
        for (begin, end), (first, last) in zip(
            sentence_regions(scanned), pairwise(block.offsets.tolist()), strict=True
        ):
            data = whole[begin:end].rstrip(b"\r\n")
            before = data[: int(scanned.line_starts[first]) - begin]
            starts, named = DOCUMENT_START.search(before) is not None, SENTENCE_NAME.search(before)
            document = named[1].decode() if named else None
            yield Unit(data + b"\n\n", Counter(tags[first:last]), 1, last - first, starts, document)


def _records(path: str | Path, label: str | None) -> Iterator[Unit]:
    name = show_path(path)
    tokens_of = Splitter().tokens
    for number, line in json_lines(path):
        record = read_record(line, f"{name}:{number}", label or "tags", True, tokens_of)
        document = next((str(record.values[key]) for key in DOCUMENT_KEYS if key in record.values), None)
        labels = Counter(record.sentence.tags or ())
        yield Unit(line.rstrip(b"\r\n") + b"\n", labels, 1, len(record.sentence), document=document)


def _documents(units: list[Unit], name: str) -> list[Unit]:
    """Join the sentences of each document: up to the next start, or, without starts, those of the same name."""
    by_start = any(unit.starts for unit in units)
    groups: dict[object, list[Unit]] = {}
    current: object = None
    for number, unit in enumerate(units):
        if not by_start:
            current = unit.document
        elif unit.starts:
            current = number
        groups.setdefault(current, []).append(unit)
    if len(groups) < 2:
        raise SapoError(
            f"{name}: has no documents (-DOCSTART- in columns, # newdoc or sent_id in CoNLL-U, 'document' in JSONL); "
            "split it by sentence"
        )
    return [
        Unit(
            b"".join(unit.data for unit in group),
            sum((unit.labels for unit in group), Counter[str]()),
            len(group),
            sum(unit.tokens for unit in group),
        )
        for group in groups.values()
    ]
