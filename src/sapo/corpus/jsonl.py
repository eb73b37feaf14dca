"""Read and write JSONL: one sentence per line, as `tokens` (and `tags`), or as `text` with character spans.

    {"tokens": ["Anna", "sings"], "pos": ["NNP", "VBZ"], "tags": ["B-PER", "O"]}
    {"text": "Anna sings", "spans": [{"start": 0, "end": 4, "label": "PER"}]}

Every other list of strings that is as long as `tokens` is a column. Tagging leaves all other keys as they are.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.annotations import (
    DEFAULT,
    Annotation,
    CharSpan,
    Placement,
    TaggedSpan,
    Taggings,
    char_spans_to_spans,
    names_of,
    spans_to_char_spans,
    top_n_mass,
)
from sapo.corpus.blocks import LABEL, Block, Origin, Sentence, block_from_sentences, check_labels
from sapo.corpus.files import check_utf8, show_path
from sapo.corpus.scanner import read_lines
from sapo.errors import DataError, OptionError, SapoError, nearest
from sapo.jit.arrays import Doubles, Longs
from sapo.tags.schemes import Notation, notation_of, prefixed
from sapo.tags.spans import Span, loose_spans, spans_to_tags
from sapo.text.splitter import Offsets, Splitter


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


def read_records(path: str | Path, label: str, labeled: bool, tokenize: Callable[[str], Offsets]) -> Iterator[Record]:
    """Yield the records of a file. `label` is the key of the tags; `tokenize` cuts text into tokens."""
    name = show_path(path)
    for number, line in json_lines(path):
        yield read_record(line, f"{name}:{number}", label, labeled, tokenize)


def read_record(line: bytes, place: str, label: str, labeled: bool, tokenize: Callable[[str], Offsets]) -> Record:
    """Return the record of a line. `place` is the file and the number of the line. Raise SapoError if it is wrong."""
    values = _parse(line, place)
    sentence = _sentence(values, label, labeled, place, tokenize)
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
        hint = "; use `format='label-studio'` for its exports" if line.lstrip().startswith(b"[") else ""
        raise DataError(f"{place}: not JSON ({error}){hint}") from None
    if not isinstance(record, dict):
        hint = "; use `format='label-studio'` for its exports" if isinstance(record, list) else ""
        raise DataError(f'{place}: expected an object such as {{"tokens": [...]}}, found {type(record).__name__}{hint}')
    return record


def _sentence(
    record: dict[str, Any], label: str, labeled: bool, place: str, tokenize: Callable[[str], Offsets]
) -> Sentence:
    features = _features(record)
    if "tokens" in record or features is not None:
        tokens = _strings(record["tokens"], "tokens", place) if "tokens" in record else None
        count = len(tokens if tokens is not None else features or ())
        if features is not None and len(features) != count:
            raise DataError(f"{place}: {count} tokens but {len(features)} features; give those of each token")
        columns = {
            key: tuple(values)
            for key, values in record.items()
            if key not in ("tokens", label, "word", "tags", LABEL)
            and isinstance(values, list)
            and len(values) == count
            and all(isinstance(value, str) for value in values)
        }
        tags = None
        if labeled:
            if label not in record:
                raise DataError(f"{place}: has no '{label}'; {_hint(label, list(record))}")
            tags = tuple(_strings(record[label], label, place))
            if len(tags) != count:
                raise DataError(f"{place}: {count} tokens but {len(tags)} {label}")
        text = record.get("text")
        return Sentence(
            columns if tokens is None else {"word": tuple(tokens), **columns},
            tags,
            text=text if isinstance(text, str) else None,
            features=features,
        )
    if not isinstance(record.get("text"), str):
        raise DataError(f"{place}: has neither 'tokens' nor 'text'; known here: {', '.join(record) or 'nothing'}")
    text = record["text"]
    offsets = tokenize(text)
    tags = None
    if labeled:
        try:
            spans = char_spans_to_spans(_char_spans(record, place), offsets)
            tags = tuple(spans_to_tags(spans, len(offsets), "iob2"))
        except SapoError as error:
            message = str(error)
            raise DataError(message if message.startswith(place) else f"{place}: {message}") from None
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
    return f"did you mean `label='{close}'`?" if close else f"known here: {', '.join(keys)}; name the key with `label`"


def _strings(value: object, key: str, place: str) -> list[str]:
    if not isinstance(value, list):
        raise DataError(f"{place}: '{key}' must be a list of strings, found {value!r:.60}")
    for item in value:
        if not isinstance(item, str):
            hint = "; use `format='prodigy'` for its files" if isinstance(item, dict) and "start" in item else ""
            raise DataError(f"{place}: '{key}' must be a list of strings, found {item!r:.60} in it{hint}")
    return value


def _char_spans(record: dict[str, Any], place: str) -> list[CharSpan]:
    """Return the spans under 'spans' or 'entities', written as objects or as [start, end, label]."""
    spans = record.get("spans", record.get("entities"))
    if not isinstance(spans, list):
        doccano = any(isinstance(record.get(key), list) for key in ("label", "labels"))
        hint = "; use `format='doccano'` for its exports" if doccano else ""
        raise DataError(f"{place}: has no list 'spans'; known here: {', '.join(record)}{hint}")
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
                hint = "; use `format='doccano'` for its exports" if "start_offset" in str(span) else ""
                raise DataError(f'{place}: a span must have "start", "end" and "label", found {span!r:.80}{hint}')
    return found


SENTENCES = 500  # in a block
LEAST = 0.001  # marginals below it are left out


@dataclass(frozen=True, slots=True)
class JsonlOrigin(Origin):
    """The origin of a block of JSONL, where a sentence is a line."""

    records: tuple[Record, ...]

    def first_lines(self) -> Longs:
        return np.array([record.line for record in self.records], np.int64)

    def texts(self) -> Sequence[str | None]:
        return [record.sentence.text for record in self.records]

    def sentences(self, block: Block) -> Iterator[Sentence]:
        return (record.sentence for record in self.records)

    def other_keys(self, label: str) -> Sequence[str]:
        return list(dict.fromkeys(key for record in self.records for key in record.other_keys(label)))


def read_blocks(
    path: str | Path,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    labeled: bool = True,
    splitter: Splitter | None = None,
) -> Iterator[Block]:
    """Read a JSONL file in blocks.

    `label` is the key of the tags, `tags` by default. `columns` must be None: the keys of the file name its columns.
    `splitter` cuts text into tokens; a line is one sentence.
    """
    name = show_path(path)
    if columns is not None:
        raise OptionError(f"{name}: the columns of JSONL have their names; leave the names of columns out")
    batch: list[Record] = []
    known: tuple[str, ...] = ()  # the columns of the first block
    for record in read_records(path, label or "tags", labeled, (splitter or Splitter()).tokens):
        batch.append(record)
        if len(batch) == SENTENCES:
            block = _block(batch, name, known)
            known = known or block.columns
            yield block
            batch = []
    if batch:
        yield _block(batch, name, known)


def _block(batch: Sequence[Record], name: str, known: Sequence[str] = ()) -> Block:
    ready = _have_features(batch, name)
    kept = _columns(batch, name, known)
    sentences = [record.sentence for record in batch]
    return block_from_sentences(
        (
            Sentence(
                {key: sentence.columns.get(key, ()) for key in kept},
                sentence.tags,
                features=sentence.features if ready else None,
            )
            for sentence in sentences
        ),
        name,
        JsonlOrigin(tuple(batch)),
    )


def _columns(batch: Sequence[Record], name: str, known: Sequence[str]) -> list[str]:
    """Return the columns that all sentences have. A list that is as long as the tokens only now and then is not one.

    Raise SapoError if a column has a hole: a list that the blocks before have, or half of these sentences but not all.
    """
    full = [(record.line, record.sentence.columns) for record in batch if len(record.sentence)]
    counts = Counter(key for _, columns in full for key in columns)
    for key in dict.fromkeys([*(key for key in known if key != LABEL), *counts]):
        if counts[key] < len(full) and (key in known or 2 * counts[key] >= len(full)):
            line = next(line for line, columns in full if key not in columns)
            raise DataError(
                f"{name}:{line}: has no '{key}' for each token, which other lines have; "
                "write such a list on every line, or on none"
            )
    found = [key for key in counts if counts[key] == len(full)]
    return found or ([] if any(record.sentence.features is not None for record in batch) else ["word"])


def _have_features(batch: Sequence[Record], name: str) -> bool:
    """Return whether the sentences have ready-made features; raise SapoError if some have and some have not."""
    without = [record.line for record in batch if record.sentence.features is None and len(record.sentence)]
    if not without:
        return any(record.sentence.features is not None for record in batch)
    if len(without) < len(batch) and any(record.sentence.features is not None for record in batch):
        raise DataError(f"{name}:{without[0]}: has no list 'features' of each token, which other lines have")
    return False


def write(block: Block, added: Annotation) -> Iterator[bytes]:
    """Yield each record as it was read, with `tags`, and with `spans` if it came as text.

    Probabilities go into `marginals`, `token_spans` or `nbest`. A conversion gives the key of the tags, and all other
    keys stay.
    """
    records, notation = block.origin_as(JsonlOrigin).records, notation_of(added.labels)
    if added.taggings is not None:
        for record, ranked in zip(records, added.taggings, strict=True):
            yield json_line(_with_nbest(record, ranked, added.labels, notation)).encode()
        return
    names, offsets = added.names(), block.offsets.tolist()
    for number, (record, (begin, end)) in enumerate(zip(records, itertools.pairwise(offsets), strict=True)):
        tags = names[begin:end]
        if added.placement is not None:
            result = _converted(record, None if added.tags is None else tags, added.placement)
        else:
            result = with_tags(record, tags, notation)
        if added.marginals is not None:
            result["marginals"] = [_probable(row, added.labels) for row in added.marginals[begin:end]]
        if added.spans is not None:
            spans = added.spans[number]
            result["token_spans"] = [_span_object(span, span.probability) for span in spans]
            if record.sentence.offsets is not None:
                result["spans"] = _spans_of_text(spans, record.sentence.offsets)
        yield json_line(result).encode()


def _with_nbest(record: Record, ranked: Taggings, labels: Sequence[str], notation: Notation) -> dict[str, Any]:
    """Return a record with its best tagging, and with all taggings and their probabilities under `nbest`."""
    names = [names_of(tagging.tags, labels) for tagging in ranked]
    entries = [
        {
            "tags": tags,
            "probability": round(tagging.probability, 6),
            "p_k": round(tagging.p_k, 6),
        }
        for tags, tagging in zip(names, ranked, strict=True)
    ]
    result = with_tags(record, names[0] if names else [], notation)
    for key in ("nbest", "top_n_mass"):  # those of the file, which may stand elsewhere
        result.pop(key, None)
    return {**result, "nbest": entries, "top_n_mass": round(top_n_mass(ranked), 6)}


def _probable(row: Doubles, labels: Sequence[str]) -> dict[str, float]:
    """Return the probable labels of a token with their probabilities, best first."""
    return {labels[y]: round(float(row[y]), 6) for y in np.argsort(-row, kind="stable").tolist() if row[y] > LEAST}


def _spans_of_text(spans: Sequence[TaggedSpan], offsets: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    plain = [Span(span.start, span.end, span.type) for span in spans]
    pairs = zip(spans_to_char_spans(plain, offsets), spans, strict=True)
    return [_span_object(chars, span.probability) for chars, span in pairs]


def _span_object(span: CharSpan | TaggedSpan, probability: float) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "label": span.type, "probability": round(probability, 6)}


def _converted(record: Record, tags: Sequence[str] | None, placement: Placement) -> dict[str, Any]:
    """Return a record with these tags under the key of a conversion, or as running text with spans.

    Records of text get their tokens too, without which tags have no meaning.
    """
    sentence, new = record.sentence, dict(record.values)
    placed = {} if tags is None else {"tags" if sentence.offsets else placement.key: list(tags)}
    if placement.text and sentence.offsets is None:
        for key in ("tokens", *placed):
            new.pop(key, None)
        tagged = replace(sentence, tags=None if tags is None else tuple(tags))
        new.update(json.loads(write_sentence(tagged, placement)))
        return new
    if placement.text:
        return new
    return new | ({"tokens": list(sentence.words), **placed} if sentence.columns else placed)


def json_line(record: dict[str, Any]) -> str:
    """Return a record as a line, in UTF-8; only half a surrogate pair is written with JSON's escapes."""
    line = json.dumps(record, ensure_ascii=False)
    if re.search("[\ud800-\udfff]", line):
        line = json.dumps(record)
    return line + "\n"


