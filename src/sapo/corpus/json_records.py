"""Lines of JSON in, records out: all that a line holds, and the sentence that was read from it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapo.corpus.blocks import LABEL, Sentence
from sapo.corpus.char_spans import CharSpan, char_spans_to_spans
from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.corpus.scanner import BOM
from sapo.corpus.tokens import check_labels
from sapo.errors import SapoError
from sapo.tags import spans_to_tags
from sapo.text import Offsets

LONGEST_LINE = 1 << 26


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a file: all that it holds, and the sentence that was read from it."""

    line: int
    values: dict[str, Any]
    sentence: Sentence

    def other_keys(self, label: str) -> Iterator[str]:
        """Return the keys that are not part of the sentence."""
        known = {"tokens", *self.sentence.columns, label}
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
    name = show_path(path)
    pieces: list[bytes] = []  # of a line that has not ended; joined once, since each join copies all of it
    size = number = 0
    for chunk in read_chunks(path):
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*pieces, lines[0]])
            pieces, size = [], 0
        for line in lines:
            number += 1
            yield from _line(line, number)
        pieces.append(rest)
        size += len(rest)
        if size > LONGEST_LINE:
            raise SapoError(f"{name}:{number + 1}: line longer than {LONGEST_LINE >> 20} MB; write one sentence a line")
    yield from _line(b"".join(pieces), number + 1)


def _line(line: bytes, number: int) -> Iterator[tuple[int, bytes]]:
    if number == 1:
        line = line.removeprefix(BOM)
    if line.strip():
        yield number, line


def _parse(line: bytes, place: str) -> dict[str, Any]:
    name, _, number = place.rpartition(":")
    check_utf8(line, name, int(number))
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SapoError(f"{place}: not JSON ({error})") from None
    if not isinstance(record, dict):
        raise SapoError(f'{place}: expected an object such as {{"tokens": [...]}}, found {type(record).__name__}')
    return record


def _sentence(
    record: dict[str, Any], label: str, labelled: bool, place: str, tokenise: Callable[[str], Offsets]
) -> Sentence:
    if "tokens" in record:
        tokens = _strings(record["tokens"], "tokens", place)
        columns = {
            key: tuple(values)
            for key, values in record.items()
            if key not in ("tokens", label, "word", "tags", LABEL)
            and isinstance(values, list)
            and len(values) == len(tokens)
            and all(isinstance(value, str) for value in values)
        }
        tags = None
        if labelled:
            if label not in record:
                raise SapoError(f"{place}: has no '{label}'; known here: {', '.join(record)}")
            tags = tuple(_strings(record[label], label, place))
            if len(tags) != len(tokens):
                raise SapoError(f"{place}: {len(tokens)} tokens but {len(tags)} {label}")
        text = record.get("text")
        return Sentence({"word": tuple(tokens), **columns}, tags, text=text if isinstance(text, str) else None)
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


def _strings(value: object, key: str, place: str) -> list[str]:
    if not isinstance(value, list):
        raise SapoError(f"{place}: '{key}' must be a list of strings, found {value!r:.60}")
    for item in value:
        if not isinstance(item, str):
            raise SapoError(f"{place}: '{key}' must be a list of strings, found {item!r:.60} in it")
    return value


def _char_spans(record: dict[str, Any], place: str) -> list[CharSpan]:
    """Return the spans under 'spans' or 'entities', written as objects or as [start, end, label]."""
    spans = record.get("spans", record.get("entities"))
    if not isinstance(spans, list):
        raise SapoError(f"{place}: has no list 'spans'; known here: {', '.join(record)}")
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
                raise SapoError(f'{place}: a span must have "start", "end" and "label", found {span!r:.80}')
    return found
