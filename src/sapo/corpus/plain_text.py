"""Read plain text, cut into sentences and tokens, and write it as columns or CoNLL-U.

A block holds the sentences as records of JSONL, with their place in the file, so that `jsonl` can write it too:

    {"text": "Anna sings.", "start": 120, "end": 131, "offsets": [[0, 4], [5, 10], [10, 11]]}

What needs words alone, and no labels, can also read text that is already cut: see `read_text`.
"""

import codecs
import itertools
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from sapo.corpus.annotations import DEFAULT, NONE, Annotation, Placement, TaggedSpan, names_of, show, with_comments
from sapo.corpus.blocks import Block, Origin, Sentence, block_from_sentences, block_sentences
from sapo.corpus.conllu import GLUED, check_target, with_feature
from sapo.corpus.conllu import write_sentence as write_conllu
from sapo.corpus.files import GZIP_MAGIC, EncodedPath, check_utf8, read_chunks, show_path, with_encoding
from sapo.corpus.formats import PEEKED, format_of
from sapo.corpus.formats import read_blocks as read_any_blocks
from sapo.corpus.jsonl import JsonlOrigin, Record
from sapo.corpus.scanner import check_tag, read_lines
from sapo.errors import DataError
from sapo.jit.arrays import Longs
from sapo.text.splitter import Offsets, Splitter, last_paragraph_end

SENTENCES = 500  # in a block
ENOUGH = 1 << 18  # characters of one paragraph that are cut before its end is read
LINES = "lines"  # a sentence per line, with blanks between tokens: only `read_text` knows this format
LINES_AT_ONCE = 2000
_MARK = "[.,;:!?\u060c\u061f\u0964\u3001\u3002\uff01\uff0c\uff1f]"
_MARK_ALONE = re.compile(rf"(?<!\S){_MARK}(?!\S)")
_MARK_AFTER_WORD = re.compile(rf"[^\W\d_]{{3}}{_MARK}(?!\S)")  # not that of an initial or of most abbreviations


@dataclass(frozen=True, slots=True)
class TextOrigin(JsonlOrigin):
    """The origin of a block of text."""

    def check_labels(self, labels: Sequence[str]) -> None:
        for label in labels:
            check_tag(label, tabs=True)

    def sentences(self, block: Block) -> Iterator[Sentence]:
        return block_sentences(block)  # without the text: a conversion writes words


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
        raise DataError(f"{name}: text has no labels; give a column file, CoNLL-U or JSONL")
    splitter = splitter or Splitter()
    if not Path(path).is_dir():
        return text_blocks(_decoded(path, name), name, splitter)
    files = files_below(path)
    if not files:
        raise DataError(f"{name}: this directory has no files")
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

    `more` is what every record has besides its text.
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
    return Record(line, values, (Sentence({"word": words}, text=piece, offsets=own),))


def _block(records: Sequence[Record], name: str) -> Block:
    return block_from_sentences((record.sentences[0] for record in records), name, TextOrigin(tuple(records)))


def write(block: Block, added: Annotation) -> Iterator[bytes]:
    """Yield a line for each token with its tag, and an empty line after each sentence; for spans, a line for each.

    The n best taggings give each sentence several times, with rank and probabilities as comments before it.
    """
    if added.placement is not None:
        raise DataError("text has no tags to convert; give another format with `to`")
    records = block.origin_as(TextOrigin).records
    if added.spans is not None:
        for record, spans in zip(records, added.spans, strict=True):
            yield from (_encoded(_span_line(record, span)) for span in spans)
    elif added.taggings is not None:
        for record, ranked in zip(records, added.taggings, strict=True):
            for comments, tags in with_comments(ranked):
                yield _encoded(comments + _lines(record, names_of(tags, added.labels)))
    else:
        values = added.names()
        if (probabilities := added.probabilities(block.offsets)) is not None:
            values = [f"{tag}\t{probability}" for tag, probability in zip(values, probabilities, strict=True)]
        for record, (begin, end) in zip(records, itertools.pairwise(block.offsets.tolist()), strict=True):
            yield _encoded(_lines(record, values[begin:end]))


def conllu_writer(label: str) -> Callable[[Block, Annotation], Iterator[bytes]]:
    """Return a function that writes tagged text as CoNLL-U, with the tags in the place of `label`.

    Sentences are numbered from block to block, and texts of a directory are documents. Probabilities go into MISC.
    """
    numbers, last = itertools.count(1), ""
    check_target(label)

    def write_block(block: Block, added: Annotation) -> Iterator[bytes]:
        nonlocal last
        ranked = iter(added.taggings or ())
        names, probabilities = added.names(), added.probabilities(block.offsets)
        key = "TagProbability" if added.spans is None else "SpanProbability"
        records = block.origin_as(TextOrigin).records
        for record, (begin, end) in zip(records, itertools.pairwise(block.offsets.tolist()), strict=True):
            file = record.values.get("file", "")
            starts, last = file != last, file
            sentence, number = record.sentences[0], next(numbers)
            named = replace(sentence, document=file or None, notes=((0, f"# sent_id = {number}"),))
            if added.taggings is not None:
                for at, (comments, tags) in enumerate(with_comments(next(ranked))):
                    notes = tuple((0, line) for line in comments.splitlines())
                    copy = replace(named, tags=tuple(names_of(tags, added.labels)), notes=(*named.notes, *notes))
                    yield _encoded(write_conllu(replace(copy, starts_document=starts and at == 0), Placement(label)))
                continue
            given = probabilities[begin:end] if probabilities is not None else [NONE] * (end - begin)
            misc = tuple(map(partial(_misc, key), _glued(sentence), given))
            columns = {**sentence.columns, "misc": misc}
            tagged = replace(named, columns=columns, tags=tuple(names[begin:end]), starts_document=starts)
            yield _encoded(write_conllu(tagged, Placement(label)))

    return write_block


