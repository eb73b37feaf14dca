"""Where lines of documents go if a format is not lines: an array, a directory, a file of spaCy."""

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sapo.corpus.arrow import load_pyarrow
from sapo.corpus.exchange.docbin import load_spacy
from sapo.corpus.files import part_name, real_path, remove_abandoned, write_file
from sapo.errors import SapoError


class LineSink:
    """A stream of bytes that passes on whole lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line, which may come in many pieces

    def write(self, data: bytes) -> int:
        *ends, rest = data.split(b"\n")
        for end in ends:
            self.add(b"".join([*self._rest, end]))
            self._rest = []
        self._rest.append(rest)
        return len(data)

    def flush(self) -> None:
        """Do nothing: lines are passed on at once."""

    def add(self, line: bytes) -> None:
        raise NotImplementedError


class JsonArray(LineSink):
    """Writes lines of JSON as one array."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream, self._begun = stream, False

    def add(self, line: bytes) -> None:
        self._stream.write((b",\n" if self._begun else b"[\n") + line)
        self._begun = True

    def close(self) -> None:
        self._stream.write(b"\n]\n" if self._begun else b"[]\n")


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


class ParquetFile(LineSink):
    """Collects lines of JSON as rows of a table, with tags as ClassLabel of Hugging Face."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self._arrow = load_pyarrow()

    def add(self, line: bytes) -> None:
        self.rows.append(json.loads(line))

    def content(self) -> bytes:
        arrow = self._arrow
        names: dict[str, int] = {"O": 0} if any("O" in row.get("tags", ()) for row in self.rows) else {}
        for row in self.rows:
            if "tags" in row:
                row["tags"] = [names.setdefault(tag, len(names)) for tag in row["tags"]]
        table = arrow.Table.from_pylist(self.rows)
        texts = [key for key in table.schema.names if arrow.types.is_list(table.schema.field(key).type)]
        features = {
            key: {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"}
            for key in texts
            if table.schema.field(key).type.value_type == arrow.string()
        }
        features["tags"] = {"feature": {"names": list(names), "_type": "ClassLabel"}, "_type": "Sequence"}
        if names and set(features) == set(table.schema.names):
            told = {"huggingface": json.dumps({"info": {"features": features}})}
            table = table.replace_schema_metadata(told)
        stream = arrow.BufferOutputStream()
        arrow.parquet.write_table(table, stream)
        packed: bytes = stream.getvalue().to_pybytes()
        return packed


class BratDirectory(LineSink):
    """Writes the two files of each document."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._count = path, 0

    def add(self, line: bytes) -> None:
        document = json.loads(line)
        self._count += 1
        name = document["name"] or f"{self._count:05}"
        target = self._path / name
        if not target.resolve().is_relative_to(self._path.resolve()):
            raise SapoError(f"{self._path}: the document {name!r} would be written outside of it")
        target.parent.mkdir(parents=True, exist_ok=True)
        for ending, content in ((".txt", document["text"]), (".ann", document["ann"])):
            target.with_name(target.name + ending).write_bytes(content.encode())


@contextmanager
def _directory(target: Path) -> Iterator[Path]:
    """Give a directory beside the target, which becomes the target at the end, or is removed on any error."""
    real = real_path(target)
    remove_abandoned(real)
    part = part_name(real)
    try:
        part.mkdir(parents=True)
    except OSError as error:
        raise SapoError(f"{target}: cannot be written ({error.strerror})") from None
    try:
        yield part
        if target.exists():
            target.rmdir()
        part.replace(real)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@contextmanager
def open_collected(path: str | Path, format: str) -> Iterator[Any]:
    """Open a stream that takes the lines of one of these formats, and makes a file or directory of them."""
    if format == "brat":
        target = Path(path)
        if str(path) == "-":
            raise SapoError("BRAT has two files for each document; name a directory for them")
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise SapoError(f"{path}: exists already; BRAT needs a new or empty directory")
        with _directory(target) as part:
            yield BratDirectory(part)
        return
    with write_file(path) as stream:
        if format == "label-studio":
            array = JsonArray(stream)
            yield array
            array.close()
        else:
            collected = DocBinFile() if format == "spacy" else ParquetFile()
            yield collected
            stream.write(collected.content())
