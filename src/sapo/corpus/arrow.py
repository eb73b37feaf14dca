"""Read and write the files of Arrow (Parquet, and datasets that Hugging Face saved) in batches of rows.

Sentences are handled as those of JSONL; `ParquetFile` makes a table of the lines written.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sapo.corpus.blocks import Block
from sapo.corpus.files import LineSink, missing_file, read_json, write_file
from sapo.corpus.jsonl import write, write_sentence
from sapo.corpus.tables import BLOCK, Batch, Table, class_names, table_blocks
from sapo.errors import DataError, OptionError, pip_install
from sapo.text.splitter import Splitter

__all__ = ["read_blocks", "write", "write_sentence"]


def load_pyarrow() -> Any:
    """Return the package pyarrow; raise SapoError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise OptionError(f"files of Arrow need pyarrow: {pip_install('arrow')}") from None
    return pyarrow


def read_blocks(
    path: str | Path,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    labeled: bool = True,
    splitter: Splitter | None = None,
) -> Iterator[Block]:
    """Read a table in blocks. `label` and `columns` name its columns; the first of `columns` is the word or text."""
    yield from table_blocks(open_file(path), label=label, columns=columns, labeled=labeled, splitter=splitter)


def open_file(path: str | Path) -> Table:
    """Open a Parquet or Arrow file, or a directory that Hugging Face saved; its rows are read as they are needed."""
    source = Path(path)
    if not source.exists():
        raise missing_file(path)
    files, info = _files(source)
    arrow = load_pyarrow()
    try:
        names = _names_of_labels(arrow, files[0], info)
    except (OSError, ValueError, RecursionError, arrow.ArrowException) as error:
        raise DataError(f"{path}: not a file of Arrow or Parquet, or damaged ({error!r:.80})") from None
    return Table(str(path), _batches(arrow, files, str(path)), names)


def _files(path: Path) -> tuple[list[Path], dict[str, Any]]:
    """Return the files of a table, and what a saved dataset says about its columns."""
    if not path.is_dir():
        return [path], {}
    if (path / "dataset_dict.json").exists():
        splits = sorted(part.name for part in path.iterdir() if part.is_dir())
        one = path / splits[0] if splits else path
        raise DataError(f"{path}: has several datasets; give one of them, such as {one}")
    found = sorted(path.glob("*.arrow")) or sorted(path.glob("*.parquet"))
    if not found:
        raise DataError(f"{path}: is a directory, not a file")
    if len({file.name.partition("-")[0] for file in found}) > 1:
        raise DataError(f"{path}: has several tables; give one of them, such as {found[0]}")
    try:
        info = read_json(path / "dataset_info.json")
    except (OSError, ValueError, RecursionError):
        info = {}
    return found, info if isinstance(info, dict) else {}


def _names_of_labels(arrow: Any, file: Path, info: dict[str, Any]) -> dict[str, Sequence[str]]:
    features = info.get("features")
    if not isinstance(features, dict):
        with _reader(arrow, file) as reader:
            schema = getattr(reader, "schema_arrow", None) or reader.schema
        features = _features(json.loads((schema.metadata or {}).get(b"huggingface", b"{}")))
    return {key: names for key in features if (names := class_names(features[key])) is not None}


def _features(metadata: Any) -> dict[str, Any]:
    """Return what the metadata of a table says about its columns; they may be anything."""
    for key in ("info", "features"):
        metadata = metadata.get(key) if isinstance(metadata, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _reader(arrow: Any, file: Path) -> Any:
    if file.suffix.lower() == ".parquet":
        return arrow.parquet.ParquetFile(file)
    source = arrow.OSFile(str(file))  # not mapped: reading a mapped file that shrinks would end the process
    try:
        return arrow.ipc.open_stream(source)
    except arrow.ArrowInvalid:
        source.seek(0)
        return arrow.ipc.open_file(source)


def _batches(arrow: Any, files: Sequence[Path], name: str) -> Iterator[Batch]:
    try:
        for file in files:
            with _reader(arrow, file) as reader:
                if hasattr(reader, "iter_batches"):
                    batches = reader.iter_batches(batch_size=BLOCK)
                elif hasattr(reader, "num_record_batches"):
                    batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
                else:
                    batches = iter(reader)
                for batch in batches:
                    batch.validate(full=True)  # else offsets of a hostile file may point anywhere
                    for begin in range(0, batch.num_rows, BLOCK):
                        yield batch.slice(begin, BLOCK).to_pydict()
    except (OSError, UnicodeDecodeError, arrow.ArrowException) as error:  # names of columns need not be UTF-8
        raise DataError(f"{name}: cannot be read ({error!r:.80})") from None


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
            metadata = {"huggingface": json.dumps({"info": {"features": features}})}
            table = table.replace_schema_metadata(metadata)
        stream = arrow.BufferOutputStream()
        arrow.parquet.write_table(table, stream)
        packed: bytes = stream.getvalue().to_pybytes()
        return packed


@contextmanager
def open_output(path: str | Path) -> Iterator[Any]:
    """Open a stream that takes lines of JSON, and writes them as a table."""
    with write_file(path) as stream:
        collected = ParquetFile()
        yield collected
        stream.write(collected.content())