def _glued(sentence: Sentence) -> list[bool]:
    """Return for each token whether the next one follows without a blank."""
    offsets = sentence.offsets or ()
    return [*(first[1] == second[0] for first, second in itertools.pairwise(offsets)), False][: len(offsets)]


def _misc(key: str, glued: bool, probability: str) -> str:
    return with_feature(GLUED if glued else NONE, key, probability)


def _lines(record: Record, values: Sequence[str]) -> str:
    rows = (f"{word}\t{value}\n" for word, value in zip(record.words(), values, strict=True))
    return "".join(rows) + "\n"


def _span_line(record: Record, span: TaggedSpan) -> str:
    """Return the start and end of a span in the file, its type, its probability, and its text."""
    offsets, at = record.offsets or (), record.values["start"]
    start, end = offsets[span.start][0], offsets[span.end - 1][1]
    text = " ".join(record.values["text"][start:end].split())
    return f"{at + start}\t{at + end}\t{span.type}\t{show(span.probability)}\t{text}\n"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def write_sentence(sentence: Sentence, placement: Placement = DEFAULT) -> str:
    """Raise SapoError: text is only read."""
    raise DataError("sapo reads plain text, but does not write it; write columns, conllu or jsonl")


def read_text(
    path: str | Path, *, format: str | None = None, encoding: str | None = None
) -> tuple[str, Iterator[Block]]:
    """Return the format of a file of any kind that has words, and its sentences in blocks.

    The format may also be "lines": a sentence per line, with blanks between tokens, which stay as they are. By default
    it is that of the file extension; if that says nothing, the beginning of the file decides between columns, lines
    and running text.
    """
    found = LINES if (format or "").lower() == LINES else format_of(path, format)
    if format is None and found == "columns":
        found = format_of_text(_beginning(with_encoding(path, encoding)))
    if found == LINES:
        return found, _line_blocks(with_encoding(path, encoding))
    return found, read_any_blocks(path, format=found, labeled=False, encoding=encoding)


def format_of_text(beginning: str) -> str:
    r"""Return the format of a file that begins like this: "columns", "lines" or "text".

    In a column file, all lines have the same number of fields, and empty lines separate sentences. If the tokens are
    separated by blanks, punctuation marks usually stand alone.

    >>> format_of_text("The DT\ncat NN\n\nIt PRP\n"), format_of_text("The cat sleeps .\nIt snores .\n")
    ('columns', 'lines')
    >>> format_of_text("The cat sleeps.\nIt snores.\n")
    'text'
    """
    sentences = [part.splitlines() for part in re.split(r"\n\s*\n", beginning.strip())]
    widths = {len(line.split()) for lines in sentences for line in lines if not line.startswith(("#", "-DOCSTART-"))}
    several = max(map(len, sentences)) > 1  # lines in a sentence
    if several and len(widths) == 1 and (len(sentences) > 1 or widths == {1} or "\t" in beginning):
        return "columns"
    alone, attached = len(_MARK_ALONE.findall(beginning)), len(_MARK_AFTER_WORD.findall(beginning))
    return "text" if attached > alone else LINES


def _beginning(path: str | Path) -> str:
    """Return the first whole lines of a file, or a part of the first line. Nothing is taken from standard input."""
    encoding = "utf-8"
    if str(path) == "-":
        peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
        data, more = b"" if peek is None else peek(PEEKED), True
        if data.startswith(GZIP_MAGIC):
            with suppress(zlib.error):
                data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, PEEKED)
        encoding = path.encoding if isinstance(path, EncodedPath) else encoding
    else:
        chunks = read_chunks(path, PEEKED)
        data, more = next(chunks, b""), next(chunks, b"") != b""
    text: str = data.decode(encoding, "replace").removeprefix("\ufeff")
    return (text.rpartition("\n")[0] if more else "") or text


@dataclass(frozen=True, slots=True)
class LinesOrigin(Origin):
    """The origin of a block of lines."""

    lines: Longs  # [sentences] their numbers

    def first_lines(self) -> Longs:
        return self.lines


def _line_blocks(path: str | Path) -> Iterator[Block]:
    """Read text with a sentence per line and blanks between tokens, in blocks. Control characters count as blanks."""
    name, lines = show_path(path), read_lines(path)
    while some := list(itertools.islice(lines, LINES_AT_ONCE)):
        first = some[0][0]
        whole = b"\n".join(line for _, line in some) + b"\n"
        check_utf8(whole, name, first)
        data = np.frombuffer(whole, np.uint8)
        blank = np.concatenate([[True], data <= ord(" ")])
        starts, ends = np.flatnonzero(blank[1:] != blank[:-1]).astype(np.int32).reshape(-1, 2).T[:, :, None].copy()
        offsets = np.concatenate([[0], np.searchsorted(starts[:, 0], np.flatnonzero(data == ord("\n")))])
        filled = np.flatnonzero(np.diff(offsets))
        if len(filled):
            bounds = offsets[np.append(filled, len(some))]
            yield Block(name, ("word",), data, starts, ends, bounds, LinesOrigin(filled + first))
