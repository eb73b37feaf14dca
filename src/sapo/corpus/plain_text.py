"""Read plain text, cut into sentences and tokens, and write it as columns or CoNLL-U.

A block holds the sentences as records of JSONL, with their place in the file, so that `jsonl` can write it too:

    {"text": "Anna sings.", "start": 120, "end": 131, "offsets": [[0, 4], [5, 10], [10, 11]]}
"""

import codecs
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sapo.corpus.annotations import DEFAULT, NONE, Annotation, Placement, TaggedSpan, names_of, show, with_comments
from sapo.corpus.blocks import Block, Sentence, block_from_sentences, block_sentences
from sapo.corpus.conllu import GLUED, check_target, with_feature
from sapo.corpus.conllu import write_sentence as write_conllu
from sapo.corpus.files import EncodedPath, check_utf8, read_chunks, show_path, with_encoding
from sapo.corpus.jsonl import JsonlOrigin, Record
from sapo.corpus.scanner import check_tag
from sapo.errors import DataError
from sapo.text.splitter import Offsets, Splitter, last_paragraph_end

SENTENCES = 500  # in a block
ENOUGH = 1 << 18  # characters of one paragraph that are cut before its end is read


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
