"""Exports of Label Studio: an array of tasks, as JSON or as the shorter JSON-MIN.

    [{"data": {"text": "Anna sings"}, "annotations": [{"result": [{"from_name": "label", "to_name": "text",
      "type": "labels", "value": {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}}]}]}]
    [{"text": "Anna sings", "label": [{"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}]}]

Tasks are written as JSON, with annotations by people or predictions of a model, which people can correct there.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sapo.corpus.annotations import CharSpan
from sapo.corpus.exchange.documents import ID_KEYS, Document, id_of
from sapo.corpus.exchange.format import (
    DocumentFormat,
    FoundSpans,
    Reading,
    char_span,
    from_browser,
    has_wide,
    read_array,
    text_of,
)
from sapo.corpus.files import LineSink, write_file
from sapo.corpus.jsonl import json_line
from sapo.errors import DataError

MODEL = "sapo"


def read_documents(reading: Reading) -> Iterator[Document]:
    """Yield the tasks of an export; with labels, only those that have annotations.

    `reading.label` is the name of the labels (`from_name`), if a task has several kinds.
    """
    for line, place, task in read_array(reading.path):
        data = task.get("data", task)
        if not isinstance(data, dict):
            raise DataError(f"{place}: 'data' must be an object, found {data!r:.60}")
        values = _values(task, place) if "data" in task else _short_values(task, reading.label, place)
        if reading.labeled and values is None:
            reading.notices.leave_out("tasks without annotations")
            continue
        text = text_of(data, _text_key(data, task), place)
        chosen = [value for value in values or () if reading.label in (None, value.get("from_name", reading.label))]
        spans = tuple(read_span(text, value, place) for value in chosen) if reading.labeled else ()
        others = tuple(key for key in task if key not in ("data", "text", "annotations", "label", "id"))
        name = id_of(data) or id_of(task)
        yield Document(place, line, text, spans, source=task, other_keys=others, id=name)


def _values(task: dict[str, Any], place: str) -> list[dict[str, Any]] | None:
    """Return the spans of the first annotation that was not canceled, or None if there is none."""
    listed = task.get("annotations", task.get("completions"))
    for annotation in listed if isinstance(listed, list) else ():
        if isinstance(annotation, dict) and not annotation.get("was_cancelled"):
            results = annotation.get("result")
            if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
                raise DataError(f"{place}: 'result' of an annotation must be a list, found {results!r:.60}")
            return [
                {**value, "from_name": result.get("from_name")}
                for result in results
                if isinstance(value := result.get("value"), dict) and label_of(value) is not None
            ]
    return None


def _short_values(task: dict[str, Any], label: str | None, place: str) -> list[dict[str, Any]]:
    """Return the spans of JSON-MIN: under the key `label`, or else the first list of spans. Without a key, none."""
    for key, listed in task.items():
        if label in (None, key) and isinstance(listed, list) and listed and isinstance(listed[0], dict):
            if not all(isinstance(value, dict) for value in listed):
                raise DataError(f"{place}: '{key}' must be a list of spans, found {listed!r:.60}")
            return [value for value in listed if label_of(value) is not None]
    return []


def _text_key(data: dict[str, Any], task: dict[str, Any]) -> str:
    """Return the key of the text: 'text', or else the only string."""
    strings = [key for key, value in data.items() if isinstance(value, str) and key not in ID_KEYS]
    if "text" in data or not strings:
        return "text"
    names = [key for key in strings if data is not task or key not in ("created_at", "updated_at", "annotator")]
    return names[0] if len(names) == 1 else "text"


def label_of(value: dict[str, Any]) -> str | None:
    """Return the label of a span, or None if this is not a labeled span."""
    labels = value.get("labels")
    return labels[0] if isinstance(labels, list) and labels and isinstance(labels[0], str) else None


def read_span(text: str, value: dict[str, Any], place: str) -> CharSpan:
    """Return a span as Python counts. Raise SapoError if a field of it is missing."""
    start, end = value.get("start"), value.get("end")
    span = char_span((start, end, label_of(value)), place, "a start, an end and labels")
    marked = value.get("text")
    if isinstance(marked, str) and not _stands(text, span, marked) and has_wide(text):
        (other,) = from_browser(text, [span])  # as versions before 1.5 counted
        if _stands(text, other, marked):
            return other
    return span


def _stands(text: str, span: CharSpan, marked: str) -> bool:
    return span.end - span.start == len(marked) and text[span.start : span.end] == marked


def write_document(document: Document, found: FoundSpans) -> str:
    """Return a task with these spans as its annotation, or as the prediction of a model."""
    source = document.source or {}
    if "data" in source:
        task = dict(source)
    else:
        data = {key: value for key, value in source.items() if isinstance(value, str | int | float)}
        named = {} if document.id is None else {"id": document.id}
        task = {"data": data if source else {**named, "text": document.text}}
    results = make_results(document.text, found.spans, found.probabilities, _names(task))
    if found.gold:
        task["annotations"] = [{"result": results}]
    else:
        prediction: dict[str, Any] = {"model_version": MODEL, "result": results}
        if found.probabilities:
            prediction["score"] = round(min(found.probabilities), 6)
        task["predictions"] = [prediction]
    return json_line(task)


def _names(task: dict[str, Any]) -> tuple[str, str]:
    """Return the names of the labels and the text in the project, as an earlier annotation has them."""
    for annotation in task.get("annotations") or ():
        for result in (annotation.get("result") if isinstance(annotation, dict) else None) or ():
            if isinstance(result, dict) and result.get("type") == "labels":
                return str(result.get("from_name", "label")), str(result.get("to_name", "text"))
    return "label", _text_key(task["data"], task)


def make_results(
    text: str, spans: Sequence[CharSpan], probabilities: Sequence[float] | None, names: tuple[str, str]
) -> list[dict[str, Any]]:
    """Return the regions of a prediction or annotation; `names` are those of the labels and of the text."""
    shares: Sequence[float | None] = probabilities or [None] * len(spans)
    results = []
    for number, (span, share) in enumerate(zip(spans, shares, strict=True), 1):
        value = {"start": span.start, "end": span.end, "text": text[span.start : span.end]}
        result: dict[str, Any] = {
            "id": f"{MODEL}-{number}",
            "from_name": names[0],
            "to_name": names[1],
            "type": "labels",
            "value": {**value, "labels": [span.type]},
        }
        if share is not None:
            result["score"] = round(share, 6)
        results.append(result)
    return results


class JsonArray(LineSink):
    """Writes lines of JSON as one array."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream, self._begun = stream, False

    def add(self, line: bytes) -> None:
        self._stream.write((b",\n" if self._begun else b"[\n") + line)
        self._begun = True

    def close(self) -> None:
        self._stream.write(b"\n]\n" if self._begun else b"[]\n")


@contextmanager
def open_output(path: str | Path) -> Iterator[Any]:
    """Open a stream that takes a line for each task, and writes all of them as one array."""
    with write_file(path) as stream:
        array = JsonArray(stream)
        yield array
        array.close()


FORMAT = DocumentFormat("Label Studio", read_documents, write_document, open_output)
