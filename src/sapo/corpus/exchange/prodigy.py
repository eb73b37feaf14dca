"""Files of Prodigy: a line of JSON for each task, with tokens, spans, and the answer of the annotator.

{"text": "Anna sings", "tokens": [{"text": "Anna", "start": 0, "end": 4, "id": 0}, ...],
 "spans": [{"start": 0, "end": 4, "token_start": 0, "token_end": 0, "label": "PER"}], "answer": "accept"}
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from sapo.corpus.exchange.documents import Document, id_of
from sapo.corpus.exchange.format import DocumentFormat, FoundSpans, Reading, char_span, read_objects, text_of
from sapo.corpus.jsonl import json_line
from sapo.errors import DataError, OptionError

ANSWERS = ("accept", "reject", "ignore")


def read_documents(reading: Reading) -> Iterator[Document]:
    """Yield the tasks of a file; with labels, only those that were accepted."""
    if reading.label is not None:
        raise OptionError(f"{reading.notices.name}: the labels of Prodigy are in 'spans'; leave `label` out")
    for line, place, record in read_objects(reading.path):
        text = text_of(record, "text", place)
        answer = record.get("answer", "accept")
        if answer not in ANSWERS:
            raise DataError(f"{place}: the answer is {answer!r:.20}; it must be {', '.join(ANSWERS)}")
        if reading.labeled and answer != "accept":
            reading.notices.leave_out(f"tasks with the answer '{answer}'")
            continue
        spans = []
        if reading.labeled:
            listed = record.get("spans") or []
            if not isinstance(listed, list) or not all(isinstance(span, dict) for span in listed):
                raise DataError(f"{place}: 'spans' must be a list of objects, found {listed!r:.60}")
            spans = [
                char_span((span.get("start"), span.get("end"), span.get("label")), place, "start, end and label")
                for span in listed
            ]
        others = tuple(key for key in record if key not in ("text", "tokens", "spans", "answer"))
        tokens = _tokens(record, len(text), place)
        meta = record.get("meta")
        name = id_of(record) or id_of(meta if isinstance(meta, dict) else {})
        yield Document(place, line, text, tuple(spans), tokens, source=record, other_keys=others, id=name)


def _tokens(record: dict[str, Any], size: int, place: str) -> list[tuple[int, int]] | None:
    listed = record.get("tokens")
    if listed is None:
        return None
    found: list[tuple[int, int]] = []
    last = 0
    for token in listed if isinstance(listed, list) else [listed]:
        match token:
            case {"start": int(start), "end": int(end)} if last <= start <= end <= size:
                if record["text"][start:end].strip():  # a token may be a line break
                    found.append((start, end))
                last = end
            case _:
                raise DataError(
                    f"{place}: a token must have start and end inside the text, in order, found {token!r:.60}"
                )
    return found


def write_document(document: Document, found: FoundSpans) -> str:
    """Return a task with these spans. That of a model has no answer: it is yet to be given."""
    record = {key: value for key, value in (document.source or {}).items() if key not in ("answer", "_task_hash")}
    record["text"] = document.text
    if document.source is None and document.id is not None:
        record["meta"] = {"id": document.id}
    kept = record.get("tokens")
    offsets = [(token["start"], token["end"]) for token in kept] if isinstance(kept, list) else []
    if not set(found.tokens) <= set(offsets):  # none so far, or a span has split one
        offsets = list(found.tokens)
        record["tokens"] = [_token(document.text, offsets, number) for number in range(len(offsets))]
    starts, ends = [start for start, _ in offsets], [end for _, end in offsets]
    record["spans"] = [
        {
            "start": span.start,
            "end": span.end,
            "token_start": bisect_left(starts, span.start),
            "token_end": bisect_right(ends, span.end) - 1,
            "label": span.type,
        }
        for span in found.spans
    ]
    for span, share in zip(record["spans"], found.probabilities or (), strict=False):
        span["score"] = round(share, 6)
    if found.gold:
        record["answer"] = "accept"
    return json_line(record)


def _token(text: str, offsets: Sequence[tuple[int, int]], number: int) -> dict[str, Any]:
    start, end = offsets[number]
    return {"text": text[start:end], "start": start, "end": end, "id": number, "ws": text[end : end + 1] == " "}


FORMAT = DocumentFormat("Prodigy", read_documents, write_document)
