"""Files of doccano: a line of JSON for each document, with spans in one of two forms.

    {"text": "Anna sings", "label": [[0, 4, "PER"]]}            also called "labels"
    {"text": "Anna sings", "entities": [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 4}], "relations": []}

doccano counts as a browser does, and programs that write its files often as Python does. In a text where this makes a
difference, the spans are read in the way that fits the tokens better, and written as doccano counts.
"""

from collections.abc import Iterator
from typing import Any

from sapo.corpus.annotations import CharSpan
from sapo.corpus.exchange.documents import Document, id_of
from sapo.corpus.exchange.format import (
    DocumentFormat,
    FoundSpans,
    Reading,
    char_span,
    counted_by_browser,
    from_browser,
    has_wide,
    read_objects,
    text_of,
    to_browser,
)
from sapo.corpus.jsonl import json_line
from sapo.errors import DataError

KEYS = ("label", "labels", "entities")


def read_documents(reading: Reading) -> Iterator[Document]:
    """Yield the documents of a file. `reading.label` is the key of the spans; the default is the one that is there."""
    for line, place, record in read_objects(reading.path):
        key = _key(record) if reading.label is None else reading.label
        if reading.labeled and not isinstance(record.get(key), list):
            raise DataError(f"{place}: has no list '{key}' of spans; known here: {', '.join(record)}")
        text = text_of(record, "text", place)
        spans = tuple(_span(value, place) for value in record.get(key, ())) if reading.labeled else ()
        if counted_by_browser(text, spans):
            spans = tuple(from_browser(text, spans))
        others = tuple(name for name in record if name not in ("text", key, "id"))
        yield Document(place, line, text, spans, source=record, other_keys=others, id=id_of(record))


def _key(record: dict[str, Any]) -> str:
    return next((key for key in KEYS if isinstance(record.get(key), list)), KEYS[0])


def _span(value: object, place: str) -> CharSpan:
    if isinstance(value, dict):
        values: object = (value.get("start_offset"), value.get("end_offset"), value.get("label"))
    else:
        values = tuple(value) if isinstance(value, list) else value
    return char_span(values, place, "[start, end, label]")


def write_document(document: Document, found: FoundSpans) -> str:
    """Return a document with these spans; all other keys stay."""
    named = {} if document.id is None else {"id": document.id}
    record = dict(document.source or {**named, "text": document.text})
    key = _key(record)
    shares = found.probabilities
    spans = to_browser(document.text, found.spans) if has_wide(document.text) else found.spans
    if key == "entities":
        record[key] = [
            {"id": number, "label": span.type, "start_offset": span.start, "end_offset": span.end}
            for number, span in enumerate(spans, 1)
        ]
        if "relations" in record and not found.gold:
            record["relations"] = []  # between entities that are no more
    else:
        record[key] = [[span.start, span.end, span.type] for span in spans]
    if shares is not None:
        record["probabilities"] = [round(share, 6) for share in shares]
    return json_line(record)


FORMAT = DocumentFormat("doccano", read_documents, write_document)
