"""JSONL: one sentence a line, as `tokens` (and `tags`), or as `text` with character spans.

    {"tokens": ["Anna", "sings"], "pos": ["NNP", "VBZ"], "tags": ["B-PER", "O"]}
    {"text": "Anna sings", "spans": [{"start": 0, "end": 4, "label": "PER"}]}

Every other list of strings that is as long as `tokens` is a column. Tagging keeps all other keys as they are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.blocks import LABEL, Block, Sentence, block_from_sentences
from sapo.corpus.char_spans import CharSpan, char_spans_to_spans, spans_to_char_spans
from sapo.corpus.files import check_utf8, read_chunks, show_path
from sapo.corpus.predictions import RankedTagging, TaggedSpan, top_n_mass
from sapo.corpus.scanner import BOM
from sapo.corpus.tokenise import tokenise
from sapo.corpus.tokens import check_labels
from sapo.errors import SapoError
from sapo.kernels.types import Doubles, Ints
from sapo.tags.schemes import Span, loose_spans, spans_to_tags

SENTENCES = 500  # in a block
LONGEST_LINE = 1 << 26
LEAST = 0.001  # marginals below it are left out


def read_blocks(
    path: str | Path, *, label: str | None = None, columns: Sequence[str] | None = None, labelled: bool = True
) -> Iterator[Block]:
    """`label` is the key of the tags, `tags` by default."""
    name = show_path(path)
    if columns is not None:
        raise SapoError(f"{name}: the columns of JSONL have their names; leave the names of columns out")
    batch: list[tuple[dict[str, Any], Sentence]] = []
    lines: list[int] = []
    known: tuple[str, ...] = ()  # the columns of the first block
    for number, line in _lines(path, name):
        record = _parse(line, f"{name}:{number}")
        sentence = _sentence(record, label or "tags", labelled, f"{name}:{number}")
        check_labels(sentence.tags or (), f"{name}:{number}")
        batch.append((record, sentence))
        lines.append(number)
        if len(batch) == SENTENCES:
            block = _block(batch, name, lines, known)
            known = known or block.columns
            yield block
            batch, lines = [], []
    if batch:
        yield _block(batch, name, lines, known)


def _lines(path: str | Path, name: str) -> Iterator[tuple[int, bytes]]:
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


def _sentence(record: dict[str, Any], label: str, labelled: bool, place: str) -> Sentence:
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
    """Spans as objects or as [start, end, label], under 'spans' or 'entities'."""
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


def _block(
    batch: list[tuple[dict[str, Any], Sentence]], name: str, lines: list[int], known: Sequence[str] = ()
) -> Block:
    sentences = [sentence for _, sentence in batch]
    kept = _columns(sentences, name, lines, known)
    return block_from_sentences(
        (Sentence({key: sentence.columns.get(key, ()) for key in kept}, sentence.tags) for sentence in sentences),
        name,
        records=batch,
        lines=lines,
    )


def _columns(sentences: Sequence[Sentence], name: str, lines: Sequence[int], known: Sequence[str]) -> list[str]:
    """What all sentences have. A list that happens to be as long as the tokens here and there is no column.

    What the blocks before have, or half of these sentences and not all, is a column with a hole: that is a mistake.
    """
    full = [(line, sentence.columns) for line, sentence in zip(lines, sentences, strict=True) if len(sentence)]
    counts = Counter(key for _, columns in full for key in columns)
    for key in dict.fromkeys([*(key for key in known if key != LABEL), *counts]):
        if counts[key] < len(full) and (key in known or 2 * counts[key] >= len(full)):
            line = next(line for line, columns in full if key not in columns)
            raise SapoError(
                f"{name}:{line}: has no '{key}' for each token, which other lines have; "
                "write such a list on every line, or on none"
            )
    return [key for key in counts if counts[key] == len(full)] or ["word"]


def tagged(block: Block, tags: Ints, labels: Sequence[str]) -> bytes:
    """Each record as it came, with `tags`; and with `spans` where it came as text."""
    return "".join(json_line(record) for record, _, _ in _tagged_records(block, tags, labels)).encode()


def _tagged_records(
    block: Block, tags: Ints, labels: Sequence[str]
) -> Iterator[tuple[dict[str, Any], Sentence, slice]]:
    """Each record with its tags, its sentence, and where its tokens stand in the block."""
    for (record, sentence), begin, end in zip(
        block.extra["records"], block.offsets[:-1].tolist(), block.offsets[1:].tolist(), strict=True
    ):
        names = [labels[tag] for tag in tags[begin:end].tolist()]
        yield with_tags(record, sentence, names), sentence, slice(begin, end)


def nbest(block: Block, taggings: Sequence[Sequence[RankedTagging]], labels: Sequence[str]) -> bytes:
    """Each record as `tagged` gives it, with all taggings and their probabilities under `nbest`."""
    lines = []
    for (record, sentence), ranked in zip(block.extra["records"], taggings, strict=True):
        named = [[labels[tag] for tag in tagging.tags.tolist()] for tagging in ranked]
        result = with_tags(record, sentence, named[0] if named else [])
        result["nbest"] = [
            {
                "tags": tags,
                "probability": round(tagging.probability, 6),
                "exact_probability": round(tagging.exact_probability, 6),
            }
            for tags, tagging in zip(named, ranked, strict=True)
        ]
        result["top_n_mass"] = round(top_n_mass(ranked), 6)
        lines.append(json_line(result))
    return "".join(lines).encode()


def with_marginals(block: Block, tags: Ints, marginal: Doubles, labels: Sequence[str]) -> bytes:
    """Each record as `tagged` gives it, with the probable labels of each token under `marginals`, best first."""
    lines = []
    for record, _, tokens in _tagged_records(block, tags, labels):
        record["marginals"] = [
            {labels[y]: round(float(row[y]), 6) for y in np.argsort(-row, kind="stable").tolist() if row[y] > LEAST}
            for row in marginal[tokens]
        ]
        lines.append(json_line(record))
    return "".join(lines).encode()


def with_spans(block: Block, tags: Ints, spans: Sequence[Sequence[TaggedSpan]], labels: Sequence[str]) -> bytes:
    """Each record as `tagged` gives it, with `token_spans`; `spans` of text, in characters, have probabilities too."""
    lines = []
    for (record, sentence, _), found in zip(_tagged_records(block, tags, labels), spans, strict=True):
        shares = [round(span.probability, 6) for span in found]
        record["token_spans"] = [
            {"start": span.start, "end": span.end, "label": span.type, "probability": share}
            for span, share in zip(found, shares, strict=True)
        ]
        if sentence.offsets is not None:
            plain = [Span(span.start, span.end, span.type) for span in found]
            record["spans"] = [
                {"start": span.start, "end": span.end, "label": span.type, "probability": share}
                for span, share in zip(spans_to_char_spans(plain, sentence.offsets), shares, strict=True)
            ]
        lines.append(json_line(record))
    return "".join(lines).encode()


def json_line(record: dict[str, Any]) -> str:
    """Readable letters, unless there is half a surrogate pair, which only JSON's escapes can hold."""
    line = json.dumps(record, ensure_ascii=False)
    if re.search("[\ud800-\udfff]", line):
        line = json.dumps(record)
    return line + "\n"


