"""Read and write JSONL: a sentence per line, as `tokens` (and `tags`), or a document, as `text` with character spans.

    {"tokens": ["Anna", "sings"], "pos": ["NNP", "VBZ"], "tags": ["B-PER", "O"]}
    {"id": "T-7", "text": "Anna sings. She smiles.", "spans": [{"start": 0, "end": 4, "label": "PER"}]}

Every other list of strings that is as long as `tokens` is a column. A text is cut into sentences, and written as one
line again. Tagging leaves all other keys as they are. CSV, JSON arrays and Parquet are read into the same records.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.annotations import (
    DEFAULT,
    Annotation,
    CharSpan,
    Placement,
    RankedTagging,
    TaggedSpan,
    Taggings,
    names_of,
    spans_to_char_spans,
    top_n_mass,
)
from sapo.corpus.blocks import LABEL, Block, Origin, Sentence, block_from_sentences, check_labels
from sapo.corpus.exchange.documents import ID_KEYS, Cut, Document, Notices, cut_document, id_of, read_spans
from sapo.corpus.files import check_utf8, show_path
from sapo.corpus.scanner import read_lines
from sapo.errors import DataError, OptionError, nearest
from sapo.jit.arrays import Bools, Doubles, Longs
from sapo.tags.schemes import Notation, looks_like_spans, notation_of, prefixed
from sapo.tags.spans import Span, loose_spans
from sapo.text.splitter import Offsets, Splitter


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a file: all that it holds, and its sentences, which are one unless it is a text."""

    line: int
    values: dict[str, Any]
    sentences: tuple[Sentence, ...]
    cut: Cut | None = None  # of a text

    @property
    def offsets(self) -> Offsets | None:
        """The start and end of each token in the text of the record; None if it has tokens and no text."""
        if self.cut is not None:
            return self.cut.tokens()
        known = self.sentences[0].offsets if self.sentences else None
        return None if known is None else list(known)

    def words(self) -> list[str]:
        """Return all tokens."""
        return [word for sentence in self.sentences for word in sentence.words]

    def other_keys(self, label: str) -> Iterator[str]:
        """Return the keys that are not part of the sentences."""
        known = {"tokens", label}.union(*(sentence.columns for sentence in self.sentences))
        if any(sentence.features is not None for sentence in self.sentences):
            known.add("features")
        if self.cut is not None:
            return iter(self.cut.document.other_keys)
        if id_of(self.values) is not None:
            known.add(next(key for key in ID_KEYS if key in self.values))
        return (key for key in self.values if key not in known)


@dataclass(frozen=True, slots=True)
class RecordReading:
    """How the lines of a file are read."""

    label: str = "tags"  # the key of the tags
    labeled: bool = True
    splitter: Splitter = field(default_factory=Splitter)  # cuts text
    notices: Notices = field(default_factory=lambda: Notices("input"))


def read_records(path: str | Path, how: RecordReading) -> Iterator[Record]:
    """Yield the records of a file."""
    name = show_path(path)
    for number, line in json_lines(path):
        yield read_record(line, f"{name}:{number}", how)


def read_record(line: bytes, place: str, how: RecordReading) -> Record:
    """Return the record of a line. `place` is the file and the number of the line. Raise SapoError if it is wrong."""
    return record_of(_parse(line, place), int(place.rpartition(":")[2]), place, how)


def record_of(values: dict[str, Any], number: int, place: str, how: RecordReading) -> Record:
    """Return the record of an object of JSON, which begins in this line. Raise SapoError if it is wrong."""
    if "tokens" in values or _features(values) is not None:
        sentence = _sentence(values, how.label, how.labeled, place)
        check_labels(sentence.tags or (), place)
        return Record(number, values, (sentence,))
    return document_record(_document(values, how.labeled, number, place), how)


def document_record(document: Document, how: RecordReading) -> Record:
    """Return a document, whose source is a dictionary, as a record with its sentences."""
    cut = cut_document(document, how.labeled, how.notices, how.splitter)
    return Record(document.line, document.source, cut.sentences, cut)


