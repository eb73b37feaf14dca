"""Files of spaCy (.spacy, a DocBin): documents with tokens and entities, perhaps with sentences.

Needs spaCy, the extra `spacy`. Each document is written with its tokens and all that spaCy knew of it,
and other entities; `DocBinFile` collects the documents.
"""

import base64
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sapo.corpus.annotations import CharSpan
from sapo.corpus.exchange.documents import Document
from sapo.corpus.exchange.format import DocumentFormat, FoundSpans, Reading
from sapo.corpus.files import UNSUSPECTED, LineSink, read_whole, write_file
from sapo.errors import DataError, OptionError, above_limit, current_limits, pip_install

LARGEST = 1 << 31  # bytes of a file when unpacked: it is read as a whole
MOST_VALUES = 2_000_000  # in MessagePack, where a byte can make a list, which takes 64
# How MessagePack goes on after the first byte of a value: so many bytes, or a length of so many bytes and then these.
_BYTES = {0xCA: 4, 0xCB: 8} | {0xCC + n: 1 << n for n in range(4)} | {0xD0 + n: 1 << n for n in range(4)}
_BYTES |= {0xD4 + n: 1 + (1 << n) for n in range(5)} | {0xA0 + n: n for n in range(32)}
_BYTES |= {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}  # of lists and maps, whose parts are values again
_LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}


def load_spacy() -> Any:
    """Return the package spaCy; raise SapoError if it is not installed."""
    try:
        import spacy
        import spacy.tokens
    except ImportError:
        raise OptionError(f".spacy files need spaCy: {pip_install('spacy')}") from None
    return spacy


def read_documents(reading: Reading) -> Iterator[Document]:
    """Yield the documents of a file; with labels, only those whose entities are known."""
    path = reading.path
    if reading.label is not None:
        raise OptionError(f"{path}: the labels of .spacy files are their entities; leave `label` out")
    data = read_whole(path)
    _check_values(_unpacked(data, path), path)
    spacy = load_spacy()
    with _checked(path):
        docs = list(spacy.tokens.DocBin().from_bytes(data).get_docs(spacy.vocab.Vocab()))
    for number, doc in enumerate(docs, 1):
        with _checked(path):
            known = doc.has_annotation("ENT_IOB")
            tokens = [(token.idx, token.idx + len(token)) for token in doc if token.text.strip()]
            starts = [sent.start_char for sent in doc.sents] if doc.has_annotation("SENT_START") else None
            spans = tuple(CharSpan(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents if reading.labeled)
            text = doc.text
        if reading.labeled and not known:
            reading.notices.leave_out("documents whose entities are not known")
            continue
        yield Document(f"{path}: document {number}", number, text, spans, tokens, starts, doc)


@contextmanager
def _checked(path: str | Path) -> Iterator[None]:
    """Turn whatever spaCy raises into a SapoError: it checks nothing itself."""
    try:
        yield
    except Exception as error:
        raise DataError(f"{path}: not a file of spaCy, or damaged ({error!r:.80})") from None


def _unpacked(data: bytes, path: str | Path) -> bytes:
    unpacking, size = zlib.decompressobj(), 0
    rest, pieces = data, []
    try:
        while rest and not unpacking.eof:
            pieces.append(unpacking.decompress(rest, 1 << 24))
            size += len(pieces[-1])
            rest = unpacking.unconsumed_tail
            if size > LARGEST:
                raise DataError(f"{path}: larger than {LARGEST >> 30} GB when unpacked; split it")
            if size > UNSUSPECTED and size > current_limits().ratio * len(data):
                raise above_limit("ratio", size // len(data), path, "unpacked bytes for each compressed one")
    except zlib.error as error:
        raise DataError(f"{path}: not a file of spaCy ({error})") from None
    return b"".join(pieces)


def _check_values(data: bytes, path: str | Path) -> None:
    """Raise SapoError if there are more values than a corpus has: spaCy would make all of them."""
    at = count = 0
    while at < len(data):
        first = data[at]
        at += 1 + _BYTES.get(first, 0)
        if (length := _LENGTHS.get(first)) is not None:
            at += length + int.from_bytes(data[at : at + length], "big") + (0xC7 <= first <= 0xC9)
        count += 1
        if count > MOST_VALUES:
            raise DataError(f"{path}: has more than {MOST_VALUES:,} values; split it")


def write_document(document: Document, found: FoundSpans) -> str:
    """Return a document as a line: the bytes of a Doc in base64."""
    spacy = load_spacy()
    doc = document.source
    offsets = [(token.idx, token.idx + len(token)) for token in doc] if doc is not None else []
    if not set(found.tokens) <= set(offsets):  # not from spaCy, or a span has split a token
        words, spaces, starts = _words(document.text, found)
        doc = spacy.tokens.Doc(spacy.vocab.Vocab(), words=words, spaces=spaces, sent_starts=starts)
    else:
        doc = doc.copy()
    doc.set_ents([doc.char_span(span.start, span.end, label=span.type) for span in found.spans])
    return base64.b64encode(doc.to_bytes()).decode() + "\n"


def _words(text: str, found: FoundSpans) -> tuple[list[str], list[bool], list[bool]]:
    """Return words and blanks that make up the text, and which words begin a sentence; other white space is a word."""
    words: list[str] = []
    spaces: list[bool] = []
    starts: list[bool] = []
    at, first = 0, frozenset(found.starts)
    for start, end in [*found.tokens, (len(text), len(text))]:
        gap = text[at:start]
        if words and gap.startswith(" "):
            spaces[-1] = True
            gap = gap[1:]
        for word, begins in ((gap, False), (text[start:end], start in first)):
            if word:
                words.append(word)
                spaces.append(False)
                starts.append(begins)
        at = end
    return words, spaces, starts


class DocBinFile(LineSink):
    """Collects documents of spaCy."""

    def __init__(self) -> None:
        super().__init__()
        self.docs: list[Any] = []
        self._spacy = load_spacy()
        self._vocab = self._spacy.vocab.Vocab()

    def add(self, line: bytes) -> None:
        self.docs.append(self._spacy.tokens.Doc(self._vocab).from_bytes(base64.b64decode(line)))

    def content(self) -> bytes:
        packed: bytes = self._spacy.tokens.DocBin(docs=self.docs).to_bytes()
        return packed


@contextmanager
def open_output(path: str | Path) -> Iterator[Any]:
    """Open a stream that takes a line for each document, and writes all of them as one file."""
    with write_file(path) as stream:
        collected = DocBinFile()
        yield collected
        stream.write(collected.content())


FORMAT = DocumentFormat("spaCy", read_documents, write_document, open_output)
