"""Share what the formats of all annotation tools have in common."""

import codecs
import functools
import itertools
import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sapo.corpus.annotations import DEFAULT, Annotation, CharSpan, Placement
from sapo.corpus.blocks import Block, Origin, Sentence, block_from_sentences
from sapo.corpus.exchange.documents import Cut, Document, Notices, cut_document
from sapo.corpus.files import check_utf8, read_chunks, show_path, write_file
from sapo.corpus.jsonl import joined
from sapo.corpus.scanner import read_lines
from sapo.errors import DataError, OptionError, current_limits
from sapo.jit.arrays import Longs
from sapo.tags.schemes import looks_like_spans
from sapo.tags.spans import Span
from sapo.text.splitter import Splitter


def has_wide(text: str) -> bool:
    """Return whether a text has characters that browsers count twice."""
    return not text.isascii() and bool(_wide_places(text)[0])


def from_browser(text: str, spans: Sequence[CharSpan]) -> list[CharSpan]:
    """Return spans that a browser has counted as Python counts them.

    >>> from_browser("😀 Oslo", [CharSpan(3, 7, "LOC")])
    [CharSpan(start=2, end=6, type='LOC')]
    """
    halves = _wide_places(text)[1]
    return [_moved(span, lambda at: at - bisect_right(halves, at)) for span in spans]


def to_browser(text: str, spans: Sequence[CharSpan]) -> list[CharSpan]:
    """Return spans of Python as a browser counts them.

    >>> to_browser("😀 Oslo", [CharSpan(2, 6, "LOC")])
    [CharSpan(start=3, end=7, type='LOC')]
    """
    wide = _wide_places(text)[0]
    return [_moved(span, lambda at: at + bisect_left(wide, at)) for span in spans]


@functools.lru_cache(1)  # a text may have as many spans as characters
def _wide_places(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return where wide characters are, and where their second halves are as a browser counts."""
    wide = array("q", (match.start() for match in _WIDE.finditer(text)))
    return wide, array("q", (at + number + 1 for number, at in enumerate(wide)))


def _moved(span: CharSpan, move: Callable[[int], int]) -> CharSpan:
    return CharSpan(move(span.start), move(span.end), span.type)


def counted_by_browser(text: str, spans: Sequence[CharSpan]) -> bool:
    """Return whether spans fit the tokens of a text better if a browser has counted them."""
    if not spans or not has_wide(text):
        return False
    tokens = Splitter().tokens(text)
    borders = {start for start, _ in tokens}, {end for _, end in tokens}

    def fitting(listed: Sequence[CharSpan]) -> int:
        return sum((span.start in borders[0]) + (span.end in borders[1]) for span in listed)

    return fitting(from_browser(text, spans)) > fitting(spans)


_BLANK = re.compile(r"[\s,]*")
_WIDE = re.compile("[\U00010000-\U0010ffff]")


def read_objects(path: str | Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the line, the place for messages, and the object, of each line of a file that is not empty."""
    name = show_path(path)
    for number, line in read_lines(path, "write one document a line"):
        if not line.strip():
            continue
        check_utf8(line, name, number)
        place = f"{name}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: not JSON ({error})") from None
        yield number, place, _object(value, place)