def json_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not empty, with their numbers."""
    return ((number, line) for number, line in read_lines(path) if line.strip())


ARRAY = "; use `format='json'` for an array, or `format='label-studio'` for exports of Label Studio"


def _parse(line: bytes, place: str) -> dict[str, Any]:
    name, _, number = place.rpartition(":")
    check_utf8(line, name, int(number))
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        hint = ARRAY if line.lstrip().startswith(b"[") else ""
        raise DataError(f"{place}: not JSON ({error}){hint}") from None
    if not isinstance(record, dict):
        hint = ARRAY if isinstance(record, list) else ""
        raise DataError(f'{place}: expected an object such as {{"tokens": [...]}}, found {type(record).__name__}{hint}')
    return record


def _sentence(record: dict[str, Any], label: str, labeled: bool, place: str) -> Sentence:
    features = _features(record)
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
        document=id_of(record),
    )


def _document(record: dict[str, Any], labeled: bool, line: int, place: str) -> Document:
    text = record.get("text")
    if not isinstance(text, str):
        raise DataError(f"{place}: has neither 'tokens' nor 'text'; known here: {', '.join(record) or 'nothing'}")
    key = "spans" if "spans" in record else "entities"
    if labeled and not isinstance(record.get(key), list | str):
        doccano = any(isinstance(record.get(key), list) for key in ("label", "labels"))
        hint = "; use `format='doccano'` for its exports" if doccano else ""
        raise DataError(f"{place}: has no list 'spans'; known here: {', '.join(record)}{hint}")
    spans = read_spans(record[key], place) if labeled else ()
    known = {"text", "tokens", "tags", "spans", "entities", next((key for key in ID_KEYS if key in record), "id")}
    others = tuple(name for name in record if name not in known)
    return Document(place, line, text, spans, source=record, other_keys=others, id=id_of(record))


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


SENTENCES = 500  # in a block
LEAST = 0.001  # marginals below it are left out


DOCUMENT_KEYS = ("document", "document_id", "doc", "doc_id", "file")  # an 'id' may be that of a sentence


def _document_name(record: Record) -> object:
    return next((record.values[key] for key in DOCUMENT_KEYS if key in record.values), None)


@dataclass(frozen=True, slots=True)
class JsonlOrigin(Origin):
    """The origin of a block of records."""

    records: tuple[Record, ...]

    def first_lines(self) -> Longs:
        return np.array([record.line for record in self.records for _ in record.sentences], np.int64)

    def texts(self) -> Sequence[str | None]:
        return [sentence.text for record in self.records for sentence in record.sentences]

    def sentences(self, block: Block) -> Iterator[Sentence]:
        return (sentence for record in self.records for sentence in record.sentences)

    def document_starts(self, before: Origin | None) -> Bools | None:
        last = before.records[-1] if isinstance(before, JsonlOrigin) and before.records else None
        starts = []
        for record in self.records:
            # a text is a document; sentences are of one document if they have the same name of it
            new = last is not None and (record.cut is not None or _document_name(record) != _document_name(last))
            starts += [new and at == 0 for at in range(len(record.sentences))]
            last = record
        return np.array(starts, np.bool_)

    def cuts(self) -> Sequence[Cut] | None:
        cuts = [record.cut for record in self.records if record.cut is not None]
        return cuts if len(cuts) == len(self.records) else None

    def other_keys(self, label: str) -> Sequence[str]:
        return list(dict.fromkeys(key for record in self.records for key in record.other_keys(label)))

    def with_bounds(self, offsets: Longs) -> Iterator[tuple[Record, list[tuple[int, int]]]]:
        """Yield each record with the first token of each of its sentences, and the one after the last."""
        bounds = itertools.pairwise(offsets.tolist())
        for record in self.records:
            yield record, list(itertools.islice(bounds, len(record.sentences)))


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
    `splitter` cuts text into sentences and tokens.
    """
    name = show_path(path)
    if columns is not None:
        raise OptionError(f"{name}: the columns of JSONL have their names; leave the names of columns out")
    notices = Notices(name)
    yield from record_blocks(
        read_records(path, RecordReading(label or "tags", labeled, splitter or Splitter(), notices)), name, labeled
    )
    notices.close()


def record_blocks(records: Iterable[Record], name: str, labeled: bool) -> Iterator[Block]:
    """Yield records in blocks; `name` is their file."""
    batch: list[Record] = []
    known: tuple[str, ...] = ()  # the columns of the first block
    count = 0
    for record in records:
        batch.append(record)
        count += max(1, len(record.sentences))
        if count >= SENTENCES:
            block = _block(batch, name, labeled, known)
            known = known or block.columns
            yield block
            batch, count = [], 0
    if batch:
        yield _block(batch, name, labeled, known)


def _block(batch: Sequence[Record], name: str, labeled: bool, known: Sequence[str] = ()) -> Block:
    ready = _have_features(batch, name)
    kept = _columns(batch, name, known)
    return block_from_sentences(
        (
            Sentence(
                {key: sentence.columns.get(key, ()) for key in kept},
                sentence.tags,
                features=sentence.features if ready else None,
            )
            for record in batch
            for sentence in record.sentences
        ),
        name,
        JsonlOrigin(tuple(batch)),
        columns=tuple(kept),
        labeled=labeled,
    )


