"""Lines of JSON in, records out: all that a line holds, and the sentence that was read from it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapo.corpus.blocks import LABEL, Sentence
from sapo.corpus.char_spans import CharSpan, char_spans_to_spans
from sapo.corpus.files import check_utf8, show_path
from sapo.corpus.lines import read_lines
from sapo.corpus.tokens import check_labels
from sapo.errors import SapoError, nearest
from sapo.tags import spans_to_tags
from sapo.text import Offsets


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a file: all that it holds, and the sentence that was read from it."""

    line: int
    values: dict[str, Any]
    sentence: Sentence

    def other_keys(self, label: str) -> Iterator[str]:
        """Return the keys that are not part of the sentence."""
        known = {"tokens", *self.sentence.columns, label}
        if self.sentence.features is not None:
            known.add("features")
        if self.sentence.offsets is not None:
            known |= {"spans", "entities"}  # as tags
        return (key for key in self.values if key not in known)


def read_records(path: str | Path, label: str, labelled: bool, tokenise: Callable[[str], Offsets]) -> Iterator[Record]:
    """Yield the records of a file. `label` is the key of the tags; `tokenise` cuts text into tokens."""
    name = show_path(path)
    for number, line in json_lines(path):
        yield read_record(line, f"{name}:{number}", label, labelled, tokenise)


def read_record(line: bytes, place: str, label: str, labelled: bool, tokenise: Callable[[str], Offsets]) -> Record:
    """Return the record of a line. `place` is the file and the number of the line. Raise SapoError if it is wrong."""
    values = _parse(line, place)
    sentence = _sentence(values, label, labelled, place, tokenise)
    check_labels(sentence.tags or (), place)
    return Record(int(place.rpartition(":")[2]), values, sentence)


def json_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not empty, with their numbers."""
    return ((number, line) for number, line in read_lines(path) if line.strip())


def _parse(line: bytes, place: str) -> dict[str, Any]:
    name, _, number = place.rpartition(":")
    check_utf8(line, name, int(number))
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = "; use --format label-studio for its exports" if line.lstrip().startswith(b"[") else ""
        raise SapoError(f"{place}: not JSON ({error}){hint}") from None
    if not isinstance(record, dict):
        hint = "; use --format label-studio for its exports" if isinstance(record, list) else ""
        raise SapoError(f'{place}: expected an object such as {{"tokens": [...]}}, found {type(record).__name__}{hint}')
    return record


def _sentence(
    record: dict[str, Any], label: str, labelled: bool, place: str, tokenise: Callable[[str], Offsets]
) -> Sentence:
    features = _features(record)
    if "tokens" in record or features is not None:
        tokens = _strings(record["tokens"], "tokens", place) if "tokens" in record else None
        count = len(tokens if tokens is not None else features or ())
        if features is not None and len(features) != count:
            raise SapoError(f"{place}: {count} tokens but {len(features)} features; give those of each token")
        columns = {
            key: tuple(values)
            for key, values in record.items()
            if key not in ("tokens", label, "word", "tags", LABEL)
            and isinstance(values, list)
            and len(values) == count
            and all(isinstance(value, str) for value in values)
        }
        tags = None
        if labelled:
            if label not in record:
                raise SapoError(f"{place}: has no '{label}'; {_hint(label, list(record))}")
            tags = tuple(_strings(record[label], label, place))
            if len(tags) != count:
                raise SapoError(f"{place}: {count} tokens but {len(tags)} {label}")
        text = record.get("text")
        return Sentence(
            columns if tokens is None else {"word": tuple(tokens), **columns},
            tags,
            text=text if isinstance(text, str) else None,
            features=features,
        )
    if not isinstance(record.get("text"), str):
        raise SapoError(f"{place}: has neither 'tokens' nor 'text'; known here: {', '.join(record) or 'nothing'}")
    text = record["text"]
    offsets = tokenise(text)
    tags = None
    if labelled:
        try:
            spans = char_spans_to_spans(_char_spans(record, place), offsets)
            tags = tuple(spans_to_tags(spans, len(offsets), "iob2"))
        except SapoError as error:
            message = str(error)
            raise SapoError(message if message.startswith(place) else f"{place}: {message}") from None
    return Sentence({"word": tuple(text[a:b] for a, b in offsets)}, tags, text=text, offsets=tuple(offsets))


def _features(record: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return the ready-made features of each token, which are lists or objects; a list of strings is a column."""
    found = record.get("features")
    if isinstance(found, list) and (found or "tokens" not in record):
        if all(isinstance(token, list | dict) for token in found):
            return tuple(found)
    return None


def _hint(label: str, keys: list[str]) -> str:
    """Return the way out if a key of labels is missing."""
    close = nearest(label, keys)
    return f"did you mean --label {close}?" if close else f"known here: {', '.join(keys)}; name the key with --label"


def _strings(value: object, key: str, place: str) -> list[str]:
    if not isinstance(value, list):
        raise SapoError(f"{place}: '{key}' must be a list of strings, found {value!r:.60}")
    for item in value:
        if not isinstance(item, str):
            hint = "; use --format prodigy for its files" if isinstance(item, dict) and "start" in item else ""
            raise SapoError(f"{place}: '{key}' must be a list of strings, found {item!r:.60} in it{hint}")
    return value


def _char_spans(record: dict[str, Any], place: str) -> list[CharSpan]:
    """Return the spans under 'spans' or 'entities', written as objects or as [start, end, label]."""
    spans = record.get("spans", record.get("entities"))
    if not isinstance(spans, list):
        doccano = any(isinstance(record.get(key), list) for key in ("label", "labels"))
        hint = "; use --format doccano for its exports" if doccano else ""
        raise SapoError(f"{place}: has no list 'spans'; known here: {', '.join(record)}{hint}")
    found = []
    for span in spans:
        if isinstance(span, dict):
            values = [span.get("start"), span.get("end"), span.get("label", span.get("type"))]
        else:
            values = list(span) if isinstance(span, list) else []
        match values:
            case [int(start), int(end), str(kind)]:
                found.append(CharSpan(start, end, kind))
            case _:
                hint = "; use --format doccano for its exports" if "start_offset" in str(span) else ""
                raise SapoError(f'{place}: a span must have "start", "end" and "label", found {span!r:.80}{hint}')
    return found
