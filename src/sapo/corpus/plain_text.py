"""Read plain text, cut into sentences and tokens, and write it as columns.

A block holds the sentences as records of JSONL, with their place in the file, so that `jsonl` can write it too:

    {"text": "Anna sings.", "start": 120, "end": 131, "offsets": [[0, 4], [5, 10], [10, 11]]}
"""

import codecs
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sapo.corpus.annotations import TaggedSpan, Taggings, show, tag_notes, with_notes
from sapo.corpus.blocks import Block, Sentence, block_from_sentences
from sapo.corpus.files import EncodedPath, check_utf8, read_chunks, show_path, with_encoding
from sapo.corpus.jsonl import JsonlOrigin, Record
from sapo.corpus.scanner import check_tag
from sapo.errors import SapoError
from sapo.jit.arrays import Doubles, Ints
from sapo.text.splitter import Offsets, Splitter, last_paragraph_end

SENTENCES = 500  # in a block
ENOUGH = 1 << 18  # characters of one paragraph that are cut before its end is read


@dataclass(frozen=True, slots=True)
class TextOrigin(JsonlOrigin):
    """The origin of a block of text."""

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            check_tag(label, tabs=True)


def read_blocks(
    path: str | Path,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    labeled: bool = True,
    splitter: Splitter | None = None,
) -> Iterator[Block]:
    """Read a text, or all texts of a directory, in blocks; `splitter` cuts it into sentences.

    Offsets count characters from the start of the file, without a byte order mark. Records from a directory also have
    the name of their file.
    """
    name = show_path(path)
    if labeled:
        raise SapoError(f"{name}: text has no labels; give a column file, CoNLL-U or JSONL")
    splitter = splitter or Splitter()
    if not Path(path).is_dir():
        return text_blocks(_decoded(path, name), name, splitter)
    files = files_below(path)
    if not files:
        raise SapoError(f"{name}: this directory holds no files")
    encoding = path.encoding if isinstance(path, EncodedPath) else None
    return itertools.chain.from_iterable(
        text_blocks(
            _decoded(with_encoding(file, encoding), str(file)),
            str(file),
            splitter,
            {"file": file.relative_to(path).as_posix()},
        )
        for file in files
    )


def files_below(path: str | Path) -> list[Path]:
    """Return the files in a directory and its subdirectories, in the order of their names, without hidden ones."""
    found = (file for file in Path(path).rglob("*") if file.is_file())
    shown = (file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts))
    return sorted(Path(file) for file in shown)


def text_blocks(
    pieces: Iterable[str], name: str, splitter: Splitter, more: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[Block]:
    """Cut text that comes piece by piece into blocks of sentences. What is held of it has a bounded size.

    `more` is what every record says beside its text.
    """
    rest, start, line = "", 0, 1
    enough = ENOUGH
    for piece, final in itertools.chain(((piece, False) for piece in pieces), [("", True)]):
        rest += piece
        used = len(rest) if final else last_paragraph_end(rest)
        found = splitter(rest[:used]) if used else []
        if not used and len(rest) >= enough:
            found = splitter(rest)
            used = found.pop()[0][0] if found else len(rest)  # the last sentence may go on
            enough = ENOUGH if used else 2 * len(rest)
        at = 0
        for first in range(0, len(found), SENTENCES):
            records = []
            for offsets in found[first : first + SENTENCES]:
                line += rest.count("\n", at, offsets[0][0])
                at = offsets[0][0]
                records.append(_record(rest, offsets, start, line, more))
            yield _block(records, name)
        line += rest.count("\n", at, used)
        start += used
        rest = rest[used:]


def _decoded(path: str | Path, name: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    first = True
    for chunk in itertools.chain(read_chunks(path), [b""]):
        held, _ = decoder.getstate()
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError:
            check_utf8(held + chunk, name, line)
            raise
        line += text.count("\n")
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        yield text


def _record(text: str, offsets: Offsets, base: int, line: int, more: Mapping[str, Any]) -> Record:
    start, end = offsets[0][0], offsets[-1][1]
    own = tuple([(first - start, last - start) for first, last in offsets])
    words = tuple([text[first:last] for first, last in offsets])
    piece = text[start:end]
    values = {**more, "text": piece, "start": base + start, "end": base + end, "offsets": own}
    return Record(line, values, Sentence({"word": words}, text=piece, offsets=own))


def _block(records: Sequence[Record], name: str) -> Block:
    return block_from_sentences((record.sentence for record in records), name, TextOrigin(tuple(records)))


def tagged(block: Block, tags: Ints, labels: Sequence[str]) -> bytes:
    """Return a line for each token with its tag, and an empty line after each sentence."""
    return _lines(block, [labels[tag] for tag in tags.tolist()])


def with_marginals(block: Block, tags: Ints, marginal: Doubles, labels: Sequence[str]) -> bytes:
    """Return the lines of `tagged` with the probability of each tag."""
    notes = tag_notes(tags, marginal)
    return _lines(block, [f"{labels[tag]}\t{note}" for tag, note in zip(tags.tolist(), notes, strict=True)])


def with_spans(block: Block, tags: Ints, spans: Sequence[Sequence[TaggedSpan]], labels: Sequence[str]) -> bytes:
    """Return a line for each span: its start and end in the file, its type, its probability, and its text."""
    lines = []
    for record, found in zip(_records(block), spans, strict=True):
        offsets = record.sentence.offsets or ()
        for span in found:
            start, end = offsets[span.start][0], offsets[span.end - 1][1]
            text = " ".join(record.values["text"][start:end].split())
            at = record.values["start"]
            lines.append(f"{at + start}\t{at + end}\t{span.type}\t{show(span.probability)}\t{text}\n")
    return _encoded("".join(lines))


def nbest(block: Block, taggings: Iterable[Taggings], labels: Sequence[str]) -> Iterator[bytes]:
    """Yield each sentence once for each of its taggings, best first, with their probabilities as comments."""
    for record, ranked in zip(_records(block), taggings, strict=True):
        words = record.sentence.words
        for notes, tagging in with_notes(ranked):
            tags = [labels[tag] for tag in tagging.tags.tolist()]
            rows = "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True))
            yield _encoded(f"{notes}{rows}\n")


def retagged(block: Block, sentences: Sequence[Sentence], **_: Any) -> bytes:
    """Raise SapoError: a text has no tags to change."""
    raise SapoError("text has no tags to convert; give another format with `to`")


def write_sentence(sentence: Sentence, **_: Any) -> str:
    """Raise SapoError: text is only read."""
    raise SapoError("text is a format to read only; write columns, conllu or jsonl")


def _lines(block: Block, notes: Sequence[str]) -> bytes:
    lines = []
    at = 0
    for record in _records(block):
        for word in record.sentence.words:
            lines.append(f"{word}\t{notes[at]}\n")
            at += 1
        lines.append("\n")
    return _encoded("".join(lines))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _records(block: Block) -> tuple[Record, ...]:
    return block.origin_as(TextOrigin).records