def _columns(batch: Sequence[Record], name: str, known: Sequence[str]) -> list[str]:
    """Return the columns that all sentences have. A list that is as long as the tokens only now and then is not one.

    Raise SapoError if a column has a hole: a list that the blocks before have, or half of these sentences but not all.
    """
    full = [(record.line, one.columns) for record in batch for one in record.sentences if len(one)]
    counts = Counter(key for _, columns in full for key in columns)
    for key in dict.fromkeys([*(key for key in known if key != LABEL), *counts]):
        if counts[key] < len(full) and (key in known or 2 * counts[key] >= len(full)):
            line = next(line for line, columns in full if key not in columns)
            raise DataError(
                f"{name}:{line}: has no '{key}' for each token, which other lines have; "
                "write such a list on every line, or on none"
            )
    found = [key for key in counts if counts[key] == len(full)]
    return found or ([] if any(one.features is not None for record in batch for one in record.sentences) else ["word"])


def _have_features(batch: Sequence[Record], name: str) -> bool:
    """Return whether the sentences have ready-made features; raise SapoError if some have and some have not."""
    ready = any(one.features is not None for record in batch for one in record.sentences)
    without = [record.line for record in batch for one in record.sentences if one.features is None and len(one)]
    if not without:
        return ready
    if ready:
        raise DataError(f"{name}:{without[0]}: has no list 'features' of each token, which other lines have")
    return False


def write(block: Block, added: Annotation) -> Iterator[bytes]:
    """Yield each record as it was read, with `tags`, and with `spans` if it came as text.

    Probabilities go into `marginals`, `token_spans` or `nbest`. A conversion gives the key of the tags, and all other
    keys stay. For a conversion, the block may come from an annotation tool.
    """
    origin, notation = _records_of(block), notation_of(added.labels)
    taggings = iter(added.taggings or ())
    names, found = added.names(), iter(added.spans or ())
    for record, bounds in origin.with_bounds(block.offsets):
        if added.taggings is not None:
            ranked = joined_taggings(list(itertools.islice(taggings, len(bounds))))
            yield json_line(_with_nbest(record, ranked, bounds, added.labels, notation)).encode()
            continue
        tags = [names[begin:end] for begin, end in bounds]
        if added.placement is not None:
            result = _converted(record, None if added.tags is None else tags, added.placement)
        else:
            result = with_tags(record, tags, notation)
        if added.marginals is not None:
            rows = (added.marginals[token] for begin, end in bounds for token in range(begin, end))
            result["marginals"] = [_probable(row, added.labels) for row in rows]
        if added.spans is not None:
            spans = [
                TaggedSpan(begin - bounds[0][0] + one.start, begin - bounds[0][0] + one.end, one.type, one.probability)
                for begin, _ in bounds
                for one in next(found)
            ]
            result["token_spans"] = [_span_object(span, span.probability) for span in spans]
            if (offsets := record.offsets) is not None:
                result["spans"] = _spans_of_text(spans, offsets)
        yield json_line(result).encode()


def _records_of(block: Block) -> JsonlOrigin:
    """Return the records of a block, or its documents as records of text."""
    cuts = None if block.origin is None or isinstance(block.origin, JsonlOrigin) else block.origin.cuts()
    if cuts is None:
        return block.origin_as(JsonlOrigin)
    records = []
    for cut in cuts:
        values = {} if cut.document.id is None else {"id": cut.document.id}
        records.append(Record(cut.document.line, {**values, "text": cut.document.text}, cut.sentences, cut))
    return JsonlOrigin(tuple(records))


def joined_taggings(ranked: Sequence[Taggings]) -> Taggings:
    """Return the n best taggings of a text, from those of its sentences, which do not depend on each other.

    >>> one = [RankedTagging(np.array([0]), 0.6, 0.6), RankedTagging(np.array([1]), 0.4, 0.4)]
    >>> [(found.tags.tolist(), round(found.p_k, 3)) for found in joined_taggings([one, one])]
    [([0, 0], 0.6), ([0, 1], 0.4)]
    """
    if not ranked:
        return [RankedTagging(np.empty(0, np.int32), 1.0, 1.0)]
    found = list(ranked[0])
    for others in ranked[1:]:
        pairs = [(one, other) for one in found for other in others]
        pairs.sort(key=lambda pair: -pair[0].p_k * pair[1].p_k)
        pairs = pairs[: max(len(found), len(others))]
        mass = sum(one.p_k * other.p_k for one, other in pairs) or 1.0
        found = [
            RankedTagging(
                np.concatenate([one.tags, other.tags]),
                one.probability * other.probability,
                one.p_k * other.p_k / mass,
            )
            for one, other in pairs
        ]
    return found