def with_tags(record: Record, tags: Sequence[str], notation: Notation) -> dict[str, Any]:
    """Return the values of a record with `tags`; with `tokens` and `spans` too where it came as text."""
    sentence = record.sentence
    result: dict[str, Any] = {**record.values, "tags": list(tags)}
    if sentence.offsets is not None:
        result["tokens"] = list(sentence.words)
        names = [prefixed(tag, notation) for tag in tags]
        if all(tag == "O" or tag[1:2] == "-" for tag in names):
            result["spans"] = _spans_as_json(names, sentence.offsets)
    return result


def _spans_as_json(tags: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    spans = spans_to_char_spans(loose_spans(tags), offsets)
    return [{"start": span.start, "end": span.end, "label": span.type} for span in spans]


def write_sentence(sentence: Sentence, placement: Placement = DEFAULT) -> str:
    r"""Return a sentence as tokens and tags, or as running text and character spans if the placement says so.

    >>> write_sentence(Sentence({"word": ("Anna", "sings")}, ("B-PER", "O")), Placement(text=True))
    '{"text": "Anna sings", "spans": [{"start": 0, "end": 4, "label": "PER"}]}\n'
    """
    if not placement.text:
        record: dict[str, Any] = {"tokens": list(sentence.words)} if sentence.columns else {}
        if sentence.features is not None:
            record["features"] = list(sentence.features)
        record.update((name, list(values)) for name, values in sentence.columns.items() if name != "word")
        if sentence.tags is not None:
            record["tags"] = list(sentence.tags)
        return json_line(record)
    running, offsets = sentence.text, sentence.offsets
    if running is None or offsets is None:
        running, offsets = joined(sentence.words)
    record = {"text": running}
    if sentence.tags is not None:
        strange = [tag for tag in sentence.tags if tag != "O" and tag[1:2] != "-"]
        if strange:
            raise OptionError(f"'{strange[0]}' is not a span tag such as O or B-PER; leave `text` out")
        record["spans"] = _spans_as_json(sentence.tags, offsets)
    return json_line(record)


def joined(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return words joined by blanks, with the start and end of each.

    >>> joined(["New", "York"])
    ('New York', ((0, 3), (4, 8)))
    """
    offsets = []
    at = 0
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    return " ".join(words), tuple(offsets)