def with_tags(record: dict[str, Any], sentence: Sentence, tags: Sequence[str]) -> dict[str, Any]:
    result: dict[str, Any] = {**record, "tags": list(tags)}
    if sentence.offsets is not None:
        result["tokens"] = list(sentence.words)
        if all(tag == "O" or tag[1:2] == "-" for tag in tags):
            result["spans"] = _spans_as_json(tags, sentence.offsets)
    return result


def _spans_as_json(tags: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    spans = spans_to_char_spans(loose_spans(tags), offsets)
    return [{"start": span.start, "end": span.end, "label": span.type} for span in spans]


def sentences(block: Block) -> Iterator[Sentence]:
    for _, sentence in block.extra["records"]:
        yield sentence


def write_sentence(sentence: Sentence, *, text: bool = False, **_: Any) -> str:
    """As tokens and tags; with `text`, as running text and character spans."""
    if not text:
        record: dict[str, Any] = {"tokens": list(sentence.words)}
        record.update((name, list(values)) for name, values in sentence.columns.items() if name != "word")
        if sentence.tags is not None:
            record["tags"] = list(sentence.tags)
        return json_line(record)
    running, offsets = sentence.text, sentence.offsets
    if running is None or offsets is None:
        running, offsets = _join(sentence.words)
    record = {"text": running}
    if sentence.tags is not None:
        strange = [tag for tag in sentence.tags if tag != "O" and tag[1:2] != "-"]
        if strange:
            raise SapoError(f"'{strange[0]}' is no tag of a span, such as O or B-PER; leave --text out")
        record["spans"] = _spans_as_json(sentence.tags, offsets)
    return json_line(record)


def _join(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Words with a blank between them, and where each stands."""
    offsets = []
    at = 0
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    return " ".join(words), tuple(offsets)