def _with_nbest(
    record: Record, ranked: Taggings, bounds: Sequence[tuple[int, int]], labels: Sequence[str], notation: Notation
) -> dict[str, Any]:
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
    first = bounds[0][0] if bounds else 0
    best = [names[0][begin - first : end - first] for begin, end in bounds] if names else [[] for _ in bounds]
    result = with_tags(record, best, notation)
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


def _converted(record: Record, tags: Sequence[Sequence[str]] | None, placement: Placement) -> dict[str, Any]:
    """Return a record with these tags under the key of a conversion, or as running text with spans.

    Records of text get their tokens too, without which tags have no meaning.
    """
    new = dict(record.values)
    flat = None if tags is None else [tag for of_sentence in tags for tag in of_sentence]
    if placement.text and record.cut is None:
        (sentence,) = record.sentences
        for key in ("tokens", placement.key):
            new.pop(key, None)
        tagged = replace(sentence, tags=None if flat is None else tuple(flat), document=None)
        new.update(json.loads(write_sentence(tagged, placement)))
        return new
    if placement.text:
        if tags is not None and record.cut is not None and not {"spans", "entities"} & set(new):  # from another tool
            new["spans"] = [_as_object(span) for span in record.cut.spans(tags)]
        return new
    placed = {} if flat is None else {"tags" if record.cut is not None else placement.key: flat}
    words = record.cut is not None or any(sentence.columns for sentence in record.sentences)
    return new | ({"tokens": record.words(), **placed} if words else placed)


def json_line(record: dict[str, Any]) -> str:
    """Return a record as a line, in UTF-8; only half a surrogate pair is written with JSON's escapes."""
    line = json.dumps(record, ensure_ascii=False)
    if re.search("[\ud800-\udfff]", line):
        line = json.dumps(record)
    return line + "\n"


def with_tags(record: Record, tags: Sequence[Sequence[str]], notation: Notation) -> dict[str, Any]:
    """Return the values of a record with `tags`, given by sentence; with `tokens` and `spans` too if it is a text."""
    result: dict[str, Any] = {**record.values, "tags": [tag for of_sentence in tags for tag in of_sentence]}
    if record.offsets is not None:
        result["tokens"] = record.words()
        names = [[prefixed(tag, notation) for tag in of_sentence] for of_sentence in tags]
        if all(tag == "O" or tag[1:2] == "-" for of_sentence in names for tag in of_sentence):
            if record.cut is not None:
                spans = record.cut.spans(names)
            else:
                spans = spans_to_char_spans(loose_spans(names[0]), record.offsets)
            result["spans"] = [_as_object(span) for span in spans]
    return result


def _as_object(span: CharSpan) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "label": span.type}


def write_sentence(sentence: Sentence, placement: Placement = DEFAULT) -> str:
    r"""Return a sentence as tokens and tags, or as running text and character spans if the placement says so.

    >>> write_sentence(Sentence({"word": ("Anna", "sings")}, ("B-PER", "O")), Placement(text=True))
    '{"text": "Anna sings", "spans": [{"start": 0, "end": 4, "label": "PER"}]}\n'
    """
    record: dict[str, Any] = {} if sentence.document is None else {"document": sentence.document}
    if not placement.text:
        if placement.both and sentence.text is not None and sentence.offsets is not None:
            record["text"] = sentence.text
            if looks_like_spans(set(sentence.tags or ()) | {"B-X"}):
                spans = spans_to_char_spans(loose_spans(sentence.tags or ()), sentence.offsets)
                record["spans"] = [_as_object(span) for span in spans]
        if sentence.columns:
            record["tokens"] = list(sentence.words)
        if sentence.features is not None:
            record["features"] = list(sentence.features)
        record.update((name, list(values)) for name, values in sentence.columns.items() if name != "word")
        if sentence.tags is not None:
            record["tags"] = list(sentence.tags)
        return json_line(record)
    running, offsets = sentence.text, sentence.offsets
    if running is None or offsets is None:
        running, offsets = joined(sentence.words)
    record["text"] = running
    if sentence.tags is not None:
        strange = [tag for tag in sentence.tags if tag != "O" and tag[1:2] != "-"]
        if strange:
            raise OptionError(f"'{strange[0]}' is not a span tag such as O or B-PER; leave `text` out")
        record["spans"] = [_as_object(span) for span in spans_to_char_spans(loose_spans(sentence.tags), offsets)]
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