def read_array(path: str | Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Do as `read_objects`, for a file that is one array of objects, which is never in memory as a whole."""
    name = show_path(path)
    decode = json.JSONDecoder().raw_decode
    rest, line, opened = "", 1, False
    tried = 0  # characters that were too few for an object
    for text, final in _texts(path, name):
        rest += text
        if not opened:
            rest = rest.removeprefix("\ufeff")
            begun = rest.lstrip()
            if not begun and not final:
                line, rest = line + rest.count("\n"), ""
                continue
            if not begun.startswith("["):
                raise DataError(f"{name}: expected an array of tasks, which begins with '[', found {begun[:20]!r}")
            line += rest[: len(rest) - len(begun)].count("\n")
            rest, opened = begun[1:], True
        at = 0  # slicing at each object would copy the rest as often
        while True:
            blank = _BLANK.match(rest, at)
            assert blank is not None
            line, at = line + blank[0].count("\n"), blank.end()
            if at == len(rest) or (len(rest) - at < min(2 * tried, current_limits().line) and not final):
                break
            if rest[at] == "]":
                return
            place = f"{name}:{line}"
            if rest[at] != "{":
                raise DataError(f"{place}: expected an object, found {rest[at : at + 20]!r}")
            try:
                value, end = decode(rest, at)
            except (ValueError, RecursionError) as error:
                if final or len(rest) - at > current_limits().line or isinstance(error, RecursionError):
                    raise DataError(f"{place}: the task that begins here is not JSON ({error})") from None
                tried = len(rest) - at
                break
            tried = 0
            yield line, place, _object(value, place)
            line, at = line + rest.count("\n", at, end), end
        rest = rest[at:]
    raise DataError(f"{name}: its array does not end; the file is cut off")


def _texts(path: str | Path, name: str) -> Iterator[tuple[str, bool]]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, chunk = 1, b""
    try:
        for chunk in read_chunks(path):
            yield decoder.decode(chunk), False
            line += chunk.count(b"\n")
        yield decoder.decode(b"", final=True), True
    except UnicodeDecodeError:
        check_utf8(chunk, name, line)
        raise DataError(f"{name}:{line}: not UTF-8") from None


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f'{place}: expected an object such as {{"text": ...}}, found {type(value).__name__}')
    return value


def text_of(record: dict[str, Any], key: str, place: str) -> str:
    """Return the text of a record; raise SapoError if it has none."""
    text = record.get(key)
    if not isinstance(text, str):
        raise DataError(f"{place}: has no '{key}'; known here: {', '.join(record) or 'nothing'}")
    return text


def char_span(values: object, place: str, form: str) -> CharSpan:
    """Return (start, end, label) as a span; raise SapoError unless they are two numbers and a string."""
    match values:
        case (int(start), int(end), str(label)) if label:
            return CharSpan(start, end, label)
    raise DataError(f"{place}: a span must be {form}, found {values!r:.80}")


SENTENCES = 500  # in a block, if no document has more


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a file of a tool."""

    path: str | Path
    labeled: bool
    label: str | None
    notices: Notices


@dataclass(frozen=True, slots=True)
class FoundSpans:
    """The spans to write into a document, and by whom: people, or a model that may know their probabilities."""

    spans: Sequence[CharSpan]
    tokens: Sequence[tuple[int, int]]  # of the document
    starts: Sequence[int]  # of its sentences
    gold: bool = False
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class DocumentOrigin(Origin):
    """The origin of a block of documents."""

    tool: str
    documents: tuple[Cut, ...]

    def cuts(self) -> Sequence[Cut]:
        return self.documents

    def first_lines(self) -> Longs:
        return np.array([cut.document.line for cut in self.documents for _ in cut.sentences], np.int64)

    def check_labels(self, labels: Sequence[str]) -> None:
        check_span_labels(labels, self.tool)

    def texts(self) -> Sequence[str | None]:
        return [sentence.text for cut in self.documents for sentence in cut.sentences]

    def sentences(self, block: Block) -> Iterator[Sentence]:
        return (sentence for cut in self.documents for sentence in cut.sentences)

    def other_keys(self, label: str) -> Sequence[str]:
        return list(dict.fromkeys(key for cut in self.documents for key in cut.document.other_keys))


class DocumentFormat:
    """The format of a tool: the functions that modules such as `corpus/jsonl.py` have.

    `open_output` opens a stream for documents that `write` has turned into lines, if a file is not lines.
    """

    def __init__(
        self,
        tool: str,
        read: Callable[[Reading], Iterator[Document]],
        write: Callable[[Document, FoundSpans], str],
        open_output: Callable[[str | Path], AbstractContextManager[Any]] = write_file,
    ) -> None:
        self.tool, self._read_documents, self._write_document = tool, read, write
        self.open_output = open_output

    def read_blocks(
        self,
        path: str | Path,
        *,
        label: str | None = None,
        columns: Sequence[str] | None = None,
        labeled: bool = True,
        splitter: Splitter | None = None,
    ) -> Iterator[Block]:
        """Read a file in blocks of whole documents, and warn of what had to be changed or left out.

        `splitter` cuts text that the tool has not cut itself.
        """
        name = show_path(path)
        if columns is not None:
            raise OptionError(f"{name}: files of {self.tool} have no columns; leave their names out")
        notices = Notices(name)
        splitter = splitter or Splitter()
        cuts: list[Cut] = []
        count = 0
        for document in self._read_documents(Reading(path, labeled, label, notices)):
            cuts.append(cut_document(document, labeled, notices, splitter))
            count += len(cuts[-1].sentences)
            if count >= SENTENCES:
                yield self._block(cuts, name, labeled)
                cuts, count = [], 0
        if cuts:
            yield self._block(cuts, name, labeled)
        notices.close()

    def _block(self, cuts: Sequence[Cut], name: str, labeled: bool) -> Block:
        origin = DocumentOrigin(self.tool, tuple(cuts))
        plain = [Sentence(sentence.columns, sentence.tags) for cut in cuts for sentence in cut.sentences]
        return block_from_sentences(plain, name, origin, columns=("word",), labeled=labeled)

    def write(self, block: Block, added: Annotation) -> Iterator[bytes]:
        """Yield the documents with the spans of these tags, as suggestions of a model or as the gold of a conversion.

        For a conversion, the block may come from another tool.
        """
        if added.taggings is not None:
            raise DataError(f"{self.tool} shows one tagging of a text; use `spans=True`, or convert the file to JSONL")
        if added.marginals is not None:
            raise DataError(
                f"{self.tool} has no room for probabilities of tokens; use `spans=True`, or convert it to JSONL"
            )
        gold = added.placement is not None
        if gold:
            check_span_labels(added.labels, self.tool)
        cuts = None if block.origin is None else block.origin.cuts()
        if cuts is None:
            raise TypeError(f"expected a block of documents, found {block.origin!r:.60}")
        own = isinstance(block.origin, DocumentOrigin) and block.origin.tool == self.tool
        names = added.names()
        borders = itertools.pairwise(block.offsets.tolist())
        following = iter(added.spans or ())
        for cut in cuts:
            of_document = list(itertools.islice(borders, len(cut.sentences)))
            if added.spans is None:
                found, shares = cut.spans([names[first:last] for first, last in of_document]), None
            else:
                listed = [(number, span) for number in range(len(cut.sentences)) for span in next(following)]
                found = [cut.char_span(number, Span(span.start, span.end, span.type)) for number, span in listed]
                shares = [span.probability for _, span in listed]
            document = cut.document
            if not own:
                document = Document(
                    document.place, document.line, document.text, tokens=document.tokens, id=document.id
                )
            yield self._write_document(document, FoundSpans(found, cut.tokens(), cut.begins, gold, shares)).encode()

    def write_sentence(self, sentence: Sentence, placement: Placement = DEFAULT) -> str:
        """Return a sentence as a document of its own."""
        check_span_labels(sentence.tags or (), self.tool)
        text, offsets = sentence.text, sentence.offsets
        if text is None or offsets is None:
            text, offsets = joined(sentence.words)
        document = Document("", 0, text, id=sentence.document)
        cut = Cut(document, (Sentence(sentence.columns, text=text, offsets=offsets),), (0,))
        found = FoundSpans(cut.spans([sentence.tags or ()]), cut.tokens(), cut.begins, gold=True)
        return self._write_document(cut.document, found)


def check_span_labels(labels: Sequence[str], tool: str) -> None:
    """Raise SapoError if a label is not that of a span, such as O or B-PER."""
    if labels and not looks_like_spans(sorted(set(labels) | {"B-X"})):
        strange = next(label for label in labels if not looks_like_spans([label, "B-X"]))
        raise DataError(f"{tool} stores spans; {strange!r} is not a label of a span, such as B-PER; write JSONL")
