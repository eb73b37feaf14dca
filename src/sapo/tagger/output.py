"""Tag a file, and return the bytes of the tagged file block by block."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.files import show_path
from sapo.corpus.formats import FORMATS, format_of
from sapo.corpus.scanner import ScannedOrigin
from sapo.errors import SapoError
from sapo.search.searches import check_search
from sapo.tagger import decoding, files
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.text.tokens import CHARACTERS

LINES = 200  # to look at
_ENDS_SENTENCE = re.compile(r"\w[.!?\u2026][\"')\]\u201d\u00bb]*")
WAY_OUT = "use `format='text'`, or `format='columns'` if it is a column file"


def refuse_text(block: Block, model: Model) -> None:
    """Raise SapoError if the first block of a column file is running text. Files with TABs are not looked at."""
    if not isinstance(block.origin, ScannedOrigin) or block.origin.scanned.layout.tabs or not len(block.starts):
        return
    if len(block.columns) == 1:
        is_text = _uncut(block, model)
    else:
        is_text = _words_of_text(block) or (not _known_labels(block, model) and _mostly_lower_case(block))
    if is_text:
        raise SapoError(f"{block.place_of(0)}: this looks like running text, not like columns; {WAY_OUT}")


def _first(block: Block, column: str) -> list[str]:
    return block.strings(column, LINES)


def _words_of_text(block: Block) -> bool:
    """Whether most lines end as sentences do, with a mark at the last word."""
    last = _first(block, block.columns[-1])
    return 2 * sum(_ENDS_SENTENCE.search(word) is not None for word in last) > len(last)


def _uncut(block: Block, model: Model) -> bool:
    """Whether words of several characters go to a model of characters."""
    words = _first(block, block.columns[0])
    return model.text_rules.unit == CHARACTERS and 2 * sum(len(word) > 1 for word in words) > len(words)


def _known_labels(block: Block, model: Model) -> bool:
    """Whether the file has labels of the model, or lacks nothing but them and so may have words in lower case."""
    labels = set(model.outer_labels)
    if len(block.columns) + 1 == len(model.reader.get("columns") or ()):
        return True
    columns = [LABEL] if LABEL in block.columns else list(block.columns[1:])
    return any(not labels.isdisjoint(_first(block, column)) for column in columns)


def _mostly_lower_case(block: Block) -> bool:
    """Whether most fields behind the first are words in lower case, as they are in text; tags are not."""
    fields = [field for column in block.columns[1:] for field in _first(block, column)]
    return 2 * sum(field[:1].islower() for field in fields) > len(fields)


PIECE = 1 << 16  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What to write for each sentence: its tags, its n best taggings, or tags with probabilities of tags or spans."""

    nbest: int = 0
    marginals: bool = False
    spans: bool = False
    search: str | None = None
    width: int = 50
    threads: int = 1
    forced: str | None = None  # a column of known tags
    exact: bool = False  # look at all labels of every token


def tagged_file(
    tagger: Tagger,
    path: str | Path,
    output: Output,
    *,
    format: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
    to: str | None = None,
    session: Any = None,
) -> Iterator[tuple[int, bytes]]:
    """Tag a file; yield the bytes to write, with the number of tokens that are done.

    Files keep their format, but text is written as columns, or as JSONL with `to="jsonl"`. A directory of texts is
    tagged as one JSONL file. Raises SapoError if the tags cannot be written into such a file, or if a column file is
    running text. A session of the model's encoder remembers new words from file to file.
    """
    chosen = format_of(path, format)
    if chosen == "text":
        from sapo.tagger.text import check_words_only

        check_words_only(tagger.model)
        if Path(path).is_dir() and writer_of(to) != "jsonl":
            raise SapoError(f"{path}: a directory is tagged as one JSONL file; use `to='jsonl'`")
        blocks = files.read_blocks(tagger, path, format=chosen, encoding=encoding)
        return _tagged(tagger, blocks, output, writer_of(to), session)
    if to not in (None, chosen):
        raise SapoError(
            f"{show_path(path)}: a file that is {chosen} is tagged as {chosen}; convert it with sapo convert"
        )
    if chosen == "conllu" and label is None and tagger.model.reader.get("format") != "conllu":
        raise SapoError("this model was not trained on CoNLL-U; say with `label` where its tags go (upos, xpos, Chunk)")
    blocks = files.read_blocks(tagger, path, format=chosen, label=label, encoding=encoding)
    if format is None and chosen == "columns":
        blocks = _no_text(blocks, tagger.model)
    return _tagged(tagger, blocks, output, chosen, session)


def tagged_text(tagger: Tagger, text: str, output: Output, *, to: str | None = None) -> Iterator[tuple[int, bytes]]:
    """Tag a text as `tagged_file` tags a file of text."""
    from sapo.corpus.plain_text import text_blocks
    from sapo.tagger.text import check_words_only

    check_words_only(tagger.model)
    return _tagged(tagger, text_blocks([text], "the text", tagger.splitter), output, writer_of(to))


def writer_of(to: str | None) -> str:
    """Return the format that tagged text is written in: text, which is written as columns, or jsonl."""
    if to not in (None, "columns", "jsonl"):
        raise SapoError(f"tagged text is written as columns or jsonl, not as '{to}'")
    return "jsonl" if to == "jsonl" else "text"


def _tagged(
    tagger: Tagger, blocks: Iterator[Block], output: Output, writer: str, session: Any = None
) -> Iterator[tuple[int, bytes]]:
    if output.exact:
        tagger = Tagger(tagger.model.exact())
    checked = blocks if writer == "jsonl" else _checked(blocks, tagger.labels)
    found, write = _decoded(tagger, checked, output, FORMATS[writer], session)
    for block, result in found:
        for piece in _joined(write(block, result)):
            yield 0, piece
        yield int(block.offsets[-1]), b""


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in pieces that are worth writing."""
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _no_text(blocks: Iterator[Block], model: Model) -> Iterator[Block]:
    for number, block in enumerate(blocks):
        if number == 0:
            refuse_text(block, model)
        yield block


def _decoded(
    tagger: Tagger, blocks: Iterator[Block], output: Output, writer: Any, session: Any
) -> tuple[Iterator[tuple[Block, Any]], Callable[[Block, Any], Iterable[bytes]]]:
    """Return the blocks with their results, and a function that gives the bytes of a block with its result."""
    how: dict[str, Any] = {"threads": output.threads, "forced": output.forced, "session": session}
    labels = tagger.labels
    if output.nbest:
        search = check_search(output.search or "topn", output.nbest)
        decode: Any = partial(decoding.all_ranked, n=output.nbest, search=search, width=output.width)
        return files.each_block(tagger, blocks, decode, **how), lambda block, result: writer.nbest(
            block, result, labels
        )
    if output.marginals:
        found = files.each_block(tagger, blocks, decoding.tags_and_marginals, **how)
        return found, lambda block, both: [writer.with_marginals(block, *both, labels)]
    if output.spans:
        spans = files.each_block(tagger, blocks, decoding.tags_and_spans, **how)
        return spans, lambda block, both: [writer.with_spans(block, *both, labels)]
    decode = decoding.best_tags
    if output.search is not None:
        decode = partial(decoding.searched_tags, search=check_search(output.search, 1), width=output.width)
    return files.each_block(tagger, blocks, decode, **how), lambda block, tags: [writer.tagged(block, tags, labels)]


def _checked(blocks: Iterator[Block], labels: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks. Raise SapoError before the first one if a label cannot be written into such a file."""
    for number, block in enumerate(blocks):
        if number == 0:
            block.check_labels(labels)
        yield block
