"""BRAT standoff: a directory with two files for each document, its text and its annotations.

    anna.txt   Anna sings
    anna.ann   T1<TAB>PER 0 4<TAB>Anna

Writing makes a directory again; `BratDirectory` turns the lines of documents into files.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sapo.corpus.annotations import CharSpan
from sapo.corpus.exchange.documents import Document, Notices
from sapo.corpus.exchange.format import DocumentFormat, FoundSpans, Reading
from sapo.corpus.files import (
    EncodedPath,
    LineSink,
    check_utf8,
    is_special,
    missing_file,
    part_name,
    read_chunks,
    real_path,
    remove_abandoned,
    with_encoding,
)
from sapo.errors import DataError, OptionError

LARGEST = 8 << 20  # bytes of a document
LONGEST_NAME = 100  # characters of the file that is named after a document
_ENTITY = re.compile(r"(T\S+)\t(\S+) (\d{1,18} \d{1,18}(?:;\d{1,18} \d{1,18})*)(?:\t(.*))?")


def read_documents(reading: Reading) -> Iterator[Document]:
    """Yield the documents below a directory, in the order of their names, or the only one of a .txt or .ann file."""
    path = Path(reading.path)
    if reading.label is not None:
        raise OptionError(f"{path}: the labels of BRAT are in its .ann files; leave `label` out")
    if path.is_dir():
        texts, folder = sorted(path.rglob("*.txt")), path
        if not texts:
            raise DataError(f"{path}: is a directory, not a file; one of BRAT holds .txt and .ann files")
    elif not path.exists():
        raise missing_file(path)
    else:
        texts, folder = [path.with_suffix(".txt")], path.parent
    encoding = reading.path.encoding if isinstance(reading.path, EncodedPath) else None
    for text_path in texts:
        text = _content(text_path, encoding)
        ann_path = text_path.with_suffix(".ann")
        source: dict[str, Any] = {"name": text_path.relative_to(folder).with_suffix("").as_posix()}
        spans: list[CharSpan] = []
        if reading.labeled:
            if not ann_path.exists():
                reading.notices.leave_out("documents without a .ann file")
                continue
            spans, source["others"] = _annotations(ann_path, text, encoding, reading.notices)
        others = ("relations, events and notes",) if source.get("others") else ()
        yield Document(str(text_path), 1, text, tuple(spans), source=source, other_keys=others, id=source["name"])


def _content(path: Path, encoding: str | None) -> str:
    if is_special(path):  # reading a named pipe would wait for ever
        raise DataError(f"{path}: not a regular file; a directory of BRAT holds .txt and .ann files")
    size, pieces = 0, []
    for chunk in read_chunks(with_encoding(path, encoding)):
        size += len(chunk)
        if size > LARGEST:
            raise DataError(f"{path}: larger than {LARGEST >> 20} MB; split the document")
        pieces.append(chunk)
    data = b"".join(pieces)
    check_utf8(data, str(path), 1)
    return data.decode()


def _annotations(path: Path, text: str, encoding: str | None, notices: Notices) -> tuple[list[CharSpan], list[str]]:
    """Return the spans of a file, and all its other lines."""
    spans, others = [], []
    for number, line in enumerate(_content(path, encoding).split("\n"), 1):
        line = line.rstrip("\r")
        if not line.startswith("T"):
            if line.strip():
                others.append(line)
            continue
        found = _ENTITY.fullmatch(line)
        if found is None:
            raise DataError(f"{path}:{number}: expected 'T1<TAB>LABEL START END<TAB>TEXT', found {line[:60]!r}")
        places = [int(place) for place in re.findall(r"\d+", found[3])]
        span = CharSpan(min(places), max(places), found[2])
        if len(places) > 2:
            notices.tell(
                f"{path}:{number}: the span {found[3]} '{found[2]}' has gaps; "
                f"read as {span.start}:{span.end}, without them"
            )
        elif found[4] is not None and _differ(text, span, found[4]):
            raise DataError(
                f"{path}:{number}: {found[4][:40]!r} does not stand at {span.start}:{span.end} of the text, but "
                f"{text[span.start : span.end][:40]!r:.40}; has the text changed?"
            )
        spans.append(span)
    return spans, others


def _differ(text: str, span: CharSpan, shown: str) -> bool:
    """Return whether an annotation shows another text than stands there, apart from blanks."""
    if span.end - span.start > 10 * len(shown) + 1000:  # many lines could name the same long text
        return True
    return _flat(text[span.start : span.end]) != _flat(shown)


def _flat(text: str) -> str:
    return " ".join(text.split())


def write_document(document: Document, found: FoundSpans) -> str:
    """Return a line of JSON with the name of a document, its text, and the content of its .ann file."""
    source = document.source or {}
    lines = [
        f"T{number}\t{_type(span.type)} {_places(document.text, span)}\t{_flat(document.text[span.start : span.end])}"
        for number, span in enumerate(found.spans, 1)
    ]
    if found.probabilities is not None:
        lines += [
            f"#{number}\tAnnotatorNotes T{number}\tprobability {share:.6f}"
            for number, share in enumerate(found.probabilities, 1)
        ]
    ann = "".join(f"{line}\n" for line in lines)
    name = source.get("name") or re.sub(r"[^\w.-]+", "_", document.id or "").strip("._")[:LONGEST_NAME]
    return json.dumps({"name": name, "text": document.text, "ann": ann}) + "\n"


def _type(label: str) -> str:
    if re.search(r"\s", label):
        raise DataError(f"BRAT has no label with a blank, such as {label!r}; rename it, or use another format")
    return label


def _places(text: str, span: CharSpan) -> str:
    """Return the places of a span as BRAT wants them: in one piece for each line of text."""
    pieces = [
        (span.start + match.start(), span.start + match.end())
        for match in re.finditer(r"[^\n]+", text[span.start : span.end])
    ]
    return ";".join(f"{start} {end}" for start, end in pieces)


class BratDirectory(LineSink):
    """Writes the two files of each document."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._count = path, 0
        self._used: set[str] = set()

    def add(self, line: bytes) -> None:
        document = json.loads(line)
        self._count += 1
        name = document["name"] or f"{self._count:05}"
        if name in self._used:  # sentences of one document
            name = f"{name}-{self._count:05}"
        self._used.add(name)
        target = self._path / name
        if not target.resolve().is_relative_to(self._path.resolve()):
            raise DataError(f"{self._path}: the document {name!r} would be written outside of it")
        target.parent.mkdir(parents=True, exist_ok=True)
        for ending, content in ((".txt", document["text"]), (".ann", document["ann"])):
            target.with_name(target.name + ending).write_bytes(content.encode())


@contextmanager
def _directory(target: Path) -> Iterator[Path]:
    """Give a directory next to the target, which becomes the target at the end, or is removed on any error."""
    real = real_path(target)
    remove_abandoned(real)
    part = part_name(real)
    try:
        part.mkdir(parents=True)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror})") from None
    try:
        yield part
        if target.exists():
            target.rmdir()
        part.replace(real)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@contextmanager
def open_output(path: str | Path) -> Iterator[Any]:
    """Open a stream that takes a line for each document, and makes a new directory of them."""
    target = Path(path)
    if str(path) == "-":
        raise DataError("BRAT has two files for each document; name a directory for them")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{path}: already exists; BRAT needs a new or empty directory")
    with _directory(target) as part:
        yield BratDirectory(part)


FORMAT = DocumentFormat("BRAT", read_documents, write_document, open_output)
